"""Pictures laid out of pieces: hexes, letters and frames are drawn once, for all pictures.

To draw a picture as a whole takes long, and in the pictures of a thousand matches the same things
occur over and over. So an SVG is read as pieces, each with its place in whole pixels; a piece that
is met for the first time is drawn as a picture of its own, and a sheet of palette colours takes
them all. This can be done where a picture holds plain shapes and lines of text only (`_KNOWN`).
What is written in a group that is moved (`<g transform="translate(…)">`) is the same piece wherever
the group stands.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pbem.reports import fonts, shapes
from pbem.reports.shapes import NUMBER, SVG, Pen, Placed, Thing, Unfit
from pbem.reports.sheet import Sheet

_PICTURE = re.compile(r"\s*(<svg\b[^>]*)>(.*)</svg>\s*", re.DOTALL)
# Where a group begins that is moved, or where one ends.
_GROUP = re.compile(rf'<g transform="translate\(({NUMBER.pattern})[ ,]+({NUMBER.pattern})\)">|</g>')
_BEFORE_TEXT = re.compile("(?=<text)")
# What is in a group of so many letters at most may well occur again.
_SHORT = 1000

_LINE = "shape-rendering fill stroke stroke-width stroke-dasharray stroke-linejoin"
_KNOWN = {
    "svg": "width height viewBox font-family font-size",
    "text": "x y text-anchor font-size font-weight fill",
    "rect": f"x y width height rx fill-opacity {_LINE}",
    "circle": f"cx cy r {_LINE}",
    "polygon": f"points {_LINE}",
    "path": f"d {_LINE}",
}


def laid(svg: str, zoom: float, draw: Callable[[str], bytes]) -> bytes:
    """Return the PNG of an SVG at so many times its size, laid out of pieces that `draw` makes.

    Raise `Unfit` where the picture holds anything that isn't simply laid, or isn't XML.
    """
    found = _PICTURE.fullmatch(svg)
    if not found:
        raise Unfit("no picture")
    try:
        root = ElementTree.fromstring(f"{found[1]}/>")
        width, height = (round(float(root.attrib[name]) * zoom) for name in ("width", "height"))
        across, down = _size(root)
        scale = min(width / across, height / down)
        # A drawing of other proportions than its picture would stand in the middle of it.
        if max(width / across, height / down) > scale * 1.01:
            raise Unfit("other proportions")
        inside = found[2].replace('width="100%"', f'width="{across}"')
        inside = inside.replace('height="100%"', f'height="{down}"')
        sheet = Sheet(width, height)
        for piece, x, y in _read(inside, Pen(scale, root.get("font-size", "16"), draw)):
            sheet.lay(piece, x, y)
    except (ArithmeticError, LookupError, MemoryError, ValueError, ElementTree.ParseError) as error:
        raise Unfit(str(error)) from error
    return sheet.png()


def _size(root: Element) -> tuple[float, float]:
    """Return how many units a picture is wide and high; raise `Unfit` for an unusual one."""
    _check(_thing(root))
    left, top, across, down = map(float, root.attrib["viewBox"].split())
    if left or top:
        raise Unfit("a part of a drawing")
    if root.tag != f"{{{SVG}}}svg" or not root.get("font-family", "").startswith(fonts.FAMILY):
        raise Unfit("another font")
    return across, down


def _thing(element: Element) -> Thing:
    tag = element.tag.removeprefix(f"{{{SVG}}}")
    return tag, element.text or "", tuple(element.attrib.items())


def _check(thing: Thing) -> None:
    tag, text, attributes = thing
    strange = dict(attributes).keys() - set(_KNOWN[tag].split())
    if strange or (text.strip() and tag != "text"):
        raise Unfit(f"{tag} with {strange or 'text'}")


def _read(inside: str, pen: Pen) -> Iterator[Placed]:
    """Yield the pieces of what is inside a picture, each with the pixel it is placed at."""
    first, *rest = _GROUP.split(inside)
    yield from _pieces(first, False, pen)
    places = [(0, 0)]
    for right, down, part in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if right is None:
            places.pop()
        else:
            x, y = places[-1]
            places.append((x + round(float(right) * pen.scale), y + round(float(down) * pen.scale)))
        x, y = places[-1]
        in_group = len(places) > 1
        is_short = in_group and len(part) < _SHORT
        for piece, left, top in _group(part, pen) if is_short else _pieces(part, in_group, pen):
            yield piece, x + left, y + top
    if len(places) > 1:
        raise Unfit("a group without end")


@lru_cache(maxsize=2048)
def _group(part: str, pen: Pen) -> list[Placed]:
    """Return the pieces of a small group: of its shapes with the first text, and of each other text
    with what follows it."""
    shapes, *texts = _BEFORE_TEXT.split(part)
    parts = (shapes + "".join(texts[:1]), *texts[1:])
    return [piece for few in parts for piece in _few(few, pen)]


@lru_cache(maxsize=1024)
def _few(part: str, pen: Pen) -> list[Placed]:
    """Return the pieces of shapes with a text, or of a text, that occur in many groups.

    Where a text lies all within one colour of a shape, they are one piece.
    """
    placed: list[Placed] = []
    for piece, x, y in _pieces(part, True, pen):
        if placed:
            lower, left, top = placed[-1]
            one = piece.onto(lower, x - left, y - top)
            if one is not None:
                placed[-1] = (one, left, top)
                continue
        placed.append((piece, x, y))
    return placed


def _pieces(part: str, in_group: bool, pen: Pen) -> Iterator[Placed]:
    """Yield the pieces of some elements, each with the pixel it is placed at."""
    if not part.strip():
        return
    elements = ElementTree.fromstring(f'<svg xmlns="{SVG}">{part}</svg>')
    if any(map(len, elements)):
        raise Unfit("elements in elements")

    def layer(thing: Thing) -> object:
        # In a group, which may occur again, shapes that follow each other are one piece.
        return (in_group and _is_shape(thing)) or object()

    for _, things in groupby(map(_thing, elements), layer):
        yield from _placed(tuple(things), pen)


def _is_shape(thing: Thing) -> bool:
    """Return whether a thing is drawn as it is, being neither a text nor to be stretched."""
    tag, _, attributes = thing
    return tag != "text" and (tag != "rect" or "stroke-dasharray" in dict(attributes))


@lru_cache(maxsize=2048)
def _placed(things: tuple[Thing, ...], pen: Pen) -> list[Placed]:
    """Return the pieces of a text, of a rectangle, or of shapes that are one piece."""
    for thing in things:
        _check(thing)
    tag, text, attributes = things[0]
    if tag == "text":
        return list(shapes.text(text, dict(attributes), pen))
    if not _is_shape(things[0]):
        return list(shapes.rectangle(dict(attributes), pen))
    return [(shapes.shape(things, pen), 0, 0)]
