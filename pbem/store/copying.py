"""A whole database copied into another, of whichever kind, in one transaction and compared.

The source is read in one snapshot and left as it is. Rows pass in batches, so that an installation
of any size needs little memory.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    Integer,
    LargeBinary,
    Table,
    collate,
    delete,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.orm import Session

from pbem.store.columns import StoreDamaged, Unreadable, storable
from pbem.store.database import (
    HEAD,
    StoreFault,
    away,
    connect,
    create,
    file_of,
    shown,
    stored_version,
)
from pbem.store.tables import Base, Match

# Rows taken at a time; fewer of a table whose rows may have megabytes.
BATCH = 500
HEAVY_BATCH = 8

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: rows by table, as they were counted in the target."""

    rows: Mapping[str, int]


def move(source_url: str, target_url: str) -> Copied:
    """Copy the database at one URL into that at another, which is made if it isn't there.

    Raise `StoreFault` where the source has not this program's version, or the target holds matches.
    """
    source, target = connect(source_url), connect(target_url)
    try:
        check_source(source)
        if _place(source) == _place(target):
            raise StoreFault(f"{shown(target)}: that is the same database; name another for TO")
        return fill(source, target)
    finally:
        source.dispose()
        target.dispose()


def _place(engine: Engine) -> str:
    path = file_of(engine)
    return str(path.resolve() if path else engine.url)


def check_source(source: Engine) -> None:
    """Raise `StoreFault` for a database that can't be copied as it is."""
    path = file_of(source)
    if path is not None and not path.exists():
        raise StoreFault(f"{path}: no database there; name the one to copy from")
    version = stored_version(source)
    if version is None:
        raise StoreFault(f"{shown(source)}: holds no pbem tables; name the one to copy from")
    if version != HEAD:
        raise StoreFault(
            f"{shown(source)}: is of version {version}, and this program of {HEAD}; any command "
            "that uses it migrates it (`pbem status`), after a `pbem backup`"
        )


def fill(
    source: Engine, target: Engine, settle: Callable[[Session], None] = lambda _: None
) -> Copied:
    """Copy all rows of a database into another that has no matches, compare them, and `settle`.

    The target's tables are made where it has none; all of it is done there, or nothing. Raise
    `StoreFault` for a target that holds matches.
    """
    create(target.url)
    with away(source), snapshot(source) as reads, away(target), target.begin() as writes:
        if target.dialect.name == "postgresql":
            # Nobody reads or writes half of it meanwhile.
            names = ", ".join(table.name for table in Base.metadata.sorted_tables)
            writes.execute(text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
        found = writes.scalar(select(func.count()).select_from(Match))
        if found:
            count = "a match" if found == 1 else f"{found} matches"
            raise StoreFault(
                f"{shown(target)}: holds {count} already; name a database that is new or empty"
            )
        for table in reversed(Base.metadata.sorted_tables):
            writes.execute(delete(table))
        for table in Base.metadata.sorted_tables:
            for batch in _batches(_rows(reads, table), _size(table)):
                writes.execute(insert(table), batch)
        counts = {
            table.name: _compare(reads, writes, table) for table in Base.metadata.sorted_tables
        }
        with Session(writes) as session:
            settle(session)
            session.flush()
        _set_sequences(writes)
    return Copied(counts)


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that only reads, and sees nothing of what others write meanwhile."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            yield connection.execution_options(reading=True)
            return
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        yield connection.execution_options(**options)


def _set_sequences(connection: Connection) -> None:
    """Have the next row of each table numbered after the last one that is there."""
    if connection.dialect.name != "postgresql":
        return
    for table in Base.metadata.sorted_tables:
        (key,) = table.primary_key.columns
        if isinstance(key.type, Integer):
            last = connection.scalar(select(func.max(key)))
            sequence = func.pg_get_serial_sequence(table.name, key.name)
            connection.execute(select(func.setval(sequence, last or 1, last is not None)))


def _size(table: Table) -> int:
    heavy = any(isinstance(column.type, LargeBinary) for column in table.columns)
    return HEAVY_BATCH if heavy else BATCH


def _rows(connection: Connection, table: Table) -> Generator[Row, None, None]:
    """Yield all rows of a table by its key, as every database stores them."""
    (key,) = table.primary_key.columns
    is_name = not isinstance(key.type, Integer)
    # SQLite sorts names by their bytes; PostgreSQL would by a language's rules.
    order = collate(key, "C") if is_name and connection.dialect.name == "postgresql" else key
    query = select(table).order_by(order).execution_options(yield_per=_size(table))
    with connection.execute(query) as found:
        for row in found:
            yield {name: _storable(value) for name, value in row._mapping.items()}


def _storable(value: Any) -> Any:
    """Return a value as every database stores it; raise `StoreDamaged` for one that can't be."""
    if isinstance(value, Unreadable):
        raise StoreDamaged(value)
    return storable(value) if isinstance(value, str) else value


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch


def _compare(source: Connection, target: Connection, table: Table) -> int:
    """Compare a table row by row; return how many rows it has, raise `StoreFault` where one
    differs."""
    count = 0
    with closing(_rows(source, table)) as ours, closing(_rows(target, table)) as theirs:
        for here, there in zip_longest(ours, theirs):
            if here != there:
                (key,) = table.primary_key.columns
                which = (here or there or {}).get(key.name)
                raise StoreFault(
                    f"{table.name} {which!r} was not copied as it is, so nothing was; "
                    "please report it"
                )
            count += 1
    return count
