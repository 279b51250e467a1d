"""Rule 5: the sealed bids on the groups, ties, and groups that are held over."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pbem.game import Event, Outcome
from pbem.games.alphabet import words
from pbem.games.alphabet.sheet import Bid
from pbem.games.alphabet.state import ROUNDS, Group, State
from pbem.orders import Problem

# By what a group was sold: the bid alone, or a tie broken by points or by letters in hand.
BY_BID, BY_POINTS, BY_LETTERS = "bid", "points", "letters"


class _Offer(NamedTuple):
    seat: str
    pounds: int


def sell(state: State, orders: Mapping[str, Sequence[Bid]]) -> Outcome:
    """Sell each group to its highest valid bid; `orders` hold one bid a seat and group at most.

    Points, letters and money are those at the start of the auction. What is left over stays in
    the state's groups, a tie that nothing breaks for exactly the seats in it; after the last
    round it is gone.
    """
    offers, problems = _valid(state, orders)
    money, hands = dict(state.money), dict(state.hands)
    left: dict[int, Group] = {}
    events = []
    for number, group in state.groups.items():
        bids = offers[number]
        facts: dict[str, Any] = {
            "group": number,
            "letters": group.letters,
            "bids": [{"seat": bid.seat, "pounds": bid.pounds} for bid in bids],
            "held_for": list(group.only) if group.only else None,
            "rule": "5",
        }
        gone = state.round >= ROUNDS
        if not bids:
            left[number] = Group(group.letters)
            events.append(Event("unsold", {**facts, "gone": gone}))
            continue
        tied, by = _best(state, bids)
        top = [bid.seat for bid in bids if bid.pounds == bids[0].pounds]
        facts |= {"pounds": bids[0].pounds, "tied": top if len(top) > 1 else []}
        if len(tied) > 1:
            left[number] = Group(group.letters, tuple(tied))
            events.append(Event("held", {**facts, "only": tied, "gone": gone}))
        else:
            winner = tied[0]
            money[winner] -= bids[0].pounds
            hands[winner] = words.with_letters(hands[winner], group.letters)
            events.append(Event("sold", {**facts, "seat": winner, "by": by}))
    after = replace(state, money=money, hands=hands, groups={} if state.round >= ROUNDS else left)
    return Outcome(after, events, problems)


def _valid(
    state: State, orders: Mapping[str, Sequence[Bid]]
) -> tuple[dict[int, list[_Offer]], dict[str | None, list[Problem]]]:
    """Return by group the bids their seats can pay, highest first, and the void ones."""
    offers: dict[int, list[_Offer]] = {number: [] for number in state.groups}
    problems: dict[str | None, list[Problem]] = {}
    for seat in state.seats:
        left = state.money[seat]
        for bid in orders.get(seat, ()):
            if bid.amount > left:
                fault = f"the bid is void: you had £{left} left for it"
                problems.setdefault(seat, []).append(Problem(bid.line, fault))
            else:
                left -= bid.amount
                offers[bid.group].append(_Offer(seat, bid.amount))
    for bids in offers.values():
        bids.sort(key=lambda bid: -bid.pounds)
    return offers, problems


def _best(state: State, bids: Sequence[_Offer]) -> tuple[list[str], str]:
    """Return the seats no rule parts, in seat order, and what decided."""
    tied = [bid.seat for bid in bids if bid.pounds == bids[0].pounds]
    if len(tied) == 1:
        return tied, BY_BID
    fewest = min(state.points[seat] for seat in tied)
    tied = [seat for seat in tied if state.points[seat] == fewest]
    if len(tied) == 1:
        return tied, BY_POINTS
    shortest = min(len(state.hands[seat]) for seat in tied)
    return [seat for seat in tied if len(state.hands[seat]) == shortest], BY_LETTERS
