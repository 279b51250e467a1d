"""The rules of Alphabet Auction but trades: income, claims, pot, auction, sharing out, the end."""

from collections import Counter
from random import Random

import pytest

from pbem import game as games
from pbem.games import alphabet
from pbem.games.alphabet import words


def test_rule_1_income_is_50_but_not_in_round_1(table, turn):
    assert turn(table(1)).state.money == {"Ida": 100, "Olle": 100, "Petra": 100}
    assert turn(table(1)).facts("income") == []
    assert turn(table(2)).state.money == {"Ida": 150, "Olle": 150, "Petra": 150}
    last = turn(table(7, phase="last", groups={}))
    assert last.state.money["Olle"] == 150 and last.facts("income") == [{"pounds": 50, "rule": "1"}]


@pytest.mark.parametrize(("number", "points"), [(2, 40), (3, 36), (4, 32), (5, 28), (6, 24)])
def test_rule_3_the_multiplier_falls_from_10(table, turn, number, points):
    done = turn(table(number, hands={"Ida": "ABHTT"}), Ida="CLAIM BATH")
    assert done.state.points["Ida"] == points and done.state.hands["Ida"] == "T"
    assert done.state.claimed["Ida"] == ("BATH",)


def test_rule_3_in_turn_7_a_letter_counts_5(table, turn):
    state = table(7, phase="last", groups={}, hands={"Ida": "ABHT"})
    assert turn(state, Ida="CLAIM BATH").state.points["Ida"] == 20


def test_rule_3_words_are_taken_in_the_order_written(table, turn):
    done = turn(table(hands={"Ida": "ABETHONR"}), Ida="CLAIM ETON BATH\nCLAIM RYE")
    assert done.state.claimed["Ida"] == ("ETON",) and done.refused == {"Ida": [1, 2]}
    assert done.facts("claim") == [
        {"seat": "Ida", "word": "ETON", "points": 40, "times": 10, "rule": "3"}
    ]


def test_rule_3_a_seat_has_a_word_once_and_others_may_have_it_too(table, turn):
    state = table(hands={"Ida": "EERRYY", "Olle": "ERY"}, claimed={"Petra": ["RYE"]})
    done = turn(state, Ida="CLAIM RYE RYE", Olle="CLAIM RYE")
    assert done.state.points == {"Ida": 30, "Olle": 30, "Petra": 0}
    assert done.refused == {"Ida": [1]}


def test_rule_3_letters_won_this_turn_come_too_late(table, turn):
    done = turn(table(hands={"Ida": "N"}), Ida="BID 5 10\nCLAIM SAND WIGAN")
    assert done.state.hands["Ida"] == "ADEHKNS" and done.refused == {"Ida": [2]}


def test_rule_3_a_letter_got_by_trade_can_be_used(table, turn):
    done = turn(
        table(hands={"Ida": "ER", "Olle": "Y"}),
        Ida="CLAIM RYE\nTRADE WITH Olle GIVE £1 GET Y",
        Olle="TRADE WITH Ida GIVE Y GET £1",
    )
    assert done.state.points["Ida"] == 30


def test_rule_4_the_letter_leaves_the_hand_before_the_auction(table, turn):
    state = table(hands={"Ida": "AB", "Olle": "AB"})
    done = turn(state, Ida="POT A\nBID 5 9", Olle="BID 5 9")
    (sold,) = done.facts("sold")
    assert (sold["seat"], sold["by"]) == ("Ida", "letters")


def test_rule_4_the_first_line_whose_letter_is_in_hand_counts(table, turn):
    done = turn(table(hands={"Ida": "BC"}), Ida="POT A\nPOT B\nPOT C\nPOT B")
    assert done.facts("pot") == [{"seat": "Ida", "letter": "B", "rule": "4"}]
    assert done.refused == {"Ida": [1, 3, 4]} and done.state.hands["Ida"] == "BC"


def test_rule_4_a_letter_spent_on_a_word_is_not_there(table, turn):
    done = turn(table(hands={"Ida": "ERY"}), Ida="POT Y\nCLAIM RYE")
    assert done.refused == {"Ida": [1]} and done.facts("pot") == []


def test_rule_5_the_highest_bid_wins_and_pays_and_others_pay_nothing(table, turn):
    done = turn(table(), Ida="BID 5 30", Olle="BID 5 31", Petra="BID 6 1")
    assert done.state.money == {"Ida": 150, "Olle": 119, "Petra": 149}
    assert done.state.hands == {"Ida": "", "Olle": "ADEHKS", "Petra": "BEILRX"}
    assert done.refused == {} and "5" not in alphabet.dump(done.state)["groups"]
    assert done.facts("sold")[0]["bids"] == [
        {"seat": "Olle", "pounds": 31},
        {"seat": "Ida", "pounds": 30},
    ]


def test_rule_5_a_bid_beyond_the_money_is_void_and_the_next_may_fit(table, turn):
    done = turn(table(1), Ida="BID 5 60\nBID 6 41\nBID 7 40\nBID 8 1")
    assert done.refused == {"Ida": [2, 4]} and done.state.money["Ida"] == 0
    assert [facts["group"] for facts in done.facts("sold")] == [5, 7]


def test_rule_5_a_replaced_bid_binds_no_money_and_does_not_come_back(table, turn):
    done = turn(table(1), Ida="BID 5 90\nBID 6 70\nBID 5 31")
    assert done.refused == {"Ida": [3]} and done.state.hands["Ida"] == "BEILRX"


def test_rule_5_a_tie_goes_to_fewer_points(table, turn):
    state = table(points={"Ida": 9, "Olle": 8, "Petra": 8}, hands={"Olle": "A"})
    done = turn(state, Ida="BID 5 7", Olle="BID 5 7")
    assert done.facts("sold")[0]["seat"] == "Olle" and done.facts("sold")[0]["by"] == "points"
    assert done.facts("sold")[0]["tied"] == ["Ida", "Olle"]


def test_rule_5_points_count_as_they_are_when_the_auction_starts(table, turn):
    state = table(hands={"Ida": "ERY"}, points={"Olle": 29})
    assert turn(state, Ida="BID 5 7\nCLAIM RYE", Olle="BID 5 7").state.hands["Olle"] == "ADEHKS"


def test_rule_5_letters_won_in_this_auction_break_no_tie(table, turn):
    done = turn(table(), Ida="BID 5 7\nBID 6 9", Olle="BID 6 9\nBID 7 2")
    assert [facts["group"] for facts in done.facts("held")] == [6]


def test_rule_5_a_tie_nothing_breaks_is_held_for_exactly_the_still_tied(table, turn):
    state = table(points={"Olle": 30})
    done = turn(state, Ida="BID 5 7", Olle="BID 5 7", Petra="BID 5 7")
    assert done.state.groups[5].only == ("Ida", "Petra")
    assert done.state.money == {"Ida": 150, "Olle": 150, "Petra": 150}
    (held,) = done.facts("held")
    assert held["tied"] == ["Ida", "Olle", "Petra"] and held["only"] == ["Ida", "Petra"]


def test_rule_5_a_held_group_without_a_valid_bid_is_open_to_all_next_round(table, turn):
    state = table(only={"5": ["Ida", "Olle"]})
    done = turn(state, Ida="BID 5 151", Petra="BID 5 1")
    assert done.refused == {"Ida": [1], "Petra": [1]}
    assert done.state.groups[5].only is None and done.state.groups[5].letters == "ADEHKS"


def test_rule_5_held_for_three_tied_by_two_it_is_held_for_those(table, turn):
    state = table(only={"5": ["Ida", "Olle", "Petra"]})
    done = turn(state, Ida="BID 5 4", Olle="BID 5 3", Petra="BID 5 4")
    assert done.state.groups[5].only == ("Ida", "Petra")


def test_rule_5_new_groups_are_one_more_than_seats_and_numbers_go_on(table, turn):
    done = turn(table(), Ida="BID 5 1\nBID 8 1")
    assert list(done.state.groups) == [6, 7, 9, 10, 11, 12]
    again = turn(done.state, Ida="BID 12 1")
    assert list(again.state.groups) == [6, 7, 9, 10, 11, 13, 14, 15, 16]


def test_rule_5_numbers_do_not_come_again_where_all_groups_are_sold(table, turn):
    assert list(turn(table(4, groups={})).state.groups) == [17, 18, 19, 20]


def test_rule_5_after_round_6_unsold_groups_are_gone(table, turn):
    done = turn(table(6), Ida="BID 5 7\nBID 6 3", Olle="BID 5 7")
    assert done.state.groups == {} and done.state.hands["Ida"] == "BEILRX"
    assert [facts["gone"] for facts in done.facts("unsold") + done.facts("held")] == [True] * 3
    assert (done.state.phase, done.state.round) == ("last", 7)


def test_rule_6_the_pot_is_sorted_shuffled_and_dealt_in_seat_order(table, turn):
    hands = {"Ida": "Q", "Olle": "J", "Petra": "Z"}
    for number in range(1, 9):
        done = turn(table(hands=hands), number=number, Petra="POT Z", Ida="POT Q", Olle="POT J")
        dice = games.chance("alphabet", number, "play")
        letters = ["J", "Q", "Z"]
        dice.shuffle(letters)
        assert [done.state.hands[seat] for seat in ("Ida", "Olle", "Petra")] == letters
        assert [facts["letter"] for facts in done.facts("share")] == letters


def test_rule_6_who_put_nothing_in_gets_nothing_and_bids_come_first(table, turn):
    done = turn(table(hands={"Ida": "Q", "Olle": "J"}), Ida="POT Q\nBID 5 5")
    assert done.state.hands == {"Ida": "ADEHKQS", "Olle": "J", "Petra": ""}


def test_rule_6_new_groups_are_drawn_after_the_pot_from_the_same_dice(table, turn):
    done = turn(table(hands={"Ida": "Q", "Olle": "J"}), Ida="POT Q", Olle="POT J")
    dice = games.chance("alphabet", 1, "play")
    dice.shuffle(["J", "Q"])
    bag = words.FULL_BAG
    for number in (9, 10, 11, 12):
        letters = ""
        for _ in range(6):
            letters += dice.choice([tile for tile in bag if tile not in letters])
            bag = bag.replace(letters[-1], "", 1)
        assert done.state.groups[number].letters == "".join(sorted(letters))
    assert done.state.bag == bag


def test_match_the_bag_holds_98_tiles_and_no_blanks():
    counts = Counter(words.FULL_BAG)
    assert len(words.FULL_BAG) == 98 and len(counts) == 26
    assert [counts[letter] for letter in "EAGKZ"] == [12, 9, 3, 1, 1]


def test_match_the_bag_is_filled_up_when_short(table, turn):
    done = turn(table(bag="AAABBBCCCDDDEEEFFF"))
    assert [group.letters for group in done.state.groups.values()][4:7] == ["ABCDEF"] * 3
    assert len(done.state.bag) == 98 - 6
    short = turn(table(bag="AAABBBCCCDDDEEE"))
    assert len(short.state.bag) == 15 + 98 - 24


def test_match_a_groups_letters_differ():
    for number in range(40):
        state = alphabet.setup(("Ida", "Olle"), {"words": "ten", "hands": "open"}, Random(number))
        assert [len(set(group.letters)) for group in state.groups.values()] == [6, 6, 6]


@pytest.mark.parametrize("seats", [1, 7])
def test_match_2_to_6_seats(seats):
    with pytest.raises(ValueError, match="2 to 6 seats"):
        alphabet.setup(
            [f"S{n}" for n in range(seats)], {"words": "towns", "hands": "open"}, Random(1)
        )


def test_match_turn_7_ends_it_and_equal_points_share(table, turn):
    state = table(7, phase="last", groups={}, points={"Ida": 5, "Petra": 5, "Olle": 4})
    done = turn(state)
    assert (done.state.phase, done.state.round) == ("over", 7)
    assert alphabet.winners(done.state) == ["Ida", "Petra"]
    assert alphabet.dump(done.state)["winners"] == ["Ida", "Petra"]
    assert alphabet.waiting(done.state) == []
    assert done.facts("over") == [{"winners": ["Ida", "Petra"], "points": 5}]


def test_match_income_and_trades_come_before_the_last_claims(table, turn):
    done = turn(
        table(7, phase="last", groups={}, money={"Ida": 0}, hands={"Ida": "ER", "Olle": "Y"}),
        Ida="TRADE WITH Olle GIVE £50 GET Y\nCLAIM RYE",
        Olle="TRADE WITH Ida GIVE Y GET £50",
    )
    assert done.state.points["Ida"] == 15 and done.refused == {}


def test_match_the_game_master_may_end_it(table):
    done = games.play(alphabet, table(3), {"Ida": "", None: "END"}, "alphabet", 1)
    assert alphabet.dump(done.state)["winners"] == ["Ida", "Olle", "Petra"]
    assert alphabet.page(done.state, "Ida", done.events)["story"]["stopped"]


def test_the_rules_are_carried_out_in_their_order_whatever_the_lines(table, turn):
    done = turn(
        table(hands={"Ida": "ABQT", "Olle": "EH"}, money={"Ida": 0, "Olle": 0}),
        Ida="BID 5 70\nPOT Q\nCLAIM BATH\nTRADE WITH Olle GIVE NOTHING GET H, £20",
        Olle="TRADE WITH Ida GIVE H, 20 pounds GET NOTHING",
    )
    kinds = [event.kind for event in done.events]
    assert kinds[:5] == ["income", "trade", "claim", "pot", "sold"]
    assert kinds[-2:] == ["share", "groups"]
    assert done.state.hands["Ida"] == "ADEHKQS" and done.state.money["Ida"] == 0


def test_a_forecast_tells_what_ones_own_lines_do_and_which_are_void(table):
    state = table(hands={"Ida": "ERYQ"})
    reading = alphabet.GRAMMAR.read(
        "BID 5 90\nBID 6 61\nCLAIM RYE BATH\nPOT Q\nTRADE WITH Olle GIVE E GET A"
    )
    lawful, _ = alphabet.check(state, "Ida", reading.orders)
    told = alphabet.forecast(state, "Ida", lawful)
    assert [event.kind for event in told] == ["claim", "pot", "sold", "void", "void"]
    assert [event.facts["line"] for event in told[3:]] == [2, 3]
