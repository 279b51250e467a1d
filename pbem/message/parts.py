"""The MIME tree of a message: which of its parts are the text, which are files beside it.

The parts are found as places in the raw bytes and decoded only when they are read: the standard
parser makes a string of every line and recurses for every level, which hostile mail makes dear.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from pbem.message import charsets, fields, wrapped
from pbem.message.fields import Fields

MOST_DEPTH = 40
MOST_PARTS = 5000
MOST_HEADER = 256_000
MOST_TEXT = 2_000_000

_BLANK_LINE = re.compile(rb"\n\r?\n\Z")
_BOUNDARY_LINE = re.compile(rb"--([^\s-][^\r\n]{0,98}?)[ \t]*\r?\n[Cc]ontent-", re.ASCII)
_CONTROLS = re.compile(r"\x1b\[[0-9;?]{0,20}[@-~]|[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_ENRICHED = re.compile(r"</?[A-Za-z-]{1,60}>")
_TEXT_LIKE = {"text/plain", "text/markdown", "text/enriched", "text/richtext", "text/flowed"}


class TooMuch(Exception):
    """A message goes beyond a limit; its text says which."""


class Leaf(NamedTuple):
    """A part without parts: where it lies, and what its fields say of it."""

    source: bytes
    start: int
    end: int
    kind: str
    given: dict[str, str]
    encoding: str
    name: str

    def content(self) -> bytes:
        """Return its bytes, the transfer encoding undone."""
        return charsets.transferred(self.source[self.start : self.end], self.encoding)

    def text(self) -> str:
        """Return its text, decoded, with `\\n` as line end, soft line breaks (RFC 3676) undone."""
        data = self.content()
        if len(data) > MOST_TEXT:
            raise TooMuch(f"a text of {len(data)} bytes is longer than {MOST_TEXT}")
        said = one_line_end(charsets.decode(data, self.given.get("charset", "")))
        if self.kind in ("text/enriched", "text/richtext"):
            return _ENRICHED.sub("", said.replace("<nl>", "\n"))
        if self.given.get("format", "").lower() == "flowed":
            return unflowed(said, self.given.get("delsp", "").lower() == "yes")
        return said


class Piece(NamedTuple):
    """A piece of the body: as plain text, as HTML, or as both."""

    plain: Leaf | None
    html: Leaf | None


@dataclass
class Tree:
    """What a walk over a message has found."""

    fields: Fields
    kind: str
    given: dict[str, str]
    body: int = 0
    pieces: list[Piece] = field(default_factory=list)
    files: list[Leaf] = field(default_factory=list)
    kinds: dict[str, Leaf] = field(default_factory=dict)
    parts: int = 0
    sealed: str = ""


def tree(raw: bytes) -> Tree:
    """Walk a message; raise `TooMuch` where it is nested, parted or headed beyond the limits."""
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    start = len(raw) - len(raw.lstrip(b"\r\n"))
    end = len(raw)
    if end - start > MOST_HEADER:
        # Not in the middle of a line, or its rest would pass for the body.
        end = raw.rfind(b"\n", start, start + MOST_HEADER) + 1 or start + MOST_HEADER
    head, body = fields.parse(raw, start, end)
    # Its end may be where the body begins with a line that is longer than that.
    if body >= end < len(raw) and not _BLANK_LINE.search(raw, end - 3, end):
        raise TooMuch(f"its header is longer than {MOST_HEADER} bytes")
    kind, given = _content(head)
    found = Tree(head, kind, given, body)
    found.pieces = list(_pieces(found, raw, head, body, len(raw), 0))
    return found


def headed(raw: bytes) -> Tree:
    """Read the fields of a message and not its parts, as far as they go in its first bytes."""
    raw = raw[:MOST_HEADER].lstrip(b"\r\n")
    head, body = fields.parse(raw, 0, len(raw))
    return Tree(head, *_content(head), body)


def _content(head: Fields) -> tuple[str, dict[str, str]]:
    values = head.get("content-type")
    if not values:
        return "text/plain", {}
    kind, given = fields.parameters(values[0])
    return (kind if "/" in kind else "text/plain"), given


def _pieces(
    found: Tree, raw: bytes, head: Fields, start: int, end: int, depth: int
) -> Iterator[Piece]:
    """Yield the pieces of the body in an entity, and note its files and kinds in `found`."""
    if depth > MOST_DEPTH:
        raise TooMuch(f"its parts are nested more than {MOST_DEPTH} deep")
    found.parts += 1
    if found.parts > MOST_PARTS:
        raise TooMuch(f"it has more than {MOST_PARTS} parts")
    kind, given = (found.kind, found.given) if depth == 0 else _content(head)
    if not kind.startswith("multipart/"):
        yield from _leaf(found, raw, head, start, end, kind, given, depth)
        return
    children = list(_children(raw, start, end, given.get("boundary", "")))
    if not children:
        # The boundary never comes: whatever it was meant to be, it can be read.
        yield from _leaf(found, raw, {}, start, end, "text/plain", {}, depth)
        return
    if kind == "multipart/encrypted":
        found.sealed = "it is encrypted"
    if kind in ("multipart/signed", "multipart/related"):
        children, others = children[:1], children[1:]
        for at, stop in others:
            _note(found, raw, at, stop)
    inner: list[Piece] = []
    for at, stop in children:
        part, body = fields.parse(raw, at, min(stop, at + MOST_HEADER))
        inner.extend(_pieces(found, raw, part, body, stop, depth + 1))
    if kind == "multipart/alternative" and inner:
        plain = next((piece.plain for piece in inner if piece.plain), None)
        html = next((piece.html for piece in reversed(inner) if piece.html), None)
        inner = [Piece(plain, html)]
    yield from inner


def _children(raw: bytes, start: int, end: int, boundary: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts between boundary lines begin and end; the closing one may miss."""
    if not boundary:
        guessed = _BOUNDARY_LINE.search(raw, start, min(end, start + 4000))
        if not guessed:
            return
        mark = b"--" + guessed[1]
    else:
        mark = b"--" + boundary.rstrip().encode("utf-8", "replace")
    opened = -1
    at = raw.find(mark, start, end)
    while at >= 0:
        line_end = raw.find(b"\n", at, end)
        line_end = end if line_end < 0 else line_end
        rest = raw[at + len(mark) : min(line_end, at + len(mark) + 80)].strip()
        if (at == start or raw[at - 1 : at] == b"\n") and rest in (b"", b"--"):
            if opened >= 0:
                stop = at - 1 if raw[at - 2 : at] != b"\r\n" else at - 2
                yield opened, max(opened, stop)
            opened = min(line_end + 1, end) if not rest else -1
            if rest:
                return
        at = raw.find(mark, line_end, end)
    if opened >= 0:
        yield opened, end


def _leaf(
    found: Tree,
    raw: bytes,
    head: Fields,
    start: int,
    end: int,
    kind: str,
    given: dict[str, str],
    depth: int,
) -> Iterator[Piece]:
    disposition, placed = "", dict[str, str]()
    if "content-disposition" in head:
        disposition, placed = fields.parameters(head["content-disposition"][0])
    name = placed.get("filename") or given.get("name") or ""
    encoding = fields.first(head, "content-transfer-encoding")
    leaf = Leaf(raw, start, end, kind, given, encoding, fields.decoded_words(name))
    found.kinds.setdefault(kind, leaf)
    named = bool(name) or disposition == "attachment"
    if kind in ("application/ms-tnef", "application/vnd.ms-tnef") or name.lower() == "winmail.dat":
        inner = wrapped.tnef_body(leaf.content())
        if inner is None:
            found.sealed = found.sealed or "its text is in rich text (winmail.dat)"
        else:
            yield Piece(Leaf(inner, 0, len(inner), "text/plain", {}, "", ""), None)
    elif kind in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
        inner = wrapped.signed_content(leaf.content())
        if inner is None:
            found.sealed = "it is encrypted (S/MIME)"
        else:
            head, body = fields.parse(inner, 0, min(len(inner), MOST_HEADER))
            yield from _pieces(found, inner, head, body, len(inner), depth + 1)
    elif kind == "text/html" and disposition != "attachment":
        yield Piece(None, leaf)
    elif kind in _TEXT_LIKE and (not named or depth == 0):
        yield Piece(leaf, None)
    elif kind in _TEXT_LIKE or leaf.name.lower().endswith(".txt"):
        found.files.append(leaf)


def _note(found: Tree, raw: bytes, start: int, end: int) -> None:
    """Note the kind of a part that isn't read."""
    head, body = fields.parse(raw, start, min(end, start + MOST_HEADER))
    kind, given = _content(head)
    found.kinds.setdefault(kind, Leaf(raw, body, end, kind, given, "", ""))


def one_line_end(text: str) -> str:
    """Return a text with every line end that any system or phone writes as `\\n`.

    What else steers a terminal or a printer goes.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for odd in "\u2028\u2029\v\f\x85":
        if odd in text:
            text = text.replace(odd, "\n")
    return _CONTROLS.sub("", text)


def unflowed(text: str, delete_space: bool) -> str:
    """Join the soft-broken lines of a format=flowed text (RFC 3676); stuffed blanks go."""
    joined: list[str] = []
    parts: list[str] = []
    open_depth = -1
    for line in text.split("\n"):
        rest = line.lstrip(">")
        depth = len(line) - len(rest)
        rest = rest.removeprefix(" ")
        soft = rest.endswith(" ") and rest != "-- "
        content = rest[:-1] if soft and delete_space else rest
        if depth == open_depth and rest != "-- ":
            parts.append(content)
        else:
            if parts:
                joined.append("".join(parts))
            parts = [">" * depth + (" " if depth else "") + content]
        open_depth = depth if soft else -1
        if not soft:
            joined.append("".join(parts))
            parts = []
    if parts:
        joined.append("".join(parts))
    return "\n".join(joined)
