"""The board drawn in plain characters, for a terminal and for mail."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from string import ascii_lowercase

from pbem import typography
from pbem.games.hexem import board
from pbem.games.hexem.state import NOBODY, State

WIDTH = 72


@lru_cache(maxsize=64)
def letters(names: tuple[str, ...]) -> Mapping[str, str]:
    """Give each name a small letter of its own: the first of its letters that is free, else any."""
    given: dict[str, str] = {}
    # Names of one letter keep it, whatever longer ones begin with.
    for name in sorted(names, key=lambda name: typography.key(name) not in set(ascii_lowercase)):
        wanted = [letter for letter in typography.key(name) if letter in ascii_lowercase]
        free = [x for x in (*wanted, *ascii_lowercase, "?") if x not in given.values()]
        given[name] = free[0] if free else "?"
    return {name: given[name] for name in names}


def drawn(state: State, changed: Collection[str] = ()) -> str:
    """Draw the board, rows by letter, columns by number: a hex is its holder's letter and armies.

    While countries are bid for, the letter is the country's. A hex in `changed` bears a star, a
    neutral one a dash, a gap is a dot. A board wider than 72 columns is drawn in strips.
    """
    cells = {
        board.place(label): text
        for label, text in zip(state.labels, _cells(state, changed), strict=True)
    }
    rows = sorted({row for row, _ in cells})
    columns = range(min(c for _, c in cells), max(c for _, c in cells) + 1)
    margin = max(len(board.label(row, 1)) for row in rows)
    # A star takes the blank between two cells, so that a board is no wider for it.
    wide = max(3, len(str(columns[-1])), *(len(cell.rstrip("*")) for cell in cells.values())) + 1
    fit = max(1, (WIDTH - margin - wide // 2) // wide)
    strips = [columns[at : at + fit] for at in range(0, len(columns), fit)]
    return "\n\n".join(_strip(cells, range(rows[0], rows[-1] + 1), s, margin, wide) for s in strips)


def _cells(state: State, changed: Collection[str]) -> list[str]:
    marked = frozenset(changed)
    if state.phase == "countries":
        given = letters(board.countries(state.countries))
        signs = [given[name] if name else "-" for name in state.countries]
    else:
        given = letters(state.seats)
        signs = ["-" if at == NOBODY else given[state.seats[at]] for at in state.owners]
    return [
        f"{sign}{number}{'*' if label in marked else ''}"
        for sign, number, label in zip(signs, state.armies, state.labels, strict=True)
    ]


def _strip(
    cells: dict[tuple[int, int], str], rows: range, columns: range, margin: int, wide: int
) -> str:
    head = " " * margin + "".join(str(column).ljust(wide) for column in columns)
    lines = [head.rstrip()]
    for row in rows:
        there = [column for column in columns if (row, column) in cells]
        line = board.label(row, 1)[:-1].ljust(margin) + " " * (row % 2 * wide // 2)
        for column in columns:
            # Dots only between hexes: what lies outside the board needs none.
            inside = there and there[0] < column < there[-1]
            line += cells.get((row, column), "." if inside else "").ljust(wide)
        lines.append(line.rstrip())
    return "\n".join(lines)
