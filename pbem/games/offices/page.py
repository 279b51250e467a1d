"""What the report, the picture and the archive show beyond the view, as plain JSON-like facts."""

from collections.abc import Iterable, Sequence
from typing import Any

from pbem import colours
from pbem.game import Event, Json
from pbem.games.offices.plans import lines
from pbem.games.offices.position import BRINGS_A_GOOD, BRINGS_GOLD, PRICE, Office, State
from pbem.typography import key

# A seat that is called by a colour is drawn in it.
_OWN_COLOUR = {"blue": 0, "red": 1, "green": 2, "purple": 3, "pink": 3, "yellow": 4, "brown": 6}
# So many offers of one challenge are shown one by one; of more, the first and the last.
MOST_OFFERS_SHOWN = 12
CARDS_IN_A_ROW = 5

_NEW_TURN = ("active", "displaced")
_AFTER = ("discarded", "good", "treasury", "order", "over", "income", "next", "round", "ended")


def page(state: State, seat: str | None, events: Sequence[Event]) -> Json:
    """Return the facts for a seat's report (`None`: the public's).

    `round`, `rounds`, `live`, `gold_open`; `offices` (by number) and `seats` (by order of play)
    as rows; `asked`: who is asked what, or `None`; `turns`: the auction move by move, grouped by
    who was active; `after`: what came of it; `plan`: the seat's own lines that still stand;
    `colours` it may name; `cards`: the picture's size and places. `events` are those it may see.
    """
    shown = [event for event in events if event.seen_by is None or seat in event.seen_by]
    offices = [_office(state, seat, office) for office in state.offices]
    return {
        "round": state.round,
        "rounds": state.terms.rounds,
        "live": state.terms.live,
        "gold_open": state.terms.gold_open,
        "offices": offices,
        "widest": max(len(office.name) for office in state.offices),
        "seats": _seats(state, seat),
        "asked": _asked(state, seat),
        "turns": moves(shown),
        "after": [{"kind": e.kind, **e.facts} for e in shown if e.kind in _AFTER],
        "played": _round_played(shown, state),
        "plan": lines(state.plan(seat)) if seat and state.phase == "auction" else [],
        "colours": list(state.terms.colours(seat)) if seat else [],
        "cards": _cards(offices),
    }


def _round_played(events: Iterable[Event], state: State) -> int:
    """Return the round that the events belong to."""
    for event in events:
        if event.kind == "next":
            return int(event.facts["round"]) - 1
    return state.round


def _office(state: State, seat: str | None, office: Office) -> Json:
    powers = {BRINGS_A_GOOD: "a good", BRINGS_GOLD: "4 gold"}
    challenge = state.challenge if state.phase == "auction" else None
    here = challenge if challenge and challenge.office == office.name else None
    return {
        "name": office.name,
        "number": office.number,
        "holder": office.holder,
        "gold": office.gold,
        "power": powers.get(key(office.name), ""),
        "mine": seat is not None and office.holder == seat,
        "colour": _colour(state, office.holder),
        "bid": here.bid if here else None,
        "challenger": here.challenger if here else None,
        "challenger_colour": _colour(state, here.challenger if here else None),
    }


def _seats(state: State, reader: str | None) -> list[Json]:
    """Return a row a seat, in the order of play; a displaced seat comes last."""
    open_to_all = state.terms.gold_open or state.phase == "over"
    order = [str(office.holder) for office in state.order]
    rows: list[Json] = []
    for seat in [*order, *(seat for seat in state.seats if seat not in order)]:
        office = state.held.get(seat)
        goods = state.goods[seat]
        rows.append(
            {
                "seat": seat,
                "office": office.name if office else None,
                "number": office.number if office else None,
                "gold": state.gold[seat] if open_to_all or seat == reader else None,
                "goods": [f"{n} {colour}" for colour, n in goods.items() if n],
                "mine": seat == reader,
                "colour": _colour(state, seat),
            }
        )
    return rows


def _colour(state: State, seat: str | None) -> str:
    return colours.SEATS[_colours(state.seats)[seat]] if seat else colours.NEUTRAL


def _colours(seats: Sequence[str]) -> dict[str, int]:
    """Give each seat a colour of its own: the one it is called by, else the next that is left."""
    found: dict[str, int] = {}
    for seat in seats:
        own = _OWN_COLOUR.get(key(seat))
        if own is not None and own not in found.values():
            found[seat] = own
    left = [number for number in range(len(colours.SEATS)) if number not in found.values()]
    return {seat: found[seat] if seat in found else left.pop(0) for seat in seats}


def _asked(state: State, reader: str | None) -> Json | None:
    """Return who is asked what in live play; `answers` has the lines the reader could answer with.

    All of it is public but the answers, which tell what the seat can pay for.
    """
    seat = state.asked
    if seat is None:
        return None
    mine = seat == reader
    if state.challenge:
        office, bid = state.office(state.challenge.office), state.challenge.bid
        return {
            "seat": seat,
            "mine": mine,
            "question": "defend",
            "office": office.name,
            "offered": None,
            "challenger": state.challenge.challenger,
            "bid": bid,
            "lies": office.gold,
            "answers": [
                {"for": "to let it go", "line": "PASS"},
                {"for": f"to raise, at most to {bid + 1}", "line": f"DEFEND UP TO {bid + 1}"},
            ]
            if mine
            else [],
        }
    own = state.held.get(seat)
    return {
        "seat": seat,
        "mine": mine,
        "question": "choose",
        "office": own.name if own else None,
        "offered": state.vacated.office if state.vacated else None,
        "answers": _answers(state, seat) if mine else [],
    }


def _answers(state: State, seat: str) -> list[Json]:
    """Return the lines with which an active seat could choose, each with what it is for."""
    answers = [{"for": "to keep your office", "line": "STAY"}] if seat in state.held else []
    for office in state.offices:
        offered = state.vacated is not None and state.vacated.office == office.name
        least = 0 if offered else office.gold + 1 if office.holder else PRICE
        if office.holder == seat or state.gold[seat] < least:
            continue
        if office.holder:
            line = f"TAKE {office.name} UP TO {least}"
            answers.append({"for": f"at least {least}, against {office.holder}", "line": line})
        else:
            cost = f"for {least}" if least else "free of charge"
            answers.append({"for": cost, "line": f"TAKE {office.name}"})
    return answers


def moves(events: Iterable[Event]) -> list[Json]:
    """Group the moves by the seat that was active; a reason goes with the move it is for.

    Each move has its facts, `kind`, `why` (facts, or `None`) and `offers`, the raises one by one.
    """
    turns: list[Json] = []
    for event in events:
        facts: dict[str, Any] = {"kind": event.kind, **event.facts}
        if event.kind in _AFTER:
            continue
        if event.kind == "why":
            if turns and turns[-1]["moves"]:
                turns[-1]["moves"][-1]["why"] = facts
            continue
        if event.kind in _NEW_TURN:
            turns.append({"seat": facts["seat"], "how": event.kind, "begin": facts, "moves": []})
            continue
        if not turns:
            # In live play the auction goes on in the middle: in a challenge, or with a choice.
            how = "challenge" if event.kind in ("raises", "passes") else "choice"
            turns.append({"seat": facts["seat"], "how": how, "begin": facts, "moves": []})
        turns[-1]["moves"].append(facts | {"why": None, "offers": _offers(facts)})
    return turns


def _offers(facts: Json) -> list[Json]:
    """Return the raises of a challenge one by one, where they are few enough to be shown."""
    if facts["kind"] != "raises" or facts["last"] - facts["first"] >= MOST_OFFERS_SHOWN:
        return []
    begins = facts["seat"]
    other = facts["holder"] if begins == facts["challenger"] else facts["challenger"]
    return [
        {"seat": other if (gold - facts["first"]) % 2 else begins, "gold": gold}
        for gold in range(facts["first"], facts["last"] + 1)
    ]


def _cards(offices: Sequence[Json]) -> Json:
    """Return the picture's size and the place and wrapped name of each office's card."""
    width, height, gap = 132, 168, 12
    across = min(len(offices), CARDS_IN_A_ROW)
    down = -(-len(offices) // CARDS_IN_A_ROW)
    cards = [
        {
            "x": gap + (at % CARDS_IN_A_ROW) * (width + gap),
            "y": gap + (at // CARDS_IN_A_ROW) * (height + gap),
            "words": _wrapped(office["name"]),
        }
        for at, office in enumerate(offices)
    ]
    return {
        "width": gap + across * (width + gap),
        "height": gap + down * (height + gap),
        "each": cards,
    }


def _wrapped(name: str, room: int = 15) -> list[str]:
    """Part a name into at most two lines that fit a card."""
    first = ""
    words = name.split()
    while words and len(f"{first} {words[0]}".strip()) <= room:
        first = f"{first} {words.pop(0)}".strip()
    if not first:
        return [_cut(name, room)]
    return [first, _cut(" ".join(words), room)] if words else [first]


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
