"""The resolving of one round of sealed bids: rules 1 to 4a, from the highest bid down.

Two players tied for an empire bid the same for it, so the comparison of their *other* bids (rule 3)
comes out as that of *all* their bids. Each player thus has one rank for the whole round, and every
empire one order of its bidders that never changes: what is left to do is to strike out those who
are served. The work is that of sorting the bids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import takewhile
from typing import NamedTuple

Bids = Mapping[str, Mapping[str, int]]
"""By seat, the bids of a round by empire, in the order of the seat's own lines; 0 is no bid."""


class Claimed(NamedTuple):
    """An empire claimed for the amount bid (rules 1, 2, 2a, 3).

    `tied` are those who bid as much and lost the comparison, the best of them first; `passed` those
    who were ahead and took something else before; `left` what else the seat led at this amount.
    """

    empire: str
    seat: str
    amount: int
    tied: tuple[str, ...]
    passed: tuple[str, ...]
    left: tuple[str, ...]


class Contested(NamedTuple):
    """An empire that `seats` contest next round, at least at `amount` (rule 4).

    `lost` are those who bid as much and have the worse list.
    """

    empire: str
    seats: tuple[str, ...]
    amount: int
    lost: tuple[str, ...]


class Blocked(NamedTuple):
    """An empire that nobody gets this round, since `seat`, best there, waits for a contest (4a).

    `others` are the free ones who bid on it in vain.
    """

    empire: str
    seat: str
    amount: int
    others: tuple[str, ...]


Step = Claimed | Contested | Blocked


class _Entry(NamedTuple):
    """One bid on an empire, as it is sorted from high to low; `turn` keeps equals in seat order."""

    amount: int
    rank: int
    turn: int
    seat: str


@dataclass
class _Row:
    """The bidders for one empire, best first, and how far down they are struck out.

    The *group* from `start` to `end` has the amount and rank `top`; `live` of it are still free.
    """

    empire: str
    entries: list[_Entry]
    start: int = 0
    end: int = 0
    live: int = 0
    top: tuple[int, int] = (0, 0)
    open: bool = True

    def go_on(self, out: Mapping[str, bool]) -> None:
        """Go on to the next group with anybody in it who is not out; the top is 0 without one."""
        at, entries = self.end, self.entries
        while at < len(entries) and entries[at].seat in out:
            at += 1
        self.start, self.live = at, 0
        self.top = amount, rank = entries[at][:2] if at < len(entries) else (0, 0)
        while at < len(entries) and entries[at].amount == amount and entries[at].rank == rank:
            self.live += entries[at].seat not in out
            at += 1
        self.end = at

    def group(self, out: Mapping[str, bool]) -> list[str]:
        """Return who in the group is not out."""
        return [e.seat for e in self.entries[self.start : self.end] if e.seat not in out]

    def worse(self, out: Mapping[str, bool]) -> tuple[str, ...]:
        """Return who bid as much as the group, has the worse list, and is not out."""
        amount = self.top[0]
        rest = takewhile(lambda entry: entry.amount == amount, self.entries[self.end :])
        return tuple(entry.seat for entry in rest if entry.seat not in out)


@dataclass
class _Round:
    """A round while it is resolved: who is out, who waits for a contest, and the steps so far."""

    bids: Bids
    prefer: Mapping[str, Sequence[str]]
    ranks: Mapping[str, int]
    rows: Mapping[str, _Row]
    place: Mapping[str, int]
    heap: list[tuple[int, int, str]] = field(default_factory=list)
    out: dict[str, bool] = field(default_factory=dict)
    waiting: dict[str, bool] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


def resolve(bids: Bids, prefer: Mapping[str, Sequence[str]]) -> list[Step]:
    """Resolve a round: return what is claimed, contested and blocked, in the order it is decided.

    `bids` has all free seats in seat order, with lawful bids on open empires only; `prefer` the
    order of choice of those who named one.
    """
    now = _begin(bids, prefer)
    while now.heap:
        amount = -now.heap[0][0]
        here: list[_Row] = []
        while now.heap and now.heap[0][0] == -amount:
            row = now.rows[heappop(now.heap)[2]]
            if row.open and row.top[0] == amount:
                here.append(row)
        fresh = here
        while fresh:
            fresh = _take(now, amount, fresh)
        _declare(now, amount, here)
    return now.steps


def first_choice(options: Sequence[str], prefer: Sequence[str], bids: Mapping[str, int]) -> str:
    """Return which of some empires, given in sheet order, a player likes best (rule 2a).

    What he named in `prefer` comes first, then his own bid lines, then the sheet.
    """
    if len(options) == 1:
        return options[0]
    wanted = dict.fromkeys(options)
    return next((one for wish in (prefer, bids) for one in wish if one in wanted), options[0])


def references(bids: Mapping[str, int], empire: str) -> list[int]:
    """Return a player's reference bids for an empire: his others of the round, high to low (3)."""
    return sorted((n for name, n in bids.items() if name != empire and n), reverse=True)


def _begin(bids: Bids, prefer: Mapping[str, Sequence[str]]) -> _Round:
    lists = {s: sorted((n for n in mine.values() if n), reverse=True) for s, mine in bids.items()}
    ranks: dict[str, int] = {}
    last: list[int] = []
    for seat in sorted(lists, key=lists.__getitem__):
        before = len(ranks) and ranks[next(reversed(ranks))]
        ranks[seat] = before if lists[seat] == last else before + 1
        last = lists[seat]
    place = {seat: at for at, seat in enumerate(bids)}
    rows: dict[str, _Row] = {}
    for seat, mine in bids.items():
        for empire, amount in mine.items():
            if amount:
                row = rows.get(empire) or rows.setdefault(empire, _Row(empire, []))
                row.entries.append(_Entry(amount, ranks[seat], -place[seat], seat))
    now = _Round(bids, prefer, ranks, rows, place)
    for at, row in enumerate(rows.values()):
        row.entries.sort(reverse=True)
        row.go_on(now.out)
        now.heap.append((-row.top[0], at, row.empire))
    heapify(now.heap)
    return now


def _take(now: _Round, amount: int, fresh: Sequence[_Row]) -> list[_Row]:
    """Let all who lead at this amount take their first choice at once (rules 1, 2, 2a, 3).

    `fresh` are the empires not looked at since their best bidders changed; return the next ones.
    """
    leads: dict[str, list[_Row]] = {}
    for row in fresh:
        if row.live == 1:
            [seat] = row.group(now.out)
            if seat in now.waiting:
                _block(now, row, seat)
            else:
                leads.setdefault(seat, []).append(row)
    takers = sorted(leads, key=now.place.__getitem__)
    for seat in takers:
        led = {row.empire: row for row in leads[seat]}
        empire = first_choice(list(led), now.prefer.get(seat, ()), now.bids[seat])
        row = led.pop(empire)
        passed = tuple(entry.seat for entry in row.entries[: row.end] if entry.seat in now.out)
        now.steps.append(Claimed(empire, seat, amount, row.worse(now.out), passed, tuple(led)))
        row.open = False
    now.out.update(dict.fromkeys(takers, True))
    return _strike(now, amount, takers)


def _strike(now: _Round, amount: int, takers: Sequence[str]) -> list[_Row]:
    """Strike out those who are served; return the empires to look at again at this amount."""
    touched: dict[str, _Row] = {}
    for seat in takers:
        for empire, bid in now.bids[seat].items():
            row = now.rows.get(empire)
            if row and row.open and row.top == (bid, now.ranks[seat]):
                row.live -= 1
                touched[empire] = row
    fresh: list[_Row] = []
    for row in touched.values():
        before = row.top[0]
        if not row.live:
            row.go_on(now.out)
        if row.top[0] == amount:
            fresh.append(row)
        elif 0 < row.top[0] < before:
            heappush(now.heap, (-row.top[0], len(now.rows), row.empire))
    return fresh


def _block(now: _Round, row: _Row, seat: str) -> None:
    others = tuple(
        entry.seat
        for entry in row.entries[row.start :]
        if entry.seat not in now.out and entry.seat not in now.waiting
    )
    now.steps.append(Blocked(row.empire, seat, row.top[0], others))
    row.open = False


def _declare(now: _Round, amount: int, here: Sequence[_Row]) -> None:
    """Declare the contests at an amount at which nobody leads anything any more (4, 4a)."""
    for row in here:
        if row.open and row.top[0] == amount:
            seats = tuple(sorted(row.group(now.out), key=now.place.__getitem__))
            now.steps.append(Contested(row.empire, seats, amount, row.worse(now.out)))
            now.waiting.update(dict.fromkeys(seats, True))
            row.open = False
