"""The index that a match's pages are searched by: a script of plain data, a line a turn.

It is a script because pages opened from disk can't read any other file. It holds nothing but JSON
within one call; what is found is shown as text, never as markup.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence

from pbem.archive import telling
from pbem.archive.book import Book
from pbem.archive.telling import Told
from pbem.game import Json
from pbem.reports.templates import printable

_HEAD, _TAIL = "pbemIndex([\n", "null]);\n"
# A drawing isn't words.
_DRAWING = re.compile(r"<(pre|svg)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def words(book: Book, turn: Json, told: Told) -> str:
    """Return the index's line for a turn: its report, its orders by line, and the letters before
    it.

    Each is an address from the match's folder, what it is, and its words.
    """
    record, number = book.record, turn["number"]
    page = f"turn-{number}.html"
    which = "Set-up" if number == 0 else f"Turn {number}"
    text = html.unescape(_TAG.sub(" ", _DRAWING.sub(" ", told.report)))
    found = [[page, f"{which}, report", f"{told.headline}. {' '.join(text.split())}"]]
    for position, seat in enumerate((*record["seats"], "")):
        place = position + 1 if seat else 0
        whose = seat or "the game master"
        for at, text in telling.numbered(turn["orders"].get(seat, ""))[: telling.MOST_LINES]:
            found.append([f"{page}#o{place}-{at}", f"{which}, orders of {whose}", text])
    return _line(found + _letters(book, number, which))


def since(book: Book) -> str:
    """Return the index's line for what was written since the last turn."""
    return _line(_letters(book, max(book.numbers, default=-1) + 1, "Since then"))


def _letters(book: Book, number: int, which: str) -> list[list[str]]:
    found = []
    for one in book.letters_before(number):
        what = f"{which}, {'said' if one['gm'] else 'press'} by {one['by']} to {one['to']}"
        found.append([book.addresses[one["id"]], what, " ".join(one["text"].split())])
    return found


def _line(found: Sequence[Sequence[str]]) -> str:
    # What is shown of it is text, but marks that turn the direction of writing act in text too.
    clean = [[str(printable(part)) for part in one] for one in found]
    line = json.dumps(clean, ensure_ascii=False, separators=(",", ":"))
    # A line of the file is a line of the index, also for JavaScript of old.
    return line.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("<", "\\u003c")


def script(lines: Mapping[int, str]) -> bytes:
    """Return the index as a script, from its lines by turn."""
    body = "".join(f"{lines[number]},\n" for number in sorted(lines))
    return f"{_HEAD}{body}{_TAIL}".encode("utf-8", "replace")


def lines_of(script: bytes) -> dict[int, str]:
    """Return the lines by turn of a script made before, those of turns that didn't change."""
    text = script.decode("utf-8")
    if not (text.startswith(_HEAD) and text.endswith(_TAIL)):
        return {}
    lines = text[len(_HEAD) : -len(_TAIL)].split("\n")
    return {number: line.removesuffix(",") for number, line in enumerate(lines) if line}
