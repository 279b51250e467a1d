"""The archive is built into a folder: what changed and no more, and nothing of anybody else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pbem.archive import folder as folders
from pbem.archive import published, site
from pbem.faults import Wrong
from tests.archive import played

Json = dict[str, Any]


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., site.Built]:
    """Build the published part of some records into a folder."""

    def built(*records: Json) -> site.Built:
        place = site.Place(tmp_path / "site", "Gia's matches")
        return site.build(place, [played.source(published(one)) for one in records])

    return built


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of a site by name, the manifest apart."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != folders.MANIFEST
    }


def test_an_unchanged_match_is_not_loaded_and_no_file_is_written(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    one = played.record("hexem", 1, 3)
    assert build(one).changed == ["hexem2"]
    before = files(tmp_path / "site")

    def loaded() -> Json:
        raise AssertionError("loaded")

    same = played.source(published(one))._replace(record=loaded)
    again = site.build(site.Place(tmp_path / "site", "Gia's matches"), [same])
    assert (again.matches, again.changed, again.written, again.removed) == (1, [], 0, 0)
    assert files(tmp_path / "site") == before


def test_with_a_turn_more_only_pages_are_written_that_it_changes(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    build(played.record("empires", 0, 4))
    before = files(tmp_path / "site")
    build(played.record("empires", 0, 5))
    after = files(tmp_path / "site")
    changed = {name for name in after if before.get(name) != after[name]}
    in_match = {name.removeprefix("empires1/") for name in changed if "/" in name}
    # The turn before has a link to it now.
    assert {name for name in in_match if name.startswith("turn-")} == {
        "turn-4.html",
        *(name.removeprefix("empires1/") for name in after if "turn-5" in name),
    }
    assert in_match >= {"index.html", "feed.xml", "match.json", "match.sqlite", "search.js"}
    # What is built step by step is what is built at once.
    fresh = tmp_path / "fresh"
    source = played.source(published(played.record("empires", 0, 5)))
    site.build(site.Place(fresh, "Gia's matches"), [source])
    assert files(fresh) == after


def test_what_is_written_before_a_turn_or_looked_at_is_on_its_page(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    one = played.record("hexem", 1, 3)
    build(one)
    before = files(tmp_path / "site")
    late = {"by": "Bob", "to": "all", "text": "late words", "turn": 1, "seen_by": None}
    look = {"seat": "Bob", "turn": 2}
    first = one["history"][0]
    one["history"] += [
        {**first, "who": "Bob", "what": "press", "facts": late},
        {**first, "what": "looked", "facts": look},
    ]
    build(one)
    after = files(tmp_path / "site")
    changed = {name for name in after if "/turn-" in name and before[name] != after[name]}
    assert changed == {"hexem2/turn-2.html", "hexem2/turn-3.html"}
    assert b"late words" in after["hexem2/turn-2.html"]
    assert b"read the sealed orders of Bob" in after["hexem2/turn-3.html"]


def test_at_the_end_all_pages_show_what_was_secret_before(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    whole = played.record("hexem", 1)
    build(played.record("hexem", 1, whole["turn"] - 1))
    page = tmp_path / "site" / "hexem2" / "turn-3.html"
    assert 'id="o1-1"' not in page.read_text("utf-8")
    build(whole)
    assert 'id="o1-1"' in page.read_text("utf-8")


def test_pages_of_turns_taken_back_are_removed_and_nothing_else_is(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    build(played.record("empires", 0, 5), played.record("hexem", 1, 2))
    foreign = tmp_path / "site" / "empires1" / "turn-9.html"
    foreign.write_text("mine", "utf-8")
    result = build(played.record("empires", 0, 3), played.record("hexem", 1, 2))
    left = set(files(tmp_path / "site"))
    assert result.removed > 0
    assert {name for name in left if "turn-4" in name or "turn-5" in name} == set()
    assert "hexem2/turn-2.html" in left
    assert foreign.read_text("utf-8") == "mine"
    assert b"turn-4.html" not in files(tmp_path / "site")["empires1/turn-3.html"]


def test_a_turn_taken_back_is_kept_apart_and_marked_once_all_is_open(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    one = played.record("hexem", 1)
    one["undone"] = [one["turns"][3], one["turns"][3]]
    build(one)
    page = (tmp_path / "site" / "hexem2" / "turn-3-undone-2.html").read_text("utf-8")
    assert "This turn does not count." in page and 'href="turn-3.html"' in page
    match = (tmp_path / "site" / "hexem2" / "index.html").read_text("utf-8")
    for number in (1, 2):
        assert f'href="turn-3-undone-{number}.html"' in match
    # It is left as it is when something else has changed.
    one["history"].append({**one["history"][0], "what": "released", "facts": {}})
    assert build(one).written < 12


def test_one_match_is_built_and_the_index_lists_those_that_were_there(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    build(played.record("hexem", 1, 2), played.record("offices", 1))
    build(played.record("empires", 0, 2))
    index = (tmp_path / "site" / "index.html").read_text("utf-8")
    for name in ("hexem2", "offices2", "empires1"):
        assert f'href="{name}/index.html"' in index
        assert (tmp_path / "site" / name / "index.html").is_file()


@pytest.mark.parametrize("name", ["index.html", "hexem2/turn-1.html", "hexem2/match.json"])
def test_a_file_of_somebody_else_is_not_overwritten(
    name: str, build: Callable[..., site.Built], tmp_path: Path
) -> None:
    path = tmp_path / "site" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine", "utf-8")
    with pytest.raises(Wrong, match="not of this archive"):
        build(played.record("hexem", 1, 2))
    assert path.read_text("utf-8") == "mine"


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', '{"format": 1'])
def test_a_manifest_that_is_not_ours_is_refused(
    text: str, build: Callable[..., site.Built], tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / folders.MANIFEST).write_text(text, "utf-8")
    with pytest.raises(Wrong, match="not of this program's making"):
        build(played.record("hexem", 1, 2))


def test_a_folder_that_can_not_be_one_is_named(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    (tmp_path / "site").write_text("a file", "utf-8")
    with pytest.raises(Wrong, match="choose another folder with --out"):
        build(played.record("hexem", 1, 2))


@pytest.mark.parametrize("cut", range(0, 24, 3))
def test_a_build_that_is_cut_short_leaves_whole_files_and_is_mended_by_the_next(
    cut: int,
    build: Callable[..., site.Built],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build(played.record("empires", 0, 3))
    wanted = played.record("empires", 0, 5)
    replaced = 0
    replace = Path.replace

    def failing(path: Path, target: Path) -> Path:
        nonlocal replaced
        replaced += 1
        if replaced > cut:
            raise KeyboardInterrupt
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", failing)
        try:
            build(wanted)
        except KeyboardInterrupt:
            for name, content in files(tmp_path / "site").items():
                if name.endswith(".html"):
                    assert content.rstrip().endswith(b"</html>")
    # Before it is mended a turn is taken back: what was begun of it goes too.
    wanted = played.record("empires", 0, 4)
    build(wanted)
    fresh = tmp_path / "fresh"
    site.build(site.Place(fresh, "Gia's matches"), [played.source(published(wanted))])
    assert files(tmp_path / "site") == files(fresh)


def test_a_file_that_was_lost_or_cut_is_built_again(
    build: Callable[..., site.Built], tmp_path: Path
) -> None:
    one = played.record("hexem", 1, 3)
    build(one)
    before = files(tmp_path / "site")
    (tmp_path / "site" / "hexem2" / "turn-1.html").unlink()
    (tmp_path / "site" / "hexem2" / "search.js").write_bytes(b"")
    (tmp_path / "site" / "style.css").unlink()
    build(one)
    assert files(tmp_path / "site") == before


def test_the_same_matches_give_the_same_bytes(tmp_path: Path) -> None:
    one = published(played.record("alphabet"))
    for name in ("one", "other"):
        site.build(site.Place(tmp_path / name, "Gia's matches"), [played.source(one)])
    assert files(tmp_path / "one") == files(tmp_path / "other")
