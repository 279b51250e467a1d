"""Case files: positions, orders and what must come of them, played without database or mail."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pbem import commands, typography
from pbem import game as games
from pbem.game import Game, Json
from pbem.orders import Grammar

# Of a case that comes out otherwise no more places are told than a reader takes in.
MOST_DIFFERENCES = 20


class NoCase(ValueError):
    """A file that can't be read or holds no case; its message says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case as its file has it, its game and options found and read."""

    game: Game
    seats: tuple[str, ...]
    options: Mapping[str, Any]
    seed: str
    state: Json | None
    turns: tuple[Json, ...]


def read(path: Path) -> Case:
    """Read a case file; raise `NoCase` for what can't be read or is no case."""
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise NoCase(f"can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise NoCase(f"is no JSON: {error}") from None
    try:
        return case(data)
    except ValueError as error:
        raise NoCase(str(error)) from None


def case(data: Any) -> Case:
    """Return the case that some JSON holds; raise `ValueError` naming what is wrong in it."""
    whole = _typed(data, "the case", dict)
    seats = _typed(whole.get("seats"), "seats", list)
    if len(set(map(str, seats))) != len(seats) or not all(s and isinstance(s, str) for s in seats):
        raise ValueError("seats: names are needed, each once")
    turns = _typed(whole.get("turns"), "turns", list)
    for number, turn in enumerate(turns, 1):
        _typed(turn, f"turn {number}", dict)
        orders = _typed(turn.get("orders", {}), f"turn {number}, orders", dict)
        for seat, text in orders.items():
            if seat not in seats:
                raise ValueError(f"turn {number}, orders: {seat!r} is no seat of the case")
            _typed(text, f"turn {number}, orders.{seat}", str)
        _typed(turn.get("gm", ""), f"turn {number}, gm", str)
        _typed(turn.get("expect", {}), f"turn {number}, expect", dict)
    state = whole.get("state")
    game = games.named(_typed(whole.get("game"), "game", str))
    return Case(
        game=game,
        seats=tuple(seats),
        options=games.read_options(
            game.OPTIONS, _typed(whole.get("options", {}), "options", dict), game.KEY
        ),
        seed=_typed(whole.get("seed", ""), "seed", str),
        state=None if state is None else _typed(state, "state", dict),
        turns=tuple(turns),
    )


def _typed(value: Any, place: str, wanted: type[Any]) -> Any:
    words: dict[type[Any], str] = {dict: "an object", list: "an array", str: "a text"}
    if not isinstance(value, wanted):
        raise ValueError(f"{place}: {words[wanted]} is needed, not {json.dumps(value)[:40]}")
    return value


def play(case: Case) -> list[Json]:
    """Play a case's turns; return for each `state`, `refused`, `waiting`, `events` as JSON.

    Raise `ValueError` where the set-up or the state given is impossible.
    """
    game = case.game
    if case.state is None:
        state = game.setup(case.seats, case.options, games.chance(case.seed, 0, "setup"))
    else:
        state = game.load(case.state, case.seats, case.options)
    played: list[Json] = []
    for number, turn in enumerate(case.turns, 1):
        texts: dict[str | None, str] = dict.fromkeys(case.seats, "")
        texts |= {seat: _sheet(game.KEY, text) for seat, text in turn.get("orders", {}).items()}
        texts[None] = turn.get("gm", "")
        done = games.play(game, state, texts, case.seed, number)
        state = done.state
        refused = {
            seat or "gm": sorted({problem.line for problem in done.problems.get(seat, ())})
            for seat in texts
        }
        played.append(
            {
                "state": game.dump(state),
                "refused": refused,
                "waiting": list(game.waiting(state)),
                "events": [games.event_json(event) for event in done.events],
            }
        )
    return played


@cache
def _grammar(key: str) -> Grammar:
    return games.named(key).GRAMMAR | commands.PLAYER


def _sheet(key: str, text: str) -> str:
    """Blank what a mail holds besides orders: what stands in a block of press is none."""
    reading = _grammar(key).read(text)
    said = {line.number for line in reading.lines if line.order or line.problem}
    lines = enumerate(typography.lines(text), 1)
    return "\n".join(line if number in said else "" for number, line in lines)


def differences(case: Case, played: Sequence[Json]) -> list[str]:
    """Name all places where the played turns differ from what the case expects; empty if none."""
    return [
        f"turn {number}, {fault}"
        for number, (turn, result) in enumerate(zip(case.turns, played, strict=True), 1)
        for key, expected in turn.get("expect", {}).items()
        for fault in _mismatches(expected, result.get(key), key)
    ]


def report(case: Case, played: Sequence[Json]) -> list[str]:
    """Tell a played case in lines: what became of each turn, the report of the last one as the
    public is sent it, and where it came out otherwise than the case expects."""
    lines: list[str] = []
    for number, turn in enumerate(played, 1):
        waiting = ", ".join(turn["waiting"]) or "nobody"
        lines.append(f"turn {number}: then {turn['state']['phase']}, waiting for {waiting}")
        lines += [
            f"  refused of {seat}: {'lines' if len(numbers) > 1 else 'line'} "
            + ", ".join(map(str, numbers))
            for seat, numbers in turn["refused"].items()
            if numbers
        ]
    if played:
        lines += ["", *_last_report(case, played).splitlines()]
    found = differences(case, played)
    if found:
        more = len(found) - MOST_DIFFERENCES
        lines += ["", "Otherwise than the case expects:", *found[:MOST_DIFFERENCES]]
        lines += [f"… and in {more} more places"] if more > 0 else []
    elif any(turn.get("expect") for turn in case.turns):
        lines += ["", "All as the case expects."]
    return lines


def _last_report(case: Case, played: Sequence[Json]) -> str:
    # Templates take long to load, and most cases are only compared.
    from pbem.reports.letters import part

    game, last = case.game, played[-1]
    state = game.load(last["state"], case.seats, case.options)
    over = state.phase == "over"
    events = [games.Event(one["kind"], one["facts"], one["seen_by"]) for one in last["events"]]
    seen = [one for one in events if over or one.seen_by is None]
    page = games.optional(game, "page")
    facts = {
        "match": "the case",
        "title": game.TITLE,
        "game": game.KEY,
        "seats": list(case.seats),
        "players": [{"seat": seat, "person": seat} for seat in case.seats],
        "options": case.options,
        "seat": None,
        "person": "",
        "turn": len(played),
        "phase": state.phase,
        "view": game.view(state, None),
        "page": page(state, None, seen) if page else {},
        "events": seen,
        "winners": list(game.winners(state)) if over else [],
    }
    return part("report.txt", facts).rstrip()


def mismatch(expected: Any, found: Any, place: str) -> str | None:
    """Say where `found` first fails to hold what is expected (matching by subset), or `None`."""
    return next(_mismatches(expected, found, place), None)


def _mismatches(expected: Any, found: Any, place: str) -> Iterator[str]:
    if isinstance(expected, dict):
        if set(expected) == {"any"}:
            if all(mismatch(one, found, place) for one in expected["any"]):
                yield f"{place}: one of {len(expected['any'])} expected, {_short(found)} found"
        elif set(expected) == {"unordered"}:
            wanted = expected["unordered"]
            if not isinstance(found, list) or not _pairs_up(wanted, found):
                yield f"{place}: {_short(wanted)} in any order expected, {_short(found)} found"
        elif not isinstance(found, dict):
            yield f"{place}: {_short(expected)} expected, {_short(found)} found"
        else:
            for key in expected:
                yield from _mismatches(expected[key], found.get(key), f"{place}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for at, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from _mismatches(one, other, f"{place}[{at}]")
    elif expected != found or isinstance(expected, bool) != isinstance(found, bool):
        yield f"{place}: {_short(expected)} expected, {_short(found)} found"


def _pairs_up(wanted: Sequence[Any], found: Sequence[Any]) -> bool:
    """Tell whether each wanted entry can be given a found one of its own (augmenting paths)."""
    if len(wanted) != len(found):
        return False
    taken: dict[int, int] = {}

    def place_one(one: int, tried: set[int]) -> bool:
        for other in range(len(found)):
            if other not in tried and mismatch(wanted[one], found[other], "") is None:
                tried.add(other)
                if other not in taken or place_one(taken[other], tried):
                    taken[other] = one
                    return True
        return False

    return all(place_one(one, set()) for one in range(len(wanted)))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def check(path: Path) -> list[str]:
    """Play a case file and compare; return all that comes out otherwise, empty if nothing does.

    What can't be read, is no case, or makes a game fail is a fault too.
    """
    try:
        found = read(path)
        return differences(found, play(found))
    except NoCase as error:
        return [str(error)]
    # A case's state is written by hand and may be one no game can go on from.
    except Exception as error:
        return [f"can't be played: {type(error).__name__}: {error}"]
