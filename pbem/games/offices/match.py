"""The course of a match: set-up, what orders are lawful when, and the phases one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pbem.game import Event, Orders, Outcome, check_seats
from pbem.games.offices import auction
from pbem.games.offices.language import COLOURS, Defend, Gold, Good, Pass, Take, named
from pbem.games.offices.options import OPTIONS, read_by_seat
from pbem.games.offices.plans import plan_of
from pbem.games.offices.position import Office, State, Terms
from pbem.names import choose
from pbem.orders import Problem
from pbem.usage import Order

LEAST_SEATS, MOST_SEATS = 2, 5
DEFAULT_GOLD = 10


def terms(seats: tuple[str, ...], options: Mapping[str, Any]) -> Terms:
    """Return what the options say that holds for the whole match."""
    goods = read_by_seat(option(options, "goods"), seats, "goods")
    return Terms(
        rounds=option(options, "rounds"),
        live=option(options, "decide") == "live",
        gold_open=option(options, "gold_open"),
        goods={seat: tuple(colours) for seat, colours in goods.items()},
    )


def option(options: Mapping[str, Any], name: str) -> Any:
    """Return an option's value, its default where it is not given."""
    default = next(known.default for known in OPTIONS if known.name == name)
    return options.get(name, default)


def purses(seats: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, int]:
    """Return the gold each seat begins with."""
    given = option(options, "gold")
    if isinstance(given, int):
        return dict.fromkeys(seats, given)
    return dict.fromkeys(seats, DEFAULT_GOLD) | read_by_seat(given, seats, "gold")


def setup(seats: Sequence[str], options: Mapping[str, Any], rng: Random) -> State:
    """Deal the offices: all numbers shuffled, given out in seat order; or as the option says.

    Raise `ValueError` where the seats or options don't fit each other.
    """
    check_seats(seats, LEAST_SEATS, MOST_SEATS)
    seats = tuple(seats)
    offices = tuple(Office(each["name"], each["number"]) for each in option(options, "offices"))
    if len(offices) < len(seats):
        raise ValueError(f"option offices: {len(seats)} seats need as many offices or more")
    numbers = sorted(office.number for office in offices)
    rng.shuffle(numbers)
    sits = _start(seats, offices, options)
    left = [number for number in numbers if number not in sits.values()]
    for seat in seats:
        if seat not in sits:
            sits[seat] = left.pop(0)
    holders = {number: seat for seat, number in sits.items()}
    return State(
        seats=seats,
        terms=terms(seats, options),
        phase="auction",
        round=1,
        offices=tuple(replace(office, holder=holders.get(office.number)) for office in offices),
        gold=purses(seats, options),
        goods={seat: {} for seat in seats},
    )


def _start(
    seats: tuple[str, ...], offices: Sequence[Office], options: Mapping[str, Any]
) -> dict[str, int]:
    """Return the numbers of the offices that the game master gave out himself, by seat."""
    known = [(office.name, office.number) for office in offices]
    found: dict[str, int] = {}
    for seat, place in read_by_seat(option(options, "start"), seats, "start").items():
        name, problem = named(str(place), known)
        if name is None:
            raise ValueError(f"option start: {problem}")
        number = dict(known)[name]
        if number in found.values():
            raise ValueError(f"option start: two seats begin on {name}")
        found[seat] = number
    return found


def waiting(state: State) -> list[str]:
    """Name who may send orders: in live play the seat that is asked, else all; none in income."""
    if state.phase != "auction":
        return []
    return [state.asked] if state.asked else list(state.seats)


def deciding(state: State) -> list[str]:
    """Name the seat that is asked in live play: the auction goes on once it has answered [11]."""
    return [state.asked] if state.asked else []


def check(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[list[Order], list[Problem]]:
    """Part orders into lawful ones, names made whole, and problems; `None`: the game master's.

    A limit or a colour that a later line for the same replaces is in neither list.
    """
    lawful, problems = parted(state, seat, orders)
    newest = {subject(order): at for at, order in enumerate(lawful)}
    standing = [
        one
        for at, one in enumerate(lawful)
        if not isinstance(one, Defend | Good) or newest[subject(one)] == at
    ]
    return standing, problems


def subject(order: Order) -> tuple[type[Order], str | None]:
    """Return what a `DEFEND` or `GOOD` is for: of lawful ones for the same the last counts."""
    return type(order), order.office if isinstance(order, Defend) else None


def parted(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[list[Order], list[Problem]]:
    """Part orders as `check` does, with those in the first list that a later one replaces."""
    if seat is None:
        return _check_income(state, orders)
    closed = _closed(state, seat)
    lawful: list[Order] = []
    problems: list[Problem] = []
    for order in orders:
        fitting = closed or _whole(state, seat, order)
        if isinstance(fitting, str):
            problems.append(Problem(order.line, fitting))
        else:
            lawful.append(fitting)
    return lawful, problems


def _closed(state: State, seat: str) -> str:
    """Say why a seat can't send anything now; empty where it can."""
    if state.phase == "income":
        return "plans are taken again when the game master has entered what was earned"
    if state.phase == "over":
        return "the match is over"
    if state.asked and state.asked != seat:
        return f"only {state.asked} is asked at the moment; your plan stands as you sent it"
    return ""


def _whole(state: State, seat: str, order: Order) -> Order | str:
    """Return an order with its names made whole, or say what is wrong with it."""
    if isinstance(order, Take | Defend):
        if order.gold is not None and order.gold < 0:
            return f"a limit is 0 or more, not {order.gold}"
        if order.office is None:
            return order
        known = [(office.name, office.number) for office in state.offices]
        name, problem = named(order.office, known)
        if name is None:
            return problem
        return order if name == order.office else replace(order, office=name)
    if isinstance(order, Good):
        allowed = state.terms.colours(seat)
        colour, problem = choose(order.colour, COLOURS, "colour")
        if colour is None:
            return problem
        if colour not in allowed:
            return f"{seat} can't have {colour}; it may have: {', '.join(allowed) or 'none'}"
        return replace(order, colour=colour)
    if isinstance(order, Pass) and not state.asked:
        return "PASS answers a question in live play; in a plan, leave DEFEND out or write STAY"
    if isinstance(order, Gold):
        return "GOLD is the game master's order"
    return order


def asks(state: State) -> tuple[str, list[str]]:
    """Say what the game master may enter between two rounds: the gold each seat earned, or paid."""
    if state.phase != "income":
        return "", []
    said = f"Round {state.round} is over: enter what each seat has earned (5) or paid (-5) since."
    return f"{said} The next round begins at the deadline, or by RUN NOW.", [
        f"GOLD {seat} __" for seat in state.seats
    ]


def _check_income(state: State, orders: Sequence[Order]) -> tuple[list[Order], list[Problem]]:
    """Check `GOLD` lines one after the other: no purse may fall below nothing on the way."""
    gold = dict(state.gold)
    lawful: list[Order] = []
    problems: list[Problem] = []
    for order in orders:
        if not isinstance(order, Gold):
            problems.append(Problem(order.line, "this is a player's order"))
            continue
        seat, problem = choose(order.seat, state.seats, "seat")
        if state.phase != "income":
            problem = "GOLD counts in the income phase, between two rounds"
        elif seat is not None and gold[seat] + order.change < 0:
            problem = f"{seat} has {gold[seat]} gold and can't pay {-order.change}"
        if problem or seat is None:
            problems.append(Problem(order.line, problem))
        else:
            gold[seat] += order.change
            lawful.append(replace(order, seat=seat))
    return lawful, problems


def adjudicate(state: State, orders: Orders, rng: Random) -> Outcome:
    """Run the phase: the auction, to its end or to an open question; or the income."""
    # Nothing in the auction is left to chance.
    del rng
    if state.phase == "income":
        return _income(state, orders.get(None, ()))
    if state.phase == "over":
        return Outcome(state, (), {})
    return run(state, {seat: orders.get(seat, ()) for seat in waiting(state)}, state.asked)


def run(state: State, orders: Mapping[str, Sequence[Order]], answering: str | None) -> Outcome:
    """Play the auction on with the plans sent; `answering` is the seat that had been asked."""
    sent = {seat: plan_of(lines, state.plans.get(seat)) for seat, lines in orders.items()}
    plans = {seat: plan for seat, plan in {**state.plans, **sent}.items() if plan}
    passing = any(isinstance(order, Pass) for order in orders.get(answering or "", ()))
    begun = () if answering else (Event("round", {"round": state.round}),)
    done = auction.play(replace(state, plans=plans), answering is not None, passing)
    return Outcome(done.state, (*begun, *done.events), {})


def _income(state: State, orders: Sequence[Order]) -> Outcome:
    """Enter what was earned, and begin the next round."""
    lawful, problems = _check_income(state, orders)
    gold = dict(state.gold)
    events: list[Event] = []
    for order in lawful:
        if isinstance(order, Gold):
            gold[order.seat] += order.change
            seen_by = None if state.terms.gold_open else (order.seat,)
            facts = {"seat": order.seat, "change": order.change}
            events.append(Event("income", facts, seen_by))
    new = replace(state, phase="auction", round=state.round + 1, gold=gold)
    events.append(Event("next", {"round": new.round}))
    return Outcome(new, tuple(events), {None: problems} if problems else {})
