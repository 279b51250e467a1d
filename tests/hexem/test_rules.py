"""The rules of Hexem by their numbers, and how a match ends."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from pbem import game
from pbem.games import hexem
from pbem.games.hexem.rules import adjudicate
from pbem.usage import Order
from tests.hexem.conftest import described, facts, played, position

TWO = "A1=-4/x A2=-4/x B1=-4/x A8=-4/y A9=-4/y B8=-4/y"
THREE = TWO + " H1=-4/z H2=-4/z I1=-4/z"


def countries(hexes: str, *seats: str) -> Any:
    return position(hexes, "countries", 0, seats or ("Ann", "Bob"))


def got(done: game.Played) -> dict[str, tuple[str, int]]:
    """Return by seat its country and the price."""
    return {fact["seat"]: (fact["country"], fact["price"]) for fact in facts(done, "country")}


class Cheat(Random):
    """Dice that note what they were asked, and always choose the last, or turn a list round."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked: list[Any] = []

    def choice(self, seq: Any) -> Any:
        self.asked.append(("choice", list(seq)))
        return seq[-1]

    def shuffle(self, x: Any) -> None:
        self.asked.append(("shuffle", list(x)))
        x.reverse()


def diced(state: Any, **texts: str) -> tuple[game.Outcome, list[Any]]:
    """Play a phase with dice that tell what they were asked."""
    dice = Cheat()
    lawful: dict[str | None, Sequence[Order]] = {
        seat: hexem.check(state, seat, hexem.GRAMMAR.read(text).orders)[0]
        for seat, text in texts.items()
    }
    return adjudicate(state, lawful, dice), dice.asked


def test_rule_1_the_highest_bid_takes_its_country_and_the_loser_gets_his_other() -> None:
    done = played(countries(TWO), Ann="BID x 5", Bob="BID x 4\nBID y 3")
    assert got(done) == {"Ann": ("x", 5), "Bob": ("y", 3)}
    assert done.state.phase == "muster"
    assert done.state.turn == 1


def test_rule_1_only_the_price_of_the_country_got_is_paid() -> None:
    done = played(countries(TWO), Ann="BID x 9\nBID y 8", Bob="BID y 1\nBID x 8")
    assert described(done.state) == "A1=Ann1 A2=Ann1 A8=Bob3 A9=Bob4 B1=Ann1 B8=Bob4"


def test_rule_1_a_later_line_for_a_country_replaces_and_0_takes_back() -> None:
    done = played(countries(TWO), Ann="BID x 5\nBID y 1\nBID x 0", Bob="BID x 4")
    assert got(done) == {"Bob": ("x", 4), "Ann": ("y", 1)}


def test_rule_1_a_bid_above_the_most_counts_0_and_an_earlier_one_stands() -> None:
    done = game.play(hexem, countries(TWO), {"Ann": "BID x 3\nBID x 10", "Bob": "BID x 2"}, "s", 1)
    assert got(done)["Ann"] == ("x", 3)
    assert [problem.line for problem in done.problems["Ann"]] == [2]


def test_rule_1_the_most_is_the_armies_less_the_hexes() -> None:
    done = played(countries(TWO), Ann="BID x 9")
    assert got(done)["Ann"] == ("x", 9)


def test_rule_1_equal_top_bids_are_diced_over_pairs_in_seat_then_board_order() -> None:
    done, asked = diced(countries(TWO), Bob="BID y 3\nBID x 3", Ann="BID y 3")
    assert asked == [("choice", [("Ann", "y"), ("Bob", "x"), ("Bob", "y")])]
    first = next(event.facts for event in done.events if event.kind == "country")
    assert (first["seat"], first["country"]) == ("Bob", "y")
    assert first["dice"] == [["Ann", "y"], ["Bob", "x"], ["Bob", "y"]]


def test_rule_1_no_die_is_cast_where_there_is_no_choice() -> None:
    _, asked = diced(countries(TWO), Ann="BID x 3", Bob="BID y 2")
    assert asked == []


def test_rule_1_who_has_no_bid_left_is_dealt_what_remains_in_seat_order() -> None:
    done, asked = diced(countries(THREE, "Ann", "Bob", "Cora"), Bob="BID y 1")
    assert asked == [("shuffle", ["x", "z"])]
    given = {e.facts["seat"]: e.facts["country"] for e in done.events if e.kind == "country"}
    assert given == {"Bob": "y", "Ann": "z", "Cora": "x"}


def test_rule_1_a_country_left_over_stays_neutral_and_nothing_grows() -> None:
    done = played(countries(THREE), Ann="BID x 2", Bob="BID z 1")
    assert facts(done, "neutral") == [{"countries": ["y"]}]
    assert described(done.state) == (
        "A1=Ann3 A2=Ann3 A8=-4 A9=-4 B1=Ann4 B8=-4 H1=Bob3 H2=Bob4 I1=Bob4"
    )


def test_rule_1_all_bids_are_revealed() -> None:
    done = played(countries(TWO), Ann="BID x 5\nBID y 2")
    assert facts(done, "bids") == [
        {"seat": "Ann", "bids": {"x": 5, "y": 2}},
        {"seat": "Bob", "bids": {}},
    ]


@pytest.mark.parametrize(
    ("stacks", "price", "left"),
    [
        ((2, 5, 3), 4, (2, 2, 2)),
        ((1, 9, 3), 10, (1, 1, 1)),
        ((4, 4, 4), 1, (3, 4, 4)),
        ((4, 4, 4), 5, (2, 2, 3)),
        ((3, 7, 7), 0, (3, 7, 7)),
        ((10**6, 1, 10**6), 10**6, (500_000, 1, 500_000)),
        ((10**6, 1, 10**6), 10**6 + 1, (499_999, 1, 500_000)),
    ],
)
def test_rule_2_each_army_leaves_the_largest_stack_the_first_of_equals(
    stacks: tuple[int, ...], price: int, left: tuple[int, ...]
) -> None:
    first, second, third = stacks
    # Columns are numbers: A10 comes after A2.
    state = countries(f"A10=-{second}/x A2=-{first}/x B1=-{third}/x Z1=-1/y Z2=-1/y")
    done = played(state, Ann=f"BID x {price}", Bob="BID y 0")
    assert done.state.armies[:3] == left


def test_rule_2_row_aa_comes_after_row_z() -> None:
    done = played(
        countries("AA1=-4/x B1=-4/x Z1=-4/x H1=-4/y H2=-4/y"), Ann="BID x 2", Bob="BID y 3"
    )
    assert described(done.state) == "B1=Ann3 H1=Bob2 H2=Bob3 Z1=Ann3 AA1=Ann4"


def test_rule_3_fewest_musters_go_first() -> None:
    state = position("A1=Ann4 A2=Ann1 A3=Bob1 K1=Bob1")
    done = played(state, Ann="MUSTER A1", Bob="MUSTER A2 K1")
    assert [row["seat"] for row in facts(done, "order")[0]["order"]] == ["Ann", "Bob"]
    assert described(done.state) == "A1=Ann6 A2=Bob2 A3=Bob1 K1=Bob2"


def test_rule_3_then_who_has_fewer_hexes_at_the_start_of_the_turn() -> None:
    state = position("A1=Ann3 A2=Bob1 A3=Cora9 K1=Ann1 K9=Bob1 K12=Bob1")
    done = played(state, Ann="MUSTER A2", Cora="MUSTER A2", Bob="MUSTER K1")
    assert [row["seat"] for row in facts(done, "order")[0]["order"]] == ["Cora", "Ann", "Bob"]


def test_rule_3_then_dice_group_by_group_from_seat_order() -> None:
    state = position("A1=Ann3 A5=Bob1 C1=Cora1 C9=Cora1", seats=("Ann", "Bob", "Cora"))
    done, asked = diced(state, Ann="MUSTER A1", Bob="MUSTER A5", Cora="MUSTER C1")
    assert asked == [("shuffle", ["Ann", "Bob"])]
    order = next(event.facts for event in done.events if event.kind == "order")
    assert [row["seat"] for row in order["order"]] == ["Bob", "Ann", "Cora"]
    assert order["dice"] == [["Bob", "Ann"]]


def test_rule_3_lines_add_up_repeats_count_and_far_hexes_count() -> None:
    state = position("A1=Ann3 A2=Bob1 A3=Bob1 K1=Bob1")
    done = played(state, Ann="MUSTER K1\nMUSTER A2 A2", Bob="MUSTER A3 A3")
    assert [row["musters"] for row in facts(done, "order")[0]["order"]] == [2, 3]


def test_rule_3_a_label_that_is_no_hex_is_not_counted() -> None:
    state = position("A1=Ann3 A2=Bob1 A3=Bob1 K1=Bob1")
    texts: dict[str | None, str] = {"Ann": "MUSTER Z99 A2", "Bob": "MUSTER A3"}
    done = game.play(hexem, state, texts, "s", 1)
    assert facts(done, "order")[0]["order"][0] == {"seat": "Ann", "musters": 1, "hexes": 1}


def test_rule_3_who_loses_his_last_hex_keeps_his_place_and_does_nothing() -> None:
    state = position("A1=Ann9 A2=Bob1 A3=Cora5 C9=Cora1")
    done = played(state, Ann="MUSTER A2", Bob="MUSTER A2 A1", Cora="MUSTER A2 A3 A2")
    assert [row["seat"] for row in facts(done, "order")[0]["order"]] == ["Ann", "Bob", "Cora"]
    assert facts(done, "out") == [{"seat": "Bob", "by": "Ann"}]
    assert [fact["result"] for fact in facts(done, "muster") if fact["seat"] == "Bob"] == [
        "nothing",
        "nothing",
    ]
    assert hexem.waiting(done.state) == ("Ann", "Cora")


def test_rule_4_own_armies_of_all_neighbours_join() -> None:
    done = played(position("A1=Ann3 A2=Ann2 A3=Ann4 B1=Ann5 B4=Ann7 K1=Bob1"), Ann="MUSTER A2")
    assert described(done.state) == "A1=Ann1 A2=Ann15 A3=Ann1 B1=Ann1 B4=Ann8 K1=Bob2"


def test_rule_4_exactly_three_to_one_wins_and_all_attackers_move_in() -> None:
    done = played(position("A1=Ann6 A2=Bob2 K1=Bob1"), Ann="MUSTER A2")
    assert described(done.state) == "A1=Ann1 A2=Ann7 K1=Bob2"
    assert facts(done, "muster") == [
        {
            "seat": "Ann",
            "hex": "A2",
            "from": "A1",
            "armies": 6,
            "owner": "Bob",
            "defenders": 2,
            "result": "won",
        }
    ]


def test_rule_4_one_short_of_three_to_one_loses_every_attacker_and_no_defender() -> None:
    done = played(position("A1=Ann2999999 A2=Bob1000000 K1=Bob1"), Ann="MUSTER A2")
    assert described(done.state) == "A1=Ann1 A2=Bob1000001 K1=Bob2"


def test_rule_4_an_emptied_hex_keeps_its_owner() -> None:
    done = played(position("A1=Ann2 A2=Ann2 A3=Bob1"), Ann="MUSTER A2")
    assert described(done.state) == "A1=Ann1 A2=Ann5 A3=Bob2"


def test_rule_4_an_emptied_hex_falls_to_one_attacker() -> None:
    state = position("A1=Bob1 A2=Bob2 A3=Ann1 A4=Ann1 K1=Bob1")
    done = played(state, Bob="MUSTER A1", Ann="MUSTER A1 A2")
    assert described(done.state) == "A1=Bob4 A2=Ann2 A3=Ann1 A4=Ann2 K1=Bob2"


def test_rule_4_zero_attackers_do_nothing_even_to_an_emptied_hex() -> None:
    state = position("A1=Bob1 A2=Bob2 A3=Ann1 A4=Ann5 K1=Bob1")
    done = played(state, Bob="MUSTER A1", Ann="MUSTER A4 A2")
    assert described(done.state) == "A1=Bob4 A2=Bob1 A3=Ann1 A4=Ann7 K1=Bob2"


def test_rule_4_a_chain_carries_and_conquers_on_its_way() -> None:
    state = position("A1=Ann9 A2=Bob3 A3=Bob2 A4=Bob3 K1=Bob1")
    done = played(state, Ann="MUSTER A2 A3 A4")
    assert described(done.state) == "A1=Ann1 A2=Ann1 A3=Ann1 A4=Ann10 K1=Bob2"


def test_rule_4_neutral_hexes_defend_and_fall() -> None:
    held = played(position("A1=Ann5 A2=-2 A3=Bob6"), Ann="MUSTER A2")
    assert described(held.state) == "A1=Ann1 A2=-3 A3=Bob7"
    fallen = played(position("A1=Ann5 A2=-2 A3=Bob6"), Bob="MUSTER A2")
    assert described(fallen.state) == "A1=Ann6 A2=Bob7 A3=Bob1"
    assert facts(fallen, "out") == []


def test_rule_5_every_hex_grows_by_one_after_all_musters() -> None:
    done = played(position("A1=Ann1 A2=Bob1 B1=-1"))
    assert described(done.state) == "A1=Ann2 A2=Bob2 B1=-2"
    assert facts(done, "growth") == [{"hexes": 3}]
    assert done.state.turn == 4


def test_the_end_after_the_turn_that_the_option_names() -> None:
    state = position("A1=Ann2 K1=Bob1", turns=4)
    state = played(state).state
    assert state.phase == "muster"
    done = played(state)
    assert done.state.phase == "over"
    assert done.state.turn == 5
    assert facts(done, "over") == [{"winners": ["Ann"], "why": "turns"}]
    assert hexem.waiting(done.state) == ()


@pytest.mark.parametrize(
    ("share", "phase"), [(0.5, "muster"), (0.49, "over"), (0.51, "muster"), (0.499, "over")]
)
def test_the_end_by_share_is_more_than_the_share_neutrals_counted(share: float, phase: str) -> None:
    state = position("A1=Ann3 A3=Ann3 A5=Bob3 A7=-3", share=share)
    assert played(state).state.phase == phase


def test_the_end_by_share_is_exact_where_binary_fractions_are_not() -> None:
    mine = " ".join(f"A{2 * at + 1}=Ann1" for at in range(29))
    rest = " ".join(f"A{2 * at + 1}=-1" for at in range(29, 99))
    state = position(f"{mine} {rest} A199=Bob1", share=0.29)
    assert 29 > 0.29 * 100
    assert played(state).state.phase == "muster"


def test_the_end_when_one_player_is_left() -> None:
    done = played(position("A1=Ann9 A2=Bob1 A9=-1"), Ann="MUSTER A2")
    assert facts(done, "over") == [{"winners": ["Ann"], "why": "last"}]


@pytest.mark.parametrize(
    ("hexes", "winners"),
    [
        ("A1=Ann1 A2=Ann1 A3=Bob9", ("Ann",)),
        ("A1=Ann1 A3=Bob9 A5=-99", ("Bob",)),
        ("A1=Ann4 A3=Bob4 A5=Cora1", ("Ann", "Bob")),
        ("A1=-4", ()),
    ],
)
def test_most_hexes_win_then_most_armies_then_shared(hexes: str, winners: tuple[str, ...]) -> None:
    assert hexem.winners(position(hexes)) == winners


def test_a_match_the_game_master_ends_is_over_at_once() -> None:
    state = position("A1=Ann4 A2=Bob1")
    done = game.play(hexem, state, {"Ann": "MUSTER A2", None: "END"}, "s", 1)
    assert described(done.state) == described(state)
    assert hexem.dump(done.state)["winners"] == ["Ann"]


def test_setup_takes_the_packaged_board_for_the_seats_and_refuses_too_many() -> None:
    options = game.read_options(hexem.OPTIONS, {}, "hexem")
    seats = tuple(f"Seat{at}" for at in range(2, 11))
    for number in range(2, 9):
        state = hexem.setup(seats[:number], options, Random(1))
        assert len(set(state.countries)) == number
        assert hexem.waiting(state) == seats[:number]
    with pytest.raises(ValueError, match="no board for 9 seats"):
        hexem.setup(seats, options, Random(1))
    with pytest.raises(ValueError, match="the board has 2"):
        hexem.setup(seats[:3], {**options, "board": "x3 y3"}, Random(1))
    with pytest.raises(ValueError, match="2 to 26 seats"):
        hexem.setup(seats[:1], options, Random(1))
    hexem.setup(seats, {**options, "board": " ".join(f"{x}2" for x in "abcdefghi")}, Random(1))


def test_a_forecast_says_what_the_orders_do_if_nobody_else_moves() -> None:
    state = position("A1=Ann6 A2=Bob2 A3=Bob9")
    orders = hexem.GRAMMAR.read("MUSTER A2").orders
    assert [e.facts["result"] for e in hexem.forecast(state, "Ann", orders)] == ["won"]
    bids = hexem.GRAMMAR.read("BID x 3\nBID y 2").orders
    (event,) = hexem.forecast(countries(TWO), "Ann", bids)
    assert (event.facts["country"], event.facts["price"]) == ("x", 3)
    level = hexem.GRAMMAR.read("BID x 3\nBID y 3").orders
    assert hexem.forecast(countries(TWO), "Ann", level) == []
