"""Labels and neighbours, board files, and boards made from a seed."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.games.hexem import board
from pbem.games.hexem.board import Board
from pbem.games.hexem.generator import RECIPES, make_board


@pytest.mark.parametrize(
    ("row", "column", "label"),
    [(0, 1, "A1"), (25, 3, "Z3"), (26, 1, "AA1"), (51, 9, "AZ9"), (52, 1, "BA1"), (702, 1, "AAA1")],
)
def test_rows_go_on_after_z_with_aa(row: int, column: int, label: str) -> None:
    assert board.label(row, column) == label
    assert board.place(label) == (row, column)


@given(st.integers(0, 18_277), st.integers(1, 999_999))
def test_a_label_is_the_label_of_its_place(row: int, column: int) -> None:
    assert board.place(board.label(row, column)) == (row, column)


@pytest.mark.parametrize("said", ["", "A", "7", "A0", "A07", "a1", "A 1", "AAAA1", "A1 ", "Ä1"])
def test_what_is_no_label_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="no hex label"):
        board.place(said)


@pytest.mark.parametrize(
    ("label", "near"),
    [
        ("C4", "B3 B4 C3 C5 D3 D4"),
        ("D4", "C4 C5 D3 D5 E4 E5"),
        ("B1", "A1 A2 B2 C1 C2"),
        ("C1", "B1 C2 D1"),
        ("A1", "A2 B1"),
        ("Z9", "Y9 Y10 Z8 Z10 AA9 AA10"),
    ],
)
def test_neighbours_of_even_and_odd_rows_without_wrapping(label: str, near: str) -> None:
    labels = tuple(board.label(row, column) for row in range(30) for column in range(1, 13))
    found = board.neighbours(labels)[labels.index(label)]
    assert " ".join(labels[at] for at in found) == near


def test_a_gap_parts_its_neighbours() -> None:
    assert board.neighbours(("A1", "A3")) == ((), ())


def test_a_board_file_is_read_row_by_row() -> None:
    found = board.read("\nx3  .  -2\n  Yole12\n.\n x1\n\n")
    assert found == Board(("A1", "A3", "B1", "D1"), (3, 2, 12, 1), ("x", None, "Yole", "x"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no hexes"),
        (". .\n.", "no hexes"),
        ("x3 y\nx3", "A2 of the board is 'y'"),
        ("x3\n\nx3", "row B of the board is empty"),
        ("x0", "at least 1 army"),
        ("3", "A1 of the board"),
        ("-x", "A1 of the board"),
        ("x3 X2", "x and X"),
    ],
)
def test_a_faulty_board_file_is_refused_naming_the_place(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        board.read(text)


cells = st.one_of(
    st.just("."), st.builds("{}{}".format, st.sampled_from("xyz-"), st.integers(1, 999))
)


@given(st.lists(st.lists(cells, min_size=1, max_size=6), min_size=1, max_size=6))
def test_a_board_written_is_the_board_read(rows: list[list[str]]) -> None:
    text = "\n".join(" ".join(row) for row in rows)
    if set(text) <= set(". \n"):
        return
    first = board.read(text)
    assert board.read(board.write(first)) == first


def borders_of(made: Board) -> dict[str, set[str]]:
    """Return the countries that each one borders on."""
    found: dict[str, set[str]] = defaultdict(set)
    for at, near in enumerate(board.neighbours(made.labels)):
        here = made.countries[at]
        assert here is not None
        found[here] |= {made.countries[other] or "" for other in near} - {here}
    return found


def reached(made: Board, country: str | None) -> int:
    """Count the hexes that can be walked to within a country (`None`: within the board)."""
    near = board.neighbours(made.labels)
    inside = [country in (None, name) for name in made.countries]
    seen = {inside.index(True)}
    todo = list(seen)
    while todo:
        for other in near[todo.pop()]:
            if inside[other] and other not in seen:
                seen.add(other)
                todo.append(other)
    return len(seen)


def assert_fair(made: Board, countries: int, hexes: int, armies: int) -> None:
    """Assert all that the rules say of a board that is made."""
    names = set(made.countries)
    assert len(names) == countries
    assert len(made.labels) == countries * hexes
    assert set(made.armies) == {armies}
    assert reached(made, None) == len(made.labels)
    for name in names:
        assert made.countries.count(name) == hexes
        assert reached(made, name) == hexes
    number = [len(others) for others in borders_of(made).values()]
    assert max(number) - min(number) <= 1
    places = {board.place(label) for label in made.labels}
    assert min(row for row, _ in places) == 0
    assert min(column for _, column in places) == 1
    beside = {near for place in places for near in board.around(*place)} - places
    assert any(sum(near in places for near in board.around(*gap)) >= 4 for gap in beside)


@given(st.integers(2, 8), st.integers(3, 40), st.integers(1, 9), st.text(max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_made_board_is_connected_equal_and_fair_and_has_gaps(
    countries: int, hexes: int, armies: int, seed: str
) -> None:
    text = make_board(countries, hexes, armies, seed)
    assert_fair(board.read(text), countries, hexes, armies)
    assert text == make_board(countries, hexes, armies, seed)


def test_a_great_board_is_made_too() -> None:
    assert_fair(board.read(make_board(7, 600, 2, "great")), 7, 600, 2)


@pytest.mark.parametrize(
    ("countries", "hexes", "armies", "fault"),
    [
        (1, 12, 3, "choose 2 to 8"),
        (9, 12, 3, "choose 2 to 8"),
        (4, 2, 3, "choose at least 3"),
        (8, 100_000, 3, "choose at most 12500"),
        (4, 12, 0, "choose at least 1"),
    ],
)
def test_a_board_that_cannot_be_is_refused_with_the_remedy(
    countries: int, hexes: int, armies: int, fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        make_board(countries, hexes, armies, "seed")


@pytest.mark.parametrize("name", board.PACKAGED)
def test_a_packaged_board_is_the_one_its_recipe_makes(name: str) -> None:
    assert board.packaged(name) == make_board(*RECIPES[name])
    assert RECIPES[name][0] == int(name)


def test_a_board_that_is_not_packaged_is_refused() -> None:
    with pytest.raises(ValueError, match="2, 3, 4, 5, 6, 7, 8"):
        board.packaged("../secret")
