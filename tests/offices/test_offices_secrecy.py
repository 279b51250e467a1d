"""What a seat may not know never reaches it: others' plans, limits and, where secret, purses."""

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.game import Event
from pbem.games import offices
from pbem.games.offices.position import State
from tests.offices.tables import play, random_plan, table

SEATS = ["Irene", "Basil", "Theo", "Zoe"]
few = settings(max_examples=80, deadline=None)


def shown(state: State, seat: str | None, events: Sequence[Event] = ()) -> str:
    """Return all that a seat is shown, as bytes would be."""
    seen = [event for event in events if event.seen_by is None or seat in event.seen_by]
    facts = [[event.kind, dict(event.facts)] for event in seen]
    page = offices.page(state, seat, seen)
    return json.dumps([offices.view(state, seat), page, facts, list(offices.waiting(state))])


def begun(rng: Random, **options: Any) -> State:
    who = [*SEATS, "-"]
    rng.shuffle(who)
    return table(" ".join(who), {seat: rng.randint(0, 12) for seat in SEATS}, **options)


def run(state: State, plans: Mapping[str | None, str]) -> games.Played:
    return games.play(offices, state, {**plans, None: ""}, "x", 1)


@few
@given(st.integers(0, 10**9), st.sampled_from([*SEATS, None]))
def test_two_positions_that_differ_in_others_secrets_look_the_same(
    seed: int, reader: str | None
) -> None:
    rng = Random(seed)
    state = begun(rng, decide="live", gold_open=False)
    question = run(state, {seat: random_plan(rng) for seat in SEATS}).state
    assume(question.phase == "auction")
    data = offices.dump(question)
    other = json.loads(json.dumps(data))
    for seat in SEATS:
        if seat != reader:
            other["plans"][seat] = random_plan(rng)
            other["gold"][seat] += rng.randint(0, 5)
    if other["challenge"] and other["challenge"]["challenger"] != reader:
        other["challenge"]["limit"] = rng.choice([None, 30])
    options = {"decide": "live", "gold_open": False}
    twin = offices.load(other, question.seats, options)
    assert shown(twin, reader) == shown(question, reader)
    if reader:
        orders, _ = offices.check(question, reader, offices.GRAMMAR.read(random_plan(rng)).orders)
        assert offices.forecast(twin, reader, orders) == offices.forecast(question, reader, orders)
        assert offices.bot(twin, reader, Random(seed)) == offices.bot(
            question, reader, Random(seed)
        )


def moves(played: games.Played) -> list[Any]:
    """Return what everybody at a table would have seen."""
    keys = ("seat", "office", "paid", "bid", "first", "last", "gold", "colour", "offered", "left")
    return [
        [event.kind, *(event.facts.get(key) for key in keys)]
        for event in played.events
        if event.kind not in ("why", "income")
    ]


@few
@given(st.integers(0, 10**9), st.sampled_from([*SEATS, None]), st.sampled_from(["plans", "live"]))
def test_two_turns_with_the_same_moves_are_told_the_same(
    seed: int, reader: str | None, decide: str
) -> None:
    rng = Random(seed)
    state = begun(rng, decide=decide, gold_open=False, rounds=2)
    plans: dict[str | None, str] = {seat: random_plan(rng) for seat in SEATS}
    twins = dict(plans)
    for seat in SEATS:
        if seat != reader:
            twins[seat] += "\n" + rng.choice(
                ["STAY", "GOOD red", "TAKE 1 UP TO 0", "DEFEND 4 UP TO 9"]
            )
    richer = {seat: gold + (seat != reader) for seat, gold in state.gold.items()}
    data = offices.dump(state) | {"gold": richer}
    options = {"decide": decide, "gold_open": False, "rounds": 2}
    one, two = run(state, plans), run(offices.load(data, state.seats, options), twins)
    assume(moves(one) == moves(two))
    assert shown(one.state, reader, one.events) == shown(two.state, reader, two.events)


def test_limits_and_purses_of_others_stand_nowhere() -> None:
    start = table("Irene Basil Theo - -", 7777, decide="live", gold_open=False, rounds=2)
    plans = {"Irene": "TAKE 2 UP TO 977", "Theo": "DEFEND UP TO 977/TAKE 5 UP TO 977"}
    played = play(start, **plans)
    assert offices.waiting(played.state) == ["Basil"]
    for reader in ("Basil", None):
        text = shown(played.state, reader, played.events)
        assert "977" not in text
        assert ("7777" in text) is (reader == "Basil")
    assert "977" in shown(played.state, "Irene", played.events)


def test_the_reasons_of_a_move_are_its_seats_own() -> None:
    played = play(table("Irene Basil - - -"), Irene="TAKE 2", Basil="TAKE 1")
    assert {event.seen_by for event in played.events if event.kind == "why"} == {
        ("Irene",),
        ("Basil",),
    }


def test_an_empty_plan_and_wishes_exhausted_look_alike_to_others() -> None:
    start = table("Irene Basil - - -")
    silent, exhausted = play(start), play(start, Irene="TAKE 2 UP TO 0", Basil="STAY")
    assert shown(silent.state, None, silent.events) == shown(
        exhausted.state, None, exhausted.events
    )


def test_income_is_told_to_all_only_where_gold_is_open() -> None:
    for gold_open in (True, False):
        income = play(table(gold_open=gold_open, rounds=2)).state
        played = play(income, gm="GOLD Irene 5")
        (event,) = [event for event in played.events if event.kind == "income"]
        assert event.seen_by == (None if gold_open else ("Irene",))


def test_when_the_match_is_over_nothing_is_secret() -> None:
    over = play(table(gold_open=False)).state
    assert offices.view(over, None) == offices.dump(over)
