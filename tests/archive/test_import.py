"""`import`: a match as it was, here; of a broken or hostile file one line, and never half of it."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from pbem import archive, players, store
from pbem import game as games
from pbem.archive import exported, importing, verifying
from pbem.config import Config
from pbem.game import Json
from tests.archive.lives import begin, live, record_of, recorded, run_now, send_orders
from tests.cli.conftest import Answer, pbem
from tests.conftest import NOW
from tests.flow.rig import (
    DAY,
    DEADLINE,
    HOUR,
    WEEK,
    do,
    letters,
    opened,
    order,
    refused,
    run,
    said,
    turn,
)

__all__ = ["pbem"]

KEYS = sorted(games.installed())
DATA = Path(__file__).parent / "data"
FROZEN = sorted(DATA.glob("export-format-*.json"))
Command = Callable[..., Answer]
# What holds for the moment, which exports of the first programs lack.
PRESENT: Json = {
    "began": NOW.isoformat(),
    "put_off": False,
    "reminded": None,
    "seats": [
        {
            "seat": "Ann",
            "mail": "DIGEST",
            "language": "",
            "ready": False,
            "absences": [
                {
                    "first": "2026-12-20",
                    "last": "2026-12-21",
                    "granted": True,
                    "moved": False,
                    "declared": NOW.isoformat(),
                }
            ],
        }
    ],
}


def bring(engine: Engine, record: Json, name: str = "copy1", **given: bool) -> Json:
    """Import a record under a name; return the record of what came of it."""
    read = exported.read(exported.written(record).encode())
    with store.writing(engine) as session:
        importing.bring(session, read, name, NOW + timedelta(days=60), **given)
    return recorded(engine, name)


@pytest.mark.parametrize("key", KEYS)
def test_a_match_that_is_over_is_the_same_after_import_to_the_byte(
    key: str, engine: Engine, house: Config
) -> None:
    live(engine, house, key)
    record = recorded(engine)
    again = bring(engine, record)
    assert exported.written({**again, "match": "match1"}) == exported.written(record)
    assert verifying.first_difference(again) is None


def test_a_match_moves_from_one_database_to_another(both: str, tmp_path: Path) -> None:
    record = record_of("empires", 0)
    engine = store.open(both)
    again = bring(engine, record, "match1")
    engine.dispose()
    del again["present"]
    assert exported.written({**again, "sheets": []}) == exported.written(record)


@pytest.mark.parametrize("key", KEYS)
def test_a_running_match_is_held_until_its_players_are_named_and_goes_on_with_the_same_dice(
    key: str, engine: Engine, house: Config
) -> None:
    at = live(engine, house, key, phases=3, end=False)
    send_orders(engine, at + HOUR, silent=("Ann",))
    record = recorded(engine)
    again = bring(engine, record)
    assert (again["status"], again["history"][-1]["what"]) == ("held", "held")
    assert again["turns"] == record["turns"]
    assert again["undone"] == record["undone"]
    assert again["sheets"] == record["sheets"]
    assert again["players"] == record["players"]
    with opened(engine, "copy1") as (_, row):
        assert [seat.addresses for seat in row.seats] == [[], [], []]
        assert [seat.person for seat in row.seats] == ["Ann", "Bob", "Zoë"]
        assert "ADDRESS" in row.why
        fresh = {row.key, *(seat.key for seat in row.seats)}
    with opened(engine, "match1") as (_, row):
        assert len({row.key, *(seat.key for seat in row.seats)} | fresh) == 8
    late = NOW + timedelta(days=60)
    for seat in ("Ann", "Bob"):
        said(engine, f"ADDRESS {seat} {seat.lower()}@new.example.org", late, "copy1")
    said(engine, "REPLACE Cleo WITH Kim kim@example.org", late, "copy1")
    said(engine, "RELEASE", late, "copy1")
    run_now(engine, at + HOUR)
    run_now(engine, late, "copy1")
    number = record["turn"] + 1
    one, other = turn(engine, number, "match1"), turn(engine, number, "copy1")
    assert (one.state, one.events, one.orders, one.problems, one.missing) == (
        other.state,
        other.events,
        other.orders,
        other.problems,
        other.missing,
    )
    assert verifying.first_difference(recorded(engine, "copy1")) is None
    with opened(engine, "copy1") as (_, row):
        assert row.deadline is not None
        assert row.deadline > late
    reports = [one for one in letters(engine, "report", "over") if one.created == late]
    assert len(reports) == 3


def _stands(engine: Engine, name: str) -> Json:
    """All that a match goes on by, addresses, keys and its name aside."""
    found = recorded(engine, name)
    return {key: found[key] for key in found if key not in ("match", "players", "history")}


@pytest.mark.parametrize("key", KEYS)
def test_a_running_match_goes_on_elsewhere_as_it_was_absences_wishes_and_all(
    key: str, engine: Engine
) -> None:
    rounds = {"rounds": 4} if key == "offices" else {}
    begin(engine, key, absences=9, late="next", early="ready", **rounds)
    send_orders(engine, NOW + HOUR, silent=("Cleo",))
    # The first turn is put off for Cleo, once.
    assert run(engine, DEADLINE) == ["waiting"]
    do(engine, "Bob", players.absent, "2026-12-20", "2026-12-22", DEADLINE, match="match1")
    do(engine, "Cleo", players.absent, "2026-12-27", "2026-12-30", DEADLINE, match="match1")
    do(engine, "Ann", players.ready, True, match="match1")
    with opened(engine, "match1") as (_, row):
        row.seats[0].mail, row.seats[1].language = "DIGEST", "de"
        row.reminded = row.deadline
    record = recorded(engine)
    assert record["present"]["put_off"]
    read = exported.read(exported.written(record).encode())
    at = DEADLINE + HOUR
    with store.writing(engine) as session:
        importing.bring(session, read, "copy1", at)
    assert _stands(engine, "copy1") == {**_stands(engine, "match1"), "status": "held"}
    for seat in ("Ann", "Bob", "Cleo"):
        said(engine, f"ADDRESS {seat} {seat.lower()}@new.example.org", at, "copy1")
    said(engine, "RELEASE", at, "copy1")
    assert _stands(engine, "copy1") == _stands(engine, "match1")
    # The turn is put off no more; the next deadline is behind Bob's days, the one after Cleo's.
    at = DEADLINE + WEEK
    assert run(engine, at) == ["ran", "ran"]
    assert _stands(engine, "copy1") == _stands(engine, "match1")
    assert recorded(engine, "copy1")["deadline"] == "2026-12-23T19:00:00+00:00"
    at = DEADLINE + 16 * DAY
    for name in ("match1", "copy1"):
        run_now(engine, at, name)
    assert _stands(engine, "copy1") == _stands(engine, "match1")
    assert recorded(engine, "copy1")["deadline"] == "2026-12-31T19:00:00+00:00"
    assert _moved(engine, "copy1") == [True, True]
    for name in ("match1", "copy1"):
        said(engine, "UNDO 2", at, name)
    assert _stands(engine, "copy1") == _stands(engine, "match1")
    assert _moved(engine, "copy1") == [False, True]


def _moved(engine: Engine, name: str) -> list[bool]:
    """Whether each absence has moved a deadline."""
    seats = recorded(engine, name)["present"]["seats"]
    return [one["moved"] for seat in seats for one in seat["absences"]]


def test_what_a_seat_wanted_goes_with_its_player_and_not_to_who_takes_it_over(
    engine: Engine,
) -> None:
    record = {**record_of("hexem", 1, 2), "present": PRESENT}
    bring(engine, record)
    late = NOW + timedelta(days=60)
    said(engine, "REPLACE Ann WITH Kim kim@example.org", late, "copy1")
    (seat,) = [one for one in recorded(engine, "copy1")["present"]["seats"] if one["seat"] == "Ann"]
    assert (seat["mail"], seat["absences"]) == ("ALL", [])


def test_an_export_has_nobody_who_waits_for_a_seat(engine: Engine, house: Config) -> None:
    begin(engine, "hexem")
    with opened(engine, "match1") as (session, row):
        who = players.apply(session, row, "Standing By", "standby@example.org", NOW)
        assert who is not None
        players.join(session, who, NOW)
    text = exported.written(recorded(engine))
    assert "Standing By" not in text
    assert "standby@" not in text


def test_turns_of_an_imported_match_can_be_taken_back_and_their_orders_stand_again(
    engine: Engine, house: Config
) -> None:
    at = live(engine, house, "empires", phases=3)
    for name, record in (
        ("copy1", recorded(engine)),
        ("copy2", archive.published(recorded(engine))),
    ):
        bring(engine, record, name)
        count = record["turn"] - 1
        assert not order(engine, f"UNDO {count}", at, name)[0].refused
        for _ in range(count - 1):
            run_now(engine, at + HOUR, name)
        again = recorded(engine, name)
        assert [one["state"] for one in again["turns"]] == [
            one["state"] for one in record["turns"][:-1]
        ]


def test_a_match_that_waits_for_players_goes_on_waiting(pbem: Command, engine: Engine) -> None:
    seats = ("--seat", "Ann <ann@example.org>", "--open", "1")
    assert pbem("new", "hexem", "open1", *seats).code == 0
    assert pbem("export", "open1", "--out", "open1.json").code == 0
    done = pbem("import", "open1.json", "--as", "copy1", "--json")
    assert json.loads(done.out) == {"match": "copy1", "state": "open", "turn": 0, "seats": ["Ann"]}
    with opened(engine, "copy1") as (_, row):
        assert (row.open_seats, row.phase) == (1, "open")
    assert pbem("gm", "copy1", "END").code == 0
    assert pbem("export", "copy1", "--out", "off.json").code == 0
    assert pbem("verify", "off.json").code == 0
    assert pbem("import", "off.json", "--as", "copy2").code == 0


def test_import_says_what_to_do_next_and_its_export_verifies(
    pbem: Command, engine: Engine, house: Config
) -> None:
    live(engine, house, "alphabet", phases=2, end=False)
    assert pbem("export", "match1", "--out", "match1.json").code == 0
    taken = pbem("import", "match1.json")
    assert (taken.code, taken.err) == (
        2,
        "pbem: match1.json: a match match1 is there already; choose another name with --as NAME\n",
    )
    wrong = pbem("import", "match1.json", "--as", "No Name")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    done = pbem("import", "match1.json", "--as", "copy1")
    assert done.code == 0
    assert done.out == (
        "copy1: alphabet for Ann, Bob, Cleo, held\n"
        'Its seats are vacant: pbem gm copy1 "ADDRESS <seat> <address>" for each\n'
        "(or REPLACE <seat> WITH <name> <address> where somebody else takes it).\n"
        "Then it goes on by: pbem gm copy1 RELEASE\n"
    )
    assert "ADDRESS" in pbem("status").out
    assert pbem("export", "copy1", "--out", "copy1.json").code == 0
    assert pbem("verify", "copy1.json").code == 0


def test_what_is_public_of_a_running_match_is_not_imported_and_of_one_that_is_over_is(
    engine: Engine,
) -> None:
    with pytest.raises(ValueError, match="ask its game master for a whole export"):
        bring(engine, archive.published(record_of("hexem", 0, 2)))
    public = archive.published(record_of("hexem", 0))
    assert archive.published(bring(engine, public, "match1")) == public


def test_a_match_whose_turns_do_not_replay_is_taken_only_when_asked_for(engine: Engine) -> None:
    record = record_of("hexem", 0)
    record["turns"][2]["events"].pop()
    with pytest.raises(ValueError, match=r"turn 2, events: .* --unverified takes the match"):
        bring(engine, record)
    again = bring(engine, record, unverified=True)
    assert again["turns"] == record["turns"]
    assert again["history"][:-1] == record["history"]
    entry = again["history"][-1]
    assert (entry["who"], entry["what"]) == ("gm", "imported")
    assert entry["facts"]["unverified"] is True
    assert entry["facts"]["difference"].startswith("turn 2, events: ")
    assert archive.published(again)["history"][-1] == entry


def test_of_a_running_match_that_was_taken_unverified_all_know_that_and_not_what_differs(
    engine: Engine,
) -> None:
    record = record_of("offices", 2, 2)
    record["turns"][2]["state"]["gold"]["Ann"] += 1
    again = archive.published(bring(engine, record, unverified=True))
    entries = [one["facts"] for one in again["history"] if one["what"] == "imported"]
    assert entries == [{"unverified": True}]


def test_a_match_that_replays_bears_no_mark_though_it_was_taken_without_asking(
    engine: Engine,
) -> None:
    again = bring(engine, record_of("hexem", 0), unverified=True)
    assert "imported" not in {entry["what"] for entry in again["history"]}


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**30, 1e300])
@pytest.mark.parametrize("command", [("import", "--unverified"), ("verify",)])
def test_a_number_beyond_all_that_a_match_comes_to_is_refused(
    number: float, command: tuple[str, ...], pbem: Command, engine: Engine, house: Config
) -> None:
    record = json.loads(exported.written(record_of("hexem", 1)))
    _set(record, "turns/2/state/hexes/A2/armies", number)
    (house.folder / "large.json").write_text(exported.written(record), "utf-8")
    done = pbem(*command, "large.json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "is beyond 9007199254740991, the largest number" in done.err
    assert _rows(engine) == 0


def test_an_imported_match_goes_on_only_once_its_players_are_named_or_dropped(
    engine: Engine, house: Config
) -> None:
    live(engine, house, "hexem", phases=3, end=False)
    bring(engine, recorded(engine))
    late = NOW + timedelta(days=60)
    why = refused(engine, "RELEASE", late, "copy1")
    assert why.startswith("no address is known for the seats Ann, Bob, Cleo: ADDRESS <seat> ")
    said(engine, "ADDRESS Ann ann@new.example.org", late, "copy1")
    said(engine, "REPLACE Bob WITH Kim kim@example.org", late, "copy1")
    assert "the seat Cleo: " in refused(engine, "RELEASE", late, "copy1")
    with opened(engine, "copy1") as (_, row):
        assert row.status == "held"
    said(engine, "DROP Cleo", late, "copy1")
    assert refused(engine, "DROP Cleo", late, "copy1") == "Cleo is vacant already"
    said(engine, "RELEASE", late, "copy1")
    with opened(engine, "copy1") as (_, row):
        assert row.status == "running"


def test_a_seat_its_player_left_before_the_export_hinders_no_release(
    engine: Engine, house: Config
) -> None:
    live(engine, house, "hexem", phases=2, end=False)
    late = NOW + timedelta(days=60)
    said(engine, "DROP Bob", late, "match1")
    said(engine, "HOLD", late, "match1")
    record = recorded(engine)
    said(engine, "RELEASE", late, "match1")
    bring(engine, record)
    assert "the seats Ann, Cleo: " in refused(engine, "RELEASE", late, "copy1")


@pytest.mark.parametrize("path", FROZEN, ids=lambda path: path.stem)
def test_an_export_made_by_an_old_program_is_still_imported_and_verified(
    path: Path, engine: Engine
) -> None:
    record = exported.read(path.read_bytes())
    again = bring(engine, record)
    assert verifying.first_difference(again) is None
    # Exports of the first programs had no digests.
    kept = [{key: one[key] for key in one if key != "orders_sha256"} for one in again["turns"]]
    assert kept == record["turns"]
    assert "sha256" not in record


def test_there_is_a_frozen_export_of_every_game_one_of_a_running_match() -> None:
    records = [json.loads(path.read_bytes()) for path in FROZEN]
    assert {record["game"] for record in records} == set(KEYS)
    assert {record["format"] for record in records} == {1}
    assert {record["status"] for record in records} == {"over", "running"}


def test_an_export_with_what_held_for_the_moment_is_still_imported_as_it_was(
    engine: Engine,
) -> None:
    record = exported.read((DATA / "present-format-1-hexem.json").read_bytes())
    again = bring(engine, record)
    assert again["present"] == record["present"]
    assert verifying.first_difference(record) is None
    assert [len(seat["absences"]) for seat in record["present"]["seats"]] == [0, 2, 1]
    assert [seat["mail"] for seat in record["present"]["seats"]] == ["DIGEST", "ALL", "NONE"]


def test_older_formats_are_brought_to_this_one_step_by_step() -> None:
    def to_1(data: Json) -> Json:
        return {"match": data["name"], **data}

    def to_2(data: Json) -> Json:
        return {**data, "title": data["match"].upper()}

    now: Json = {**record_of("hexem", 0), "format": 3}
    first = {key: value for key, value in now.items() if key != "match"} | {"format": 1}
    first["name"] = "match1"
    steps = {1: to_1, 2: to_2}
    found = exported.read(json.dumps(first).encode(), steps, 3)
    assert (found["format"], found["match"], found["title"]) == (3, "match1", "MATCH1")
    assert exported.read(json.dumps(now).encode(), steps, 3) == now
    second = {**now, "format": 2, "match": 5}
    for broken in ({**first, "name": None}, {"format": 1}, second, {**first, "format": 0}):
        with pytest.raises(ValueError, match=r"format|match"):
            exported.read(json.dumps(broken).encode(), steps, 3)


def test_a_newer_format_says_which_program_to_install() -> None:
    with pytest.raises(ValueError, match=r"made by 'pbem 9.1'.*install a newer pbem"):
        exported.read(json.dumps({"format": 2, "program": "pbem 9.1"}).encode())


def _nested(depth: int) -> bytes:
    return b'{"format": 1, "x": ' + b"[" * depth + b"]" * depth + b"}"


BROKEN = {
    "nothing": b"",
    "no JSON": b"{",
    "not UTF-8": b'{"format": 1, "match": "\xff"}',
    "a list": b"[]",
    "a number": b"1" * 5000,
    "no format": b"{}",
    "a format that is true": b'{"format": true}',
    "a format below": b'{"format": -1}',
    "a format beyond": b'{"format": 1e400}',
    "deep": _nested(100),
    "very deep": _nested(100_000),
    "a key twice": b'{"format": 1, "format": 1}',
    "a case file": b'{"game": "hexem", "seats": ["Ann", "Bob"], "turns": []}',
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_file_that_is_no_export_is_one_line(what: str, pbem: Command, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(BROKEN[what])
    for command in ("import", "verify"):
        done = pbem(command, "broken.json")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("pbem: broken.json: ")


def _set(record: Json, path: str, value: Any) -> None:
    *inner, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    at: Any = record
    for key in inner:
        at = at[key]
    at[last] = value


HOSTILE: list[tuple[str, Any]] = [
    ("seats", ["Ann", "Ann", "Chloé"]),
    ("seats/0", "Ann\nBcc: x@example.org"),
    ("seats/0", "\x1b[31mAnn"),
    ("seats/0", ""),
    ("seats/0", "A" * 81),
    ("seats/0", 5),
    ("seats/0", None),
    ("players/0/person", "Ann\r\nBcc: x@example.org"),
    ("players/0/person", "\x9b31m"),
    ("players/0/person", "half \ud800"),
    ("players/0/seat", "Nobody"),
    ("players/0/from_turn", 2**31),
    ("players/0/began", "yesterday"),
    ("game", "chess"),
    ("game", "../hexem"),
    ("zone", "Nowhere/Atlantis"),
    ("schedules", ["never"]),
    ("schedules", ["nophase: daily"]),
    ("settings", {"trust": "everybody"}),
    ("settings", {"seed": "x"}),
    ("settings", {"unknown": 1}),
    ("options", {"board": "no such"}),
    ("options", {"unknown": 1}),
    ("status", "running"),
    ("status", "finished"),
    ("phase", "muster"),
    ("turn", 1),
    ("turn", 10**4000),
    ("turn", True),
    ("turn", 1.0),
    ("created", "2026-12-01T12:00:00"),
    ("created", "0001-01-01T00:00:00+14:00"),
    ("created", "9999-12-31T23:59:59-14:00"),
    ("turns/1/number", 2),
    ("turns/1/number", -1),
    ("turns/1/ran", None),
    ("turns/1/state", {}),
    ("turns/1/state/phase", "over and done"),
    ("turns/1/state/hexes", {"A1": {"owner": "Nobody", "armies": 1}}),
    ("turns/1/state/hexes", {"<b>": {"owner": None, "armies": 1}}),
    ("turns/1/state/turn", 10**400),
    ("turns/1/orders/Nobody", "MUSTER A1"),
    ("turns/1/orders/Ann", ["MUSTER A1"]),
    ("turns/1/orders/Ann", "MUSTER\x00 A1"),
    ("turns/1/problems", {"Ann": [["1", "no"]]}),
    ("turns/1/events/0", {"kind": "x", "facts": {}}),
    ("turns/1/events/0/seen_by", "Ann"),
    ("turns/1/missing", ["Nobody"]),
    ("undone", [{}]),
    ("history/0/facts", None),
    ("history/0/who", "x" * 81),
    ("history/1", {"time": NOW.isoformat(), "who": "gm", "what": "looked", "facts": {}}),
    ("history/1", {"time": NOW.isoformat(), "who": "", "what": "press", "facts": {"turn": 0}}),
    ("sheets", [{"seat": "Ann"}]),
    ("seed", None),
    ("seed", ""),
    ("seed_sha256", "0" * 64),
    ("match", ""),
    ("open_seats", -1),
    ("whole", 1),
    ("present", None),
    ("present", {"seats": []}),
    *(
        (f"present/{place}", value)
        for place, value in (
            ("began", "yesterday"),
            ("put_off", 1),
            ("reminded", ""),
            ("seats", None),
            ("seats/0", {"seat": "Ann"}),
            ("seats/0/seat", "Nobody"),
            ("seats/0/mail", "SOME"),
            ("seats/0/mail", []),
            ("seats/0/language", "x" * 17),
            ("seats/0/ready", None),
            ("seats/0/absences", {}),
            ("seats/0/absences/0/first", "2026-12-32"),
            ("seats/0/absences/0/first", 20261206),
            ("seats/0/absences/0/first", "2026-12-22"),
            ("seats/0/absences/0/last", "9999-12-31"),
            ("seats/0/absences/0/moved", "no"),
            ("seats/0/absences/0/declared", "2026-12-01"),
        )
    ),
]


@pytest.mark.parametrize(("path", "value"), HOSTILE, ids=lambda value: repr(value)[:40])
def test_a_hostile_value_is_refused_in_one_line_and_nothing_is_stored(
    path: str, value: Any, pbem: Command, engine: Engine, house: Config
) -> None:
    record = {**record_of("hexem", 1), "present": copy.deepcopy(PRESENT)}
    _set(record, path, value)
    (house.folder / "hostile.json").write_text(exported.written(record), "utf-8")
    done = pbem("import", "hostile.json")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert len(done.err) < 700
    assert _rows(engine) == 0


@pytest.mark.parametrize("name", ["A" * 41, "A<!-- x -->", "gm", "MUSTER A1", "B\u043eb", "7"])
def test_a_seat_that_no_new_match_could_have_is_refused_in_one_line(
    name: str, pbem: Command, engine: Engine, house: Config
) -> None:
    text = exported.written(record_of("hexem", 1))
    for file, seat in (("good.json", "Anna"), ("hostile.json", name)):
        record = json.loads(text.replace('"Ann"', json.dumps(seat)))
        record["sha256"] = exported.digest(record)
        (house.folder / file).write_text(json.dumps(record), "utf-8")
    done = pbem("import", "hostile.json", "--unverified")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
    assert "hostile.json: seats[" in done.err
    assert _rows(engine) == 0
    assert pbem("import", "good.json", "--unverified").code == 0


def test_a_name_with_markup_is_let_be_and_one_in_any_script() -> None:
    record = record_of("hexem", 1)
    text = exported.written(record).replace('"Ann"', '"<b onclick=x>Ann"')
    assert exported.read(text.encode())["seats"][0] == "<b onclick=x>Ann"


def _rows(engine: Engine) -> int:
    tables = (store.Match, store.Seat, store.Tenure, store.Turn, store.Sheet, store.Entry)
    with store.reading(engine) as session:
        return sum(session.scalar(select(func.count()).select_from(one)) or 0 for one in tables)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where there is anything in a JSON value, leaves and branches."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _places(inner, (*path, at))


NASTY = (
    None, True, False, 0, 1, -1, 10**30, 10**3000, 0.5, 1e308, "", "x", "Ann", "\x00", "\x1b[2J",
    "<script>alert(1)</script>", "a\nb", "\u202e", "2026-12-01T12:00:00+00:00", "over", "END",
    [], {}, [[]], {"": None}, {"Ann": 1}, [None], "REMOVE", "AGAIN",
)  # fmt: skip
SMALL = {
    "alphabet": record_of("alphabet", 1, 2),
    "empires": record_of("empires", 1, 3),
    "hexem": record_of("hexem", 1, 3),
    "offices": record_of("offices", 2, 4),
}
for _record in SMALL.values():
    _record["undone"] = copy.deepcopy(_record["turns"][2:3])
    _at = [one["what"] == "run" for one in _record["history"]].index(True) + 1
    _record["history"][_at:_at] = [
        *(
            one
            for one in _record["history"]
            if one["what"] in ("run", "no orders") and one["facts"]["turn"] == 2
        ),
        {"time": NOW.isoformat(), "who": "gm", "what": "undone", "facts": {"back_to": 1}},
    ]
    _record["sheets"] = [
        {
            "seat": seat,
            "turn": turn["number"] - 1,
            "text": text,
            "received": turn["ran"],
            "late": False,
            "standing": True,
            "withdrawn": False,
        }
        for turn in _record["turns"][1:]
        for seat, text in turn["orders"].items()
    ]
    _record["present"] = copy.deepcopy(PRESENT)
    assert verifying.first_difference(_record) is None
PLACES = {key: sorted(_places(record), key=repr) for key, record in SMALL.items()}


def _mangle(value: Any, path: tuple[Any, ...], nasty: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    if nasty == "REMOVE":
        del value[path[-1]]
    elif nasty == "AGAIN" and isinstance(value, list):
        value.insert(path[-1], copy.deepcopy(value[path[-1]]))
    else:
        value[path[-1]] = nasty


class Undone(Exception):
    """Raised so that what was stored is taken back."""


@pytest.fixture(scope="module")
def shared(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A database in which nothing stays."""
    path = tmp_path_factory.mktemp("shared") / "pbem.sqlite"
    path.write_bytes(empty_database.read_bytes())
    engine = store.open(f"sqlite:///{path}")
    yield engine
    engine.dispose()


@pytest.mark.parametrize("key", KEYS)
@settings(max_examples=100)
@given(data=st.data(), unverified=st.booleans())
def test_an_export_mangled_anywhere_is_refused_or_imported_whole(
    key: str, data: st.DataObject, unverified: bool, shared: Engine
) -> None:
    record = copy.deepcopy(SMALL[key])
    for _ in range(data.draw(st.integers(1, 2))):
        outer = [path for path in PLACES[key] if path[0] != "turns" or len(path) < 4]
        path = data.draw(st.sampled_from(outer) | st.sampled_from(PLACES[key]))
        try:
            _mangle(record, path, data.draw(st.sampled_from(NASTY)))
        except (LookupError, TypeError):
            continue
    with store.writing(shared) as session, session.begin_nested() as nested:
        try:
            read = exported.read(json.dumps(record).encode())
            made = importing.bring(session, read, "match1", NOW, unverified=unverified)
        except ValueError as error:
            assert str(error)
            assert _count(session) == 0
        else:
            again = archive.recorded(session, made)
            assert len(again["turns"]) == len(read["turns"])
            kept = exported.read(exported.written(again).encode())
            assert kept.pop("sha256") == exported.digest(again)
            assert kept == json.loads(json.dumps(again))
            archive.published(again)
        nested.rollback()
        session.expunge_all()


def _count(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(store.Match)) or 0


def test_the_clock_of_an_imported_match_is_its_own(engine: Engine) -> None:
    record = record_of("hexem", 1, 2)
    again = bring(engine, record)
    assert (again["deadline"], again["created"]) == (record["deadline"], record["created"])
    assert datetime.fromisoformat(again["history"][-1]["time"]) == NOW + timedelta(days=60)
    assert run(engine, NOW + timedelta(days=90)) == []
