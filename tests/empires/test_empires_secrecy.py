"""Secrecy: what differs only in what a seat may not know looks the same to it, to the byte."""

import json
import random

import pytest

from pbem.game import play
from pbem.games import empires


def known(state, seat, events):
    """Return all that a report to a seat is made of, as bytes."""
    seen = [e for e in events if e.seen_by is None or seat in e.seen_by]
    facts = [empires.view(state, seat), empires.page(state, seat, events), seen]
    return json.dumps(facts).encode()


def sheets(state, rng):
    """Draw bids that tie now and then; each seat's as a table from empire to amount."""
    names = list(state.empires)
    return {
        seat: {
            name: state.empires[name] + rng.randint(0, 5)
            for name in rng.sample(names, rng.randint(1, 5))
        }
        for seat in state.seats
    }


def texts(bids, wishes=None):
    lines = {seat: [f"BID {e} {n}" for e, n in mine.items()] for seat, mine in bids.items()}
    for seat, names in (wishes or {}).items():
        lines[seat].append(f"PREFER {', '.join(names)}")
    return {seat: "\n".join(mine) for seat, mine in lines.items()}


def public(played):
    """Return what everybody is told of a round with `announce = claims`."""
    state = played.state
    return state.phase, state.claims, state.contested, state.vp


@pytest.mark.parametrize("number", [1, 2, 3])
def test_secrecy_claims_hide_all_other_bids_until_the_end(table, number):
    rng = random.Random(number)
    compared = 0
    for _ in range(150):
        state = table(5, announce="claims", round=number)
        bids = sheets(state, rng)
        other = rng.choice(state.seats[1:])
        changed = {**bids, other: {**bids[other], rng.choice(list(state.empires)): 0}}
        one, two = (play(empires, state, texts(b), "x", 1) for b in (bids, changed))
        if public(one) != public(two) or one.state == two.state:
            continue
        compared += 1
        for seat in (*state.seats, None):
            if seat != other:
                assert known(one.state, seat, one.events) == known(two.state, seat, two.events)
        assert known(one.state, other, one.events) != known(two.state, other, two.events)
    assert compared > 15


def test_secrecy_bids_are_told_and_wishes_are_not(table):
    state = table(3)
    bids = {"Ana": {"Arabs": 20}, "Bo": {"Huns": 16}, "Cyd": {"Huns": 15, "Goths": 10}}
    plain, wished = (
        play(empires, state, texts(bids, wishes), "x", 1) for wishes in ({}, {"Bo": ["Khmers"]})
    )
    for seat in ("Ana", "Cyd", None):
        assert known(plain.state, seat, plain.events) == known(wished.state, seat, wished.events)
    assert b'"Cyd": {"Goths": 10, "Huns": 15}' in known(plain.state, "Ana", plain.events)


def test_secrecy_after_the_end_everything_is_open(table, turn):
    state = table(2, epoch=7, announce="claims", shown="end")
    played = turn(state, Ana="BID Russia 12\nBID Spain 1", Bo="BID France 15\nBID Russia 12")
    assert empires.view(played.state, None)["rounds"][0]["bids"] == {}
    over = turn(played.state, gm="SCORE Ana 3\nSCORE Bo 4")
    assert over.state.phase == "over"
    assert empires.view(over.state, None) == empires.dump(over.state)
    assert empires.view(over.state, None)["past"][0]["rounds"][0]["bids"]["Bo"] == {
        "Russia": 12,
        "France": 15,
    }


@pytest.mark.parametrize("scores", ["epoch", "end"])
def test_secrecy_scores_in_the_middle_of_an_epoch_are_ones_own(table, turn, scores):
    claims = {"Bo": {"empire": "Huns", "price": 14}}
    for phase, more in (("bid", {}), ("score", {"scores": {"Bo": 3}})):
        one, two = (
            table(3, shown=scores, phase=phase, claims=claims, vp={"Ana": 7, "Bo": vp}, **more)
            for vp in (-14, 99)
        )
        for seat in ("Ana", "Cyd", None):
            assert known(one, seat, ()) == known(two, seat, ())
        assert known(one, "Bo", ()) != known(two, "Bo", ())
    played = [turn(one, gm=f"SCORE Bo {points}") for points in (5, 50)]
    for seat in ("Ana", "Cyd", None):
        assert len({known(p.state, seat, p.events) for p in played}) == 1
    assert len({known(p.state, "Bo", p.events) for p in played}) == 2


@pytest.mark.parametrize(("scores", "shown"), [("open", True), ("epoch", True), ("end", False)])
def test_secrecy_the_ledger_at_the_end_of_an_epoch(table, turn, scores, shown):
    played = turn(table(2, shown=scores, phase="score"), gm="SCORE Ana 5\nSCORE Bo 9")
    assert played.state.epoch == 5
    view = empires.view(played.state, "Ana")
    assert view["vp"] == ({"Ana": 5, "Bo": 9} if shown else {"Ana": 5})
    assert view["past"][0]["scores"] == ({"Ana": 5, "Bo": 9} if shown else {"Ana": 5})
    balances = [e.seen_by for e in played.events if e.kind == "balance"]
    assert balances == ([None, None] if shown else [("Ana",), ("Bo",)])


def test_secrecy_with_epoch_the_ledger_closes_again_at_the_first_claim(table, turn):
    state = turn(table(3, shown="epoch", phase="score"), gm="SCORE Ana 5\nSCORE Bo 9\nSCORE Cyd 1")
    assert empires.view(state.state, None)["vp"] == {"Ana": 5, "Bo": 9, "Cyd": 1}
    after = turn(state.state, Ana="BID Franks 10")
    assert empires.view(after.state, "Bo")["vp"] == {"Bo": 9}
    assert [e.seen_by for e in after.events if e.kind == "charge"] == [("Ana",)]


def test_secrecy_no_view_depends_on_what_was_sent(table):
    state = table(3)
    empires.check(state, "Ana", empires.GRAMMAR.read("BID Arabs 20").orders)
    assert known(state, "Bo", ()) == known(table(3), "Bo", ())
