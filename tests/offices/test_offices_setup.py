"""Set-up, options, and what `load` says to positions that can't be."""

from random import Random
from typing import Any

import pytest

from pbem import game as games
from pbem.game import Json
from pbem.games import offices
from pbem.games.offices.position import State
from tests.offices.tables import NAMES, play, sits, table

SEATS = ("Red", "Blue", "Green")


def begin(seed: str = "x", seats: tuple[str, ...] = SEATS, **options: Any) -> State:
    read = games.read_options(offices.OPTIONS, options, "offices")
    return offices.setup(seats, read, games.chance(seed, 0, "setup"))


def test_setup_shuffles_all_office_numbers_and_deals_in_seat_order() -> None:
    numbers = [1, 2, 3, 4, 5]
    games.chance("a seed", 0, "setup").shuffle(numbers)
    state = begin("a seed")
    assert [state.held[seat].number for seat in SEATS] == numbers[:3]


def test_setup_deals_the_rest_in_seat_order_where_some_are_placed() -> None:
    numbers = [1, 2, 3, 4, 5]
    games.chance("a seed", 0, "setup").shuffle(numbers)
    numbers.remove(5)
    state = begin("a seed", start={"Blue": "Consul"})
    assert [state.held[seat].number for seat in SEATS] == [numbers[0], 5, numbers[1]]


def test_setup_places_by_name_beginning_or_number() -> None:
    state = begin(start={"Red": "Consul", "blue": 2, "Green": "mag"})
    assert sits(state) == "Green Blue - - Red"


def test_setup_gives_gold_to_all_or_by_seat() -> None:
    assert begin(gold=7).gold == dict.fromkeys(SEATS, 7)
    assert begin(gold={"Blue": 12}).gold == {"Red": 10, "Blue": 12, "Green": 10}


def test_setup_takes_other_offices_by_name_or_with_numbers() -> None:
    offices_ = [{"name": "King", "number": 9}, {"name": "Fool", "number": 2}, "Page"]
    state = begin(offices=offices_)
    assert [(o.number, o.name) for o in state.offices] == [(2, "Fool"), (3, "Page"), (9, "King")]
    assert {office.holder for office in state.offices} == set(SEATS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"offices": "Consul"}, "option offices: a list of offices is needed"),
        ({"offices": ["Consul"]}, "option offices: 2 to 99 offices are needed, not 1"),
        ({"offices": ["Consul", "CONSUL", "x"]}, "two offices have the name CONSUL"),
        ({"offices": [{"name": "A", "number": 2}, "B", "C"]}, "two offices have the number 2"),
        ({"offices": ["A", 5, "C"]}, "an office's name is a text, not 5"),
        ({"offices": ["A", "7", "C"]}, "no order line could name the office '7'"),
        ({"offices": ["A", "B, and C", "D"]}, "no order line could name the office 'B, and C'"),
        ({"offices": ["A", "B\nSTAY", "C"]}, "no order line could name"),
        ({"offices": [{"name": "A", "rank": 1}, "B"]}, "an office is a name or"),
        ({"offices": ["A", "B"]}, "3 seats need as many offices or more"),
        ({"start": {"Pink": "Consul"}}, "option start: 'Pink' is no seat; there are: Red, Blue"),
        ({"start": {"Red": "Emperor"}}, "option start: no office is called Emperor"),
        ({"start": {"Red": 7}}, "option start: no office has the number 7"),
        ({"start": {"Red": 5, "Blue": "Consul"}}, "option start: two seats begin on Consul"),
        ({"start": {"Red": 5, "red": 4}}, "option start: Red is named twice"),
        ({"start": {"Red": None}}, "option start: Red needs an office's name or number"),
        ({"start": "Red"}, "option start: an office's name or number for each seat"),
        ({"gold": -1}, "option gold: -1 is out of range"),
        ({"gold": "ten"}, "option gold: a whole number is needed, not 'ten'"),
        ({"gold": True}, "option gold: a whole number is needed"),
        ({"gold": {"Red": 2.5}}, "option gold: a whole number is needed, not 2.5"),
        ({"gold": {"Pink": 3}}, "option gold: 'Pink' is no seat"),
        ({"goods": ["blue"]}, "option goods: a list of colours for each seat is needed"),
        ({"goods": {"Red": "blue"}}, "option goods: Red needs a list of colours"),
        ({"goods": {"Red": ["pink"]}}, "option goods: no colour is called pink"),
        ({"goods": {"Red": [4]}}, "option goods: a colour is a text, not 4"),
        ({"goods": {"Pink": ["blue"]}}, "option goods: 'Pink' is no seat"),
        ({"gold_open": "yes"}, "option gold_open: true or false is needed"),
        ({"rounds": 0}, "option rounds: 0 is out of range"),
        ({"decide": "later"}, "option decide: 'later' is none of: plans, live"),
        ({"colour": 1}, "offices has no option 'colour'"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_a_sentence(options: Json, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        begin(**options)
    assert said in str(caught.value)


@pytest.mark.parametrize("seats", [("Red",), ("A", "B", "C", "D", "E", "F")])
def test_setup_needs_2_to_5_seats(seats: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="2 to 5 seats are needed"):
        begin(seats=seats)


def test_a_state_by_hand_may_lack_what_goes_without_saying() -> None:
    data = {"offices": [{"name": NAMES[4], "holder": "Red"}, {"name": NAMES[0], "holder": "Blue"}]}
    state = offices.load(data, ("Red", "Blue"), {})
    assert (state.phase, state.round, state.acted) == ("auction", 1, ())
    assert state.gold == {"Red": 10, "Blue": 10}
    assert [office.number for office in state.offices] == [1, 5]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"phase": "bidding"}, "phase: 'bidding' is none of: auction, income, over"),
        ({"round": 0}, "round: a whole number of 1 or more is needed, not 0"),
        ({"offices": None}, "offices: a list of offices is needed"),
        ({"offices": [3]}, "offices[0]: an object is needed, not 3"),
        ({"gold": [1]}, "gold: an object is needed"),
        ({"gold": {"Irene": -1}}, "gold.Irene: a whole number of 0 or more is needed, not -1"),
        ({"gold": {"Zoe": 1}}, "gold: 'Zoe' is no seat; there are: Basil, Irene"),
        ({"goods": {"Irene": {"pink": 1}}}, "goods.Irene: 'pink' is no colour"),
        ({"goods": {"Irene": {"red": "one"}}}, "goods.Irene.red: a whole number"),
        ({"acted": "Irene"}, "acted: a list of seats is needed"),
        ({"acted": ["Zoe"]}, "acted: 'Zoe' is no seat"),
        ({"active": "Zoe"}, "active: 'Zoe' is no seat"),
        ({"challenge": {"office": "Emperor"}}, "challenge.office: 'Emperor' is no office"),
        ({"challenge": {"office": NAMES[4], "challenger": "Irene", "bid": 1}}, "who challenges"),
        (
            {"challenge": {"office": NAMES[1], "challenger": "Irene", "bid": 0}},
            "challenge.bid: a whole number of 1 or more",
        ),
        (
            {"challenge": {"office": NAMES[1], "challenger": "Irene", "bid": 11}},
            "challenge.bid: Irene has only 10 gold, not 11",
        ),
        (
            {"challenge": {"office": NAMES[1], "challenger": "Irene", "bid": 1}, "active": "Basil"},
            "active: in a challenge it is Irene, not Basil",
        ),
        (
            {"vacated": {"seat": "Irene", "office": NAMES[4]}},
            "vacated.seat: Irene is not displaced",
        ),
        ({"vacated": {"seat": "Irene", "office": NAMES[0]}}, "vacated.office: Magister Officiorum"),
        ({"plans": {"Irene": "TAKE Emperor"}}, "plans.Irene, line 1: no office is called Emperor"),
        ({"plans": {"Irene": 5}}, "plans.Irene: a text is needed"),
        ({"discarded": -3}, "discarded: a whole number"),
    ],
)
def test_load_names_the_part_that_is_wrong(changes: Json, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        table(state=changes)
    assert said in str(caught.value)


def test_load_refuses_a_seat_without_office_unless_it_was_displaced() -> None:
    with pytest.raises(ValueError, match="offices: Leo holds none"):
        table("Irene Basil - - - / Leo")
    assert table("Irene Basil - - - / Leo", state={"active": "Leo"}).active == "Leo"


def test_load_refuses_a_seat_on_two_offices() -> None:
    with pytest.raises(ValueError, match="Irene holds another one too"):
        offices.load({"offices": [{"name": n, "holder": "Irene"} for n in NAMES]}, SEATS_2, {})


SEATS_2 = ("Irene", "Basil")


def test_a_match_ended_by_the_game_master_in_the_middle_is_stored_and_read() -> None:
    question = play(table(decide="live"), Irene="TAKE 2").state
    data = offices.dump(games.ended(question))
    assert (data["phase"], data["challenge"], data["active"], data["winners"]) == (
        "over",
        None,
        None,
        [],
    )
    over = offices.load(data, question.seats, {})
    assert offices.dump(over) == data
    assert offices.adjudicate(over, {}, Random(1)).state == over


def test_nobody_wins() -> None:
    assert offices.winners(play(table()).state) == []
