"""Rules 1 to 5a and the phases, played from order texts; each test bears the rule's number."""

import pytest

from pbem import game as games
from pbem.games import empires

ALIKE = {"Ana": "BID Arabs 20", "Bo": "BID Arabs 20"}


def test_rule_1_a_claim_is_paid_at_once_and_the_claimant_is_out(table, turn):
    played = turn(table(2, vp={"Ana": 5}), Ana="BID Arabs 60", Bo="BID Khmers 5")
    assert played.claims == {"Ana": ("Arabs", 60), "Bo": ("Khmers", 5)}
    assert played.state.vp == {"Ana": -55, "Bo": -5}
    assert [f["rules"] for f in played.facts("decided")] == [["1"], ["1"]]
    assert played.facts("charge")[0] == {"seat": "Ana", "price": 60, "vp": -55}


def test_rule_2_the_event_names_who_stood_before(table, turn):
    played = turn(table(2), Ana="BID Huns 27\nBID Goths 14", Bo="BID Goths 13")
    assert played.facts("decided")[1]["rules"] == ["2"]
    assert played.facts("decided")[1]["passed"] == ["Ana"]


def test_rule_3_the_event_has_the_numbers_that_decided(table, turn):
    played = turn(
        table(3, epoch=3),
        Ana="BID Romans 42",
        Bo="BID Macedonia 22\nBID Romans 35",
        Cyd="BID Macedonia 22\nBID Romans 37",
    )
    assert played.claims["Cyd"] == ("Macedonia", 22)
    decided = next(f for f in played.facts("decided") if f["empire"] == "Macedonia")
    assert decided["rules"] == ["3"]
    assert decided["compared"] == {"Cyd": [37], "Bo": [35]}


def test_rule_4_a_contest_is_for_the_tied_at_the_tied_amount(table, turn):
    played = turn(table(3), **ALIKE)
    assert played.state.contested == {"Arabs": (("Ana", "Bo"), 20)}
    assert (played.state.phase, played.state.round) == ("bid", 2)
    assert empires.waiting(played.state) == ["Ana", "Bo", "Cyd"]
    again = turn(played.state, Ana="BID Arabs 19\nBID Arabs 21", Cyd="BID Arabs 30\nBID Arabs 0")
    assert again.refused == {"Ana": [1], "Cyd": [1]}
    assert again.claims["Ana"] == ("Arabs", 21)


def test_rule_4a_blocked_is_open_to_all_in_the_next_round(table, turn):
    played = turn(
        table(3),
        Ana="BID Arabs 20\nBID Huns 15",
        Bo="BID Arabs 20\nBID Goths 15",
        Cyd="BID Huns 14",
    )
    blocked = played.facts("blocked")[0]
    assert (blocked["empire"], blocked["seat"], blocked["others"]) == ("Huns", "Ana", ["Cyd"])
    assert list(played.state.contested) == ["Arabs"]
    assert turn(played.state, Cyd="BID Huns 14").claims["Cyd"] == ("Huns", 14)


def test_rule_4b_a_restriction_lasts_one_round(table, turn):
    second = turn(table(3), **ALIKE).state
    third = turn(second).state
    assert third.contested == {}
    assert turn(third, Cyd="BID Arabs 18", Ana="", Bo="").claims["Cyd"] == ("Arabs", 18)


def test_rule_4b_references_of_an_earlier_round_are_forgotten(table, turn):
    second = turn(table(2), Ana="BID Arabs 20\nBID Huns 15", Bo="BID Arabs 20\nBID Huns 15").state
    played = turn(second, Ana="BID Arabs 20", Bo="BID Arabs 20\nBID Goths 10")
    assert played.claims == {"Bo": ("Arabs", 20)}


def test_rule_4c_the_roll_is_one_shuffle_of_the_tied_in_seat_order(table, turn):
    for number in range(1, 9):
        played = turn(table(4, round=3), number=number, **ALIKE, Dag="BID Huns 14")
        rng = games.chance("empires", number, "bid")
        tied = ["Ana", "Bo"]
        rng.shuffle(tied)
        picking = [seat for seat in ("Ana", "Bo", "Cyd") if seat != tied[0]]
        rng.shuffle(picking)
        rolls = [(f["rule"], f["order"]) for f in played.facts("dice")]
        assert rolls == [("4c", tied), ("5a", picking)]
        assert played.claims[tied[0]] == ("Arabs", 40)
        assert played.claims[picking[0]] == ("Khmers", 5)
        assert played.claims[picking[1]] == ("Guptas", 8)
        assert played.facts("without") == [{"seat": tied[1]}]


def test_rule_4c_nothing_is_rolled_where_nothing_is_tied(table, turn):
    played = turn(table(2, round=3), Ana="BID Arabs 20", Bo="BID Arabs 19\nBID Huns 14")
    assert played.facts("dice") == []
    assert played.state.phase == "score"


def test_rule_4c_the_dearest_first_and_prefer_among_equals(table, turn):
    bids = "BID Goths 15\nBID Arabs 20\nBID Byzantines 20\nPREFER Goths, Byzantines"
    played = turn(table(3, round=3), Ana=bids, Bo=bids, Cyd=bids)
    first, second, third = played.facts("dice")[0]["order"]
    assert played.claims == {
        first: ("Byzantines", 40),
        second: ("Arabs", 40),
        third: ("Goths", 30),
    }


def test_rule_5_prefer_of_this_round_is_the_answer(table, turn):
    played = turn(table(2), Ana="BID Arabs 20", Bo="PREFER Arabs\nBID Huns 0")
    # His own bid lines follow what PREFER names, a bid of 0 too.
    assert played.claims["Bo"] == ("Huns", 14)
    assert played.state.phase == "score"


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("PICK Goths", ("Goths", 10)),
        ("PICK Goths\nPICK huns", ("Huns", 14)),
        ("PICK Arabs", ("Khmers", 5)),
        ("", ("Khmers", 5)),
        ("PREFER Arabs, Huns", ("Huns", 14)),
        ("PREFER Huns\nPICK Goths", ("Goths", 10)),
    ],
)
def test_rule_5_the_last_one_picks_or_gets_the_cheapest(table, turn, text, got):
    asked = turn(table(2), Ana="BID Arabs 20")
    assert asked.state.phase == "pick"
    assert empires.waiting(asked.state) == ["Bo"]
    assert asked.facts("asked")[0]["seat"] == "Bo"
    played = turn(asked.state, Bo=text)
    assert played.claims["Bo"] == got
    assert played.state.phase == "score"


def test_rule_5_the_only_empire_left_is_his_without_a_question(table, turn):
    bids = ["Arabs", "Huns", "Goths", "Byzantines", "Guptas", "Khmers"]
    texts = {seat: f"BID {e} 30" for seat, e in zip(table(7).seats, bids, strict=False)}
    played = turn(table(7), **texts, Gil="BID Arabs 29")
    assert played.claims["Gil"] == ("Tang Dynasty", 11)
    assert played.facts("chosen") == [{"seat": "Gil", "empire": "Tang Dynasty", "how": "only"}]


def test_rule_5a_no_fourth_round(table, turn):
    played = turn(table(3, round=3), Cyd="PREFER Huns", Bo="BID Arabs 0")
    assert played.state.phase == "score"
    assert played.claims["Cyd"] == ("Huns", 14)
    rng = games.chance("empires", 1, "bid")
    order = ["Ana", "Bo", "Cyd"]
    rng.shuffle(order)
    assert played.facts("dice") == [{"rule": "5a", "order": order}]
    cheap = iter([("Khmers", 5), ("Guptas", 8)])
    assert [played.claims[seat] for seat in order if seat != "Cyd"] == list(cheap)


def test_score_waits_for_every_seat_and_the_last_line_stands(table, turn):
    state = turn(table(2), Ana="BID Arabs 20", Bo="BID Goths 10").state
    assert empires.waiting(state) == []
    first = turn(state, gm="SCORE Ana 9\nSCORE Ana -5")
    assert first.state.phase == "score"
    assert empires.dump(first.state)["scores"] == {"Ana": -5}
    assert first.state.vp == {"Ana": -20, "Bo": -10}
    assert first.facts("scores_due") == [{"epoch": 4, "seats": ["Bo"]}]
    second = turn(first.state, gm="SCORE Bo 12\nSCORE Ana 21")
    assert (second.state.phase, second.state.epoch, second.state.round) == ("bid", 5, 1)
    assert second.state.vp == {"Ana": 1, "Bo": 2}
    assert list(second.state.empires) == list(empires.setup(["a", "b"], {}, None).sheet[4].empires)
    assert "scores" not in empires.dump(second.state)


def test_the_phase_score_keeps_epoch_and_round(table, turn):
    state = turn(table(2, round=2), Ana="BID Arabs 20", Bo="BID Goths 10").state
    assert (state.phase, state.epoch, state.round) == ("score", 4, 2)


def test_the_end_most_vp_wins_and_equals_share(table, turn):
    claims = {"Ana": {"empire": "Russia", "price": 12}, "Bo": {"empire": "Germany", "price": 10}}
    state = table(2, epoch=7, phase="score", claims=claims, vp={"Ana": -12, "Bo": -10})
    over = turn(state, gm="SCORE Ana 40\nSCORE Bo 38").state
    assert over.phase == "over"
    assert empires.dump(over)["winners"] == ["Ana", "Bo"]
    assert empires.waiting(over) == []
    assert turn(over, Ana="BID Russia 12").refused == {"Ana": [1]}


def test_the_game_master_can_end_the_match_at_any_time(table, turn):
    for texts, winners in (({"Ana": "BID Arabs 20"}, ["Bo", "Cyd"]), (ALIKE, ["Ana", "Bo", "Cyd"])):
        ended = turn(turn(table(3), **texts).state, gm="END")
        assert ended.state.phase == "over"
        assert empires.winners(ended.state) == winners
        assert empires.load(empires.dump(ended.state), ended.state.seats, {}).phase == "over"


def test_seven_seats_have_the_seventh_empire_of_epoch_1():
    seats = list("abcdefg")
    assert "Sumeria" in empires.setup(seats, {}, None).empires
    assert "Sumeria" not in empires.setup(seats[:6], {}, None).empires


def test_a_forecast_says_what_the_bids_would_bring_alone(table):
    state = table(3)
    orders, _ = empires.check(
        state, "Ana", empires.GRAMMAR.read("BID Arabs 20\nBID Huns 21").orders
    )
    [event] = empires.forecast(state, "Ana", orders)
    assert (event.kind, event.facts["empire"], event.facts["price"]) == ("claim", "Huns", 21)
    assert empires.forecast(state, "Ana", []) == []
