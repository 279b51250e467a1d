"""What columns hold: moments, dates, JSON and texts; and what is handed on for one of them that
somebody has damaged by hand."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, NoReturn

from sqlalchemy import JSON, Date, DateTime, Dialect, MetaData, String, Text
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.types import TypeDecorator

from pbem.faults import Damaged

REMEDY = (
    "mend that very value in the database, or move the database away and `pbem restore` a backup"
)


# Beyond it is no moment: what SQLite sorts there was written by hand.
LATEST = datetime.max.replace(microsecond=0, tzinfo=UTC)


class StoreDamaged(Damaged, DontWrapMixin):
    """A value that can't be read; the message names its table and column, the fault, the remedy.

    Its row is named too once it is known, by `where`.
    """

    def __init__(self, value: "Unreadable", where: str = "") -> None:
        super().__init__(f"{value.column}{where} can't be read: {value.why}; {REMEDY}")
        self.value = value
        self.where = where


class Unreadable:
    """A value that can't be read, in the place of what should be there.

    It is handed on like any value, and raises `StoreDamaged` once it is looked into: so a row that
    is damaged hinders only who needs that very value, whoever else reads the row with others.
    `found` is what the database holds.
    """

    def __init__(self, column: str, why: str, found: object) -> None:
        self.column = column
        self.why = why
        self.found = found

    def __repr__(self) -> str:
        return f"<{self.column}: {self.why}>"

    def __getattr__(self, name: str) -> NoReturn:
        # Python and SQLAlchemy ask a value whether it has such names.
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self, *_: object) -> NoReturn:
        raise StoreDamaged(self)

    __bool__ = __str__ = __iter__ = __len__ = __getitem__ = __contains__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse


class Guarded(TypeDecorator[Any]):
    """A column whose value may have been damaged by hand: then an `Unreadable` is read.

    `column` is its name in messages, with its table's.
    """

    impl: type[Any] = Text
    cache_ok = True
    # How a value is called that is none of these.
    none = ""

    def __init__(self, column: str = "") -> None:
        super().__init__()
        self.column = column

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """Return what reads a value as the database driver gives it."""
        read, column = super().result_processor(dialect, coltype), self.column

        def guarded(value: Any) -> Any:
            try:
                return read(value) if read else value
            except (ValueError, TypeError, AttributeError, RecursionError):
                return Unreadable(column, self.fault(value), value)

        return guarded

    def fault(self, value: object) -> str:
        """Say what is wrong with a value."""
        return f"{value!r:.40} is {self.none}"


class Utc(Guarded):
    """A moment: aware and in UTC in the program, whole seconds, without zone in the database."""

    impl = DateTime
    cache_ok = True
    none = "no time"

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without zone; store the rest as UTC."""
        del dialect
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without zone: {value}")
        return value.astimezone(UTC).replace(tzinfo=None, microsecond=0)

    def process_result_value(
        self, value: datetime | str | None, dialect: Dialect
    ) -> datetime | None:
        """Return the time, which PostgreSQL gives as text, as UTC; refuse one that bears a zone, as
        none was stored so."""
        del dialect
        if value is None:
            return None
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if moment.tzinfo is not None:
            raise ValueError
        return moment.replace(tzinfo=UTC)


class Day(Guarded):
    """A date."""

    impl = Date
    cache_ok = True
    none = "no date"

    def process_result_value(self, value: date | str | None, dialect: Dialect) -> date | None:
        """Return the date, which PostgreSQL gives as text."""
        del dialect
        return date.fromisoformat(value) if isinstance(value, str) else value


class Json(Guarded):
    """A JSON value of a kind: an object or an array."""

    impl = JSON
    cache_ok = True

    def __init__(self, kind: type[Any], column: str = "") -> None:
        super().__init__(column)
        self.kind = kind

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Refuse JSON of another kind."""
        del dialect
        if type(value) is not self.kind:
            raise TypeError
        return value

    def fault(self, value: object) -> str:
        """Say what is wrong with some JSON, and nothing of what it holds: that may be secret."""
        try:
            if isinstance(value, str | bytes):
                json.loads(value)
        except (ValueError, RecursionError) as error:
            return f"it is no JSON ({error})"
        return f"it is no JSON {'object' if self.kind is dict else 'array'}"


def name_columns(metadata: MetaData) -> None:
    """Have each column know its name, with its table's, to be named by if it can't be read."""
    for table in metadata.tables.values():
        for column in table.columns:
            if isinstance(column.type, Guarded):
                column.type = column.type.copy()
                column.type.column = f"{table.name}.{column.name}"


def storable(text: str) -> str:
    """Return a text as every database takes it: without NUL (fact 27 of what mail does), and with
    U+FFFD for what is no character, half of a surrogate pair."""
    text = text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Name(TypeDecorator[str]):
    """A short text, of at most so many characters, stored as every database takes it."""

    impl: type[String] = String
    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        """What such a column holds."""
        return str

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Leave out what some database would refuse."""
        del dialect
        return None if value is None else storable(value)


class Words(Name):
    """A text of any length, stored as every database takes it."""

    impl = Text
    cache_ok = True
