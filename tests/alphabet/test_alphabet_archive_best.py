"""The search for the best that letters could have been made into, and outcomes of random sheets."""

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.games import alphabet
from pbem.games.alphabet import best as search
from pbem.games.alphabet.words import packaged
from tests.games import matches, scripted

LETTERS = st.text("ABCDE", max_size=10)
WORDS = st.lists(st.text("ABCDE", min_size=2, max_size=4), min_size=1, max_size=4, unique=True)


def is_possible(plan, hands):
    """Tell whether at no time more letters are spent than there have been until then."""
    return all(
        not Counter("".join(word for word, when in plan if when <= turn)) - Counter(hand)
        for turn, hand in hands.items()
    )


def points(plan, times):
    return sum(len(word) * times[turn] for word, turn in plan)


def by_trying_all(hands, words, times):
    """Return the most points of all ways to claim each word in some turn or never."""
    plans = (
        [(word, when) for word, when in zip(words, choice, strict=True) if when is not None]
        for choice in product([None, *hands], repeat=len(words))
    )
    return max(points(plan, times) for plan in plans if is_possible(plan, hands))


@given(LETTERS, WORDS, st.integers(5, 10))
@settings(max_examples=150)
def test_the_best_of_one_hand_is_that_of_trying_all(hand, words, times):
    play = search.best_now(hand, words, times)
    assert play.exact and is_possible(play.words, {0: hand})
    assert play.points == points(play.words, {0: times})
    assert play.points == by_trying_all({0: hand}, words, {0: times})


@given(st.lists(LETTERS, min_size=1, max_size=4), WORDS)
@settings(max_examples=250)
def test_the_best_of_several_turns_is_that_of_trying_all(hands, words):
    by_turn = dict(enumerate(hands, 2))
    times = {turn: 12 - turn for turn in by_turn}
    play = search.best(by_turn, words, times)
    assert play.exact and is_possible(play.words, by_turn)
    assert play.points == points(play.words, times)
    assert play.points == by_trying_all(by_turn, words, times)


def test_a_long_word_may_wait_for_its_letters_instead_of_two_short_ones():
    hands = {2: "TAUN", 3: "TAUNTON"}
    assert search.best(hands, ["TAUNTON", "TAN"], {2: 10, 3: 9}) == (
        (("TAUNTON", 3),),
        63,
        True,
    )


def test_no_letters_or_no_words_bring_nothing():
    assert search.best({}, ["BATH"], {}) == ((), 0, True)
    assert search.best_now("", ["BATH"], 10) == ((), 0, True)
    assert search.best_now("BATH", [], 10) == ((), 0, True)


def test_a_hand_of_more_letters_than_any_match_has_is_no_matter():
    play = search.best_now("BATHKEL" * 300, ["BATH", "KEELE", "HULL"], 10)
    assert play == ((("KEELE", 0), ("BATH", 0)), 90, True)


def test_a_search_that_is_cut_short_says_so_and_has_what_it_found(monkeypatch):
    listed = packaged("towns")
    rng = random.Random(3)
    hands = {2: "".join(rng.choices("".join(listed), k=30))}
    for turn in range(3, 8):
        hands[turn] = hands[turn - 1] + "".join(rng.choices("".join(listed), k=6))
    times = {turn: 12 - turn for turn in hands}
    whole = search.best(hands, listed, times)
    monkeypatch.setattr(search, "MOST_STEPS", 20)
    cut = search.best(hands, listed, times)
    assert whole.exact and not cut.exact
    assert 0 < cut.points <= whole.points
    assert is_possible(cut.words, hands) and cut.points == points(cut.words, times)


@pytest.mark.parametrize("seats", [2, 3, 5])
def test_the_best_plan_played_in_the_match_brings_what_is_said(seats):
    table, turns = matches.match("alphabet", 0, seats)
    texts = [{seat or "": said for seat, said in one.texts.items()} for one in turns]
    record = scripted.record("alphabet", table.seats, texts, None, **table.options)
    lots = [facts(record, number, "sold") for number in range(len(texts) + 1)]
    compared = 0
    for best in alphabet.course(record)["best"]:
        seat = best["seat"]
        claims = {one["turn"]: [] for one in best["plan"]}
        for one in best["plan"]:
            claims[one["turn"]].append(one["word"])
        changed = [
            {**sheet, seat: with_claims(sheet[seat], claims.get(number, ()))}
            for number, sheet in enumerate(texts, 1)
        ]
        again = scripted.record("alphabet", table.seats, changed, None, **table.options)
        # Other points may break other ties: then the letters are others too.
        if [facts(again, number, "sold") for number in range(len(texts) + 1)] == lots:
            compared += 1
            assert again["turns"][-1]["state"]["points"][seat] == best["most"]
    assert compared


def facts(record, number, kind):
    return [e["facts"] for e in record["turns"][number]["events"] if e["kind"] == kind]


def with_claims(text, words):
    """Return a sheet with other claims, before whatever else is in it."""
    kept = [line for line in text.splitlines() if not line.startswith("CLAIM")]
    return "\n".join([*([f"CLAIM {' '.join(words)}"] if words else []), *kept])


@pytest.mark.parametrize("number", range(10))
def test_every_order_line_has_an_outcome(number):
    rng = random.Random(number)
    seats = matches.SEATS[: 2 + number % 3]
    options = {"words": "towns", "hands": rng.choice(["open", "secret"])}
    state = alphabet.setup(seats, options, games.chance(scripted.SEED, 0, "setup"))
    sheets = []
    for _ in range(7):
        sheets.append({seat: drawn(rng, state, seat) for seat in seats})
        record = scripted.record("alphabet", seats, sheets, None, **options)
        state = alphabet.load(record["turns"][-1]["state"], seats, options)
    assert state.phase == "over"
    for turn in record["turns"]:
        number = turn["number"]
        assert scripted.untold(record, number) == []
        until = {**record, "turns": record["turns"][: number + 1]}
        assert alphabet.chapter(record, number) == alphabet.chapter(until, number)
    # What is told of bids is what became of the groups.
    for turn in record["turns"][1:]:
        became = alphabet.chapter(record, turn["number"])["became"]
        won = sum(said.count("won for £") for lines in became.values() for said in lines.values())
        assert won == len(facts(record, turn["number"], "sold"))
        done = sum(
            said.count(" went to ") + said.count(" came from ")
            for lines in became.values()
            for said in lines.values()
        )
        assert done == 2 * len(facts(record, turn["number"], "trade"))


def drawn(rng, state, seat):
    """Draw a sheet: ties, replaced, void and faulty lines, claims, mirrored trades, the pot."""
    lines = []
    for group in rng.sample(list(state.groups), min(3, len(state.groups))):
        lines.append(f"BID {group} {rng.choice([10, 10, 20, 90])}")
        if rng.random() < 0.2:
            lines.append(f"BID {group} {rng.randint(0, 20)}")
    words = rng.sample(state.words, 4) + alphabet_words(state, seat)
    lines.append(f"CLAIM {' '.join(words)}")
    other = state.seats[(state.seats.index(seat) + 1) % len(state.seats)]
    giver, taker = sorted((seat, other))
    letter = (state.hands[giver] or "E")[0]
    give, get = (letter, "NOTHING") if seat == giver else ("NOTHING", letter)
    lines.append(f"TRADE WITH {taker if seat == giver else giver} GIVE {give} GET {get}")
    if state.hands[seat]:
        lines += [f"POT {rng.choice(state.hands[seat])}" for _ in range(2)]
    lines += ["Good luck to all of you", "BID 999 5", "CLAIM NOSUCH"]
    rng.shuffle(lines)
    if rng.random() < 0.5:
        lines[:2] = ["; ".join(lines[:2])]
    return "\n".join(lines)


def alphabet_words(state, seat):
    """Name words that the hand can form, each by itself."""
    hand = Counter(state.hands[seat])
    return [word for word in state.words if not Counter(word) - hand][:3]
