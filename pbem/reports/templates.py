"""The templates: where they are looked for, what they can use, and how a broken one is named."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial, wraps
from pathlib import Path
from secrets import token_hex
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

from pbem.reports.once import render_once
from pbem.roots import roots

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context

# What no letter holds: control codes (line feed and tab aside), halves of characters, and marks
# that can't be seen, those that turn the direction of writing among them. Joiners stay: Persian
# and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0001\U000e0020-\U000e007f]"
)
# A hash before a dash, which our marker lines have and data must not. The reader of answers folds
# the twins of both, and drops joiners and the other format characters that some scripts need.
_HASHES = frozenset("#＃﹟")
_HASH, _DASH = "[#＃﹟]", "[-‐‑‒–—―−﹘﹣－]"
_FORMAT = (
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u200c\u200d\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
_HIDDEN = re.compile(f"(?<={_HASH}){_FORMAT}+")
_LIKE_MARKER = re.compile(f"{_HASH}(?={_DASH})")

# Filters that put data into markup that they are given.
_MAKE_MARKUP = ("format", "join", "replace", "urlize", "xmlattr")

_made: "list[Environment]" = []


class TemplateFault(ValueError):
    """A template that cannot be used, in one line: its path, the line, and the fault."""


@lru_cache
def environment(folder: Path | None, game: str | None, markup: bool) -> "Environment":
    """Return the Jinja environment of a game's letters, for text or for markup, made once.

    Templates are looked for in the game master's `folder`, then in ours, then in the folder
    `templates` of the package that brings the game. In markup every value is escaped, also where
    it comes by a text template that an HTML one includes or imports.
    """
    from jinja2 import FunctionLoader, StrictUndefined, pass_context
    from markupsafe import Markup, escape

    from pbem.reports.compiling import Facts

    made = Facts(
        auto_reload=False,
        # All are kept, in a plain dictionary.
        cache_size=-1,
        loader=FunctionLoader(partial(_source, roots(folder, game))),
        undefined=StrictUndefined,
        autoescape=markup,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=printable,
    )
    made.globals["once"] = pass_context(
        partial(_once, environment(folder, game, False) if markup else made)
    )
    made.globals["zip"] = zip
    # What is escaped already is never escaped twice.
    made.filters.update(
        wrap=wrap,
        fit=fit,
        plural=plural,
        signed=signed,
        listed=listed,
        said=said,
        **dict.fromkeys(("e", "escape", "forceescape"), lambda value: escape(printable(value))),
        safe=lambda value: Markup(printable(value)),
    )
    # What is markup is printed as it is, so whatever makes some of data sees to that.
    made.filters.update({name: _seen_to(made.filters[name]) for name in _MAKE_MARKUP})
    _made.append(made)
    return made


def reread() -> None:
    """Have templates that have changed, or are overlaid by new ones, read anew when next used.

    A daemon runs for months, and to ask this for each use would take longer than many a template.
    """
    for env in _made:
        if env.cache and not all(template.is_up_to_date for template in env.cache.values()):
            env.cache.clear()


def render(
    env: "Environment", names: str | Sequence[str], facts: Mapping[str, Any], *, once: bool = False
) -> str:
    """Render the first of the templates that exists; raise `TemplateFault` if it can't be.

    Where none exists the result is empty, if several names were given, else that too is a fault.
    With `once` it isn't rendered again where it shows the same facts as the last time.
    """
    from jinja2 import TemplateNotFound, TemplatesNotFound, TemplateSyntaxError

    try:
        template = env.get_or_select_template(names)  # type: ignore[arg-type]
        return render_once(env, template, facts) if once else template.render(facts)
    except TemplatesNotFound as missing:
        if tuple(missing.templates) == tuple(names):
            return ""
        raise TemplateFault(_located(missing, f"there is no template {missing.name}")) from None
    except TemplateNotFound as missing:
        raise TemplateFault(_located(missing, f"there is no template {missing.name}")) from None
    except TemplateSyntaxError as error:
        where = f"{error.filename or error.name}, line {error.lineno}"
        raise TemplateFault(_one_line(f"{where}: {error.message}")) from None
    except TemplateFault:
        raise
    # A template may call anything on its facts, so anything may be raised in it.
    except Exception as error:
        raise TemplateFault(_located(error, f"{type(error).__name__}: {error}")) from error


def _once(texts: "Environment", context: "Context", name: str) -> str:
    """Return what a template says, rendered once for all readers to whom it says the same.

    A text is included as text. Of markup a letter keeps the place, for its styles are put in once
    too; what is in a part of a letter, or in none, is included as it is.
    """
    env, facts = context.environment, dict(context.get_all())
    if not name.endswith(".html"):
        text = render_once(texts, texts.get_template(name), facts)
        return text if env.autoescape else Ours(text)
    from markupsafe import Markup

    apart = facts.pop("apart", None)
    markup = Markup(render_once(env, env.get_template(name), facts))
    if apart is None:
        return markup
    # Nothing that somebody wrote can be taken for it.
    place = Markup(f"<!-- {token_hex(16)} -->")
    apart[place] = markup
    return place


def printable(value: Any) -> Any:
    """Return what a template is about to print without what no letter may hold.

    That is control codes (terminal escapes among them), marks that turn the direction of writing,
    and anything that could pass for one of our marker lines: else one player's press could lay a
    filled-in order form into another player's answer. Our own markers are not plain `str`.
    """
    if type(value) is not str or (value.isascii() and value.isprintable() and "#" not in value):
        return value
    value = _UNSEEN.sub("", value)
    if _HASHES.isdisjoint(value):
        return value
    return _LIKE_MARKER.sub("+", _HIDDEN.sub("", value))


def _seen_to(filtered: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter of Jinja's that leaves nothing in markup that no letter may hold."""
    from markupsafe import Markup

    @wraps(filtered)
    def seen_to(*given: Any, **named: Any) -> Any:
        value = filtered(*given, **named)
        return Markup(printable(str(value))) if type(value) is Markup else value

    return seen_to


class Ours(str):
    """A text of ours that may be printed as it is: a marker line."""

    __slots__ = ()


def wrap(text: str, width: int = 72, indent: str = "") -> str:
    """Fill each line of a text to `width` columns; a word is broken only where it is wider.

    The first line begins with `indent`, the others with blanks of its width (`"- "` makes an
    item of a list). Letters that terminals show two columns wide count as two.
    """
    text = _plain(text)
    short = indent + " ".join(text.split())
    # Most are like that.
    if len(short) <= width and short.isascii() and "\n" not in text:
        return short.rstrip()
    first, later = indent, " " * columns(indent)
    out = []
    for line in text.split("\n"):
        short = f"{first}{' '.join(line.split())}"
        if columns(short) <= width:
            out.append(short.rstrip())
            first = later
            continue
        row, used = first, columns(first)
        empty = True
        words = [
            piece
            for word in line.split()
            for piece in _broken(word, max(width - columns(later), 1))
        ]
        for word in words:
            room = columns(word)
            if not empty and used + 1 + room > width:
                out.append(row)
                row, used, empty = later, columns(later), True
            row, used = (row + word, used + room) if empty else (f"{row} {word}", used + 1 + room)
            empty = False
        out.append(row.rstrip())
        first = later
    return "\n".join(out)


def fit(text: str, width: int = 72) -> str:
    """Fill only those lines of a text that are wider than `width` columns; the others stay."""
    lines = _plain(text).split("\n")
    return "\n".join(line if columns(line) <= width else _hung(line, width) for line in lines)


def _hung(line: str, width: int) -> str:
    """Fill a line; what goes over stands four blanks to the right of its beginning."""
    indent = " " * min(len(line) - len(line.lstrip(" ")), width // 2)
    first, *rest = wrap(line, width, indent).split("\n")
    hung = wrap(" ".join(one.strip() for one in rest), width, f"{indent}    ")
    return f"{first}\n{hung}" if rest else first


def _broken(word: str, width: int) -> Iterator[str]:
    """Part a word that is wider than `width` columns, as text without blanks may be."""
    if len(word) * 2 <= width or columns(word) <= width:
        yield word
        return
    row, used = "", 0
    for c in word:
        room = columns(c)
        if row and used + room > width:
            yield row
            row, used = "", 0
        row, used = row + c, used + room
    yield row


def columns(text: str) -> int:
    """Count the columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def plural(n: int, one: str, many: str) -> str:
    """Return `one` where n is 1, else `many`: `{{ n }} {{ n | plural("army", "armies") }}`."""
    return one if n == 1 else many


def signed(n: int | None) -> str:
    """Return by how much something has changed, with its sign; nothing for `None`."""
    return "" if n is None else f"{n:+}" if n else "0"


def listed(items: Iterable[Any]) -> str:
    """Return things as a list in a sentence: a, b and c."""
    *rest, last = [_plain(item) for item in items] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last


def said(value: Any) -> str:
    """Return a JSON value in words, for games that bring no templates."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return ", ".join(f"{name} {_inner(each)}" for name, each in value.items()) or "none"
        case list() | tuple():
            return listed(map(_inner, value)) or "none"
    return _plain(value)


def _plain(value: Any) -> str:
    """Return a value as text; what was escaped before is not, and will be when it is printed."""
    return str(value.unescape()) if hasattr(value, "unescape") else str(value)


def _inner(value: Any) -> str:
    return f"({said(value)})" if isinstance(value, Mapping | list | tuple) else said(value)


def _source(places: Sequence[Path], name: str) -> tuple[str, str, Callable[[], bool]] | None:
    """Read a template, with its path and what tells whether it is still the one to use.

    A template laid into a folder that comes before is that one.
    """
    path = _first(places, name)
    if path is None:
        return None
    read = path.stat().st_mtime_ns
    text = _text(path)

    def is_current() -> bool:
        try:
            return _first(places, name) == path and path.stat().st_mtime_ns == read
        except OSError:
            return False

    return text, str(path), is_current


def _first(places: Sequence[Path], name: str) -> Path | None:
    return next((path for root in places if (path := root / name).is_file()), None)


def read(name: str, folder: Path | None, game: str | None = None) -> str | None:
    """Return the text of a file among the templates as it stands, or `None` where there is none."""
    path = _first(roots(folder, game), name)
    return None if path is None else _text(path)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise TemplateFault(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        fault = f"{path}: it is no UTF-8 (byte {error.start + 1}); save it in UTF-8"
        raise TemplateFault(fault) from error


def _located(error: BaseException, fault: str) -> str:
    """Put the template and its line, as the traceback has them, before a fault."""
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    for name, line in reversed(places):
        if not name.endswith(".py"):
            return _one_line(f"{name}, line {line}: {fault}")
    return _one_line(fault)


def _one_line(text: str) -> str:
    return " ".join(_UNSEEN.sub(" ", text).split())
