"""What lines are orders, what offices are called, and what is refused on arrival."""

from random import Random

import pytest

from pbem.games import offices
from pbem.games.offices.language import Defend, Gold, Good, Take
from tests.offices.tables import play, refused, sits, table

RNG = Random(1)


@pytest.mark.parametrize(
    "line",
    [
        "TAKE 5 UP TO 3",
        "take consul up to 3",
        "Take  con   UP TO 3 gold.",
        "- TAKE Cons: UP TO 3",
        "**TAKE Consul UP TO 3**",
        "TAKE cónsul, up to 3!",
    ],
)
def test_an_office_is_named_by_number_name_or_beginning(line: str) -> None:
    played = play(table(), Irene=line)
    assert refused(played, "Irene") == []
    assert sits(played.state) == "- Basil - - Irene"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("TAKE Praefectus", "may be Praefectus Pretorio or Praefectus Urbi"),
        ("TAKE Konsul", "did you mean Consul"),
        ("TAKE Co", "no office is called Co"),
        ("TAKE 6", "no office has the number 6; there are: 1 Magister Officiorum"),
        ("TAKE Consul UP TO -1", "a limit is 0 or more"),
        ("TAKE", "the order is: TAKE <office> [UP TO <gold>]"),
        ("DEFEND Consul", "the order is: DEFEND [<office>] UP TO <gold>"),
        ("DEFFEND Consul UP TO 5", "did you mean DEFEND"),
        ("GOOD purple", "no colour is called purple; there are: green, blue, red, yellow"),
        ("GOOD", "the order is: GOOD <colour>"),
        ("PASS", "PASS answers a question"),
        ("GOLD Irene 5", "the game master's order"),
    ],
)
def test_a_line_is_refused_with_a_sentence_that_helps(line: str, said: str) -> None:
    played = play(table(), Irene=f"Hello!/{line}/STAY")
    assert [(p.line, said in p.message) for p in played.problems["Irene"]] == [(2, True)]


@pytest.mark.parametrize(
    "line",
    [
        "Good luck, everybody!",
        "Good morning",
        "Take care",
        "Take it easy",
        "Stay safe!",
        "Stay in touch",
        "I would stay if I were you",
        "take this, and that",
        "Pass it on",
    ],
)
def test_everyday_words_are_chat_and_never_refused(line: str) -> None:
    reading = offices.GRAMMAR.read(line)
    assert (reading.orders, reading.problems) == ((), ())


def test_two_lines_on_one_line_are_read_apart() -> None:
    reading = offices.GRAMMAR.read("TAKE Consul UP TO 3; DEFEND UP TO 2; GOOD blue")
    assert reading.orders == (Take("Consul", 3), Defend(None, 2), Good("blue"))


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("GOLD Irene 5", 5),
        ("GOLD Irene +5", 5),
        ("GOLD Irene -5", -5),
        ("GOLD Irene \N{MINUS SIGN}5", -5),
        ("GOLD Irene - 5", -5),
        ("GOLD Irene: -5", -5),
        ("gold Irene = 5 gold", 5),
    ],
)
def test_gold_keeps_its_sign_however_it_is_written(line: str, change: int) -> None:
    assert offices.GRAMMAR.read(line, gm=True).orders == (Gold("Irene", change),)


def test_the_game_master_is_asked_for_what_was_earned_between_two_rounds() -> None:
    at_auction = table(rounds=2)
    assert offices.asks(at_auction) == ("", [])
    said, lines = offices.asks(play(at_auction).state)
    assert said.startswith("Round 1 is over")
    assert lines == [f"GOLD {seat} __" for seat in at_auction.seats]


def test_gold_is_refused_below_nothing_for_strangers_and_outside_the_income_phase() -> None:
    income = play(table(gold={"Irene": 3, "Basil": 0}, rounds=2)).state
    played = play(income, gm="GOLD Irene -2/GOLD Irene -2/GOLD Basil 1/GOLD Basil -2/GOLD Zoe 3")
    assert refused(played, None) == [2, 4, 5]
    assert played.state.gold == {"Irene": 1, "Basil": 1}
    assert refused(play(table(), gm="GOLD Irene 5"), None) == [1]


def test_gold_that_no_longer_fits_at_the_turn_is_refused_then() -> None:
    income = play(table(gold=2, rounds=2)).state
    outcome = offices.adjudicate(
        income, {None: [Gold("Irene", -2), Gold("Irene", -1, line=2)]}, RNG
    )
    assert [problem.line for problem in outcome.problems[None]] == [2]


def test_players_lines_are_refused_in_income_and_when_all_is_over() -> None:
    income = play(table(rounds=2)).state
    assert offices.waiting(income) == []
    assert refused(play(income, Irene="STAY/TAKE 5"), "Irene") == [1, 2]
    assert refused(play(play(table()).state, Irene="STAY"), "Irene") == [1]


def test_a_colour_that_the_seat_may_not_have_is_refused_and_does_not_count() -> None:
    start = table(goods={"Basil": ["blue", "yellow"]})
    played = play(start, Basil="GOOD yellow/GOOD green")
    assert refused(played, "Basil") == [2]
    assert played.state.goods["Basil"] == {"yellow": 1}


def test_a_wish_that_cannot_be_done_is_no_fault() -> None:
    assert refused(play(table(gold=0), Irene="TAKE 5/TAKE 2 UP TO 9/STAY/TAKE 4"), "Irene") == []


def test_without_a_match_the_packaged_names_count() -> None:
    text = (
        "TAKE Consul\nTAKE 5 UP TO 3\nTAKE Emperor\nTAKE 6\nGOOD red\nGOOD purple\nDEFEND UP TO 2"
    )
    lines = [line.number for line in offices.GRAMMAR.read(text, packaged=True).lines if line.order]
    assert lines == [1, 2, 5, 7]


def test_every_order_reads_back_as_it_is_written() -> None:
    orders = (Take("Praefectus Urbi", 3), Take("Consul"), Defend(None, 0), Defend("Consul", 9))
    for order in orders:
        assert offices.GRAMMAR.read(offices.GRAMMAR.write(order)).orders == (order,)
