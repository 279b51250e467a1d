"""HTML to plain text as its reader saw it: what is hidden or struck out goes, quotes get a `>`."""

import re
from collections.abc import Callable
from typing import Any

from pbem.message import phrases
from pbem.message.parts import TooMuch

MOST_TAGS = 60_000
MOST_DEPTH = 500


def _words(rows: str) -> frozenset[str]:
    return frozenset(rows.split())


_SKIPPED = _words(
    """
    head style script title template object svg math select textarea button iframe audio video
    noframes noembed del s strike xml
    """
)
_BLOCKS = _words(
    """
    p div br li ul ol dl dt dd tr table tbody thead tfoot caption blockquote pre hr h1 h2 h3 h4 h5
    h6 article section header footer main aside address center form fieldset legend figure
    figcaption details summary body html
    """
)
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_HIDDEN = (
    *("display:none", "visibility:hidden", "mso-hide:all", ";opacity:0;", ";max-height:0"),
    *(";font-size:0", ";font-size:1px", ";height:0;", ";height:0px", ";width:0;", ";width:0px"),
    *("line-through", "color:transparent", "text-indent:-9", "left:-9", "top:-9", "clip:rect(0"),
)
_QUOTES = (
    *("yahoo_quoted", "moz-cite-prefix", "gmail_attr", "protonmail_quote", "mailru-blockquote"),
    *("tutanota_quote", "isreplycontent", "moz-signature", "gmail_signature", "applemailsignature"),
    *("protonmail_signature", "ms-outlook-mobile-signature", "__quoted_text__", "__headers__"),
    *("zimbra_quoted", "reply_message_header"),
)
_CUTS = ("divrplyfwdmsg", "zwchr", "__divider__", "moz-forward-container", "stopspelling")
_INDENTS = ("webkit-indent-blockquote", "border:none", "border:0")
_NAMES = ("id", "class", "data-marker")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:]*)([^>]*)")
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'")
_SEPARATOR = re.compile(r"[\s/]")
# Elements that end by themselves, or have no content.
_SHALLOW = _words(
    "p li dt dd td th tr tbody thead option br hr img input meta link col area base wbr"
)
_LEADING_TAG = re.compile(r"\s*<(?:!doctype html|html|head|body|div|p|br|table|span|meta)\b", re.I)


def looks_like(text: str) -> bool:
    """Tell whether a text said to be plain is HTML."""
    return "<" in text[:200] and _LEADING_TAG.match(text[:500]) is not None


def to_text(source: str) -> str:
    """Turn HTML into lines of text; quoted lines begin with `> `, once for each level.

    Raise `TooMuch` where it is bigger or deeper than a person's mail.
    """
    from selectolax.lexbor import LexborHTMLParser

    _check_size(source)
    page = _Page()
    node: Any = LexborHTMLParser(source).root
    opened: list[tuple[Any, Callable[[], None]]] = []
    while node is not None:
        leave = page.enter(node)
        child = node.child if leave else None
        if leave and child is not None:
            opened.append((node, leave))
            node = child
            continue
        if leave:
            leave()
        while node.next is None and opened:
            node, leave = opened.pop()
            leave()
        node = node.next
    return page.text()


def _check_size(source: str) -> None:
    """Raise `TooMuch` for what the parser would need more than linear time for."""
    opened: dict[str, int] = {}
    depth = 0
    for count, tag in enumerate(_TAG.finditer(source)):
        closing, name, rest = tag.groups()
        if len(rest) > 5000 and len(_SEPARATOR.findall(_VALUE.sub("", rest))) > 1000:
            raise TooMuch("a tag of its HTML has more than 1000 attributes")
        name = name.lower()
        if name not in _SHALLOW:
            before = opened.get(name, 0)
            opened[name] = max(0, before - 1) if closing else before + 1
            depth += opened[name] - before
        if depth > MOST_DEPTH or count > MOST_TAGS:
            raise TooMuch(f"its HTML has more than {MOST_TAGS} tags or {MOST_DEPTH} levels")


class _Page:
    """The lines of a page as they are written, each with the depth of the quote it stands in."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []
        self.words: list[str] = []
        self.depth = 0
        self.fixed = 0
        self.rows: list[list[str]] = []

    def text(self) -> str:
        """Return all lines."""
        self.end_line()
        return "\n".join("> " * depth + line for depth, line in self.lines)

    def end_line(self, *, even_empty: bool = False) -> None:
        """End the line being written, if anything was."""
        line = "".join(self.words)
        line = line.rstrip(" ") if self.fixed else _BLANKS.sub(" ", line).strip(" ")
        if line or even_empty:
            self.lines.append((self.depth, line))
        self.words = []

    def enter(self, node: Any) -> Callable[[], None] | None:
        """Open a node; return how it is closed, `None` where its content is not to be read."""
        tag = node.tag
        if tag == "-text":
            self._write(node.text_content or "")
            return None
        if tag == "br":
            self.end_line(even_empty=True)
            return None
        if tag in _SKIPPED or tag[0] in "-!":
            return None
        given = node.attributes
        quoted = fixed = False
        if given:
            style = (given.get("style") or "").lower().replace(" ", "").replace("!important", "")
            style = f";{style};"
            if "hidden" in given or any(sign in style for sign in _HIDDEN):
                return None
            names = " ".join((given.get(name) or "") for name in _NAMES).lower()
            if any(sign in names for sign in _CUTS):
                self.end_line()
                self.words.append(phrases.SEPARATOR)
                self.end_line()
            quoted = any(sign in names for sign in _QUOTES) or given.get("name") == "quote"
            fixed = "white-space:pre" in style
            if tag == "blockquote" and not quoted:
                signs = style + names
                quoted = given.get("type") == "cite" or not any(sign in signs for sign in _INDENTS)
        elif tag == "blockquote":
            quoted = True
        if tag in _BLOCKS:
            fixed = fixed or tag == "pre"
        elif not (quoted or fixed):
            return self._enter_cell() if tag in ("td", "th") else _nothing
        return self._enter_block(tag, quoted, fixed)

    def _write(self, text: str) -> None:
        if self.fixed and "\n" in text:
            first, *others = text.replace("\r", "").split("\n")
            self.words.append(first)
            for line in others:
                self.end_line(even_empty=True)
                self.words.append(line)
        else:
            self.words.append(text)

    def _enter_block(self, tag: str, quoted: bool, fixed: bool) -> Callable[[], None]:
        self.end_line()
        self.depth += quoted
        self.fixed += fixed
        if tag == "tr":
            self.rows.append([])

        def leave() -> None:
            self.end_line()
            if tag == "tr" and (row := self.rows.pop()):
                self.lines.append((self.depth, " ".join(row)))
            self.depth -= quoted
            self.fixed -= fixed

        return leave

    def _enter_cell(self) -> Callable[[], None]:
        """Open a cell: the cells of a row that hold one line each make one line together."""
        self.end_line()
        start = len(self.lines)

        def leave() -> None:
            self.end_line()
            if not self.rows:
                return
            said = [line for line in self.lines[start:] if line[1]]
            row = self.rows[-1]
            if len(said) == 1 and said[0][0] == self.depth:
                del self.lines[start:]
                row.append(said[0][1])
            elif said and row:
                self.lines.insert(start, (self.depth, " ".join(row)))
                row.clear()

        return leave


def _nothing() -> None:
    """Close what needs no closing."""
