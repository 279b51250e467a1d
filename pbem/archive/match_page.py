"""The page of a match, and those of its press and of a history that is long.

A page is held under `LARGEST` bytes, or what would make it larger stands on a page of its own.
"""

from collections.abc import Mapping, Sequence

from pbem import settings
from pbem.archive import chart
from pbem.archive.book import Book
from pbem.game import Json
from pbem.reports.templates import said

# Somewhat less than the 300 kB that no page may have.
LARGEST = 290_000
_LONG_VALUE = 120


def made(book: Book, headlines: Mapping[int, str], undone: Sequence[Json]) -> dict[str, bytes]:
    """Return the files by name.

    `undone` has, for each turn taken back, its `href`, `number` and `ran`.
    """
    record = book.record
    pages = book.history
    context: Json = {
        "state": state_of(record),
        "charts": [_chart(book, one) for one in book.course.get("charts", ())],
        "course": book.part("course.html", book.course, None) if book.course else "",
        "turns": [{**turn, "headline": headlines[turn["number"]]} for turn in record["turns"]],
        "undone": undone,
        "options": _options(book),
        "letters": len(book.letters),
        "history": pages[0] if pages else [],
        "more": len(pages) > 1,
        "elsewhere": {},
    }
    files = _fitting(book, context)
    for number, entries in enumerate(pages[1:], 2):
        context = {"history": entries, "number": number, "pages": len(pages)}
        files[f"history-{number}.html"] = book.page("history", context)
    return {**files, **_press_pages(book)}


def _fitting(book: Book, context: Json) -> dict[str, bytes]:
    """Return the page and, where it would be too large, others beside it for parts of it."""
    files = {"index.html": book.page("match", context)}
    for part, key in (("course", "course"), ("figures", "charts"), ("turns", "turns")):
        if len(files["index.html"]) <= LARGEST or not context[key]:
            continue
        files[f"{part}.html"] = book.page("match_part", {**context, "part": part})
        elsewhere = {**context["elsewhere"], part: f"{part}.html"}
        context = {**context, "elsewhere": elsewhere}
        files["index.html"] = book.page("match", context)
    return files


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
    pages = book.letter_pages
    files = {}
    for number, (name, page) in enumerate(pages, 1):
        groups = [
            {
                "turn": turn,
                "stands": turn in book.numbers,
                "letters": [one for one in page if one["turn"] == turn],
            }
            for turn in dict.fromkeys(one["turn"] for one in page)
        ]
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
            value = given[one.name]
            is_default = value == one.default
            text = "" if is_default and not value and value != 0 else said(value)
            found.append(
                {
                    "name": one.name,
                    "help": one.help[:1].upper() + one.help[1:],
                    "value": text,
                    "long": len(text) > _LONG_VALUE or "\n" in text,
                    "default": is_default,
                }
            )
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
