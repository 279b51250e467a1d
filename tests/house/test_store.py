"""The tables and their migrations, and databases that can't be used."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import event, text

from pbem import store
from pbem.store import Mark, StoreAway, StoreFault


def _alembic() -> Config:
    settings = Config()
    settings.set_main_option("script_location", str(store.migrations_folder()))
    return settings


def _url(folder: Path) -> str:
    return f"sqlite:///{folder / 'pbem.sqlite'}"


def test_the_migrations_make_the_tables_the_program_has(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    settings = _alembic()
    with store.connect(_url(tmp_path)).begin() as connection:
        settings.attributes["connection"] = connection
        # Raises where a model and the migrations differ.
        command.check(settings)


def test_the_program_knows_all_migrations_and_the_newest() -> None:
    script = ScriptDirectory.from_config(_alembic())
    known = [revision.revision for revision in script.walk_revisions()]
    assert sorted(known) == sorted(store.MIGRATIONS)
    assert script.get_current_head() == store.HEAD


def test_a_database_that_is_there_is_opened_and_not_made_anew(tmp_path: Path) -> None:
    assert store.create(_url(tmp_path)) is True
    with store.writing(store.open(_url(tmp_path))) as session:
        store.remember(session, "here", {"was": 1})
    assert store.create(_url(tmp_path)) is False
    with store.reading(store.open(_url(tmp_path))) as session:
        assert store.mark(session, "here") == {"was": 1}


def test_a_missing_database_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreFault, match=r"no database there; `pbem init` .* `pbem restore FILE`"):
        store.open(_url(tmp_path))
    assert not (tmp_path / "pbem.sqlite").exists()


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    engine = store.connect(_url(tmp_path))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for use in (store.open, store.create):
        with pytest.raises(StoreFault, match="version 9999 is newer"):
            use(_url(tmp_path))


@pytest.mark.parametrize("url", ["nonsense", "nodb://x", "sqlite+nodriver:///x"])
def test_a_url_that_is_none_is_a_fault(url: str) -> None:
    with pytest.raises(StoreFault, match="database:"):
        store.open(url)


def test_a_file_that_is_no_database_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "pbem.sqlite").write_bytes(b"this is no database at all, only words" * 100)
    with pytest.raises(StoreFault, match="not a database"):
        store.open(_url(tmp_path))


def test_times_are_stored_in_utc_and_whole_seconds(tmp_path: Path) -> None:
    column = store.Utc()
    dialect = store.connect(_url(tmp_path)).dialect
    there = datetime(2026, 7, 1, 20, 0, 0, 999, tzinfo=timezone(timedelta(hours=2)))
    stored = column.process_bind_param(there, dialect)
    assert stored == datetime(2026, 7, 1, 18, 0)
    assert column.process_result_value(stored, dialect) == datetime(2026, 7, 1, 18, tzinfo=UTC)
    with pytest.raises(ValueError, match="without zone"):
        column.process_bind_param(datetime(2026, 7, 1), dialect)


def test_sqlite_waits_for_others_keeps_a_log_and_checks_references(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    with store.reading(store.open(_url(tmp_path))) as session:
        pragmas = {
            name: session.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")
        }
    wanted = {"journal_mode": "wal", "foreign_keys": 1, "busy_timeout": 30000, "synchronous": 2}
    assert pragmas == wanted


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    engine = store.open(_url(tmp_path))
    with pytest.raises(RuntimeError), store.writing(engine) as session:
        session.add(Mark(name="half", value={}))
        session.flush()
        raise RuntimeError
    with store.reading(engine) as session:
        assert session.get(Mark, "half") is None


def test_a_lock_file_that_cannot_be_opened_is_named_with_its_remedy(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    lock = tmp_path / "pbem.sqlite-send.lock"
    lock.mkdir()
    with (
        pytest.raises(StoreAway, match=rf"{lock}: Is a directory; let the user .* \(chown\)"),
        store.alone(store.open(_url(tmp_path)), "send"),
    ):
        pass


def test_a_fault_in_the_work_that_is_done_alone_is_not_laid_to_the_lock(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    with (
        pytest.raises(FileNotFoundError),
        store.alone(store.open(_url(tmp_path)), "send"),
    ):
        (tmp_path / "missing").read_text()


def _filled(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA max_page_count = 1")


def test_a_full_disk_is_named_with_the_file_and_the_remedy(tmp_path: Path) -> None:
    store.create(_url(tmp_path))
    engine = store.connect(_url(tmp_path))
    event.listen(engine, "connect", _filled)
    with (
        pytest.raises(StoreAway, match=r"pbem.sqlite: .* is full; make room on its disk"),
        store.writing(engine) as session,
    ):
        store.remember(session, "much", {"it": "x" * 1_000_000})


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        ("database is locked", "end what locks it"),
        ("disk I/O error", "make room on its disk"),
        ("attempt to write a readonly database", "chown"),
        ("unable to open database file", "chown"),
        ("database disk image is malformed", "pbem restore"),
        ("connection refused", "whether it is up"),
    ],
)
def test_every_fault_of_a_database_has_its_remedy(said: str, helps: str) -> None:
    assert helps in store.remedy(said)


def test_a_file_that_is_no_database_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "pbem.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreFault, match=r"pbem.sqlite: .* not a database; mend `database`"):
        store.open(_url(tmp_path))
