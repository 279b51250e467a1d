"""The order lines: which are lawful when (Form, 4b), and what their writer is told."""

import pytest

from pbem.games import empires


@pytest.mark.parametrize(
    ("line", "lawful"),
    [
        ("BID Arabs 18", True),
        ("BID Arabs 17", False),
        ("BID Arabs 0", True),
        ("BID Arabs -20", False),
        ("BID Arabs - 20", True),
        ("BID Arabs-20", False),
        ("BID 20 Arabs", True),
        ("bid: arabs = 20 VP", True),
        ("BID Ara 20", True),
        ("BID Arbas 20", False),
        ("BID Arabs 20.5", False),
        ("BID Arabs", False),
        ("BID Goths 10", True),
        ("BID Huns 20", False),
        ("BID Huns 0", False),
        ("BID Byzantines 12", False),
        ("BID Byzantines 0", True),
        ("PREFER Huns, Byzantines, Goths", True),
        ("PREFER goths", True),
        ("PREFER Goths, Atlantis", False),
        ("PICK Goths", False),
        ("SCORE Ana 3", False),
    ],
)
def test_form_and_4b_what_a_bid_may_be(table, turn, line, lawful):
    state = table(
        4,
        round=2,
        claims={"Dag": {"empire": "Huns", "price": 14}},
        contested={"Byzantines": {"seats": ["Bo", "Cyd"], "minimum": 16}},
    )
    played = turn(state, Ana=line)
    assert played.refused == ({} if lawful else {"Ana": [1]})


def test_form_a_replaced_bid_stands_in_its_later_place(table, turn):
    text = "BID Huns 20\nBID Goths 20\nBID Huns 20"
    assert turn(table(2), Ana=text).claims["Ana"] == ("Goths", 20)


def test_form_a_faulty_later_line_leaves_the_earlier_bid_in_its_place(table, turn):
    text = "BID Huns 20\nBID Goths 20\nBID Huns 3"
    played = turn(table(2), Ana=text)
    assert played.claims["Ana"] == ("Huns", 20)
    assert played.refused == {"Ana": [3]}


def test_form_of_several_prefer_the_last_lawful_one_counts(table, turn):
    text = "BID Huns 20\nBID Goths 20\nBID Khmers 20\n"
    text += "PREFER Huns\nPREFER Goths\nPREFER Khmers, Atlantis"
    played = turn(table(2), Ana=text)
    assert played.claims["Ana"] == ("Goths", 20)
    assert played.refused == {"Ana": [6]}


@pytest.mark.parametrize(
    ("phase", "seat", "text", "stands"),
    [
        ("bid", "Ana", "BID Huns 20\nBID Goths 20\nBID hun 0\nBID Huns 3", [2, 3]),
        ("bid", "Ana", "PREFER Huns\nPREFER Goths\nPREFER Atlantis", [2]),
        ("pick", "Ana", "PICK Huns\nPICK Goths\nPICK Atlantis", [2]),
        ("score", None, "SCORE Ana 5\nSCORE Bo 6\nSCORE Ana 7\nSCORE Zoe 1", [2, 3]),
    ],
)
def test_form_what_a_later_line_replaces_is_neither_lawful_nor_refused(
    table, phase, seat, text, stands
):
    last = len(text.splitlines())
    orders = empires.GRAMMAR.read(text, gm=seat is None).orders
    claims = {"Bo": {"empire": "Arabs", "price": 20}} if phase == "pick" else {}
    lawful, problems = empires.check(table(2, phase=phase, claims=claims), seat, orders)
    assert [order.line for order in lawful] == stands
    assert [problem.line for problem in problems] == [last]


def test_form_who_has_an_empire_is_done(table, turn):
    state = table(3, round=2, claims={"Ana": {"empire": "Huns", "price": 14}})
    played = turn(state, Ana="BID Arabs 20\nPREFER Arabs")
    assert played.refused == {"Ana": [1, 2]}
    assert played.problems["Ana"][0].message == "you have Huns, and are done until the next epoch"


def test_form_score_is_the_game_masters_and_only_when_due(table, turn):
    assert turn(table(2), gm="SCORE Ana 5").refused == {None: [1]}
    state = table(2, phase="score")
    gm = "SCORE Ana -5\nSCORE Nobody 4\nSCORE Bo"
    played = turn(state, gm=gm, Ana="SCORE Ana 100", Bo="BID Arabs 20")
    assert played.refused == {None: [2, 3], "Ana": [1], "Bo": [1]}
    assert played.state.scores == {"Ana": -5}


def test_form_in_phase_pick_nobody_bids(table, turn):
    state = turn(table(2), Ana="BID Arabs 20").state
    played = turn(state, Bo="BID Huns 14\nPICK Huns", Ana="PICK Goths")
    assert played.refused == {"Bo": [1], "Ana": [1]}
    assert played.claims["Bo"] == ("Huns", 14)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("BID Arabs 17", "Arabs takes 0 or at least 18 this round, not 17"),
        ("BID Byzantines 15", "Byzantines is contested: only Bo and Cyd may bid on it this round"),
        ("BID Huns 20", "Huns is taken: Dag has it"),
        ("BID Gots 20", "no empire is called Gots; did you mean Goths?"),
        ("PICK Goths", "PICK can't be carried out: a round of bids is due now"),
    ],
)
def test_form_a_refusal_says_what_would_do(table, turn, line, said):
    state = table(
        4,
        round=2,
        claims={"Dag": {"empire": "Huns", "price": 14}},
        contested={"Byzantines": {"seats": ["Bo", "Cyd"], "minimum": 16}},
    )
    [problem] = turn(state, Ana=line).problems["Ana"]
    assert problem.message == said


def test_every_lawful_order_is_written_as_it_is_read(table):
    state = table(2)
    text = "BID Tang Dynasty 20\nPREFER Huns, Tang Dynasty"
    orders, _ = empires.check(state, "Ana", empires.GRAMMAR.read(text).orders)
    assert [empires.GRAMMAR.write(order) for order in orders] == text.splitlines()
