"""What a site tells of matches that are unverified, taken back, sealed for ever or broken."""

import json
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from pbem.archive import folder as folders
from pbem.archive import published, site
from pbem.archive.book import Book
from pbem.config import Config
from pbem.faults import Wrong
from tests.archive import lives, played
from tests.archive.looked import Page
from tests.archive.test_site_build import files
from tests.cli.conftest import pbem

__all__ = ["pbem"]

Json = dict[str, Any]


def build(folder: Path, *records: Json) -> site.Built:
    """Build the published part of some records."""
    return site.build(site.Place(folder, "x"), [played.source(published(one)) for one in records])


def pages_of(folder: Path) -> Mapping[str, Page]:
    """Return the pages of a site by name."""
    return {
        path.relative_to(folder).as_posix(): Page(path.read_text("utf-8"))
        for path in folder.rglob("*.html")
    }


def missing_links(folder: Path) -> list[tuple[str, str]]:
    """Return each link of a site that leads nowhere, with its page."""
    pages = pages_of(folder)
    found = []
    for name, page in pages.items():
        for address in page.values("href"):
            target, _, place = address.partition("#")
            path = ((folder / name).parent / target).resolve() if target else folder / name
            there = pages.get(path.relative_to(folder.resolve()).as_posix()) if target else page
            if not path.is_file() or (place and there and place not in there.values("id")):
                found.append((name, address))
    return found


def entry(record: Json, who: str, what: str, at: int = -1, **facts: Any) -> None:
    """Add an entry to a record's history, at the time of another."""
    time = record["history"][at]["time"]
    record["history"].append({"time": time, "who": who, "what": what, "facts": facts})


def test_a_number_beyond_those_of_the_database_is_the_nearest_that_it_has(tmp_path: Path) -> None:
    record = played.record("hexem", 1, 3)
    record["turns"][-1]["events"].append(
        {"kind": "huge", "facts": {"armies": 10**30}, "seen_by": None}
    )
    record["players"][0]["from_turn"] = 10**30
    assert build(tmp_path, record).failed == {}
    with sqlite3.connect(tmp_path / "hexem2" / "match.sqlite") as base:
        found = base.execute("SELECT from_turn FROM players").fetchall()
    base.close()
    assert (1e30,) in found


def test_a_match_that_can_not_be_built_is_named_and_all_others_are_built(tmp_path: Path) -> None:
    good, bad = played.record("hexem", 1, 3), played.record("empires", 0, 3)
    build(tmp_path, good, bad)
    before = files(tmp_path)
    entry(good, "gm", "said", text="a new word")
    entry(bad, "gm", "said", text="another word")
    bad["turns"][2]["state"]["vp"] = None
    sources = [played.source(published(good))._replace(match="hexem2")]
    sources.insert(0, played.source({**published(bad)}))
    sources[0] = sources[0]._replace(record=lambda: {**bad, "whole": True})
    built = site.build(site.Place(tmp_path, "x"), sources)
    assert list(built.failed) == ["empires1"] and built.changed == ["hexem2"]
    assert "\n" not in built.failed["empires1"] and "not built: empires1" in built.told()
    after = files(tmp_path)
    assert {name: after[name] for name in after if "empires1/" in name} == {
        name: before[name] for name in before if "empires1/" in name
    }
    assert b"a new word" in after["hexem2/index.html"]
    assert b'href="empires1/index.html"' in after["index.html"]


def test_the_command_names_a_match_that_can_not_be_built_and_says_so_by_its_code(  # type: ignore[no-untyped-def]
    pbem, engine: Engine, house: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.archive import record

    lives.begin(engine, "hexem")
    lives.begin(engine, "empires", "match2")
    shown = record.published

    def broken(one: Json) -> Json:
        if one["match"] == "match1":
            raise OverflowError("Python int\ntoo large")
        return dict(shown(one))

    monkeypatch.setattr(record, "published", broken)
    answer = pbem("archive", "--out", "site")
    assert answer.code == 1 and "built match2, not built: match1" in answer.out
    assert answer.err.count("\n") == 1 and "match1: not built" in answer.err
    assert "OverflowError: Python int too large" in answer.err
    assert (house.folder / "site" / "match2" / "index.html").is_file()
    assert 'href="match2/' in (house.folder / "site" / "index.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["../../x", "/x", "..", "", "a/b", "x" * 300, "a\nb", b"\xff\x00"])
def test_a_match_whose_name_was_damaged_is_left_out_and_nothing_leaves_the_folder(  # type: ignore[no-untyped-def]
    name: str | bytes, pbem, engine: Engine, house: Config
) -> None:
    lives.begin(engine, "hexem")
    lives.begin(engine, "empires", "match2")
    with sqlite3.connect(house.folder / "pbem.sqlite") as base:
        base.execute("UPDATE matches SET name = ? WHERE name = 'match1'", (name,))
    base.close()
    answer = pbem("archive", "--out", "deep/er/site")
    assert (answer.code, answer.err.count("\n")) == (1, 1), answer
    assert f"{name!r:.60}: not built" in answer.err and "no name for a match" in answer.err
    site_folder = house.folder / "deep" / "er" / "site"
    assert (site_folder / "match2" / "index.html").is_file()
    assert {one.name for one in site_folder.iterdir() if one.is_dir()} == {"match2"}
    around = (house.folder, house.folder / "deep", house.folder / "deep" / "er")
    found = {one.name for folder in around for one in folder.iterdir() if one.is_dir()}
    assert found <= {"deep", "er", "site", "mail"}


@pytest.mark.parametrize("is_unverified", [True, False])
def test_a_match_that_was_imported_unverified_is_marked_on_all_of_its_pages(
    is_unverified: bool, tmp_path: Path
) -> None:
    record = played.record("hexem", 1, 3)
    record["undone"] = [record["turns"][2]]
    entry(record, "gm", "imported", **({"unverified": True} if is_unverified else {}))
    # Whole, as it is when it is over.
    site.build(site.Place(tmp_path, "x"), [played.source(record)])
    pages = pages_of(tmp_path)
    for name in ("index.html", "turn-0.html", "turn-3.html", "turn-2-undone-1.html"):
        text = pages[f"hexem2/{name}"].text
        assert ("Imported without being verified" in text) == is_unverified, name
    assert ("imported unverified" in pages["index.html"].text) == is_unverified
    told = pages["hexem2/index.html"].text
    assert "The match was imported from a file" in told
    assert ("file, without being verified" in told) == is_unverified


def undone(folder: Path) -> Json:
    """Build a match, one turn of which was run three times and one no more; return its record."""
    record = played.record("empires", 0, 3)
    last = record["turns"].pop()
    again = {**record["turns"][2], "ran": record["history"][0]["time"]}
    record["undone"] = [again, again, last]
    record["turn"] = 2
    for _ in range(2):
        at = next(at for at, one in enumerate(record["history"]) if one["facts"].get("turn") == 2)
        record["history"].insert(at, {**record["history"][at], "what": "run", "who": "program"})
    record["history"] = [one for one in record["history"] if one["what"] != "press"]
    site.build(site.Place(folder, "x"), [played.source(record)])
    return record


def test_the_history_leads_to_the_page_of_the_very_run_it_tells_of(tmp_path: Path) -> None:
    undone(tmp_path)
    assert missing_links(tmp_path) == []
    page = (tmp_path / "empires1" / "index.html").read_text("utf-8")
    runs = re.findall(r'<span><a href="([^"]*)">Turn \d</a> was run', page)
    assert runs == [
        "turn-1.html",
        "turn-2-undone-1.html",
        "turn-2-undone-2.html",
        "turn-2.html",
        "turn-3-undone-1.html",
    ]


def test_the_history_of_a_match_that_goes_on_leads_to_no_turn_that_was_taken_back(
    tmp_path: Path,
) -> None:
    record = played.record("empires", 0, 3)
    record["turns"].pop()
    record["turn"] = 2
    build(tmp_path, record)
    assert missing_links(tmp_path) == []
    assert "Turn 3 was run" in pages_of(tmp_path)["empires1/index.html"].text


def test_the_page_of_a_turn_taken_back_tells_what_became_of_its_orders_then(
    tmp_path: Path,
) -> None:
    undone(tmp_path)
    told = [
        re.findall(r'<span class="became">(.*?)</span>', path.read_text("utf-8"))
        for path in sorted((tmp_path / "empires1").glob("turn-2*.html"))
    ]
    assert len(told) == 3 and told[0] == told[1] == told[2] and told[0]
    assert set(told[0]) != {"carried out"}
    # The page of a turn that stands no more has the chapter too.
    last = pages_of(tmp_path)["empires1/turn-3-undone-1.html"]
    assert "step by step" in last.text and "This turn does not count." in last.text


def test_a_turn_taken_back_is_seen_after_the_turns_that_stood_then() -> None:
    record = played.record("empires", 0, 3)
    one, other = dict(record["turns"][1]), dict(record["turns"][1])
    one["ran"], other["ran"] = record["turns"][1]["ran"], record["turns"][2]["ran"]
    late = {**record["turns"][2], "ran": record["turns"][3]["ran"]}
    early = {**late, "ran": one["ran"].replace("19:00", "19:30")}
    book = Book({**record, "turns": [record["turns"][0], other], "undone": [one, early, late]}, "")
    assert [turn["ran"] for turn in book.taken_back(early).record["turns"]][1:] == [
        one["ran"],
        early["ran"],
    ]
    assert [turn["ran"] for turn in book.taken_back(late).record["turns"]][1:] == [
        other["ran"],
        late["ran"],
    ]


@pytest.mark.parametrize(("key", "way"), lives.EVERY_WAY)
def test_where_nothing_is_revealed_no_page_promises_it_and_no_link_leads_nowhere(
    key: str, way: int, tmp_path: Path
) -> None:
    over = played.record(key, way)
    running = played.record(key, way, (over["turn"] + 1) // 2, f"{key}-running")
    for one in (over, running):
        one["settings"] = {**one["settings"], "reveal": "never"}
    build(tmp_path, over, running)
    assert missing_links(tmp_path) == []
    for name, page in pages_of(tmp_path).items():
        words = " ".join(page.text.split())
        promises = re.findall(r"[^.]*(?:when (?:the match|it) is over|come never)[^.]*", words)
        kept = [one for one in promises if "also when it is over" not in one]
        assert kept == [], name
    index = pages_of(tmp_path)[f"{over['match']}/index.html"].text
    assert "what all were told of its end" in index and "stay sealed" in index


def test_orders_that_came_in_are_told_of_who_sent_them_a_line_a_turn(tmp_path: Path) -> None:
    record = played.record("hexem", 1, 2)
    record["history"] = [one for one in record["history"] if one["what"] != "press"]
    ran = record["history"].pop()
    for seat in ("Ann", "Bob", "Ann", "Chloé"):
        entry(record, seat, "orders", turn=1)
    entry(record, "gm", "orders", turn=1, seat="Bob")
    record["history"].append(ran)
    site.build(site.Place(tmp_path, "x"), [played.source(record)])
    told = " ".join(pages_of(tmp_path)["hexem2/index.html"].text.split())
    assert told.count("sent orders for turn 2") == 1
    assert "Ann, Bob and Chloé sent orders for turn 2." in told
    assert "The game master gave orders for Bob." in told


def test_what_the_game_master_said_is_on_its_turns_page_and_in_the_search(tmp_path: Path) -> None:
    record = played.record("hexem", 1, 3)
    at = next(at for at, one in enumerate(record["history"]) if one["facts"].get("turn") == 2)
    said = {**record["history"][at], "who": "gm", "what": "said", "facts": {"text": "mind the gap"}}
    record["history"].insert(at, said)
    entry(record, "gm", "said", text="words since")
    record["history"][-1]["time"] = "2030-01-01T00:00:00+00:00"
    build(tmp_path, record)
    pages = pages_of(tmp_path)
    assert "mind the gap" in pages["hexem2/turn-2.html"].text
    assert "mind the gap" not in pages["hexem2/turn-1.html"].text + pages["hexem2/turn-3.html"].text
    index = (tmp_path / "hexem2" / "search.js").read_text("utf-8").splitlines()[1:-1]
    found = {
        text: address for line in index for address, _, text in json.loads(line.removesuffix(","))
    }
    for words, page in (("mind the gap", "turn-2.html"), ("words since", "press.html")):
        name, _, place = found[words].partition("#")
        assert name == page and place in pages[f"hexem2/{name}"].values("id")


def test_the_index_of_the_search_holds_no_marks_that_turn_writing(tmp_path: Path) -> None:
    build(tmp_path, played.hostile())
    index = (tmp_path / "hostile1" / "search.js").read_text("utf-8")
    assert "Named from the right" in index
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200f\x00\x1b]|\\\\u00(00|1b)", index)


def test_entries_alike_have_addresses_of_their_own(tmp_path: Path) -> None:
    record = played.record("empires", 0, 3)
    for _ in range(3):
        entry(record, "gm", "orders", turn=3)
    for _ in range(2):
        entry(record, "gm", "said", text="twice")
    site.build(site.Place(tmp_path, "x"), [played.source(record)])
    for name, page in pages_of(tmp_path).items():
        ids = page.values("id")
        assert len(ids) == len(set(ids)), name
    assert missing_links(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["index.html", "style.css", "hexem2/turn-1.html", "hexem2/match.json", "hexem.js"]
)
def test_nothing_is_written_where_a_file_of_somebody_else_stands_in_the_way(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine", "utf-8")
    with pytest.raises(Wrong, match="not of this archive"):
        build(tmp_path, played.record("empires", 0, 2), played.record("hexem", 1, 2))
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]


def test_a_damaged_manifest_is_refused_with_a_remedy_that_helps(tmp_path: Path) -> None:
    build(tmp_path / "site", played.record("hexem", 1, 2))
    (tmp_path / "site" / folders.MANIFEST).write_bytes(b'{"format": 1, "matches": {"he')
    with pytest.raises(Wrong, match=r"or delete .*site to have all of it built again"):
        build(tmp_path / "site", played.record("hexem", 1, 2))


def test_what_is_too_large_for_the_page_of_a_match_has_pages_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.archive import match_page

    build(tmp_path / "whole", played.record("hexem", 1))
    whole = (tmp_path / "whole" / "hexem2" / "index.html").stat().st_size
    monkeypatch.setattr(match_page, "LARGEST", whole - 1)
    build(tmp_path / "parts", played.record("hexem", 1))
    folder = tmp_path / "parts" / "hexem2"
    assert (folder / "course.html").is_file() and not (folder / "turns.html").exists()
    monkeypatch.setattr(match_page, "LARGEST", 10_000)
    build(tmp_path / "small", played.record("hexem", 1))
    folder = tmp_path / "small" / "hexem2"
    page = (folder / "index.html").read_text("utf-8")
    for name, words in (("course", "Fronts"), ("figures", "Hexes"), ("turns", "hexes changed")):
        assert f'href="{name}.html' in page
        assert words in (folder / f"{name}.html").read_text("utf-8")
    assert '<table class="data figures">' not in page
    assert missing_links(tmp_path / "small") == []


def test_an_option_is_told_by_its_name_and_whether_it_is_the_default(tmp_path: Path) -> None:
    record = played.record("hexem", 1, 2)
    record["options"] = {**record["options"], "turns": 9}
    build(tmp_path, record)
    told = " ".join(pages_of(tmp_path)["hexem2/index.html"].text.split())
    assert "turns The match is over once this turn has run9 share" in told
    assert "grace How long to wait for who is missing0 default" in told
    assert "pause Dates on which no deadline fallsdefault" in told
    assert "early When a turn may run earlynever default" in told


def test_pages_of_a_long_match_with_long_names_and_much_press_are_under_300_kilobytes(
    tmp_path: Path,
) -> None:
    names = [f"Maximiliane Alexandra von und zu {one}" for one in ("Ahorn", "Birke", "Cedern",
             "Dornbusch", "Esche", "Ginster", "Hasel")]  # fmt: skip
    record = played.record("hexem", 0, 3, "long1", names)
    last = record["turns"][-1]
    weeks = iter(range(4, 200))
    while len(record["turns"]) < 101:
        ran = played.moment(next(weeks))
        record["turns"].append({**last, "number": len(record["turns"]), "ran": ran, "events": []})
    record |= {"turn": 100, "status": "over"}
    press = next(one for one in record["history"] if one["what"] == "press")
    for number in range(2000):
        facts = {
            **press["facts"],
            "text": f"letter {number} " + "words " * 60,
            "turn": number // 20,
        }
        record["history"].append({**press, "facts": facts})
    build(tmp_path, record)
    sizes = {path.name: path.stat().st_size for path in tmp_path.rglob("*.html")}
    assert max(sizes.values()) < 300_000, sizes
    assert {"press-2.html", "history-2.html"} <= set(sizes)
    assert missing_links(tmp_path) == []
