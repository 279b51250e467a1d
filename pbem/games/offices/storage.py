"""The position as JSON: written whole, written less what a seat may not know, and read again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pbem.game import Json, check_seats
from pbem.games.offices import match
from pbem.games.offices.language import COLOURS, GRAMMAR
from pbem.games.offices.options import read_offices
from pbem.games.offices.plans import Plan, lines, plan_of
from pbem.games.offices.position import Challenge, Office, State, Vacated

PHASES = ("auction", "income", "over")


def winners(state: State) -> list[str]:
    """Name nobody: who wins is decided by the board game round the auction."""
    del state
    return []


def dump(state: State) -> Json:
    """Return the position as JSON, complete enough to go on from."""
    auction = state.phase == "auction"
    data: Json = {
        "phase": state.phase,
        "round": state.round,
        "offices": [
            {"name": o.name, "number": o.number, "holder": o.holder, "gold": o.gold}
            for o in state.offices
        ],
        "gold": dict(state.gold),
        "goods": {seat: dict(state.goods[seat]) for seat in state.seats},
        "acted": list(state.acted) if auction else [],
        "active": state.active if auction else None,
        "challenge": None,
        "plans": {},
        "vacated": None,
        "discarded": state.discarded,
    }
    if auction and state.challenge:
        c = state.challenge
        data["challenge"] = {
            "office": c.office,
            "challenger": c.challenger,
            "holder": c.holder,
            "bid": c.bid,
            "limit": c.limit,
            "to_answer": c.to_answer,
        }
    if auction and state.vacated:
        data["vacated"] = {"seat": state.vacated.seat, "office": state.vacated.office}
    if auction:
        data["plans"] = {
            seat: "\n".join(lines(state.plans[seat]))
            for seat in state.seats
            if state.plans.get(seat)
        }
    if state.phase == "over":
        data["winners"] = winners(state)
    return data


def view(state: State, seat: str | None) -> Json:
    """Return the position less others' plans, limits and, where gold is secret, purses.

    When the match is over nothing is secret any more.
    """
    data = dump(state)
    if state.phase == "over":
        return data
    data["plans"] = {one: text for one, text in data["plans"].items() if one == seat}
    if data["challenge"] and data["challenge"]["challenger"] != seat:
        data["challenge"]["limit"] = None
    if not state.terms.gold_open:
        data["gold"] = {one: gold for one, gold in data["gold"].items() if one == seat}
    return data


def load(data: Json, seats: Sequence[str], options: Mapping[str, Any]) -> State:
    """Read what `dump` wrote, or a position written by hand, where keys may be missing.

    Raise `ValueError` naming the part that is wrong.
    """
    check_seats(seats, match.LEAST_SEATS, match.MOST_SEATS)
    seats = tuple(seats)
    data = _object(data, "the state")
    phase = data.get("phase", "auction")
    if phase not in PHASES:
        raise ValueError(f"phase: {phase!r} is none of: {', '.join(PHASES)}")
    offices = _offices(data.get("offices"), seats, options)
    numbers = {seat: _whole(n, f"gold.{seat}") for seat, n in _by_seat(data, "gold", seats).items()}
    goods = {s: _goods(each, f"goods.{s}") for s, each in _by_seat(data, "goods", seats).items()}
    state = State(
        seats=seats,
        terms=match.terms(seats, options),
        phase=phase,
        round=_whole(data.get("round", 1), "round", 1),
        offices=offices,
        gold=match.purses(seats, options) | numbers,
        goods={seat: goods.get(seat, {}) for seat in seats},
        discarded=_whole(data.get("discarded") or 0, "discarded"),
    )
    state = _standing(state, data) if phase == "auction" else state
    _seated(state)
    return state


def _offices(data: Any, seats: tuple[str, ...], options: Mapping[str, Any]) -> tuple[Office, ...]:
    """Read the offices; a missing number is the one the option gives that name."""
    if not isinstance(data, list) or not data:
        raise ValueError("offices: a list of offices is needed, with who holds each")
    known = {each["name"]: each["number"] for each in match.option(options, "offices")}
    names: list[Json] = []
    lying: dict[str, tuple[str | None, int]] = {}
    for at, item in enumerate(data):
        each = _object(item, f"offices[{at}]")
        name = str(each.get("name"))
        names.append({"name": name, "number": each.get("number", known.get(name, at + 1))})
        holder = _seat(each.get("holder"), seats, f"offices[{at}].holder")
        if holder and holder in [seat for seat, _ in lying.values()]:
            raise ValueError(f"offices[{at}].holder: {holder} holds another one too")
        lying[name] = holder, _whole(each.get("gold") or 0, f"offices[{at}].gold")
    try:
        offices = read_offices(names)
    except ValueError as error:
        raise ValueError(f"offices: {error}") from None
    return tuple(Office(o["name"], o["number"], *lying[o["name"]]) for o in offices)


def _standing(state: State, data: Json) -> State:
    """Read where an auction under way stands: who was active, what is open, the sealed plans."""
    acted = data.get("acted") or []
    if not isinstance(acted, list):
        raise ValueError(f"acted: a list of seats is needed, not {acted!r}")
    active = _seat(data.get("active"), state.seats, "active")
    challenge = _challenge(state, data.get("challenge"))
    vacated = _vacated(state, data.get("vacated"))
    if challenge:
        if active not in (None, challenge.challenger):
            raise ValueError(f"active: in a challenge it is {challenge.challenger}, not {active}")
        active, vacated = challenge.challenger, None
    if vacated and active != vacated.seat:
        raise ValueError(f"vacated.seat: {vacated.seat} is not the active seat")
    seats = [_seat(seat, state.seats, "acted") or "" for seat in acted]
    if active and active not in seats:
        seats.append(active)
    texts = _by_seat(data, "plans", state.seats)
    new = replace(
        state,
        acted=tuple(dict.fromkeys(seats)),
        active=active,
        challenge=challenge,
        vacated=vacated,
    )
    return replace(new, plans={seat: _plan(new, seat, text) for seat, text in texts.items()})


def _challenge(state: State, data: Any) -> Challenge | None:
    if data is None:
        return None
    data = _object(data, "challenge")
    name = _named(state, data.get("office"), "challenge.office")
    office = state.office(name)
    challenger = _seat(data.get("challenger"), state.seats, "challenge.challenger")
    holder = _seat(data.get("holder", office.holder), state.seats, "challenge.holder")
    if challenger is None or holder is None or holder != office.holder or challenger == holder:
        raise ValueError(f"challenge: {name} is held by {office.holder}; who challenges whom?")
    to_answer = _seat(data.get("to_answer", holder), state.seats, "challenge.to_answer")
    if to_answer not in (challenger, holder):
        raise ValueError("challenge.to_answer: it is neither the holder nor the challenger")
    bid = _whole(data.get("bid"), "challenge.bid", office.gold + 1)
    bidder = challenger if to_answer == holder else holder
    if bid > state.gold[bidder]:
        raise ValueError(f"challenge.bid: {bidder} has only {state.gold[bidder]} gold, not {bid}")
    limit = data.get("limit")
    if limit is not None:
        limit = _whole(limit, "challenge.limit")
    return Challenge(name, challenger, holder, bid, limit, to_answer)


def _vacated(state: State, data: Any) -> Vacated | None:
    if data is None:
        return None
    data = _object(data, "vacated")
    seat = _seat(data.get("seat"), state.seats, "vacated.seat")
    name = _named(state, data.get("office"), "vacated.office")
    if state.office(name).holder:
        raise ValueError(f"vacated.office: {name} is held by {state.office(name).holder}")
    if seat is None or seat in state.held:
        raise ValueError(f"vacated.seat: {seat} is not displaced")
    return Vacated(seat, name)


def _plan(state: State, seat: str, text: Any) -> Plan:
    """Read a plan from its lines; they must be lawful, since they were when they came."""
    if not isinstance(text, str):
        raise ValueError(f"plans.{seat}: a text is needed, not {text!r}")
    reading = GRAMMAR.read(text)
    # Who is asked may send nothing but his answer; what stood before was a plan of his.
    lawful, problems = match.check(
        replace(state, active=None, challenge=None), seat, reading.orders
    )
    for problem in (*reading.problems, *problems):
        raise ValueError(f"plans.{seat}, line {problem.line}: {problem.message}")
    return plan_of(lawful)


def _seated(state: State) -> None:
    """Raise `ValueError` where a seat has no office, unless it has just been displaced."""
    if state.phase == "over":
        return
    for seat in state.seats:
        if seat not in state.held and seat != state.active:
            raise ValueError(f"offices: {seat} holds none")


def _object(data: Any, place: str) -> Json:
    if not isinstance(data, dict):
        raise ValueError(f"{place}: an object is needed, not {data!r}")
    return data


def _by_seat(data: Json, place: str, seats: tuple[str, ...]) -> Json:
    found = _object(data.get(place) or {}, place)
    for seat in found:
        _seat(seat, seats, place)
    return found


def _seat(said: Any, seats: tuple[str, ...], place: str) -> str | None:
    if said is not None and said not in seats:
        raise ValueError(f"{place}: {said!r} is no seat; there are: {', '.join(seats)}")
    return said if isinstance(said, str) else None


def _named(state: State, name: Any, place: str) -> str:
    if name not in [office.name for office in state.offices]:
        raise ValueError(f"{place}: {name!r} is no office")
    return str(name)


def _whole(value: Any, place: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{place}: a whole number of {least} or more is needed, not {value!r}")
    return value


def _goods(data: Any, place: str) -> dict[str, int]:
    found = _object(data, place)
    for colour in found:
        if colour not in COLOURS:
            raise ValueError(f"{place}: {colour!r} is no colour; there are: {', '.join(COLOURS)}")
    return {colour: _whole(n or 0, f"{place}.{colour}") for colour, n in found.items() if n}
