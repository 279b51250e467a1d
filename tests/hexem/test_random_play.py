"""Whole matches of Hexem by chance: what holds whatever is ordered."""

from collections.abc import Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game
from pbem.game import Event
from pbem.games import hexem
from pbem.games.hexem.generator import make_board
from pbem.games.hexem.state import State

NAMES = ("Ann", "Bob", "Cora", "Dirk", "Elsa")

seeds = st.text("abcdefgh", min_size=1, max_size=8)


def begun(seed: str, number: int, hexes: int, **options: object) -> State:
    given = {"board": make_board(number, hexes, 3, seed), **options}
    read = game.read_options(hexem.OPTIONS, given, "hexem")
    state: State = hexem.setup(NAMES[:number], read, game.chance(seed, 0, "setup"))
    return state


def wild(state: State, rng: Random) -> str:
    """Write orders at random, good and bad."""
    if state.phase == "countries":
        return "\n".join(f"BID {rng.choice('vwxyzq')} {rng.randint(-1, 14)}" for _ in range(4))
    labels = [*state.labels, "Z99", "A", "7"]
    lines = [rng.choices(labels, k=rng.randint(1, 5)) for _ in range(rng.randint(0, 3))]
    return "\n".join(f"MUSTER {' '.join(line)}" for line in lines)


def balance(before: State, events: Sequence[Event]) -> int:
    """Return how many armies there must be after a turn: growth less the fallen."""
    armies = sum(before.armies)
    for event in events:
        fact = event.facts
        if event.kind == "growth":
            armies += fact["hexes"]
        elif event.kind == "country":
            armies -= fact["price"]
        elif event.kind == "muster" and fact["result"] == "won":
            armies -= fact["defenders"]
        elif event.kind == "muster" and fact["result"] == "lost":
            armies -= fact["armies"]
    return armies


@given(seeds, st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_whatever_is_ordered_armies_balance_and_the_match_ends(seed: str, number: int) -> None:
    rng = Random(seed)
    options = {"turns": 6, "share": None, "board": None}
    state = begun(seed, number, 5, turns=6)
    for run in range(1, 8):
        texts: dict[str | None, str] = {seat: wild(state, rng) for seat in state.seats}
        done = game.play(hexem, state, texts, seed, run)
        after = done.state
        assert sum(after.armies) == balance(state, done.events)
        assert after.phase == "over" or min(after.armies) >= 1
        assert hexem.load(hexem.dump(after), after.seats, options) == after
        assert all(hexem.view(after, seat) == hexem.dump(after) for seat in (*after.seats, None))
        assert set(hexem.waiting(after)) <= set(after.seats)
        assert game.play(hexem, state, texts, seed, run) == done
        state = after
        if state.phase == "over":
            break
    assert state.phase == "over"
    assert hexem.winners(state)


@given(seeds, st.integers(2, 5))
@settings(max_examples=15, deadline=None)
def test_the_scripted_player_writes_lawful_orders_and_conquers(seed: str, number: int) -> None:
    state = begun(seed, number, 12, turns=12)
    conquered = 0
    for run in range(1, 14):
        texts: dict[str | None, str] = {
            seat: hexem.bot(state, seat, Random(f"{seed} {run}")) for seat in hexem.waiting(state)
        }
        done = game.play(hexem, state, texts, seed, run)
        assert not any(done.problems.values())
        conquered += sum(e.facts.get("result") == "won" for e in done.events)
        state = done.state
        if state.phase == "over":
            break
    assert state.phase == "over"
    assert conquered > 0
    assert hexem.bot(state, "Ann", Random(1)) == ""
