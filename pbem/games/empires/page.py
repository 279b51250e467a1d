"""What a report says beyond the view: the story of the turn, bid matrices, offers, the ledger."""

from collections.abc import Mapping, Sequence
from typing import Any

from pbem.game import Event, Json
from pbem.games.empires.picture import picture
from pbem.games.empires.state import Claim, Round, State, seen_from, winners
from pbem.games.empires.tables import LONGEST_NAME, labels, shortened, table


def page(state: State, seat: str | None, events: Sequence[Event]) -> Json:
    """Return the facts of a report for a seat (`None`: the public), as JSON.

    `action` is what the reader may do: `bid`, `prefer` (where others contest all that is open),
    `pick` or `wait`; for the public, in `score` and in `over` it is the phase;
    `story` the turn in order; `matrices` the rounds of this epoch, once the match is over of all;
    `offers` the open empires with the least bid; `ledger` the VP; `needed` the seats whose score
    the game master has not entered; `narrow` a name a seat for tables on a phone.
    """
    seen = seen_from(state, seat)
    short = labels(state.seats)
    matrices = _matrices(seen, seat, short)
    ledger = _ledger(seen, seat)
    scoring = state.phase == "score"
    return {
        "epoch": state.sheet[state.epoch - 1].name,
        "number": state.epoch,
        "epochs": len(state.sheet),
        "round": state.round,
        "action": _action(state, seat),
        "free": list(state.free),
        "mine": next((_claim(c) for who, c in state.claims.items() if who == seat), None),
        "narrow": labels(state.seats, 4 if len(state.seats) > 5 else 6),
        "legend": [{"label": short[s], "seat": s} for s in state.seats if short[s] != s],
        "story": story([e for e in events if e.seen_by is None or seat in e.seen_by]),
        "matrices": matrices,
        "offers": _offers(state, seat) if state.phase in ("bid", "pick") else [],
        "ledger": ledger,
        "ledger_text": _ledger_text(ledger, labels(state.seats, 12)),
        "needed": [s for s in state.seats if s not in state.scores] if scoring else [],
        "winners": winners(state) if state.phase == "over" else [],
        "picture": picture(matrices[-1]) if matrices else None,
    }


def story(events: Sequence[Event]) -> list[Json]:
    """Tell the turn: what decided a claim, and what it cost, joined to the claim itself.

    A claim has `why` (the facts of `decided`), `how` (it was chosen) and `vp` (left after it),
    each `None` where the reader may not know it or there is none.
    """
    items: list[Json] = []
    decided: Mapping[str, Any] | None = None
    for event in events:
        facts = event.facts
        if event.kind == "decided":
            decided = facts
        elif event.kind == "claim":
            why = decided if decided and decided["empire"] == facts["empire"] else None
            items.append({"kind": "claim", **facts, "why": why, "how": None, "vp": None})
        elif event.kind == "chosen":
            items[-1]["how"] = facts["how"]
        elif event.kind == "charge":
            items[-1]["vp"] = facts["vp"]
        elif event.kind == "contest":
            items.append({"kind": "contest", **facts, "alike": None})
        elif event.kind == "alike":
            items[-1]["alike"] = facts
        elif event.kind not in ("bids", "wishes"):
            items.append({"kind": event.kind, **facts})
    for item in items:
        if item["kind"] == "epoch_over":
            item["balances"] = [dict(e.facts) for e in events if e.kind == "balance"]
    # The accounts of an epoch that is over have all its scores.
    done = any(item["kind"] == "epoch_over" for item in items)
    told = ("balance", "score") if done else ("balance",)
    return [item for item in items if item["kind"] not in told]


def _action(state: State, seat: str | None) -> str:
    if seat is None or state.phase in ("score", "over"):
        return state.phase
    if seat not in state.free:
        return "wait"
    barred = state.phase == "bid" and all(state.least(seat, one) is None for one in state.open)
    return "prefer" if barred else state.phase


def _claim(claim: Claim) -> Json:
    return {"empire": claim.empire, "price": claim.price}


def _matrices(seen: State, seat: str | None, short: Mapping[str, str]) -> list[Json]:
    """Draw up the bid matrices as the article's template has them, of this epoch's rounds.

    Once the match is over those of all epochs come first.
    """
    epochs = [(past.epoch, past.empires, past.rounds, past.claims) for past in seen.past]
    if seen.phase != "over":
        epochs = []
    if seen.rounds:
        epochs.append((seen.epoch, seen.empires, seen.rounds, seen.claims))
    return [
        _matrix(seen, seat, short, (epoch, at), empires, rounds, claims)
        for epoch, empires, rounds, claims in epochs
        for at in range(len(rounds))
    ]


def _matrix(
    seen: State,
    seat: str | None,
    short: Mapping[str, str],
    where: tuple[int, int],
    empires: Mapping[str, int],
    rounds: Sequence[Round],
    claims: Mapping[str, Claim],
) -> Json:
    """Draw up one round: rows the empires open in it, columns the seats free in it."""
    epoch, at = where
    made = {who for one in rounds[at:] for who in one.claims}
    before = {who: claim for who, claim in claims.items() if who not in made}
    seats = [who for who in seen.seats if who not in before]
    taken = {claim.empire for claim in before.values()}
    rows: list[Json] = [
        {
            "empire": empire,
            "sp": sp,
            "cells": [_cell(rounds[at], who, empire, who == seat) for who in seats],
        }
        for empire, sp in empires.items()
        if empire not in taken
    ]
    head = ["", "SP", *(short[who] for who in seats)]
    lines = [
        [shortened(row["empire"], LONGEST_NAME), str(row["sp"]), *(c["text"] for c in row["cells"])]
        for row in rows
    ]
    return {
        "epoch": seen.sheet[epoch - 1].name,
        "round": rounds[at].number,
        "seats": [{"seat": who, "label": short[who], "at": seen.seats.index(who)} for who in seats],
        "rows": rows,
        "text": table(head, lines, 2),
        "hidden": any(c["bid"] is None for row in rows for c in row["cells"]),
    }


def _cell(one: Round, who: str, empire: str, mine: bool) -> Json:
    """Return one bid: its amount (`None` where hidden), the price where it got the empire."""
    bid = one.bids[who].get(empire, 0) if who in one.bids else None
    claim = one.claims.get(who)
    price = claim.price if claim and claim.empire == empire else None
    text = "?" if bid is None else str(bid or ".")
    if price is not None:
        text = f"*{price}" if bid in (None, price) else f"{text}*{price}"
    return {"seat": who, "bid": bid, "price": price, "mine": mine, "text": text}


def _offers(state: State, seat: str | None) -> list[Json]:
    """List the open empires with the least a reader may bid; `None` where he is barred (4).

    The public is told the minimum of the contestants.
    """
    offers: list[Json] = []
    for empire, sp in state.open.items():
        contest = state.contested.get(empire)
        least = contest.minimum if contest and seat is None else state.least(seat, empire)
        seats = list(contest.seats) if contest else []
        minimum = contest.minimum if contest else sp
        offers.append(
            {"empire": empire, "sp": sp, "least": least, "minimum": minimum, "seats": seats}
        )
    return offers


def _ledger(seen: State, seat: str | None) -> list[Json]:
    """Return the accounts, the richest first where all are open; what is hidden is `None`."""
    rows: list[Json] = []
    for who in seen.seats:
        past = []
        for one in seen.past:
            price = one.claims[who].price if who in one.claims else 0
            net = one.scores[who] - price if who in one.scores else None
            past.append({"epoch": seen.sheet[one.epoch - 1].name, "net": net})
        # At the end of the match the last epoch stands among the past ones.
        ended = any(one.epoch == seen.epoch for one in seen.past)
        now = None if ended else seen.claims.get(who)
        rows.append(
            {
                "seat": who,
                "mine": who == seat,
                "past": past,
                "claim": _claim(now) if now else None,
                "points": seen.scores.get(who),
                "vp": seen.vp.get(who),
            }
        )
    if all(row["vp"] is not None for row in rows):
        rows.sort(key=lambda row: -row["vp"])
    return rows


def _ledger_text(ledger: Sequence[Json], short: Mapping[str, str]) -> str:
    past = [one["epoch"] for one in ledger[0]["past"]]
    claimed = any(row["claim"] for row in ledger)
    head = ["", *past, *(("empire", "paid") if claimed else ()), "VP"]
    lines = []
    for row in ledger:
        net = ["?" if one["net"] is None else f"{one['net']:+d}" for one in row["past"]]
        claim = row["claim"] or {"empire": ".", "price": "."}
        now = [shortened(claim["empire"], 16), str(claim["price"])] if claimed else []
        vp = "?" if row["vp"] is None else str(row["vp"])
        lines.append([f"{'>' if row['mine'] else ' '} {short[row['seat']]}", *net, *now, vp])
    return table(head, lines, 1)
