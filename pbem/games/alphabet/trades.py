"""Rule 2: finding the trades that two sheets agree on, and carrying out what can be."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import NamedTuple

from pbem.game import Event, Outcome
from pbem.games.alphabet.sheet import Things, Trade
from pbem.games.alphabet.state import State
from pbem.orders import Problem

# Whatever a seat may lack: a letter, or money.
_MONEY = "£"


class _Deal(NamedTuple):
    """All lines of two seats about one exchange; `first` is the earlier in seat order."""

    first: int
    second: int
    given: Things
    got: Things


class _Offer(NamedTuple):
    """The next two lines of a deal; offers compare in the order in which they come (rule 2)."""

    lines: int
    first: int
    second: int
    first_line: int
    first_place: int
    second_place: int
    deal: _Deal


def settle(state: State, orders: Mapping[str, Sequence[Trade]]) -> Outcome:
    """Carry out the trades whose two lines mirror each other, one after the other.

    Of those that can be done the one with the lowest sum of line numbers is next. What lacks
    something waits for just that thing and is looked at again when its giver gets it, so that
    every line is looked at once, and once more for each time that what it waited for arrives.
    """
    stock = [
        Counter({**Counter(state.hands[seat]), _MONEY: state.money[seat]}) for seat in state.seats
    ]
    open_lines = _open_lines(state.seats, orders)
    ready: list[_Offer] = []
    for deal in open_lines:
        _queue(ready, deal, open_lines)
    waiting: dict[tuple[int, str], list[tuple[int, _Offer]]] = defaultdict(list)
    events: list[Event] = []
    done: set[tuple[str, int]] = set()
    while ready:
        offer = heappop(ready)
        deal = offer.deal
        lack = _lack(stock[deal.first], deal.given)
        giver = deal.first
        if lack is None:
            lack, giver = _lack(stock[deal.second], deal.got), deal.second
        if lack is not None:
            thing, need = lack
            heappush(waiting[giver, thing], (need, offer))
            continue
        for giver, taker, things in (
            (deal.first, deal.second, deal.given),
            (deal.second, deal.first, deal.got),
        ):
            for thing, amount in _amounts(things).items():
                stock[giver][thing] -= amount
                stock[taker][thing] += amount
        for taker, things in ((deal.second, deal.given), (deal.first, deal.got)):
            for thing in _amounts(things):
                patient = waiting[taker, thing]
                while patient and patient[0][0] <= stock[taker][thing]:
                    heappush(ready, heappop(patient)[1])
        events.append(_event(state, deal))
        done.add((state.seats[deal.first], offer.first_place))
        done.add((state.seats[deal.second], offer.second_place))
        for lines in open_lines[deal]:
            lines.pop()
        _queue(ready, deal, open_lines)
    after = replace(
        state,
        money={seat: have[_MONEY] for seat, have in zip(state.seats, stock, strict=True)},
        hands={
            seat: "".join(sorted(thing for thing in have.elements() if thing != _MONEY))
            for seat, have in zip(state.seats, stock, strict=True)
        },
    )
    return Outcome(after, events, _undone(after, orders, done))


def _open_lines(
    seats: Sequence[str], orders: Mapping[str, Sequence[Trade]]
) -> dict[_Deal, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """Gather by deal both seats' lines and their places in the sheets, the last line first."""
    position = {seat: at for at, seat in enumerate(seats)}
    found: dict[_Deal, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
    for seat, trades in orders.items():
        for place, trade in enumerate(trades):
            mine, other = position[seat], position[trade.seat]
            deal = (
                _Deal(mine, other, trade.goods, trade.price)
                if mine < other
                else _Deal(other, mine, trade.price, trade.goods)
            )
            found.setdefault(deal, ([], []))[mine > other].append((trade.line, place))
    for both in found.values():
        for lines in both:
            lines.sort(reverse=True)
    return found


def _queue(
    ready: list[_Offer],
    deal: _Deal,
    open_lines: Mapping[_Deal, tuple[list[tuple[int, int]], list[tuple[int, int]]]],
) -> None:
    """Put the next two lines of a deal among the offers, if both seats have one left."""
    first, second = open_lines[deal]
    if first and second:
        (line, place), (other_line, other_place) = first[-1], second[-1]
        offer = _Offer(line + other_line, deal.first, deal.second, line, place, other_place, deal)
        heappush(ready, offer)


def _amounts(things: Things) -> dict[str, int]:
    amounts = dict(Counter(things.letters))
    if things.money:
        amounts[_MONEY] = things.money
    return amounts


def _lack(stock: Mapping[str, int], things: Things) -> tuple[str, int] | None:
    """Return a thing of which there is not enough, and how much is needed, or `None`."""
    for thing, amount in _amounts(things).items():
        if stock[thing] < amount:
            return thing, amount
    return None


def _event(state: State, deal: _Deal) -> Event:
    given, got = deal.given, deal.got
    facts = {
        "seats": [state.seats[deal.first], state.seats[deal.second]],
        "gives": {"letters": given.letters, "money": given.money or 0, "text": str(given)},
        "gets": {"letters": got.letters, "money": got.money or 0, "text": str(got)},
        "rule": "2",
    }
    return Event("trade", facts)


def _undone(
    after: State, orders: Mapping[str, Sequence[Trade]], done: set[tuple[str, int]]
) -> dict[str | None, list[Problem]]:
    """Tell each writer what was not carried out, from what he himself may know."""
    problems: dict[str | None, list[Problem]] = {}
    for seat, trades in orders.items():
        have = Counter({**Counter(after.hands[seat]), _MONEY: after.money[seat]})
        for place, trade in enumerate(trades):
            if (seat, place) in done:
                continue
            lack = _lack(have, trade.goods)
            if lack is not None:
                thing = "money" if lack[0] == _MONEY else lack[0]
                why = f"you had not enough {thing} for it"
                if thing != "money":
                    why = f"you had too few of the letter {thing} for it"
            else:
                why = f"{trade.seat} sent no line that mirrors it, or had not all that it gives"
            problems.setdefault(seat, []).append(Problem(trade.line, why))
    return problems
