"""Pictures laid out of pieces look as when drawn whole; what can't be laid is drawn whole."""

import struct
import zlib
from random import Random

import pytest

from pbem.reports import picture, pieces, png
from pbem.reports.drawing import SCALE, _drawn

Pixels = list[list[png.Colour]]


def svg(inside: str, attributes: str = 'font-family="DejaVu Sans"', size: str = "200 80") -> str:
    width, height = size.split()
    view = f'width="{width}" height="{height}" viewBox="0 0 {size}"'
    ground = '<rect width="100%" height="100%" rx="8" fill="#f6f1e4"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view} {attributes}>{ground}{inside}</svg>'


def laid(text: str) -> Pixels:
    """Return the pixels of a picture laid out of pieces."""
    drawn = pieces.laid(text, SCALE, _drawn)
    (width,) = struct.unpack(">I", drawn[16:20])
    chunks = dict(png._chunks(drawn))
    solid = zip(*[iter(chunks[b"PLTE"])] * 3, strict=True)
    palette = [(*one, alpha) for one, alpha in zip(solid, chunks[b"tRNS"], strict=True)]
    lines = zlib.decompress(chunks[b"IDAT"])
    rows = [lines[at : at + width + 1] for at in range(0, len(lines), width + 1)]
    assert {row[0] for row in rows} == {0}
    return [[palette[pixel] for pixel in row[1:]] for row in rows]


def whole(text: str) -> Pixels:
    """Return the pixels of a picture drawn whole."""
    rows = png.rows(_drawn(text, SCALE))
    return [[*zip(*[iter(row)] * 4, strict=True)] for row in rows]


def unlike(one: Pixels, other: Pixels) -> float:
    """Return which part of the pixels differ by more than a quarter of the way to white."""
    assert [len(row) for row in one] == [len(row) for row in other]
    pairs = [pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True)]
    far = sum(any(abs(a - b) > 64 for a, b in zip(*pair, strict=True)) for pair in pairs)
    return far / len(pairs)


HEX = '<polygon points="20,10 0,20 -20,10 -20,-10 0,-20 20,-10" fill="#0072B2" stroke="#fff"/>'
PICTURES = {
    "a hex in a group": f'<g transform="translate(60.3 40.2)">{HEX}<text y="6" fill="#fff" '
    'font-size="18" font-weight="bold" text-anchor="middle">12</text></g>',
    "a ring over two colours": f'<g transform="translate(50 40)">{HEX}</g><circle cx="70" cy="40" '
    'r="15" fill="none" stroke="#111111" stroke-width="2" stroke-dasharray="5 3"/>',
    "a frame with round corners": '<rect x="20" y="10" width="150" height="55" rx="12" '
    'fill="#009E73" fill-opacity="0.3" stroke="#111111" stroke-width="3"/>',
    "an empty frame": '<rect x="9.5" y="9" width="90" height="30" fill="none" stroke="#D55E00"/>',
    "lines of text": '<text x="10" y="20">Bids: Ω and Жук, 0 → 5</text>'
    '<text x="190" y="60" font-size="11" text-anchor="end">Ann’s hexes</text>',
    "a curve": '<path d="M51 64 Q53 46 66 44 Q79 46 81 64 Z" fill="#CC79A7" stroke="#26241F"/>',
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


def test_colours_without_number_are_drawn_by_the_nearest_of_256() -> None:
    rng = Random(1)
    shades = [f"#{rng.randrange(1 << 24):06x}" for _ in range(400)]
    many = [
        f'<rect x="{at % 40 * 5}" y="{at // 40 * 8}" width="5" height="8" fill="{shade}"/>'
        for at, shade in enumerate(shades)
    ]
    one = laid(svg("".join(many)))
    assert len({pixel for row in one for pixel in row}) > 200
    assert unlike(one, whole(svg("".join(many)))) < 0.05


STRANGE = {
    "another font": svg("", 'font-family="Georgia"'),
    "a gradient": svg('<linearGradient id="g"/><rect width="9" height="9" fill="url(#g)"/>'),
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


def test_rfc_2083_6_every_filter_is_undone() -> None:
    rng = Random(2)
    rows = [bytes(rng.randrange(256) for _ in range(12)) for _ in range(5)]
    data = b""
    above = bytes(12)
    for kind, row in enumerate(rows):
        data += bytes([kind])
        for at, value in enumerate(row):
            left, corner = (row[at - 4], above[at - 4]) if at >= 4 else (0, 0)
            up = above[at]
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda one: abs(guess - one))
            data += bytes([value - (0, left, up, (left + up) // 2, nearest)[kind] & 255])
        above = row
    head = struct.pack(">II", 13, 0)[:4] + b"IHDR" + struct.pack(">IIBBBBB", 3, 5, 8, 6, 0, 0, 0)
    body = zlib.compress(data)
    chunk = struct.pack(">I", len(body)) + b"IDAT" + body + bytes(4)
    assert list(png.rows(png.SIGNATURE + head + bytes(4) + chunk)) == rows
