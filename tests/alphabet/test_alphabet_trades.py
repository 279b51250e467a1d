"""Rule 2 of Alphabet Auction: trades."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.games import alphabet
from pbem.games.alphabet import trades
from pbem.games.alphabet.sheet import Things, Trade

SEATS = ("Ida", "Olle", "Petra")


def test_rule_2_a_trade_needs_an_exact_mirror(table, turn):
    done = turn(
        table(hands={"Ida": "AAE", "Olle": "KT"}),
        Ida="TRADE WITH Olle GIVE A, A GET K\nTRADE WITH Olle GIVE E GET T, £1",
        Olle="TRADE WITH Ida GIVE K GET A\nTRADE WITH Ida GIVE £1, T GET E",
    )
    assert done.state.hands["Ida"] == "AAT" and done.state.hands["Olle"] == "EK"
    assert done.refused == {"Ida": [1], "Olle": [1]}


def test_rule_2_both_must_hold_all_before_they_get_anything(table, turn):
    done = turn(
        table(money={"Ida": 10, "Olle": 10}),
        Ida="TRADE WITH Olle GIVE £70 GET £20",
        Olle="TRADE WITH Ida GIVE £20 GET £70",
    )
    assert done.state.money == {"Ida": 60, "Olle": 60, "Petra": 150}
    assert done.refused == {"Ida": [1], "Olle": [1]}


def test_rule_2_a_ring_of_three_does_not_move(table, turn):
    done = turn(
        table(hands={"Ida": "A", "Olle": "B", "Petra": "C"}),
        Ida="TRADE WITH Olle GIVE C GET B\nTRADE WITH Petra GIVE B GET C",
        Olle="TRADE WITH Petra GIVE A GET C\nTRADE WITH Ida GIVE B GET C",
        Petra="TRADE WITH Ida GIVE C GET B\nTRADE WITH Olle GIVE C GET A",
    )
    assert done.state.hands == {"Ida": "A", "Olle": "B", "Petra": "C"}
    assert done.refused == {"Ida": [1, 2], "Olle": [1, 2], "Petra": [1, 2]}


def test_rule_2_what_one_trade_brings_the_next_gives(table, turn):
    done = turn(
        table(hands={"Ida": "X", "Olle": "S", "Petra": "T"}),
        Ida="BID 5 1\nTRADE WITH Olle GIVE X GET S",
        Olle="TRADE WITH Petra GIVE X GET T\nTRADE WITH Ida GIVE S GET X",
        Petra="TRADE WITH Olle GIVE T GET X",
    )
    assert [facts["seats"] for facts in done.facts("trade")] == [["Ida", "Olle"], ["Olle", "Petra"]]
    assert done.refused == {}


def test_rule_2_the_lowest_sum_of_line_numbers_is_first(table, turn):
    done = turn(
        table(hands={"Ida": "X"}),
        Ida="TRADE WITH Petra GIVE X GET £5\nTRADE WITH Olle GIVE X GET £6",
        Olle="TRADE WITH Ida GIVE £6 GET X",
        Petra="\n\nTRADE WITH Ida GIVE £5 GET X",
    )
    assert done.state.hands["Olle"] == "X"
    assert done.refused == {"Ida": [1], "Petra": [3]}


def test_rule_2_at_equal_sums_the_pair_with_the_earlier_seat_is_first(table, turn):
    state = table(seats=("Ida", "Olle", "Petra", "Runa"))
    done = turn(
        state,
        Ida="TRADE WITH Runa GIVE £1 GET NOTHING",
        Runa="TRADE WITH Ida GIVE NOTHING GET £1",
        Olle="TRADE WITH Petra GIVE £1 GET NOTHING",
        Petra="TRADE WITH Olle GIVE NOTHING GET £1",
    )
    assert [facts["seats"] for facts in done.facts("trade")] == [["Ida", "Runa"], ["Olle", "Petra"]]


def test_rule_2_each_line_is_used_once(table, turn):
    done = turn(
        table(hands={"Ida": "XXX"}),
        Ida="TRADE WITH Olle GIVE X GET £5\n" * 3,
        Olle="TRADE WITH Ida GIVE £5 GET X\n" * 2,
    )
    assert done.state.hands["Ida"] == "X" and done.state.money["Ida"] == 160
    assert done.refused == {"Ida": [3]}


def test_rule_2_the_writer_alone_is_told_and_by_what_is_his_own(table, turn):
    state = table(hands={"Ida": "A"})
    ida = "TRADE WITH Olle GIVE A GET Q"
    alone = turn(state, Ida=ida)
    mirrored = turn(state, Ida=ida, Olle="TRADE WITH Ida GIVE Q GET A")
    assert alone.problems["Ida"] == mirrored.problems["Ida"]
    assert alone.events == mirrored.events
    assert mirrored.problems["Olle"][0].message == "you had too few of the letter Q for it"
    poor = turn(state, Ida="TRADE WITH Olle GIVE £151 GET Q")
    assert poor.problems["Ida"][0].message == "you had not enough money for it"


def test_rule_2_what_is_not_done_lapses_with_the_turn(table, turn):
    first = turn(table(hands={"Ida": "A"}), Ida="TRADE WITH Olle GIVE A GET £5")
    second = turn(first.state, Olle="TRADE WITH Ida GIVE £5 GET A")
    assert second.state.hands["Ida"] == "A" and second.refused == {"Olle": [1]}


def test_rule_2_the_event_says_what_changed_hands(table, turn):
    done = turn(
        table(hands={"Olle": "EA"}),
        Olle="TRADE WITH Ida GIVE E, A GET NOTHING",
        Ida="TRADE WITH Olle GIVE NOTHING GET AE",
    )
    (facts,) = done.facts("trade")
    assert facts["seats"] == ["Ida", "Olle"] and facts["rule"] == "2"
    assert facts["gives"] == {"letters": "", "money": 0, "text": "NOTHING"}
    assert facts["gets"] == {"letters": "AE", "money": 0, "text": "A, E"}


things = st.builds(
    Things,
    st.text("AB", max_size=2).map(lambda letters: "".join(sorted(letters))),
    st.none() | st.integers(1, 3),
)
lines = st.lists(
    st.tuples(st.sampled_from([(0, 1), (0, 2), (1, 2)]), things, things, st.integers(0, 3)),
    max_size=14,
)


def one_by_one(state, orders):
    """Settle by the letter of rule 2: look at all pairs of lines anew after each trade."""
    money, hands = dict(state.money), {seat: Counter(state.hands[seat]) for seat in SEATS}
    left = {seat: list(orders.get(seat, ())) for seat in SEATS}

    def can(seat, given):
        return money[seat] >= (given.money or 0) and not Counter(given.letters) - hands[seat]

    def move(giver, taker, given):
        money[giver] -= given.money or 0
        money[taker] += given.money or 0
        hands[giver] -= Counter(given.letters)
        hands[taker] += Counter(given.letters)

    done = []
    while True:
        pairs = [
            (a.line + b.line, i, j, a.line, a, b)
            for i, one in enumerate(SEATS)
            for j, other in enumerate(SEATS)
            if i < j
            for a in left[one]
            for b in left[other]
            if a.seat == other and b.seat == one and (a.goods, a.price) == (b.price, b.goods)
            if can(one, a.goods) and can(other, a.price)
        ]
        if not pairs:
            return money, {seat: "".join(sorted(hands[seat].elements())) for seat in SEATS}, done
        _, i, j, _, a, b = min(pairs, key=lambda pair: pair[:4])
        move(SEATS[i], SEATS[j], a.goods)
        move(SEATS[j], SEATS[i], a.price)
        left[SEATS[i]].remove(a)
        left[SEATS[j]].remove(b)
        done.append((SEATS[i], SEATS[j], a.line, b.line))


class Marked(Trade):
    """A trade that is equal to itself only, as lists of lines need it."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


@settings(max_examples=200, deadline=None)
@given(lines, st.integers(0, 2**32))
def test_rule_2_settling_is_as_if_all_were_looked_at_anew(drawn, seed):
    rng = Random(seed)
    sheets = {seat: [] for seat in SEATS}
    for (i, j), given_, got, extra in drawn:
        for _ in range(1 + (extra == 1)):
            sheets[SEATS[i]].append((SEATS[j], given_, got))
        if extra != 2:
            sheets[SEATS[j]].append((SEATS[i], got, given_))
    orders = {}
    for seat, sheet in sheets.items():
        rng.shuffle(sheet)
        orders[seat] = [Marked(*each, line=at) for at, each in enumerate(sheet, 1)]
    state = alphabet.load(
        {"phase": "play", "round": 1, "hands": {"Ida": "AB", "Olle": "AAB"}, "money": {"Petra": 4}},
        SEATS,
        {"words": "towns"},
    )
    outcome = trades.settle(state, orders)
    money, hands, done = one_by_one(state, orders)
    assert outcome.state.money == money and outcome.state.hands == hands
    refused = sum(map(len, outcome.problems.values()))
    assert refused == sum(map(len, orders.values())) - 2 * len(done)
    assert [event.facts["seats"] for event in outcome.events] == [[a, b] for a, b, _, _ in done]
    for seat, found in outcome.problems.items():
        used = {a for s, _, a, _ in done if s == seat} | {b for _, s, _, b in done if s == seat}
        assert {problem.line for problem in found} == {t.line for t in orders[seat]} - used


@pytest.mark.parametrize("amount", [1, 1000])
def test_rule_2_a_thousand_lines_are_settled(table, turn, amount):
    text = "".join(f"TRADE WITH Olle GIVE £{n % 7 + 1} GET £{n % 5 + 1}\n" for n in range(amount))
    back = "".join(f"TRADE WITH Ida GIVE £{n % 5 + 1} GET £{n % 7 + 1}\n" for n in range(amount))
    done = turn(table(), Ida=text, Olle=back)
    assert sum(done.state.money.values()) == 450
    left = sum(map(len, done.refused.values()))
    assert len(done.facts("trade")) > amount // 7 and left == 2 * (
        amount - len(done.facts("trade"))
    )
