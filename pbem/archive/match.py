"""A match's part of the site, unit by unit; a unit made from the same as before isn't made again."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from pbem.archive import feed, search, telling
from pbem.archive.pages import Pages
from pbem.game import Json

if TYPE_CHECKING:
    from pbem.archive.site import Place


class Unit(NamedTuple):
    """Files that are made together, by name from the match's folder: those of a turn, say.

    `files` is `None` where they are as they were; `facts` is what else there is to remember.
    """

    name: str
    key: str
    files: Mapping[str, bytes] | None
    facts: Json


def made(record: Json, place: "Place", code: str, known: Mapping[str, Any]) -> Iterator[Unit]:
    """Make the units of a match; `known` has those there are from before, by name."""
    pages = Pages(record, place.name, place.templates)
    base = {key: record[key] for key in ("game", "title", "seats", "options", "whole", "zone")}
    base["reveal"] = record["settings"].get("reveal")
    chain = _key(code, place.name, base)
    headlines: dict[int, str] = {}
    lines: dict[int, str] = {}
    kept: set[int] = set()
    for turn in record["turns"]:
        number = turn["number"]
        chain = _key(chain, turn)
        press = pages.press_before(number)
        key = _key(chain, press, pages.notes(number), number + 1 in pages.numbers)
        before = known.get(f"turn-{number}")
        if before and before["key"] == key:
            headlines[number] = before["headline"]
            kept.add(number)
            yield Unit(f"turn-{number}", key, None, {})
            continue
        headlines[number] = headline = pages.headline(turn)
        yield Unit(f"turn-{number}", key, pages.turn(turn, headline), {"headline": headline})
    undone, taken_back = {}, []
    for turn in record["undone"]:
        number = turn["number"]
        undone[number] = undone.get(number, 0) + 1
        name = f"turn-{number}-undone-{undone[number]}"
        key = _key(code, base, turn, number in pages.numbers)
        taken_back.append({"href": f"{name}.html", "number": number, "ran": turn["ran"]})
        before = known.get(name)
        if before and before["key"] == key:
            yield Unit(name, key, None, {})
            continue
        yield Unit(name, key, pages.turn(turn, pages.headline(turn), undone[number]), {})
    yield Unit("match", _key(code, record), pages.match(headlines, taken_back), {})
    for turn in record["turns"]:
        number = turn["number"]
        if number not in lines:
            report = telling.report(record, turn, place.templates)
            lines[number] = search.words(
                record, turn, headlines[number], report, pages.press_before(number)
            )
    yield Unit("search", "", {"search.js": search.script(lines)}, {})
    entries = [feed.entry(record, turn, headlines[turn["number"]]) for turn in record["turns"]]
    title = f"{record['match']}: {record['title']}"
    written = feed.feed(title, f"{record['match']}/", entries, place.url, place.name)
    text = json.dumps(record, ensure_ascii=False, indent=1)
    files = {"feed.xml": written, "match.json": text.encode("utf-8", "replace")}
    yield Unit("data", "", files, {})


def _key(*values: Any) -> str:
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:32]
