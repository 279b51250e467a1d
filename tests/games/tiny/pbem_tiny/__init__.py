"""Lone Numbers: each round, the lowest number that one seat alone has named scores a point."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

from pbem.game import Event, Json, Option, Orders, Outcome, check_seats, whole
from pbem.orders import Grammar, Problem
from pbem.usage import Order, Rule

KEY = "tiny"
TITLE = "Lone Numbers"
OPTIONS = (Option("rounds", 3, whole(1, 20), "rounds until the match is over"),)
HIGHEST = 9


@dataclass(frozen=True)
class Name(Order):
    """The number a seat names."""

    number: int


GRAMMAR = Grammar((Rule("NAME <number:int>", Name, "Name a number"),))


@dataclass(frozen=True)
class State:
    """The round about to be played, of how many, and the points so far."""

    phase: str
    round: int
    rounds: int
    points: Mapping[str, int]


def setup(seats: Sequence[str], options: Mapping[str, Any], rng: Random) -> State:
    """Begin with the first round and no points; two to six can play."""
    del rng
    check_seats(seats, 2, 6)
    return State("name", 1, options["rounds"], dict.fromkeys(seats, 0))


def check(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[Sequence[Order], Sequence[Problem]]:
    """Take the numbers from 1 to 9 of whoever may name one."""
    lawful, problems = [], []
    for order in orders:
        if seat not in waiting(state):
            problems.append(Problem(order.line, "nobody may name a number now"))
        elif isinstance(order, Name) and not 1 <= order.number <= HIGHEST:
            problems.append(Problem(order.line, f"{order.number} is not 1 to {HIGHEST}"))
        else:
            lawful.append(order)
    return lawful, problems


def adjudicate(state: State, orders: Orders, rng: Random) -> Outcome:
    """Give the point of the round; of several numbers a seat names the last counts."""
    del rng
    named = {
        seat: order.number
        for seat in state.points
        for order in orders.get(seat, ())
        if isinstance(order, Name)
    }
    numbers = list(named.values())
    lone = {number: seat for seat, number in named.items() if numbers.count(number) == 1}
    scorer = lone[min(lone)] if lone else None
    points = {seat: had + (seat == scorer) for seat, had in state.points.items()}
    events = [Event("named", {"seat": seat, "number": number}) for seat, number in named.items()]
    events.append(Event("point", {"seat": scorer, "round": state.round}))
    after = replace(state, round=state.round + 1, points=points)
    return Outcome(
        replace(after, phase="over") if after.round > state.rounds else after, events, {}
    )


def waiting(state: State) -> Sequence[str]:
    """Name all, until the match is over."""
    return [] if state.phase == "over" else list(state.points)


def view(state: State, seat: str | None) -> Json:
    """Return everything: nothing is hidden but the orders of the round."""
    del seat
    return dump(state)


def winners(state: State) -> Sequence[str]:
    """Name those with the most points."""
    most = max(state.points.values())
    return [seat for seat, points in state.points.items() if points == most]


def dump(state: State) -> Json:
    """Return the state as JSON."""
    over = {"winners": winners(state)} if state.phase == "over" else {}
    return {**asdict(state), **over}


def load(data: Json, seats: Sequence[str], options: Mapping[str, Any]) -> State:
    """Read a state; a part that is missing is as at the beginning."""
    points = {seat: data.get("points", {}).get(seat, 0) for seat in seats}
    rounds = data.get("rounds", options["rounds"])
    return State(data.get("phase", "name"), data.get("round", 1), rounds, points)


def bot(state: State, seat: str, rng: Random) -> str:
    """Name a low number."""
    return f"NAME {rng.randint(1, 4)}" if seat in waiting(state) else ""
