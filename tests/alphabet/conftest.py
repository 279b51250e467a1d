"""A table to play at: a position made from a few facts, and a turn played from order texts."""

import pytest

from pbem import game as games
from pbem.games import alphabet

SEATS = ("Ida", "Olle", "Petra")
GROUPS = {"5": "ADEHKS", "6": "BEILRX", "7": "CFOPQT", "8": "AGNSTU"}


def make(number=2, *, seats=SEATS, phase="play", secret=False, groups=None, only=None, **by_seat):
    """Return a state of that round; `hands`, `money`, `points`, `claimed` may name some seats."""
    groups = GROUPS if groups is None else groups
    data = {
        "phase": phase,
        "round": number,
        "groups": {
            name: {"letters": letters, "only": (only or {}).get(name)}
            for name, letters in groups.items()
        },
        **by_seat,
    }
    return alphabet.load(data, seats, {"words": "towns", "hands": "secret" if secret else "open"})


class Turn:
    """A turn that was played: the state after it, its events, and the lines refused."""

    def __init__(self, state, seed="alphabet", number=1, **texts):
        orders = {seat: texts.get(seat, "") for seat in state.seats}
        done = games.play(alphabet, state, orders, seed, number)
        self.state = done.state
        self.events = list(done.events)
        self.problems = {seat: list(found) for seat, found in done.problems.items() if found}
        self.refused = {
            seat: sorted({line for line, _ in found}) for seat, found in self.problems.items()
        }

    def facts(self, kind):
        """Return the facts of the events of a kind, in order."""
        return [event.facts for event in self.events if event.kind == kind]


@pytest.fixture
def table():
    return make


@pytest.fixture
def turn():
    return Turn
