"""Pictures laid out of pieces: hexes, letters and frames are drawn once, for all pictures.

To draw a picture as a whole takes long, and in the pictures of a thousand matches the same things
occur over and over. So an SVG is read as pieces, each with its place in whole pixels; a piece that
is met for the first time is drawn as a picture of its own, and a sheet of palette colours takes
them all. This can be done where a picture holds plain shapes and lines of text only (`_SHAPES`).
What is written in a group that is moved (`<g transform="translate(…)">`) is the same piece wherever
the group stands.
"""

import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pbem.reports import fonts, png
from pbem.reports.png import Colour
from pbem.reports.sheet import CLEAR, Piece, Sheet, piece_of, seen, side_by_side

_SVG = "{http://www.w3.org/2000/svg}"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TRANSLATE = re.compile(rf"translate\(({_NUMBER.pattern})[ ,]+({_NUMBER.pattern})\)")
# Lines and curves by their points in full: nothing lies beyond these.
_PLAIN_PATH = re.compile(r"[MLQCZ\d., -]+")

# An edge has so many steps from one colour to the next, and what is nearer than this is one colour:
# nobody sees it, and a palette has but 256 entries.
_STEPS = 6
_NEAR = 28

_HEX_COLOUR = re.compile("#(?:[0-9A-Fa-f]{3}){1,2}")

Draw = Callable[[str], bytes]
# The tag and the attributes of an element.
Shape = tuple[str, tuple[tuple[str, str], ...]]


class Unfit(ValueError):
    """A picture that can't be laid out of pieces."""


class Frame(NamedTuple):
    """Where the things in a picture or group stand: pixels a unit, its origin, the size in units.

    `draw` makes a PNG of an SVG.
    """

    scale: float
    x: float
    y: float
    size: tuple[float, float]
    font_size: str
    draw: Draw


def laid(svg: str, zoom: float, draw: Draw) -> bytes:
    """Return the PNG of an SVG at so many times its size, laid out of pieces that `draw` makes.

    Raise `Unfit` where the picture holds anything that isn't simply laid, or isn't XML.
    """
    try:
        root = ElementTree.fromstring(svg)
        width, height = (round(float(root.attrib[name]) * zoom) for name in ("width", "height"))
        sheet = Sheet(width, height)
        for piece, x, y in _read(root, _frame(root, width, height, draw)):
            sheet.lay(piece, x, y)
    except (KeyError, ValueError, ElementTree.ParseError) as error:
        raise Unfit(str(error)) from error
    return png.written(width, height, list(sheet.palette), sheet.scanlines)


def _frame(root: Element, width: int, height: int, draw: Draw) -> Frame:
    _check(root, "width height viewBox font-family font-size")
    left, top, across, down = map(float, root.attrib["viewBox"].split())
    scale = min(width / across, height / down)
    # A drawing of other proportions than its picture would stand in the middle of it.
    if left or top or max(width / across, height / down) > scale * 1.01:
        raise Unfit("a viewBox of its own")
    if root.tag != f"{_SVG}svg" or not root.get("font-family", "").startswith(fonts.FAMILY):
        raise Unfit("another font")
    return Frame(scale, 0, 0, (across, down), root.get("font-size", "16"), draw)


def _check(element: Element, attributes: str) -> None:
    strange = element.attrib.keys() - set(attributes.split())
    if strange or (element.text or "").strip():
        raise Unfit(f"{element.tag} with {strange or 'text'}")


def _read(parent: Element, frame: Frame) -> Iterator[tuple[Piece, int, int]]:
    """Yield the pieces of a picture or group, each with the pixel it is placed at."""
    shapes: list[Shape] = []
    for element in parent:
        tag = element.tag.removeprefix(_SVG)
        is_shape = tag in _SHAPES and (tag != "rect" or "stroke-dasharray" in element.attrib)
        if is_shape:
            _check(element, _SHAPES[tag])
            shapes.append((tag, tuple(element.attrib.items())))
        # In a group that may occur again what lies upon each other is one piece.
        if shapes and not (is_shape and parent.tag == f"{_SVG}g" and element is not parent[-1]):
            x, y = frame.x * frame.scale, frame.y * frame.scale
            yield _shape(tuple(shapes), frame.scale, frame.draw), round(x), round(y)
            shapes = []
        if tag == "g":
            _check(element, "transform")
            moved = _TRANSLATE.fullmatch(element.attrib["transform"])
            if moved is None:
                raise Unfit("a transform")
            x, y = map(float, moved.groups())
            yield from _read(element, frame._replace(x=frame.x + x, y=frame.y + y))
        elif tag == "text":
            yield from _text(element, frame)
        elif tag == "rect" and not is_shape:
            yield _rectangle(element, frame)
        elif not is_shape:
            raise Unfit(tag)


_LINE = "fill stroke stroke-width stroke-dasharray stroke-linejoin"
_SHAPES = {
    "rect": f"x y width height rx {_LINE}",
    "circle": f"cx cy r {_LINE}",
    "polygon": f"points {_LINE}",
    "path": f"d {_LINE}",
}


def _text(element: Element, frame: Frame) -> Iterator[tuple[Piece, int, int]]:
    """Set a line of text word by word, each to half a pixel, so that the distances are even."""
    given = dict(element.attrib)
    x = (frame.x + float(given.pop("x", "0"))) * frame.scale
    y = (frame.y + float(given.pop("y", "0"))) * frame.scale
    anchor = {"start": 0, "middle": 0.5, "end": 1}[given.pop("text-anchor", "start")]
    style = Style(
        given.pop("font-size", frame.font_size),
        given.pop("font-weight", "normal"),
        given.pop("fill", "#000000"),
    )
    if given or len(element) or style.weight not in ("normal", "bold"):
        raise Unfit(f"a text with {given}")
    words = (element.text or "").split()
    x -= anchor * style.length(" ".join(words)) * frame.scale
    for word in words:
        place, half = divmod(round(x * 2), 2)
        yield _word(word, style, half, frame.scale, frame.draw), place, round(y)
        x += style.length(f"{word} ") * frame.scale


class Style(NamedTuple):
    """How a text is written."""

    size: str
    weight: str
    fill: str

    def length(self, text: str) -> float:
        """Return how far a text moves the pen, in units."""
        advance = fonts.advances(self.weight == "bold")
        return float(self.size) * sum(advance[c] for c in text)


@lru_cache(maxsize=1024)
def _word(word: str, style: Style, half: int, scale: float, draw: Draw) -> Piece:
    if not _HEX_COLOUR.fullmatch(style.fill):
        raise Unfit(f"a text in {style.fill}")
    digits = style.fill[1:]
    red, green, blue = bytes.fromhex(digits if len(digits) == 6 else "".join(c + c for c in digits))
    letters = []
    for number, c in enumerate(word):
        place, rest = divmod(round(style.length(word[:number]) * scale * 2) + half, 2)
        black = _letter(c, style._replace(fill="#000000"), rest, scale, draw)
        # A letter is drawn once for all the colours it is written in.
        coloured = tuple((red, green, blue, colour[3]) for colour in black.colours)
        letters.append((replace(black, colours=coloured), place))
    return side_by_side(letters)


@lru_cache(maxsize=1024)
def _letter(c: str, style: Style, half: int, scale: float, draw: Draw) -> Piece:
    given = {"font-size": style.size, "font-weight": style.weight, "fill": style.fill}
    element = Element("text", {**given, "x": str(half / 2 / scale)})
    element.text = c
    em = float(style.size)
    box = (-0.3 * em, -1.1 * em, style.length(c) + 0.3 * em, 0.4 * em)
    return _drawn([element], box, scale, draw)


@lru_cache(maxsize=512)
def _shape(shapes: tuple[Shape, ...], scale: float, draw: Draw) -> Piece:
    boxes = []
    for tag, attributes in shapes:
        given = dict(attributes)
        xs, ys = zip(*_points(tag, given), strict=True)
        # Mitres reach further than half the line.
        edge = float(given.get("r", "0")) + 2 * float(given.get("stroke-width", "1"))
        boxes.append((min(xs) - edge, min(ys) - edge, max(xs) + edge, max(ys) + edge))
    left, top, right, bottom = zip(*boxes, strict=True)
    elements = [Element(tag, dict(attributes)) for tag, attributes in shapes]
    return _drawn(elements, (min(left), min(top), max(right), max(bottom)), scale, draw)


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
    numbers = [float(one) for one in _NUMBER.findall(written)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _rectangle(element: Element, frame: Frame) -> tuple[Piece, int, int]:
    """Stretch a small rectangle with the same corners and edges to the size of this one."""
    _check(element, "x y width height rx fill fill-opacity stroke stroke-width")
    given = dict(element.attrib)
    edges = []
    for name, size, origin, whole in (
        ("x", "width", frame.x, frame.size[0]),
        ("y", "height", frame.y, frame.size[1]),
    ):
        least, long = float(given.pop(name, "0")), given.pop(size)
        most = least + (whole if long == "100%" else float(long))
        edges.append((round((origin + least) * frame.scale), round((origin + most) * frame.scale)))
    (left, right), (top, bottom) = edges
    small, length = _corners(tuple(given.items()), frame.scale, frame.draw)
    if min(right - left, bottom - top) < length:
        raise Unfit("a rectangle of nothing but corners")
    return _stretched(small, length // 2, right - left - length, bottom - top - length), left, top


@lru_cache(maxsize=256)
def _corners(
    attributes: tuple[tuple[str, str], ...], scale: float, draw: Draw
) -> tuple[Piece, int]:
    """Return a small rectangle with some edges, and how many pixels it is long and high."""
    given = dict(attributes)
    edge = float(given.get("stroke-width", "1"))
    length = 2 * math.ceil((float(given.get("rx", "0")) + edge) * scale) + 3
    side = str(length / scale)
    box = (-edge, -edge, length / scale + edge, length / scale + edge)
    return _drawn(
        [Element("rect", {**given, "width": side, "height": side})], box, scale, draw
    ), length


@lru_cache(maxsize=64)
def _stretched(piece: Piece, middle: int, wider: int, higher: int) -> Piece:
    """Repeat a piece's middle column and middle row."""
    rows: dict[int, list[tuple[int, bytes]]] = {}
    for x, y, first, last in piece.runs:
        pixels = piece.pixels[first:last]
        if x > middle:
            x += wider
        elif x + len(pixels) > middle:
            at = middle - x
            pixels = pixels[:at] + pixels[at : at + 1] * wider + pixels[at:]
        for row in range(y, y + higher + 1) if y == middle else (y + higher * (y > middle),):
            rows.setdefault(row, []).append((x, pixels))
    runs = [(x, y, pixels) for y, row in sorted(rows.items()) for x, pixels in row]
    return piece_of(piece.colours, runs)


def _drawn(
    elements: Sequence[Element], box: tuple[float, float, float, float], scale: float, draw: Draw
) -> Piece:
    """Draw what lies within a box, given in its own units."""
    left, top = (math.floor(least * scale) for least in box[:2])
    wide, high = math.ceil(box[2] * scale) - left, math.ceil(box[3] * scale) - top
    view = f"{left / scale} {top / scale} {wide / scale} {high / scale}"
    head = f'<svg xmlns="{_SVG[1:-1]}" width="{wide}" height="{high}" viewBox="{view}"'
    family = f'font-family="{fonts.FAMILY}"'
    inside = "".join(ElementTree.tostring(element, "unicode") for element in elements)
    drawn = draw(f"{head} {family}>{inside}</svg>")
    # A pixel is four bytes, which are handled as one number.
    pixels = [memoryview(row).cast("I") for row in png.rows(drawn)]
    found = Counter(itertools.chain.from_iterable(pixels))
    shades = {one: _colour(one) for one in found}
    fewer = _fewer(Counter({shades[one]: count for one, count in found.items()}))
    colours = [CLEAR, *dict.fromkeys(one for one in fewer.values() if one[3])]
    places = {colour: number for number, colour in enumerate(colours)}
    numbers = {one: places.get(fewer[shade], 0) for one, shade in shades.items()}
    lines = [bytes(map(numbers.__getitem__, row)) for row in pixels]
    return piece_of(colours, seen(dict(enumerate(lines, top)), left))


def _colour(number: int) -> Colour:
    red, green, blue, alpha = number.to_bytes(4, sys.byteorder)
    return red, green, blue, alpha


def _fewer(colours: Counter[Colour]) -> dict[Colour, Colour]:
    """Return what colours become where there are to be fewer; the solid and frequent are kept."""
    kept: list[Colour] = []
    fewer = {}
    for one in sorted(colours, key=lambda one: (-one[3], -colours[one], one)):
        solid = next((like for like in kept if _is_near(one[:3], like[:3])), one)
        if solid is one:
            kept.append(one)
        fewer[one] = (*solid[:3], round(one[3] / 255 * _STEPS) * 255 // _STEPS)
    return fewer


def _is_near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(abs(a - b) <= _NEAR for a, b in zip(one, other, strict=True))
