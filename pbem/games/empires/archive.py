"""The archive's facts: the page of a turn and that of the match, from the published record."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pbem.game import Json
from pbem.games.empires.became import became
from pbem.games.empires.paid import bids_of, facts_of, matrix, paid, total
from pbem.games.empires.resolution import steps
from pbem.games.empires.sheet import epochs

# So many claims are named as the best bargains, and as the dearest.
_MOST_NAMED = 5


def chapter(record: Mapping[str, Any], number: int) -> Json:
    """Return the facts of a turn's page.

    `matrix` is the round bid in it, `steps` its resolution, `paid` what was paid above the next
    bid, `open` the empires left with their least bids, `balances` the scores that came in.
    """
    turn = record["turns"][number]
    state = turn["state"]
    before = record["turns"][max(number - 1, 0)]["state"]
    names = [epoch.name for epoch in epochs(record["options"].get("sheet"))]
    claims = paid(before, turn)
    ended = facts_of(turn, "epoch_over")
    table = matrix(before, turn, record["seats"])
    return {
        "became": became(record, number),
        # The matrix stands for the picture of the letters.
        "drawn": table is not None,
        "epoch": names[before["epoch"] - 1],
        "phase": turn["phase"],
        "matrix": table,
        "steps": steps(turn),
        "paid": claims,
        "above": total(claim["above"] for claim in claims),
        "open": _open(state) if state["phase"] in ("bid", "pick") else [],
        "next_epoch": names[state["epoch"] - 1] if ended and state["phase"] == "bid" else None,
        "round": state["round"],
        "free": [seat for seat in record["seats"] if seat not in state["claims"]],
        "balances": [] if not ended else facts_of(turn, "balance"),
        "scores": [] if ended else facts_of(turn, "score"),
        "ledger": _ledger(record["seats"], state),
    }


def course(record: Mapping[str, Any]) -> Json:
    """Return the facts of the match's page.

    `charts` go from epoch's end to epoch's end; one under way comes last, as it stands. `epochs`
    has all claims with prices, next bids and highest bids, `ledger` each seat's epochs,
    `totals` what it paid, overpaid and bid most, `bargains` and `dearest` single claims.
    """
    seats, turns = record["seats"], record["turns"]
    names = [epoch.name for epoch in epochs(record["options"].get("sheet"))]
    claims = _claims(record, names)
    scores = _scores(turns[-1]["state"])
    for claim in claims:
        points = scores.get(claim["number"], {}).get(claim["seat"])
        claim["points"] = points
        claim["gain"] = None if points is None else points - claim["price"]
    gainful = [claim for claim in claims if claim["gain"] is not None]
    dear = [claim for claim in claims if claim["above"]]
    epochs_ = _epochs(record, names, claims)
    return {
        "charts": _charts(record, names),
        "epochs": epochs_,
        "ledger": _table(seats, claims, scores, turns[-1]["state"], names),
        "totals": [_total(record, seat, claims) for seat in seats],
        "bargains": sorted(gainful, key=lambda claim: -claim["gain"])[:_MOST_NAMED],
        "dearest": sorted(dear, key=lambda claim: -claim["above"])[:_MOST_NAMED],
    }


def _open(state: Mapping[str, Any]) -> list[Json]:
    """List the empires nobody has, with the least bid (or price) and who alone may bid."""
    taken = {claim["empire"] for claim in state["claims"].values()}
    found = []
    for empire, strength in state["empires"].items():
        if empire not in taken:
            contest = state["contested"].get(empire, {"seats": [], "minimum": strength})
            found.append(
                {
                    "empire": empire,
                    "sp": strength,
                    "least": contest["minimum"],
                    "only": contest["seats"],
                }
            )
    return found


def _ledger(seats: Sequence[str], state: Mapping[str, Any]) -> list[Json]:
    """Return the VP after a turn, the richest first; those hidden are left out."""
    known = [{"seat": seat, "vp": state["vp"][seat]} for seat in seats if seat in state["vp"]]
    return sorted(known, key=lambda row: -row["vp"])


def _steps_of(record: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return each turn after the set-up, with the state it was played from."""
    turns = record["turns"]
    return [(before["state"], turn) for before, turn in pairwise(turns)]


def _claims(record: Mapping[str, Any], names: Sequence[str]) -> list[Json]:
    return [
        {
            **claim,
            "epoch": names[before["epoch"] - 1],
            "number": before["epoch"],
            "turn": turn["number"],
        }
        for before, turn in _steps_of(record)
        for claim in paid(before, turn)
    ]


def _scores(last: Mapping[str, Any]) -> dict[int, Mapping[str, int]]:
    """Return the scores that are known, by epoch (from 1) and seat."""
    return {past["epoch"]: past["scores"] for past in last["past"]}


def _epochs(record: Mapping[str, Any], names: Sequence[str], claims: Sequence[Json]) -> list[Json]:
    """Return each epoch bid for: its turns, and by empire who has it and who bid most for it."""
    found: dict[int, Json] = {}
    for before, turn in _steps_of(record):
        epoch = found.setdefault(
            before["epoch"],
            {"name": names[before["epoch"] - 1], "turns": [], "rows": {}, "hidden": False},
        )
        rows: dict[str, Json] = epoch["rows"]
        for empire, strength in before["empires"].items():
            empty = {"empire": empire, "sp": strength, "claim": None, "most": 0, "by": []}
            rows.setdefault(empire, empty)
        bids = bids_of(turn)
        if bids is not None:
            round_ = turn["state"]["rounds"][-1]["round"]
            epoch["turns"].append({"turn": turn["number"], "round": round_})
            epoch["hidden"] |= not bids
        for seat, mine in (bids or {}).items():
            for empire, amount in mine.items():
                row = rows[empire]
                if amount > row["most"]:
                    row |= {"most": amount, "by": [seat]}
                elif amount == row["most"] and seat not in row["by"]:
                    row["by"].append(seat)
    for claim in claims:
        found[claim["number"]]["rows"][claim["empire"]]["claim"] = claim
    return [
        {
            **epoch,
            "rows": list(epoch["rows"].values()),
            "paid": sum(claim["price"] for claim in claims if claim["number"] == number),
            "above": total(claim["above"] for claim in claims if claim["number"] == number),
        }
        for number, epoch in found.items()
        if epoch["turns"] or any(claim["number"] == number for claim in claims)
    ]


def _table(
    seats: Sequence[str],
    claims: Sequence[Json],
    scores: Mapping[int, Mapping[str, int]],
    last: Mapping[str, Any],
    names: Sequence[str],
) -> Json:
    """Return the ledger: by seat and epoch that is over, score less price, and the VP now."""
    prices = {(claim["number"], claim["seat"]): claim["price"] for claim in claims}
    rows = []
    for seat in seats:
        nets = []
        for number, given in scores.items():
            if not given:
                continue
            points = given.get(seat)
            price = prices.get((number, seat), 0)
            net = None if points is None else points - price
            nets.append({"price": price, "points": points, "net": net})
        rows.append({"seat": seat, "epochs": nets, "vp": last["vp"].get(seat)})
    if all(row["vp"] is not None for row in rows):
        rows.sort(key=lambda row: -row["vp"])
    told = [number for number, given in scores.items() if given]
    return {"epochs": [names[number - 1] for number in told], "rows": rows}


def _total(record: Mapping[str, Any], seat: str, claims: Sequence[Json]) -> Json:
    """Return what a seat bid, paid and overpaid in all, and the most it ever bid for an empire."""
    mine = [claim for claim in claims if claim["seat"] == seat]
    most: Json | None = None
    count, hidden = 0, False
    for before, turn in _steps_of(record):
        bids = bids_of(turn)
        if bids is None or seat in before["claims"]:
            continue
        hidden |= seat not in bids
        for empire, amount in bids.get(seat, {}).items():
            count += 1
            if most is None or amount > most["amount"]:
                got = any(
                    claim["empire"] == empire and claim["number"] == before["epoch"]
                    for claim in mine
                )
                most = {"amount": amount, "empire": empire, "got": got, "turn": turn["number"]}
    points = [claim["points"] for claim in mine if claim["points"] is not None]
    return {
        "seat": seat,
        "bids": None if hidden else count,
        "most": most,
        "paid": sum(claim["price"] for claim in mine),
        "above": total(claim["above"] for claim in mine),
        "scored": sum(points) if points else None,
    }


def _charts(record: Mapping[str, Any], names: Sequence[str]) -> list[Json]:
    """Return the VP, as far as they are known, and what was paid, at each epoch's end.

    Within an epoch prices are paid long before anything is scored: from turn to turn VP would
    tell of nothing but that.
    """
    seats, turns = record["seats"], record["turns"]
    shown, places = turns[:1], ["start"]
    for before, turn in _steps_of(record):
        if facts_of(turn, "epoch_over"):
            shown.append(turn)
            places.append(names[before["epoch"] - 1])
    last = turns[-1]
    since = turns[shown[-1]["number"] + 1 :]
    # A match that the game master ends has its last phase not run.
    if any(not facts_of(turn, "ended") for turn in since):
        unfinished = "unfinished" if last["state"]["phase"] == "over" else "so far"
        places.append(f"{names[last['state']['epoch'] - 1]} {unfinished}")
        shown.append(last)
    had = {seat: [turn["state"]["vp"].get(seat) for turn in shown] for seat in seats}
    spent = {seat: _spent(record, seat, shown) for seat in seats}
    along = {"along": "epoch", "places": places, "turns": [turn["number"] for turn in shown]}
    return [
        {"title": title, "unit": "VP", "seats": values, **along}
        for title, values in (("Victory points", had), ("Paid for empires in all", spent))
        if _is_course(values)
    ]


def _is_course(values: Mapping[str, Sequence[int | None]]) -> bool:
    """Tell whether some seat has two values or more that are known: one alone is no course."""
    return any(len(each) - each.count(None) > 1 for each in values.values())


def _spent(record: Mapping[str, Any], seat: str, shown: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return what a seat had paid for empires up to each of some turns."""
    sums = [0]
    for _, turn in _steps_of(record):
        prices = (f["price"] for f in facts_of(turn, "claim") if f["seat"] == seat)
        sums.append(sums[-1] + sum(prices))
    return [sums[turn["number"]] for turn in shown]
