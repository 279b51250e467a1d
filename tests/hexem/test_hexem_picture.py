"""The board as a picture: what is drawn, and that its texts have room and can be read."""

from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

from pbem import game
from pbem.game import Event
from pbem.games import hexem
from pbem.games.hexem.picture import across, colour, ink
from pbem.reports import fonts, picture
from tests.hexem.conftest import after, position, rendered


def test_the_picture_is_drawn_with_a_hex_an_arrow_and_a_ring_for_each() -> None:
    state, seat, events = after("A1=Ann3 A2=Bob1 A9=Bob1 AB7=-123456", "MUSTER A2")
    layout: dict[str, Any] = hexem.page(state, seat, events)["picture"]
    assert [one["label"] for one in layout["hexes"]] == ["A1", "A2", "A9", "AB7"]
    assert [one["changed"] for one in layout["hexes"]] == [False, True, False, False]
    assert len(layout["arrows"]) == 1
    png = picture(rendered("picture.svg", state, seat, events))
    assert png.startswith(b"\x89PNG")


def test_a_great_board_is_drawn_no_wider_than_mail_can_show() -> None:
    state = position("A1=Ann1 A100=Bob1")
    layout = hexem.page(state, None, ())["picture"]
    assert layout["shown_width"] == 1200
    assert layout["width"] > 4000


def luminance(shade: str) -> float:
    """Return the relative luminance of a colour (WCAG 2)."""
    parts = [int(shade[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


LONG_NAMES = (
    "Łukasz-Żółć von Hohenzollern-Sigmaringen",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
    "Константин Константинопольский-Заморский",
    "Ann",
    "محمد علي",
    "Ἀριστοτέλης ὁ Σταγειρίτης",
    "山田太郎",
    "Bo Gee",
)


@pytest.mark.parametrize("columns", [2, 9, 40])
@pytest.mark.parametrize("names", [LONG_NAMES, LONG_NAMES[3:], ("Ann", "Bo")])
def test_texts_of_the_legend_touch_neither_each_other_nor_the_frame(
    names: tuple[str, ...], columns: int
) -> None:
    state = hexem.load(
        {
            "phase": "muster",
            "turn": 3,
            "hexes": {
                f"{'ABCDEFGHIJ'[row]}{column}": {"owner": name, "armies": 1234, "country": None}
                for row, name in enumerate((*names, None))
                for column in range(1, columns + 1)
            },
        },
        names,
        game.read_options(hexem.OPTIONS, {}, "hexem"),
    )
    came = {"seat": names[0], "hex": "A1", "from": "A2", "armies": 9}
    won = Event("muster", {**came, "owner": names[1], "defenders": 1, "result": "won"})
    layout: dict[str, Any] = hexem.page(state, None, (won,))["picture"]
    legend = layout["legend"]
    assert len(legend) == len(names) + 2
    advances = fonts.advances(False)
    boxes = [
        (one["y"], one["x"], one["x"] + 24 + 13 * sum(advances.get(c, 0.6) for c in one["text"]))
        for one in legend
    ]
    for _, _, end in boxes:
        assert end <= layout["width"] - 12
    for (y, _, end), (next_y, next_x, _) in pairwise(sorted(boxes)):
        assert y != next_y or end + 8 <= next_x
    assert layout["height"] >= max(y for y, _, _ in boxes) + 16
    assert legend[0]["text"].startswith(names[0][:12])
    assert legend[0]["text"].endswith(f"{columns} hexes, {columns * 1234} armies")


def test_no_letter_is_taken_for_narrower_than_it_is() -> None:
    advances = fonts.advances(False)
    for codes in (range(0x20, 0x7F), range(0xC0, 0x180), range(0x391, 0x3CF)):
        # These few are wider than their like, and no name is made of them alone.
        for letter in map(chr, codes):
            if letter in advances and letter not in "æœŒ":
                assert across(letter) >= 13 * advances[letter], letter


def test_a_long_title_stays_within_the_frame() -> None:
    state = replace(position("A1=Ann1 A2=Bob1"), turn=1000)
    for match in ("hexem1", "a-match-with-a-rather-long-name1"):
        svg = rendered("picture.svg", state, None, match=match)
        title = next(
            one
            for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
            if match in str(one.text)
        )
        advances = fonts.advances(True)
        wide = float(title.get("font-size", "0")) * sum(advances[c] for c in str(title.text))
        width = hexem.page(state, None, ())["picture"]["width"]
        assert 24 + wide <= width - 12


def test_one_hex_and_one_army_are_singular() -> None:
    state = position("A1=Ann1 A2=Bob1 A3=Bob1 A9=-1")
    rows = hexem.page(state, None, ())["standings"]
    assert [row["text"] for row in rows] == [
        "Bob has 2 hexes, 2 armies",
        "Ann has 1 hex, 1 army",
        "Cora has 0 hexes, 0 armies",
    ]
    assert "neutral: 1 hex, 1 army<" in rendered("picture.svg", state, None)
    assert "Ann has 1 hex, 1 army" in rendered("picture.txt", state, None)
    lots = position("A1=-9/x A2=-9/y A3=-9/y", "countries", 0, ("Ann", "Bob"))
    assert "x has 1 hex, bids up to 8; y has 2 hexes" in rendered("picture.txt", lots, None)


def test_numbers_are_legible_on_every_colour() -> None:
    shades = [colour(at) for at in range(26)]
    assert len(set(shades)) == 26
    for shade in shades:
        one, other = sorted((luminance(shade), luminance(ink(shade))))
        assert (other + 0.05) / (one + 0.05) >= 4.5, shade
