"""The rules of the auction, 1 to 10, one by one."""

import pytest

from tests.offices.tables import kinds, play, sits, table

EXAMPLE = {
    "Green": "TAKE Comes",
    "Blue": "STAY/DEFEND UP TO 2/TAKE Consul",
    "Red": "TAKE Magister UP TO 1/TAKE Praefectus Pretorio UP TO 3",
    "Yellow": "TAKE Magister",
}


def test_the_printed_example_comes_out() -> None:
    played = play(table("Green Blue Red Yellow -"), **EXAMPLE)
    state = played.state
    assert sits(state) == "Yellow Red Green - Blue"
    assert state.gold == {"Blue": 8, "Green": 13, "Red": 7, "Yellow": 9}
    assert state.discarded == 7
    assert state.goods["Red"] == {"green": 1}
    assert state.phase == "over"


def test_the_printed_example_is_told_move_by_move() -> None:
    played = play(table("Green Blue Red Yellow -"), **EXAMPLE)
    assert kinds(played) == [
        "round",
        *("active", "offers", "passes", "conquers", "displaced", "takes"),
        *("active", "keeps"),
        *("active", "offers", "passes", "conquers", "displaced"),
        *("offers", "lapses", "raises", "passes", "conquers", "displaced", "takes"),
        *("discarded", "good", "treasury", "order", "over"),
    ]
    rules = [event.facts.get("rule") for event in played.events if event.kind == "takes"]
    assert rules == ["6", "3"]


def test_the_order_of_play_is_told_by_office_number() -> None:
    played = play(table("Green Blue Red Yellow -"), **EXAMPLE)
    (order,) = [event for event in played.events if event.kind == "order"]
    told = [(one["seat"], one["number"]) for one in order.facts["seats"]]
    assert told == [("Yellow", 1), ("Red", 2), ("Green", 3), ("Blue", 5)]


def test_rule_1_the_lowest_number_is_active_first_and_each_seat_once() -> None:
    played = play(table("- Theo Irene - Basil"), Theo="TAKE Praefectus Urbi")
    active = [event.facts["seat"] for event in played.events if event.kind == "active"]
    assert active == ["Theo", "Irene", "Basil"]


def test_rule_2_keeping_costs_nothing_and_protects_from_nothing() -> None:
    played = play(table("Irene Basil - - -"), Irene="STAY", Basil="TAKE Magister UP TO 1")
    assert sits(played.state) == "Basil Irene - - -"
    assert played.state.gold == {"Irene": 10, "Basil": 9}


@pytest.mark.parametrize(("gold", "limit", "moves"), [(2, 2, True), (1, 9, False), (9, 1, False)])
def test_rule_3_a_free_office_needs_2_gold_and_a_limit_of_2(
    gold: int, limit: int, moves: bool
) -> None:
    start = table("Irene Basil - - -", {"Irene": gold, "Basil": 5})
    played = play(start, Irene=f"TAKE Consul UP TO {limit}")
    assert (sits(played.state) == "- Basil - - Irene") is moves
    assert played.state.gold["Irene"] == gold - 2 * moves


def test_rule_3_the_2_gold_are_added_to_what_lies_there() -> None:
    played = play(table("Irene Basil - - -", lying={5: 3}), Irene="TAKE Consul")
    assert played.state.discarded == 5


@pytest.mark.parametrize(
    ("challenger", "holder", "winner", "price"),
    [
        (1, 0, "challenger", 1),
        (1, 1, "challenger", 1),
        (1, 2, "holder", 2),
        (2, 2, "holder", 2),
        (3, 2, "challenger", 3),
        (3, 3, "challenger", 3),
        (4, 4, "holder", 4),
        (9, 5, "challenger", 7 - 2),
        (9, 6, "challenger", 7),
    ],
)
def test_rule_4_least_raises_decide_by_parity(
    challenger: int, holder: int, winner: str, price: int
) -> None:
    plans = {
        "Irene": f"TAKE 2 UP TO {challenger}",
        "Basil": f"DEFEND UP TO {holder}/TAKE 1 UP TO 0",
    }
    played = play(table("Irene Basil - - -"), **plans)
    gold = played.state.gold
    if winner == "challenger":
        assert sits(played.state) == "Basil Irene - - -"
        assert gold == {"Irene": 10 - price, "Basil": 10}
    else:
        assert sits(played.state) == "Irene Basil - - -"
        assert gold == {"Irene": 10, "Basil": 10 - price}


def test_rule_4_offers_begin_above_what_lies_there_and_are_added_to_it() -> None:
    played = play(table("Irene Basil - - -", lying={2: 4}), Irene="TAKE 2 UP TO 5")
    assert played.state.gold["Irene"] == 5
    assert played.state.discarded == 9


def test_rule_4_nobody_offers_more_than_he_has() -> None:
    start = table("Irene Basil - - -", {"Irene": 4, "Basil": 3})
    played = play(start, Irene="TAKE 2 UP TO 99", Basil="DEFEND UP TO 99")
    assert sits(played.state) == "Basil Irene - - -"
    assert played.state.gold == {"Irene": 1, "Basil": 3}


def test_rule_4_rich_seats_bid_to_the_end_at_once() -> None:
    rich = 10**9
    played = play(table("Irene Basil - - -", rich), Irene="TAKE 2 UP TO 999999999999", Basil=DEFEND)
    assert played.state.gold["Irene"] == rich
    assert played.state.gold["Basil"] == 0


DEFEND = "DEFEND UP TO 999999999999"


def test_rule_5_the_loser_chooses_again_even_the_same_office() -> None:
    plan = "TAKE 2 UP TO 1/TAKE 2 UP TO 5"
    played = play(table("Irene Basil - - -"), Irene=plan, Basil="DEFEND UP TO 2/TAKE 1")
    assert sits(played.state) == "Basil Irene - - -"
    assert played.state.gold == {"Irene": 7, "Basil": 8}


def test_rule_5_the_displaced_seat_is_active_before_all_others() -> None:
    played = play(table("Irene Theo Basil - -"), Irene="TAKE 3", Basil="TAKE 2", Theo="TAKE 1")
    told = [(e.kind, e.facts["seat"]) for e in played.events if e.kind in ("displaced", "active")]
    assert told == [("active", "Irene"), ("displaced", "Basil"), ("displaced", "Theo")]


def test_rule_6_the_office_just_left_is_free_of_charge_whatever_the_limit_says() -> None:
    played = play(table("Irene Basil - - -"), Irene="TAKE 2", Basil="TAKE 1 UP TO 0")
    assert sits(played.state) == "Basil Irene - - -"
    assert played.state.gold["Basil"] == 10


def test_rule_6_wishes_passed_over_do_not_lapse_the_offer() -> None:
    start = table("Irene Basil Theo - -", lying={3: 10})
    played = play(start, Irene="TAKE 2", Basil="TAKE 3 UP TO 9/TAKE 5 UP TO 1/TAKE 1")
    assert sits(played.state) == "Basil Irene Theo - -"
    assert played.state.gold["Basil"] == 10


def test_rule_6_an_offer_in_a_challenge_lapses_it() -> None:
    plans = {"Irene": "TAKE 2", "Basil": "TAKE 3 UP TO 1/TAKE 1", "Theo": "DEFEND UP TO 2"}
    played = play(table("Irene Basil Theo - -"), **plans)
    assert sits(played.state) == "Basil Irene Theo - -"
    assert played.state.gold["Basil"] == 8
    assert "lapses" in kinds(played)


def test_rule_6_a_seat_displaced_by_one_without_office_is_offered_nothing() -> None:
    plans = {"Irene": "TAKE 2", "Basil": "TAKE 3", "Theo": "TAKE 5 UP TO 1"}
    played = play(table("Irene Basil Theo - -"), **plans)
    assert sits(played.state) == "Theo Irene Basil - -"
    assert played.state.gold["Theo"] == 8


@pytest.mark.parametrize("purse", [0, 1])
def test_rule_7_the_last_resort_costs_what_the_seat_has(purse: int) -> None:
    start = table("Irene Basil Theo - -", {"Irene": 5, "Basil": 5, "Theo": purse}, lying={2: 1})
    played = play(start, Irene="TAKE 2", Basil="TAKE 3", Theo="TAKE Consul")
    assert sits(played.state) == "Theo Irene Basil - -"
    assert played.state.gold["Theo"] == 0
    assert [e.facts["rule"] for e in played.events if e.kind == "takes"] == ["7"]


def test_rule_8_the_good_is_the_later_line_and_only_for_the_holder() -> None:
    played = play(table(), Basil="GOOD red/GOOD yellow", Irene="GOOD blue")
    assert played.state.goods == {"Basil": {"yellow": 1}, "Irene": {}}


def test_rule_8_the_default_good_is_the_first_allowed_in_the_order_of_the_page() -> None:
    played = play(table(goods={"Basil": ["yellow", "blue"]}))
    assert played.state.goods["Basil"] == {"blue": 1}


def test_rule_8_a_seat_that_may_have_no_colour_gets_no_good() -> None:
    played = play(table(goods={"Basil": []}))
    assert played.state.goods["Basil"] == {}
    assert "good" not in kinds(played)


def test_rule_8_powers_go_by_name_and_not_by_number() -> None:
    offices = ["Consul", "Comes Thesaurorum", "Jester"]
    state = {
        "offices": [
            {"name": "Consul", "holder": "Irene"},
            {"name": "Comes Thesaurorum", "holder": "Basil"},
            {"name": "Jester"},
        ]
    }
    played = play(table(offices=offices, state=state))
    assert played.state.gold == {"Irene": 10, "Basil": 14}
    assert played.state.goods == {"Irene": {}, "Basil": {}}


def test_rule_9_the_first_wish_that_can_be_done_now_is_done() -> None:
    plan = "TAKE 2 UP TO 0/TAKE 4 UP TO 1/TAKE 5/STAY"
    assert sits(play(table(), Irene=plan).state) == "- Basil - - Irene"


def test_rule_9_a_single_offer_is_used_up_also_when_it_is_lost() -> None:
    plans = {"Irene": "TAKE 2", "Basil": "DEFEND UP TO 2/STAY"}
    played = play(table("Irene Basil - - -"), **plans)
    assert kinds(played).count("offers") == 1
    assert played.state.gold == {"Irene": 10, "Basil": 8}


def test_rule_9_a_single_offer_is_one_more_than_lies_there_however_much() -> None:
    played = play(table("Irene Basil - - -", lying={2: 8}), Irene="TAKE 2")
    assert played.state.gold["Irene"] == 1


def test_rule_9_a_line_that_got_a_free_office_stays() -> None:
    plans = {"Irene": "TAKE 5", "Basil": "TAKE 5 UP TO 9"}
    played = play(table("Irene Basil - - -"), **plans)
    offers = [event.facts["seat"] for event in played.events if event.kind == "offers"]
    assert offers == ["Basil", "Irene"]


def test_rule_9_limits_are_for_one_offer_and_not_a_sum() -> None:
    plans = {"Irene": "TAKE 2 UP TO 3/TAKE 3 UP TO 3", "Basil": "DEFEND UP TO 9", "Theo": "STAY"}
    played = play(table("Irene Basil Theo - -", 20), **plans)
    assert sits(played.state) == "Theo Basil Irene - -"


def test_rule_9_of_two_limits_the_named_one_goes_before_and_the_later_counts() -> None:
    plan = "DEFEND Pra UP TO 9/DEFEND 2 UP TO 7/DEFEND 2 UP TO 2/DEFEND UP TO 8"
    played = play(table("Irene Basil - - -"), Irene="TAKE 2 UP TO 3", Basil=plan)
    assert sits(played.state) == "Basil Irene - - -"


def test_rule_10_silence_stays_passes_and_takes_what_is_offered() -> None:
    played = play(table("Irene Basil - - -"), Irene="TAKE 2 UP TO 5")
    assert sits(played.state) == "Basil Irene - - -"
    assert played.state.gold == {"Irene": 9, "Basil": 10}


def test_income_adds_gold_lines_up_and_begins_the_next_round() -> None:
    income = play(table(rounds=2)).state
    played = play(income, gm="GOLD Irene 5/GOLD Irene -3/gold basil +1")
    assert played.state.gold == {"Irene": 12, "Basil": 11}
    assert (played.state.phase, played.state.round) == ("auction", 2)


def test_a_match_over_plays_nothing_more() -> None:
    over = play(table()).state
    assert play(over, Irene="TAKE 5").state == over
