"""A match as a database of its own, for SQLite and Datasette: only what is published.

The same record gives the same bytes (by the same SQLite): rows are written in the order of the
record, and nothing of the clock or this machine comes in.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from pbem.archive import telling
from pbem.archive.book import Book

_LARGEST = 2**63
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE players (seat TEXT, person TEXT, from_turn INTEGER, began TEXT, ended TEXT);
CREATE TABLE turns (number INTEGER PRIMARY KEY, phase TEXT, headline TEXT, ran TEXT, deadline TEXT,
  missing TEXT, page TEXT);
CREATE TABLE orders (turn INTEGER REFERENCES turns (number), seat TEXT, line INTEGER, text TEXT,
  kind TEXT, became TEXT, page TEXT);
CREATE TABLE events (turn INTEGER REFERENCES turns (number), place INTEGER, kind TEXT, facts TEXT,
  seen_by TEXT);
CREATE TABLE press (before_turn INTEGER, time TEXT, writer TEXT, readers TEXT, text TEXT,
  page TEXT);
CREATE TABLE history (time TEXT, who TEXT, what TEXT, facts TEXT, page TEXT);
CREATE TABLE standings (turn INTEGER REFERENCES turns (number), what TEXT, seat TEXT,
  value NUMERIC);
"""


def database(book: Book, headlines: Mapping[int, str]) -> bytes:
    """Return the database as the bytes of an SQLite file."""
    with sqlite3.connect(":memory:") as base:
        base.executescript(_TABLES)
        for table, values in _rows(book, headlines):
            row = [_storable(value) for value in values]
            base.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        base.commit()
        base.execute("VACUUM")
        made = base.serialize()
    base.close()
    return made


def _rows(book: Book, headlines: Mapping[int, str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each row with the table it belongs to."""
    record = book.record
    told = ("match", "game", "title", "status", "phase", "turn", "deadline", "created", "zone")
    for name in (*told, "winners", "options", "settings", "schedules", "seed", "seed_sha256"):
        yield "facts", [name, _text(record[name])]
    for one in record["players"]:
        yield "players", [one[key] for key in ("seat", "person", "from_turn", "began", "ended")]
    for turn in record["turns"]:
        number = turn["number"]
        page = f"turn-{number}.html"
        ran = [turn["ran"], turn["deadline"], _text(turn["missing"])]
        yield "turns", [number, turn["phase"], headlines[number], *ran, page]
        became = book.chapter(number).get("became", {}) if turn["orders"] else {}
        for position, seat in enumerate((*record["seats"], "")):
            place = position + 1 if seat else 0
            for line in telling.fates(record, turn, seat, became.get(seat, {})):
                row = [number, seat or "game master", line.number, line.text, line.kind, line.told]
                yield "orders", [*row, f"{page}#o{place}-{line.number}"]
        for at, event in enumerate(turn["events"], 1):
            facts = [event["kind"], _text(event["facts"]), _text(event["seen_by"])]
            yield "events", [number, at, *facts]
    for one in book.press:
        told_by = [one["time"], one["by"], one["to"], one["text"]]
        yield "press", [one["turn"], *told_by, book.addresses[one["id"]]]
    for one in (entry for page in book.history for entry in page):
        if one["what"] != "press":
            who = ", ".join(one.get("seats", [one["who"]]))
            entry = [one["time"], who, one["what"], _text(one["facts"])]
            yield "history", [*entry, f"{one['page']}#{one['id']}"]
    for chart in book.course.get("charts", ()):
        for seat, values in chart["seats"].items():
            for at, value in zip(chart.get("turns", range(len(values))), values, strict=True):
                yield "standings", [at, chart["title"], seat, value]


def _text(value: Any) -> Any:
    """Return a value as text: JSON, where it is neither text nor nothing."""
    is_plain = value is None or isinstance(value, str)
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def _storable(value: Any) -> Any:
    """Return a value as SQLite takes it: text without halves of characters, and a number beyond
    its integers as text, of which a column of numbers makes the nearest that it has."""
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
