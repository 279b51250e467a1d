"""The files of a SQLite database: who may read them, and which one can't be written."""

import os
import stat
import subprocess
import sys
import tempfile
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


def _found(mode: int, owner: int) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, owner, owner, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "owner", "user", "helps"),
    [
        (stat.S_IFREG | 0o444, 7, 7, "chmod u+w FILE"),
        (stat.S_IFREG | 0o066, 7, 7, "chmod u+rw FILE"),
        (stat.S_IFDIR | 0o555, 7, 7, "chmod u+w FILE"),
        (stat.S_IFDIR | 0o600, 7, 7, "chmod u+x FILE"),
        (stat.S_IFREG | 0o444, 0, 7, "chown FILE to the user who runs pbem"),
        (stat.S_IFREG | 0o600, 8, 7, "chown FILE to the user who runs pbem"),
        # Nothing is wrong with the file itself.
        (stat.S_IFREG | 0o600, 7, 7, "mount the disk of FILE so that it can be written"),
        (stat.S_IFREG | 0o600, 8, 0, "mount the disk of FILE so that it can be written"),
    ],
)
def test_a_file_that_cannot_be_written_has_the_remedy_that_fits(
    mode: int, owner: int, user: int, helps: str
) -> None:
    assert store.files.mended(Path("FILE"), _found(mode, owner), user).startswith(helps)


# What an ordinary user does, for the tests may run as one who may write everything: a database
# that was read while it was read-only, then each file named is made read-only, and it is written;
# he does what he is told to, and it is written again.
_READ_ONLY_FOR_A_WHILE = """
import os, sys
from pathlib import Path
from pbem import store
from pbem.faults import Away

path = Path(sys.argv[1]) / "pbem.sqlite"
store.create(f"sqlite:///{path}")
if not os.getuid():
    for owned in (path.parent, path):
        os.chown(owned, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
path.chmod(0o444)
engine = store.open(f"sqlite:///{path}")
engine.dispose()
path.chmod(0o644)
for name in sys.argv[2:]:
    path.parent.joinpath(name).chmod(0o555 if name == "." else 0o444)

for _ in range(2):
    # As two commands are: each a process of its own, which has nothing open before.
    if not (child := os.fork()):
        try:
            engine = store.open(f"sqlite:///{path}")
            with store.alone(engine, "send"), store.writing(engine) as session:
                store.remember(session, "tick", {})
            print("written", flush=True)
        except Away as error:
            print(error, flush=True)
            for told in str(error).rpartition("; ")[2].split(", "):
                if told.startswith("chmod"):
                    os.system(told)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.parametrize(
    ("read_only", "helps"),
    [
        # SQLite replaces an empty log by itself.
        ([], "chmod u+w {0}-shm"),
        (["pbem.sqlite"], "chmod u+w {0}, chmod u+w {0}-wal, chmod u+w {0}-shm"),
        (["."], "chmod u+w {0}-shm, chmod u+w {1}, then try again"),
    ],
)
def test_what_was_left_read_only_is_named_and_so_is_what_makes_it_writable(
    read_only: list[str], helps: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        command = [sys.executable, "-c", _READ_ONLY_FOR_A_WHILE, folder, *read_only]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        path = Path(folder) / "pbem.sqlite"
        first, second = done.stdout.splitlines()
        assert first.endswith(f"; {helps.format(path, folder)}")
        assert second == "written"
