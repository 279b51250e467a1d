"""What the archive tells of auctions: groups with all bids and prices, the value of a letter."""

from collections import Counter
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from pbem.game import Json

_KINDS = ("sold", "held", "unsold")


def facts_of(turn: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the facts of a turn's events of a kind, in order."""
    return [event["facts"] for event in turn["events"] if event["kind"] == kind]


def lots(turn: Mapping[str, Any], seats: Sequence[str]) -> list[Json]:
    """Return the groups auctioned in a turn, with every bid and what it came to.

    A cell's `heat` is its share of the turn's highest bid; `mark` says what became of the bid:
    `won`, `held` (tied, and held over), `tied` (and lost by points or letters), or nothing. `next`
    is the best bid of another seat (0 for none), `rivals` who made it, `above` what the price is
    above it.
    """
    found = [
        {"seat": None, "tied": [], "only": [], "gone": False, "kind": e["kind"], **e["facts"]}
        for e in turn["events"]
        if e["kind"] in _KINDS
    ]
    most = max((bid["pounds"] for lot in found for bid in lot["bids"]), default=1)
    for lot in found:
        pounds = {bid["seat"]: bid["pounds"] for bid in lot["bids"]}
        others = {seat: bid for seat, bid in pounds.items() if seat != lot["seat"]}
        under = max(others.values(), default=0)
        lot["next"] = under
        lot["rivals"] = [seat for seat, bid in others.items() if bid == under]
        lot["above"] = lot["pounds"] - under if lot["kind"] == "sold" else None
        lot["cells"] = [
            {
                "seat": seat,
                "pounds": pounds.get(seat),
                "heat": round(pounds.get(seat, 0) / most, 2),
                "mark": _mark(lot, seat),
            }
            for seat in seats
        ]
    return found


def _mark(lot: Mapping[str, Any], seat: str) -> str:
    if seat == lot["seat"]:
        return "won"
    if seat in lot["only"]:
        return "held"
    return "tied" if seat in lot["tied"] else ""


def letters(turns: Sequence[Mapping[str, Any]], hands: Mapping[str, str] | None) -> list[Json]:
    """Return of each letter how often it was offered, sold, claimed, and what it cost and brought.

    A letter's `price` is a sixth of what its group was sold for, the mean over all sold; what it
    `brought` is the points of the words it was spent on, `worth` these by each one sold. `left`
    counts those in `hands` now (`None`: not known).
    """
    offered: Counter[str] = Counter()
    sold: Counter[str] = Counter()
    cost: Counter[str] = Counter()
    claimed: Counter[str] = Counter()
    brought: Counter[str] = Counter()
    for turn in turns:
        # The first groups are drawn as the match is set up, without an event.
        drawn = [facts["groups"] for facts in facts_of(turn, "groups")]
        for groups in drawn if turn["number"] else [turn["state"]["groups"].values()]:
            for group in groups:
                offered.update(group["letters"])
        for facts in facts_of(turn, "sold"):
            sold.update(facts["letters"])
            for letter in facts["letters"]:
                cost[letter] += facts["pounds"]
        for facts in facts_of(turn, "claim"):
            claimed.update(facts["word"])
            for letter in facts["word"]:
                brought[letter] += facts["times"]
    left = None if hands is None else Counter("".join(hands.values()))
    rows: list[Json] = [
        {
            "letter": letter,
            "offered": offered[letter],
            "sold": sold[letter],
            "price": _share(cost[letter], 6 * sold[letter]),
            "claimed": claimed[letter],
            "brought": brought[letter],
            "worth": _share(brought[letter], sold[letter]),
            "left": None if left is None else left[letter],
        }
        for letter in ascii_uppercase
    ]
    for key in ("price", "worth"):
        most = max((row[key] or 0 for row in rows), default=0) or 1
        for row in rows:
            row[f"{key}_heat"] = round((row[key] or 0) / most, 2)
    return rows


def _share(amount: int, number: int) -> float | None:
    return round(amount / number, 1) if number else None
