"""A sheet that pieces of a picture are laid on: pixels by a palette, as a PNG has them."""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from io import BytesIO
from operator import itemgetter

from PIL import Image
from PIL.PngImagePlugin import putchunk
from zlib_ng import zlib_ng

# Red, green, blue, and how opaque, a byte each.
Colour = bytes
# The first column and row, and those behind the last.
Box = tuple[int, int, int, int]

CLEAR: Colour = bytes(4)
_MOST_COLOURS = 256
# The colours of edges are rounded to so much of 255, so that there are fewer of them.
_COARSE = 28
_SOFT = re.compile(b"\1")


@dataclass(frozen=True, eq=False)
class Piece:
    """What a piece looks like: its colours, by them its pixels row by row, and where they lie.

    The box is counted from the place of the piece. A single pixel stands for all in the box.
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
    def is_solid(self) -> bool:
        """Whether nothing is seen of what lies beneath."""
        return all(colour[3] == 255 for colour in self.shades)

    @cached_property
    def mask(self) -> Image.Image | None:
        """Where it isn't clear, if it is clear anywhere."""
        table = bytes(255 * (colour[3] > 0) for colour in self.colours)
        return self.image(table) if CLEAR in self.shades else None

    def image(self, table: bytes) -> Image.Image:
        """Return its pixels, each the number that a table has for its colour."""
        pixels = self.pixels.translate(table.ljust(256, b"\0"))
        return Image.frombuffer("L", self.size, pixels, "raw", "L", 0, 1)

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


@lru_cache(maxsize=2048)
def over(piece: Piece, lower: Colour) -> Piece:
    """Return what is seen of a piece over a colour."""
    return replace(piece, colours=tuple(_over(upper, lower) for upper in piece.colours))


@lru_cache(maxsize=1024)
def _nearest(colour: Colour, among: tuple[Colour, ...]) -> Colour:
    return min(among, key=lambda one: sum((a - b) ** 2 for a, b in zip(colour, one, strict=True)))


@lru_cache(maxsize=512)
def _soft(piece: Piece, stride: int) -> tuple[list[int], bytes, Callable[..., tuple[int, ...]]]:
    """Return which pixels of a piece mix with what lies beneath, what they are, and a getter.

    They are counted from its first pixel on, in rows of a sheet that are so long.
    """
    wide, _ = piece.size
    is_soft = bytes(0 < colour[3] < 255 for colour in piece.colours).ljust(256, b"\0")
    soft = [found.start() for found in _SOFT.finditer(piece.pixels.translate(is_soft))]
    places = [at // wide * stride + at % wide for at in soft]
    # A getter of fewer than two returns no tuple.
    getter = itemgetter(*places, *(places[-1:] or (0, 0)))
    return places, bytes(piece.pixels[at] for at in soft), getter


class Sheet:
    """A picture in the making: its palette, and by it its pixels."""

    def __init__(self, width: int, height: int) -> None:
        # In a PNG a byte before each row says how that is filtered (RFC 2083, 6): 0, not at all.
        self._size = self._stride, self._height = width + 1, height
        self._bytes = bytearray(self._stride * height)
        self._image = Image.frombuffer("L", self._size, self._bytes, "raw", "L", 0, 1)
        # What is pasted is to be seen in the bytes, not in a copy of them.
        self._image.readonly = 0
        self._palette: dict[Colour, int] = {CLEAR: 0}
        self._colours = [CLEAR]
        self._tables: dict[tuple[tuple[Colour, ...], int], bytes] = {}
        self._images: dict[tuple[Piece, int], Image.Image] = {}

    def lay(self, piece: Piece, x: int, y: int) -> None:
        """Lay a piece over what lies there already; what lies beyond the sheet is cut off."""
        box = piece.at(x + 1, y)
        if box[0] < 1 or box[1] < 0 or box[2] > self._stride or box[3] > self._height:
            piece = piece.within((-x, -y, self._stride - x - 1, self._height - y))
            box = piece.at(x + 1, y)
        if len(piece.pixels) > 1:
            self._mix(piece, box)
        elif piece.pixels:
            self._fill(piece, box)

    def _fill(self, piece: Piece, box: Box) -> None:
        """Lay a piece of one colour."""
        (pixel,) = piece.pixels
        if piece.is_solid:
            self._image.paste(self._table(piece, 0)[pixel], box)
        else:
            under = self._image.crop(box)
            counts = enumerate(under.histogram())
            table = [count and self._table(piece, number)[pixel] for number, count in counts]
            self._image.paste(under.point(table), box)

    def _mix(self, piece: Piece, box: Box) -> None:
        """Lay a piece of several colours, some of which may let through what lies beneath."""
        if piece.is_solid:
            self._image.paste(self._over_one(piece, 0), box)
            return
        first = box[1] * self._stride + box[0]
        places, pixels, getter = _soft(piece, self._stride)
        beneath = getter(memoryview(self._bytes)[first:])
        # Nearly all pieces lie over a single colour.
        one = beneath[0]
        self._image.paste(self._over_one(piece, one), box, piece.mask)
        if beneath.count(one) < len(beneath):
            tables = {number: self._table(piece, number) for number in set(beneath)}
            for place, pixel, number in zip(places, pixels, beneath, strict=False):
                if number != one:
                    self._bytes[first + place] = tables[number][pixel]

    def _over_one(self, piece: Piece, beneath: int) -> Image.Image:
        """Return a piece as it is over a single entry of the palette."""
        image = self._images.get((piece, beneath))
        if image is None:
            image = self._images[piece, beneath] = piece.image(self._table(piece, beneath))
        return image

    def _table(self, piece: Piece, beneath: int) -> bytes:
        """Return which entry of the palette each colour of a piece is over another entry."""
        table = self._tables.get((piece.colours, beneath))
        if table is None:
            seen = (_over(upper, self._colours[beneath]) for upper in piece.colours)
            table = self._tables[piece.colours, beneath] = bytes(map(self._entry, seen))
        return table

    def _entry(self, colour: Colour) -> int:
        """Return a colour's place in the palette; where that is full, that of the nearest one."""
        if colour not in self._palette:
            if len(self._palette) == _MOST_COLOURS:
                return self._palette[_nearest(colour, tuple(self._palette))]
            self._palette[colour] = len(self._palette)
            self._colours.append(colour)
        return self._palette[colour]

    def png(self) -> bytes:
        """Write the picture as a PNG (RFC 2083)."""
        # Half of the time that zlib takes at its fastest, and less room; Pillow has zlib inside.
        packed = zlib_ng.compress(self._bytes, 2)
        file = BytesIO()
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, body in (
            (b"IHDR", struct.pack(">IIBBBBB", self._stride - 1, self._height, 8, 3, 0, 0, 0)),
            (b"PLTE", b"".join(colour[:3] for colour in self._colours)),
            (b"tRNS", bytes(colour[3] for colour in self._colours)),
            (b"IDAT", packed),
            (b"IEND", b""),
        ):
            putchunk(file, kind, body)
        return file.getvalue()
