"""Rows that somebody has damaged by hand: which they are, among all there are."""

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    FromClause,
    LargeBinary,
    Select,
    Table,
    null,
    select,
)
from sqlalchemy.exc import DBAPIError

from pbem.store.columns import StoreDamaged, Unreadable
from pbem.store.tables import Base, Match, Seat

# Rows looked at a time: a turn's may have some hundred kilobytes.
_BATCH = 100
# So many rows are named where several are damaged alike.
_MOST = 3
_NAMED = {int: "no number", str: "no text"}


def found(connection: Connection, columns: Collection[str] = ()) -> Iterator[StoreDamaged]:
    """Yield each value that can't be read, its row named: of some columns only, if they are given.

    Columns are named with their tables.
    """
    for table in Base.metadata.sorted_tables:
        wanted = [
            one
            for one in table.columns
            if not isinstance(one.type, LargeBinary) and (not columns or _name(one) in columns)
        ]
        if not wanted:
            continue
        kinds = [one.type.python_type for one in wanted]
        query = _rows(table, wanted).execution_options(yield_per=_BATCH)
        for key, match, *values in connection.execute(query):
            for column, kind, value in zip(wanted, kinds, values, strict=True):
                if isinstance(value, Unreadable):
                    yield StoreDamaged(value, _named(key, match))
                # SQLite takes any value for a number, or a text.
                elif kind in _NAMED and value is not None and not isinstance(value, kind):
                    wrong = f"{value!r:.40} is {_NAMED[kind]}"
                    yield StoreDamaged(Unreadable(_name(column), wrong, value), _named(key, match))


def _name(column: Column[Any]) -> str:
    return f"{column.table.name}.{column.name}"


def check(row: Base) -> None:
    """Raise `StoreDamaged` where a value of a row, as far as it was read, can't be read."""
    for value in vars(row).values():
        if isinstance(value, Unreadable):
            raise StoreDamaged(value)


def _rows(table: Table, columns: Collection[Column[Any]]) -> Select[Any]:
    """Return the query for a table's keys, with the name of each row's match, and some columns."""
    matches, seats = Match.__table__, Seat.__table__
    (key,) = table.primary_key.columns
    name: ColumnElement[Any] = matches.c.name
    origin: FromClause = table
    if "match_id" in table.c:
        origin = table.outerjoin(matches, table.c.match_id == matches.c.id)
    elif "seat_id" in table.c:
        origin = table.outerjoin(seats, table.c.seat_id == seats.c.id)
        origin = origin.outerjoin(matches, seats.c.match_id == matches.c.id)
    elif table is not matches:
        name = null()
    query = select(key, name, *columns)
    return query.select_from(origin).order_by(key)


def _named(key: object, match: str | None) -> str:
    return f" of {match} (row {key})" if match else f" (row {key!r})"


def located(place: Engine | Connection, error: StoreDamaged) -> StoreDamaged:
    """Return an error with the rows named that hold such a value; as it is where none is found.

    They are looked for by a connection of its own.
    """
    if error.where:
        return error
    try:
        with place.engine.connect().execution_options(reading=True) as connection:
            alike = [
                one.where
                for one in found(connection, (error.value.column,))
                if one.value.found == error.value.found
            ]
    except DBAPIError:
        return error
    more = f" and {len(alike) - _MOST} more" if len(alike) > _MOST else ""
    return StoreDamaged(error.value, f"{','.join(alike[:_MOST])}{more}")
