"""The state as JSON: written whole, read back, or read as a game master wrote it by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pbem.game import Json
from pbem.games.empires.sheet import epochs, read_empires
from pbem.games.empires.state import Claim, Contest, Past, Round, State, seen_from, winners

PHASES = ("bid", "pick", "score", "over")
LAST_ROUND = 3


def dump(state: State) -> Json:
    """Return the state as JSON, complete enough to go on from."""
    data: Json = {
        "phase": state.phase,
        "epoch": state.epoch,
        "round": state.round,
        "empires": dict(state.empires),
        "claims": _claims(state.claims),
        "contested": {
            empire: {"seats": list(contest.seats), "minimum": contest.minimum}
            # A match that the game master ends in the middle of a round has no next one.
            for empire, contest in state.contested.items()
            if state.phase == "bid"
        },
        "vp": dict(state.vp),
        "rounds": [_round(one) for one in state.rounds],
        "past": [
            {
                "epoch": past.epoch,
                "empires": dict(past.empires),
                "rounds": [_round(one) for one in past.rounds],
                "claims": _claims(past.claims),
                "scores": dict(past.scores),
            }
            for past in state.past
        ],
    }
    if state.phase == "score":
        data["scores"] = dict(state.scores)
    if state.phase == "over":
        data["winners"] = winners(state)
    return data


def view(state: State, seat: str | None) -> Json:
    """Return what `dump` does, less what the seat (`None`: the public) may not know."""
    return dump(seen_from(state, seat))


def _claims(claims: Mapping[str, Claim]) -> Json:
    return {seat: {"empire": c.empire, "price": c.price} for seat, c in claims.items()}


def _round(one: Round) -> Json:
    return {
        "round": one.number,
        "bids": {seat: dict(mine) for seat, mine in one.bids.items()},
        "claims": _claims(one.claims),
    }


def load(data: Json, seats: Sequence[str], options: Mapping[str, Any]) -> State:
    """Read what `dump` wrote, or a state by hand; raise `ValueError` naming the wrong part.

    What is missing is as at the beginning of the epoch; without an epoch, of the first.
    """
    sheet = epochs(options.get("sheet"))
    phase = data.get("phase", "bid")
    if phase not in PHASES:
        raise ValueError(f"phase: {phase!r} is none of {', '.join(PHASES)}")
    epoch = _whole(data.get("epoch", 1), "epoch", 1, len(sheet))
    printed = sheet[epoch - 1].for_seats(len(seats))
    empires = read_empires(data.get("empires") or printed, "empires")
    # A store may have lost the order of the keys; the sheet still has it.
    if set(empires) == set(printed):
        empires = {name: empires[name] for name in printed}
    if len(empires) < len(seats):
        raise ValueError(f"empires: {len(empires)} are too few for {len(seats)} seats")
    state = State(
        seats=tuple(seats),
        sheet=sheet,
        announce=options.get("announce", "bids"),
        shown=options.get("scores", "open"),
        phase=phase,
        epoch=epoch,
        round=_whole(data.get("round", 1), "round", 1, LAST_ROUND),
        empires=empires,
        claims=_read_claims(data.get("claims"), seats, empires, "claims"),
        vp=dict.fromkeys(seats, 0) | _read_points(data.get("vp"), seats, "vp"),
        scores=_read_points(data.get("scores"), seats, "scores"),
        rounds=_read_rounds(data.get("rounds"), seats, empires, "rounds"),
        past=_read_past(data.get("past"), seats, len(sheet)),
    )
    if phase == "bid" and not state.free:
        raise ValueError("claims: every seat has an empire, so the phase can't be bid")
    if phase == "pick" and len(state.free) != 1:
        raise ValueError(f"claims: in phase pick one seat is without, not {len(state.free)}")
    return replace(state, contested=_read_contested(data.get("contested"), state))


def _whole(value: Any, where: str, least: int | None = None, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{where}: a whole number is needed, not {value!r}")
    if (least is not None and value < least) or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{where}: {value} is not {limits}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if value is not None and not isinstance(value, list | tuple):
        raise ValueError(f"{where}: a list is needed, not {value!r}")
    return list(value or ())


def _table(value: Any, names: Sequence[str] | Mapping[str, int], where: str) -> dict[str, Any]:
    """Read a table by seat or empire, without its nulls; refuse a name that is none of them."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"{where}: a table by name is needed, not {value!r}")
    known = set(names)
    for name in value:
        if name not in known:
            raise ValueError(f"{where}: {name!r} is none of {', '.join(names)}")
    return {name: value[name] for name in names if value.get(name) is not None}


def _read_points(value: Any, seats: Sequence[str], where: str) -> dict[str, int]:
    points = _table(value, seats, where)
    return {seat: _whole(n, f"{where} of {seat}") for seat, n in points.items()}


def _read_claims(
    value: Any, seats: Sequence[str], empires: Mapping[str, int], where: str
) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    taken: set[str] = set()
    for seat, claim in _table(value, seats, where).items():
        empire = claim.get("empire") if isinstance(claim, Mapping) else None
        if not isinstance(empire, str) or empire not in empires:
            raise ValueError(f"{where}: {seat} needs an empire of the epoch, not {claim!r}")
        price = _whole(claim.get("price"), f"{where}: the price {seat} paid")
        if empire in taken:
            raise ValueError(f"{where}: {empire} is claimed twice")
        taken.add(empire)
        claims[seat] = Claim(empire, price)
    return claims


def _read_contested(value: Any, state: State) -> dict[str, Contest]:
    contested: dict[str, Contest] = {}
    for empire, contest in _table(value, state.empires, "contested").items():
        where = f"contested: {empire}"
        if state.phase != "bid" or empire not in state.open:
            raise ValueError(f"{where} can't be, in phase {state.phase} or claimed")
        if not isinstance(contest, Mapping):
            raise ValueError(f"{where} needs its seats and minimum, not {contest!r}")
        listed = _list(contest.get("seats"), f"{where}: its seats")
        named = {seat for seat in listed if isinstance(seat, str)}
        seats = [seat for seat in state.free if seat in named]
        if len(seats) < 2 or len(seats) != len(listed):
            raise ValueError(f"{where} needs two free seats or more, not {listed!r}")
        minimum = _whole(contest.get("minimum"), f"{where}: its minimum")
        if minimum < state.empires[empire]:
            raise ValueError(f"{where}: its minimum {minimum} is less than its strength")
        contested[empire] = Contest(tuple(seats), minimum)
    return contested


def _read_rounds(
    value: Any, seats: Sequence[str], empires: Mapping[str, int], where: str
) -> tuple[Round, ...]:
    rounds: list[Round] = []
    for at, one in enumerate(_list(value, where), 1):
        here = f"{where}: {at}"
        if not isinstance(one, Mapping):
            raise ValueError(f"{here}: a round has bids and claims, not {one!r}")
        bids = {
            seat: {
                empire: _whole(amount, f"{here}: the bid of {seat} on {empire}", 0)
                for empire, amount in _table(mine, empires, here).items()
            }
            for seat, mine in _table(one.get("bids"), seats, here).items()
        }
        number = _whole(one.get("round"), f"{here}: round", 1, LAST_ROUND)
        rounds.append(Round(number, bids, _read_claims(one.get("claims"), seats, empires, here)))
    return tuple(rounds)


def _read_past(value: Any, seats: Sequence[str], epochs: int) -> tuple[Past, ...]:
    past: list[Past] = []
    for at, one in enumerate(_list(value, "past"), 1):
        where = f"past: {at}"
        if not isinstance(one, Mapping):
            raise ValueError(f"{where}: an epoch that is over is a table, not {one!r}")
        empires = read_empires(one.get("empires"), where)
        past.append(
            Past(
                _whole(one.get("epoch"), f"{where}: epoch", 1, epochs),
                empires,
                _read_rounds(one.get("rounds"), seats, empires, where),
                _read_claims(one.get("claims"), seats, empires, where),
                _read_points(one.get("scores"), seats, where),
            )
        )
    return tuple(past)
