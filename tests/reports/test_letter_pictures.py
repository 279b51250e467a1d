"""Pictures of letters: drawn once, with our own fonts, shown by Content-ID with words beside."""

from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from pbem.reports import TemplateFault, picture, words
from pbem.reports.drawing import SCALE, width
from pbem.reports.extent import size


def svg(inside: str = "") -> str:
    ground = '<rect width="300" height="90" fill="#ffffff"/>'
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="90">'
    return f"{head}{ground}{inside}</svg>"


def text(weight: str, words: str = "Board", family: str = "DejaVu Sans") -> str:
    font = f'font-family="{family}" font-weight="{weight}" font-size="20"'
    return svg(f'<text x="9" y="50" {font}>{words}</text>')


def test_a_picture_is_a_png_of_twice_its_size() -> None:
    png = picture(svg())
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(png[16:20], "big") == 300 * SCALE
    assert width(png) == 300


def test_the_same_picture_is_drawn_once() -> None:
    assert picture(svg("<g/>")) is picture(svg("<g/>"))


@pytest.mark.parametrize("family", ["DejaVu Sans", "sans-serif", "Georgia", "monospace"])
def test_text_is_drawn_with_fonts_that_come_with_us(family: str) -> None:
    assert picture(text("normal", family=family)) != picture(svg())


def test_bold_greek_and_cyrillic_have_letters_of_their_own() -> None:
    drawn = [picture(text(*one)) for one in (("normal",), ("bold",), ("normal", "Ωд"))]
    assert len(set(drawn)) == 3
    # A letter the font lacks is drawn as a box, and these are none.
    assert picture(text("normal", "Ω")) != picture(text("normal", "д"))


def test_what_is_no_svg_is_refused() -> None:
    with pytest.raises(ValueError, match="SVG"):
        picture("<p>no picture</p>")


XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
THING = '<rect width="9" height="9" fill="red"/>'
SIZES = [
    'width="30" height="20px"',
    'width="30pt" height="2in"',
    'width="3pc" height="9mm"',
    'width="2cm" height=".4e2"',
    'width="2em" height="3ex"',
    'width="2ex" height="3em" font-size="15pt"',
    'width="50" height="5." font-size="large"',
    'viewBox="0 0 100 60"',
    'viewBox="-9,-9, 100,60" width="50"',
    'viewBox="0 0 100 60" height="50%"',
    'viewBox="0 0 100 60" width="50%" height="auto"',
    'viewBox="0 0 100 60" width="50%" height="90"',
    'viewBox="0 0 1e9 1e9" width="50" height="90"',
    'viewBox="none" width="50" height="90"',
]


@pytest.mark.parametrize("said", SIZES)
def test_a_pictures_size_is_known_before_it_is_drawn(said: str) -> None:
    png = picture(f"<svg {XMLNS} {said}>{THING}</svg>")
    across, down = size(f"<svg {XMLNS} {said}>{THING}</svg>")
    # What is drawn is rounded to a whole pixel.
    assert abs(int.from_bytes(png[16:20], "big") - across * SCALE) <= 1
    assert abs(int.from_bytes(png[20:24], "big") - down * SCALE) <= 1


TOO_GREAT = [
    f'<svg {XMLNS} width="100000" height="100000"><g fill="red">{THING}</g></svg>',
    f'<svg {XMLNS} width="3163" height="3163">{THING}</svg>',
    f'<svg {XMLNS} width="1e-9" height="1e9">{THING}</svg>',
    f'<svg {XMLNS} width="2000in" height="2000in">{THING}</svg>',
    f'<svg {XMLNS} width="9em" height="9em" font-size="5000">{THING}</svg>',
    f'<svg {XMLNS} viewBox="0 0 100000 100000">{THING}</svg>',
    f'<svg {XMLNS} viewBox="0 0 1 10" width="9000">{THING}</svg>',
    f'<svg {XMLNS} viewBox="0 0 10 1" height="9000">{THING}</svg>',
    f'<svg {XMLNS} viewBox="0 0 9 9" width="100000%" height="100000%">{THING}</svg>',
    f"<!-- <svg> --><a:svg {XMLNS[:5]}:a{XMLNS[5:]} width='100000' height='100000'/>",
    f'<!DOCTYPE svg [<!ENTITY w "100000">]><svg {XMLNS} width="&w;" height="&w;"/>',
    f'<svg {XMLNS} width="100000" height="100000" viewBox="0 0 9 9" font-family="DejaVu Sans">'
    f"{THING}</svg>",
]


@pytest.mark.parametrize("drawing", TOO_GREAT)
def test_a_picture_that_memory_would_not_hold_is_refused_undrawn(
    drawing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To draw one would end the process.
    monkeypatch.setattr("resvg_py.svg_to_bytes", None)
    with pytest.raises(ValueError, match=r"\d+ by \d+ pixels, and at most 40000000 are drawn$"):
        picture(drawing)


@pytest.mark.parametrize(
    "said",
    ["", 'width="90"', 'width="50%" height="50%"', 'viewBox="0 0 9"', 'width="9 px" height="9"',
     'width="5vw" height="9"', 'width="2em" height="2em" style="font-size: 90000px"'],
)  # fmt: skip
def test_a_picture_that_does_not_say_its_size_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match=r"the <svg> (doesn't say|has a size that)"):
        picture(f"<svg {XMLNS} {said}>{THING}</svg>")


def test_what_makes_the_library_panic_is_a_fault_like_others() -> None:
    with pytest.raises(ValueError, match="fails to be drawn"):
        picture(f'<svg {XMLNS} width="900" height="900"><circle cx="5" cy="5" r="1e30"/></svg>')


def test_a_game_masters_picture_that_is_too_great_is_a_fault_of_its_template(
    facts: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "fencing").mkdir()
    (tmp_path / "fencing" / "picture.svg").write_text(TOO_GREAT[0])
    with pytest.raises(TemplateFault, match=r"fencing/picture\.svg can't be drawn: .* pixels"):
        words("report", facts, tmp_path)


def test_letters_show_the_games_picture_with_its_words(
    facts: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "fencing"
    folder.mkdir()
    (folder / "picture.svg").write_text(svg("<text>{{ seat }}</text>"))
    (folder / "picture.txt").write_text('{{ seat }} holds\n the "<piste>".\n')
    letter = words("report", facts | {"seat": "<Ann> & co"}, tmp_path)
    (made,) = letter.pictures
    assert made.alt == '<Ann> & co holds the "<piste>".'
    image = LexborHTMLParser(letter.html or "").css_first("img")
    assert image is not None
    assert image.attributes["src"] == f"cid:{made.cid}"
    assert image.attributes["alt"] == made.alt
    assert image.attributes["width"] == "300"
    assert words("report", facts | {"seat": "Bob"}, tmp_path).pictures[0].cid != made.cid
    assert words("receipt", facts, tmp_path).pictures == ()
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "body.html").write_text("{{ drawn().cid }} {{ drawn().cid }}")
    assert len(words("report", facts, tmp_path).pictures) == 1


def test_the_fonts_licence_comes_with_them() -> None:
    import pbem

    fonts = Path(pbem.__file__).parent / "fonts"
    assert {path.name for path in fonts.iterdir()} == {
        "DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "LICENSE.txt",
    }  # fmt: skip
    assert "Bitstream" in (fonts / "LICENSE.txt").read_text()


def test_an_svg_of_elements_in_elements_without_end_is_refused() -> None:
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
    assert picture(f"{head}{'<g>' * 50}{'</g>' * 50}</svg>")
    for deep in (100, 500, 100_000):
        with pytest.raises(ValueError, match="nested more than 60 deep"):
            picture(f"{head}{'<g>' * deep}{'</g>' * deep}</svg>")
