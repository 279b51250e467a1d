"""Pictures of letters: drawn once, with our own fonts, shown by Content-ID with words beside."""

from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from pbem.reports import picture, words
from pbem.reports.drawing import SCALE, width


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
