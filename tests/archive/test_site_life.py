"""The archive of a match that lives: whatever happens in it, its pages are those built afresh."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from pbem import game as games
from pbem import store
from pbem.archive import site
from pbem.archive.sources import sources
from pbem.config import Config
from tests.archive import lives
from tests.archive.test_site_build import files
from tests.cli.conftest import pbem
from tests.conftest import NOW
from tests.flow.rig import DAY, HOUR, run, said

__all__ = ["pbem"]

NAME = "Gia's matches"


@pytest.fixture
def build(engine: Engine, tmp_path: Path) -> Callable[[], list[str]]:
    """Build the site; return which matches had changed, the pages being those built afresh."""
    count = 0

    def built() -> list[str]:
        nonlocal count
        count += 1
        folder, fresh = tmp_path / "site", tmp_path / f"fresh{count}"
        result = site.build(site.Place(folder, NAME), sources(engine))
        site.build(site.Place(fresh, NAME), sources(engine))
        assert files(folder) == files(fresh)
        again = site.build(site.Place(folder, NAME), sources(engine))
        assert (again.changed, again.written, again.removed) == ([], 0, 0)
        return result.changed

    return built


def test_whatever_happens_in_a_match_is_found_and_built(
    engine: Engine, house: Config, build: Callable[[], list[str]], tmp_path: Path
) -> None:
    lives.begin(engine, "hexem")
    assert build() == ["match1"]
    assert build() == []
    at = NOW + HOUR
    steps: list[Callable[[], object]] = [
        lambda: lives.write_press(engine, house, at),
        lambda: lives.run_now(engine, at),
        lambda: said(engine, "SET turns 9", at, "match1"),
        lambda: said(engine, "EXTEND 2d", at, "match1"),
        lambda: said(engine, "HOLD", at, "match1"),
        lambda: said(engine, "RELEASE", at, "match1"),
        lambda: said(engine, "SAY hello all", at, "match1"),
        lambda: said(engine, "REPLACE Cleo WITH Zoë zoe@example.org", at, "match1"),
        lambda: said(engine, "DROP Bob", at, "match1"),
        lambda: lives.run_now(engine, at),
        lambda: said(engine, "UNDO", at, "match1"),
        lambda: lives.run_now(engine, at),
        lambda: (said(engine, "END", at, "match1"), lives.run_now(engine, at)),
    ]
    for number, step in enumerate(steps):
        at += DAY
        step()
        assert build() == ["match1"], number
    assert (tmp_path / "site" / "match1" / "turn-2-undone-1.html").is_file()


def test_sheets_that_come_change_nothing_while_they_are_sealed(
    engine: Engine, build: Callable[[], list[str]]
) -> None:
    lives.begin(engine, "hexem")
    build()
    lives.send_orders(engine, NOW + HOUR)
    assert build() == []


@pytest.mark.parametrize("key", list(games.installed()))
@pytest.mark.parametrize("reveal", ["end", "never"])
def test_a_match_in_which_much_is_mended_has_a_whole_archive_and_keeps_its_secrets(
    key: str, reveal: str, engine: Engine, house: Config, tmp_path: Path
) -> None:
    lives.live(engine, house, key, reveal=reveal)
    site.build(site.Place(tmp_path / "site", NAME), sources(engine))
    folder = tmp_path / "site" / "match1"
    text = "".join(path.read_text("utf-8", "replace") for path in sorted(folder.iterdir()))
    undone = list(folder.glob("turn-*-undone-*.html"))
    assert "open words" in text
    assert lives.SECRETS[2] not in text and "@example.org" not in text
    if reveal == "end":
        assert "secret words to Bob" in text and len(undone) == 2
        assert f'<code class="hash">{lives.SEED}</code>' in text
        assert "these are the standing orders" in text or "what the game does by itself" in text
    else:
        assert "secret words" not in text and undone == []
        assert 'class="orders"' not in text and not list(folder.glob("*.case.json"))
        assert f">{lives.SEED}<" not in text


def test_of_a_turn_that_the_game_master_ended_nobody_is_said_to_have_sent_no_orders(
    engine: Engine, house: Config, tmp_path: Path
) -> None:
    lives.begin(engine, "hexem")
    said(engine, "END", NOW + HOUR, "match1")
    assert run(engine, NOW + HOUR) == ["ran"]
    site.build(site.Place(tmp_path / "site", NAME), sources(engine))
    last, match = (
        (tmp_path / "site" / "match1" / f"{name}.html").read_text("utf-8")
        for name in ("turn-1", "index")
    )
    assert "Not played: the game master ended the match on" in last
    assert "no orders" not in (last + match).lower()
    assert "Turn 1</a> was not played" in match
    said(engine, "UNDO", NOW + HOUR, "match1")
    lives.send_orders(engine, NOW + HOUR)
    lives.run_now(engine, NOW + 2 * HOUR)
    site.build(site.Place(tmp_path / "site", NAME), sources(engine))
    match = (tmp_path / "site" / "match1" / "index.html").read_text("utf-8")
    assert match.count("Turn 1</a> was run") == 1


def test_the_command_says_what_it_built(pbem, engine: Engine, house: Config) -> None:  # type: ignore[no-untyped-def]
    lives.live(engine, house, "empires", phases=2)
    lives.begin(engine, "hexem", "match2")
    first = pbem("archive", "match1", "--out", "site", "--json")
    assert (first.code, first.err) == (0, "")
    told = json.loads(first.out)
    assert (told["folder"], told["matches"], told["changed"]) == ("site", 1, ["match1"])
    assert told["written"] == len(files(house.folder / "site"))
    said_all = pbem("archive", "--out", "site").out
    assert "2 matches, built match2;" in said_all and "site/index.html" in said_all
    assert "nothing has changed; 0 files written" in pbem("archive", "--out", "site").out
    index = (house.folder / "site" / "index.html").read_text("utf-8")
    assert "Gia&#39;s matches" in index
    for name in ("match1", "match2"):
        assert f'href="{name}/index.html"' in index


def test_the_command_refuses_in_one_line_what_can_not_be(
    pbem, engine: Engine, house: Config
) -> None:  # type: ignore[no-untyped-def]
    lives.begin(engine, "hexem")
    for arguments in (
        ("archive", "nothing", "--out", "site"),
        ("archive", "--out", "site", "--url", "javascript:alert(1)"),
        ("archive", "--out", "pbem.toml"),
    ):
        answer = pbem(*arguments)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1), arguments
    assert not (house.folder / "site").exists()


def test_one_archive_is_built_at_a_time(pbem, engine: Engine, house: Config) -> None:  # type: ignore[no-untyped-def]
    lives.begin(engine, "hexem")
    with store.alone(engine, "archive") as is_ours:
        assert is_ours
        answer = pbem("archive", "--out", "site")
    assert answer.code == 75 and "try again" in answer.err
    assert pbem("archive", "--out", "site").code == 0


def test_where_nothing_has_changed_no_game_no_letters_and_no_templates_are_loaded(
    engine: Engine, house: Config
) -> None:
    lives.begin(engine, "hexem")
    program = (
        "import sys; from pbem import cli; sys.argv = ['pbem', 'archive', '--out', 'site'];"
        "code = cli.answer(lambda: cli.app(standalone_mode=False)); heavy = sorted("
        "{one for one in sys.modules if one in ('jinja2', 'pbem.game', 'pbem.reports', "
        "'pbem.matches', 'pbem.games.hexem', 'pbem.archive.record', 'pbem.archive.match')});"
        "print(code, heavy)"
    )
    first, again = (
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=house.folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert "built match1" in first and "'jinja2'" in first
    assert "nothing has changed" in again and again.endswith("0 []\n")
