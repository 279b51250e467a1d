"""The archive's facts: the page of a turn and that of the match, from the published record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pbem.game import Json
from pbem.games.alphabet import words
from pbem.games.alphabet.became import became
from pbem.games.alphabet.best import best, best_now
from pbem.games.alphabet.lots import facts_of, letters, lots
from pbem.games.alphabet.sheet import GRAMMAR, Trade
from pbem.games.alphabet.state import LAST_TURN, ROUNDS, multiplier

Facts = Mapping[str, Any]

# So many groups are named as the dearest.
_MOST_NAMED = 5


def chapter(record: Facts, number: int) -> Json:
    """Return the facts of a turn's page.

    `lots` are the groups auctioned with all bids, `letters` what each letter of them cost, `words`
    the words formed, `trades` those done and (once known) `refused`, `best` what each hand could
    have formed; hands that are secret are left out.
    """
    turns, seats = record["turns"], record["seats"]
    turn = turns[number]
    before = turns[max(number - 1, 0)]["state"]
    auction = lots(turn, seats)
    over_all = {row["letter"]: row["price"] for row in letters(turns[: number + 1], None)}
    is_played = number > 0 and not facts_of(turn, "ended")
    return {
        "became": became(record, number),
        "round": before["round"],
        "times": multiplier(before["round"]) if before["round"] > 1 else None,
        "played": is_played,
        "income": sum(facts["pounds"] for facts in facts_of(turn, "income")),
        "lots": auction,
        "marks": sorted({cell["mark"] for lot in auction for cell in lot["cells"]} - {""}),
        "spent": sum(lot["pounds"] for lot in auction if lot["kind"] == "sold"),
        "letters": [
            {**row, "so_far": over_all[row["letter"]]}
            for row in letters([turn], None)
            if row["sold"]
        ],
        "claims": _claims_of(turn, seats),
        "trades": facts_of(turn, "trade"),
        "refused": _refused(turn, seats),
        "pot": facts_of(turn, "share"),
        "best": [_could(record, number, seat) for seat in seats]
        if _has_hands(record, number)
        else [],
        "offer": turn["state"]["groups"],
        "next": turn["state"]["round"],
        "position": _position(turn["state"], seats),
    }


def course(record: Facts) -> Json:
    """Return the facts of the match's page.

    `words` are those formed, by turn and seat; `letters` the value of each letter; `trades` the
    ledger of all trades; `totals` by seat; `best` what each seat could have made of its letters.
    """
    turns, seats = record["turns"], record["seats"]
    last = turns[-1]["state"]
    sales = [
        {**lot, "turn": turn["number"]}
        for turn in turns
        for lot in lots(turn, seats)
        if lot["kind"] == "sold"
    ]
    known = last["hands"] if set(last["hands"]) == set(seats) else None
    trades = [
        {**facts, "turn": turn["number"]} for turn in turns for facts in facts_of(turn, "trade")
    ]
    return {
        "charts": [
            {
                "title": title,
                "unit": unit,
                "seats": {seat: _line(turns, key, seat) for seat in seats},
            }
            for key, title, unit in (("points", "Points", "points"), ("money", "Money", "£"))
        ],
        "listed": _listed(last, seats),
        "words": _words(record),
        "letters": letters(turns, known),
        "hands_known": known is not None,
        "sales": sales,
        "dearest": sorted(sales, key=lambda lot: -lot["pounds"])[:_MOST_NAMED],
        "trades": trades,
        "traded": [_traded(trades, seat) for seat in seats] if trades else [],
        "totals": [_total(record, sales, seat) for seat in seats],
        "best": [_best_of_all(record, seat) for seat in seats] if known is not None else [],
    }


def _line(turns: Sequence[Facts], key: str, seat: str) -> list[int | None]:
    return [turn["state"][key].get(seat) for turn in turns]


def _has_hands(record: Facts, number: int) -> bool:
    """Tell whether all hands of a turn that was played are known, before it and after."""
    turns = record["turns"]
    if number == 0 or facts_of(turns[number], "ended"):
        return False
    return all(
        set(turn["state"]["hands"]) == set(record["seats"])
        for turn in (turns[number - 1], turns[number])
    )


def _hand(record: Facts, number: int, seat: str) -> str:
    """Return the letters a seat had to claim with in a turn: those from before, and by trade."""
    turns = record["turns"]
    hand = Counter(turns[number - 1]["state"]["hands"][seat])
    for trade in facts_of(turns[number], "trade"):
        for who, given, got in (
            (trade["seats"][0], trade["gives"], trade["gets"]),
            (trade["seats"][1], trade["gets"], trade["gives"]),
        ):
            if who == seat:
                hand.subtract(given["letters"])
                hand.update(got["letters"])
    return "".join(sorted(hand.elements()))


def _could(record: Facts, number: int, seat: str) -> Json:
    """Return what a seat could have claimed in a turn, what it did, and what it then still could.

    `each` are words it could have formed, each by itself, and whether it did (`now`); `best` those
    that bring most together, `reach` those it could form from its hand when the turn was over.
    """
    turns = record["turns"]
    before, after = turns[number - 1]["state"], turns[number]["state"]
    hand, times = _hand(record, number, seat), multiplier(before["round"])
    free = [word for word in before["words"] if word not in before["claimed"][seat]]
    did = [f["word"] for f in facts_of(turns[number], "claim") if f["seat"] == seat]
    # In the turn of round 1 nobody has letters yet; the rules give it no multiplier.
    able = [word for word in free if words.holds(hand, word)] if before["round"] > 1 else []
    play = best_now(hand, able, times)
    points = sum(len(word) * times for word in did)
    return {
        "seat": seat,
        "hand": hand,
        "times": times,
        "each": [{"word": word, "points": len(word) * times, "now": word in did} for word in able],
        "did": did,
        "points": points,
        "best": [word for word, _ in play.words],
        "most": max(play.points, points),
        "missed": max(play.points - points, 0),
        "exact": play.exact,
        "reach": [
            word
            for word in after["words"]
            if word not in after["claimed"][seat] and words.holds(after["hands"][seat], word)
        ],
        "left": after["hands"][seat],
    }


def _best_of_all(record: Facts, seat: str) -> Json:
    """Return the most a seat could have made of all letters it had, when each came to it.

    Its auctions, trades and letters for the pot stay as they were; only its claims are other ones.
    `never` are words that it never claimed, with the turns in which its hand held them.
    """
    turns = record["turns"]
    last = turns[-1]["state"]
    hands: dict[int, str] = {}
    times: dict[int, int] = {}
    missed: dict[str, list[int]] = {}
    for turn in turns[1:]:
        number, before = turn["number"], turns[turn["number"] - 1]["state"]
        if before["round"] > 1 and not facts_of(turn, "ended"):
            spent = "".join(before["claimed"][seat])
            hand = _hand(record, number, seat)
            hands[number] = hand + spent
            times[number] = multiplier(before["round"])
            for word in last["words"]:
                if word not in last["claimed"][seat] and words.holds(hand, word):
                    missed.setdefault(word, []).append(number)
    # What went into the last pot couldn't be spent either; after it nothing can be claimed.
    hands[len(turns)] = last["hands"][seat] + "".join(last["claimed"][seat])
    times[len(turns)] = 0
    play = best(hands, last["words"], times)
    points = last["points"][seat]
    better = play.points > points
    plan = play.words if better else _done(turns, seat)
    return {
        "seat": seat,
        "points": points,
        "most": max(play.points, points),
        "missed": max(play.points - points, 0),
        "exact": play.exact,
        "plan": [
            {"word": word, "turn": turn, "points": len(word) * times.get(turn, 0)}
            for word, turn in sorted(plan, key=lambda claim: claim[1])
        ],
        "never": [{"word": word, "turns": found} for word, found in missed.items()],
        "left": last["hands"][seat],
    }


def _done(turns: Sequence[Facts], seat: str) -> list[tuple[str, int]]:
    return [
        (facts["word"], turn["number"])
        for turn in turns
        for facts in facts_of(turn, "claim")
        if facts["seat"] == seat
    ]


def _claims_of(turn: Facts, seats: Sequence[str]) -> list[Json]:
    claims = facts_of(turn, "claim")
    return [
        {
            "seat": seat,
            "words": [facts for facts in claims if facts["seat"] == seat],
            "points": sum(facts["points"] for facts in claims if facts["seat"] == seat),
        }
        for seat in seats
        if any(facts["seat"] == seat for facts in claims)
    ]


def _refused(turn: Facts, seats: Sequence[str]) -> list[Json]:
    """Return the trade lines that were not carried out; none while orders are secret."""
    found = []
    for seat in seats:
        problems = dict(turn["problems"].get(seat, ()))
        reading = GRAMMAR.read(turn["orders"].get(seat, ""))
        found += [
            {"seat": seat, "line": line.number, "text": line.text, "why": problems[line.number]}
            for line in reading.lines
            if isinstance(line.order, Trade) and line.number in problems
        ]
    return found


def _position(state: Facts, seats: Sequence[str]) -> list[Json]:
    """Return the standings after a turn, the most points first; what is hidden is `None`."""
    rows = [
        {
            "seat": seat,
            "points": state["points"][seat],
            "money": state["money"].get(seat),
            "hand": state["hands"].get(seat),
            "claimed": state["claimed"][seat],
        }
        for seat in seats
    ]
    return sorted(rows, key=lambda row: -row["points"])


def _listed(last: Facts, seats: Sequence[str]) -> list[Json]:
    """Return the words of the match with who formed each."""
    return [
        {"word": word, "by": [seat for seat in seats if word in last["claimed"][seat]]}
        for word in last["words"]
    ]


def _words(record: Facts) -> list[Json]:
    """Return the words formed, by turn (with its multiplier) and seat."""
    rows = []
    for turn in record["turns"][1:]:
        number = record["turns"][turn["number"] - 1]["state"]["round"]
        if number == 1 or facts_of(turn, "ended"):
            continue
        claims = facts_of(turn, "claim")
        rows.append(
            {
                "turn": turn["number"],
                "round": number if number <= ROUNDS else None,
                "last": number == LAST_TURN,
                "times": multiplier(number),
                "cells": [
                    {
                        "seat": seat,
                        "words": [f["word"] for f in claims if f["seat"] == seat],
                        "points": sum(f["points"] for f in claims if f["seat"] == seat),
                    }
                    for seat in record["seats"]
                ],
            }
        )
    return rows


def _traded(trades: Sequence[Facts], seat: str) -> Json:
    """Return what a seat gave and got by trades in all."""
    gave, got = Counter[str](), Counter[str]()
    paid = received = number = 0
    for trade in trades:
        for who, given, taken in (
            (trade["seats"][0], trade["gives"], trade["gets"]),
            (trade["seats"][1], trade["gets"], trade["gives"]),
        ):
            if who == seat:
                number += 1
                gave.update(given["letters"])
                got.update(taken["letters"])
                paid += given["money"]
                received += taken["money"]
    return {
        "seat": seat,
        "trades": number,
        "gave": "".join(sorted(gave.elements())),
        "got": "".join(sorted(got.elements())),
        "paid": paid,
        "received": received,
    }


def _total(record: Facts, sales: Sequence[Facts], seat: str) -> Json:
    """Return what a seat bought, spent, paid above the next bid, formed and scored in all."""
    last = record["turns"][-1]["state"]
    mine = [lot for lot in sales if lot["seat"] == seat]
    spent = sum(lot["pounds"] for lot in mine)
    points = last["points"][seat]
    formed = last["claimed"][seat]
    return {
        "seat": seat,
        "groups": len(mine),
        "spent": spent,
        "above": sum(lot["above"] for lot in mine),
        "words": len(formed),
        "used": sum(map(len, formed)),
        "points": points,
        "price": round(spent / points, 2) if points else None,
        "money": last["money"].get(seat),
        "left": last["hands"].get(seat),
    }
