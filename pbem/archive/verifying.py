"""Whether a match is what its seed and orders give: all turns played again, and compared."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pbem import game as games
from pbem import matches
from pbem.archive.form import missing_turn, shown
from pbem.archive.record import PROGRAM
from pbem.game import Game, Json

NOTHING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a match first differs from what was replayed.

    `turn` is `None` where it is in no turn; `place` is a path such as `state.hexes.A1.armies`.
    `what` says which was changed, as far as can be told: seed, state, event, refused, order, turn
    or match; `why` says in a sentence what shows it.
    """

    turn: int | None
    place: str
    replayed: str
    found: str
    what: str
    why: str

    def __str__(self) -> str:
        where = self.place if self.turn is None else f"turn {self.turn}, {self.place}"
        return f"{where}: {self.replayed} replayed, {self.found} in the file; {self.why}"


class _Replayed(NamedTuple):
    """A phase as played again: the state to go on from, and all that came of it, as JSON."""

    state: Any
    told: Json


def _replayed(game: Game, phase: str, state: Any, events: list[Json], refused: Json) -> _Replayed:
    told = {"phase": phase, "state": game.dump(state), "events": events, "refused": refused}
    return _Replayed(state, json.loads(json.dumps(told)))


def options_of(game: Game, record: Json) -> dict[str, Any]:
    """Return a record's options, read as those of a new match are.

    Raise `ValueError` for one the game has not, or refuses.
    """
    defaults = {option.name: option.default for option in game.OPTIONS}
    given = {
        name: value
        for name, value in record["options"].items()
        if name not in defaults or value != defaults[name]
    }
    return games.read_options(game.OPTIONS, given, game.KEY)


def first_difference(record: Json) -> Difference | None:
    """Replay a match; return the first difference, `None` where all is as its orders give.

    Compared are the seed with its published hash, the set-up, and each turn's phase, state, events
    and refused lines, and how it ended; not the words of problems, which a newer program may put
    better. Raise `ValueError` where it can't be done, the seed being secret, or the game not here.
    """
    if not record["whole"] or record["seed"] is None:
        over = "its match says that they never are shown"
        running = "verify what is published once the match is over"
        raise ValueError(
            f"orders and seed are not in it; {over if record['status'] == 'over' else running}"
        )
    game = games.named(record["game"])
    options = options_of(game, record)
    found = _of_seed(record) or _of_numbers(record)
    return found or _of_turns(record, game, options)


def _of_seed(record: Json) -> Difference | None:
    """Compare the seed with the hash that all were told before the first die was thrown."""
    replayed = matches.seed_hash(record["seed"])
    told = [e["facts"]["seed_hash"] for e in record["history"] if e["what"] == "begun"]
    for place, found in (
        ("seed_sha256", record["seed_sha256"]),
        *(("the history's entry of the beginning, seed_hash", one) for one in told),
    ):
        if found != replayed:
            why = "the seed, and with it every die, is not the one whose SHA-256 was told"
            return Difference(None, place, replayed, shown(found), "seed", why)
    return None


def _of_numbers(record: Json) -> Difference | None:
    """Find a turn that is missing, or stands where it doesn't belong."""
    gap = missing_turn(record)
    if gap is not None:
        why = "the turn was taken out"
        return Difference(gap, "the whole turn", "a turn", "none", "turn", why)
    for number, turn in enumerate(record["turns"]):
        if turn["number"] != number:
            why = "the turn was put in, or moved"
            return Difference(number, "number", str(number), str(turn["number"]), "turn", why)
    return None


def _of_turns(record: Json, game: Game, options: Mapping[str, Any]) -> Difference | None:
    state: Any = None
    for number, turn in enumerate(record["turns"]):
        if number and (found := _of_orders(record, game, state, turn)):
            return found
        try:
            replayed = _played(record, game, options, state, number)
        # Seats, options and orders of a file may be such as no game was ever played with.
        except Exception as error:
            why = f"it can't be played: {type(error).__name__}: {error}"
            return Difference(number, "the whole turn", "nothing", "a turn", "order", why)
        refused = {seat: [line for line, _ in of] for seat, of in turn["problems"].items()}
        told = {key: turn[key] for key in ("phase", "state", "events")} | {"refused": refused}
        places = {
            key: place
            for key in told
            if (place := next(_differing(replayed.told[key], told[key], key), None))
        }
        if places:
            blamed = _blamed(record, game, options, number, replayed, tuple(places))
            return Difference(number, *next(iter(places.values())), *blamed)
        state = replayed.state
    return _of_end(record, game, state) if record["turns"] else None


def _of_orders(record: Json, game: Game, state: Any, turn: Json) -> Difference | None:
    """Find orders that stand on no sheet of their seat, in an export that has the sheets."""
    default = games.optional(game, "default_orders")
    for seat, text in turn["orders"].items() if record["sheets"] else ():
        sent = [
            sheet["text"]
            for sheet in record["sheets"]
            if sheet["seat"] == seat and sheet["turn"] < turn["number"]
        ]
        if text in sent or (seat and default and text == default(state, seat)):
            continue
        whose = seat or "the game master"
        why = f"no sheet of {whose} has that: the order was changed, or the sheet"
        newest = shown(sent[-1]) if sent else "nothing"
        return Difference(
            turn["number"], f"orders.{seat or 'gm'}", newest, shown(text), "order", why
        )
    return None


def _played(
    record: Json, game: Game, options: Mapping[str, Any], state: Any, number: int
) -> _Replayed:
    """Play the set-up, or a turn from the state before it with the orders it was run with."""
    seats, seed = record["seats"], record["seed"]
    if number == 0:
        state = game.setup(seats, options, games.chance(seed, 0, "setup"))
        return _replayed(game, "setup", state, [], {})
    orders = record["turns"][number]["orders"]
    texts: dict[str | None, str] = {seat: orders.get(seat, "") for seat in seats}
    texts[None] = orders.get("", "")
    done = games.play(game, state, texts, seed, number)
    events = [games.event_json(event) for event in done.events]
    refused = {
        seat: [problem.line for problem in problems]
        for seat, problems in done.problems.items()
        if seat is not None and problems
    }
    return _replayed(game, state.phase, done.state, events, refused)


def _of_end(record: Json, game: Game, state: Any) -> Difference | None:
    over = state.phase == "over"
    replayed: Json = {
        "turn": len(record["turns"]) - 1,
        "phase": state.phase,
        "winners": list(game.winners(state)) if over else [],
    }
    replayed["status"] = "over" if over else "not over"
    found = {key: record[key] for key in replayed}
    if not over and found["status"] != "over":
        found["status"] = "not over"
    told = [e["facts"]["winners"] for e in record["history"] if e["what"] == "over"]
    if over and told:
        replayed["over"], found["over"] = replayed["winners"], told[-1]
    place = next(_differing(replayed, found, ""), None)
    if place is None:
        return None
    return Difference(None, *place, "match", "the turns in the file come to something else")


def _blamed(
    record: Json,
    game: Game,
    options: Mapping[str, Any],
    number: int,
    replayed: _Replayed,
    differ: Sequence[str],
) -> tuple[str, str]:
    """Say which was changed, where a turn is the first to differ, and what shows it."""
    if "state" in differ and len(record["turns"]) > number + 1:
        as_replayed = _leads_on(record, game, options, replayed.told["state"], number)
        as_found = _leads_on(record, game, options, record["turns"][number]["state"], number)
        if as_replayed and not as_found:
            return "state", "the next turn follows from the state replayed: the state was changed"
        if as_found and not as_replayed and number:
            return "order", (
                "the next turn follows from the state in the file: an order of this turn, "
                "or a die, was changed"
            )
    if number == 0:
        why = "the set-up, or the seats, options or seed it was made from, was changed"
        words = {"phase": "turn", "state": "state", "events": "event", "refused": "refused"}
        return words[differ[0]], why
    if set(differ) == {"phase"}:
        return "turn", "the state before tells which phase was run: it was changed"
    if set(differ) == {"events"}:
        return "event", "the state is as replayed: what is told to have happened was changed"
    if set(differ) == {"state"}:
        return "state", "what happened is as replayed: the state was changed"
    if set(differ) == {"refused"}:
        return "refused", "state and events are as replayed: an order, or what is refused, changed"
    return "order", "an order of this turn, or a die, was changed"


def _leads_on(
    record: Json, game: Game, options: Mapping[str, Any], state: Json, number: int
) -> bool:
    """Tell whether the turn after a number follows from a state by its orders."""
    after = record["turns"][number + 1]
    try:
        loaded = game.load(state, record["seats"], options)
        replayed = _played(record, game, options, loaded, number + 1).told
    # The state of a file may be one that no game can go on from.
    except Exception:
        return False
    return not any(True for _ in _differing(replayed["state"], after["state"], ""))


def _differing(replayed: Any, found: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Yield where two JSON values differ: a path, what was replayed, and what was found."""
    if isinstance(replayed, dict) and isinstance(found, dict):
        for key in [*replayed, *(key for key in found if key not in replayed)]:
            inner = f"{place}.{key}" if place else key
            yield from _differing(replayed.get(key, NOTHING), found.get(key, NOTHING), inner)
    elif isinstance(replayed, list) and isinstance(found, list) and len(replayed) == len(found):
        for at, (one, other) in enumerate(zip(replayed, found, strict=True)):
            yield from _differing(one, other, f"{place}[{at}]")
    elif type(replayed) is not type(found) or replayed != found:
        yield place, _said(replayed), _said(found)


def _said(value: Any) -> str:
    if value is NOTHING:
        return "nothing"
    return f"a list of {len(value)}" if isinstance(value, list) else shown(value)


def programs(record: Json) -> str:
    """Say which program exported a match and which replays it, where they are not the same."""
    if record["program"] == PROGRAM:
        return ""
    return f"exported by {shown(record['program'])}, replayed by {PROGRAM}"
