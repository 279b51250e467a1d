"""The pages of the archive: what is on them, where their links lead, and what hostile words do."""

import json
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pbem import game as games
from pbem import orders
from pbem.archive import chart, published, site, telling
from tests.archive import played
from tests.archive.looked import Page


def test_every_page_is_well_formed_and_under_300_kilobytes(
    pages: Mapping[str, Page], built: Path
) -> None:
    assert len(pages) > 50
    for name, page in pages.items():
        assert page.open == [], name
        assert (built / name).stat().st_size < 300_000, name
        ids = page.values("id")
        assert len(ids) == len(set(ids)), name
        assert [tag for tag, _ in page.tags].count("h1") == 1, name


def test_every_link_leads_to_a_page_of_the_site_and_a_place_on_it(
    pages: Mapping[str, Page], built: Path
) -> None:
    for name, page in pages.items():
        for address in (*page.values("href"), *page.values("src"), *page.values("data-index")):
            target, _, place = address.partition("#")
            path = ((built / name).parent / target) if target else built / name
            assert path.resolve().is_relative_to(built.resolve()), (name, address)
            assert path.is_file(), (name, address)
            if place:
                there = pages[path.resolve().relative_to(built.resolve()).as_posix()]
                assert place in there.values("id"), (name, address)


def test_no_page_names_another_host_or_holds_a_script_or_handler(
    pages: Mapping[str, Page], built: Path
) -> None:
    for name, page in pages.items():
        addresses = [*page.values("href"), *page.values("src")]
        assert not [one for one in addresses if re.match(r"\w+:|//", one)], name
        for tag, attributes in page.tags:
            assert not [key for key in attributes if key.startswith("on")], name
            assert tag not in ("iframe", "object", "embed", "base", "form") or (
                tag == "form" and "action" not in attributes
            ), name
            assert tag != "script" or set(attributes) == {"src", "defer"}, name
        policies = [one["content"] for tag, one in page.tags if "http-equiv" in one]
        assert len(policies) == 1 and policies[0].startswith("default-src 'none'"), name
    for path in (*built.rglob("*.css"), *built.glob("*.js")):
        text = path.read_text("utf-8")
        # The name of SVG is no address that anything is asked from.
        text = text.replace('"http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?:|@import|url\([^#]|fetch\(|innerHTML|eval\(", text), path


def test_hostile_words_are_shown_as_words(pages: Mapping[str, Page]) -> None:
    for name, page in pages.items():
        if not name.startswith("hostile1/"):
            continue
        tags = {tag for tag, _ in page.tags}
        assert "x" not in page.values("src") and "harmed" not in tags, name
        assert not re.search("[\x00\x1b\u202e\u202c\u2028\ud800]", page.text), name
    turn = pages["hostile1/turn-3.html"]
    assert played.HOSTILE[0] in turn.text and played.HOSTILE[1] in turn.text
    assert "{{ 7 * 7 }}" in turn.text and "&amp;" in turn.text
    assert "Named from the right" in turn.text
    assert "javascript:alert(1)" in pages["hostile1/press.html"].text
    assert not [one for one in pages["hostile1/press.html"].values("href") if "javascript" in one]


@pytest.mark.parametrize("key", list(games.installed()))
def test_every_line_of_orders_stands_on_its_turns_page_with_what_became_of_it(
    key: str, pages: Mapping[str, Page]
) -> None:
    record = published(played.record(key, int(key == "hexem")))
    refused = 0
    for turn in record["turns"]:
        page = pages[f"{record['match']}/turn-{turn['number']}.html"]
        ids = set(page.values("id"))
        for position, seat in enumerate(record["seats"], 1):
            text = turn["orders"].get(seat, "")
            for number, line in enumerate(text.split("\n"), 1):
                assert (f"o{position}-{number}" in ids) == bool(line.strip())
                assert line in page.text
        for problems in turn["problems"].values():
            for _, message in problems:
                refused += 1
                assert message in page.text
    assert sum(bool(turn["orders"]) for turn in record["turns"]) > 0


def test_what_became_of_a_line_is_told_by_law_first_then_by_the_game() -> None:
    record = published(played.record("hexem", 1))
    turn = dict(record["turns"][3])
    seat = record["seats"][0]
    turn["orders"] = {seat: "Hello there\n\nMUSTER A2\nMUSTER A3\nMUSTER B1\nMUSTR B2"}
    turn["problems"] = {seat: [[4, "no such hex"], [5, "twice"], [6, "not understood"]]}
    found = telling.fates(record, turn, seat, {3: "took A2", "5": "took B1 from Bob"})
    assert [tuple(one) for one in found] == [
        (1, "Hello there", "chat", "no order"),
        (3, "MUSTER A2", "order", "took A2"),
        (4, "MUSTER A3", "refused", "refused: no such hex"),
        (5, "MUSTER B1", "part", "took B1 from Bob; in part refused: twice"),
        (6, "MUSTR B2", "refused", "refused: not understood"),
    ]
    assert telling.fates(record, turn, seat, {})[1].told == "carried out"


def test_of_a_turn_that_the_game_master_ended_no_line_but_his_was_carried_out() -> None:
    record = published(played.record("hexem", 1))
    event = {"kind": "ended", "facts": {"by": "gm"}, "seen_by": None}
    seat = record["seats"][0]
    orders = {seat: "Hello\nMUSTER A2\nMUSTER Z9", "": "END"}
    turn = {**record["turns"][3], "orders": orders, "events": [event]}
    turn["problems"] = {seat: [[3, "no such hex"]]}
    assert [tuple(one) for one in telling.fates(record, turn, seat, {2: "took A2"})] == [
        (1, "Hello", "chat", "no order"),
        (2, "MUSTER A2", "order", "not carried out: the game master ended the match"),
        (3, "MUSTER Z9", "refused", "refused: no such hex"),
    ]
    (end,) = telling.fates(record, turn, "", {})
    assert tuple(end) == (1, "END", "order", "carried out: the match was over")


def test_who_sent_nothing_is_named_with_what_stood_in() -> None:
    record = published(played.record("hexem", 1))
    seats, turn = record["seats"], record["turns"][3]
    turn = {**turn, "missing": seats[:2], "orders": {seats[0]: "MUSTER A2"}}
    assert telling.stood_in(record, turn, seats[0]).endswith("the standing orders.")
    assert telling.stood_in(record, turn, seats[1]) == "No orders came."


def test_while_a_match_runs_its_pages_tell_no_order_and_no_secret(
    pages: Mapping[str, Page], built: Path
) -> None:
    whole = played.record("empires", 1, 4)
    texts = "".join(path.read_text("utf-8", "replace") for path in (built / "running1").iterdir())
    lines = [
        line
        for turn in whole["turns"]
        for text in turn["orders"].values()
        for line in text.splitlines()
        if line.strip()
    ]
    assert len(lines) > 10
    # A bid of the sheet's price may well be told; its line as it was written is not.
    assert [line for line in lines if f">{line}<" in texts or f'"{line}"' in texts] == []
    assert f'"{whole["seed"]}"' not in texts and f">{whole['seed']}<" not in texts
    assert whole["seed_sha256"] in texts
    private = [
        one["facts"]["text"]
        for one in whole["history"]
        if one["what"] == "press" and one["facts"]["seen_by"]
    ]
    assert private and not [text for text in private if json.dumps(text)[1:-1] in texts]
    assert "The orders are opened when the match is over." in pages["running1/turn-2.html"].text
    assert not list((built / "running1").glob("*.case.json"))


def test_the_turns_are_linked_one_to_the_next(pages: Mapping[str, Page]) -> None:
    relations = [
        (one["rel"], one["href"])
        for tag, one in pages["hexem2/turn-3.html"].tags
        if one.get("rel") in ("prev", "next")
    ]
    assert set(relations) == {("prev", "turn-2.html"), ("next", "turn-4.html")}
    assert "next" not in pages["hexem2/turn-9.html"].values("rel")
    assert "prev" not in pages["hexem2/turn-0.html"].values("rel")


def test_the_address_of_press_and_history_outlives_what_comes_to_stand_before_it() -> None:
    from pbem.archive.book import Book

    record = played.record("hexem", 1, 4)
    running, over = Book(published(record), ""), Book(published({**record, "status": "over"}), "")
    pairs = [[book.press for book in (running, over)]]
    pairs.append([[one for page in book.history for one in page] for book in (running, over)])
    for earlier, later in pairs:
        before = [one["id"] for one in earlier]
        after = [one["id"] for one in later]
        assert set(before) < set(after) and len(set(after)) == len(after)


def test_charts_tell_seats_apart_without_colours(built: Path) -> None:
    seats = [f"Seat {number}" for number in range(1, 9)]
    values = {seat: [at, None, at + 2, at * 3] for at, seat in enumerate(seats)}
    drawn = str(chart.drawn({"title": "Gold", "unit": "gold", "seats": values}, seats))
    root = ElementTree.fromstring(drawn[: drawn.index("</svg>") + 6])
    looks = set()
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        if group.get("class") != "marks":
            line, marks = group[0], group[1]
            looks.add((line.get("stroke-dasharray"), marks[0].get("d")))
            # A value that isn't known breaks the line.
            assert str(line.get("d")).count("M") == 2
    assert len(looks) == 8
    labels = [one for one in root.iter() if one.get("class") == "label"]
    rows = sorted(float(one.get("y", "0")) for one in labels)
    assert len(rows) == 8
    assert min(after - before for before, after in pairwise(rows)) >= 14


def test_the_ticks_of_counts_are_whole_numbers_and_of_shares_need_not_be() -> None:
    for most in (1, 2, 3, 4, 7, 9, 11, 23, 90, 101, 12345):
        values = {"Ann": [0, most], "Bob": [None, 1]}
        drawn = str(chart.drawn({"title": "Hexes", "unit": "hexes", "seats": values}, list(values)))
        ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', drawn[: drawn.index("</svg>")])
        assert 2 <= len(ticks) <= 7 and all(float(one).is_integer() for one in ticks), (most, ticks)
    values = {"Ann": [0.1, 0.9]}
    drawn = str(chart.drawn({"title": "Share", "unit": "", "seats": values}, ["Ann"]))
    assert ">0.25<" in drawn or ">0.2<" in drawn


def test_names_that_begin_alike_are_told_apart_at_the_ends_of_their_lines() -> None:
    seats = [f"Maximiliane Alexandra of the {one}" for one in ("Alder", "Birch", "Cedar")]
    values = {seat: [1, at] for at, seat in enumerate(seats)} | {"Ann": [3, 4]}
    drawn = str(chart.drawn({"title": "Gold", "unit": "gold", "seats": values}, [*seats, "Ann"]))
    labels = re.findall(r'class="label"[^>]*>([^<]*) <', drawn)
    assert sorted(labels[:4]) == ["Ann", "…Alder", "…Birch", "…Cedar"]


def test_charts_stand_beside_their_figures_in_a_table(pages: Mapping[str, Page]) -> None:
    record = published(played.record("hexem", 1))
    page = pages["hexem2/index.html"]
    course: Any = games.optional(games.named("hexem"), "course")
    for one in course(record)["charts"]:
        assert f"{one['title']} in figures" in page.text
        for values in one["seats"].values():
            for value in values:
                assert ("–" if value is None else str(value)) in page.text


def test_a_sheet_beyond_all_measure_is_cut_and_said_to_be(tmp_path: Path) -> None:
    record = played.record("hexem", 1)
    seat = record["seats"][0]
    many = "\n".join(f"MUSTER A2 {'A3 ' * 300}" for _ in range(orders.MOST_LINES))
    record["turns"][3] = {**record["turns"][3], "orders": {seat: many}, "problems": {}}
    press = [one for one in record["history"] if one["what"] == "press"]
    long = {**press[0], "facts": {**press[0]["facts"], "text": "words " * 3000}}
    record["history"] += [{**long, "time": f"2027-01-0{at % 9 + 1}T1{at // 9}:00:00+00:00"}
                          for at in range(40)]  # fmt: skip
    site.build(site.Place(tmp_path, "x"), [played.source(published(record))])
    for path in tmp_path.rglob("*.html"):
        assert path.stat().st_size < 300_000, path
    page = (tmp_path / "hexem2" / "turn-3.html").read_text("utf-8")
    assert re.search(r"And \d+ more lines", page)
    assert len(list((tmp_path / "hexem2").glob("press*.html"))) > 2


def test_the_reports_of_all_seats_have_a_page_of_their_own_where_they_are_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.archive import turn_page

    monkeypatch.setattr(turn_page, "LARGEST", 20_000)
    site.build(site.Place(tmp_path, "x"), [played.source(published(played.record("hexem", 1)))])
    page = (tmp_path / "hexem2" / "turn-3.html").read_text("utf-8")
    assert 'href="turn-3-reports.html"' in page and 'href="turn-3-chapter.html"' in page
    assert "The report to" in (tmp_path / "hexem2" / "turn-3-reports.html").read_text("utf-8")


def test_the_course_of_a_match_has_a_page_of_its_own_where_it_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.archive import match_page

    monkeypatch.setattr(match_page, "LARGEST", 20_000)
    site.build(site.Place(tmp_path, "x"), [played.source(published(played.record("hexem", 1)))])
    assert 'href="course.html"' in (tmp_path / "hexem2" / "index.html").read_text("utf-8")
    assert "Fronts" in (tmp_path / "hexem2" / "course.html").read_text("utf-8")


def test_a_long_history_goes_on_on_pages_of_its_own(tmp_path: Path) -> None:
    record = played.record("hexem", 1)
    one = {**record["history"][0], "what": "said"}
    record["history"] += [{**one, "facts": {"text": f"word {at}"}} for at in range(900)]
    site.build(site.Place(tmp_path, "x"), [played.source(published(record))])
    pages = [tmp_path / "hexem2" / name for name in ("index.html", "history-2.html")]
    assert "word 0<" in pages[0].read_text("utf-8") and "word 899" not in pages[0].read_text(
        "utf-8"
    )
    assert 'href="history-3.html"' in pages[1].read_text("utf-8")
    assert "word 899" in (tmp_path / "hexem2" / "history-4.html").read_text("utf-8")


def test_a_match_that_is_open_or_was_called_off_has_its_page(tmp_path: Path) -> None:
    record = played.record("hexem", 1, 1)
    empty = {"turns": [], "turn": 0, "phase": "open", "players": [], "history": [], "seats": []}
    for status in ("open", "over"):
        one = {**record, **empty, "match": status, "status": status}
        site.build(site.Place(tmp_path, "x"), [played.source(published(one))])
        assert "None has been run yet." in (tmp_path / status / "index.html").read_text("utf-8")


def test_a_game_without_chapters_or_pictures_still_has_a_whole_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    record = published(played.record("hexem", 1))
    for name in ("course", "chapter", "page"):
        monkeypatch.delattr(hexem, name)
    templates = tmp_path / "templates"
    for name in ("headline.txt", "report.txt", "report.html", "picture.svg"):
        path = templates / "hexem" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        general = Path(__file__).parent.parent.parent / "templates" / "game" / name
        path.write_text(general.read_text("utf-8") if general.exists() else "", "utf-8")
    site.build(site.Place(tmp_path / "site", "x", templates), [played.source(record)])
    page = Page((tmp_path / "site" / "hexem2" / "turn-3.html").read_text("utf-8"))
    assert "What happened" in page.text and "Orders, and what became of them" in page.text
    assert "carried out" in page.text
