"""The row of offices as an auction goes on: who holds which, what lies there, what is in purses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pbem.game import Json
from pbem.games.offices.position import State


@dataclass(frozen=True)
class Row:
    """Holder and gold of each office by name, and the purses as far as they are known."""

    holders: Mapping[str, str | None]
    lying: Mapping[str, int]
    gold: Mapping[str, int]

    @classmethod
    def of(cls, state: State) -> "Row":
        """Return the row of a position."""
        return cls(
            {office.name: office.holder for office in state.offices},
            {office.name: office.gold for office in state.offices},
            state.gold,
        )

    @classmethod
    def shown(cls, view: Json) -> "Row":
        """Return the row of a stored state, or of what is public of one."""
        return cls(
            {office["name"]: office["holder"] for office in view["offices"]},
            {office["name"]: office["gold"] for office in view["offices"]},
            view["gold"],
        )


def moved(row: Row, event: Json) -> Row:
    """Return the row after an event of the auction; most events leave it as it is."""
    kind, facts = event["kind"], event["facts"]
    if kind == "takes":
        office = facts["office"]
        lying = {**row.lying, office: row.lying[office] + facts["paid"]}
        return replace(_paid(_sits(row, facts), facts), lying=lying)
    if kind in ("conquers", "defends"):
        sits = _sits(row, facts) if kind == "conquers" else row
        lying = {**row.lying, facts["office"]: facts["lies"]}
        return replace(_paid(sits, facts), lying=lying)
    if kind == "discarded":
        return replace(row, lying=dict.fromkeys(row.lying, 0))
    return row


def _sits(row: Row, facts: Json) -> Row:
    left = {facts["left"]: None} if facts["left"] else {}
    return replace(row, holders={**row.holders, **left, facts["office"]: facts["seat"]})


def _paid(row: Row, facts: Json) -> Row:
    seat = facts["seat"]
    if seat not in row.gold:
        return row
    return replace(row, gold={**row.gold, seat: row.gold[seat] - facts["paid"]})


def letters(seats: Sequence[str]) -> dict[str, str]:
    """Give each seat a letter of its own: the first of its name that is free, else a number."""
    given: dict[str, str] = {}
    for number, seat in enumerate(seats, 1):
        wanted = [letter.upper() for letter in seat if letter.isalnum()]
        free = [letter for letter in wanted if letter not in given.values()]
        given[seat] = free[0] if free else str(number)
    return given
