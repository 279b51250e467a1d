"""Positions of Hexem in one line, and turns played from order texts."""

import re
from collections.abc import Sequence
from typing import Any

from pbem import game
from pbem.game import Event
from pbem.games import hexem
from pbem.games.hexem.state import State
from pbem.reports.letters import fragment
from pbem.reports.letters import part as text_of

# A1=Ann3 is Ann's with 3 armies, A2=-2 a neutral hex; A3=Ann3/x lies in country x.
_HEX = re.compile(r"([A-Z]+\d+)=(-|[A-Z][a-z]+)(\d+)(?:/(\w+))?")

SEATS = ("Ann", "Bob", "Cora")


def position(
    hexes: str, phase: str = "muster", turn: int = 3, seats: tuple[str, ...] = SEATS, **options: Any
) -> State:
    """Return the state that a line describes."""
    entries: dict[str, Any] = {}
    for written in hexes.split():
        found = _HEX.fullmatch(written)
        assert found, written
        owner = None if found[2] == "-" else found[2]
        entries[found[1]] = {"owner": owner, "armies": int(found[3]), "country": found[4]}
    given = game.read_options(hexem.OPTIONS, options, "hexem")
    return hexem.load({"phase": phase, "turn": turn, "hexes": entries}, seats, given)


def described(state: State) -> str:
    """Return the line that describes a state, without its countries."""
    names = (*state.seats, "-")
    rows = zip(state.labels, state.owners, state.armies, strict=True)
    return " ".join(f"{label}={names[owner]}{armies}" for label, owner, armies in rows)


def played(state: State, seed: str = "seed", **texts: str) -> game.Played:
    """Play one phase from the seats' order texts; any problem is the test's fault."""
    by_seat: dict[str | None, str] = dict(texts.items())
    done = game.play(hexem, state, by_seat, seed, 1)
    assert not any(done.problems.values()), done.problems
    return done


def facts(done: game.Played, kind: str) -> list[Any]:
    """Return the facts of the events of a kind."""
    return [event.facts for event in done.events if event.kind == kind]


def after(hexes: str, text: str) -> tuple[State, str, Sequence[Event]]:
    """Return the state after a turn of Ann's from a line's position, her name, and the events."""
    done = played(position(hexes), Ann=text)
    return done.state, "Ann", done.events


def rendered(
    part: str,
    state: State,
    seat: str | None,
    events: Sequence[Event] = (),
    match: str = "hexem1",
) -> str:
    """Render one of the game's templates as a letter would."""
    facts = {
        "game": "hexem",
        "match": match,
        "seat": seat,
        "seats": state.seats,
        "options": {"board": None, "turns": 9, "share": 0.5},
        "view": hexem.view(state, seat),
        "page": hexem.page(state, seat, events),
        "events": events,
        "turn": state.turn,
    }
    return (fragment if part.endswith((".html", ".svg")) else text_of)(part, facts)
