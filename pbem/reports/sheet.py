"""A sheet that pieces of a picture are laid on: pixels by a palette, as a PNG has them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from pbem.reports.png import Colour

CLEAR: Colour = (0, 0, 0, 0)
_MOST_COLOURS = 256
# The colours of edges are rounded to so much of 255, so that there are fewer of them.
_COARSE = 28


_SEEN = re.compile(rb"[^\0]+")


class Run(NamedTuple):
    """Pixels side by side: where they begin, and which of a piece's they are."""

    x: int
    y: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Piece:
    """What a piece looks like: its colours, by them its pixels, and these in runs.

    Where a run begins is counted from the place of the piece.
    """

    colours: tuple[Colour, ...]
    pixels: bytes
    runs: tuple[Run, ...]

    @cached_property
    def box(self) -> tuple[int, int, int, int]:
        """The first column and row that hold anything, and those behind the last."""
        rights = (run.x + run.last - run.first for run in self.runs)
        return (
            min((run.x for run in self.runs), default=0),
            min((run.y for run in self.runs), default=0),
            max(rights, default=0),
            max((run.y + 1 for run in self.runs), default=0),
        )

    @cached_property
    def soft(self) -> list[list[int]]:
        """For each run, which of its pixels let through what lies beneath."""
        opaque = [colour[3] == 255 for colour in self.colours]
        return [
            [at for at in range(run.first, run.last) if not opaque[self.pixels[at]]]
            for run in self.runs
        ]


def piece_of(colours: Sequence[Colour], found: Iterable[tuple[int, int, bytes]]) -> Piece:
    """Return a piece of runs, each with where it begins and its pixels."""
    runs, end = [], 0
    found = list(found)
    for x, y, pixels in found:
        runs.append(Run(x, y, end, end + len(pixels)))
        end += len(pixels)
    return Piece(tuple(colours), b"".join(pixels for _, _, pixels in found), tuple(runs))


def seen(rows: Mapping[int, bytes], left: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the runs of rows of pixels that begin `left` of a place, 0 being what is clear."""
    for y, row in rows.items():
        for run in _SEEN.finditer(row):
            yield left + run.start(), y, run[0]


def side_by_side(pieces: Sequence[tuple[Piece, int]]) -> Piece:
    """Return pieces as one, each having been moved so far to the right."""
    colours = sorted({colour for piece, _ in pieces for colour in piece.colours}, key=_opacity)
    left = min(piece.box[0] + moved for piece, moved in pieces)
    wide = max(piece.box[2] + moved for piece, moved in pieces) - left
    rows: dict[int, bytearray] = {}
    for piece, moved in pieces:
        table = bytes(map(colours.index, piece.colours)).ljust(256, b"\0")
        pixels = piece.pixels.translate(table)
        for run in piece.runs:
            row = rows.setdefault(run.y, bytearray(wide))
            new = slice(run.x + moved - left, run.x + moved - left + run.last - run.first)
            # Where letters touch, the more opaque pixel is seen.
            row[new] = bytes(map(max, row[new], pixels[run.first : run.last]))
    # The clear gaps in letters belong to their rows, for fewer runs are laid sooner.
    return piece_of(colours, ((left, y, bytes(row)) for y, row in rows.items()))


def _opacity(colour: Colour) -> tuple[int, Colour]:
    return colour[3], colour


@lru_cache(maxsize=4096)
def _over(upper: Colour, lower: Colour) -> Colour:
    """Return what is seen where one colour lies over another (Porter and Duff's `over`)."""
    if upper[3] in (0, 255):
        return upper if upper[3] else lower
    through = lower[3] * (255 - upper[3]) / 255
    opaque = upper[3] + through
    red, green, blue = (
        min(255, round((a * upper[3] + b * through) / opaque / _COARSE) * _COARSE)
        for a, b in zip(upper[:3], lower[:3], strict=True)
    )
    return red, green, blue, round(opaque)


@lru_cache(maxsize=1024)
def _nearest(colour: Colour, among: tuple[Colour, ...]) -> Colour:
    return min(among, key=lambda one: sum((a - b) ** 2 for a, b in zip(colour, one, strict=True)))


class Sheet:
    """A picture in the making: its palette, and its scanlines, each with a zero byte before it."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.scanlines = bytearray((width + 1) * height)
        self.palette: dict[Colour, int] = {CLEAR: 0}
        self._colours = [CLEAR]
        self._tables: dict[tuple[Piece, int], bytes] = {}
        self._pixels: dict[tuple[Piece, int], bytes] = {}

    def lay(self, piece: Piece, x: int, y: int) -> None:
        """Lay a piece over what lies there already; what lies beyond the sheet is cut off."""
        if not self._holds(piece, x, y):
            piece = self._cut(piece, x, y)
        if not piece.runs:
            return
        lines = self.scanlines
        place = y * (self.width + 1) + 1 + x
        spans = _spans(piece, self.width + 1)
        beneath = lines[place + spans[0][0]]
        pixels, plain = self._over_one(piece, beneath), bytes([beneath]) * self.width
        for number, (offset, first, last) in enumerate(spans):
            start, long = place + offset, last - first
            # Nearly all runs lie over that single colour.
            if lines.startswith(plain[:long], start):
                lines[start : start + long] = pixels[first:last]
            else:
                lines[start : start + long] = self._over_many(piece, number, start)

    def _over_one(self, piece: Piece, beneath: int) -> bytes:
        """Return the pixels of a piece as they are over a single colour."""
        pixels = self._pixels.get((piece, beneath))
        if pixels is None:
            pixels = piece.pixels.translate(self._table(piece, beneath))
            self._pixels[piece, beneath] = pixels
        return pixels

    def _over_many(self, piece: Piece, number: int, start: int) -> bytes:
        """Return a run as it is over what lies on the sheet from some byte on."""
        _, _, first, last = piece.runs[number]
        start -= first
        mixed = bytearray(self._over_one(piece, self.scanlines[start + first])[first:last])
        for at in piece.soft[number]:
            table = self._table(piece, self.scanlines[start + at])
            mixed[at - first] = table[piece.pixels[at]]
        return bytes(mixed)

    def _table(self, piece: Piece, beneath: int) -> bytes:
        """Return which entry of the palette each of a piece's colours is over another entry."""
        table = self._tables.get((piece, beneath))
        if table is None:
            lower = self._colours[beneath]
            numbers = [self._entry(_over(upper, lower)) for upper in piece.colours]
            table = self._tables[piece, beneath] = bytes(numbers).ljust(256, b"\0")
        return table

    def _entry(self, colour: Colour) -> int:
        """Return a colour's place in the palette; where that is full, that of the nearest one."""
        if colour not in self.palette:
            if len(self.palette) == _MOST_COLOURS:
                return self.palette[_nearest(colour, tuple(self.palette))]
            self.palette[colour] = len(self.palette)
            self._colours.append(colour)
        return self.palette[colour]

    def _holds(self, piece: Piece, x: int, y: int) -> bool:
        left, top, right, bottom = piece.box
        return (
            x + left >= 0 and y + top >= 0 and x + right <= self.width and y + bottom <= self.height
        )

    def _cut(self, piece: Piece, x: int, y: int) -> Piece:
        left, right = -x, self.width - x
        return piece_of(
            piece.colours,
            (
                (max(run.x, left), run.y, pixels)
                for run in piece.runs
                if 0 <= y + run.y < self.height and (pixels := _within(piece, run, left, right))
            ),
        )


def _within(piece: Piece, run: Run, left: int, right: int) -> bytes:
    first = run.first + max(0, left - run.x)
    return piece.pixels[first : min(run.last, max(first, run.first + right - run.x))]


@lru_cache(maxsize=2048)
def _spans(piece: Piece, long: int) -> list[tuple[int, int, int]]:
    """Return for each run how far behind a place it begins on lines so long, and its pixels."""
    return [(run.y * long + run.x, run.first, run.last) for run in piece.runs]
