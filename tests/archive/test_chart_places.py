"""Charts whose values are not one a turn: what stands below them, in picture and figures."""

from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pbem.archive import chart, published, site
from tests.archive import played
from tests.archive.looked import Page


def below(places: list[str]) -> list[list[tuple[float, str]]]:
    """Return what stands below a chart and where, for wide screens and for narrow ones."""
    values: dict[str, Any] = {"Ann": list(range(len(places)))}
    one = {"title": "Gold", "unit": "gold", "seats": values, "along": "epoch", "places": places}
    root = ElementTree.fromstring(f"<p>{chart.drawn(one, ['Ann'])}</p>")
    assert {str(title.text) for title in root.iter() if title.tag.endswith("title")} == {
        f"Gold, epoch by epoch; in the end Ann {len(places) - 1}."
    }
    return [
        [(float(text.get("x", "")), str(text.text)) for text in svg if text.get("class") == "turn"]
        for svg in root
    ]


def test_places_stand_below_the_values_they_are_of() -> None:
    wide, narrow = below(["start", "I", "II", "III so far"])
    assert [said for _, said in wide] == ["start", "I", "II", "III so far"]
    assert narrow[0][1] == "start" and narrow[-1][1] == "III so far"
    steps = {round(after - before) for (before, _), (after, _) in pairwise(wide)}
    assert len(steps) == 1


def test_places_that_have_no_room_are_left_out_and_the_last_is_kept() -> None:
    names = [f"Epoch {at}" for at in range(30)]
    for shown in below(names):
        assert 3 < len(shown) < 30 and shown[-1][1] == "Epoch 29"
        assert all(after - before > 40 for (before, _), (after, _) in pairwise(shown))


def test_a_long_place_is_cut_and_what_is_in_it_is_text() -> None:
    wide, narrow = below(["start", "<b>The Age of the Long Name</b>"])
    assert wide[-1][1] == "<b>The Age of t…" and narrow[-1][1] == "<b>The Age…"


def test_the_figures_of_an_epoch_lead_to_its_last_turn(tmp_path: Path) -> None:
    record = published(played.record("empires"))
    site.build(site.Place(tmp_path, "x"), [played.source(record)])
    page = Page((tmp_path / record["match"] / "index.html").read_text("utf-8"))
    assert "Standings, epoch by epoch" in page.text
    ends = [
        turn["number"]
        for turn in record["turns"]
        if any(event["kind"] == "epoch_over" for event in turn["events"])
    ]
    assert len(ends) > 3
    table = page.text.partition("Victory points in figures")[2].split()
    assert [row.strip("-0123456789") for row in table[1:5]] == ["start", "I", "II", "III"]
    assert table[0].startswith("Epoch")
    links = [f"turn-{number}.html" for number in (0, *ends)]
    found = [href for href in page.values("href") if href in links]
    assert " ".join(links) in " ".join(found)
