"""`export`: one file of a match, whole or public, or a case file of a turn; who looks is told."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from pbem import archive, judge, outbox
from pbem import game as games
from pbem.archive import casefile, exported
from pbem.config import Config
from tests.archive.lives import EVERY_WAY, begin, live, record_of, recorded, run_now, send_orders
from tests.cli.conftest import Answer, pbem
from tests.conftest import NOW
from tests.flow.rig import HOUR, Office, history, opened

__all__ = ["pbem"]

KEYS = sorted(games.installed())
Command = Callable[..., Answer]


@pytest.fixture
def running(engine: Engine) -> str:
    """A match of Hexem after its first turn, with orders for the next."""
    begin(engine, "hexem")
    for _ in range(2):
        send_orders(engine, NOW + HOUR)
        with opened(engine, "match1") as (_, row):
            turn = row.turn
        if turn == 0:
            run_now(engine, NOW + HOUR)
    return "match1"


def _looks(engine: Engine) -> list[dict[str, Any]]:
    return [entry.facts for entry in history(engine, "exported")]


def test_a_whole_export_of_a_running_match_says_that_it_opens_sealed_orders(
    pbem: Command, engine: Engine, house: Config, running: str
) -> None:
    done = pbem("export", running)
    assert done.code == 0
    assert done.err == (
        "pbem: this holds the secrets of match1, its seed and sealed orders: keep it to yourself; "
        "the history and the next report say that it was made\n"
    )
    record = json.loads(done.out)
    assert (record["whole"], record["seed"]) == (True, "a secret")
    assert {sheet["seat"] for sheet in record["sheets"] if sheet["turn"] == 1} == {
        "Ann",
        "Bob",
        "Cleo",
    }
    assert _looks(engine) == [{"turn": 1}]
    run_now(engine, NOW + 2 * HOUR)
    office = Office()
    outbox.flush(engine, house, office, NOW + 3 * HOUR)
    told = [raw for _, raw in office.sent if b"exported the match, sealed orders included" in raw]
    assert len(told) == 3


def test_a_public_export_writes_nothing_down_and_holds_what_is_published(
    pbem: Command, engine: Engine, running: str
) -> None:
    done = pbem("export", running, "--public")
    assert (done.code, done.err) == (0, "")
    assert done.out == exported.written(archive.published(recorded(engine)))
    assert json.loads(done.out)["seed"] is None
    assert _looks(engine) == []


def test_a_whole_export_of_a_match_that_is_over_says_that_it_holds_more_than_is_published(
    pbem: Command, engine: Engine, house: Config
) -> None:
    live(engine, house, "hexem")
    done = pbem("export", "match1")
    assert done.code == 0
    assert done.err == (
        "pbem: this holds what is never published of match1: press to you, who wrote without a "
        "name, sheets that were replaced; --public leaves it out\n"
    )
    assert done.out == pbem("export", "match1", "--out", "-").out
    assert _looks(engine) == []
    public = pbem("export", "match1", "--public")
    case = pbem("export", "match1", "--turn", "1")
    assert (public.code, public.err, case.code, case.err) == (0, "", 0, "")
    with opened(engine, "match1") as (_, row):
        row.settings = {**row.settings, "reveal": "never"}
    for given in ((), ("--turn", "1")):
        assert "published of match1: seed and orders, press" in pbem("export", "match1", *given).err


def test_a_file_ends_with_the_digest_of_all_that_is_in_it(pbem: Command, running: str) -> None:
    record = json.loads(pbem("export", running, "--public").out)
    assert list(record)[-1] == "sha256"
    assert record["sha256"] == exported.digest(record)
    reordered = dict(reversed(record.items()))
    assert exported.digest(reordered) == record["sha256"]
    assert exported.digest({**record, "match": "other1"}) != record["sha256"]


def test_out_is_written_whole_for_its_owner_alone_where_it_holds_secrets(
    pbem: Command, house: Config, running: str
) -> None:
    path = house.folder / "match.json"
    path.write_text("as it was")
    assert pbem("export", running, "--out", str(path)).out == ""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text("utf-8"))["match"] == "match1"
    assert pbem("export", running, "--public", "--out", str(path)).code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    assert not list(house.folder.glob(".match.json*"))


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


def test_out_that_can_not_be_written_is_one_line_and_leaves_nothing(
    pbem: Command, house: Config, running: str
) -> None:
    (house.folder / "folder").mkdir()
    for out in ("folder", "none/match.json", "pbem.toml/match.json"):
        done = pbem("export", running, "--public", "--out", out)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), out
        assert done.err.startswith(f"pbem: --out {out}: ")
    assert not list(house.folder.glob("**/.*.[0-9]*"))


def test_out_may_be_a_pipe(pbem: Command, running: str) -> None:
    reader, writer = os.pipe()
    assert pbem("export", running, "--public", "--out", f"/dev/fd/{writer}", "--turn", "1").code
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b""


def test_an_unknown_match_is_named(pbem: Command) -> None:
    done = pbem("export", "none")
    assert (done.code, done.out) == (2, "")
    assert done.err == "pbem: no match is called 'none'; there are: none\n"


def test_what_a_terminal_would_obey_is_escaped_and_read_back_as_it_was() -> None:
    odd = "\x1b[31m \x7f\x9b31m \u202e \u2028 \ud800 é Д \n"
    text = exported.written({"text": odd})
    assert json.loads(text) == {"text": odd}
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "é Д" in text
    text.encode()


def _check(folder: Path, case: Any) -> list[str]:
    path = folder / "case.json"
    path.write_text(exported.written(case), "utf-8")
    return judge.check(path)


@pytest.mark.parametrize(("key", "way"), EVERY_WAY)
def test_a_turn_is_a_case_that_the_judge_passes_dice_and_all(
    key: str, way: int, tmp_path: Path
) -> None:
    record = record_of(key, way)
    for number in (1, record["turn"]):
        case = casefile.case(record, number)
        assert _check(tmp_path, case) == []
        assert len(case["turns"]) == number
    assert case["turns"][-1]["expect"]["state"]["phase"] == "over"


@pytest.mark.parametrize("key", KEYS)
def test_a_case_holds_what_the_game_master_did_and_leaves_out_what_he_took_back(
    key: str, engine: Engine, house: Config, tmp_path: Path, pbem: Command
) -> None:
    live(engine, house, key)
    turns = recorded(engine)["turns"]
    for number in range(1, len(turns)):
        done = pbem("export", "match1", "--turn", str(number), "--out", "case.json")
        assert (done.code, done.out, done.err) == (0, "", "")
        assert pbem("judge", "--check", "case.json").out == "ok case.json\n1 passed, 0 failed\n"
    assert turns[-1]["orders"][""].split("\n")[-1] == "END"


def test_what_if_is_asked_by_other_orders_in_the_case(tmp_path: Path) -> None:
    case = casefile.case(record_of("offices", 1), 1)
    assert _check(tmp_path, case) == []
    case["turns"][0]["orders"] = {}
    assert _check(tmp_path, case)[0].startswith("turn 1, state.")


def test_a_case_says_of_its_last_turn_alone_what_came_of_it() -> None:
    """Of a long match all states together would be more than all else; the last comes of all."""
    case = casefile.case(record_of("hexem", 0), 4)
    assert ["expect" in turn for turn in case["turns"]] == [False, False, False, True]


@pytest.mark.parametrize("key", KEYS)
def test_what_if_is_answered_by_the_report_of_the_last_turn_and_by_all_that_is_otherwise(
    key: str, pbem: Command, house: Config
) -> None:
    case = casefile.case(record_of(key, 0), 1)
    path = house.folder / "case.json"
    path.write_text(exported.written(case), "utf-8")
    lines = pbem("judge", "case.json").out.splitlines()
    assert lines[0] == "case.json:"
    assert lines[1].startswith("  turn 1: then ")
    assert lines[-1] == "  All as the case expects."
    case["turns"][0]["orders"] = {}
    path.write_text(exported.written(case), "utf-8")
    lines = pbem("judge", "case.json").out.splitlines()
    faults = lines[lines.index("  Otherwise than the case expects:") + 1 :]
    assert f"  {_check(house.folder, case)[0]}" == faults[0]
    assert 1 < len(faults) <= judge.MOST_DIFFERENCES + 1
    assert any(line and set(line) <= {" ", "-"} for line in lines), "a heading of the report"


def test_judge_names_refused_lines_and_says_of_many_differences_how_many_more(
    pbem: Command, house: Config
) -> None:
    case = casefile.case(record_of("hexem", 0), 3)
    case["turns"][0]["orders"] = {"Ann": "MUSTER Z9\nMUSTER Y8"}
    (house.folder / "case.json").write_text(exported.written(case), "utf-8")
    out = pbem("judge", "case.json").out
    assert "\n    refused of Ann: lines 1, 2\n" in out
    more = len(judge.differences(judge.case(case), judge.play(judge.case(case)))) - 20
    assert more > 0
    assert out.endswith(f"\n  … and in {more} more places\n")


def test_judge_without_anything_expected_tells_the_turn_and_compares_nothing(
    pbem: Command, house: Config
) -> None:
    case = casefile.case(record_of("alphabet", 1), 1)
    del case["turns"][-1]["expect"]
    (house.folder / "case.json").write_text(exported.written(case), "utf-8")
    assert "the case expects" not in pbem("judge", "case.json").out


def test_a_case_of_a_running_match_opens_it_and_of_what_is_public_there_is_none(
    pbem: Command, engine: Engine, running: str
) -> None:
    refused = pbem("export", running, "--turn", "1", "--public")
    assert (refused.code, refused.out) == (2, "")
    assert "orders and seed are not public" in refused.err
    for number in ("0", "2", "-1"):
        assert pbem("export", running, "--turn", number).code == 2
    assert _looks(engine) == []
    done = pbem("export", running, "--turn", "1")
    assert (done.code, json.loads(done.out)["title"]) == (0, "match1, turn 1")
    assert "secrets of match1" in done.err
    assert _looks(engine) == [{"turn": 1}]


def test_of_a_match_without_turns_there_is_no_case(pbem: Command, engine: Engine) -> None:
    begin(engine, "hexem")
    done = pbem("export", "match1", "--turn", "1")
    assert (done.code, done.err) == (2, "pbem: --turn 1: match1 has run no turn yet\n")
