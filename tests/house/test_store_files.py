"""The files of a SQLite database: who may read them, and which one can't be written."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pbem import store
from pbem.store import backups, copying
from tests.conftest import NOW


@pytest.fixture(autouse=True)
def _usual_mask() -> Iterator[None]:
    """Let files be made as most users make them: readable by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _url(path: Path) -> str:
    return f"sqlite:///{path}"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _create(folder: Path) -> Path:
    path = folder / "pbem.sqlite"
    store.create(_url(path))
    return path


def _restore(folder: Path) -> Path:
    engine = store.open(_url(_create(folder)))
    backups.backup(engine, folder / "backup", NOW)
    engine.dispose()
    new = store.connect(_url(folder / "new.sqlite"))
    backups.restore(new, folder / "backup", NOW)
    new.dispose()
    return folder / "new.sqlite"


def _move(folder: Path) -> Path:
    copying.move(_url(_create(folder)), _url(folder / "new.sqlite"))
    return folder / "new.sqlite"


def _linked(folder: Path) -> Path:
    (folder / "disk").mkdir()
    (folder / "pbem.sqlite").symlink_to(folder / "disk" / "real.sqlite")
    return _create(folder)


@pytest.mark.parametrize("made", [_create, _restore, _move, _linked])
def test_a_new_database_and_all_beside_it_are_for_their_owner_only(
    tmp_path: Path, made: Callable[[Path], Path]
) -> None:
    path = made(tmp_path)
    engine = store.open(_url(path))
    with store.alone(engine, "send"), store.writing(engine) as session:
        store.remember(session, "here", {})
        files = sorted(path.resolve().parent.glob(f"{path.resolve().name}*"))
        assert {file.name.rpartition("-")[2] for file in files} >= {"wal", "shm"}
        files.append(Path(f"{path}-send.lock"))
        assert {file.name: _mode(file) for file in files} == {file.name: 0o600 for file in files}
    engine.dispose()


def test_a_database_that_is_there_keeps_its_mode_and_its_locks_have_the_same(
    tmp_path: Path,
) -> None:
    path = _create(tmp_path)
    path.chmod(0o640)
    store.create(_url(path))
    engine = store.open(_url(path))
    with store.alone(engine, "send"):
        assert (_mode(path), _mode(Path(f"{path}-send.lock"))) == (0o640, 0o640)
    engine.dispose()


def test_locks_made_while_a_database_is_read_only_can_be_written_later(tmp_path: Path) -> None:
    path = _create(tmp_path)
    path.chmod(0o444)
    with store.alone(store.connect(_url(path)), "send"):
        assert _mode(Path(f"{path}-send.lock")) == 0o644
