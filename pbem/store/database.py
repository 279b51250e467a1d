"""How a database is opened, made, migrated, read and written, and what is wrong with one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

from pbem.faults import Away, Wrong
from pbem.store import files
from pbem.store.columns import StoreDamaged

# The newest migration; a test holds it against the folder `migrations`.
HEAD = "0001"
MIGRATIONS = ("0001",)

# Milliseconds to wait for another process that writes the same: a SQLite file, a row elsewhere.
PATIENCE = 30_000

# Of a PostgreSQL session. Who vanishes without closing his connection (a machine that lost power)
# is noticed within a minute, and who stands still in the middle of a transaction within a quarter
# of an hour: then his locks are free for others. A process that is stopped, and not dead, keeps
# what it has by `alone`. libpq's own part of it is in `_LIBPQ`.
_SESSION: Mapping[str, str | int] = {
    "datestyle": "ISO",
    "lock_timeout": PATIENCE,
    "idle_in_transaction_session_timeout": 900_000,
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
}
_LIBPQ = {
    "client_encoding": "utf8",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


class StoreFault(Wrong):
    """A database that can't be used as it is; the message names fault, place and remedy."""


class StoreAway(Away):
    """A database that can't be reached now, or is locked; it may work later."""


class StoreLocked(StoreAway):
    """A row that somebody else has locked for longer than is waited for; the others are free."""


class StoreCollision(StoreAway):
    """Two processes that each waited for the other: this one gave way, and may try again."""


def connect(url: str | URL) -> Engine:
    """Return an engine for a URL, whatever state its database is in; raise `StoreFault` for a URL
    that can't be used."""
    remedy = "write sqlite:///FILE, or postgresql+psycopg://… with the extra `postgres`"
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # What it holds may be a password.
        raise StoreFault(f"database: its URL can't be read; {remedy}") from None
    if parsed.drivername in ("postgres", "postgresql"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    try:
        if parsed.get_backend_name() == "postgresql":
            engine = create_engine(
                parsed,
                # A connection that the server has closed meanwhile is replaced unnoticed.
                pool_pre_ping=True,
                connect_args=_of_session(parsed.query),
            )
            event.listen(engine, "connect", _prepare_postgresql)
            return engine
        engine = create_engine(parsed)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
        raise StoreFault(f"database: {error}; {remedy}") from None
    if engine.dialect.name != "sqlite":
        raise StoreFault(f"database: {engine.dialect.name} is not supported; {remedy}")
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _of_session(given: Mapping[str, Any]) -> dict[str, str]:
    """Return how a PostgreSQL session is opened, but for what its URL says otherwise."""
    settings = " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
    ours = {name: value for name, value in _LIBPQ.items() if name not in given}
    return {**ours, "options": f"{settings} {given.get('options', '')}".strip()}


def _prepare_postgresql(connection: Any, _record: Any) -> None:
    from psycopg.types.string import TextLoader

    # The driver ends a query that finds a time beyond its own calendar, as `infinity` is: columns
    # read them by themselves.
    connection.adapters.register_loader("timestamp", TextLoader)
    connection.adapters.register_loader("date", TextLoader)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Transactions are begun by us: the driver's own way begins them late and commits early.
    connection.isolation_level = None
    # Of a text that somebody wrote in another encoding the driver makes an error of the query.
    connection.text_factory = _text
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {PATIENCE}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("single"):
        connection.exec_driver_sql("BEGIN" if options.get("reading") else "BEGIN IMMEDIATE")


def open(url: str | URL) -> Engine:
    """Return an engine for a database that is there and of this version.

    An older database is migrated. Raise `StoreFault` for one that is missing or newer, `StoreAway`
    for one that can't be reached.
    """
    engine = connect(url)
    check_there(engine)
    version = stored_version(engine)
    if version is None:
        raise StoreFault(f"{shown(engine)}: holds no pbem tables; `pbem init` creates them")
    if version != HEAD:
        migrate(engine)
    return engine


def check_there(engine: Engine) -> None:
    """Raise `StoreFault` for a SQLite database whose file isn't there, `StoreAway` for one whose
    folder can't be entered."""
    path = file_of(engine)
    try:
        is_there = path is None or path.exists()
    except OSError as error:
        helps = (files.remedy(path) if path else "") or files.WRITABLE
        raise StoreAway(f"{path}: {error.strerror}; {helps}") from error
    if not is_there:
        remedy = "`pbem init` creates it, and `pbem restore FILE` puts back one that was lost"
        raise StoreFault(f"{path}: no database there; {remedy}")


def create(url: str | URL) -> bool:
    """Make the tables in a database, or bring it to this version; tell whether it had none.

    A file that isn't there is made for its owner only. Raise `StoreFault` for one that is newer,
    or can't be made there.
    """
    engine = connect(url)
    path = file_of(engine)
    if path is not None:
        files.make(path)
    try:
        version = stored_version(engine)
        if version is None and engine.dialect.name == "postgresql":
            _check_encoding(engine)
        if version != HEAD:
            migrate(engine)
    finally:
        engine.dispose()
    return version is None


def _check_encoding(engine: Engine) -> None:
    """Raise `StoreFault` for a PostgreSQL database that can't hold any script."""
    with away(engine), engine.connect() as connection:
        encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise StoreFault(
            f"{shown(engine)}: its encoding is {encoding}, which can't hold every player's name; "
            f"make it with `createdb -E UTF8 -T template0 {engine.url.database}`"
        )


def shown(place: Engine | str) -> str:
    """Return a database's URL as people may see it: without its password."""
    url = make_url(place) if isinstance(place, str) else place.url
    return url.render_as_string(hide_password=True)


def file_of(engine: Engine) -> Path | None:
    """Return the file a database is; `None` where it is none."""
    path = engine.url.database
    if engine.dialect.name != "sqlite" or not path or path == ":memory:":
        return None
    return Path(path)


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
        raise StoreFault(
            f"{shown(engine)}: its version {version} is newer than this program's {HEAD}; "
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
    ("unable to open", files.WRITABLE),
    ("readonly", files.WRITABLE),
    ("not a database", "mend `database` in the config, or move the file away and `pbem restore`"),
    ("malformed", "move its file away, then `pbem restore FILE` puts a backup in its place"),
    ("does not exist", "make it (createuser, createdb -E UTF8), or mend `database` in the config"),
    ("authentication failed", "mend user and password in `database`, or put them into ~/.pgpass"),
    ("too many clients", "raise max_connections: each process of pbem may hold three"),
    ("remaining connection slots", "raise max_connections: each process of pbem may hold three"),
    ("permission denied", "let its user make tables there (GRANT ALL, or own the database)"),
    ("", "look whether it is up, and `database` in the config is right"),
)


def remedy(said: str, otherwise: str = "", path: Path | None = None) -> str:
    """Return what helps against what a database says of itself, or `otherwise`, if given.

    Of a SQLite database at `path` the very file is named that can't be written.
    """
    helps = next(helps for words, helps in _REMEDIES if words in said)
    if path is not None and helps is files.WRITABLE:
        return files.remedy(path) or helps
    return otherwise if otherwise and helps is _REMEDIES[-1][1] else helps


# Where PostgreSQL found two transactions that wait for each other, or can't be put in any order.
_COLLISIONS = ("40001", "40P01")
# Where it has waited for a lock as long as `lock_timeout` says.
_LOCKED = "55P03"


@contextmanager
def away(engine: Engine) -> Iterator[None]:
    """Turn a database that is locked or can't be reached into `StoreAway`.

    Of a value in it that can't be read the row is named.
    """
    try:
        yield
    except StoreDamaged as error:
        # It is looked for among all rows, which nobody needs as long as none is damaged.
        from pbem.store.damage import located

        raise located(engine, error) from error
    except DBAPIError as error:
        said, place = str(error.orig), shown(engine)
        if getattr(error.orig, "sqlstate", None) in _COLLISIONS:
            raise StoreCollision(f"{place}: {said}; try again") from error
        if getattr(error.orig, "sqlstate", None) == _LOCKED:
            helps = "end the transaction that holds it (pg_stat_activity names it), or wait for it"
            raise StoreLocked(
                f"{place}: a row is locked: {' '.join(said.split())}; {helps}"
            ) from error
        if isinstance(error, OperationalError):
            helps = remedy(said, path=file_of(engine))
            raise StoreAway(f"{place}: it can't be used now: {said}; {helps}") from error
        if error.connection_invalidated:
            raise StoreAway(f"{place}: it went away: {said}; {remedy('')}") from error
        helps = remedy(said, "please report it")
        raise StoreFault(f"{place}: it refuses that: {said}; {helps}") from error


@contextmanager
def writing(place: Engine | Connection) -> Iterator[Session]:
    """Open a transaction that writes: committed at the end, or rolled back by any exception."""
    with away(place.engine), Session(place, expire_on_commit=False) as session, session.begin():
        yield session


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a transaction that only reads, and takes no lock that would stop a writer."""
    with (
        away(engine),
        Session(engine.execution_options(reading=True), expire_on_commit=False) as session,
    ):
        yield session


# What makes a commit not wait for the disk, and what ends that.
_PASSING = {
    "sqlite": ("PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL"),
    "postgresql": ("SET synchronous_commit = off", "RESET synchronous_commit"),
}


@contextmanager
def connected(
    engine: Engine, *, reading: bool = False, single: bool = False, passing: bool = False
) -> Iterator[Connection]:
    """Open a connection for one transaction after the other: each begins with what is first asked
    after a commit. Those that are `reading` take no lock that would stop a writer.

    With `single` each statement is a transaction by itself, and to a server with `reading` too.
    With `passing` what they commit outlives this process, and need not outlive a power cut.
    """
    with away(engine), engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.execution_options(reading=reading, single=single)
        elif reading or single:
            # A transaction left open would keep a server from clearing up what is deleted.
            connection.execution_options(isolation_level="AUTOCOMMIT")
        if not passing:
            yield connection
            return
        begin, end = _PASSING[engine.dialect.name]
        connection.exec_driver_sql(begin)
        try:
            yield connection
        finally:
            if not connection.invalidated:
                connection.exec_driver_sql(end)
