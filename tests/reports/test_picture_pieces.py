"""Pictures laid out of pieces look as when drawn whole; what can't be laid is drawn whole."""

import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from random import Random
from typing import Any

import pytest
from PIL import Image, ImageChops

from pbem.reports import picture, pieces
from pbem.reports.drawing import SCALE, _drawn


def svg(inside: str, attributes: str = 'font-family="DejaVu Sans"', size: str = "200 80") -> str:
    width, height = size.split()
    view = f'width="{width}" height="{height}" viewBox="0 0 {size}"'
    ground = '<rect width="100%" height="100%" rx="8" fill="#f6f1e4"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view} {attributes}>{ground}{inside}</svg>'


def read(png: bytes) -> Image.Image:
    return Image.open(BytesIO(png), formats=["PNG"]).convert("RGBA")


def laid(text: str, draw: Callable[[str], bytes] = _drawn) -> Image.Image:
    """Return a picture laid out of pieces."""
    return read(pieces.laid(text, SCALE, draw))


def whole(text: str) -> Image.Image:
    """Return a picture drawn whole."""
    return read(_drawn(text, SCALE))


def unlike(one: Image.Image, other: Image.Image) -> float:
    """Return which part of the pixels differ by more than a quarter of the way to white."""
    assert one.size == other.size
    bands = ImageChops.difference(one, other).split()
    most = bands[0]
    for band in bands[1:]:
        most = ImageChops.lighter(most, band)
    return sum(most.histogram()[65:]) / (one.width * one.height)


HEX = '<polygon points="20,10 0,20 -20,10 -20,-10 0,-20 20,-10" fill="#0072B2" stroke="#fff"/>'
BOX = '<rect x="-20" y="-15" width="40" height="30" fill="#0072B2"/>'
PICTURES = {
    "a hex in a group": f'<g transform="translate(60.3 40.2)">{HEX}<text y="6" fill="#fff" '
    'font-size="18" font-weight="bold" text-anchor="middle">12</text></g>',
    "a ring over two colours": f'<g transform="translate(50 40)">{HEX}</g><circle cx="70" cy="40" '
    'r="15" fill="none" stroke="#111111" stroke-width="2" stroke-dasharray="5 3"/>',
    "a frame with round corners": '<rect x="20" y="10" width="150" height="55" rx="12" '
    'fill="#009E73" fill-opacity="0.3" stroke="#111111" stroke-width="3"/>',
    "a hard edge": f'<g transform="translate(50 40)">{HEX}</g>'
    '<polygon points="60,10 120,35 60,70" shape-rendering="crispEdges" fill="#E69F00"/>',
    "an empty frame": '<rect x="9.5" y="9" width="90" height="30" fill="none" stroke="#D55E00"/>',
    "lines of text": '<text x="10" y="20">Bids: Ω and Жук, 0 → 5</text>'
    '<text x="190" y="60" font-size="11" text-anchor="end">Ann’s hexes</text>',
    "a curve": '<path d="M51 64 Q53 46 66 44 Q79 46 81 64 Z" fill="#CC79A7" stroke="#26241F"/>',
    "a glass over two colours": f'<g transform="translate(50 40)">{HEX}</g>'
    '<rect x="40" y="20" width="150" height="50" rx="8" fill="#D55E00" fill-opacity="0.5"/>',
    "a group in a group": f'<g transform="translate(50.5 40)">{HEX}'
    f'<g transform="translate(45,-10)">{HEX}</g><circle cx="60" cy="20" r="5"/></g>',
    "a line that frames all": '<rect x="0.5" y="0.5" width="199" height="79" rx="8" '
    'fill="#ffffff" stroke="#D55E00"/>',
    "numbers without a zero before the point": '<polygon points=".5,.5 150,.5 150,70" '
    'fill="#0072B2"/>',
    "numbers that touch": '<path d="M10.5.5L150.5.5L150 70Z" fill="#0072B2"/>',
    "a group moved by a part of a unit": f'<g transform="translate(.5 -.5)">{BOX}</g>',
    "a great frame half outside": '<rect x="-20" y="-10" width="190" height="150" rx="12" '
    'fill="#009E73" stroke="#111111" stroke-width="3"/>',
    "what lies half outside": '<circle cx="0" cy="0" r="30" fill="#0072B2"/>'
    '<text x="180" y="79" font-size="40">Wide</text><text x="20" y="150">below</text>',
}


@pytest.mark.parametrize("inside", PICTURES.values(), ids=PICTURES.keys())
def test_a_picture_looks_the_same_as_drawn_whole(inside: str) -> None:
    one, other = laid(svg(inside)), whole(svg(inside))
    assert unlike(other, whole(svg(""))) > 0.01
    # Letters may stand a quarter of a pixel aside.
    assert unlike(one, other) < (0.015 if "<text" in inside else 0.001)


def test_a_piece_is_drawn_once_for_all_pictures() -> None:
    drawn: list[str] = []

    def draw(text: str) -> bytes:
        drawn.append(text)
        return _drawn(text)

    def board(*places: tuple[int, int]) -> str:
        return svg("".join(f'<g transform="translate({x} {y})">{HEX}</g>' for x, y in places))

    pieces.laid(board((30, 30), (80, 30)), SCALE, draw)
    assert len(drawn) == 2
    pieces.laid(board((50, 30), (99, 50), (140, 40)), SCALE, draw)
    assert len(drawn) == 2


def patches(seed: int, count: int) -> str:
    """Return so many patches, each of a colour that no other seed has."""
    rng = Random(seed)
    return "".join(
        f'<rect x="{at % 40 * 5}" y="{at // 40 * 8}" width="5" height="8" '
        f'fill="#{rng.randrange(1 << 24):06x}"/>'
        for at in range(count)
    )


def test_the_same_picture_has_the_same_bytes_whatever_was_drawn_before() -> None:
    names = ("lines of text", "a ring over two colours")
    texts = [svg(one) for one in (*map(PICTURES.get, names), patches(2, 100), patches(3, 300))]
    # What draws is part of what is kept, so that another function finds nothing kept.
    first, second = (lambda text: _drawn(text), lambda text: _drawn(text))
    drawn = [pieces.laid(text, SCALE, first) for text in texts]
    assert drawn[::-1] == [pieces.laid(text, SCALE, second) for text in texts[::-1]]
    assert drawn == [pieces.laid(text, SCALE, first) for text in texts]


def test_the_same_picture_has_the_same_bytes_in_another_process() -> None:
    texts = [svg(patches(seed, 200)) for seed in (4, 5)]
    here = [sha256(pieces.laid(text, SCALE, _drawn)).hexdigest() for text in texts]
    program = """if True:
        from hashlib import sha256
        import sys
        from pbem.reports import picture
        print(sha256(picture(sys.stdin.read())).hexdigest())
    """
    for text, digest in zip(texts, here, strict=True):
        command = [sys.executable, "-c", program]
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == digest


def test_a_piece_has_its_colours_among_whatever_others() -> None:
    middle = (90, 50, 110, 90)
    group = f'<g transform="translate(50 35)">{HEX}<text y="6" fill="#fff">12</text></g>'
    alone = laid(svg(group)).crop(middle)
    assert len(alone.getcolors()) > 3
    for seed in range(6, 12):
        assert laid(svg(patches(seed, 150) + group)).crop(middle) == alone


IN_GROUPS = {
    "within": f'{HEX}<text y="6" fill="#fff" text-anchor="middle">12</text>',
    "over the edge": f'{HEX}<text x="8" y="6" font-weight="bold" fill="#D55E00">Thrace</text>',
    "upon each other": f'{BOX}<text y="9" fill="#fff">V</text><text y="6">VI</text>',
    "half beside it": f'{BOX}<text x="10" y="6" fill="#E69F00">12</text>',
    "over a ring": f'{HEX}<circle cx="0" cy="0" r="4" fill="none" stroke="#fff"/>'
    '<text x="-7" y="5" fill="#E69F00">II</text>',
    "upon glass": BOX.replace("/>", ' fill-opacity="0.5"/><text x="-6" y="6">12</text>'),
    "between texts": f'{BOX}<text x="-18" y="9" fill="#fff">V</text>{BOX}<text y="6">VI</text>'
    '<circle cx="9" cy="9" r="3"/><circle cx="9" cy="9" r="2" fill="#fff"/>',
    "upon glass upon it": BOX + BOX.replace("/>", ' fill-opacity="0.5"/><text y="6">12</text>'),
}


@pytest.mark.parametrize("inside", IN_GROUPS.values(), ids=IN_GROUPS.keys())
def test_what_is_in_a_small_group_looks_as_in_a_great_one(inside: str) -> None:
    one, other = (
        laid(svg(f'<g transform="translate(50.3 40.6)">{inside}{" " * more}</g>'))
        for more in (0, 2000)
    )
    assert ImageChops.difference(one, other).getextrema() == ((0, 0),) * 4
    assert unlike(one, laid(svg(""))) > 0.01


def test_a_text_within_one_colour_of_a_shape_is_one_piece_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lay, lain = pieces.Sheet.lay, []

    def noted(*given: Any) -> None:
        lain.append(given)
        lay(*given)

    monkeypatch.setattr(pieces.Sheet, "lay", noted)

    def count(inside: str) -> int:
        lain.clear()
        laid(svg(f'<g transform="translate(50.3 40.6)">{inside}</g>'))
        return len(lain)

    one = count(HEX)
    assert count(IN_GROUPS["within"]) == one
    assert count(IN_GROUPS["within"] + '<text y="-6" fill="#fff">A1</text>') == one + 1
    assert count(IN_GROUPS["over the edge"]) == count(IN_GROUPS["over a ring"]) == one + 1


def test_what_is_all_clear_changes_no_pixel() -> None:
    nothing = '<circle cx="50" cy="40" r="9" fill="none"/>'
    assert laid(svg(BOX + nothing)) == laid(svg(BOX))
    assert laid(svg(nothing)) == laid(svg(""))


def test_letters_that_touch_are_seen_whole() -> None:
    text = '<text x="4" y="30" font-size="36" font-weight="bold">fjfjfj</text>'
    assert unlike(laid(svg(text, size="110 40")), whole(svg(text, size="110 40"))) < 0.01


def test_colours_without_number_are_drawn_by_the_nearest_of_256() -> None:
    many = svg(patches(1, 400))
    one = laid(many)
    assert 200 < len(one.getcolors(1000)) <= 256
    assert unlike(one, whole(many)) < 0.05


STRANGE = {
    "another font": svg("", 'font-family="Georgia"'),
    "a gradient": svg('<linearGradient id="g"/><rect width="9" height="9" fill="url(#g)"/>'),
    "a group that isn't meant": svg('<!-- <g transform="translate(9 9)"></g> --><circle r="3"/>'),
    "a turn": svg('<g transform="rotate(45)"><circle cx="9" cy="9" r="3"/></g>'),
    "relative curves": svg('<path d="M66 92 a8 8 0 1 1 0.01 0 z" fill="#111111"/>'),
    "text in two colours": svg('<text x="9" y="30">one<tspan fill="#f00">two</tspan></text>'),
    "letters that join": svg('<text x="9" y="30">سلام</text>'),
    "marks over letters": svg('<text x="9" y="30">e\u0301</text>'),
    "a letter the font lacks": svg('<text x="9" y="30">漢</text>'),
    "a part that is shown": svg("").replace('viewBox="0 0 ', 'viewBox="20 0 '),
    "other proportions": svg("").replace('width="200"', 'width="300"'),
    "a rectangle smaller than its corners": svg('<rect width="4" height="9" rx="2" fill="#111"/>'),
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_what_cannot_be_laid_is_drawn_whole(text: str) -> None:
    with pytest.raises(pieces.Unfit):
        pieces.laid(text, SCALE, _drawn)
    assert picture(text) == _drawn(text, SCALE)


FAR_BEYOND = {
    "a circle": '<circle cx="100" cy="4000" r="4000"/>',
    "a greater circle": '<circle cx="100" cy="12000" r="12000"/>',
    "a circle of any size": '<circle cx="100" cy="12000" r="1e300"/>',
    "a polygon": '<polygon points="-9000,50 9000,0 9000,9000"/>',
    "a line": '<circle cx="9" cy="9" r="3" stroke="#111111" stroke-width="5000"/>',
    "a rectangle": '<rect x="-50000" y="-5000" width="100000" height="10000"/>',
    "corners": '<rect x="-50000" y="-5000" width="100000" height="10000" rx="4000"/>',
    "a dashed one": '<rect x="-9000" y="9" width="18000" height="90" stroke-dasharray="9"/>',
    "a letter": '<text x="-300" y="900" font-size="2000">O</text>',
    "a word": f'<text y="90" font-size="150">{"O" * 100}</text>',
}


@pytest.mark.parametrize("inside", FAR_BEYOND.values(), ids=FAR_BEYOND.keys())
def test_what_reaches_far_beyond_the_picture_is_drawn_whole(inside: str) -> None:
    drawn = []

    def draw(text: str) -> bytes:
        png = _drawn(text)
        drawn.append(int.from_bytes(png[16:20], "big") * int.from_bytes(png[20:24], "big"))
        return png

    with pytest.raises(pieces.Unfit, match="pixels"):
        pieces.laid(svg(inside), SCALE, draw)
    assert max(drawn, default=0) < 1 << 20
    assert picture(svg(inside)) == _drawn(svg(inside), SCALE)


def test_where_memory_is_short_a_picture_is_drawn_whole() -> None:
    def draw(text: str) -> bytes:
        raise MemoryError

    with pytest.raises(pieces.Unfit):
        pieces.laid(svg(HEX), SCALE, draw)


BROKEN = {
    "a group without end": svg('<g transform="translate(9 9)"><circle cx="9" cy="9" r="3"/>'),
    "an end without a group": svg('<circle cx="9" cy="9" r="3"/></g>'),
    "no end": svg("").removesuffix("</svg>"),
    "nothing to see": svg("", size="0 80"),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_picture_at_all_is_refused(text: str) -> None:
    with pytest.raises(pieces.Unfit):
        pieces.laid(text, SCALE, _drawn)
    with pytest.raises(ValueError, match=r"(?i)svg|root"):
        picture(text)
