"""What one process does at a time: by a file's lock on SQLite, elsewhere by an advisory one."""

import fcntl
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TextIO

from sqlalchemy import Connection, Engine, TextClause, text
from sqlalchemy.orm import Session

from pbem.store import database, files
from pbem.store.database import StoreAway, away, connected, file_of


@contextmanager
def alone(
    place: Engine | Connection, work: str, item: str = "", *, wait: bool = False
) -> Iterator[bool]:
    """Do some work in one process at a time; yield whether it is this one's turn.

    With `item` one process at a time works on each item; on SQLite, on any. With `wait` another
    process is waited for, and `StoreAway` raised where that takes longer than for any lock. The
    lock dies with the process that holds it: a file's on SQLite, elsewhere an advisory one of the
    connection, which is `reading` or `single` (`connected`), or is opened for it.
    """
    engine = place.engine
    path = file_of(engine)
    if path is not None:
        with _lock_file(path, Path(f"{path}-{work}.lock")) as file:
            ours = _is_locked(file, database.PATIENCE / 1000 if wait else 0)
            if wait and not ours:
                what = f"{work} {item}".strip()
                raise StoreAway(f"{path}: another process has {what} in hand; try again later")
            yield ours
    elif engine.dialect.name == "sqlite":
        yield True
    else:
        number = _number(f"{work} {item}" if item else work)
        opened = connected(place, reading=True) if isinstance(place, Engine) else nullcontext(place)
        with away(engine), opened as connection:
            if wait:
                connection.execute(_lock("pg_advisory_lock"), number)
            got = wait or bool(connection.scalar(_lock("pg_try_advisory_lock"), number))
            try:
                yield got
            finally:
                if got and not connection.invalidated:
                    connection.execute(_lock("pg_advisory_unlock"), number)


def hold(session: Session, work: str, *, wait: bool = False) -> bool:
    """Have a work to oneself until the transaction ends, as with `alone`; tell whether it is.

    On SQLite it always is: one transaction writes at a time.
    """
    if session.get_bind().dialect.name == "sqlite":
        return True
    if wait:
        session.execute(_lock("pg_advisory_xact_lock"), _number(work))
        return True
    return bool(session.scalar(_lock("pg_try_advisory_xact_lock"), _number(work)))


def _lock(function: str) -> TextClause:
    # Other programs that use the database may have numbers of their own.
    return text(f"SELECT {function}(1, :number)")


def _number(work: str) -> dict[str, int]:
    return {"number": zlib.crc32(f"pbem {work}".encode()) - 2**31}


def _lock_file(path: Path, lock: Path) -> TextIO:
    """Open a lock file, made where it isn't there; raise `StoreAway` where that can't be."""
    try:
        return files.open_lock(path, lock)
    except OSError as error:
        helps = files.remedy(path) or files.WRITABLE
        raise StoreAway(f"{lock}: {error.strerror}; {helps}, then try again") from error


def _is_locked(file: TextIO, patience: float) -> bool:
    """Lock a file; tell whether that could be done within so many seconds."""
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        else:
            return True
