"""What the archive shows of the auction: who held what when, what it cost, each move in a row."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from pbem import colours
from pbem.game import Event, Json
from pbem.games.offices.became import became
from pbem.games.offices.page import moves
from pbem.games.offices.rows import Row, letters, moved

# Where there are more offices than this, only those that somebody sat on are shown.
_MOST_SHOWN = 10
# So many moves of one turn are told with a row of offices each.
_MOST_ROWS = 200

_PAID = ("takes", "conquers", "defends")
_AFTER = ("discarded", "good", "treasury", "income", "next", "over")


def course(record: Json) -> Json:
    """Return the facts of the match's page from its published record.

    `charts`: after each round the gold of each seat where it is public, and what each has paid in
    all. `seats`: name, letter and colour of each. `grid`: for each office who held it at the start
    and after each round. `rounds`: for each round its turn, order of play, who paid what, gold,
    goods, what was discarded. `open`, `hidden`: whether some gold is public, and some not.
    `bought`: how often each seat paid for each office, and how much in all. Of a match that has
    not begun there is nothing.
    """
    seats, turns = record["seats"], record["turns"]
    if not turns:
        return {}
    paid = [_paid(turn) for turn in turns]
    gold = [turn["state"]["gold"].get(seat) for turn in turns for seat in seats]
    rounds = list(_rounds(record, paid))
    return {
        "charts": _charts(seats, turns, rounds, paid),
        "seats": _seats(seats),
        "grid": _grid(turns, rounds),
        "rounds": rounds,
        "open": any(value is not None for value in gold),
        "hidden": None in gold,
        "bought": _bought(seats, turns),
    }


def _charts(
    seats: Sequence[str],
    turns: Sequence[Json],
    rounds: Sequence[Json],
    paid: Sequence[Counter[str]],
) -> list[Json]:
    """Return the charts, from round's end to round's end; one under way comes last."""
    numbers, places = [0], ["start"]
    for each in rounds:
        numbers.append(each["number"])
        places.append(str(each["round"]))
    last = turns[-1]
    # A match that the game master ends has its last phase not run.
    if any(not any(_facts(turn, "ended")) for turn in turns[numbers[-1] + 1 :]):
        numbers.append(len(turns) - 1)
        unfinished = "unfinished" if last["state"]["phase"] == "over" else "so far"
        places.append(f"{last['state']['round']} {unfinished}")
    so_far = list(accumulate(paid, lambda one, other: one + other))
    gold = {seat: [turns[at]["state"]["gold"].get(seat) for at in numbers] for seat in seats}
    spent = {seat: [so_far[at][seat] for at in numbers] for seat in seats}
    along = {"along": "round", "places": places, "turns": numbers}
    return [
        {"title": title, "unit": "gold", "seats": values, **along}
        for title, values in (("Gold", gold), ("Gold paid for offices, in all", spent))
        # One value alone, of the end of a match that told of no other, is no course.
        if any(len(each) - each.count(None) > 1 for each in values.values())
    ]


def chapter(record: Json, number: int) -> Json:
    """Return the facts of a turn's page from the published record.

    `became`: what became of each order line. `begun`, `offices`: the row as the turn began and
    ended. `turns`: the moves by the seat that was active, each with the reason for it where that is
    open, and the `row` of offices where it changed one. `after`: what came of the auction.
    `purses`: for each seat its gold before and after, what it paid and got. `rules`: those that
    decided. `drawn`: that the page has a picture of its own.
    """
    at = next(at for at, turn in enumerate(record["turns"]) if turn["number"] == number)
    turn = record["turns"][at]
    before = record["turns"][at - 1] if at else turn
    events = [Event(e["kind"], e["facts"], e["seen_by"]) for e in turn["events"]]
    shown = _shown(before, turn)
    groups = moves(events)
    row = Row.shown(before["state"])
    count = 0
    for group in groups:
        for move in group["moves"]:
            count += 1
            after = moved(row, {"kind": move["kind"], "facts": move})
            told = (after.holders, after.lying) != (row.holders, row.lying) and count <= _MOST_ROWS
            move["row"] = _row(record, after, shown, row) if told else None
            move["number"] = count
            row = after
    told_after = [{"kind": e.kind, **e.facts} for e in events if e.kind in _AFTER]
    return {
        "became": became(record, at),
        "begun": _row(record, Row.shown(before["state"]), shown),
        "offices": _row(record, Row.shown(turn["state"]), shown),
        "turns": groups,
        "after": told_after,
        "order": [e.facts for e in events if e.kind == "order"],
        "round": before["state"]["round"],
        "purses": _purses(record, before, turn),
        "open": bool(turn["state"]["gold"]),
        "rules": sorted(_rules(groups, told_after), key=int),
        "drawn": True,
    }


def _seats(seats: Sequence[str]) -> list[Json]:
    given = letters(seats)
    return [
        {"seat": seat, "letter": given[seat], "colour": at % len(colours.SEATS) + 1}
        for at, seat in enumerate(seats)
    ]


def _paid(turn: Json) -> Counter[str]:
    """Count what each seat paid for offices in a turn."""
    found: Counter[str] = Counter()
    for event in turn["events"]:
        if event["kind"] in _PAID:
            found[event["facts"]["seat"]] += event["facts"]["paid"]
    return found


def _facts(turn: Json, kind: str) -> Iterable[Json]:
    return (event["facts"] for event in turn["events"] if event["kind"] == kind)


def _rounds(record: Json, paid: Sequence[Counter[str]]) -> Iterable[Json]:
    """Yield what each round that was played to its end came to; one may take several turns."""
    since: Counter[str] = Counter()
    for turn, each in zip(record["turns"], paid, strict=True):
        since = since + each
        discarded = next(iter(_facts(turn, "discarded")), None)
        if discarded is None:
            continue
        state = turn["state"]
        yield {
            "round": state["round"],
            "number": turn["number"],
            "holders": {one["name"]: one["holder"] for one in state["offices"]},
            "order": [one["holder"] for one in state["offices"] if one["holder"]],
            "places": {one["holder"]: one["number"] for one in state["offices"]},
            "paid": {seat: since[seat] for seat in record["seats"]},
            "gold": {seat: state["gold"].get(seat) for seat in record["seats"]},
            "goods": [dict(fact) for fact in _facts(turn, "good")],
            "discarded": discarded["gold"],
        }
        since = Counter()


def _grid(turns: Sequence[Json], rounds: Sequence[Json]) -> Json:
    """Return who held each office at the start and after each round; `kept` where nothing changed.

    Of very many offices those that nobody ever held are left out.
    """
    first = {one["name"]: one["holder"] for one in turns[0]["state"]["offices"]}
    last = {one["name"]: one["holder"] for one in turns[-1]["state"]["offices"]}
    columns: list[Json] = [{"label": "Start", "number": 0, "holders": first}]
    columns += [
        {"label": str(one["round"]), "number": one["number"], "holders": one["holders"]}
        for one in rounds
    ]
    if last != columns[-1]["holders"]:
        # In the midst of a round, in live play.
        columns.append({"label": "now", "number": turns[-1]["number"], "holders": last})
    offices = turns[0]["state"]["offices"]
    if len(offices) > _MOST_SHOWN:
        held = {name for each in columns for name, holder in each["holders"].items() if holder}
        offices = [one for one in offices if one["name"] in held]
    return {
        "columns": columns,
        "rows": [
            {
                "name": one["name"],
                "number": one["number"],
                "cells": [each["holders"][one["name"]] for each in columns],
                "changes": sum(
                    a["holders"][one["name"]] != b["holders"][one["name"]]
                    for a, b in pairwise(columns)
                ),
            }
            for one in offices
        ],
    }


def _bought(seats: Sequence[str], turns: Sequence[Json]) -> Json:
    """Return a row a seat with, for each office paid for, how often and how much; and in all."""
    times: Counter[tuple[str, str]] = Counter()
    gold: Counter[tuple[str, str]] = Counter()
    for turn in turns:
        for event in turn["events"]:
            if event["kind"] in _PAID and event["facts"]["paid"]:
                pair = event["facts"]["seat"], event["facts"]["office"]
                times[pair] += 1
                gold[pair] += event["facts"]["paid"]
    bought = {office for _, office in times}
    names = [one["name"] for one in turns[0]["state"]["offices"] if one["name"] in bought]
    top = max(gold.values(), default=1)

    def cell(seat: str, office: str) -> Json:
        paid = gold[seat, office]
        return {"times": times[seat, office], "gold": paid, "heat": round(paid / top, 2)}

    return {
        "offices": names,
        "rows": [
            {
                "seat": seat,
                "cells": [cell(seat, office) for office in names],
                "times": sum(times[seat, office] for office in names),
                "gold": sum(gold[seat, office] for office in names),
            }
            for seat in seats
        ],
        "totals": [sum(gold[seat, office] for seat in seats) for office in names],
    }


def _shown(before: Json, turn: Json) -> frozenset[str]:
    """Name the offices that the rows of a turn show: all, or of very many those that matter."""
    offices = turn["state"]["offices"]
    if len(offices) <= _MOST_SHOWN:
        return frozenset(one["name"] for one in offices)
    held = {o["name"] for state in (before, turn) for o in state["state"]["offices"] if o["holder"]}
    named = {event["facts"].get("office") for event in turn["events"]}
    return frozenset(one["name"] for one in offices if one["name"] in held | named)


def _row(record: Json, row: Row, shown: frozenset[str], before: Row | None = None) -> list[Json]:
    """Return the offices to be drawn; `new` where the holder or the gold there has changed."""
    seats = {one["seat"]: one for one in _seats(record["seats"])}
    offices = record["turns"][0]["state"]["offices"]
    return [
        {
            "name": name,
            "number": one["number"],
            "holder": row.holders[name],
            "letter": seats[holder]["letter"] if (holder := row.holders[name]) else "",
            "colour": seats[holder]["colour"] if holder else 0,
            "gold": row.lying[name],
            "new": before is not None
            and (before.holders[name], before.lying[name]) != (holder, row.lying[name]),
        }
        for one in offices
        if (name := one["name"]) in shown
    ]


def _purses(record: Json, before: Json, turn: Json) -> list[Json]:
    """Return for each seat what it had, paid, got and has, and all goods it has gathered."""
    paid = _paid(turn)
    rows: list[Json] = []
    for one in _seats(record["seats"]):
        seat = one["seat"]
        got = [fact["gold"] for fact in _facts(turn, "treasury") if fact["seat"] == seat]
        income = [fact["change"] for fact in _facts(turn, "income") if fact["seat"] == seat]
        goods: Mapping[str, int] = turn["state"]["goods"].get(seat, {})
        rows.append(
            {
                **one,
                "before": before["state"]["gold"].get(seat),
                "paid": paid[seat],
                "treasury": sum(got),
                "income": sum(income),
                "after": turn["state"]["gold"].get(seat),
                "goods": [f"{number} {colour}" for colour, number in goods.items() if number],
            }
        )
    return rows


def _rules(groups: Iterable[Json], after: Iterable[Json]) -> set[str]:
    """Return the rules that decided anything, by number."""
    found: set[Any] = {fact["rule"] for fact in after if "rule" in fact}
    for group in groups:
        found.add(group["begin"].get("rule"))
        for move in group["moves"]:
            found |= {move["rule"], move["why"]["rule"] if move["why"] else None}
    return found - {None}
