"""The board as a picture: where everything stands, in pixels, and which colour it has."""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from pbem import colours
from pbem.game import Event, Json
from pbem.games.hexem import board
from pbem.games.hexem.state import NOBODY, State

DARK, LIGHT = "#111111", "#FFFFFF"

# The distance from the middle of a hex to its corners, and to its sides.
_CORNER = 28.0
_SIDE = _CORNER * math.sqrt(3) / 2
_MARGIN = 24.0
_HEAD = 34.0
_LINE = 26.0
# The legend: the size of its letters, how far they stand from the mark's left edge, what lies
# between two columns, and how long a text may become before its name is shortened.
_SIZE = 13
_MARK = 24
_BETWEEN = 20
_LONGEST = 400
# So narrow a picture has no room for its title.
_NARROWEST = 348
# A picture of a great board is scaled down to this, for mail.
_WIDEST = 1200.0


@lru_cache(maxsize=64)
def colour(at: int) -> str:
    """Return the colour of the seat at a place; after eight the colours return, paler each time."""
    paler = 1 - 0.6 ** (at // len(colours.SEATS))
    return mixed(colours.of_seat(at), paler)


def mixed(shade: str, white: float) -> str:
    """Mix a colour with so much white, 0 to 1."""
    parts = (int(shade[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 - part) * white):02X}" for part in parts)


@lru_cache(maxsize=256)
def ink(shade: str) -> str:
    """Return dark or light, whichever is read better on a colour (WCAG 2 relative luminance)."""
    parts = [int(shade[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return DARK if (bright + 0.05) / 0.056 >= 1.05 / (bright + 0.05) else LIGHT


# What a letter moves the pen by, in parts of its size, at most (DejaVu Sans).
_ADVANCES = (
    (0.38, " ',./:;IJfijl|"),
    (0.42, "!()-[]rt"),
    (0.65, 'abcdeghknopqsuvxyz0123456789?$*_`LFSbEPTY"'),
    (1.0, "%@Wmw…"),
)
_ADVANCE = {letter: advance for advance, letters in _ADVANCES for letter in letters}


class Entry(NamedTuple):
    """A line of the legend: a colour, and a text that begins with a name."""

    name: str
    text: str
    colour: str


def picture(
    state: State,
    legend: tuple[Entry, ...],
    changed: frozenset[str],
    steps: tuple[tuple[str, str], ...],
) -> Json:
    """Lay the picture out: its size, hexes, arrows of conquest, and legend.

    The entries of the legend come back with their places, and one without a colour more where there
    are arrows. `steps` are the conquests, from which hex to which one.
    """
    places = [board.place(label) for label in state.labels]
    top = min(row for row, _ in places)
    left = min(column for _, column in places)
    middles = {
        label: (
            _MARGIN + _SIDE * (2 * (column - left) + row % 2 + 1),
            _HEAD + _MARGIN + _CORNER * (1.5 * (row - top) + 1),
        )
        for label, (row, column) in zip(state.labels, places, strict=True)
    }
    board_width = max(x for x, _ in middles.values()) + _SIDE + _MARGIN
    down = max(y for _, y in middles.values()) + _CORNER + _MARGIN
    placed, widest = _legend(legend, board_width - 2 * _MARGIN, is_taken=bool(steps))
    width = max(board_width, 2 * _MARGIN + widest, _NARROWEST)
    for entry in placed:
        entry["y"] = round(down + entry["y"], 1)
    height = placed[-1]["y"] + _LINE + _MARGIN
    scale = min(1.0, _WIDEST / width)
    shades = _shades(state)
    return {
        "width": round(width, 1),
        "height": round(height, 1),
        "shown_width": round(width * scale),
        "shown_height": round(height * scale),
        "hex": _corners(_CORNER - 1),
        "ring": _corners(_CORNER - 5),
        "hexes": [
            {
                "label": label,
                "armies": armies,
                # Long numbers are written smaller, to stay inside.
                "size": min(20, round(62 / len(str(armies)))),
                "x": round(middles[label][0], 1),
                "y": round(middles[label][1], 1),
                "changed": label in changed,
                "fill": shade,
                "ink": ink(shade),
            }
            for label, armies, shade in zip(state.labels, state.armies, shades, strict=True)
        ],
        "arrows": [_arrow(middles[source], middles[target]) for source, target in steps],
        "legend": placed,
    }


def _legend(entries: Sequence[Entry], room: float, *, is_taken: bool) -> tuple[list[Json], float]:
    """Place the entries in as many columns as there is room for; return them and their width."""
    texts = [_shortened(entry) for entry in entries]
    column = _MARK + math.ceil(max(map(across, texts))) + _BETWEEN
    columns = max(1, int((room + _BETWEEN) // column))
    placed: list[Json] = [
        {
            "text": text,
            "colour": entry.colour,
            "x": _MARGIN + at % columns * column,
            "y": at // columns * _LINE,
        }
        for at, (entry, text) in enumerate(zip(entries, texts, strict=True))
    ]
    widest = float(column - _BETWEEN)
    if is_taken:
        # It is longer than most, and would make all columns wide.
        text = "taken this turn: dashed, by way of the arrows"
        placed.append({"text": text, "colour": "", "x": _MARGIN, "y": placed[-1]["y"] + _LINE})
        widest = max(widest, _MARK + across(text))
    return placed, widest


def _shortened(entry: Entry) -> str:
    """Return the text of an entry, its name cut where it would be far too long."""
    over = across(entry.text) - _LONGEST
    if over <= 0:
        return entry.text
    room = across(entry.name) - over - across("…")
    reach = accumulate(map(_advance, entry.name))
    kept = sum(1 for far in reach if far * _SIZE <= room)
    return f"{entry.name[:kept].rstrip()}…{entry.text[len(entry.name) :]}"


def across(text: str) -> float:
    """Return how many pixels a text of the legend takes, or somewhat more."""
    return _SIZE * sum(map(_advance, text))


@lru_cache(maxsize=1024)
def _advance(letter: str) -> float:
    plain = unicodedata.normalize("NFD", letter)[0]
    if plain.isascii() or letter == "…":
        return _ADVANCE.get(plain, 0.87)
    category = unicodedata.category(plain)
    return 0.0 if category in ("Mn", "Me", "Cf") else 0.85 if category == "Ll" else 1.0


def _shades(state: State) -> list[str]:
    if state.phase == "countries":
        order = {name: at for at, name in enumerate(board.countries(state.countries))}
        return [country_colour(order[c]) if c else colours.NEUTRAL for c in state.countries]
    return [colours.NEUTRAL if at == NOBODY else colour(at) for at in state.owners]


def country_colour(at: int) -> str:
    """Return the colour of the country at a place: paler than any seat's."""
    return mixed(colour(at), 0.5)


@lru_cache
def _corners(size: float) -> str:
    angles = [math.pi / 6 + math.pi / 3 * corner for corner in range(6)]
    return " ".join(f"{size * math.cos(a):.2f},{size * math.sin(a):.2f}" for a in angles)


def steps(events: Iterable[Event]) -> tuple[tuple[str, str], ...]:
    """Return each conquest of some events once: from which hex, and which one."""
    found: dict[tuple[str, str], None] = {}
    for event in events:
        if event.kind == "muster" and event.facts["result"] == "won":
            found.update(((one, event.facts["hex"]), None) for one in event.facts["from"].split())
    return tuple(found)


def _arrow(source: tuple[float, float], target: tuple[float, float]) -> Json:
    (x, y), (to_x, to_y) = source, target
    along = (to_x - x, to_y - y)
    across = (-along[1], along[0])
    outline = ((0.36, 0.05), (0.48, 0.05), (0.48, 0.12), (0.62, 0.0))
    points = [*outline, *((far, -side) for far, side in reversed(outline[:-1]))]
    outlined = " ".join(
        f"{along[0] * far + across[0] * side:.1f},{along[1] * far + across[1] * side:.1f}"
        for far, side in points
    )
    return {"x": round(x, 1), "y": round(y, 1), "points": outlined}
