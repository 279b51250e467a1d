"""Charts: the course of a number, a line a seat, as SVG that also prints in black and white.

Each line ends in its seat's name and last value, and has a dash and a mark of its own, so that no
reader depends on colours. Names are escaped; the colours are the style sheet's.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from markupsafe import Markup, escape

from pbem.game import Json
from pbem.reports.templates import columns, printable

Value = float | int | None

# A dash and a mark for each seat: no two of eight look the same without colours.
_DASHES = ("", "7 3", "2 3", "10 3 2 3", "", "7 3", "2 3", "10 3 2 3")
_MARKS = (
    "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z",
    "M-3.2,-3.2h6.4v6.4h-6.4z",
    "M0,-4.2L4,3H-4z",
    "M0,-4.4L4.4,0L0,4.4L-4.4,0z",
    "M-1.2,-4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z",
    "M0,4.2L4,-3H-4z",
    "M-4,-2.4H4V2.4H-4z",
    "M-2.4,-4H2.4V4H-2.4z",
)
_HEIGHT = 300
_TOP, _BOTTOM, _LEFT = 12, 30, 44
_ROW = 15
# How far labels stand from the lines, and how wide a letter of theirs is at most, about.
_LEADER, _LETTER = 16, 7.4
# Of a long match only so many points bear their mark, or lines would be beads.
_MOST_MARKS = 12


class _Place(NamedTuple):
    """Where values come to stand: turns from left to right, numbers from the bottom up."""

    width: float
    last: int
    low: float
    high: float

    def x(self, turn: float) -> float:
        return _LEFT + turn * self.width / max(self.last, 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def drawn(chart: Json, seats: Sequence[str]) -> Markup:
    """Draw a chart of `course()`, once for wide and once for narrow screens; empty without values.

    `chart` has `title`, `unit`, and in `seats` a list of values by seat, one a turn from 0 on;
    `None` is a value that isn't known, or no longer there. Where values are not one a turn,
    `places` has what stands below each, and `along` says what they are: `epoch`.
    """
    rows = {seat: chart["seats"][seat] for seat in seats if seat in chart["seats"]}
    known = [value for values in rows.values() for value in values if value is not None]
    if not known:
        return Markup("")
    return Markup("").join(_svg(chart, rows, seats, known, width) for width in (720, 360))


def _svg(
    chart: Json,
    rows: Mapping[str, Sequence[Value]],
    seats: Sequence[str],
    known: Sequence[float],
    width: int,
) -> Markup:
    labels = _labels(rows, width)
    widest = max(columns(f"{name} {value}") for name, value in labels.values())
    room = _LEADER + round(widest * _LETTER) + 4
    last = max(len(values) for values in rows.values()) - 1
    ticks = _ticks(min(*known, 0), max(*known, 1), all(float(one).is_integer() for one in known))
    place = _Place(width - _LEFT - room, last, ticks[0], ticks[-1])
    summary = escape(printable(_summary(chart, rows)))
    parts = [
        f'<svg class="chart {"wide" if width > 500 else "narrow"}" viewBox="0 0 {width} {_HEIGHT}"'
        f' role="img" xmlns="http://www.w3.org/2000/svg"><title>{summary}</title>'
    ]
    for tick in ticks:
        y = place.y(tick)
        weight = "axis" if tick == 0 else "grid"
        right = _LEFT + place.width
        parts.append(f'<path class="{weight}" d="M{_LEFT},{y:.1f}H{right:.1f}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 7}" y="{y + 4:.1f}">{tick:g}</text>')
    for at, said in _below(chart, place, width):
        x, y = place.x(at), _HEIGHT - _BOTTOM + 18
        parts.append(f'<text class="turn" x="{x:.1f}" y="{y}">{escape(said)}</text>')
    ends: dict[str, tuple[float, float]] = {}
    for seat, values in rows.items():
        number = seats.index(seat) % 8
        points = [(place.x(at), place.y(v)) for at, v in enumerate(values) if v is not None]
        if not points:
            continue
        dash = f' stroke-dasharray="{_DASHES[number]}"' if _DASHES[number] else ""
        colour = f'style="--c: var(--seat-{number + 1})"'
        parts.append(f'<g {colour}><path class="line"{dash} d="{_path(values, place)}"/>')
        every = math.ceil(len(points) / _MOST_MARKS)
        marked = [point for at, point in enumerate(reversed(points)) if at % every == 0]
        marks = "".join(
            f'<path d="{_MARKS[number]}" transform="translate({x:.1f},{y:.1f})"/>'
            for x, y in marked
        )
        parts.append(f'<g class="marks">{marks}</g></g>')
        ends[seat] = points[-1]
    for seat, (x, y, row) in _spread(ends).items():
        name, value = labels[seat]
        left = _LEFT + place.width + _LEADER
        number = seats.index(seat) % 8 + 1
        parts.append(
            f'<path class="leader" style="--c: var(--seat-{number})"'
            f' d="M{x + 5:.1f},{y:.1f}L{left - 4:.1f},{row:.1f}"/>'
            f'<text class="label" x="{left:.1f}" y="{row + 4:.1f}">'
            f"{escape(name)} <tspan>{value}</tspan></text>"
        )
    parts.append("</svg>")
    return Markup("".join(parts))


def _summary(chart: Json, rows: Mapping[str, Sequence[Value]]) -> str:
    """Say in a sentence what a chart shows, for who can't see it; the figures are in its table."""
    lasts = []
    for seat, values in rows.items():
        value = next((value for value in reversed(values) if value is not None), None)
        if value is not None:
            lasts.append(f"{seat} {value:g}")
    along = chart.get("along", "turn")
    return f"{chart['title']}, {along} by {along}; in the end {', '.join(lasts)}."


def _ticks(low: float, high: float, are_whole: bool) -> list[float]:
    """Return some five round numbers that hold all values between them: of a count, whole ones."""
    step = 10 ** math.floor(math.log10(max(high - low, 1) / 4))
    found = (step * by for by in (1, 2, 2.5, 5, 10) if (high - low) / (step * by) <= 5.5)
    # Nobody has half a hex.
    step = next(one for one in found if not are_whole or float(one).is_integer() or one < 1)
    step = max(step, 1) if are_whole else step
    first, past = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(past, first + 1) + 1)]


def _turns(last: int, most: int) -> list[int]:
    step = next(
        step
        for step in (*(by * ten for ten in (1, 10, 100, 1000) for by in (1, 2, 5)), last + 1)
        if last / step <= most
    )
    return list(range(0, last + 1, step))


def _below(chart: Json, place: _Place, width: int) -> list[tuple[int, str]]:
    """Return what stands below values, with the place of each; where room lacks, the last ones."""
    if "places" not in chart:
        return [(turn, str(turn)) for turn in _turns(place.last, 12 if width > 500 else 6)]
    found: list[tuple[int, str]] = []
    left = math.inf
    for at, name in reversed(list(enumerate(chart["places"]))):
        said = _cut(str(printable(name)), 16 if width > 500 else 12)
        half = columns(said) * _LETTER / 2
        if place.x(at) + half <= left:
            found.append((at, said))
            left = place.x(at) - half
    return found[::-1]


def _path(values: Sequence[Value], place: _Place) -> str:
    """Write the line through values; it is broken where one is unknown."""
    steps, pen = [], "M"
    for at, value in enumerate(values):
        if value is None:
            pen = "M"
        else:
            steps.append(f"{pen}{place.x(at):.1f},{place.y(value):.1f}")
            pen = "L"
    return "".join(steps)


def _spread(ends: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float, float]]:
    """Give each label a row of its own, as near to the end of its line as may be."""
    ordered = sorted(ends.items(), key=lambda end: end[1][1])
    rows: list[float] = []
    for _, (_, y) in ordered:
        rows.append(max(y, rows[-1] + _ROW) if rows else y)
    floor = float(_HEIGHT - _BOTTOM + 6)
    for at in range(len(rows) - 1, -1, -1):
        rows[at] = min(rows[at], floor)
        floor = rows[at] - _ROW
    return {seat: (x, y, row) for (seat, (x, y)), row in zip(ordered, rows, strict=True)}


def _labels(rows: Mapping[str, Sequence[Value]], width: int) -> dict[str, tuple[str, str]]:
    """Return what stands at the end of each line: the seat's name, cut where it is long, and value.

    Names that would be cut to the same are cut at their beginning instead: `…by the Sea`.
    """
    values = {
        seat: next((f"{value:g}" for value in reversed(row) if value is not None), "")
        for seat, row in rows.items()
    }
    longest = (22 if width > 500 else 12) - max(map(len, values.values()))
    names = {seat: str(printable(seat)) for seat in rows}
    cut = {seat: _cut(name, longest) for seat, name in names.items()}
    for short in {one for one in cut.values() if list(cut.values()).count(one) > 1}:
        alike = [seat for seat, one in cut.items() if one == short]
        letters = zip(*(names[seat] for seat in alike), strict=False)
        same = len(list(takewhile(lambda each: len(set(each)) == 1, letters)))
        for seat in alike:
            cut[seat] = _cut(f"…{names[seat][same:]}", longest)
    return {seat: (cut[seat], values[seat]) for seat in rows}


def _cut(name: str, longest: int) -> str:
    """Return a name, cut where it has more columns than it may."""
    if columns(name) <= longest:
        return name
    while columns(name) >= longest:
        name = name[:-1]
    return f"{name.rstrip()}…"
