"""A match from its set-up through its turns: the order in which the rules are carried out."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pbem.game import Event, Orders, Outcome, check_seats
from pbem.games.alphabet import auction, claims, tiles, trades, words
from pbem.games.alphabet.sheet import Bid, Claim, Pot, Trade
from pbem.games.alphabet.state import FIRST_MONEY, INCOME, LAST_TURN, ROUNDS, State, winners
from pbem.usage import Order


def setup(seats: Sequence[str], options: Mapping[str, Any], rng: Random) -> State:
    """Make the state a match begins with, its first groups drawn; 2 to 6 seats."""
    check_seats(seats, 2, 6)
    empty = State(
        phase="play",
        round=1,
        seats=tuple(seats),
        words=words.of_option(options["words"]),
        money=dict.fromkeys(seats, FIRST_MONEY),
        hands=dict.fromkeys(seats, ""),
        points=dict.fromkeys(seats, 0),
        claimed=dict.fromkeys(seats, ()),
        groups={},
        bag=words.FULL_BAG,
        secret=options["hands"] == "secret",
    )
    state: State = tiles.draw_groups(empty, 1, rng).state
    return state


def waiting(state: State) -> list[str]:
    """Name the seats that may send orders: all, until the match is over."""
    return [] if state.phase == "over" else list(state.seats)


def adjudicate(state: State, orders: Orders, rng: Random) -> Outcome:
    """Run a turn: income, trades, claims, pot, auction, sharing out; in the last one claims end it.

    Orders are lawful ones as `check` returns them. Chance is drawn for the pot first, then for
    the new groups in the order of their numbers.
    """
    if state.phase == "over":
        return Outcome(state, [], {})
    bids, claim_lines, trade_lines, pot_lines = _by_kind(state, orders)
    turn = _income(state)
    turn = _then(turn, trades.settle(turn.state, trade_lines))
    turn = _then(turn, claims.form(turn.state, claim_lines))
    if state.phase == "last":
        return _then(turn, _end(turn.state))
    put_in, pot = tiles.put_in(turn.state, pot_lines)
    turn = _then(turn, put_in)
    turn = _then(turn, auction.sell(turn.state, bids))
    turn = _then(turn, tiles.share_out(turn.state, pot, rng))
    return _then(turn, _next_round(state, turn.state, rng))


def forecast(state: State, seat: str, orders: Sequence[Order]) -> list[Event]:
    """Tell what a seat's lawful orders would do if nobody else sent any, void lines included.

    Trades need another's line, and what chance brings is left out.
    """
    alone = [order for order in orders if not isinstance(order, Trade)]
    turn = adjudicate(state, {seat: alone}, Random(0))
    events = [event for event in turn.events if event.kind in ("claim", "pot", "sold")]
    void = [
        Event("void", {"line": line, "why": why}, (seat,))
        for line, why in sorted(turn.problems.get(seat, ()))
    ]
    return [*events, *void]


def _by_kind(
    state: State, orders: Orders
) -> tuple[
    dict[str, list[Bid]], dict[str, list[Claim]], dict[str, list[Trade]], dict[str, list[Pot]]
]:
    """Part each seat's orders by their kinds, all in seat order and then as written."""
    bids: dict[str, list[Bid]] = defaultdict(list)
    claimed: dict[str, list[Claim]] = defaultdict(list)
    traded: dict[str, list[Trade]] = defaultdict(list)
    put_in: dict[str, list[Pot]] = defaultdict(list)
    for seat in state.seats:
        for order in orders.get(seat, ()):
            if isinstance(order, Bid):
                bids[seat].append(order)
            elif isinstance(order, Claim):
                claimed[seat].append(order)
            elif isinstance(order, Trade):
                traded[seat].append(order)
            elif isinstance(order, Pot):
                put_in[seat].append(order)
    return bids, claimed, traded, put_in


def _income(state: State) -> Outcome:
    """Pay every seat its income, but for round 1 (rule 1)."""
    if state.round == 1:
        return Outcome(state, [], {})
    money = {seat: have + INCOME for seat, have in state.money.items()}
    return Outcome(
        replace(state, money=money), [Event("income", {"pounds": INCOME, "rule": "1"})], {}
    )


def _next_round(before: State, state: State, rng: Random) -> Outcome:
    """Draw the groups of the next round, under numbers never used, or go to the last turn."""
    following = replace(state, round=state.round + 1)
    if state.round >= ROUNDS:
        return Outcome(replace(following, phase="last", round=LAST_TURN), [Event("last", {})], {})
    # Every round issues as many numbers as there are seats, and one; a state by hand may be ahead.
    used = max([*before.groups, state.round * (len(state.seats) + 1)])
    return tiles.draw_groups(following, used + 1, rng)


def _end(state: State) -> Outcome:
    over = replace(state, phase="over", groups={})
    facts = {"winners": winners(over), "points": max(over.points.values())}
    return Outcome(over, [Event("over", facts)], {})


def _then(turn: Outcome, step: Outcome) -> Outcome:
    """Return the turn with one more step done."""
    problems = {
        seat: [*turn.problems.get(seat, ()), *step.problems.get(seat, ())]
        for seat in {**turn.problems, **step.problems}
    }
    return Outcome(step.state, [*turn.events, *step.events], problems)
