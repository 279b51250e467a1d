"""What a SQLite database that somebody has written into by hand may hold.

There is a match for each value that can be damaged, in which that one is; and a sound one.
"""

import io
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from email import message_from_bytes
from email.header import decode_header, make_header
from pathlib import Path

import pytest
from sqlalchemy import Integer, select, text
from sqlalchemy.orm import Session

from pbem import cli, config, matches, rounds, store, turns
from pbem.store import Absence, Applicant, Base, Letter, Match, Message, StoreDamaged, backups
from pbem.store.columns import Guarded, Json, Name
from tests import databases
from tests.conftest import NOW, begin, mail
from tests.flow.rig import DAY, DEADLINE, HOUR, MINUTE, WEEK

COLUMNS = {
    column.type.column: column.type
    for table in Base.metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, Guarded)
}
# The program's own memory belongs to no match.
OURS = "marks.value"
CASES: dict[str, tuple[str, str | int]] = {
    f"{name.replace('.', '-').replace('_', '-')}-{number}": (name, value)
    for name, kind in COLUMNS.items()
    if name != OURS
    for number, value in enumerate(("{", "7") if isinstance(kind, Json) else ("soon", 5))
}
SOUND = "sound"
NEXT = DEADLINE + WEEK

# The columns of a match that each command needs; what else is damaged in it hinders none of them.
SHOWN = {
    *("matches.options", "matches.deadline", "turns.state", "turns.events", "turns.problems"),
    *("turns.missing", "history.facts"),
}
EXPORTED = {
    *(one for one in COLUMNS if one.startswith(("turns.", "history.", "sheets.", "absences."))),
    *(one for one in COLUMNS if one.startswith("matches.")),
    *("tenures.began", "tenures.ended"),
} - {"matches.waits_until"}
LOOKED_AT = {
    *(one for one in COLUMNS if one.startswith("matches.")),
    *("turns.state", "absences.first", "absences.last"),
}
PLAYED = LOOKED_AT - {"matches.created", "matches.reminded"} | {"turns.missing", "turns.orders"}
SENT = SHOWN | {"letters.facts", "letters.created"}

_LAST_TWO = "(SELECT id FROM matches ORDER BY id DESC LIMIT 2)"

Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def damaged(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all those matches, each with a turn run and its letters queued."""
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copy(empty_database, folder / "pbem.sqlite")
    written = config.TEXT.replace("per_minute = 60", "per_minute = 100_000")
    (folder / "pbem.toml").write_text(written, "utf-8")
    for box in ("in", "out"):
        for part in ("cur", "new", "tmp"):
            (folder / "mail" / box / part).mkdir(parents=True)
    engine = store.open(config.load(folder / "pbem.toml").database_url)
    for name in (*CASES, SOUND):
        begin(engine, name)
    with store.writing(engine) as session:
        session.query(Letter).update({"status": "sent", "sent": NOW})
        for match in session.scalars(select(Match)):
            _lived(session, match)
        store.remember(session, "tick", {"time": NOW.isoformat()})
    engine.dispose()
    with closing(sqlite3.connect(folder / "pbem.sqlite")) as database:
        for name, (column, value) in CASES.items():
            _damage(database, column, value, name)
        database.commit()
    return folder


def _lived(session: Session, match: Match) -> None:
    """Have a match run its first turn, and rows in every table."""
    for seat in match.seats:
        matches.file(session, match, seat, "", NOW)
    turns.advance(session, matches.phase(session, match), DEADLINE)
    store.record(session, match, DEADLINE, "gm", "previewed", turn=0)
    ann, bob = match.seats
    if not match.name.endswith(("-0", SOUND)):
        # Not all need be written.
        ann.mail = bob.mail = "NONE"
    day = NOW.date()
    session.add(Absence(seat_id=ann.id, first=day, last=day, granted=False, declared=NOW))
    address = f"{match.name}@example.org"
    who = {"person": "Cid", "address": address, "folded": address, "key": "key"}
    session.add(Applicant(match_id=match.id, status="waiting", asked=NOW, **who))
    came = {"source": "pipe", "key": "", "message_id": "", "sender": "", "subject": ""}
    mine = {"match_id": match.id, "seat_id": ann.id, "status": "filed", "recipient": ""}
    times = {"received": NOW, "stored": NOW}
    session.add(Message(identity=match.name, raw=b"", **came, **mine, **times))


def _damage(database: sqlite3.Connection, name: str, value: str | int, match: str) -> None:
    """Put a value into a column of the newest row that a match has in a table."""
    table, column = name.split(".")
    columns = Base.metadata.tables[table].c
    of_match = f"match_id = (SELECT id FROM matches WHERE name = '{match}')"
    if "match_id" not in columns:
        of_match = f"seat_id IN (SELECT id FROM seats WHERE {of_match})"
    row = f"SELECT max(id) FROM {table} WHERE {of_match}"
    where = f"name = '{match}'" if table == "matches" else f"id = ({row})"
    query = f"UPDATE {table} SET {column} = ? WHERE {where}"
    assert database.execute(query, (value,)).rowcount == 1


@pytest.fixture
def run(
    damaged: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """Run a command on a copy of it, in this process; return its exit code and all it says."""
    shutil.copytree(damaged, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, at: datetime = DEADLINE + HOUR) -> tuple[int, str]:
        words = ["--clock", at.isoformat(), *arguments]
        monkeypatch.setattr(sys, "argv", ["pbem", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        code = cli.answer(lambda: cli.app(words, standalone_mode=False))
        out, err = capfd.readouterr()
        return code, out + err

    return run


def named(said: str) -> set[str]:
    """The columns that are named as damaged in what a command says."""
    return {column for column in COLUMNS if f"{column} " in said}


def test_status_names_what_is_damaged_and_tells_of_all_other_matches(run: Run) -> None:
    code, said = run("status", "--json")
    found = {one["match"]: one for one in json.loads(said)["matches"]}
    assert (code, found.keys()) == (1, {*CASES, SOUND})
    for name, (column, _) in CASES.items():
        told = f"{column} of {name} (row " if column in LOOKED_AT - {"turns.state"} else ""
        assert told in found[name]["fault"]
        assert bool(found[name]["fault"]) == (column in LOOKED_AT)
    assert not found[SOUND]["fault"]
    code, said = run("status")
    assert code == 1
    # Of letters the oldest one's age is told.
    assert named(said) == LOOKED_AT | {"letters.created"}


def test_the_doctor_names_each_damaged_row_with_the_remedy(run: Run) -> None:
    code, said = run("doctor")
    assert code == 1
    for name, (column, _) in CASES.items():
        assert f"{column} of {name} (row " in said
    assert said.count("mend that very value") >= len(CASES)
    assert f" {SOUND} " not in said


@pytest.mark.parametrize(
    ("command", "needed"),
    [(("show",), SHOWN), (("show", "--json"), {"matches.options", "turns.state"})],
    ids=["show", "show --json"],
)
def test_a_match_is_shown_unless_what_that_needs_is_damaged(
    run: Run, command: tuple[str, ...], needed: set[str]
) -> None:
    for name, (column, _) in CASES.items():
        code, said = run(*command, name)
        assert (code, named(said)) == ((1, {column}) if column in needed else (0, set())), said


def test_a_match_is_exported_unless_what_that_needs_is_damaged(run: Run) -> None:
    for name, (column, _) in CASES.items():
        code, said = run("export", "--public", name)
        assert (code, named(said)) == ((1, {column}) if column in EXPORTED else (0, set())), said


def test_the_archive_leaves_out_only_matches_that_cant_be_read(run: Run) -> None:
    code, said = run("archive")
    assert (code, named(said)) == (1, EXPORTED)
    assert Path("archive", SOUND, "index.html").exists()


def test_letters_are_listed_with_what_is_damaged(run: Run) -> None:
    code, said = run("letters", "--json")
    damaged = [one for one in json.loads(said) if not one["time"]]
    assert code == 1
    assert {one["match"] for one in damaged} == {
        name
        for name, (column, _) in CASES.items()
        if column in ("letters.created", "letters.sent", "messages.received")
    }
    assert all("can't be read" in one["why"] for one in damaged)


def test_one_command_on_a_damaged_match_says_so_in_one_line(run: Run) -> None:
    lasting = "matches-options-0"
    for words in (
        ("run", "--match", lasting, "--dry-run"),
        ("gm", lasting, "STATUS"),
        ("orders", lasting, "--seat", "Ann", "--as-gm"),
        ("resume", lasting),
        ("run", "--match", lasting, "--now"),
    ):
        code, said = run(*words)
        assert (code, named(said), said.count("\n")) == (1, {"matches.options"}, 1), words


def _left() -> list[str]:
    """All letters that have left, by recipient and subject."""
    found = []
    for file in Path("mail", "out", "new").iterdir():
        letter = message_from_bytes(file.read_bytes())
        to, about = (str(make_header(decode_header(letter[one]))) for one in ("to", "subject"))
        found.append(f"{to}: {about}")
    return found


def test_each_tick_does_its_work_for_all_other_matches(run: Run) -> None:
    code, said = run("tick", at=NEXT - HOUR)
    assert (code, named(said)) == (1, SENT)
    told = sum("[sound] Turn 1" in one or "[sound] No orders from you" in one for one in _left())
    assert told == 4
    # The first time nobody has sent orders, and that is waited for.
    run("tick", at=NEXT + MINUTE)
    code, said = run("tick", at=NEXT + DAY + HOUR)
    assert code == 1
    found = {one["match"]: one for one in json.loads(run("status", "--json")[1])["matches"]}
    assert found[SOUND]["turn"] == 2
    for name, (column, _) in CASES.items():
        failed = column in PLAYED
        assert (found[name]["turn"], found[name]["tries"] > 0) == (1 if failed else 2, failed), name
        assert not failed or column in found[name]["why"]
    told = [one for one in _left() if "is held: its turn fails" in one]
    assert sum("matches-deadline" in one for one in told) == 2


def test_mail_for_a_damaged_match_is_kept_and_that_for_others_is_filed(run: Run) -> None:
    broken = {f"{name}-0" for name in ("matches-settings", "matches-deadline", "turns-ran")}
    for number, name in enumerate((*sorted(broken), SOUND)):
        file = Path("mail", "in", "new", str(number))
        file.write_bytes(mail("NO ORDERS", subject=f"[{name}] x", number=number))
        os.utime(file, 2 * ((DEADLINE + MINUTE).timestamp(),))
    assert run("fetch")[0] == 0
    shunted = run("letters", "--shunted")[1]
    assert shunted.count("\n") == len(broken)
    assert named(shunted) == {CASES[name][0] for name in broken}
    filed = [one for one in json.loads(run("letters", "--json")[1]) if one["status"] == "filed"]
    assert [one["match"] for one in filed if one["time"] > DEADLINE.isoformat()] == [SOUND]


def edit(*queries: str) -> None:
    """Write into the database by hand."""
    with closing(sqlite3.connect("pbem.sqlite")) as database:
        for query in queries:
            database.execute(query)
        database.commit()


@pytest.mark.parametrize("value", ["{", '{"time": "soon", "fetched": 5}', '{"soon": "x"}', "[]"])
def test_the_programs_own_memory_is_begun_anew_where_it_cant_be_read(run: Run, value: str) -> None:
    edit(f"DELETE FROM matches WHERE name != '{SOUND}'", "UPDATE letters SET status = 'sent'")
    run("tick", at=NEXT - HOUR)
    edit(f"UPDATE marks SET value = '{value}'")
    assert run("status", at=NEXT - HOUR)[0] == 0
    assert run("tick", at=NEXT - HOUR + MINUTE) == (0, "")
    assert run("tick", at=NEXT + MINUTE)[0] == 0
    code, said = run("status", "--json", at=NEXT + MINUTE)
    assert (code, json.loads(said)["last_tick"]) == (0, (NEXT + MINUTE).isoformat())


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("deadline", ("gm", "DEADLINE 2027-01-03 20:00")),
        ("deadline", ("resume", "--yes")),
        ("began", ("resume", "--yes")),
        ("waits-until", ("resume", "--yes")),
    ],
)
def test_a_date_of_a_match_is_mended_by_a_new_deadline(
    run: Run, column: str, words: tuple[str, str]
) -> None:
    name = f"matches-{column}-0"
    command, what = words
    assert run("show", name)[0] == (column == "deadline")
    code, said = run(command, name, what)
    assert (code, named(said)) == (0, set())
    found = json.loads(run("status", name, "--json")[1])["matches"]
    assert (found[0]["fault"], run("show", name)[0]) == ("", 0)


def test_a_backup_is_made_of_a_damaged_database_and_isnt_put_back(run: Run) -> None:
    assert run("backup", "saved.sqlite")[0] == 0
    target = "sqlite:///other.sqlite"
    for words in (
        ("migrate-store", "sqlite:///pbem.sqlite", target),
        ("restore", "saved.sqlite"),
    ):
        if words[0] == "restore":
            Path("pbem.sqlite").unlink()
        code, said = run(*words)
        assert (code, len(named(said)), said.count("\n")) == (1, 1, 1), said
        assert "(row 1)" in said


@pytest.mark.parametrize(
    ("table", "column"), [("matches", "turn"), ("letters", "tries"), ("turns", "number")]
)
def test_a_number_that_is_none_hinders_no_other_match(run: Run, table: str, column: str) -> None:
    edit(
        f"DELETE FROM letters WHERE match_id NOT IN {_LAST_TWO}",
        f"DELETE FROM matches WHERE id NOT IN {_LAST_TWO}",
        f"UPDATE {table} SET {column} = 'x' WHERE id = (SELECT max(id) FROM {table} WHERE "
        f"{'id' if table == 'matches' else 'match_id'} = (SELECT min(id) FROM matches))",
    )
    code, said = run("doctor")
    assert (code, f"{table}.{column} of " in said, "'x' is no number" in said) == (1, True, True)
    run("status")
    for at in (NEXT - HOUR, NEXT + MINUTE, NEXT + DAY + HOUR):
        run("tick", at=at)
    found = {one["match"]: one for one in json.loads(run("status", "--json")[1])["matches"]}
    assert found[SOUND]["turn"] == 2


def keep_two() -> str:
    """Leave the sound match and one that is as sound; return that one's name."""
    edit(
        f"DELETE FROM letters WHERE match_id NOT IN {_LAST_TWO}",
        f"DELETE FROM messages WHERE match_id NOT IN {_LAST_TWO}",
        f"DELETE FROM matches WHERE id NOT IN {_LAST_TWO}",
        f"UPDATE matches SET name = 'broken' WHERE name != '{SOUND}'",
    )
    return "broken"


@pytest.mark.parametrize("value", ["[1]", "[[]]", '[["x"]]', '[{"a":1}]', "[null]", '["soon"]'])
def test_a_schedule_that_is_none_is_named_by_the_doctor(run: Run, value: str) -> None:
    name = keep_two()
    edit(f"UPDATE matches SET schedules = '{value}' WHERE name = '{name}'")
    code, said = run("doctor")
    assert (code, f"FAULT match {name}: schedule " in said) == (1, True), said
    assert "      matches.schedules: mend that very value in the database" in said
    assert f"match {SOUND}" not in said
    for words in (("resume", name, "--yes"), ("gm", name, "UNDO")):
        code, said = run(*words)
        assert (code in (1, 2), said.count("\n")) == (True, 1), said
        assert "that is no schedule; write " in said


_NUMBERS_AND_TEXTS = [
    column.name
    for column in Match.__table__.columns
    if isinstance(column.type, Integer | Name) and column.name != "id"
]


@pytest.mark.parametrize("column", _NUMBERS_AND_TEXTS)
def test_status_tells_of_all_matches_though_one_has_bytes_for_a_number_or_a_text(
    run: Run, column: str
) -> None:
    name = keep_two()
    edit(f"UPDATE matches SET {column} = x'ff00' WHERE name = '{name}'")
    code, said = run("status", "--json")
    assert code == 1, said
    found = {one["match"]: one for one in json.loads(said)["matches"]}
    assert len(found) == 2 and not found.pop(SOUND)["fault"]
    (other,) = found.values()
    assert f"matches.{column} (row " in other["fault"] and "is no " in other["fault"]
    code, said = run("status")
    assert (code, f"matches.{column} (row " in said, SOUND in said) == (1, True, True)


@pytest.mark.parametrize("column", ["kind", "status", "why", "tries"])
def test_letters_are_listed_though_one_has_bytes_for_a_text(run: Run, column: str) -> None:
    keep_two()
    whole = json.loads(run("letters", "--json")[1])
    edit(f"UPDATE letters SET {column} = x'ff00' WHERE id = (SELECT max(id) FROM letters)")
    code, said = run("letters", "--json")
    listed = json.loads(said)
    (bad,) = [one for one in listed if not one["time"]]
    assert (code, len(listed)) == (1, len(whole))
    assert f"letters.{column} (row " in bad["why"]
    code, said = run("letters")
    assert (code, said.count("\n"), f"letters.{column} (row " in said) == (1, len(whole), True)
    assert re.search(rf"letters\.{column} of \S+ \(row \d+\) can't be read", run("doctor")[1])


def test_a_text_of_another_encoding_is_read_as_far_as_it_can_be(run: Run) -> None:
    edit("UPDATE seats SET person = CAST(x'4afc72' AS TEXT) WHERE name = 'Ann'")
    assert run("show", SOUND)[0] == 0
    run("tick", at=NEXT - HOUR)
    assert any("J\N{REPLACEMENT CHARACTER}r" in one for one in _left())


@pytest.fixture
def on_postgres(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A house on PostgreSQL, with two matches; return the URL of its database."""
    for url in databases.fresh(request, "postgresql"):
        written = config.TEXT.replace("sqlite:///pbem.sqlite", url)
        (tmp_path / "pbem.toml").write_text(written, "utf-8")
        for box in ("in", "out"):
            for part in ("cur", "new", "tmp"):
                (tmp_path / "mail" / box / part).mkdir(parents=True)
        yield url


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("matches", "settings", "[]"),
        ("matches", "deadline", "infinity"),
        ("matches", "began", "0044-03-15 BC"),
        ("absences", "first", "infinity"),
        ("letters", "facts", "5"),
    ],
)
def test_postgresql_too_may_hold_what_cant_be_read(
    on_postgres: str, tmp_path: Path, table: str, column: str, value: str
) -> None:
    house = config.load(tmp_path / "pbem.toml")
    engine = store.open(on_postgres)
    for name in ("broken", SOUND):
        begin(engine, name)
    with store.writing(engine) as session:
        for match in session.scalars(select(Match).order_by(Match.id)):
            _lived(session, match)
    where = "name = 'broken'" if table == "matches" else f"id = (SELECT min(id) FROM {table})"
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {table} SET {column} = '{value}' WHERE {where}"))
    with engine.connect() as connection:
        (found,) = store.damage.found(connection)
        assert str(found).startswith(f"{table}.{column} of broken (row 1) can't be read: ")
    rounds.tick(engine, house, NEXT + MINUTE)
    done = rounds.tick(engine, house, NEXT + DAY + HOUR)
    engine.dispose()
    outcomes = {one.match: one.outcome for one in done.ran}
    assert outcomes[SOUND] == "ran"
    assert outcomes["broken"] == ("ran" if table == "letters" else "failed")
    with pytest.raises(StoreDamaged, match=f"{table}.{column} of broken"):
        backups.backup(engine, tmp_path / "saved.sqlite", NEXT)
    engine.dispose()
