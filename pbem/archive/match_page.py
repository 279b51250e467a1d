"""The page of a match, and those of its press and of a history that is long.

A page is held under `LARGEST` bytes, or what would make it larger stands on a page of its own.
"""

from collections.abc import Mapping, Sequence

from pbem import settings
from pbem.archive import chart
from pbem.archive.book import Book, within
from pbem.game import Json
from pbem.reports.templates import said

LARGEST = 300_000
_MOST_PRESS = 200_000
_MOST_ENTRIES = 400
_LONG_VALUE = 120


def made(book: Book, headlines: Mapping[int, str], undone: Sequence[Json]) -> dict[str, bytes]:
    """Return the files by name.

    `undone` has, for each turn taken back, its `href`, `number` and `ran`.
    """
    record = book.record
    history = book.history
    parts = [history[at : at + _MOST_ENTRIES] for at in range(0, len(history), _MOST_ENTRIES)]
    context: Json = {
        "state": state_of(record),
        "charts": [_chart(book, one) for one in book.course.get("charts", ())],
        "course": book.part("course.html", book.course, None) if book.course else "",
        "turns": [{**turn, "headline": headlines[turn["number"]]} for turn in record["turns"]],
        "undone": undone,
        "options": _options(book),
        "press": len(book.press),
        "history": parts[0] if parts else [],
        "more": len(parts) > 1,
        "far": None,
    }
    files = {"index.html": book.page("match", context)}
    if len(files["index.html"]) > LARGEST and context["course"]:
        files["course.html"] = book.page("course", context)
        files["index.html"] = book.page("match", {**context, "course": "", "far": "course.html"})
    for number, entries in enumerate(parts[1:], 2):
        context = {"history": entries, "number": number, "pages": len(parts)}
        files[f"history-{number}.html"] = book.page("history", context)
    return {**files, **_press_pages(book)}


def _chart(book: Book, one: Json) -> Json:
    seats = [seat for seat in book.record["seats"] if seat in one["seats"]]
    length = max((len(one["seats"][seat]) for seat in seats), default=0)
    columns = [one["seats"][seat] for seat in seats]
    rows = [
        [values[at] if at < len(values) else None for values in columns] for at in range(length)
    ]
    return {
        "title": one["title"],
        "svg": chart.drawn(one, book.record["seats"]),
        "seats": seats,
        "rows": rows,
        "along": one.get("along", "turn"),
        "places": one.get("places", range(length)),
        "turns": one.get("turns", range(length)),
    }


def _press_pages(book: Book) -> dict[str, bytes]:
    pages: list[Sequence[Json]] = []
    rest: Sequence[Json] = book.press
    while rest:
        page = list(within(rest, _MOST_PRESS)) or rest[:1]
        pages.append(page)
        rest = rest[len(page) :]
    files = {}
    for number, page in enumerate(pages, 1):
        groups = [
            {
                "turn": turn,
                "stands": turn in book.numbers,
                "press": [one for one in page if one["turn"] == turn],
            }
            for turn in dict.fromkeys(one["turn"] for one in page)
        ]
        name = "press.html" if number == 1 else f"press-{number}.html"
        context = {"groups": groups, "number": number, "pages": len(pages)}
        files[name] = book.page("press", context)
    return files


def _options(book: Book) -> list[Json]:
    """Return the options and settings of the match in words, the game's own first."""
    known = [one for one in (*book.game.OPTIONS, *settings.SETTINGS) if one.name != "seed"]
    given = {**book.record["options"], **book.record["settings"]}
    found = []
    for one in known:
        if one.name in given:
            value = said(given[one.name])
            is_long = len(value) > _LONG_VALUE or "\n" in value
            help_text = one.help[:1].upper() + one.help[1:]
            found.append({"name": one.name, "help": help_text, "value": value, "long": is_long})
    return found


def state_of(card: Json) -> str:
    """Say how a match stands, in a sentence; `card` has what a record has of that."""
    last = card["turn"]
    turns = f"{last} turn" if last == 1 else f"{last} turns"
    match card["status"]:
        case "open":
            return "Open: seats are to be joined."
        case "held":
            return f"Held after {turns}: the clock stands still."
        case "over" if card["winners"]:
            won = "has won" if len(card["winners"]) == 1 else "have won"
            return f"Over after {turns}: {said(card['winners'])} {won}."
        case "over":
            return f"Over after {turns}." if last else "Over before it began."
    return f"Running, after {turns}; the phase to come is {card['phase']}."
