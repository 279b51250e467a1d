"""What the archive tells of a round of bids: its matrix as a map of heat, and what was overpaid."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pbem.game import Json


def facts_of(turn: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the facts of a turn's events of a kind, in order."""
    return [event["facts"] for event in turn["events"] if event["kind"] == kind]


def bids_of(turn: Mapping[str, Any]) -> Mapping[str, Mapping[str, int]] | None:
    """Return the bids above 0 of the round a turn resolved, by seat and empire.

    `None` where it resolved none; a seat whose bids are hidden is missing.
    """
    # A match that the game master ends has its last phase not run.
    if turn["phase"] != "bid" or facts_of(turn, "ended") or not turn["state"]["rounds"]:
        return None
    bids: Mapping[str, Mapping[str, int]] = turn["state"]["rounds"][-1]["bids"]
    return bids


def matrix(before: Mapping[str, Any], turn: Mapping[str, Any], seats: Sequence[str]) -> Json | None:
    """Return the bid matrix of the round a turn resolved; `None` where it resolved none.

    `before` is the state the round was bid in. Rows are the empires then open, with the least
    bid; columns the seats then free. A cell's `heat` is its share of the highest bid; `mark` says
    what became of the bid: `claim`, `contest`, `block` (4a), or nothing. `repriced` tells that some
    price is not the bid, `picked` that some empire was got without a bid (5, 5a).
    """
    bids = bids_of(turn)
    if bids is None:
        return None
    free = [seat for seat in seats if seat not in before["claims"]]
    taken = {claim["empire"] for claim in before["claims"].values()}
    claims = {(facts["seat"], facts["empire"]): facts["price"] for facts in facts_of(turn, "claim")}
    marks = {
        (seat, facts["empire"]): "contest"
        for facts in facts_of(turn, "contest")
        for seat in facts["seats"]
    }
    marks |= {(facts["seat"], facts["empire"]): "block" for facts in facts_of(turn, "blocked")}
    marks |= dict.fromkeys(claims, "claim")
    most = max((amount for mine in bids.values() for amount in mine.values()), default=1)
    rows = []
    for empire, strength in before["empires"].items():
        if empire in taken:
            continue
        contest = before["contested"].get(empire)
        cells = []
        for seat in free:
            bid = bids[seat].get(empire, 0) if seat in bids else None
            cells.append(
                {
                    "seat": seat,
                    "bid": bid,
                    "heat": round((bid or 0) / most, 2),
                    "mark": marks.get((seat, empire), ""),
                    "price": claims.get((seat, empire)),
                }
            )
        rows.append(
            {
                "empire": empire,
                "sp": strength,
                "least": contest["minimum"] if contest else strength,
                "only": contest["seats"] if contest else None,
                "cells": cells,
            }
        )
    claimed = [c for row in rows for c in row["cells"] if c["mark"] == "claim"]
    return {
        "round": turn["state"]["rounds"][-1]["round"],
        "seats": free,
        "rows": rows,
        "hidden": any(seat not in bids for seat in free),
        "marks": sorted({c["mark"] for row in rows for c in row["cells"]} - {""}),
        "repriced": any(c["bid"] and c["bid"] != c["price"] for c in claimed),
        "picked": any(c["bid"] == 0 for c in claimed),
    }


def paid(before: Mapping[str, Any], turn: Mapping[str, Any]) -> list[Json]:
    """Return what each claim of a turn cost, and how far that is above the next bid under it.

    `next` is the best bid of another seat for that empire that is not above the price, `rivals`
    who made it; where nobody else bid it is the least that could be bid. Who gets an empire for
    its strength (5, 5a) pays nothing above. `next` and `above` are `None` where bids are hidden.
    """
    bids = bids_of(turn)
    found: list[Json] = []
    for facts in facts_of(turn, "claim"):
        seat, empire, price = facts["seat"], facts["empire"], facts["price"]
        under: int | None = price
        rivals: list[str] = []
        if facts["by"] in ("bid", "dice"):
            contest = before["contested"].get(empire)
            least = contest["minimum"] if contest else before["empires"][empire]
            under, rivals = _next(bids or {}, seat, empire, price)
            under = None if not bids else max(under, least)
        found.append(
            {
                "seat": seat,
                "empire": empire,
                "sp": before["empires"][empire],
                "price": price,
                "by": facts["by"],
                "next": under,
                "rivals": rivals,
                "above": None if under is None else price - under,
            }
        )
    return found


def total(amounts: Iterable[int | None]) -> int | None:
    """Return the sum, or `None` where one of the amounts is hidden."""
    known = list(amounts)
    return None if None in known else sum(amount or 0 for amount in known)


def _next(
    bids: Mapping[str, Mapping[str, int]], seat: str, empire: str, price: int
) -> tuple[int, list[str]]:
    """Return the best bid of the others that is not above a price, and whose it is; 0 for none."""
    others = {
        who: mine[empire]
        for who, mine in bids.items()
        if who != seat and 0 < mine.get(empire, 0) <= price
    }
    best = max(others.values(), default=0)
    return best, [who for who, amount in others.items() if amount == best]
