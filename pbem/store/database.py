"""How a database is opened, made, migrated, read and written, and what is wrong with one."""

import fcntl
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy import Engine, create_engine, event, inspect, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

from pbem.faults import Away, Wrong

# The newest migration; a test holds it against the folder `migrations`.
HEAD = "0001"
MIGRATIONS = ("0001",)

# Milliseconds to wait for another process that writes into the same SQLite file.
PATIENCE = 30_000


class StoreFault(Wrong):
    """A database that can't be used as it is; the message names fault, place and remedy."""


class StoreAway(Away):
    """A database that can't be reached now, or is locked; it may work later."""


def connect(url: str) -> Engine:
    """Return an engine for a URL, whatever state its database is in; raise `StoreFault` for a URL
    that can't be used."""
    try:
        parsed = make_url(url)
        engine = create_engine(parsed)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
        remedy = "write sqlite:///FILE, or postgresql+psycopg://… with the extra `postgres`"
        raise StoreFault(f"database: {error}; {remedy}") from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Transactions are begun by us: the driver's own way begins them late and commits early.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {PATIENCE}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def open(url: str) -> Engine:
    """Return an engine for a database that is there and of this version.

    An older database is migrated. Raise `StoreFault` for one that is missing or newer, `StoreAway`
    for one that can't be reached.
    """
    engine = connect(url)
    path = make_url(url).database
    if engine.dialect.name == "sqlite" and path and path != ":memory:" and not Path(path).exists():
        raise StoreFault(f"{path}: no database there; `pbem init` creates it")
    version = stored_version(engine)
    if version is None:
        shown = engine.url.render_as_string(hide_password=True)
        raise StoreFault(f"{shown}: holds no pbem tables; `pbem init` creates them")
    if version != HEAD:
        migrate(engine)
    return engine


def create(url: str) -> bool:
    """Make the tables in a database, or bring it to this version; tell whether it had none.

    Raise `StoreFault` for one that is newer, or can't be made there.
    """
    engine = connect(url)
    try:
        version = stored_version(engine)
        if version != HEAD:
            migrate(engine)
    finally:
        engine.dispose()
    return version is None


def stored_version(engine: Engine) -> str | None:
    """Return the version of the tables in a database, `None` where it has none of ours.

    Raise `StoreFault` for one that this program does not know.
    """
    with away(engine), engine.connect().execution_options(reading=True) as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.execute(
            text("SELECT version_num FROM alembic_version")
        ).scalar()
    if version is not None and version not in MIGRATIONS:
        shown = engine.url.render_as_string(hide_password=True)
        raise StoreFault(
            f"{shown}: its version {version} is newer than this program's {HEAD}; "
            "install a newer pbem"
        )
    return version


def migrate(engine: Engine) -> None:
    """Bring a database to the newest version, an empty one included."""
    # Alembic takes longer to import than most commands take to run.
    from alembic import command
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    with away(engine), engine.begin() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")


def migrations_folder() -> Path:
    """Return the folder of the migrations: inside the package as installed, else beside it."""
    here = Path(__file__).parent.parent
    inside = here / "migrations"
    return inside if inside.exists() else here.parent / "migrations"


# What helps, by what a database says of itself; the last where it says nothing of these.
_REMEDIES = (
    ("locked", "try again later, or end what locks it"),
    ("full", "make room on its disk"),
    ("I/O error", "make room on its disk, or look whether that is sound"),
    ("unable to open", "let the user who runs pbem write it and its folder (chown)"),
    ("readonly", "let the user who runs pbem write it and its folder (chown)"),
    ("not a database", "mend `database` in the config, or put its file back from a backup"),
    ("malformed", "put its file back from a backup"),
    ("", "look whether it is up, and `database` in the config is right"),
)


def remedy(said: str) -> str:
    """Return what helps against what a database says of itself."""
    return next(helps for words, helps in _REMEDIES if words in said)


@contextmanager
def away(engine: Engine) -> Iterator[None]:
    """Turn a database that is locked or can't be reached into `StoreAway`."""
    shown = engine.url.render_as_string(hide_password=True)
    try:
        yield
    except OperationalError as error:
        said = str(error.orig)
        raise StoreAway(f"{shown}: it can't be used now: {said}; {remedy(said)}") from error
    except DBAPIError as error:
        said = str(error.orig)
        if error.connection_invalidated:
            raise StoreAway(f"{shown}: it went away: {said}; {remedy('')}") from error
        raise StoreFault(f"{shown}: it can't be used: {said}; {remedy(said)}") from error


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a transaction that writes: committed at the end, or rolled back by any exception."""
    with away(engine), Session(engine, expire_on_commit=False) as session, session.begin():
        yield session


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a transaction that only reads, and takes no lock that would stop a writer."""
    with (
        away(engine),
        Session(engine.execution_options(reading=True), expire_on_commit=False) as session,
    ):
        yield session


@contextmanager
def alone(engine: Engine, work: str) -> Iterator[bool]:
    """Do some work in one process at a time; yield whether it is this one's turn.

    The lock dies with the process that holds it: a file's on SQLite, an advisory one elsewhere.
    """
    path = make_url(str(engine.url)).database
    if engine.dialect.name == "sqlite":
        if not path or path == ":memory:":
            yield True
            return
        with _lock_file(Path(f"{path}-{work}.lock")) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
    else:
        with away(engine), engine.connect() as connection:
            number = zlib.crc32(f"pbem {work}".encode())
            got = bool(connection.scalar(text(f"SELECT pg_try_advisory_lock({number})")))
            try:
                yield got
            finally:
                if got:
                    connection.execute(text(f"SELECT pg_advisory_unlock({number})"))


def _lock_file(path: Path) -> TextIO:
    """Open a lock file, made where it isn't there; raise `StoreAway` where that can't be."""
    try:
        return path.open("a")
    except OSError as error:
        remedy = "let the user who runs pbem write it and its folder (chown), then try again"
        raise StoreAway(f"{path}: {error.strerror}; {remedy}") from error
