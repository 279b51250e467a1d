"""The static site of some matches: built into a folder, only what has changed since the last time.

What a page is made from has a key; a page whose key is the same as before is left as it is. A match
whose fingerprint is the same isn't even loaded. The folder may hold other matches' pages and other
people's files: neither is touched.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pbem import roots
from pbem.archive import folder as folders
from pbem.faults import Away, Damaged, Wrong

if TYPE_CHECKING:
    from pbem.game import Json

Files = Mapping[str, bytes]


class Source(NamedTuple):
    """A match to be built: its name, what is the same while nothing of it changes, how to get its
    published record, how many turns it has, and the key of its game."""

    match: str
    fingerprint: str
    record: Callable[[], "Json"]
    turns: int = 0
    game: str = ""


@dataclass(slots=True)
class Built:
    """What a build did: matches there are in it, those that changed, files written and removed.

    `failed` has, by name, why a match could not be built; its pages are as they were.
    """

    folder: Path
    matches: int = 0
    changed: list[str] = field(default_factory=list)
    written: int = 0
    removed: int = 0
    failed: dict[str, str] = field(default_factory=dict)

    def told(self) -> str:
        """Say it in a line."""
        count = len(self.changed)
        changed = "nothing else has changed" if self.failed else "nothing has changed"
        if count:
            changed = f"built {', '.join(self.changed)}"
        matches = f"{self.matches} {'match' if self.matches == 1 else 'matches'}"
        failed = f", not built: {', '.join(self.failed)}" if self.failed else ""
        return (
            f"{self.folder / 'index.html'}: {matches}, {changed}{failed}; "
            f"{self.written} files written, {self.removed} removed"
        )


class Place(NamedTuple):
    """Where a site is built, what it is called, and where templates are looked for first."""

    folder: Path
    name: str
    templates: Path | None = None
    url: str = ""


def build(place: Place, sources: Iterable[Source]) -> Built:
    """Build the pages of some matches, and the index of all that are in the folder.

    A match that can't be built is named and the others are built all the same. Raise `Wrong` where
    the folder isn't one that a site can be built in; what is somebody else's is looked for first.
    """
    known = folders.manifest(place.folder)
    built = Built(place.folder)
    stale = []
    for source in sources:
        built.matches += 1
        # SQLite takes bytes for a text as well.
        if not isinstance(source.match, str) or not folders.MATCH.fullmatch(source.match):
            why = f"no name for a match, which has {folders.MATCH_FORM}; mend it in the database"
            built.failed[f"{source.match!r:.60}"] = why
            continue
        before = known["matches"].get(source.match, {"units": {}})
        stamp = _stamp(place, source)
        intact = all(folders.is_intact(place.folder, one) for one in before["units"].values())
        if before.get("stamp") != stamp or not intact:
            stale.append((source, stamp))
    folders.check_free(place.folder, known, _reserved(place, [source for source, _ in stale]))
    for source, stamp in stale:
        _build_match(place, known, source, stamp, built)
    _build_common(place, known, built)
    return built


def _reserved(place: Place, stale: Iterable[Source]) -> Iterator[str]:
    """Yield the names that files of ours are about to have, as far as any has them by now."""
    yield from ("index.html", "feed.xml", "style.css", "archive.js")
    for source in stale:
        if source.game:
            yield f"{source.game}.js"
        yield from folders.standing(place.folder, source.match, source.turns)


def _stamp(place: Place, source: Source) -> str:
    return _key(source.fingerprint, place.name, place.url, code(place.templates))


@cache
def code(templates: Path | None) -> str:
    """Return what is the same only while the program and all templates are."""
    package = Path(__file__).parent.parent
    used = (package / one for one in ("archive", "games", "reports"))
    return roots.fingerprint(templates, *used)


def _key(*values: Any) -> str:
    text = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:32]


class _Made(NamedTuple):
    """A match as it was made anew: its units by name, those of its files that are to be written,
    its card and its entries in feeds."""

    units: "Json"
    fresh: Files
    card: "Json"
    entries: list["Json"]


def _build_match(place: Place, known: "Json", source: Source, stamp: str, built: Built) -> None:
    before = known["matches"].get(source.match, {"units": {}})
    try:
        made = _made(place, source, before)
    except Away:
        raise
    # Whatever is amiss with a match or its templates, the others are built.
    except Exception as error:
        plain = isinstance(error, Wrong | Damaged | ValueError)
        fault = str(error) if plain else f"{type(error).__name__}: {error}"
        built.failed[source.match] = " ".join(fault.split())
        return
    _put(place, known, made.fresh, built)
    old = {name for unit in before["units"].values() for name in unit["files"]}
    new = {name for unit in made.units.values() for name in unit["files"]}
    _settle(place, known, old, new, f"{source.match}/", built)
    built.changed.append(source.match)
    known["matches"][source.match] = {
        "stamp": stamp,
        "card": made.card,
        "entries": made.entries,
        "units": made.units,
    }
    folders.write_manifest(place.folder, known)


def _made(place: Place, source: Source, before: "Json") -> _Made:
    """Make a match's files, in memory alone; what is as it was `before` isn't made again."""
    from pbem.archive import feed, match
    from pbem.archive.book import Book

    record = source.record()
    intact = {
        name: unit
        for name, unit in before["units"].items()
        if folders.is_intact(place.folder, unit)
    }
    index = place.folder / source.match / "search.js"
    was = index.read_bytes() if "data" in intact else b""
    book = Book(record, place.name, place.templates)
    units: Json = {}
    fresh: dict[str, bytes] = {}
    for one in match.made(book, code(place.templates), place.url, intact, was):
        if one.files is None:
            units[one.name] = intact[one.name]
            continue
        files = {f"{source.match}/{name}": content for name, content in one.files.items()}
        fresh |= files
        sizes = {name: len(content) for name, content in files.items()}
        units[one.name] = {"key": one.key, "files": sizes, **one.facts}
    entries = [
        feed.entry(record, turn, units[f"turn-{turn['number']}"]["headline"])
        for turn in record["turns"][-feed.MOST_ENTRIES :]
    ]
    return _Made(units, fresh, {**_card(record), "unverified": book.is_unverified}, entries)


def _settle(
    place: Place, known: "Json", old: set[str], new: set[str], under: str, built: Built
) -> None:
    """Remove what is there no more, and what a build that was cut short had begun to write."""
    begun = {name for name in known["claimed"] if name.rpartition("/")[0] == under.rstrip("/")}
    built.removed += folders.remove(place.folder, sorted((old | begun) - new))
    known["claimed"] = sorted(set(known["claimed"]) - begun)


def _put(place: Place, known: "Json", files: Files, built: Built) -> None:
    """Write files, those that changed; that they are ours is written down before."""
    folders.check_free(place.folder, known, files)
    if not set(files) <= folders.ours(known):
        known["claimed"] = sorted({*known["claimed"], *files})
        folders.write_manifest(place.folder, known)
    for name, content in files.items():
        built.written += folders.place(place.folder, name, content)


def _card(record: "Json") -> "Json":
    """Return what the index tells of a match."""
    turns = record["turns"]
    return {
        key: record[key]
        for key in ("match", "game", "title", "status", "phase", "turn", "winners", "zone")
    } | {
        "players": record["seats"],
        "began": record["created"],
        "last": turns[-1]["ran"] if turns else record["created"],
        "deadline": record["deadline"],
    }


def _build_common(place: Place, known: "Json", built: Built) -> None:
    """Build what all matches share: index, feed, style sheet, scripts."""
    matches = known["matches"]
    entries = [entry for one in matches.values() for entry in one["entries"]]
    cards = [one["card"] for one in matches.values()]
    key = _key(place.name, place.url, code(place.templates), cards, entries)
    before = known["common"].get("common")
    if before and before["key"] == key and folders.is_intact(place.folder, before):
        return
    from pbem.archive.front import common

    try:
        files = common(place, cards, entries)
    except ValueError as error:
        raise Wrong(f"the index can't be built: {error}") from None
    _put(place, known, files, built)
    _settle(place, known, set(before["files"] if before else ()), set(files), "", built)
    sizes = {name: len(content) for name, content in files.items()}
    known["common"] = {"common": {"key": key, "files": sizes}}
    folders.write_manifest(place.folder, known)
