"""Where the hexes lie: labels, neighbours, board files, and the boards that are packaged."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from pbem import typography

# The packaged boards are called by the number of their countries.
PACKAGED = ("2", "3", "4", "5", "6", "7", "8")

_LABEL = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,5})")
_CELL = re.compile(r"(-|[^\W\d_]+)([0-9]{1,9})")


class Board(NamedTuple):
    """A board before play, its hexes in board order: by row, then by column.

    `countries` has a name for every hex, `None` where it is unclaimed.
    """

    labels: tuple[str, ...]
    armies: tuple[int, ...]
    countries: tuple[str | None, ...]


def label(row: int, column: int) -> str:
    """Return the label of a place; rows count from 0 (A … Z, AA …), columns from 1."""
    letters = ""
    row += 1
    while row:
        row, letter = divmod(row - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{column}"


@lru_cache(maxsize=2048)
def place(said: str) -> tuple[int, int]:
    """Return row (from 0) and column (from 1) of a label; raise `ValueError` for none."""
    found = _LABEL.fullmatch(said)
    if not found:
        raise ValueError(f"{said!r} is no hex label: one is written like C7")
    row = 0
    for letter in found[1]:
        row = row * 26 + ord(letter) - ord("A") + 1
    return row - 1, int(found[2])


def around(row: int, column: int) -> tuple[tuple[int, int], ...]:
    """Return the six places next to one, in board order; odd rows lie half a hex to the right."""
    left = column - 1 + row % 2
    return (
        (row - 1, left),
        (row - 1, left + 1),
        (row, column - 1),
        (row, column + 1),
        (row + 1, left),
        (row + 1, left + 1),
    )


@lru_cache(maxsize=32)
def ordered(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels in board order; raise `ValueError` for one that is none."""
    return tuple(sorted(labels, key=place))


@lru_cache(maxsize=32)
def places(labels: tuple[str, ...]) -> Mapping[str, int]:
    """Return where in `labels` each label stands."""
    return {name: at for at, name in enumerate(labels)}


@lru_cache(maxsize=32)
def neighbours(labels: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Return for each hex the hexes next to it, all by their place in `labels`."""
    at = {place(name): number for number, name in enumerate(labels)}
    return tuple(
        tuple(at[near] for near in around(row, column) if near in at) for row, column in at
    )


def countries(board: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return the names of the countries in board order, each by its first hex."""
    return tuple(dict.fromkeys(name for name in board if name is not None))


def read(text: str) -> Board:
    """Read a board file: a line a row, cells parted by blanks, `.` a gap, `x3`, `-2` hexes.

    Raise `ValueError` naming the row and the cell that cannot be.
    """
    rows = text.strip("\r\n\t \ufeff").splitlines()
    cells = [cell for row, line in enumerate(rows) for cell in _cells(row, line)]
    if not cells:
        raise ValueError("the board has no hexes: a row of it is written like x3 x3 . -2 y3")
    named = countries(tuple(country for _, _, country in cells))
    keys: dict[str, str] = {}
    for name in named:
        twin = keys.setdefault(typography.key(name), name)
        if twin != name:
            raise ValueError(f"the countries {twin} and {name} have the same name but for case")
    return Board(*(tuple(column) for column in zip(*cells, strict=True)))


def _cells(row: int, line: str) -> Iterator[tuple[str, int, str | None]]:
    written = line.split()
    if not written:
        letters = label(row, 1)[:-1]
        raise ValueError(f"row {letters} of the board is empty: a row without hexes is written .")
    for column, cell in enumerate(written, 1):
        if cell == ".":
            continue
        name = label(row, column)
        found = _CELL.fullmatch(cell)
        if not found:
            raise ValueError(f"{name} of the board is {cell[:20]!r}: x3, -2 or . is needed")
        if int(found[2]) < 1:
            raise ValueError(f"{name} of the board is {cell}: a hex has at least 1 army")
        yield name, int(found[2]), None if found[1] == "-" else found[1]


def write(board: Board) -> str:
    """Write a board as a board file, its columns in line and odd rows half a cell to the right."""
    cells = {
        place(name): f"{country or '-'}{armies}"
        for name, armies, country in zip(*board, strict=True)
    }
    width = max(map(len, cells.values())) + 1
    width += width % 2
    lines = []
    for row in range(max(row for row, _ in cells) + 1):
        last = max((column for line, column in cells if line == row), default=1)
        line = "".join(cells.get((row, c), ".").ljust(width) for c in range(1, last + 1))
        lines.append(" " * (row % 2 * width // 2) + line.rstrip())
    return "\n".join(lines) + "\n"


def packaged(name: str) -> str:
    """Return the text of a packaged board; raise `ValueError` naming those there are."""
    if name not in PACKAGED:
        raise ValueError(f"no board {name!r} is packaged; there are: {', '.join(PACKAGED)}")
    return files(__package__).joinpath("boards", f"{name}.txt").read_text(encoding="utf-8")


@cache
def packaged_labels() -> frozenset[str]:
    """Return every label that some packaged board has."""
    return frozenset(label for name in PACKAGED for label in read(packaged(name)).labels)
