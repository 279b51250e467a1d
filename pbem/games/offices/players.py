"""Scripted players and a scripted game master, and what a plan would do if nobody else moved."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from pbem.game import Event
from pbem.games.offices import match
from pbem.games.offices.position import BRINGS_A_GOOD, BRINGS_GOLD, PRICE, Office, State
from pbem.typography import key
from pbem.usage import Order

_CONCERNS = ("seat", "holder", "challenger")


def forecast(state: State, seat: str, orders: Sequence[Order]) -> list[Event]:
    """Return what a plan would do if all others passed and stayed, as far as it concerns the seat.

    Nothing of it comes from what the seat may not know.
    """
    if seat not in match.waiting(state):
        return []
    challenge = state.challenge
    if challenge and challenge.challenger != seat:
        challenge = replace(challenge, limit=None)
    gold = dict(state.gold)
    if not state.terms.gold_open:
        # Others pay nothing but the price of a free office, should they be displaced.
        gold = {one: amount if one == seat else PRICE for one, amount in gold.items()}
        if challenge and challenge.challenger != seat:
            gold[challenge.challenger] = max(challenge.bid, PRICE)
    silent = replace(
        state,
        terms=replace(state.terms, live=False),
        challenge=challenge,
        gold=gold,
        plans={one: plan for one, plan in state.plans.items() if one == seat},
    )
    done = match.run(silent, {seat: orders}, answering=seat if state.asked else None)
    return [
        event
        for event in done.events
        if event.kind not in ("why", "active") and seat in map(event.facts.get, _CONCERNS)
    ]


def bot(state: State, seat: str, rng: Random) -> str:
    """Return a plausible plan, or an answer where the seat is asked, from what it may know."""
    if seat not in match.waiting(state):
        return ""
    if state.asked and state.challenge:
        challenge = state.challenge
        most = min(state.gold[seat], _worth(state.office(challenge.office), rng))
        if most > challenge.bid:
            return f"DEFEND {challenge.office} UP TO {most}"
        return "PASS"
    wishes = _wishes(state, seat, rng)
    if state.asked:
        return "\n".join(wishes) if wishes else "PASS"
    lines = [*wishes, f"DEFEND UP TO {min(state.gold[seat], rng.randint(0, 4))}"]
    own = state.held.get(seat)
    if own:
        lines.append(f"DEFEND {own.name} UP TO {min(state.gold[seat], _worth(own, rng))}")
    colours = state.terms.colours(seat)
    if colours:
        lines.append(f"GOOD {rng.choice(colours)}")
    return "\n".join(lines)


def _wishes(state: State, seat: str, rng: Random) -> list[str]:
    """Return up to three wishes, the dearest first, and to stay where the seat is well off."""
    wishes: list[tuple[int, str]] = []
    own = state.held.get(seat)
    for office in state.offices:
        worth = min(state.gold[seat], _worth(office, rng))
        least = office.gold + 1 if office.holder else PRICE
        if state.vacated and state.vacated.office == office.name:
            wishes.append((worth, f"TAKE {office.name} UP TO 0"))
        elif office is own:
            wishes.append((worth, "STAY"))
        elif worth >= least:
            line = f"TAKE {office.name}"
            wishes.append((worth - least, line if rng.random() < 0.2 else f"{line} UP TO {worth}"))
    wishes.sort(key=lambda wish: -wish[0])
    return [line for _, line in wishes[:3]]


def _worth(office: Office, rng: Random) -> int:
    """Return what a player might give for an office: its power, and to play early."""
    power = {BRINGS_A_GOOD: 3, BRINGS_GOLD: 4}.get(key(office.name), 0)
    return power + max(0, 3 - office.number // 2) + rng.randint(0, 2)


def gm_bot(state: State, rng: Random) -> str:
    """Return the lines a game master might enter in the income phase; nothing in any other."""
    if state.phase != "income":
        return ""
    return "\n".join(f"GOLD {seat} +{rng.randint(2, 6)}" for seat in state.seats)
