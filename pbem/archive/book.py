"""A match's published record as a book to be made of it: what all of its pages need."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup

from pbem import game as games
from pbem.archive import telling
from pbem.game import Game, Json
from pbem.reports.templates import environment, read, render

# By the position of a seat, from the first on; the style sheet has them too, for dark screens also.
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#8C6D31",
    "#555555",
)


@dataclass(frozen=True)
class Book:
    """A published record, what the archive is called, and where templates are looked for first."""

    record: Json
    name: str
    folder: Path | None = None

    @cached_property
    def game(self) -> Game:
        """The match's game."""
        return games.named(self.record["game"])

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The numbers of the turns that stand."""
        return frozenset(turn["number"] for turn in self.record["turns"])

    @cached_property
    def chapter(self) -> Callable[[int], Json]:
        """What the game says of a turn that stands, by its number; made once for each."""
        made = games.optional(self.game, "chapter")
        return cache(lambda number: dict(made(self.record, number)) if made else {})

    @cached_property
    def course(self) -> Json:
        """What the game says of the whole match."""
        made = games.optional(self.game, "course")
        return dict(made(self.record)) if made and self.record["turns"] else {}

    @cached_property
    def press(self) -> Sequence[Json]:
        """All press in reading order, each with its `turn`: the one that it came before."""
        return [
            {
                "id": lasting("p", one),
                "time": one["time"],
                "by": one["facts"]["by"],
                "to": one["facts"]["to"],
                "text": one["facts"]["text"],
                "turn": one["facts"]["turn"] + 1,
                "private": one["facts"]["seen_by"] is not None,
            }
            for one in self.record["history"]
            if one["what"] == "press"
        ]

    @cached_property
    def history(self) -> Sequence[Json]:
        """The history's entries, each with a lasting `id` and, of press, the `address` of it."""
        found = []
        for one in self.record["history"]:
            entry = {**one, "id": lasting("h", one)}
            if one["what"] == "press":
                number = one["facts"]["turn"] + 1
                page = f"turn-{number}.html" if number in self.numbers else "press.html"
                entry["address"] = f"{page}#{lasting('p', one)}"
            found.append(entry)
        return found

    @cached_property
    def script(self) -> str | None:
        """The script of the game's own parts, where it brings one."""
        return read(f"{self.record['game']}/archive.js", self.folder, self.record["game"])

    def press_before(self, number: int) -> list[Json]:
        """Return the press of the phase that a turn ended."""
        return [one for one in self.press if one["turn"] == number]

    def page(self, kind: str, context: Mapping[str, Any]) -> bytes:
        """Render a page of a kind, with what every page is given besides its context."""
        record = self.record
        zone = ZoneInfo(record["zone"])
        ours = {
            "record": record,
            "seats": record["seats"],
            "program": record["program"],
            "name": self.name,
            "root": "../",
            "when": lambda moment: telling.shown_time(moment, zone),
            "script": f"{record['game']}.js" if self.script is not None else None,
        }
        env = environment(self.folder, record["game"], True)
        return render(env, f"archive/{kind}.html", {**ours, **context}).encode()

    def part(self, name: str, facts: Json, turn: Json | None) -> Markup:
        """Render a game's own part of a page; empty where it has no template for it.

        Only the match's page (`turn` is `None`) is told the `last` turn: a turn's page would have
        to be made again with every turn that follows.
        """
        record = self.record
        seats = record["seats"]
        context = {
            "record": record,
            "page": facts,
            "turn": turn,
            "seats": seats,
            "colours": {seat: COLOURS[at % len(COLOURS)] for at, seat in enumerate(seats)},
            "number": turn["number"] if turn else None,
        }
        if turn is None:
            context["last"] = max(self.numbers, default=0)
        env = environment(self.folder, record["game"], True)
        return Markup(render(env, (f"{record['game']}/{name}",), context).strip())


def lasting(kind: str, entry: Json) -> str:
    """Return an entry's address within its page.

    It stays the same when others come to stand before it, as those do that are private until the
    match is over.
    """
    facts = {key: value for key, value in entry["facts"].items() if key != "seen_by"}
    told = repr((entry["time"], entry["who"], entry["what"], sorted(facts.items(), key=str)))
    return kind + sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def within(items: Sequence[Any], room: int) -> Iterator[Any]:
    """Yield those of some items that fit into so many bytes of a page, from the first on."""
    for item in items:
        # What stands round each weighs some two hundred bytes more.
        room -= len(str(item).encode("utf-8", "replace")) + 200
        if room < 0:
            return
        yield item
