"""The state of a match: what is kept, how it begins, and how much of it a seat may see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from pbem.game import Option, check_seats, one_of
from pbem.games.empires.sheet import Epoch, epochs, read_sheet

OPTIONS: Sequence[Option] = (
    Option(
        "sheet",
        None,
        read_sheet,
        "the epochs with their empires, as TOML or a list; without one, the seven of 1993",
        file=True,
    ),
    Option(
        "announce",
        "bids",
        one_of("bids", "claims"),
        "what a report tells of a round: `bids` all of them, `claims` who got what for how much",
    ),
    Option(
        "scores",
        "open",
        one_of("open", "epoch", "end"),
        "when the ledger is shown: `open` always, `epoch` as each epoch ends, `end` with the match",
    ),
)


class Claim(NamedTuple):
    """The empire a seat has this epoch, and the VP it paid for it."""

    empire: str
    price: int


class Contest(NamedTuple):
    """Who alone may bid on an empire this round, and the least they may bid (rule 4)."""

    seats: tuple[str, ...]
    minimum: int


class Round(NamedTuple):
    """A round that has been resolved: the bids above 0 of all who were free, and who got what."""

    number: int
    bids: Mapping[str, Mapping[str, int]]
    claims: Mapping[str, Claim]


class Past(NamedTuple):
    """An epoch that is over: what was bid and claimed in it, and what it scored."""

    epoch: int
    empires: Mapping[str, int]
    rounds: tuple[Round, ...]
    claims: Mapping[str, Claim]
    scores: Mapping[str, int]


@dataclass(frozen=True)
class State:
    """A match between two phases.

    `epoch` counts from 1, `round` is the one about to be bid, else the last one bid. `empires` has
    the strength (SP) of all of this epoch, taken ones too. A price is off `vp` once it is claimed;
    `scores` are the game master's so far, added to `vp` as the epoch ends.
    """

    seats: tuple[str, ...]
    sheet: tuple[Epoch, ...]
    announce: str
    shown: str
    phase: str
    epoch: int
    round: int
    empires: Mapping[str, int]
    claims: Mapping[str, Claim] = field(default_factory=dict)
    contested: Mapping[str, Contest] = field(default_factory=dict)
    vp: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, int] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    past: tuple[Past, ...] = ()

    @cached_property
    def free(self) -> Sequence[str]:
        """The seats without an empire this epoch, in seat order."""
        return [seat for seat in self.seats if seat not in self.claims]

    @cached_property
    def holders(self) -> Mapping[str, str]:
        """Who has which empire this epoch, by empire."""
        return {claim.empire: seat for seat, claim in self.claims.items()}

    @cached_property
    def open(self) -> Mapping[str, int]:
        """The empires nobody has claimed, with their strength, in sheet order."""
        return {name: sp for name, sp in self.empires.items() if name not in self.holders}

    @cached_property
    def contestants(self) -> Mapping[str, frozenset[str]]:
        """Who alone may bid, by contested empire."""
        return {empire: frozenset(contest.seats) for empire, contest in self.contested.items()}

    def least(self, seat: str | None, empire: str) -> int | None:
        """Return the least a seat may bid on an open empire, 0 aside; `None`: it is barred (4)."""
        if empire not in self.contested:
            return self.empires[empire]
        return self.contested[empire].minimum if seat in self.contestants[empire] else None


def setup(seats: Sequence[str], options: Mapping[str, Any], rng: Random) -> State:
    """Make the state a match begins with; raise `ValueError` where it cannot be played."""
    del rng
    check_seats(seats, 2, 7)
    sheet = epochs(options.get("sheet"))
    for epoch in sheet:
        if len(epoch.for_seats(len(seats))) < len(seats):
            raise ValueError(f"epoch {epoch.name} has fewer empires than the {len(seats)} seats")
    return State(
        seats=tuple(seats),
        sheet=sheet,
        announce=options.get("announce", "bids"),
        shown=options.get("scores", "open"),
        phase="bid",
        epoch=1,
        round=1,
        empires=sheet[0].for_seats(len(seats)),
        vp=dict.fromkeys(seats, 0),
    )


def winners(state: State) -> list[str]:
    """Name the seats with the most VP, in seat order; equal VP share the win."""
    most = max(state.vp.values())
    return [seat for seat in state.seats if state.vp[seat] == most]


def shows_ledger(state: State) -> bool:
    """Tell whether all VP are open now: with `epoch` from its end until the next claim."""
    fresh = state.phase == "bid" and state.round == 1 and not state.claims
    return state.phase == "over" or state.shown == "open" or (state.shown == "epoch" and fresh)


def seen_from(state: State, seat: str | None) -> State:
    """Return the state less what the seat (`None`: the public) may not know (Secrecy).

    Nothing in a state is a bid not yet resolved. Once the match is over all is open.
    """
    if state.phase == "over":
        return state

    def own(values: Mapping[str, Any], shown: bool) -> dict[str, Any]:
        return {who: value for who, value in values.items() if shown or who == seat}

    def rounds(all_of: Sequence[Round]) -> tuple[Round, ...]:
        return tuple(r._replace(bids=own(r.bids, state.announce == "bids")) for r in all_of)

    return replace(
        state,
        vp=own(state.vp, shows_ledger(state)),
        scores=own(state.scores, state.shown == "open"),
        rounds=rounds(state.rounds),
        past=tuple(
            past._replace(rounds=rounds(past.rounds), scores=own(past.scores, state.shown != "end"))
            for past in state.past
        ),
    )
