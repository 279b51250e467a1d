"""What bids leave over: contests after round 3 by dice (4c), the last players' picks (5, 5a)."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from pbem.games.empires.auction import Bids, Contested, first_choice


class Deal(NamedTuple):
    """An empire that goes to a seat at a price, and how it came to be this one.

    `how` is `dice` (4c), `only` (one was open), `prefer`, `answer` (a PICK) or `cheapest`.
    """

    seat: str
    empire: str
    price: int
    how: str


def roll_contests(
    contests: Sequence[Contested], bids: Bids, prefer: Mapping[str, Sequence[str]], rng: Random
) -> tuple[list[str], list[Deal]]:
    """Settle the contests still tied after round 3 (4c): return the roll, and who takes what.

    One roll orders all who are tied; each in turn takes the dearest empire he is tied for that is
    still there, and pays twice the bid. Nothing is rolled where nobody is tied.
    """
    tied: dict[str, list[Contested]] = {}
    for contest in contests:
        for seat in contest.seats:
            tied.setdefault(seat, []).append(contest)
    order = [seat for seat in bids if seat in tied]
    if order:
        rng.shuffle(order)
    deals: dict[str, Deal] = {}
    for seat in order:
        amounts = {c.empire: c.amount for c in tied[seat] if c.empire not in deals}
        if amounts:
            most = max(amounts.values())
            dearest = [empire for empire, amount in amounts.items() if amount == most]
            empire = first_choice(dearest, prefer.get(seat, ()), bids[seat])
            deals[empire] = Deal(seat, empire, 2 * most, "dice")
    return order, list(deals.values())


def pick(
    seat: str, open_: Mapping[str, int], prefer: Sequence[str], bids: Mapping[str, int]
) -> Deal:
    """Return the empire a player gets for its strength: the only one, his wish, or the cheapest.

    `open_` has the strengths in sheet order. Where he sent a PREFER, his own bid lines and then the
    sheet follow what it names.
    """
    if len(open_) == 1:
        [(empire, strength)] = open_.items()
        return Deal(seat, empire, strength, "only")
    if prefer:
        empire = first_choice(list(open_), prefer, bids)
        return Deal(seat, empire, open_[empire], "prefer")
    empire = min(open_, key=open_.__getitem__)
    return Deal(seat, empire, open_[empire], "cheapest")


def roll_picks(
    free: Sequence[str],
    open_: Mapping[str, int],
    bids: Bids,
    prefer: Mapping[str, Sequence[str]],
    rng: Random,
) -> tuple[list[str], list[Deal]]:
    """Let two or more players left after round 3 pick in the order of a roll (5a)."""
    order = list(free)
    rng.shuffle(order)
    left = dict(open_)
    deals: list[Deal] = []
    for seat in order[: len(left)]:
        deals.append(pick(seat, left, prefer.get(seat, ()), bids[seat]))
        del left[deals[-1].empire]
    return order, deals
