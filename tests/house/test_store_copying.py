"""`migrate-store`, `backup`, `restore`: all of a database elsewhere, row by row, or refused."""

import json
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, text

from pbem import intake, outbox, rounds, store
from pbem.config import Config
from pbem.store import Match, Message, StoreFault, backups, copying
from tests.cli.conftest import Answer, pbem
from tests.conftest import NOW, Post, begin, mail, post
from tests.databases import Postgres
from tests.flow.rig import DEADLINE, HOUR, MINUTE, Office, letters, run

__all__ = ["pbem", "post"]

Pbem = Callable[..., Answer]


@pytest.fixture
def database(both: str) -> str:
    """The URL of the house's database, of one kind and of the other."""
    return both


@pytest.fixture
def played(house: Config, engine: Engine, post: Post) -> Engine:
    """A database with a match in it, some mails of all scripts, a turn that was run, letters."""
    begin(engine)
    outbox.flush(engine, house, Office(), NOW)
    post(mail("BID y 2\nпривет \N{GRINNING FACE}", subject="[hexem1] é"))
    post(b"From: eve@example.org\nSubject: a\0b\n\nx\0y")
    run(engine, DEADLINE)
    return engine


def rows(engine: Engine) -> dict[str, list[object]]:
    """Return all that a database holds, by table, but for when it was saved."""
    with store.reading(engine) as session:
        return {
            table.name: sorted(
                [repr(row) for row in session.execute(select(table)) if row[0] != "backup"]
            )
            for table in store.Base.metadata.sorted_tables
        }


def elsewhere(tmp_path: Path) -> str:
    """The URL of a SQLite database that isn't there yet."""
    return f"sqlite:///{tmp_path / 'elsewhere.sqlite'}"


def url_of(engine: Engine) -> str:
    """The URL of a database, its password in it."""
    return engine.url.render_as_string(hide_password=False)


def test_a_database_is_moved_with_all_its_rows_and_goes_on_there(
    played: Engine, house: Config, postgres: Postgres, tmp_path: Path
) -> None:
    before = rows(played)
    with postgres.fresh("UTF8") as there:
        copied = copying.move(url_of(played), there)
        assert copied.rows["messages"] == 2
        assert copied.rows == {table: len(found) for table, found in before.items()}
        assert rows(played) == before
        moved = store.open(there)
        assert rows(moved) == before
        # New rows are numbered after those that were copied.
        begin(moved, "hexem2")
        rounds.tick(moved, house, DEADLINE + HOUR)
        after = rows(moved)
        moved.dispose()
        copying.move(there, elsewhere(tmp_path))
    back = store.open(elsewhere(tmp_path))
    assert rows(back) == after
    back.dispose()


def test_what_an_older_program_stored_with_nul_is_moved_without(
    postgres: Postgres, tmp_path: Path
) -> None:
    source = elsewhere(tmp_path)
    store.create(source)
    with closing(sqlite3.connect(tmp_path / "elsewhere.sqlite")) as old:
        old.execute("INSERT INTO marks VALUES ('a' || char(0) || 'b', '{}')")
        old.commit()
    with postgres.fresh("UTF8") as there:
        copying.move(source, there)
        moved = store.open(there)
        with store.reading(moved) as session:
            assert store.mark(session, "ab") == {}
            assert session.scalar(select(store.Mark.name)) == "ab"
        moved.dispose()


def test_names_are_compared_in_one_order_whatever_a_database_sorts_by(
    both: str, tmp_path: Path
) -> None:
    engine = store.open(both)
    with store.writing(engine) as session:
        for name in ("b", "A", "a", "B", "é", "_", "source 10", "source 2"):
            store.remember(session, name, {})
    assert copying.move(both, elsewhere(tmp_path)).rows["marks"] == 8
    engine.dispose()


def test_a_target_that_holds_matches_is_refused_and_left_as_it_is(
    played: Engine, tmp_path: Path
) -> None:
    target = elsewhere(tmp_path)
    store.create(target)
    there = store.open(target)
    begin(there, "other")
    before = rows(there)
    with pytest.raises(StoreFault, match=r"elsewhere.sqlite: holds a match already; name"):
        copying.move(url_of(played), target)
    assert rows(there) == before
    there.dispose()


def test_a_source_that_cannot_be_copied_is_refused_with_the_remedy(
    both: str, tmp_path: Path
) -> None:
    target = elsewhere(tmp_path)
    with pytest.raises(StoreFault, match="no database there"):
        copying.move(f"sqlite:///{tmp_path / 'gone.sqlite'}", target)
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(StoreFault, match="holds no pbem tables"):
        copying.move(f"sqlite:///{tmp_path / 'empty.sqlite'}", target)
    with pytest.raises(StoreFault, match="the same database"):
        copying.move(both, both)
    engine = store.connect(both)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreFault, match="version 9999 is newer"):
        copying.move(both, target)
    engine.dispose()
    assert not (tmp_path / "elsewhere.sqlite").exists()


def test_a_source_of_an_older_version_is_left_and_the_remedy_named(
    both: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "HEAD", "9999")
    with pytest.raises(StoreFault, match=r"is of version .*; any command .* migrates it"):
        copying.move(both, elsewhere(tmp_path))


def test_a_row_that_differs_undoes_the_whole_move(
    played: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare = copying._compare
    monkeypatch.setattr(
        copying,
        "_compare",
        lambda here, there, table: (
            there.execute(text("UPDATE seats SET person = 'Eve' WHERE position = 1")),
            compare(here, there, table),
        )[1],
    )
    with pytest.raises(StoreFault, match="seats 2 was not copied as it is, so nothing was"):
        copying.move(url_of(played), elsewhere(tmp_path))
    there = store.open(elsewhere(tmp_path))
    assert not any(rows(there).values())
    there.dispose()


def test_a_backup_is_one_file_for_its_owner_only_and_replaces_an_older_one(
    played: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    assert backups.backup(played, folder / "daily", NOW) is False
    assert backups.backup(played, folder / "daily", NOW + HOUR) is True
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with closing(sqlite3.connect(file)) as saved:
        assert saved.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        (value,) = saved.execute("SELECT value FROM marks WHERE name = 'backup'").fetchone()
    assert json.loads(value) == {"time": (NOW + HOUR).isoformat()}


def test_a_backup_overwrites_nothing_but_a_backup(played: Engine, tmp_path: Path) -> None:
    store.create(elsewhere(tmp_path))
    path = store.file_of(played)
    for name in ("pbem.toml", "elsewhere.sqlite", "mail", *([path.name] if path else [])):
        there = tmp_path / name
        before = there.is_dir() or there.read_bytes()
        with pytest.raises(StoreFault, match="name another file"):
            backups.backup(played, there, NOW)
        assert before == (there.is_dir() or there.read_bytes())
    with pytest.raises(StoreFault, match="name a folder that is there"):
        backups.backup(played, tmp_path / "no" / "such", NOW)


def test_a_backup_that_fails_leaves_the_older_one(
    played: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    backups.backup(played, folder / "daily", NOW)
    before = (folder / "daily").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backups.os, "fsync", full)
    with pytest.raises(store.StoreAway, match="No space left on device; make room"):
        backups.backup(played, folder / "daily", NOW)
    assert [file.read_bytes() for file in folder.iterdir()] == [before]


def test_a_backup_under_load_is_of_one_moment_and_keeps_no_writer_waiting(
    engine: Engine, house: Config, tmp_path: Path
) -> None:
    begin(engine)
    begun, ended = threading.Event(), threading.Event()

    def write() -> None:
        """Write two marks at a time, which must never differ."""
        number = 0
        while not ended.is_set():
            number += 1
            with store.writing(engine) as session:
                store.remember(session, "one", {"is": number})
                store.remember(session, "two", {"is": number})
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    try:
        for number in range(5):
            backups.backup(engine, tmp_path / f"backup{number}", NOW)
            with closing(sqlite3.connect(tmp_path / f"backup{number}")) as saved:
                query = "SELECT value FROM marks WHERE name IN ('one', 'two')"
                one, two = saved.execute(query).fetchall()
                assert one == two
    finally:
        ended.set()
        writer.join()


def test_a_backup_is_restored_into_an_empty_database_and_goes_on_there(
    played: Engine, house: Config, tmp_path: Path
) -> None:
    before = rows(played)
    backups.backup(played, tmp_path / "backup", NOW + HOUR)
    # What came into the new database meanwhile makes room: it lies in the mailbox still.
    store.create(elsewhere(tmp_path))
    new = store.open(elsewhere(tmp_path))
    parcel = intake.Parcel(mail("BID y 2"), NOW, "pipe")
    assert intake.take_in(new, house, [parcel], NOW)[0].status == "rejected"
    done = backups.restore(new, tmp_path / "backup", DEADLINE + HOUR)
    assert done.saved == NOW + HOUR
    after = rows(new)
    (notice,) = {*after["letters"]} - {*before["letters"]}
    assert "put back from a backup of" in str(notice)
    assert {**after, "letters": before["letters"]} == before
    rounds.tick(new, house, DEADLINE + 2 * HOUR)
    assert not [one for one in letters(new) if one.status == "queued"]
    new.dispose()


def test_letters_after_a_restore_bear_no_number_of_those_sent_since_the_backup(
    played: Engine, house: Config, tmp_path: Path, post: Post
) -> None:
    backups.backup(played, tmp_path / "backup", NOW)
    waited = {one.id for one in letters(played) if one.status == "queued"}
    post(mail("BID y 3", number=7), DEADLINE + HOUR)
    since = {one.id for one in letters(played)}
    store.create(elsewhere(tmp_path))
    new = store.open(elsewhere(tmp_path))
    done = backups.restore(new, tmp_path / "backup", DEADLINE + HOUR)
    begin(new, "hexem2")
    later = {one.id for one in letters(new)} - since
    assert min(later) >= 1_000_000
    # Those that waited then are the same letters, and leave under the same Message-ID.
    assert waited <= {one.id for one in letters(new) if one.status == "queued"}
    assert any(f"Letters that waited then: {len(waited)}" in said for said in done.says)
    new.dispose()


def _first_after(backup: Path, target: Path, now: datetime) -> tuple[int, Engine]:
    """Restore a backup; return the number of the first letter made then, and the database."""
    new = store.connect(f"sqlite:///{target}")
    backups.restore(new, backup, now)
    return max(one.id for one in letters(new)), new


def test_two_restores_of_one_backup_number_their_letters_apart_the_later_beyond(
    played: Engine, tmp_path: Path
) -> None:
    backups.backup(played, tmp_path / "backup", NOW)
    first, one = _first_after(tmp_path / "backup", tmp_path / "one", NOW + MINUTE)
    second, other = _first_after(tmp_path / "backup", tmp_path / "other", NOW + HOUR)
    assert first == int((NOW + MINUTE - datetime(2020, 1, 1, tzinfo=UTC)).total_seconds())
    assert second - first == 59 * 60
    # Of what was itself restored, and so bears numbers that are near the clock's.
    backups.backup(one, tmp_path / "next", NOW + HOUR)
    one.dispose()
    other.dispose()
    third, one = _first_after(tmp_path / "next", tmp_path / "third", NOW + 2 * HOUR)
    fourth, other = _first_after(tmp_path / "next", tmp_path / "fourth", NOW + 3 * HOUR)
    assert third >= (first // 1_000_000 + 1) * 1_000_000
    assert fourth - third == 60 * 60
    # PostgreSQL's numbers of rows.
    assert fourth < 2**31
    one.dispose()
    other.dispose()


def test_mails_since_the_backup_are_taken_in_again_from_where_they_lie(
    engine: Engine, house: Config, tmp_path: Path
) -> None:
    begin(engine)
    inbox = house.folder / "mail" / "in"
    (inbox / "new" / "1.host").write_bytes(mail("BID y 2", number=1))
    rounds.fetch(engine, house, NOW)
    backups.backup(engine, tmp_path / "backup", NOW)
    (inbox / "new" / "2.host").write_bytes(mail("BID y 3", number=2))
    rounds.fetch(engine, house, NOW)
    store.create(elsewhere(tmp_path))
    new = store.open(elsewhere(tmp_path))
    backups.restore(new, tmp_path / "backup", NOW)
    for file in (inbox / "cur").iterdir():
        file.rename(inbox / "new" / file.name)
    assert rounds.fetch(new, house, NOW).count == 2
    with store.reading(new) as session:
        assert len(session.scalars(select(Message)).all()) == 2
    new.dispose()


def test_a_restore_names_what_the_next_tick_would_run_or_holds_it(
    engine: Engine, house: Config, tmp_path: Path
) -> None:
    begin(engine)
    backups.backup(engine, tmp_path / "backup", NOW)
    for hold, status in ((False, "running"), (True, "held")):
        target = f"sqlite:///{tmp_path / f'{status}.sqlite'}"
        store.create(target)
        new = store.open(target)
        done = backups.restore(new, tmp_path / "backup", DEADLINE + MINUTE, hold=hold)
        assert any("hexem1" in said for said in done.says) is not hold
        with store.reading(new) as session:
            assert session.scalars(select(Match.status)).one() == status
        new.dispose()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda raw: raw[: len(raw) // 2], "damaged"),
        (lambda raw: raw[:-1], "damaged"),
        (lambda raw: raw[:100], "damaged"),
        (lambda raw: raw[:8192] + b"\xff" * 8192 + raw[16384:], "damaged"),
        (lambda raw: b"PK" + raw, "no backup"),
        (lambda raw: raw[:0], "holds no pbem tables"),
    ],
)
def test_a_backup_that_is_damaged_or_none_is_refused(
    engine: Engine, tmp_path: Path, damage: Callable[[bytes], bytes], says: str
) -> None:
    begin(engine)
    path = tmp_path / "backup"
    backups.backup(engine, path, NOW)
    path.write_bytes(damage(path.read_bytes()))
    store.create(elsewhere(tmp_path))
    new = store.open(elsewhere(tmp_path))
    with pytest.raises(StoreFault, match=f"{path}: .*{says}.*; name another backup"):
        backups.restore(new, path, NOW)
    assert not any(rows(new).values())
    new.dispose()


def test_a_backup_of_a_newer_program_is_refused(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    backups.backup(engine, path, NOW)
    with closing(sqlite3.connect(path)) as saved:
        saved.execute("UPDATE alembic_version SET version_num = '9999'")
        saved.commit()
    with pytest.raises(StoreFault, match=r"9999 is newer .*; install a newer pbem"):
        backups.restore(engine, path, NOW)


@pytest.fixture
def older(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A backup that the program takes for an older one; what would migrate it leaves a sign."""
    path = tmp_path / "backup"
    begin(engine)
    backups.backup(engine, path, NOW)
    with closing(sqlite3.connect(path)) as saved:
        saved.execute("UPDATE alembic_version SET version_num = '0000'")
        saved.commit()
    monkeypatch.setattr(store.database, "MIGRATIONS", ("0000", *store.MIGRATIONS))

    def migrate(source: Engine) -> None:
        with source.begin() as connection:
            connection.execute(text(f"UPDATE alembic_version SET version_num = '{store.HEAD}'"))
            connection.execute(text("UPDATE matches SET zone = 'Asia/Tokyo'"))

    monkeypatch.setattr(backups, "migrate", migrate)
    yield path


def test_an_older_backup_is_migrated_and_its_file_left_as_it_is(
    older: Path, tmp_path: Path
) -> None:
    before = older.read_bytes()
    store.create(elsewhere(tmp_path))
    new = store.open(elsewhere(tmp_path))
    backups.restore(new, older, NOW)
    with store.reading(new) as session:
        assert session.scalars(select(Match.zone)).one() == "Asia/Tokyo"
    assert older.read_bytes() == before
    new.dispose()


def test_the_commands_say_what_they_did_and_refuse_what_they_must(
    pbem: Pbem, played: Engine, house: Config, tmp_path: Path
) -> None:
    saved = pbem("backup", "b.sqlite", "--json")
    assert json.loads(saved.out)["replaced"] is False
    assert "in place of an older backup" in pbem("backup", "b.sqlite").out
    assert "name another file" in pbem("backup", "pbem.toml").err
    refused = pbem("restore", "b.sqlite")
    assert (refused.code, "holds a match already" in refused.err) == (2, True)
    moved = pbem("migrate-store", url_of(played), "sqlite:///moved.sqlite")
    assert (moved.code, "1 matches" in moved.out) == (0, True)
    text = (tmp_path / "pbem.toml").read_text("utf-8")
    (tmp_path / "pbem.toml").write_text(text.replace(house.database, "sqlite:///new.sqlite"))
    restored = pbem("restore", "b.sqlite", "--json")
    assert restored.code == 0
    assert json.loads(restored.out)["rows"]["letters"] == len(letters(played))
    assert "hexem1" in pbem("status").out
    assert pbem("letters").code == 0


def test_no_command_says_a_password(pbem: Pbem, house: Config, postgres: Postgres) -> None:
    with postgres.fresh("UTF8") as there:
        url = there.replace("postgres:@", "postgres:geheim@", 1)
        done = pbem("migrate-store", house.database_url, url)
        again = pbem("migrate-store", url, url)
    assert (done.code, again.code) == (0, 2)
    assert "geheim" not in done.out + done.err + again.out + again.err
