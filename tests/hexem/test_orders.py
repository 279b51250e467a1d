"""What may be written in a match of Hexem, and what is lawful of it."""

import pytest

from pbem.games import hexem
from pbem.games.hexem.state import State
from pbem.orders import Problem
from tests.hexem.conftest import position

WAR = position("A1=Ann3 A2=Bob1 B12=Ann1")
BIDDING = position("A1=-4/x A2=-4/xanadu B1=-4/Yole", "countries", 0)


def taken(state: State, text: str, seat: str = "Ann") -> tuple[list[str], list[Problem]]:
    """Return the lawful orders of a text as written out, and all problems."""
    reading = hexem.GRAMMAR.read(text)
    lawful, problems = hexem.check(state, seat, reading.orders)
    return [hexem.GRAMMAR.write(order) for order in lawful], [*reading.problems, *problems]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("MUSTER A1", "MUSTER A1"),
        ("muster a1, b12 and a2.", "MUSTER A1 B12 A2"),
        ("- Muster: A1 A1", "MUSTER A1 A1"),
    ],
)
def test_a_muster_is_read_in_any_case_and_with_commas(text: str, order: str) -> None:
    assert taken(WAR, text) == ([order], [])


@pytest.mark.parametrize("label", ["Z99", "A02", "A", "2", "B2", "AAA1", "A10000000"])
def test_a_label_that_is_no_hex_is_a_problem_and_the_good_ones_count(label: str) -> None:
    lawful, problems = taken(WAR, f"MUSTER A1 {label} A2")
    assert lawful == ["MUSTER A1 A2"]
    assert [(p.line, p.message.split()[0]) for p in problems] == [(1, label)]


def test_a_label_in_two_pieces_is_none() -> None:
    lawful, problems = taken(WAR, "MUSTER A 2")
    assert lawful == []
    assert [problem.line for problem in problems] == [1, 1]


def test_a_label_with_a_nought_is_asked_back() -> None:
    _, (problem,) = taken(WAR, "MUSTER A02")
    assert "did you mean A2?" in problem.message


@pytest.mark.parametrize(
    "text",
    ["MUSTER", "MUSTER the second hex", "MUSTER A1 please", "MUSTRE A1", "BID x", "A2"],
)
def test_an_order_gone_wrong_is_a_problem(text: str) -> None:
    lawful, problems = taken(WAR, text)
    assert lawful == []
    assert [problem.line for problem in problems] == [1]


@pytest.mark.parametrize(
    "text", ["Bid you all good night", "Muster up some courage, Bob", "See you at dawn", "I", "4"]
)
def test_everyday_words_are_chat(text: str) -> None:
    assert taken(WAR, text) == ([], [])


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("BID x 3", "BID x 3"),
        ("bid 3 X", "BID x 3"),
        ("bid XAN: 2 armies", "BID xanadu 2"),
        ("BID yole 0", "BID Yole 0"),
    ],
)
def test_a_bid_finds_its_country_in_any_case_or_by_its_beginning(text: str, order: str) -> None:
    assert taken(BIDDING, text) == ([order], [])


@pytest.mark.parametrize("text", ["BID q 3", "BID x two", "BID x 4", "BID x -1", "MUSTER A1"])
def test_a_bid_that_cannot_be_is_refused(text: str) -> None:
    lawful, problems = taken(BIDDING, text)
    assert lawful == []
    assert [problem.line for problem in problems] == [1]


def test_a_bid_that_is_replaced_is_neither_lawful_nor_refused() -> None:
    assert taken(BIDDING, "BID x 3\nBID xanadu 1\nBID x 2") == (["BID xanadu 1", "BID x 2"], [])


def test_a_bid_is_no_order_of_the_war() -> None:
    assert taken(WAR, "BID x 1\nMUSTER A2")[0] == ["MUSTER A2"]


def test_a_player_without_hexes_is_refused_kindly() -> None:
    lawful, (problem,) = taken(WAR, "MUSTER A1", "Cora")
    assert lawful == []
    assert "press is still welcome" in problem.message


def test_after_the_end_nothing_is_lawful() -> None:
    over = position("A1=Ann3 A2=Bob1", "over")
    assert taken(over, "MUSTER A1")[0] == []


def test_without_a_match_the_labels_of_packaged_boards_are_hexes() -> None:
    for label in ("A1", "B6", "C4", "C5", "D2", "D3", "E5", "F2", "G1"):
        assert hexem.GRAMMAR.read(f"MUSTER {label}", packaged=True).orders, label
    assert not hexem.GRAMMAR.read("MUSTER Z99", packaged=True).orders
    assert not hexem.GRAMMAR.read("MUSTER C 4", packaged=True).orders


def test_many_bad_labels_are_answered_quickly() -> None:
    lines = "\n".join("MUSTER " + " ".join(["Z999"] * 400) for _ in range(50))
    _, problems = taken(WAR, lines)
    assert len(problems) == 20_000


@pytest.mark.parametrize("value", ["9", "x3 q", "", 9, None, ["x3"], True, "no/such/file.txt"])
def test_the_option_board_refuses_what_is_no_board(value: object) -> None:
    board = hexem.OPTIONS[0]
    with pytest.raises(ValueError, match="board"):
        board.read(value)


def test_the_option_board_takes_a_name_or_a_board() -> None:
    board = hexem.OPTIONS[0]
    assert [board.read(value) for value in (3, "3", "x3 y3\n")] == ["3", "3", "x3 y3\n"]


@pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, "0.5", True, None, float("nan")])
def test_the_option_share_is_between_0_and_1(value: object) -> None:
    with pytest.raises(ValueError, match="above 0 and below 1"):
        hexem.OPTIONS[2].read(value)
