"""A match's published record as a book to be made of it: what all of its pages need."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup

from pbem import colours
from pbem import game as games
from pbem.archive import telling
from pbem.game import Game, Json
from pbem.reports.templates import environment, read, render

# So many entries of the history stand on one page at most, and so many bytes of them.
_MOST_ENTRIES = 300
_MOST_HISTORY = 100_000
# So many bytes of letters stand on a turn's page, and on one of those that have them all.
_MOST_ON_TURN, _MOST_LETTERS = 60_000, 200_000


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
    def is_unverified(self) -> bool:
        """Whether the match was imported though its turns had not come out as they stood."""
        return any(
            one["what"] == "imported" and one["facts"].get("unverified")
            for one in self.record["history"]
        )

    @cached_property
    def undone(self) -> Sequence[tuple[str, Json]]:
        """The turns taken back, in the order they were run, each with the name of its page."""
        count = Counter[int]()
        found = []
        for turn in self.record["undone"]:
            count[turn["number"]] += 1
            found.append((f"turn-{turn['number']}-undone-{count[turn['number']]}", turn))
        return found

    @cached_property
    def letters(self) -> Sequence[Json]:
        """All press and what the game master said to all, in reading order.

        Each has its `turn`, the one that it came before, and its lasting `id`.
        """
        ran = [_moment(turn) for turn in self.record["turns"]]
        found = []
        for entry, lasts in zip(self.record["history"], self._ids, strict=True):
            facts = entry["facts"]
            if entry["what"] == "press":
                told = {"by": facts["by"], "to": facts["to"], "turn": facts["turn"] + 1}
                told["private"] = facts["seen_by"] is not None
            elif entry["what"] == "said":
                before = bisect_left(ran, datetime.fromisoformat(entry["time"]))
                told = {"by": "the game master", "to": "all", "turn": before, "private": False}
            else:
                continue
            own = {"id": f"p{lasts}", "time": entry["time"], "text": facts["text"]}
            found.append({**told, **own, "gm": entry["what"] == "said"})
        return found

    @cached_property
    def press(self) -> Sequence[Json]:
        """What players wrote, as it is among the letters."""
        return [one for one in self.letters if not one["gm"]]

    @cached_property
    def history(self) -> Sequence[Sequence[Json]]:
        """The history's entries, page by page: the first is the match's own page.

        Each has a lasting `id`, the `page` it stands on and, where it leads to another, the
        `address` of that. Of orders that came in there is one entry a turn: `seats` has who sent
        some. A turn that was run has whether the game master `ended` the match instead.
        """
        pages: list[list[Json]] = []
        rest: Sequence[Json] = self._entries
        while rest:
            name = f"history-{len(pages) + 1}.html" if pages else "index.html"
            page = list(within(rest[:_MOST_ENTRIES], _MOST_HISTORY)) or rest[:1]
            pages.append([{**one, "page": name} for one in page])
            rest = rest[len(page) :]
        return pages

    @cached_property
    def _entries(self) -> Sequence[Json]:
        found: list[Json] = []
        sent: dict[int, Json] = {}
        runs = Counter(
            one["facts"]["turn"] for one in self.record["history"] if one["what"] == "run"
        )
        begun = Counter[int]()
        ended: int | None = None
        for one, lasts in zip(self.record["history"], self._ids, strict=True):
            entry, facts = {**one, "id": f"h{lasts}"}, one["facts"]
            if one["what"] in ("ended", "undone"):
                # END is taken back with its turn.
                ended = facts.get("turn")
            elif one["what"] == "press":
                entry["address"] = self.addresses[f"p{lasts}"]
            elif one["what"] == "run":
                number = facts["turn"]
                begun[number] += 1
                entry["address"] = self._page_of_run(number, begun[number], runs[number])
                entry["ended"] = ended == number - 1
                sent.clear()
            elif one["what"] == "orders" and one["who"] in self.record["seats"]:
                number = facts.get("turn", self.record["turn"])
                if number in sent:
                    if one["who"] not in sent[number]["seats"]:
                        sent[number]["seats"].append(one["who"])
                    continue
                entry |= {"seats": [one["who"]], "turn": number + 1}
                sent[number] = entry
            found.append(entry)
        return found

    def _page_of_run(self, number: int, at: int, runs: int) -> str | None:
        """Return the page of a turn's run, the `at`th of so many, if there is one."""
        undone = f"turn-{number}-undone-{at}"
        if any(name == undone for name, _ in self.undone):
            return f"{undone}.html"
        return f"turn-{number}.html" if number in self.numbers and at == runs else None

    @cached_property
    def _ids(self) -> Sequence[str]:
        """What of each entry of the history its address is made from, no two alike."""
        count = Counter[str]()
        found = []
        for one in self.record["history"]:
            lasts = lasting(one)
            count[lasts] += 1
            found.append(lasts if count[lasts] == 1 else f"{lasts}-{count[lasts]}")
        return found

    @cached_property
    def script(self) -> str | None:
        """The script of the game's own parts, where it brings one."""
        return read(f"{self.record['game']}/archive.js", self.folder, self.record["game"])

    def letters_before(self, number: int) -> list[Json]:
        """Return the letters of the phase that a turn ended."""
        return [one for one in self.letters if one["turn"] == number]

    def letters_shown(self, number: int) -> list[Json]:
        """Return those of the letters before a turn that stand on its page, from the first on."""
        return list(within(self.letters_before(number), _MOST_ON_TURN))

    @cached_property
    def letter_pages(self) -> Sequence[tuple[str, Sequence[Json]]]:
        """The pages of all letters by name, each with those that stand on it."""
        pages: list[tuple[str, Sequence[Json]]] = []
        rest = self.letters
        while rest:
            name = f"press-{len(pages) + 1}.html" if pages else "press.html"
            page = list(within(rest, _MOST_LETTERS)) or rest[:1]
            pages.append((name, page))
            rest = rest[len(page) :]
        return pages

    @cached_property
    def addresses(self) -> Mapping[str, str]:
        """The address of each letter by its id: on its turn's page, where it stands there."""
        found = {one["id"]: name for name, page in self.letter_pages for one in page}
        for number in self.numbers:
            found |= {one["id"]: f"turn-{number}.html" for one in self.letters_shown(number)}
        return {id_: f"{page}#{id_}" for id_, page in found.items()}

    def taken_back(self, turn: Json) -> "Book":
        """Return the book of the match as it was when a turn, since taken back, had been run."""
        turns = []
        for number in range(turn["number"]):
            runs = [one for one in self.record["undone"] if one["number"] == number]
            runs += [one for one in self.record["turns"] if one["number"] == number]
            before = [one for one in runs if _moment(one) <= _moment(turn)] or runs
            # Of two in one second the later one is the later of the list.
            turns += sorted(before, key=_moment)[-1:]
        turns.append(turn)
        return Book({**self.record, "turns": turns, "undone": []}, self.name, self.folder)

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
            "unverified": self.is_unverified,
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
            "colours": {seat: colours.of_seat(at) for at, seat in enumerate(seats)},
            "number": turn["number"] if turn else None,
        }
        if turn is None:
            context["last"] = max(self.numbers, default=0)
        env = environment(self.folder, record["game"], True)
        return Markup(render(env, (f"{record['game']}/{name}",), context).strip())


def lasting(entry: Json) -> str:
    """Return what the address of an entry of the history is made from.

    It stays the same when others come to stand before it, as those do that are private until the
    match is over.
    """
    facts = {key: value for key, value in entry["facts"].items() if key != "seen_by"}
    told = repr((entry["time"], entry["who"], entry["what"], sorted(facts.items(), key=str)))
    return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _moment(turn: Json) -> datetime:
    """Return when a turn was run."""
    return datetime.fromisoformat(turn["ran"])


def within(items: Sequence[Any], room: int) -> Iterator[Any]:
    """Yield those of some items that fit into so many bytes of a page, from the first on."""
    for item in items:
        # What stands round each weighs some two hundred bytes more.
        room -= len(str(item).encode("utf-8", "replace")) + 200
        if room < 0:
            return
        yield item
