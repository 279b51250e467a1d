"""What one process does at a time: by a file's lock on SQLite, elsewhere by an advisory one."""

import fcntl
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TextIO

from sqlalchemy import Connection, Engine, text
from sqlalchemy.orm import Session

from pbem.store import files
from pbem.store.database import StoreAway, connected, file_of

# Other programs that use the database may have numbers of their own: ours are the pairs with a 1.
_EXCHANGE = text(
    "SELECT number, pg_try_advisory_lock(1, number) AS is_ours"
    " FROM unnest(CAST(:wanted AS integer[])) AS number"
    " UNION ALL SELECT NULL, pg_advisory_unlock(1, number)"
    " FROM unnest(CAST(:held AS integer[])) AS number"
)
_TRY = text("SELECT pg_try_advisory_xact_lock(1, :number)")
_WAIT = text("SELECT pg_advisory_xact_lock(1, :number)")


@contextmanager
def alone(engine: Engine, work: str) -> Iterator[bool]:
    """Do some work in one process at a time; yield whether it is this one's turn.

    The lock dies with the process that holds it: a file's on SQLite, elsewhere an advisory one of a
    connection that is opened for it.
    """
    path = file_of(engine)
    if path is not None:
        with _lock_file(path, Path(f"{path}-{work}.lock")) as file:
            yield _is_locked(file)
    elif engine.dialect.name == "sqlite":
        yield True
    else:
        with connected(engine, reading=True) as connection, closing(Claim(connection)) as claim:
            yield bool(claim.take((work,)))


class Claim:
    """Works in this process's hand, while the others leave them alone: the next ones, or these.

    They are let go as the next are taken, and lost with their connection, which is `reading` or
    `single` (`connected`). On SQLite, where one process at a time does such work, all are free.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: list[int] = []

    def take(self, works: Iterable[str]) -> list[str]:
        """Let go of what is in hand, and take works; return those that no other process has."""
        if self._connection.dialect.name == "sqlite":
            return list(works)
        wanted = {_number(work): work for work in works}
        given = {"wanted": list(wanted), "held": self._held}
        found = self._connection.execute(_EXCHANGE, given)
        self._held = [one.number for one in found if one.number is not None and one.is_ours]
        return [wanted[number] for number in self._held]

    def close(self) -> None:
        """Let go of what is in hand."""
        if self._held and not self._connection.invalidated:
            self.take(())


def hold(session: Session, work: str, *, wait: bool = False) -> bool:
    """Have a work to oneself until the transaction ends, as with `alone`; tell whether it is.

    On SQLite it always is: one transaction writes at a time.
    """
    if session.get_bind().dialect.name == "sqlite":
        return True
    got = session.scalar(_WAIT if wait else _TRY, {"number": _number(work)})
    # What waits returns nothing.
    return wait or bool(got)


def _number(work: str) -> int:
    return zlib.crc32(f"pbem {work}".encode()) - 2**31


def _lock_file(path: Path, lock: Path) -> TextIO:
    """Open a lock file, made where it isn't there; raise `StoreAway` where that can't be."""
    try:
        return files.open_lock(path, lock)
    except OSError as error:
        helps = files.remedy(path) or files.WRITABLE
        raise StoreAway(f"{lock}: {error.strerror}; {helps}, then try again") from error


def _is_locked(file: TextIO) -> bool:
    """Lock a file; tell whether that could be done."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
