"""Rule 11: live questions, who is asked, who isn't, and what an answer does."""

import pytest

from pbem.game import Json
from pbem.games import offices
from pbem.games.offices import auction
from tests.offices.tables import kinds, play, refused, sits, table

LIVE: Json = {"decide": "live"}


def asked(state: object) -> list[str]:
    return list(offices.waiting(state))  # type: ignore[arg-type]


def test_rule_11_the_round_begins_with_sealed_plans_of_all() -> None:
    assert asked(table("Irene Basil Theo - -", **LIVE)) == ["Basil", "Irene", "Theo"]


def test_rule_11_an_active_seat_whose_wishes_are_exhausted_is_asked() -> None:
    played = play(table(**LIVE), Basil="STAY", Irene="TAKE 5 UP TO 1")
    assert asked(played.state) == ["Irene"]
    assert kinds(played)[-1] == "asked"


def test_rule_11_a_holder_without_a_fitting_line_is_asked() -> None:
    played = play(table(**LIVE), Irene="TAKE 2 UP TO 3", Basil="DEFEND 5 UP TO 9/STAY")
    assert asked(played.state) == ["Basil"]
    challenge = offices.dump(played.state)["challenge"]
    assert (challenge["bid"], challenge["limit"], challenge["to_answer"]) == (1, 3, "Basil")


def test_rule_11_a_general_line_settles_it() -> None:
    played = play(table(**LIVE), Irene="TAKE 2", Basil="DEFEND UP TO 0/TAKE 1")
    assert played.state.phase == "over"


def test_rule_11_a_holder_who_cannot_raise_is_not_asked() -> None:
    start = table("Irene Basil - - -", {"Irene": 9, "Basil": 1}, **LIVE)
    assert play(start, Irene="TAKE 2", Basil="TAKE 1").state.phase == "over"


def test_rule_11_an_active_seat_that_could_only_stay_is_not_asked() -> None:
    start = table("Irene Basil - - -", {"Irene": 1, "Basil": 9}, {2: 1}, **LIVE)
    assert play(start, Basil="STAY").state.phase == "over"


def test_rule_11_an_active_seat_with_1_gold_and_an_empty_area_is_asked() -> None:
    start = table("Irene Basil - - -", {"Irene": 1, "Basil": 9}, **LIVE)
    assert asked(play(start, Basil="STAY").state) == ["Irene"]


@pytest.mark.parametrize(("gold", "is_asked"), [(0, False), (1, False), (2, True)])
def test_rule_11_a_displaced_seat_is_asked_where_it_could_pay_for_another_office(
    gold: int, is_asked: bool
) -> None:
    start = table("Irene Basil - - -", {"Irene": 9, "Basil": gold}, {2: 2}, **LIVE)
    played = play(start, Irene="TAKE 2", Basil="DEFEND UP TO 0")
    assert (asked(played.state) == ["Basil"]) is is_asked


def test_rule_11_a_displaced_seat_with_one_free_office_and_no_rival_in_reach_is_not_asked() -> None:
    # Five seats: the only free office is the one that rule 10 takes, and others are too dear.
    state = {
        "acted": ["Irene", "Basil", "Theo", "Zoe", "Leo"],
        "active": "Leo",
        "gold": {"Irene": 9, "Basil": 9, "Theo": 9, "Zoe": 9, "Leo": 3},
    }
    start = table("Irene Basil Theo Zoe - / Leo", 9, {1: 3, 2: 3, 3: 3, 4: 3}, state, **LIVE)
    assert not play(start, Leo="STAY").state.active
    open_to = table("Irene Basil Theo Zoe - / Leo", 9, {1: 2, 2: 3, 3: 3, 4: 3}, state, **LIVE)
    assert auction.has_choice(open_to, "Leo")
    assert not auction.has_choice(start, "Leo")


def test_rule_11_only_the_seat_that_is_asked_can_send_anything() -> None:
    question = play(table(**LIVE), Basil="STAY").state
    played = play(question, Irene="TAKE 5", Basil="DEFEND UP TO 3/TAKE 1")
    assert refused(played, "Basil") == [1, 2]
    assert refused(played, "Irene") == []
    assert sits(played.state) == "- Basil - - Irene"


def test_rule_11_an_answer_replaces_the_plan_kind_by_kind() -> None:
    plan = "TAKE 1 UP TO 0/DEFEND 5 UP TO 3/GOOD red"
    question = play(table(**LIVE), Basil=plan, Irene="STAY").state
    assert asked(question) == ["Basil"]
    played = play(question, Basil="STAY")
    assert played.state.goods["Basil"] == {"red": 1}
    kept = play(question, Basil="DEFEND UP TO 4/GOOD blue/TAKE 4").state
    assert kept.goods["Basil"] == {}
    assert sits(kept) == "Irene - - Basil -"


def test_rule_11_pass_does_not_raise_in_this_challenge_only() -> None:
    question = play(table("Irene Basil Theo - -", **LIVE), Irene="TAKE 2 UP TO 9").state
    after = play(question, Basil="PASS/DEFEND UP TO 9/TAKE 1").state
    assert sits(after) == "Basil Irene Theo - -"
    assert after.plans["Basil"].limits == {None: 9}
    attacked = play(after, Theo="TAKE 1 UP TO 2").state
    assert attacked.held["Basil"].name == "Magister Officiorum"


def test_rule_11_pass_of_an_active_seat_is_rule_10() -> None:
    question = play(table(**LIVE), Basil="STAY").state
    played = play(question, Irene="PASS/TAKE 5")
    assert sits(played.state) == "Irene Basil - - -"


def test_rule_11_pass_of_a_displaced_seat_takes_what_is_offered() -> None:
    question = play(table(**LIVE), Irene="TAKE 2", Basil="DEFEND UP TO 0").state
    assert asked(question) == ["Basil"]
    assert sits(play(question, Basil="PASS").state) == "Basil Irene - - -"


def test_rule_11_silence_is_rule_10_and_each_decision_is_asked_once() -> None:
    question = play(table(**LIVE), Irene="TAKE 2 UP TO 9", Basil="TAKE 1").state
    assert sits(play(question).state) == "Basil Irene - - -"


def test_rule_11_an_answer_that_leaves_the_question_open_is_rule_10() -> None:
    question = play(table(**LIVE), Irene="TAKE 2 UP TO 9", Basil="TAKE 1").state
    assert sits(play(question, Basil="TAKE 1/DEFEND 5 UP TO 9").state) == "Basil Irene - - -"


def test_rule_11_after_a_challenge_lost_the_next_choice_is_a_new_decision() -> None:
    start = table(**LIVE)
    question = play(start, Basil="STAY/DEFEND UP TO 2").state
    again = play(question, Irene="TAKE 2 UP TO 1").state
    assert asked(again) == ["Irene"]
    assert again.gold["Basil"] == 8


def test_rule_11_a_single_offer_stays_used_up_between_two_decisions() -> None:
    question = play(table(**LIVE), Irene="TAKE 2/TAKE 5 UP TO 1", Basil="STAY").state
    assert offices.dump(question)["plans"]["Irene"] == "TAKE Consul UP TO 1"


def test_rule_11_pass_in_a_sealed_plan_is_refused() -> None:
    assert refused(play(table(**LIVE), Irene="PASS/STAY", Basil="STAY"), "Irene") == [1]


def test_rule_11_a_saved_question_goes_on_as_if_never_saved() -> None:
    start = table("Irene Basil Theo - -", **LIVE)
    question = play(start, Irene="TAKE 2 UP TO 5", Theo="GOOD red/STAY").state
    data = offices.dump(question)
    again = offices.load(data, question.seats, {"decide": "live"})
    assert again == question
    answer = {"Basil": "DEFEND UP TO 4/TAKE 4"}
    assert play(again, **answer) == play(question, **answer)


def test_rule_11_a_challenge_saved_with_the_holders_offer_goes_on() -> None:
    challenge = {
        "office": "Praefectus Pretorio",
        "challenger": "Irene",
        "holder": "Basil",
        "bid": 2,
        "limit": 3,
        "to_answer": "Irene",
    }
    state = {"acted": ["Irene"], "active": "Irene", "challenge": challenge}
    state["plans"] = {"Basil": "DEFEND UP TO 9", "Irene": "STAY"}
    played = play(table(state=state, **LIVE))
    assert played.state.gold == {"Irene": 10, "Basil": 6}
