"""Whether a match is what its seed and orders give: all turns played again, and compared.

A replay finds every die, state, event and refusal that was changed, and every order whose change
made a difference. What makes none it can't tell: that the history, the sheets and the digests in
the file tell, of whoever doesn't change those too. Whoever does is found by two numbers that are in
no file of his: the SHA-256 of the seed in every player's first letter, and that of all orders in
the last one. Names, times and press rest on the file's own digest alone.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pbem import game as games
from pbem import matches
from pbem.archive import course, exported
from pbem.archive.difference import NOTHING, Difference, differing
from pbem.archive.form import missing_turn, shown
from pbem.archive.record import PROGRAM
from pbem.game import Game, Json


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
    and refused lines, turns that were taken back too, and how it ended; not the words of problems,
    which a newer program may put better. Then what no replay tells: the orders with their digests
    and sheets, who was missing, the history, the players, and the file with its digest.

    Raise `ValueError` where it can't be done, the seed being secret, or the game not here.
    """
    if not record["whole"] or record["seed"] is None:
        over = "its match says that they never are shown"
        running = "verify what is published once the match is over"
        raise ValueError(
            f"orders and seed are not in it; {over if record['status'] == 'over' else running}"
        )
    game = games.named(record["game"])
    options = options_of(game, record)
    found = _of_seed(record) or _of_numbers(record) or _of_turns(record, game, options)
    if found:
        return found
    try:
        walked = course.steps(record)
    except ValueError as error:
        difference: Difference = error.args[0]
        return difference
    found = _of_undone(record, game, options, walked) or course.disagreement(record, walked)
    return found or _of_digests(record)


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
            replayed = _played(record, game, options, state, turn)
        # Seats, options and orders of a file may be such as no game was ever played with.
        except Exception as error:
            return _unplayable(number, error)
        places = _places(replayed, turn)
        if places:
            blamed = _blamed(record, game, options, number, replayed, tuple(places))
            return Difference(number, *next(iter(places.values())), *blamed)
        found = _of_orders_hash(turn, "orders")
        if found or (number and (found := _of_missing(game, state, turn, "missing"))):
            return found
        state = replayed.state
    return _of_end(record, game, state) if record["turns"] else None


def _unplayable(number: int, error: Exception) -> Difference:
    why = f"it can't be played: {type(error).__name__}: {error}"
    return Difference(number, "the whole turn", "nothing", "a turn", "order", why)


def _places(replayed: _Replayed, turn: Json) -> dict[str, tuple[str, str, str]]:
    """Return where a turn differs from its replay: the first place in each of its parts."""
    refused = {seat: [line for line, _ in of] for seat, of in turn["problems"].items()}
    told = {key: turn[key] for key in ("phase", "state", "events")} | {"refused": refused}
    return {
        key: place
        for key in told
        if (place := next(differing(replayed.told[key], told[key], key), None))
    }


def _of_undone(
    record: Json, game: Game, options: Mapping[str, Any], walked: Sequence[course.Step]
) -> Difference | None:
    """Replay the turns that were taken back, each from the turn before it as that then stood.

    An option may be changed wherever the turns that stand come out the same; a turn that had been
    taken back by then may have gone by the old one, and only its digest is compared.
    """
    names = {option.name for option in game.OPTIONS}
    options_set = [
        at
        for at, entry in enumerate(record["history"])
        if entry["what"] == "set" and entry["facts"].get("option") in names
    ]
    places = {id(turn): f"undone[{at}]" for at, turn in enumerate(record["undone"])}
    for step in walked:
        turn = step.turn
        place = places.get(id(turn))
        if place is None:
            continue
        if found := _of_orders_hash(turn, f"{place}.orders"):
            return found
        if any(at > step.told for at in options_set):
            continue
        try:
            state = game.load(step.before["state"], record["seats"], options)
            replayed = _played(record, game, options, state, turn)
        except Exception as error:
            return _unplayable(turn["number"], error)
        for inner, due, there in _places(replayed, turn).values():
            why = "the turn was taken back, and does not follow from its orders"
            return Difference(turn["number"], f"{place}.{inner}", due, there, "order", why)
        if found := _of_missing(game, state, turn, f"{place}.missing"):
            return found
    return None


def _of_orders_hash(turn: Json, place: str) -> Difference | None:
    """Compare a turn's orders with their digest; exports of the first programs had none."""
    told, found = turn.get("orders_sha256"), games.digest(turn["orders"])
    if told is None or told == found:
        return None
    why = "an order was changed after the file was written, though it comes to the same"
    due, there = f"what has the SHA-256 {str(told)[:16]}…", f"{found[:16]}…"
    return Difference(turn["number"], place, due, there, "order", why)


def _of_missing(game: Game, before: Any, turn: Json, place: str) -> Difference | None:
    """Compare a turn's missing seats with who could order and with whose orders there are.

    In a turn that the game master ended nobody is missing; the first programs named some there.
    """
    if games.is_ended(turn["orders"].get("", "")) and not turn["missing"]:
        return None
    waiting = list(game.waiting(before))
    silent = [seat for seat in waiting if seat not in turn["orders"]]
    for seat in (*silent, *turn["missing"]):
        if (seat in waiting) != (seat in turn["missing"]):
            due, found = ("missing", "not") if seat in waiting else ("not", "missing")
            why = "whoever could order and did not is missing, and nobody else"
            return Difference(turn["number"], f"{place}: {seat}", due, found, "missing", why)
    return None


def _of_orders(record: Json, game: Game, state: Any, turn: Json) -> Difference | None:
    """Find orders that are not those of their seat's sheet, in an export that has the sheets.

    The newest that counts is what a turn is run with; of who was missing it is an older one that
    stood, or what the game does by itself.
    """
    number, orders = turn["number"], turn["orders"]
    default = games.optional(game, "default_orders")
    sheets = sorted(record["sheets"], key=lambda sheet: datetime.fromisoformat(sheet["received"]))
    for seat in (*record["seats"], "") if sheets else ():
        theirs = [one for one in sheets if one["seat"] == seat and one["turn"] < number]
        came = [
            one["text"]
            for one in theirs
            if one["turn"] == number - 1 and not one["late"] and not one["withdrawn"]
        ]
        text = orders.get(seat)
        if came and (text == came[-1] or (not seat and not text and not came[-1])):
            continue
        older = [one["text"] for one in theirs if one["turn"] < number - 1]
        if not came and (
            text is None
            or (seat in turn["missing"] and text in older)
            or (seat and default and text == default(state, seat))
        ):
            continue
        whose = seat or "the game master"
        why = f"{whose} sent another sheet: the order was changed, or the sheet"
        due = shown(came[-1]) if came else "nothing"
        found = "nothing" if text is None else shown(text)
        return Difference(number, f"orders.{seat or 'gm'}", due, found, "order", why)
    return None


def _played(
    record: Json, game: Game, options: Mapping[str, Any], state: Any, turn: Json
) -> _Replayed:
    """Play the set-up, or a turn from the state before it with the orders it was run with."""
    seats, seed, number = record["seats"], record["seed"], turn["number"]
    if number == 0:
        state = game.setup(seats, options, games.chance(seed, 0, "setup"))
        return _replayed(game, "setup", state, [], {})
    orders = turn["orders"]
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
    if over:
        replayed["over"], found["over"] = replayed["winners"], told[-1] if told else NOTHING
    place = next(differing(replayed, found, ""), None)
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
        replayed = _played(record, game, options, loaded, after).told
    # The state of a file may be one that no game can go on from.
    except Exception:
        return False
    return not any(True for _ in differing(replayed["state"], after["state"], ""))


def orders_hash(record: Json) -> str:
    """Return the SHA-256 of all orders by which a match stands, as its last letter tells it."""
    return games.digest([turn["orders"] for turn in record["turns"]])


def rests_on(record: Json) -> list[str]:
    """Say in sentences what of a record without a difference rests on what."""
    told = [
        "An order that changed nothing can't be told from another by a replay: in the letter that "
        f"says how it ended the SHA-256 of all orders must be {orders_hash(record)}"
    ]
    if record["status"] != "over" or not record["turns"]:
        told = ["An order that changed nothing can't be told from another before the match is over"]
    if record["undone"]:
        told.append("Turns that were taken back are in no such number; they were replayed too")
    bears = "stand as the file was written" if "sha256" in record else "are taken as they stand"
    missing = "" if "sha256" in record else " (it bears no digest of its own)"
    told.append(
        f"Names, times, press and the history {bears}{missing}: whoever writes such a file "
        "could write others"
    )
    return told


def _of_digests(record: Json) -> Difference | None:
    """Compare the digest of all orders, and that of the file, with what is there."""
    due = {
        "orders_sha256": orders_hash(record),
        "sha256": exported.digest(record),
    }
    words = {
        "orders_sha256": ("order", "it is not the digest of the orders in the file"),
        "sha256": (
            "file",
            "something was changed after the file was written that no replay can tell: "
            "a name, a time, press, or an entry of the history",
        ),
    }
    for key, digest in due.items():
        if key in record and record[key] != digest:
            return Difference(None, key, digest, shown(record[key]), *words[key])
    return None


def programs(record: Json) -> str:
    """Say which program exported a match and which replays it, where they are not the same."""
    if record["program"] == PROGRAM:
        return ""
    return f"exported by {shown(record['program'])}, replayed by {PROGRAM}"
