"""A table to play at: a state made from a few facts, and a phase played from order texts."""

import pytest

from pbem import game as games
from pbem.games import empires

SEATS = ("Ana", "Bo", "Cyd", "Dag", "Eve", "Fay", "Gil")


def make(seats=3, *, announce="bids", shown="open", sheet=None, **data):
    """Return a state of epoch IV, by default its first round, with so many seats."""
    options = {"announce": announce, "scores": shown, "sheet": empires.OPTIONS[0].read(sheet)}
    return empires.load({"epoch": 4, **data}, SEATS[:seats], options)


class Turn:
    """A phase that was played: the state after it, its events, and the lines refused."""

    def __init__(self, state, seed="empires", number=1, gm="", **texts):
        orders = {**{seat: texts.get(seat, "") for seat in state.seats}, None: gm}
        done = games.play(empires, state, orders, seed, number)
        self.state = done.state
        self.events = list(done.events)
        self.problems = {seat: list(found) for seat, found in done.problems.items() if found}
        self.refused = {
            seat: sorted({line for line, _ in found}) for seat, found in self.problems.items()
        }

    @property
    def claims(self):
        return {seat: tuple(claim) for seat, claim in self.state.claims.items()}

    def facts(self, kind):
        """Return the facts of the events of a kind, in order."""
        return [event.facts for event in self.events if event.kind == kind]


@pytest.fixture(scope="session")
def table():
    return make


@pytest.fixture(scope="session")
def turn():
    return Turn
