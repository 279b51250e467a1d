"""What a text, a rectangle or some shapes look like: each is drawn once, as a piece of its own."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from itertools import pairwise, product
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngImageFile

from pbem.reports import fonts
from pbem.reports.sheet import CLEAR, Colour, Piece

SVG = "http://www.w3.org/2000/svg"
NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")

# Lines and curves by their points in full: nothing lies beyond these.
_PLAIN_PATH = re.compile(r"[MLQCZ\d., -]+")
_HEX_COLOUR = re.compile("#(?:[0-9A-Fa-f]{3}){1,2}")

# An edge has so many steps from one colour to the next, and what is nearer than this is one colour:
# nobody sees it, and a palette has but 256 entries.
_STEPS = 6
_NEAR = 28
_STEP = [round(alpha / 255 * _STEPS) for alpha in range(256)]
# A rectangle with more pixels than this is kept in parts.
_GREAT = 1 << 15
# A picture in which a shape or a word has more pixels than this, or a rectangle more than that, is
# drawn whole: most of them lie beyond it.
_MOST_PIXELS = 1 << 20
_MOST_STRETCHED = 1 << 24

Attributes = tuple[tuple[str, str], ...]
# The tag, the text and the attributes of an element.
Thing = tuple[str, str, Attributes]
# A piece, and the pixel it is placed at.
Placed = tuple[Piece, int, int]


class Unfit(ValueError):
    """A picture that can't be laid out of pieces."""


class Pen(NamedTuple):
    """How things are drawn: so many pixels a unit, letters of a size unless they have their own.

    `draw` makes a PNG of an SVG.
    """

    scale: float
    font_size: str
    draw: Callable[[str], bytes]


class Style(NamedTuple):
    """How a text is written."""

    size: str
    weight: str
    fill: str

    def length(self, text: str) -> float:
        """Return how far a text moves the pen, in units."""
        advance = fonts.advances(self.weight == "bold")
        return float(self.size) * sum(advance[c] for c in text)


def text(line: str, given: Mapping[str, str], pen: Pen) -> Iterator[Placed]:
    """Set a line of text word by word, each to half a pixel, so that the distances are even."""
    x, y = (float(given.get(name, "0")) * pen.scale for name in ("x", "y"))
    style = Style(
        given.get("font-size", pen.font_size),
        given.get("font-weight", "normal"),
        given.get("fill", "#000000"),
    )
    if style.weight not in ("normal", "bold") or not _HEX_COLOUR.fullmatch(style.fill):
        raise Unfit(f"a text in {style}")
    words = line.split()
    anchor = {"start": 0, "middle": 0.5, "end": 1}[given.get("text-anchor", "start")]
    x -= anchor * style.length(" ".join(words)) * pen.scale
    for word in words:
        place, half = divmod(round(x * 2), 2)
        yield _word(word, style, half, pen), place, round(y)
        x += style.length(f"{word} ") * pen.scale


@lru_cache(maxsize=1024)
def _word(word: str, style: Style, half: int, pen: Pen) -> Piece:
    """Set a word; a letter is drawn once for all the colours it is written in."""
    letters: list[tuple[Image.Image, int, int]] = []
    for number, c in enumerate(word):
        place, rest = divmod(round(style.length(word[:number]) * pen.scale * 2) + half, 2)
        letter, left, top = _letter(c, style._replace(fill="#000000"), rest, pen)
        letters.append((letter, left + place, top))
    left, top = min(x for _, x, _ in letters), min(y for _, _, y in letters)
    right = max(x + letter.width for letter, x, _ in letters)
    bottom = max(y + letter.height for letter, _, y in letters)
    _bound((right - left) * (bottom - top))
    image = Image.new("L", (right - left, bottom - top))
    for letter, x, y in letters:
        box = (x - left, y - top, x - left + letter.width, y - top + letter.height)
        # Where letters touch, the more opaque pixel is seen.
        image.paste(ImageChops.lighter(letter, image.crop(box)), box)
    digits = style.fill[1:] if len(style.fill) == 7 else "".join(c + c for c in style.fill[1:])
    alphas = (step * 255 // _STEPS for step in range(1, _STEPS + 1))
    inks = (bytes.fromhex(f"{digits}{alpha:02x}") for alpha in alphas)
    return Piece((CLEAR, *inks), image.tobytes(), (left, top, right, bottom))


@lru_cache(maxsize=1024)
def _letter(c: str, style: Style, half: int, pen: Pen) -> tuple[Image.Image, int, int]:
    """Draw a letter; return also its first pixel. Its pixels are steps from clear to opaque."""
    given = {"font-size": style.size, "font-weight": style.weight, "fill": style.fill}
    element = Element("text", {**given, "x": str(half / 2 / pen.scale)})
    element.text = c
    em = float(style.size)
    box = (-0.3 * em, -1.1 * em, style.length(c) + 0.3 * em, 0.4 * em)
    image, left, top = _drawn([element], box, pen)
    return image.getchannel("A").point(_STEP), left, top


@lru_cache(maxsize=256)
def shape(things: tuple[Thing, ...], pen: Pen) -> Piece:
    """Draw some shapes as one piece; raise `Unfit` where it can't be told how far one reaches."""
    elements, boxes = [], []
    for tag, _, attributes in things:
        given = dict(attributes)
        elements.append(Element(tag, given))
        xs, ys = zip(*_points(tag, given), strict=True)
        # Mitres reach further than half the line.
        edge = float(given.get("r", "0")) + 2 * float(given.get("stroke-width", "1"))
        boxes.append((min(xs) - edge, min(ys) - edge, max(xs) + edge, max(ys) + edge))
    left, top, right, bottom = zip(*boxes, strict=True)
    return _piece(elements, (min(left), min(top), max(right), max(bottom)), pen)


def _points(tag: str, given: Mapping[str, str]) -> list[tuple[float, float]]:
    """Return the points that a shape lies among, its radius and the width of its line apart."""
    if tag == "circle":
        return [(float(given["cx"]), float(given["cy"]))]
    if tag == "rect":
        x, y = float(given["x"]), float(given["y"])
        return [(x, y), (x + float(given["width"]), y + float(given["height"]))]
    written = given["points"] if tag == "polygon" else given["d"]
    if not _PLAIN_PATH.fullmatch(written):
        raise Unfit("a path that isn't plain points")
    numbers = [float(one) for one in NUMBER.findall(written)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def rectangle(given: dict[str, str], pen: Pen) -> Iterator[Placed]:
    """Stretch a small rectangle with the same corners and edges to the size of this one."""
    edges = []
    for name, size in (("x", "width"), ("y", "height")):
        least, long = float(given.pop(name, "0")), float(given.pop(size))
        edges.append((round(least * pen.scale), round((least + long) * pen.scale)))
    (left, right), (top, bottom) = edges
    small, length = _corners(tuple(given.items()), pen)
    wider, higher = right - left - length, bottom - top - length
    if min(wider, higher) < 0:
        raise Unfit("a rectangle of nothing but corners")
    _bound((right - left) * (bottom - top), _MOST_STRETCHED)
    for piece in _stretched(small, length // 2, wider, higher):
        yield piece, left, top


@lru_cache(maxsize=256)
def _corners(attributes: Attributes, pen: Pen) -> tuple[Piece, int]:
    """Return a small rectangle with some edges, and how many pixels it is long and high."""
    given = dict(attributes)
    edge = float(given.get("stroke-width", "1"))
    length = 2 * math.ceil((float(given.get("rx", "0")) + edge) * pen.scale) + 3
    side = length / pen.scale
    element = Element("rect", {**given, "width": str(side), "height": str(side)})
    return _piece([element], (-edge, -edge, side + edge, side + edge), pen), length


@lru_cache(maxsize=64)
def _stretched(piece: Piece, middle: int, wider: int, higher: int) -> list[Piece]:
    """Repeat a piece's middle column and row; return what comes of it, a great one in parts."""
    left, top, right, bottom = piece.box
    wide, column, row = right - left, middle - left, middle - top
    rows = [piece.pixels[at : at + wide] for at in range(0, len(piece.pixels), wide)]
    rows = [one[:column] + one[column : column + 1] * wider + one[column:] for one in rows]
    inside = piece.colours[rows[row][column]]
    rows[row:row] = [rows[row]] * higher
    whole = Piece(piece.colours, b"".join(rows), (left, top, right + wider, bottom + higher))
    if wider * higher < _GREAT and inside[3] in (0, 255):
        return [whole]
    xs = pairwise((left, middle, middle + wider + 1, right + wider))
    ys = pairwise((top, middle, middle + higher + 1, bottom + higher))
    parts = [
        whole.within((first, above, last, below))
        for (first, last), (above, below) in product(xs, ys)
    ]
    # Where all pixels are the same, a single one stands for them.
    return [
        replace(part, pixels=part.pixels[:1]) if len(part.shades) == 1 else part
        for part in parts
        if part.shades != {CLEAR}
    ]


def _piece(elements: Sequence[Element], box: tuple[float, ...], pen: Pen) -> Piece:
    """Draw what lies within a box, given in its own units."""
    image, left, top = _drawn(elements, box, pen)
    drawn = image.tobytes()
    pixels = [drawn[at : at + 4] for at in range(0, len(drawn), 4)]
    fewer = _fewer(Counter(pixels))
    colours = (CLEAR, *dict.fromkeys(one for one in fewer.values() if one[3]))
    numbers = {one: colours.index(few) if few[3] else 0 for one, few in fewer.items()}
    there = (left, top, left + image.width, top + image.height)
    return Piece(colours, bytes(map(numbers.__getitem__, pixels)), there)


def _drawn(
    elements: Sequence[Element], box: tuple[float, ...], pen: Pen
) -> tuple[Image.Image, int, int]:
    """Draw what lies within a box, given in its own units; return also its first pixel."""
    left, top = (math.floor(least * pen.scale) for least in box[:2])
    wide, high = math.ceil(box[2] * pen.scale) - left, math.ceil(box[3] * pen.scale) - top
    _bound(wide * high)
    view = " ".join(str(pixels / pen.scale) for pixels in (left, top, wide, high))
    head = f'<svg xmlns="{SVG}" width="{wide}" height="{high}" viewBox="{view}"'
    inside = "".join(ElementTree.tostring(element, "unicode") for element in elements)
    drawn = pen.draw(f'{head} font-family="{fonts.FAMILY}">{inside}</svg>')
    image = PngImageFile(BytesIO(drawn))
    # What is clear all round isn't kept.
    seen = image.getbbox() or (0, 0, 1, 1)
    return image.crop(seen), left + seen[0], top + seen[1]


def _bound(pixels: int, most: int = _MOST_PIXELS) -> None:
    if pixels > most:
        raise Unfit(f"a piece of {pixels} pixels")


def _fewer(colours: Counter[Colour]) -> dict[Colour, Colour]:
    """Return what colours become where there are to be fewer; the solid and frequent are kept."""
    kept: list[Colour] = []
    fewer = {}
    for one in sorted(colours, key=lambda one: (-one[3], -colours[one], one)):
        solid = next((like for like in kept if _are_near(one, like)), one)
        if solid is one:
            kept.append(one)
        fewer[one] = solid[:3] + bytes([_STEP[one[3]] * 255 // _STEPS])
    return fewer


def _are_near(one: Colour, other: Colour) -> bool:
    return all(abs(a - b) <= _NEAR for a, b in zip(one[:3], other[:3], strict=True))
