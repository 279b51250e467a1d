"""The position: offices, who holds them, what lies there, purses, and where the auction stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pbem.games.offices.language import COLOURS
from pbem.games.offices.plans import Plan

PRICE = 2
TREASURY = 4
BRINGS_A_GOOD = "praefectus pretorio"
BRINGS_GOLD = "comes thesaurorum"


@dataclass(frozen=True)
class Office:
    """One office: who holds it, and the gold that lies in its area."""

    name: str
    number: int
    holder: str | None = None
    gold: int = 0


@dataclass(frozen=True)
class Challenge:
    """A challenge under way; `limit` is the challenger's secret one, `None` for a single offer."""

    office: str
    challenger: str
    holder: str
    bid: int
    limit: int | None
    to_answer: str


@dataclass(frozen=True)
class Vacated:
    """The office its conqueror has just left, and the displaced seat it is offered to (rule 6)."""

    seat: str
    office: str


@dataclass(frozen=True)
class Terms:
    """What was agreed for the match: rounds, live questions or not, open gold, allowed colours."""

    rounds: int = 1
    live: bool = False
    gold_open: bool = True
    goods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def colours(self, seat: str) -> tuple[str, ...]:
        """Return the colours a seat may have, in the order in which they are given by default."""
        return tuple(c for c in COLOURS if c in self.goods.get(seat, COLOURS))


@dataclass(frozen=True)
class State:
    """A position of a match. `offices` are in number order; mappings have every seat as key."""

    seats: tuple[str, ...]
    terms: Terms
    phase: str
    round: int
    offices: tuple[Office, ...]
    gold: Mapping[str, int]
    goods: Mapping[str, Mapping[str, int]]
    acted: tuple[str, ...] = ()
    active: str | None = None
    challenge: Challenge | None = None
    vacated: Vacated | None = None
    plans: Mapping[str, Plan] = field(default_factory=dict)
    discarded: int = 0

    @cached_property
    def held(self) -> Mapping[str, Office]:
        """The office each seat holds; a displaced seat is missing."""
        return {office.holder: office for office in self.offices if office.holder}

    @cached_property
    def free(self) -> tuple[Office, ...]:
        """The offices nobody holds, lowest number first."""
        return tuple(office for office in self.offices if not office.holder)

    @property
    def asked(self) -> str | None:
        """The seat that alone is asked in live play; `None` while sealed plans are collected."""
        if self.phase != "auction" or not self.terms.live:
            return None
        return self.challenge.to_answer if self.challenge else self.active

    @property
    def order(self) -> list[Office]:
        """The offices that are held, by number: the order of play."""
        return [office for office in self.offices if office.holder]

    def office(self, name: str) -> Office:
        """Return the office of that name."""
        return next(office for office in self.offices if office.name == name)

    def with_offices(self, *changed: Office) -> tuple[Office, ...]:
        """Return all offices, those changed in place of the old ones."""
        new = {office.name: office for office in changed}
        return tuple(new.get(office.name, office) for office in self.offices)

    def paid(self, seat: str, amount: int) -> Mapping[str, int]:
        """Return all purses after a seat has paid an amount (received, where it is negative)."""
        return {**self.gold, seat: self.gold[seat] - amount}

    def plan(self, seat: str) -> Plan:
        """Return the seat's plan, an empty one where it sent none."""
        return self.plans.get(seat) or Plan()


def moved(state: State, seat: str, to: Office, paid: int) -> State:
    """Return the position after a seat, its gold laid in the area, sits on a free office."""
    old = state.held.get(seat)
    left = (replace(old, holder=None),) if old else ()
    return replace(
        state,
        offices=state.with_offices(*left, replace(to, holder=seat, gold=to.gold + paid)),
        gold=state.paid(seat, paid),
    )


def in_seat_order(state: State, seats: Iterable[str]) -> list[str]:
    """Return some seats in the order of the match's seats."""
    some = set(seats)
    return [seat for seat in state.seats if seat in some]
