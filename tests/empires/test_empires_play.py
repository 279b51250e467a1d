"""Whole matches by chance: they end, the accounts are right, a state read back goes on alike."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.games import empires


def wild(state, seat, rng):
    """Write orders as a fool would: ties, faults, names that are gone."""
    names = [*state.empires, "Atlantis"]
    lines = [
        rng.choice(
            (
                f"BID {rng.choice(names)} {rng.choice((0, 3, 15, 15, 20, 20, 25))}",
                f"PREFER {', '.join(rng.sample(names, 3))}",
                f"PICK {rng.choice(names)}",
                "what shall I do?",
            )
        )
        for _ in range(rng.randint(0, 7))
    ]
    return "\n".join(lines)


def match(seats, seed, player, phases=60):
    """Play a match; yield each state, its events and the next state."""
    rng = random.Random(seed)
    state = empires.setup([f"seat {n}" for n in range(seats)], {}, games.chance(seed, 0, "setup"))
    for number in range(1, phases):
        texts = {seat: player(state, seat, rng) for seat in state.seats}
        texts[None] = empires.gm_bot(state, rng)
        played = games.play(empires, state, texts, seed, number)
        yield state, played
        state = played.state
        if state.phase == "over":
            return
    raise AssertionError("the match does not end")


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 7), st.text(max_size=5), st.sampled_from((wild, empires.bot)))
def test_a_match_ends_and_what_is_paid_and_scored_is_all_that_moves(seats, seed, player):
    for before, played in match(seats, seed, player):
        after = played.state
        paid = sum(e.facts["price"] for e in played.events if e.kind == "charge")
        points = sum(e.facts["points"] for e in played.events if e.kind == "balance")
        assert sum(after.vp.values()) == sum(before.vp.values()) - paid + points
        taken = [claim.empire for claim in after.claims.values()]
        assert len(taken) == len(set(taken))
        for claim in after.claims.values():
            assert claim.price >= after.empires[claim.empire]
        assert after.phase != "score" or len(after.claims) == seats
        assert set(empires.waiting(after)) <= set(after.free)
        again = empires.load(json.loads(json.dumps(empires.dump(after))), after.seats, {})
        assert again == after


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 7), st.text(max_size=5))
def test_the_same_seed_and_orders_make_the_same_match(seats, seed):
    first, second = (list(match(seats, seed, wild)) for _ in range(2))
    assert [played for _, played in first] == [played for _, played in second]


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 7), st.text(max_size=5))
def test_a_state_read_back_from_json_goes_on_like_the_one_that_was_written(seats, seed):
    for number, (before, _) in enumerate(match(seats, seed, wild), 1):
        stored = empires.load(json.loads(json.dumps(empires.dump(before))), before.seats, {})
        texts = {seat: wild(stored, seat, random.Random(number)) for seat in stored.seats}
        one = games.play(empires, stored, texts, seed, number)
        other = games.play(empires, before, texts, seed, number)
        assert one == other
        assert json.dumps(empires.dump(one.state)) == json.dumps(empires.dump(other.state))


@pytest.mark.parametrize("seats", [2, 5, 7])
def test_the_bot_sends_only_lawful_orders(seats):
    for before, played in match(seats, "lawful", empires.bot):
        assert played.problems == {who: [] for who in (*before.seats, None)}


def test_the_bot_is_asked_nothing_it_may_not_do(table, turn):
    state = turn(table(2), Ana="BID Arabs 20").state
    assert empires.bot(state, "Ana", random.Random(1)) == ""
    assert empires.bot(state, "Bo", random.Random(1)).startswith("PICK ")
    assert empires.gm_bot(state, random.Random(1)) == ""
