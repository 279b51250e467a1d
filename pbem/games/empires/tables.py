"""Tables in plain text, at most 72 columns wide, and the short names that head their columns."""

import unicodedata
from collections.abc import Sequence

WIDTH = 72
LONGEST_LABEL = 6
LONGEST_NAME = 20


def columns(text: str) -> int:
    """Count the columns a text takes in a terminal: two for a wide letter, none for an accent."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def shortened(name: str, most: int, end: str = ".") -> str:
    """Return a name cut to so many columns; one that is cut has `end` behind."""
    if columns(name) <= most:
        return name
    while columns(name) > most - columns(end):
        name = name[:-1]
    return name.rstrip() + end


def labels(names: Sequence[str], most: int = LONGEST_LABEL) -> dict[str, str]:
    """Give each name a short one of its own; where two would be alike they are numbered."""
    cut = {name: shortened(name, most) for name in names}
    given: dict[str, str] = {}
    for at, name in enumerate(names, 1):
        twin = any(cut[other] == cut[name] for other in names if other != name)
        given[name] = shortened(name, most - 1 - len(str(at)), "") + f".{at}" if twin else cut[name]
    return given


def table(head: Sequence[str], rows: Sequence[Sequence[str]], fixed: int) -> str:
    """Lay out a table: the first column to the left, all others to the right.

    Where it would be wider than `WIDTH`, it is parted into several, one under the other, which
    all begin with the first `fixed` columns.
    """
    widths = [max(columns(row[at]) for row in (head, *rows)) for at in range(len(head))]
    parts: list[list[int]] = []
    used = WIDTH + 1
    for at in range(fixed, len(head)):
        if used + 1 + widths[at] > WIDTH:
            parts.append(list(range(fixed)))
            used = sum(widths[:fixed]) + fixed - 1
        parts[-1].append(at)
        used += 1 + widths[at]
    return "\n\n".join(
        "\n".join(
            " ".join(_padded(row[at], widths[at], left=at == 0) for at in part).rstrip()
            for row in (head, *rows)
        )
        for part in parts or [list(range(fixed))]
    )


def _padded(text: str, width: int, *, left: bool) -> str:
    room = " " * (width - columns(text))
    return text + room if left else room + text
