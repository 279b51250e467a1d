"""A match's part of the site, unit by unit; one made from the same as before isn't made again."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from pbem.archive import exported, feed, match_page, search, tables, telling, turn_page
from pbem.archive.book import Book
from pbem.game import Json


class Unit(NamedTuple):
    """Files that are made together, by name from the match's folder: those of a turn, say.

    `files` is `None` where they are as they were; `facts` is what else there is to remember.
    """

    name: str
    key: str
    files: Mapping[str, bytes] | None
    facts: Json


def made(book: Book, code: str, url: str, known: Mapping[str, Any], index: bytes) -> Iterator[Unit]:
    """Make the units of a match.

    `code` is the same while program and templates are, `url` the archive's address or empty,
    `known` has the units there are from before, by name, and `index` what is searched.
    """
    record = book.record
    base = {key: record[key] for key in ("game", "title", "seats", "options", "whole", "zone")}
    base |= {"reveal": record["settings"].get("reveal"), "unverified": book.is_unverified}
    chain = code = key_of(code, book.name, base)
    headlines: dict[int, str] = {}
    lines = search.lines_of(index)
    for turn in record["turns"]:
        number = turn["number"]
        # A page shows its turn, and of others only those before it.
        chain = key_of(chain, turn)
        key = key_of(chain, turn_page.key_of(book, turn))
        before = known.get(f"turn-{number}")
        if before and before["key"] == key:
            headlines[number] = before["headline"]
            yield Unit(f"turn-{number}", key, None, {})
            continue
        told = telling.told(record, turn, book.folder)
        lines[number] = search.words(book, turn, told)
        headlines[number] = told.headline
        files = turn_page.made(book, turn, told)
        yield Unit(f"turn-{number}", key, files, {"headline": told.headline})
    undone = []
    for unit, turn in _taken_back(book, code, known):
        undone.append({"href": f"{unit.name}.html", "number": turn["number"], "ran": turn["ran"]})
        yield unit
    yield Unit("match", "", match_page.made(book, headlines, undone), {})
    files = {
        "search.js": search.script(_lines(book, lines)),
        "feed.xml": _feed(book, headlines, url),
        "match.json": exported.written(record).encode(),
        "match.sqlite": tables.database(book, headlines),
    }
    yield Unit("data", "", files, {})


def _taken_back(book: Book, code: str, known: Mapping[str, Any]) -> Iterator[tuple[Unit, Json]]:
    """Make the units of the turns that were taken back, in the order they were run."""
    for name, turn in book.undone:
        then = book.taken_back(turn)
        stands = turn["number"] in book.numbers
        key = key_of(code, then.record["turns"], stands)
        before = known.get(name)
        if before and before["key"] == key:
            yield Unit(name, key, None, {}), turn
        else:
            told = telling.told(book.record, turn, book.folder)
            files = turn_page.made_undone(then, turn, told, name, stands)
            yield Unit(name, key, files, {}), turn


def _lines(book: Book, known: Mapping[int, str]) -> dict[int, str]:
    """Return the lines of the index that is searched, by turn; those known are taken."""
    lines = {}
    for turn in book.record["turns"]:
        number = turn["number"]
        if number in known:
            lines[number] = known[number]
        else:
            told = telling.told(book.record, turn, book.folder)
            lines[number] = search.words(book, turn, told)
    # What was written since the last turn stands on no turn's page.
    return {**lines, max(book.numbers, default=-1) + 1: search.since(book)}


def _feed(book: Book, headlines: Mapping[int, str], url: str) -> bytes:
    record = book.record
    entries = [feed.entry(record, turn, headlines[turn["number"]]) for turn in record["turns"]]
    title = f"{record['match']}: {record['title']}"
    return feed.feed(title, f"{record['match']}/", entries, url, book.name)


def key_of(*values: Any) -> str:
    """Return what is the same only where some JSON values are."""
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:32]
