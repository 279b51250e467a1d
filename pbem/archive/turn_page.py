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

LARGEST = 300_000
MOST_PRESS = 60_000
MOST_ORDERS = 70_000
# A case holds all turns before; of a long match that would be more than all pages together.
LARGEST_CASE = 60_000

_SIZE = re.compile(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"')


def made(book: Book, turn: Json, told: Told, undone: int = 0) -> dict[str, bytes]:
    """Return the files of a turn by name: its page, picture and case file.

    `undone` is, of a turn that was taken back, which of its number it is, from 1.
    """
    number = turn["number"]
    base = f"turn-{number}-undone-{undone}" if undone else f"turn-{number}"
    facts: Json = {} if undone else book.chapter(number)
    files: dict[str, bytes] = {}
    press = [] if undone else book.press_before(number)
    shown = list(within(press, MOST_PRESS))
    case = None if undone else _case(book, number)
    if case is not None:
        files[f"{base}.case.json"] = case
    before, after = (None if undone else number + by for by in (-1, 1))
    context: Json = {
        "number": number,
        "numbers": book.numbers,
        "turn": turn,
        "headline": told.headline,
        "undone": undone,
        "previous": before if before in book.numbers else None,
        "next": after if after in book.numbers else None,
        "missing": turn["missing"],
        "notes": [] if undone else notes(book, number),
        "picture": None if facts.get("drawn") else _picture(told, base, files),
        "report": Markup(told.report),
        "chapter": book.part("chapter.html", facts, turn) if facts else "",
        "sheets": list(_sheets(book, turn, facts.get("became", {}), undone > 0)),
        "press": shown,
        "more_press": len(press) - len(shown),
        "reports": _reports(book, turn),
        "elsewhere": {},
        "case": f"{base}.case.json" if case is not None else None,
        "can_judge": book.record["whole"] and number > 0 and not undone,
    }
    return {**files, **_fitting(book, base, context)}


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
    *earlier, last = found["turns"]
    kept = [{key: one[key] for key in one if key != "expect"} for one in earlier]
    found = {**found, "turns": [*kept, last]}
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


def _sheets(book: Book, turn: Json, became: Mapping[str, Any], undone: bool) -> Iterator[Json]:
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
            note = "No orders came." if undone else telling.stood_in(book.record, turn, seat)
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
    beside = [book.press_before(number), notes(book, number), number + 1 in book.numbers]
    return json.dumps(beside, ensure_ascii=True)
