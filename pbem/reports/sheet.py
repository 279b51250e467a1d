"""A sheet that pieces of a picture are laid on: pixels by a palette, as a PNG has them."""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, starmap
from operator import itemgetter
from typing import Any

from isal import isal_zlib
from PIL import Image

# Red, green, blue, and how opaque, a byte each.
Colour = bytes
# The first column and row, and those behind the last.
Box = tuple[int, int, int, int]
# What a Pillow image has inside, `Image.im`; its class has no public name. It does what the image
# does without the checks, which take longer than to paste a small piece.
Core = Any
Getter = Callable[[memoryview], tuple[int, ...]]

CLEAR: Colour = bytes(4)
_MOST_COLOURS = 256
# The colours of edges are rounded to so much of 255, so that there are fewer of them.
_COARSE = 28
_SOFT = re.compile(b"\1")
# By a piece's numbers: 0 is the clear colour.
_IS_SEEN = bytes(1) + b"\xff" * 255


@dataclass(frozen=True, eq=False)
class Piece:
    """What a piece looks like: its colours, by them its pixels row by row, and where they lie.

    The first colour is the clear one. The box is counted from the place of the piece. A single
    pixel stands for all in the box.
    """

    colours: tuple[Colour, ...]
    pixels: bytes
    box: Box

    def at(self, x: int, y: int) -> Box:
        """Return where it lies when it is placed at a pixel."""
        left, top, right, bottom = self.box
        return left + x, top + y, right + x, bottom + y

    @property
    def size(self) -> tuple[int, int]:
        """How many pixels it is wide and high."""
        left, top, right, bottom = self.box
        return right - left, bottom - top

    @cached_property
    def shades(self) -> set[Colour]:
        """The colours that are seen."""
        return {colour for number, colour in enumerate(self.colours) if number in self.pixels}

    @cached_property
    def is_firm(self) -> bool:
        """Whether nothing of it mixes with what lies beneath."""
        return all(colour[3] in (0, 255) for colour in self.shades)

    def onto(self, lower: "Piece", x: int, y: int) -> "Piece | None":
        """Return this piece, placed at a pixel of another one, and that as one piece; `None` where
        it doesn't lie all within one opaque colour, or a single pixel stands for all of one."""
        if 1 in (len(self.pixels), len(lower.pixels)):
            return None
        (left, top, right, bottom), (wide, high) = self.at(x, y), self.size
        ground = lower.within((left, top, right, bottom))
        beneath = ground.pixels[0] if ground.size == (wide, high) else 0
        if lower.colours[beneath][3] < 255 or ground.pixels.count(beneath) < wide * high:
            return None
        colours = (_over(upper, lower.colours[beneath]) for upper in self.colours[1:])
        shift = len(lower.colours) - 1
        table = bytes([beneath, *range(shift + 1, shift + len(self.colours))]).ljust(256, b"\0")
        upper, pixels = self.pixels.translate(table), bytearray(lower.pixels)
        stride = lower.size[0]
        first = (top - lower.box[1]) * stride + left - lower.box[0]
        for row in range(high):
            at = first + row * stride
            pixels[at : at + wide] = upper[row * wide : (row + 1) * wide]
        return Piece((*lower.colours, *colours), bytes(pixels), lower.box)

    def within(self, box: Box) -> "Piece":
        """Return what lies in a box; it has no pixels where that is nothing."""
        left, top = map(max, self.box[:2], box[:2])
        right, bottom = map(min, self.box[2:], box[2:])
        if left >= right or top >= bottom:
            return Piece(self.colours, b"", (left, top, left, top))
        pixels, (wide, _) = self.pixels, self.size
        if len(pixels) > 1:
            first = (top - self.box[1]) * wide + left - self.box[0]
            starts = range(first, first + (bottom - top) * wide, wide)
            pixels = b"".join([pixels[at : at + right - left] for at in starts])
        return Piece(self.colours, pixels, (left, top, right, bottom))


@lru_cache(maxsize=4096)
def _over(upper: Colour, lower: Colour) -> Colour:
    """Return what is seen where one colour lies over another (Porter and Duff's `over`)."""
    if upper[3] in (0, 255):
        return upper if upper[3] else lower
    through = lower[3] * (255 - upper[3]) / 255
    opaque = upper[3] + through
    mixed = (
        min(255, round((a * upper[3] + b * through) / opaque / _COARSE) * _COARSE)
        for a, b in zip(upper[:3], lower[:3], strict=True)
    )
    return bytes((*mixed, round(opaque)))


@lru_cache(maxsize=1024)
def _nearest(colour: Colour, among: tuple[Colour, ...]) -> Colour:
    return min(among, key=lambda one: sum((a - b) ** 2 for a, b in zip(colour, one, strict=True)))


# Some rows of a piece: their image, how many they are, and a mask where not all of it is seen.
Band = tuple[Core, int, tuple[Core, ...]]


@lru_cache(maxsize=4096)
def _bands(piece: Piece, table: bytes, is_whole: bool) -> list[Band]:
    """Return the images of a piece, from top to bottom, each pixel the number a table has for it.

    Unless the piece is whole, what is clear of it isn't seen. To leave that out takes long: the
    rows that have anything clear are by themselves.
    """
    wide, _ = piece.size
    rows = (piece.pixels[at : at + wide] for at in range(0, len(piece.pixels), wide))
    bands = []
    for has_clear, some in groupby(rows, lambda row: not is_whole and 0 in row):
        pixels = b"".join(some)
        image = _image(pixels.translate(table.ljust(256, b"\0")), wide)
        mask = (_image(pixels.translate(_IS_SEEN), wide).convert("1").im,) if has_clear else ()
        bands.append((image.im, image.height, mask))
    return bands


def _image(pixels: bytes, wide: int) -> Image.Image:
    return Image.frombuffer("L", (wide, len(pixels) // wide), pixels, "raw", "L", 0, 1)


@lru_cache(maxsize=512)
def _soft(piece: Piece, stride: int) -> tuple[list[int], list[Colour], Getter]:
    """Return which pixels of a piece mix with what lies beneath, their colours, and a getter.

    There is at least one. They are counted from its first pixel on, in rows of a sheet that are
    so long.
    """
    wide, _ = piece.size
    is_soft = bytes(0 < colour[3] < 255 for colour in piece.colours).ljust(256, b"\0")
    soft = [found.start() for found in _SOFT.finditer(piece.pixels.translate(is_soft))]
    places = [at // wide * stride + at % wide for at in soft]
    # A getter of a single one would return no tuple.
    getter = itemgetter(*places, places[-1])
    return places, [piece.colours[piece.pixels[at]] for at in soft], getter


class Palette(dict[tuple[Colour, int], int]):
    """The colours of a picture by number; which number is seen of a colour over another one's.

    A colour is numbered by its own bytes, or by the next number that no other has. So a piece has
    the same numbers in most pictures, and its images are kept; what was drawn before is no matter.
    """

    def __init__(self) -> None:
        self.colours = [CLEAR] * _MOST_COLOURS
        self._numbers = {CLEAR: 0}

    def __missing__(self, pair: tuple[Colour, int]) -> int:
        upper, beneath = pair
        number = self[pair] = self._number(_over(upper, self.colours[beneath]))
        return number

    def _number(self, colour: Colour) -> int:
        """Return the number of a colour; where none is left, that of the nearest one."""
        if colour not in self._numbers:
            if len(self._numbers) == _MOST_COLOURS:
                return self._numbers[_nearest(colour, tuple(self._numbers))]
            number = isal_zlib.crc32(colour) % 255 + 1
            while self.colours[number] != CLEAR:
                number = number % 255 + 1
            self.colours[number] = colour
            self._numbers[colour] = number
        return self._numbers[colour]


class Sheet:
    """A picture in the making: its palette, and by it its pixels."""

    def __init__(self, width: int, height: int) -> None:
        # In a PNG a byte before each row says how that is filtered (RFC 2083, 6): 0, not at all.
        self._stride, self._height = width + 1, height
        self._bytes = bytearray(self._stride * height)
        self._image = Image.frombuffer("L", (self._stride, height), self._bytes, "raw", "L", 0, 1)
        # What is pasted is to be seen in the bytes, not in a copy of them.
        self._image.readonly = 0
        self._core: Core = self._image.im
        self._palette = Palette()
        self._tables: dict[tuple[tuple[Colour, ...], int], bytes] = {}

    def lay(self, piece: Piece, x: int, y: int) -> None:
        """Lay a piece over what lies there already; what lies beyond the sheet is cut off."""
        box = piece.at(x + 1, y)
        if box[0] < 1 or box[1] < 0 or box[2] > self._stride or box[3] > self._height:
            piece = piece.within((-x, -y, self._stride - x - 1, self._height - y))
            box = piece.at(x + 1, y)
        if len(piece.pixels) < 2:
            for pixel in piece.pixels:
                self._fill(piece.colours[pixel], box)
        elif piece.is_firm:
            self._paste(piece, box, 0)
        else:
            least, most = self._core.crop(box).getextrema()
            if least == most:
                self._paste(piece, box, least, is_whole=True)
            else:
                self._mix(piece, box)

    def _fill(self, colour: Colour, box: Box) -> None:
        """Lay a colour all over a box."""
        if colour[3] == 255:
            self._core.paste(self._palette[colour, 0], box)
        elif colour != CLEAR:
            under = self._image.crop(box)
            counts = enumerate(under.histogram())
            table = [count and self._palette[colour, number] for number, count in counts]
            self._image.paste(under.point(table), box)

    def _paste(self, piece: Piece, box: Box, beneath: int, is_whole: bool = False) -> None:
        """Lay a piece as it is over a single colour, and its clear pixels too where it is whole."""
        left, top, right, _ = box
        for image, rows, mask in _bands(piece, self._table(piece, beneath), is_whole):
            self._core.paste(image, (left, top, right, top + rows), *mask)
            top += rows

    def _mix(self, piece: Piece, box: Box) -> None:
        """Lay a piece over several colours; most often it lets through but one of them."""
        first = box[1] * self._stride + box[0]
        places, uppers, getter = _soft(piece, self._stride)
        beneath = getter(memoryview(self._bytes)[first:])
        one = beneath[0]
        self._paste(piece, box, one)
        if beneath.count(one) < len(beneath):
            for place, upper, number in zip(places, uppers, beneath, strict=False):
                if number != one:
                    self._bytes[first + place] = self._palette[upper, number]

    def _table(self, piece: Piece, beneath: int) -> bytes:
        """Return which number each colour of a piece has over that of another one."""
        table = self._tables.get((piece.colours, beneath))
        if table is None:
            table = bytes([self._palette[upper, beneath] for upper in piece.colours])
            self._tables[piece.colours, beneath] = table
        return table

    def png(self) -> bytes:
        """Write the picture as a PNG (RFC 2083)."""
        colours = bytearray(b"".join(self._palette.colours))
        opaque = colours[3::4]
        del colours[3::4]
        chunks = (
            (b"IHDR", struct.pack(">IIBBBBB", self._stride - 1, self._height, 8, 3, 0, 0, 0)),
            (b"PLTE", colours),
            (b"tRNS", opaque),
            # A fifth of the time that zlib takes at its fastest, and less room.
            (b"IDAT", isal_zlib.compress(self._bytes, 1)),
            (b"IEND", b""),
        )
        return b"\x89PNG\r\n\x1a\n" + b"".join(starmap(_chunk, chunks))


def _chunk(kind: bytes, body: bytes | bytearray) -> bytes:
    """Return a part of a PNG: its length, its kind, what is in it, and a checksum of these two."""
    check = isal_zlib.crc32(body, isal_zlib.crc32(kind))
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)
