"""The page of a turn: the game's chapter, the report, orders and what became of them, press.

A page is held under `LARGEST` bytes: what would make it larger stands on a page of its own or, of
sheets beyond all measure, only in the download.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from pbem.archive import casefile, exported, telling
from pbem.archive.book import Book, within
from pbem.archive.telling import Told
from pbem.game import Json

LARGEST = 290_000
MOST_ORDERS = 70_000
# A case holds all turns before; of a long match that would be more than all pages together.
LARGEST_CASE = 60_000

_SIZE = re.compile(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"')


def made(book: Book, turn: Json, told: Told) -> dict[str, bytes]:
    """Return the files of a turn by name: its page, picture and case file."""
    number = turn["number"]
    base = f"turn-{number}"
    letters = book.letters_before(number)
    shown = book.letters_shown(number)
    case = _case(book, number)
    before, after = (number + by if number + by in book.numbers else None for by in (-1, 1))
    files = {} if case is None else {f"{base}.case.json": case}
    context = {
        **_context(book, turn, told, base, files),
        "undone": False,
        "previous": before,
        "next": after,
        "notes": notes(book, number),
        "letters": shown,
        "more_letters": len(letters) - len(shown),
        "case": f"{base}.case.json" if case is not None else None,
        "can_judge": book.record["whole"] and number > 0,
    }
    return {**files, **_fitting(book, base, context)}


def made_undone(book: Book, turn: Json, told: Told, base: str, stands: bool) -> dict[str, bytes]:
    """Return the files of a turn that was taken back; `book` is that of the match as it was then,
    `stands` tells whether a turn of that number stands now."""
    files: dict[str, bytes] = {}
    context = {
        **_context(book, turn, told, base, files),
        "undone": True,
        "stands": stands,
        "previous": None,
        "next": None,
        "notes": [],
        "letters": [],
        "more_letters": 0,
        "case": None,
        "can_judge": False,
    }
    return {**files, **_fitting(book, base, context)}


def _context(book: Book, turn: Json, told: Told, base: str, files: dict[str, bytes]) -> Json:
    """Return what the page of any turn is given; a picture of its report is put to the files."""
    facts = book.chapter(turn["number"])
    return {
        "number": turn["number"],
        "turn": turn,
        "headline": told.headline,
        "missing": turn["missing"],
        "ended": telling.ended(turn),
        "picture": None if facts.get("drawn") else _picture(told, base, files),
        "report": Markup(told.report),
        "chapter": book.part("chapter.html", facts, turn) if facts else "",
        "sheets": list(_sheets(book, turn, facts.get("became", {}))),
        "reports": _reports(book, turn),
        "elsewhere": {},
    }


def _fitting(book: Book, base: str, context: Json) -> dict[str, bytes]:
    """Return the page and, where it would be too large, others beside it for parts of it."""
    files = {f"{base}.html": book.page("turn", context)}
    for part in ("reports", "chapter"):
        if len(files[f"{base}.html"]) <= LARGEST or not context[part]:
            continue
        name = f"{base}-{part}.html"
        files[name] = book.page("turn_part", {**context, "part": part})
        elsewhere = {**context["elsewhere"], part: name}
        context = {**context, part: "", "elsewhere": elsewhere}
        files[f"{base}.html"] = book.page("turn", context)
    return files


def notes(book: Book, number: int) -> list[str]:
    """Return what all were told of the game master's looking at sealed orders before a turn."""
    looks = [
        one
        for one in book.record["history"]
        if one["what"] in ("looked", "previewed", "exported")
        and one["facts"].get("turn") == number - 1
    ]
    seats = dict.fromkeys(one["facts"]["seat"] for one in looks if one["what"] == "looked")
    kinds = {one["what"] for one in looks}
    said = [f"The game master read the sealed orders of {seat}." for seat in seats]
    if "previewed" in kinds:
        said.append("The game master looked at what the turn would do before it was run.")
    if "exported" in kinds:
        said.append("The game master exported the match with its sealed orders before it was run.")
    return said


def _case(book: Book, number: int) -> bytes | None:
    """Return the case file of a turn, with what must come of it; `None` where it is too large."""
    if not book.record["whole"] or number == 0:
        return None
    found = casefile.case(book.record, number)
    # As it is written it is larger still; this is the quicker look.
    if len(json.dumps(found)) > LARGEST_CASE:
        return None
    return exported.written(found).encode()


def _picture(told: Told, base: str, files: dict[str, bytes]) -> Json | None:
    """Return what shows the picture of a turn's report, which is laid beside the page."""
    size = _SIZE.search(told.picture)
    if not size:
        return None
    files[f"{base}.svg"] = told.picture.encode()
    width, height = (round(float(one)) for one in size.groups())
    return {"src": f"{base}.svg", "alt": told.alt, "width": width, "height": height}


def _reports(book: Book, turn: Json) -> list[Json]:
    """Return what each seat was told of a turn, where all is open."""
    if not book.record["whole"]:
        return []
    return [
        {"seat": seat, "text": telling.report_of(book.record, turn, seat, book.folder)}
        for seat in book.record["seats"]
    ]


def _sheets(book: Book, turn: Json, became: Mapping[str, Any]) -> Iterator[Json]:
    """Yield each seat's orders in a turn, a line each, and the game master's."""
    seats = book.record["seats"]
    room = MOST_ORDERS // max(len(seats), 1)
    for position, seat in enumerate((*seats, "")):
        is_missing = seat in turn["missing"]
        if seat not in turn["orders"] and not (is_missing and book.record["whole"]):
            continue
        lines = telling.fates(book.record, turn, seat, became.get(seat, {}))
        shown = list(within(lines, room))[: telling.MOST_LINES]
        note = ""
        if is_missing:
            note = telling.stood_in(book.record, turn, seat)
        elif not lines:
            note = "An empty sheet: no orders, on purpose."
        yield {
            "position": position + 1 if seat else 0,
            "seat": seat,
            "note": note,
            "lines": shown,
            "more": len(lines) - len(shown),
        }


def key_of(book: Book, turn: Json) -> str:
    """Return what a turn's page is made from besides the turns up to it, as text."""
    number = turn["number"]
    beside = [book.letters_before(number), notes(book, number), number + 1 in book.numbers]
    return json.dumps(beside, ensure_ascii=True)
