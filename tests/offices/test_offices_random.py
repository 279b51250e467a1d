"""Random play: the game against the same rules played slowly, gold counted, states stored."""

import json
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.game import Json
from pbem.games import offices
from pbem.games.offices.position import State
from tests.offices.tables import NAMES, random_plan, slowly, table

few = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 10**9)


def begun(rng: Random, options: Json) -> State:
    seats = ["Irene", "Basil", "Theo", "Zoe", "Leo"][: rng.randint(2, 5)]
    who = seats + ["-"] * (5 - len(seats))
    rng.shuffle(who)
    return table(" ".join(who), {seat: rng.randint(0, 14) for seat in seats}, **options)


def total(state: State) -> int:
    """Count all gold in purses and areas."""
    return sum(state.gold.values()) + sum(office.gold for office in state.offices)


@few
@given(seeds)
def test_sealed_plans_come_out_as_when_played_slowly_by_the_rules(seed: int) -> None:
    rng = Random(seed)
    state = begun(rng, {})
    plans: dict[str | None, str] = {seat: random_plan(rng) for seat in state.seats}
    after = games.play(offices, state, {**plans, None: ""}, "x", 1).state
    expected = slowly(state, plans)
    assert expected == {
        "holders": [office.holder for office in after.offices],
        "gold": after.gold,
        "discarded": after.discarded,
    }


@few
@given(seeds, st.sampled_from(["plans", "live"]), st.booleans())
def test_a_match_ends_counts_its_gold_and_goes_on_alike_from_its_stored_state(
    seed: int, decide: str, gold_open: bool
) -> None:
    rng = Random(seed)
    options = {"decide": decide, "gold_open": gold_open, "rounds": rng.randint(1, 3)}
    state = begun(rng, options)
    for number in range(1, 1000):
        texts: dict[str | None, str] = {
            seat: random_plan(rng) for seat in state.seats if rng.random() < 0.7
        }
        texts[None] = offices.gm_bot(state, rng)
        stored = json.loads(json.dumps(offices.dump(state)))
        again = offices.load(stored, state.seats, options)
        assert again == state
        played = games.play(offices, state, texts, "x", number)
        assert games.play(offices, again, texts, "x", number) == played
        after = played.state
        facts = [(event.kind, event.facts) for event in played.events]
        made = sum(fact["gold"] for kind, fact in facts if kind == "treasury")
        made += sum(fact["change"] for kind, fact in facts if kind == "income")
        gone = sum(fact["gold"] for kind, fact in facts if kind == "discarded")
        assert total(after) == total(state) + made - gone
        assert min(after.gold.values()) >= 0
        assert len(set(after.held.values())) == len(after.held)
        assert set(offices.waiting(after)) <= set(after.seats)
        state = after
        if state.phase == "over":
            break
    assert state.phase == "over"
    assert state.round == options["rounds"]


@few
@given(seeds)
def test_live_play_answered_with_whole_plans_ends_as_sealed_plans_do(seed: int) -> None:
    # Every seat's plan settles all: a general DEFEND, and a wish to stay or to take anything.
    rng = Random(seed)
    sealed, live = begun(Random(seed), {}), begun(Random(seed), {"decide": "live"})
    plans: dict[str | None, str] = {
        seat: f"{random_plan(rng)}\nDEFEND UP TO {rng.randint(0, 6)}\nSTAY\n"
        + "\n".join(f"TAKE {name} UP TO 99" for name in NAMES)
        for seat in sealed.seats
    }
    one = games.play(offices, sealed, plans, "x", 1).state
    two = games.play(offices, live, plans, "x", 1).state
    if two.phase == "over":
        assert offices.dump(one) == offices.dump(two)
    else:
        # Left open is only a choice of a displaced seat that could still make a single offer.
        assert two.challenge is None


@few
@given(seeds)
def test_the_same_seed_gives_the_same_match(seed: int) -> None:
    def match() -> list[Json]:
        options = games.read_options(offices.OPTIONS, {"decide": "live", "rounds": 2}, "offices")
        seats = ("Irene", "Basil", "Theo")
        state = offices.setup(seats, options, games.chance(str(seed), 0, "setup"))
        states = [offices.dump(state)]
        for number in range(1, 200):
            rng = Random(number)
            texts: dict[str | None, str] = {s: offices.bot(state, s, rng) for s in seats}
            texts[None] = offices.gm_bot(state, rng)
            state = games.play(offices, state, texts, str(seed), number).state
            states.append(offices.dump(state))
            if state.phase == "over":
                return states
        raise AssertionError("the match doesn't end")

    assert match() == match()


@few
@given(seeds)
def test_bots_send_only_lawful_orders(seed: int) -> None:
    rng = Random(seed)
    state = begun(rng, {"decide": "live", "rounds": 2})
    for number in range(1, 200):
        texts: dict[str | None, str] = {s: offices.bot(state, s, rng) for s in state.seats}
        texts[None] = offices.gm_bot(state, rng)
        played = games.play(offices, state, texts, "x", number)
        assert not any(played.problems.values())
        state = played.state
        if state.phase == "over":
            break
    assert state.phase == "over"
