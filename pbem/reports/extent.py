"""How large an SVG is and how deep, told before it is drawn."""

import re
from typing import Any

_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_LENGTH = re.compile(rf"{_NUMBER}(px|pt|pc|mm|cm|in|em|ex|%)?")
_BOX = re.compile(r"\s*" + r"(?:\s*,\s*|\s+)".join([_NUMBER] * 4) + r"(?:[\s,].*)?")
# How many pixels a unit has (CSS Values and Units 3, 6.2).
_UNITS = {"px": 1, "pt": 96 / 72, "pc": 16, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96}


def size(svg: str) -> tuple[float, float]:
    """Return how wide and high an SVG is, in CSS pixels, as the library that draws it finds it.

    Raise `ValueError` where it doesn't say: it would be as great as whatever is in it.
    """
    root = _root(svg)
    box = _BOX.fullmatch(root.get("viewBox", ""))
    across, down = (float(box[3]), float(box[4])) if box else (0.0, 0.0)
    # What a style sheet may say of letters isn't known here.
    em = "" if "style" in svg else root.get("font-size", "16")
    width = _pixels(root.get("width", "auto"), across, em)
    height = _pixels(root.get("height", "auto"), down, em)
    if width is not None and height is not None:
        return width, height
    if min(across, down) <= 0:
        raise ValueError("the <svg> doesn't say how wide and high it is")
    if width is not None:
        return width, width / across * down
    if height is not None:
        return height / down * across, height
    return across, down


def depth(svg: str) -> int:
    """Return how deep the elements of an SVG are nested; raise `ValueError` where it is no XML."""
    from xml.etree.ElementTree import ParseError, XMLPullParser

    parser: Any = XMLPullParser(["start", "end"])
    deep = deepest = 0
    try:
        parser.feed(svg)
        for event, _ in parser.read_events():
            deep += 1 if event == "start" else -1
            deepest = max(deepest, deep)
    except ParseError as error:
        raise ValueError(f"it is no SVG: {error}") from error
    return deepest


def _root(svg: str) -> dict[str, str]:
    """Return the attributes of an SVG's first tag; raise `ValueError` where that isn't one."""
    from xml.etree.ElementTree import ParseError, XMLPullParser

    # Its events are of many kinds by their type; a start is a name and an element.
    parser: Any = XMLPullParser(["start"])
    try:
        for at in range(0, len(svg), 512):
            parser.feed(svg[at : at + 512])
            for _, root in parser.read_events():
                if root.tag != "{http://www.w3.org/2000/svg}svg":
                    raise ValueError("it is no SVG")
                return dict(root.attrib)
    except ParseError as error:
        raise ValueError(f"it is no SVG: {error}") from error
    raise ValueError("it is no SVG, nothing begins in it")


def _pixels(length: str, whole: float, em: str) -> float | None:
    """Return how many CSS pixels a length is, given what 100% and 1em are.

    Return `None` where it is to be found by the other one's, for `auto` and a part of nothing.
    """
    if length == "auto" or (length.endswith("%") and whole <= 0):
        return None
    found = _LENGTH.fullmatch(length)
    if not found:
        raise ValueError(f"the <svg> has a size that can't be read: {length!r}")
    number, unit = float(found[1]), found[2] or "px"
    if unit == "%":
        return number / 100 * whole
    if unit in _UNITS:
        return number * _UNITS[unit]
    letters = _LENGTH.fullmatch(em)
    if not letters or (letters[2] or "px") not in _UNITS:
        raise ValueError(f"the <svg> has a size that hangs on its letters: {length!r}")
    size = float(letters[1]) * _UNITS[letters[2] or "px"]
    return number * size * (1 if unit == "em" else 0.5)
