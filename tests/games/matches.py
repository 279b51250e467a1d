"""Whole matches of every installed game by its scripted players, for the tests that all share."""

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple

from pbem import game as games
from pbem.game import Game, Played

SEATS = ("Ann", "Bob", "Chloé", "Дима", "Eve-Lyn", "Fay O'Hara", "Gus", "Hal", "Ida", "Joe")
SEED = "a secret"
# Where a game goes on until its game master ends it, he does so now.
LAST_PHASE = 60

# Ways to play besides the defaults: what is hidden, what is asked in between, how it ends.
WAYS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "alphabet": ({"hands": "secret"},),
    "empires": ({"announce": "claims", "scores": "end"},),
    "hexem": ({"turns": 8},),
    "offices": ({"rounds": 3}, {"rounds": 2, "decide": "live", "gold_open": False}),
}


class Table(NamedTuple):
    """A game with its seats and options."""

    game: Game
    seats: tuple[str, ...]
    options: Mapping[str, Any]

    def begin(self) -> Any:
        """Set the match up."""
        return self.game.setup(self.seats, self.options, games.chance(SEED, 0, "setup"))

    def stored(self, state: Any) -> Any:
        """Return a state as it is after it was stored as JSON and read again."""
        return self.game.load(json.loads(text(self.game.dump(state))), self.seats, self.options)


class Turn(NamedTuple):
    """A phase as played: the state before, the order texts by seat, and what came of them."""

    number: int
    state: Any
    texts: Mapping[str | None, str]
    played: Played


def text(value: Any) -> str:
    """Return a JSON value as text; raise where it is none."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def told(table: Table, played: Played) -> dict[str, Any]:
    """Return all that came of a phase, as JSON."""
    return {
        "state": table.game.dump(played.state),
        "events": [games.event_json(event) for event in played.events],
        "problems": {str(seat): [*map(list, of)] for seat, of in played.problems.items() if of},
    }


def seat_numbers(game: Game) -> list[int]:
    """Return the numbers of seats a game can be played with, options left at their defaults."""
    return [number for number in range(len(SEATS) + 1) if _is_playable(game, number)]


def _is_playable(game: Game, number: int) -> bool:
    try:
        Table(game, SEATS[:number], games.read_options(game.OPTIONS, {}, game.KEY)).begin()
    except ValueError:
        return False
    return True


def table(key: str, given: Mapping[str, Any] | None = None, seats: int = 3) -> Table:
    """Return a table for a game, with as many seats as asked for or the nearest it takes."""
    game = games.named(key)
    number = min(seat_numbers(game), key=lambda playable: abs(playable - seats))
    return Table(game, SEATS[:number], games.read_options(game.OPTIONS, given or {}, key))


def sheets(table: Table, state: Any, rng: Random) -> dict[str | None, str]:
    """Return what the scripted players, and the game master's, send in a phase."""
    bot = games.optional(table.game, "bot")
    gm_bot = games.optional(table.game, "gm_bot")
    waiting = table.game.waiting(state)
    texts: dict[str | None, str] = dict.fromkeys(table.seats, "")
    texts |= {seat: bot(state, seat, rng) for seat in waiting if bot}
    texts[None] = gm_bot(state, rng) if gm_bot else ""
    return texts


def turns(table: Table, rng: Random, last: int = LAST_PHASE) -> Iterator[Turn]:
    """Play a match to its end, phase by phase; the game master ends it after the last."""
    state = table.begin()
    number = 0
    while state.phase != "over":
        number += 1
        texts = sheets(table, state, rng)
        if number > last:
            texts[None] = "END"
        played = games.play(table.game, state, texts, SEED, number)
        yield Turn(number, state, texts, played)
        state = played.state


@cache
def match(key: str, way: int = 0, seats: int = 3) -> tuple[Table, tuple[Turn, ...]]:
    """Return a match of a game in one of its `WAYS` (0: the defaults), played once."""
    at = table(key, ({}, *WAYS.get(key, ()))[way], seats)
    return at, tuple(turns(at, Random(7)))


def digest(key: str, way: int) -> str:
    """Return what is the same only where a whole match came out the same."""
    at, played = match(key, way)
    whole = text([told(at, turn.played) for turn in played])
    return sha256(whole.encode()).hexdigest()


if __name__ == "__main__":
    # Called by a test, in a process whose sets have another order.
    print(digest(sys.argv[1], int(sys.argv[2])))
