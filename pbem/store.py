"""The tables, and how a database is opened: SQLAlchemy on SQLite, or on any URL it knows.

All times are UTC in whole seconds. The queue is the database: what waits to be done is a row.
"""

import fcntl
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    Engine,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from pbem.faults import Away, Wrong

# The newest migration; a test holds it against the folder `migrations`.
HEAD = "0001"
MIGRATIONS = ("0001",)


class StoreFault(Wrong):
    """A database that can't be used as it is; the message names fault, place and remedy."""


class StoreAway(Away):
    """A database that can't be reached now, or is locked; it may work later."""


class Utc(TypeDecorator[datetime]):
    """A moment: aware and in UTC in the program, whole seconds, without zone in the database."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without zone; store the rest as UTC."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without zone: {value}")
        return value.astimezone(UTC).replace(tzinfo=None, microsecond=0)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time as UTC."""
        del dialect
        return None if value is None else value.replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """The tables' base, with names for every constraint from the first day."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012  (SQLAlchemy reads it off the class)
        datetime: Utc(),
        dict[str, Any]: JSON(),
        list[Any]: JSON(),
    }


class Match(Base):
    """A match: `status` is open, running, held or over; `turn` counts the phases run.

    With `early` its phase is to be run at the next tick, whatever the deadline.
    """

    __tablename__ = "matches"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(32), unique=True)
    game: Mapped[str] = mapped_column(String(64))
    status: Mapped[str] = mapped_column(String(16), index=True)
    options: Mapped[dict[str, Any]]
    settings: Mapped[dict[str, Any]]
    schedules: Mapped[list[Any]]
    zone: Mapped[str] = mapped_column(String(64))
    seed: Mapped[str] = mapped_column(Text)
    phase: Mapped[str] = mapped_column(String(32))
    turn: Mapped[int] = mapped_column(default=0)
    deadline: Mapped[datetime | None] = mapped_column(index=True)
    early: Mapped[bool] = mapped_column(default=False)
    tries: Mapped[int] = mapped_column(default=0)
    why: Mapped[str] = mapped_column(Text, default="")
    created: Mapped[datetime]

    seats: Mapped[list["Seat"]] = relationship(
        back_populates="match", order_by="Seat.position", cascade="all, delete-orphan"
    )


class Seat(Base):
    """A seat of a match and the person on it; its key makes its token."""

    __tablename__ = "seats"
    __table_args__ = (
        UniqueConstraint("match_id", "name"),
        UniqueConstraint("match_id", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    position: Mapped[int]
    name: Mapped[str] = mapped_column(String(80))
    key: Mapped[str] = mapped_column(String(64))

    match: Mapped[Match] = relationship(back_populates="seats")
    addresses: Mapped[list["Address"]] = relationship(
        back_populates="seat", order_by="Address.id", cascade="all, delete-orphan"
    )


class Address(Base):
    """An address a seat's player writes from; letters go to the first. `folded` is compared."""

    __tablename__ = "addresses"
    __table_args__ = (UniqueConstraint("seat_id", "folded"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seats.id"))
    address: Mapped[str] = mapped_column(String(320))
    folded: Mapped[str] = mapped_column(String(320), index=True)
    bounces: Mapped[int] = mapped_column(default=0)

    seat: Mapped[Seat] = relationship(back_populates="addresses")


class Message(Base):
    """A mail that came, raw, and what became of it.

    `status`: filed (orders taken), answered (none taken), held (waits for a confirmation), late,
    ignored (automatic, our own, a copy), bounced, rejected (nobody we know), refused (beyond a
    limit), shunted (our own code failed: `why` is the traceback).
    """

    __tablename__ = "messages"
    __table_args__ = (Index("ix_messages_place", "source", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    identity: Mapped[str] = mapped_column(String(64), unique=True)
    source: Mapped[str] = mapped_column(String(200))
    key: Mapped[str] = mapped_column(String(250))
    message_id: Mapped[str] = mapped_column(Text)
    sender: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    recipient: Mapped[str] = mapped_column(Text)
    received: Mapped[datetime]
    stored: Mapped[datetime] = mapped_column(index=True)
    raw: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    status: Mapped[str] = mapped_column(String(16), index=True)
    why: Mapped[str] = mapped_column(Text, default="")
    match_id: Mapped[int | None] = mapped_column(ForeignKey("matches.id"), index=True)
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seats.id"))


class Sheet(Base):
    """A sheet of orders as it came, for the phase that follows `turn`; the newest one counts.

    One without a seat is the game master's.
    """

    __tablename__ = "sheets"
    __table_args__ = (Index("ix_sheets_place", "match_id", "turn", "seat_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seats.id"))
    turn: Mapped[int]
    text: Mapped[str] = mapped_column(Text)
    received: Mapped[datetime]
    message_id: Mapped[int | None] = mapped_column(ForeignKey("messages.id"))


class Turn(Base):
    """The state after `number` phases run, with what happened in the last and the orders it took.

    `phase` is the one that was run (`setup` for number 0). `live` is true, or null once undone, so
    that the constraint holds for those that stand.
    """

    __tablename__ = "turns"
    __table_args__ = (UniqueConstraint("match_id", "number", "live"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    number: Mapped[int]
    live: Mapped[bool | None] = mapped_column(default=True)
    phase: Mapped[str] = mapped_column(String(32))
    state: Mapped[dict[str, Any]] = mapped_column(JSON, deferred=True)
    events: Mapped[list[Any]] = mapped_column(JSON, deferred=True)
    orders: Mapped[dict[str, Any]] = mapped_column(JSON, deferred=True)
    problems: Mapped[dict[str, Any]] = mapped_column(JSON, deferred=True)
    ran: Mapped[datetime]
    deadline: Mapped[datetime | None]


class Letter(Base):
    """A letter to be sent or sent, as facts: its words are made when it leaves.

    `status`: queued, sent, dropped (outlived its use), failed (given up), bounced.
    """

    __tablename__ = "letters"
    __table_args__ = (
        Index("ix_letters_queue", "status", "due"),
        Index("ix_letters_recipient", "recipient", "kind", "created"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int | None] = mapped_column(ForeignKey("matches.id"), index=True)
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seats.id"), index=True)
    kind: Mapped[str] = mapped_column(String(32))
    recipient: Mapped[str] = mapped_column(String(320))
    person: Mapped[str] = mapped_column(Text)
    answers_id: Mapped[int | None] = mapped_column(ForeignKey("messages.id"))
    turn: Mapped[int | None]
    facts: Mapped[dict[str, Any]]
    created: Mapped[datetime]
    status: Mapped[str] = mapped_column(String(16), default="queued")
    due: Mapped[datetime]
    tries: Mapped[int] = mapped_column(default=0)
    sent: Mapped[datetime | None]
    why: Mapped[str] = mapped_column(Text, default="")


class Entry(Base):
    """An entry in a match's history: when, who, what."""

    __tablename__ = "history"

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"), index=True)
    time: Mapped[datetime]
    who: Mapped[str] = mapped_column(String(80))
    what: Mapped[str] = mapped_column(String(32))
    facts: Mapped[dict[str, Any]]


class Mark(Base):
    """Something the program remembers of its own work: the last tick, a mailbox's cursor."""

    __tablename__ = "marks"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    value: Mapped[dict[str, Any]]


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
    cursor.execute("PRAGMA busy_timeout = 30000")
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
    with away(), engine.connect().execution_options(reading=True) as connection:
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
    with away(), engine.begin() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "head")


def migrations_folder() -> Path:
    """Return the folder of the migrations: inside the package as installed, else beside it."""
    here = Path(__file__).parent
    inside = here / "migrations"
    return inside if inside.exists() else here.parent / "migrations"


@contextmanager
def away() -> Iterator[None]:
    """Turn a database that is locked or can't be reached into `StoreAway`."""
    try:
        yield
    except OperationalError as error:
        raise StoreAway(f"the database can't be used now: {error.orig}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StoreAway(f"the database went away: {error.orig}") from error
        raise StoreFault(f"the database can't be used: {error.orig}") from error


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a transaction that writes: committed at the end, or rolled back by any exception."""
    with away(), Session(engine, expire_on_commit=False) as session, session.begin():
        yield session


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a transaction that only reads, and takes no lock that would stop a writer."""
    with (
        away(),
        Session(engine.execution_options(reading=True), expire_on_commit=False) as session,
    ):
        yield session


def mark(session: Session, name: str) -> dict[str, Any]:
    """Return what is remembered under a name; empty where nothing is."""
    found = session.get(Mark, name)
    return {} if found is None else dict(found.value)


def remember(session: Session, name: str, value: Mapping[str, Any]) -> None:
    """Remember a value under a name, in place of what was there."""
    session.merge(Mark(name=name, value=dict(value)))


def match_named(session: Session, name: str, *, lock: bool = False) -> Match | None:
    """Return the match of that name, its row locked where asked."""
    query = select(Match).where(Match.name == name)
    return session.scalar(query.with_for_update() if lock else query)


def turn_of(session: Session, match: Match, number: int | None = None) -> Turn | None:
    """Return a match's turn that stands, by its number (the last one if none is given)."""
    wanted = match.turn if number is None else number
    query = select(Turn).where(
        Turn.match_id == match.id, Turn.number == wanted, Turn.live.is_(True)
    )
    return session.scalar(query)


def newest_sheets(session: Session, match: Match) -> dict[int | None, Sheet]:
    """Return the sheet that counts in the phase to come, by seat id (`None`: the game master's)."""
    query = (
        select(Sheet)
        .where(Sheet.match_id == match.id, Sheet.turn == match.turn)
        .order_by(Sheet.received, Sheet.id)
    )
    return {sheet.seat_id: sheet for sheet in session.scalars(query)}


def gm_orders(session: Session, match: Match) -> str:
    """Return the game master's order lines for the phase to come."""
    sheet = newest_sheets(session, match).get(None)
    return sheet.text if sheet else ""


def queue(
    session: Session,
    kind: str,
    facts: Mapping[str, Any],
    now: datetime,
    *,
    seat: Seat,
    answers: Message | None = None,
    turn: int | None = None,
) -> Letter:
    """Put a letter to a seat into the outbox, addressed to the first of its addresses."""
    letter = Letter(
        match_id=seat.match_id,
        seat_id=seat.id,
        kind=kind,
        recipient=seat.addresses[0].address,
        person=seat.name,
        answers_id=answers.id if answers else None,
        turn=turn,
        facts=dict(facts),
        created=now,
        due=now,
    )
    session.add(letter)
    return letter


def record(
    session: Session, match: Match, now: datetime, who: str, what: str, **facts: Any
) -> None:
    """Add an entry to a match's history."""
    session.add(Entry(match_id=match.id, time=now, who=who, what=what, facts=facts))


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
        with Path(f"{path}-{work}.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
    else:
        with away(), engine.connect() as connection:
            number = zlib.crc32(f"pbem {work}".encode())
            got = bool(connection.scalar(text(f"SELECT pg_try_advisory_lock({number})")))
            try:
                yield got
            finally:
                if got:
                    connection.execute(text(f"SELECT pg_advisory_unlock({number})"))
