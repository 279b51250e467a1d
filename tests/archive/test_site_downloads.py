"""What the archive has beside its pages: feeds, the index of the search, a database, case files."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

import feedparser

from pbem import judge
from pbem.archive import published, site
from tests.archive import played
from tests.archive.looked import Page

ATOM = "{http://www.w3.org/2005/Atom}"


def test_a_case_file_beside_a_turn_comes_out_as_the_turn_did(built: Path) -> None:
    cases = sorted(built.glob("*/*.case.json"))
    assert {path.parent.name for path in cases} >= {f"{key}1" for key in ("alphabet", "empires")}
    for path in (*cases[:3], *cases[-3:], *built.glob("offices1/*.case.json")):
        if path.parent.name != "hostile1":
            assert judge.check(path) == [], path


def entries(path: Path) -> Iterator[ElementTree.Element]:
    """Yield the entries of a feed, having looked at what RFC 4287, 4.1 asks of it."""
    root = ElementTree.fromstring(path.read_bytes())
    assert root.tag == f"{ATOM}feed"
    for element in (root, *root.iter(f"{ATOM}entry")):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1
    assert root.find(f"{ATOM}author/{ATOM}name") is not None
    yield from root.iter(f"{ATOM}entry")


def test_rfc_4287_feeds_have_an_entry_a_turn_with_ids_that_last(built: Path) -> None:
    record = played.record("hexem", 1)
    found = feedparser.parse(str(built / "hexem2" / "feed.xml"))
    assert not found.bozo and found.version == "atom10"
    assert len(found.entries) == record["turn"] + 1
    ids = [str(one.findtext(f"{ATOM}id")) for one in entries(built / "hexem2" / "feed.xml")]
    assert len(set(ids)) == len(ids) and all(one.startswith("urn:uuid:") for one in ids)
    for one in entries(built / "hexem2" / "feed.xml"):
        link = one.find(f"{ATOM}link")
        assert link is not None and (built / "hexem2" / str(link.get("href"))).is_file()
    every = list(entries(built / "feed.xml"))
    assert {str(one.findtext(f"{ATOM}id")) for one in every} & set(ids)
    for one in every:
        link = one.find(f"{ATOM}link")
        assert link is not None and (built / str(link.get("href"))).is_file()
    list(entries(built / "hostile1" / "feed.xml"))


def test_rfc_4287_links_are_absolute_where_the_address_is_told_and_ids_stay(
    built: Path, tmp_path: Path
) -> None:
    place = site.Place(tmp_path, "Gia's matches", url="https://example.org/games")
    site.build(place, [played.source(published(played.record("hexem", 1)))])
    for name in ("feed.xml", "hexem2/feed.xml"):
        base = f"https://example.org/games/{name.removesuffix('feed.xml')}"
        text = (tmp_path / name).read_text("utf-8")
        assert f'rel="self" type="application/atom+xml" href="{base}feed.xml"' in text
        assert 'href="https://example.org/games/hexem2/turn-3.html"' in text
    relative, absolute = (
        [one.findtext(f"{ATOM}id") for one in entries(folder / "hexem2" / "feed.xml")]
        for folder in (built, tmp_path)
    )
    assert relative == absolute


def test_the_index_of_the_search_is_data_and_its_addresses_lead_somewhere(
    built: Path, pages: Mapping[str, Page]
) -> None:
    for path in built.glob("*/search.js"):
        text = path.read_text("utf-8")
        assert text.startswith("pbemIndex([\n") and text.endswith("null]);\n")
        assert not re.search("[<\u2028\u2029]", text)
        lines = text.splitlines()[1:-1]
        for line in lines:
            for address, what, words in json.loads(line.removesuffix(",")):
                page, _, place = address.partition("#")
                assert what and words
                there = pages[f"{path.parent.name}/{page}"]
                assert not place or place in there.values("id")


def test_the_database_has_what_is_published_a_row_an_order(built: Path) -> None:
    record = published(played.record("hexem", 1))
    with sqlite3.connect(built / "hexem2" / "match.sqlite") as base:
        written = {
            (turn["number"], seat, number, line)
            for turn in record["turns"]
            for seat, text in turn["orders"].items()
            for number, line in enumerate(text.split("\n"), 1)
            if line.strip()
        }
        rows = base.execute("SELECT turn, seat, line, text FROM orders").fetchall()
        assert set(rows) == written and len(rows) == len(written)
        assert base.execute("SELECT count(*) FROM orders WHERE became = ''").fetchone() == (0,)
        turns = base.execute("SELECT number FROM turns ORDER BY number").fetchall()
        assert [number for (number,) in turns] == [turn["number"] for turn in record["turns"]]
        events = sum(len(turn["events"]) for turn in record["turns"])
        assert base.execute("SELECT count(*) FROM events").fetchone() == (events,)
        press = base.execute("SELECT text FROM press").fetchall()
        assert {text for (text,) in press} == {
            one["facts"]["text"] for one in record["history"] if one["what"] == "press"
        }
        for table in ("standings", "history", "players", "facts"):
            assert base.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    base.close()
    with sqlite3.connect(built / "running1" / "match.sqlite") as base:
        assert base.execute("SELECT count(*) FROM orders").fetchone() == (0,)
    base.close()
