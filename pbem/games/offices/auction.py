"""The auction itself (rules 1 to 11): plans played literally, with least raises, one step a time.

Every step takes a position and returns the next one with what happened, or `None` where in live
play a seat must be asked first. Offers climb by arithmetic, so that rich seats cost no time; and
since each challenge more than doubles what lies in an area, there are few of them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from pbem.game import Event
from pbem.games.offices.language import GRAMMAR, Stay, Take
from pbem.games.offices.plans import Wish
from pbem.games.offices.position import (
    BRINGS_A_GOOD,
    BRINGS_GOLD,
    PRICE,
    TREASURY,
    Challenge,
    Office,
    State,
    Vacated,
    moved,
)
from pbem.typography import key
from pbem.usage import Order


class Step(NamedTuple):
    """A position and what led to it; `open` where a seat must be asked before it goes on."""

    state: State
    events: tuple[Event, ...] = ()
    open: bool = False


def play(state: State, answered: bool = False, passing: bool = False) -> Step:
    """Play the auction to the end of its round, or in live play to the first open question.

    `answered`: the question the position stands at has been asked; what is left open of it falls
    to rule 10. `passing`: the answer was `PASS`.
    """
    events: list[Event] = []
    while True:
        if state.challenge:
            step = _bidding(state, state.challenge, answered, passing)
        elif state.active:
            step = _choosing(state, state.active, answered, passing)
        elif waiting := [office for office in state.order if office.holder not in state.acted]:
            seat = str(waiting[0].holder)
            step = Step(
                replace(state, active=seat, acted=(*state.acted, seat)),
                (_event("active", "1", seat=seat, office=waiting[0].name),),
            )
        else:
            step = _end(state)
        state = step.state
        events += step.events
        if step.open or state.phase != "auction":
            return Step(state, tuple(events), step.open)
        answered = passing = False


def _event(kind: str, rule: str, **facts: object) -> Event:
    return Event(kind, {"rule": rule, **facts})


def _why(seat: str, rule: str, cause: str, line: Order | None = None) -> Event:
    """Return the reason of the event before it, for the seat's own eyes."""
    facts = {"rule": rule, "seat": seat, "cause": cause, "line": line and GRAMMAR.write(line)}
    return Event("why", facts, (seat,))


def _choosing(state: State, seat: str, answered: bool, passing: bool) -> Step:
    """Let the active seat choose: the first wish that can be done now, else rule 10."""
    if not passing:
        for index, wish in enumerate(state.plan(seat).wishes):
            step = _wish(state, seat, index, wish)
            if step:
                return step
        if state.terms.live and not answered and has_choice(state, seat):
            return Step(state, (_question(state, seat),), open=True)
    why = _why(seat, "10", "passed" if passing else "exhausted")
    if seat in state.held:
        return _kept(state, seat, why)
    return _taken(state, seat, *last_resort(state, seat), why)


def last_resort(state: State, seat: str) -> tuple[Office, int, str]:
    """Return what a displaced seat without wishes takes (rule 10), its price and its rule.

    Paid for with 2 gold, it looks to the others like a wish: whether a plan was empty is secret.
    """
    if state.vacated:
        return state.office(state.vacated.office), 0, "6"
    if state.gold[seat] >= PRICE:
        return state.free[0], PRICE, "3"
    return state.free[0], state.gold[seat], "7"


def has_choice(state: State, seat: str) -> bool:
    """Tell whether an active seat could do anything but what rule 10 does for it."""
    gold, holds = state.gold[seat], seat in state.held
    if any(o.holder and o.holder != seat and gold > o.gold for o in state.offices):
        return True
    fallen_to = None if holds else last_resort(state, seat)[0]
    return gold >= PRICE and any(office != fallen_to for office in state.free)


def _wish(state: State, seat: str, index: int, wish: Wish) -> Step | None:
    """Do a wish if it can be done now (rules 2, 3, 4, 6), else return `None`."""
    why = _why(seat, "9", "wish", wish)
    if isinstance(wish, Stay):
        return _kept(state, seat, why) if seat in state.held else None
    office, limit, gold = state.office(wish.office), wish.gold, state.gold[seat]
    if office.holder == seat:
        return _kept(state, seat, why)
    if not office.holder:
        if state.vacated and state.vacated.office == office.name:
            return _taken(state, seat, office, 0, "6", why)
        if gold >= PRICE and (limit is None or limit >= PRICE):
            return _taken(state, seat, office, PRICE, "3", why)
        return None
    bid = office.gold + 1
    if gold < bid or (limit is not None and limit < bid):
        return None
    lapsed = state.vacated
    plans = state.plans
    if limit is None:
        left = plans[seat].without(index)
        plans = {one: plan for one, plan in {**plans, seat: left}.items() if plan}
    challenge = Challenge(office.name, seat, office.holder, bid, limit, office.holder)
    offer = _event(
        "offers",
        "4",
        seat=seat,
        office=office.name,
        holder=office.holder,
        bid=bid,
        lies=office.gold,
    )
    lapse = (_event("lapses", "6", seat=seat, office=lapsed.office),) if lapsed else ()
    new = replace(state, challenge=challenge, vacated=None, plans=plans)
    return Step(new, (offer, why, *lapse))


def _kept(state: State, seat: str, why: Event) -> Step:
    kept = _event("keeps", "2", seat=seat, office=state.held[seat].name)
    return Step(replace(state, active=None), (kept, why))


def _taken(state: State, seat: str, to: Office, price: int, rule: str, why: Event) -> Step:
    left = state.held.get(seat)
    taken = _event(
        "takes", rule, seat=seat, office=to.name, paid=price, left=left.name if left else None
    )
    return Step(replace(moved(state, seat, to, price), active=None, vacated=None), (taken, why))


def _bidding(state: State, challenge: Challenge, answered: bool, passing: bool) -> Step:
    """Let holder and challenger raise by 1 in turn until one passes (rule 4)."""
    if challenge.to_answer == challenge.challenger:
        return _challenger_answers(state, challenge)
    holder, bid = challenge.holder, challenge.bid
    defence = state.plan(holder).defence(challenge.office)
    able = state.gold[holder] > bid
    if not passing and defence is None and able and state.terms.live and not answered:
        return Step(state, (_question(state, holder),), open=True)
    limit = 0 if passing or defence is None else min(defence.gold, state.gold[holder])
    cap = bid
    if challenge.limit is not None:
        cap = min(challenge.limit, state.gold[challenge.challenger])
    mine = max(0, (limit - bid + 1) // 2)
    theirs = max(0, (cap - bid) // 2)
    if theirs >= mine:
        last, winner, loser = bid + 2 * mine, challenge.challenger, holder
    else:
        last, winner, loser = bid + 2 * theirs + 1, holder, challenge.challenger
    if loser == holder:
        why = _holder_passed(state, challenge, last, passing)
    else:
        why = _challenger_passed(challenge, last)
    raises = _raises(challenge, bid + 1, last) if last > bid else ()
    over = _won(state, challenge, winner, last)
    passes = _event("passes", "4", seat=loser, office=challenge.office, bid=last)
    return Step(over.state, (*raises, passes, why, *over.events))


def _challenger_answers(state: State, challenge: Challenge) -> Step:
    """Let the challenger raise once, or pass, in a position saved with the holder's offer."""
    seat, bid = challenge.challenger, challenge.bid
    if challenge.limit is not None and min(challenge.limit, state.gold[seat]) > bid:
        new = replace(challenge, bid=bid + 1, to_answer=challenge.holder)
        return Step(replace(state, challenge=new), _raises(challenge, bid + 1, bid + 1))
    passes = _event("passes", "4", seat=seat, office=challenge.office, bid=bid)
    over = _won(state, challenge, challenge.holder, bid)
    return Step(over.state, (passes, _challenger_passed(challenge, bid), *over.events))


def _raises(challenge: Challenge, first: int, last: int) -> tuple[Event, ...]:
    return (
        _event(
            "raises",
            "4",
            office=challenge.office,
            holder=challenge.holder,
            challenger=challenge.challenger,
            seat=challenge.to_answer,
            first=first,
            last=last,
        ),
    )


def _holder_passed(state: State, challenge: Challenge, bid: int, passing: bool) -> Event:
    holder = challenge.holder
    defence = state.plan(holder).defence(challenge.office)
    if passing:
        return _why(holder, "11", "passed")
    if defence is None:
        return _why(holder, "10", "gold" if state.gold[holder] <= bid else "silent")
    return _why(holder, "9", "limit" if defence.gold <= bid else "gold", defence)


def _challenger_passed(challenge: Challenge, bid: int) -> Event:
    line = Take(challenge.office, challenge.limit)
    if challenge.limit is None:
        return _why(challenge.challenger, "9", "single", line)
    cause = "limit" if challenge.limit <= bid else "gold"
    return _why(challenge.challenger, "9", cause, line)


def _won(state: State, challenge: Challenge, winner: str, bid: int) -> Step:
    """Settle a challenge: the winner pays his whole last offer into the area (rules 4, 5)."""
    office = state.office(challenge.office)
    facts = {"seat": winner, "office": office.name, "paid": bid, "lies": office.gold + bid}
    if winner == challenge.holder:
        new = replace(
            state,
            offices=state.with_offices(replace(office, gold=office.gold + bid)),
            gold=state.paid(winner, bid),
            challenge=None,
        )
        return Step(new, (_event("defends", "5", **facts, challenger=challenge.challenger),))
    old = state.held.get(winner)
    loser = challenge.holder
    left = old.name if old else None
    acted = state.acted if loser in state.acted else (*state.acted, loser)
    new = replace(
        moved(state, winner, office, bid),
        active=loser,
        acted=acted,
        challenge=None,
        vacated=Vacated(loser, left) if left else None,
    )
    won = _event("conquers", "5", **facts, holder=loser, left=left)
    displaced = _event("displaced", "6", seat=loser, office=office.name, offered=left)
    return Step(new, (won, displaced))


def _question(state: State, seat: str) -> Event:
    """Return the event that a seat is asked (rule 11)."""
    if state.challenge:
        return _event(
            "asked",
            "11",
            seat=seat,
            question="defend",
            office=state.challenge.office,
            challenger=state.challenge.challenger,
            bid=state.challenge.bid,
        )
    office = state.held.get(seat)
    offered = state.vacated.office if state.vacated else None
    return _event(
        "asked",
        "11",
        seat=seat,
        question="choose",
        office=office.name if office else None,
        offered=offered,
    )


def _end(state: State) -> Step:
    """End the round's auction: areas emptied, good and gold given (rule 8), then what follows."""
    discarded = sum(office.gold for office in state.offices)
    events = [_event("discarded", "8", gold=discarded)]
    gold, goods = state.gold, state.goods
    for seat, colour in _goods(state):
        goods = {**goods, seat: {**goods[seat], colour: goods[seat].get(colour, 0) + 1}}
        events.append(_event("good", "8", seat=seat, colour=colour))
    for office in state.order:
        if key(office.name) == BRINGS_GOLD:
            seat = str(office.holder)
            gold = {**gold, seat: gold[seat] + TREASURY}
            events.append(_event("treasury", "8", seat=seat, gold=TREASURY))
    over = state.round >= state.terms.rounds
    order = [{"seat": o.holder, "office": o.name, "number": o.number} for o in state.order]
    events.append(_event("order", "1", round=state.round, seats=order))
    if over:
        events.append(Event("over", {"rounds": state.round}))
    new = replace(
        state,
        phase="over" if over else "income",
        offices=tuple(replace(office, gold=0) for office in state.offices),
        gold=gold,
        goods=goods,
        acted=(),
        plans={},
        discarded=discarded,
    )
    return Step(new, tuple(events))


def _goods(state: State) -> Iterator[tuple[str, str]]:
    """Yield who gets which good: the plan's colour, else the first the seat may have."""
    for office in state.order:
        if key(office.name) == BRINGS_A_GOOD:
            seat = str(office.holder)
            colours = state.terms.colours(seat)
            wanted = state.plan(seat).good
            if colours:
                yield seat, wanted if wanted in colours else colours[0]
