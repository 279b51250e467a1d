"""Backups: the whole of a running database in one SQLite file, and that put back."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import URL, Engine, func, select
from sqlalchemy.orm import Session

from pbem.store.copying import Copied, fill
from pbem.store.database import (
    HEAD,
    StoreAway,
    StoreFault,
    away,
    connect,
    file_of,
    migrate,
    remedy,
    shown,
    stored_version,
)
from pbem.store.rows import queue_apart, record, remembered
from pbem.store.tables import Letter, Match

# Marks a file as a backup in its header, where SQLite has room for it: "pbem".
_OURS = 0x7062656D
# Letters made after a backup bear numbers, and Message-IDs made of them, that must not come twice.
_GAP = 1_000_000
# Nor must those made after another restore of the same backup: numbers go by the clock from here.
# Its seconds fit PostgreSQL's 31 bits until 2088.
_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore put back: the rows, and what the game master has to know of it, in sentences.

    `saved` is when the backup was made, `None` where it doesn't say.
    """

    copied: Copied
    saved: datetime | None
    says: tuple[str, ...]
    remedies: tuple[str, ...]


def backup(engine: Engine, path: Path, now: datetime) -> bool:
    """Save a database that may be in use as one SQLite file; tell whether an older backup went.

    The file is written beside its place and put there when it is complete and on the disk; only
    its owner can read it, for it holds all secrets. Raise `StoreFault` where that can't be, or
    where the place is taken by anything but a backup.
    """
    replaces = _is_there(path, engine)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        why = f"{path.parent}: {error.strerror}"
        raise StoreFault(f"{why}; name a folder that is there and can be written") from None
    os.close(handle)
    draft = Path(name)
    try:
        if file_of(engine) is not None:
            _copy_pages(engine, draft)
        else:
            _copy_rows(engine, draft)
        _seal(draft, now)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except sqlite3.Error as error:
        raise StoreAway(f"{path}: {error}; {remedy(str(error))}") from error
    except OSError as error:
        why = "make room on its disk, or name another place"
        raise StoreAway(f"{path}: {error.strerror}; {why}") from error
    finally:
        for left in (draft, Path(f"{name}-wal"), Path(f"{name}-shm"), Path(f"{name}-journal")):
            left.unlink(missing_ok=True)
    return replaces


def _is_there(path: Path, engine: Engine) -> bool:
    """Tell whether an older backup is there; raise `StoreFault` for anything else."""
    if not path.exists():
        return False
    ours = file_of(engine)
    if ours is not None and path.samefile(ours):
        raise StoreFault(f"{path}: that is the database itself; name another file")
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(72)
    # Bytes 68 to 71 of SQLite's header are the application's.
    if not head.startswith(b"SQLite format 3\0") or head[68:72] != _OURS.to_bytes(4, "big"):
        raise StoreFault(f"{path}: is there, and no backup of pbem's; name another file")
    return True


def _copy_pages(engine: Engine, draft: Path) -> None:
    """Copy a SQLite file that may be in use, as of one moment: readers keep no writer waiting."""
    with away(engine), engine.connect() as connection, closing(sqlite3.connect(draft)) as target:
        source = connection.connection.driver_connection
        if not isinstance(source, sqlite3.Connection):
            raise TypeError(f"{shown(engine)} is no SQLite database")
        # All pages in one step: in more, each write of others would begin the copy anew.
        source.backup(target, pages=-1)


def _copy_rows(engine: Engine, draft: Path) -> None:
    target = connect(URL.create("sqlite", database=str(draft)))
    try:
        fill(engine, target)
    finally:
        target.dispose()


def _seal(draft: Path, now: datetime) -> None:
    """Make one file of a copy, look whether it is sound, and mark it as a backup."""
    with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE")
        said = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        if said != "ok":
            raise StoreFault(f"the database is damaged: {said}; restore an older backup")
        copy.execute(f"PRAGMA application_id = {_OURS}")
        value = f'{{"time": "{now.isoformat()}"}}'
        copy.execute("INSERT OR REPLACE INTO marks (name, value) VALUES ('backup', ?)", (value,))


def restore(engine: Engine, path: Path, now: datetime, *, hold: bool = False) -> Restored:
    """Put a backup back into a database that holds no matches.

    An older backup is migrated, in a copy. With `hold` the clock of each match stands still until
    it is released. Raise `StoreFault` for a file that is no backup, damaged or of a newer program,
    and for a database with matches in it.
    """
    told: list[tuple[datetime | None, list[str], list[str]]] = []
    with tempfile.TemporaryDirectory(prefix="pbem-restore-") as folder:
        source = _sound(path, Path(folder))
        try:
            copied = fill(source, engine, lambda session: told.append(_settle(session, now, hold)))
        finally:
            source.dispose()
    saved, says, remedies = told[0]
    return Restored(copied, saved, tuple(says), tuple(remedies))


def _sound(path: Path, folder: Path) -> Engine:
    """Open a backup for reading, a copy of this version where it is older; raise `StoreFault`."""
    if not path.is_file():
        raise StoreFault(f"{path}: no such file; name a backup")
    another = "name another backup"
    try:
        # A plain copy of a database that was in use is only whole with the log beside it.
        draft = folder / "backup.sqlite"
        shutil.copyfile(path, draft)
        log = Path(f"{path}-wal")
        if log.exists():
            shutil.copyfile(log, f"{draft}-wal")
        with closing(sqlite3.connect(draft)) as copy:
            said = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
            (pages,) = copy.execute("PRAGMA page_count").fetchone()
            (size,) = copy.execute("PRAGMA page_size").fetchone()
        # What is missing of the last page SQLite takes for zeros.
        if path.stat().st_size % size and not log.exists():
            said = f"it has {path.stat().st_size} bytes and should have {pages * size}"
    except sqlite3.Error as error:
        raise StoreFault(f"{path}: is no backup, or a damaged one: {error}; {another}") from None
    except OSError as error:
        room = f"make it readable, and room in {folder.parent}"
        raise StoreFault(f"{path}: {error.strerror}; {room}") from None
    if said != "ok":
        raise StoreFault(f"{path}: is damaged: {' '.join(said.split())}; {another}")
    source = connect(URL.create("sqlite", database=str(draft)))
    version = stored_version(source)
    if version is None:
        raise StoreFault(f"{path}: holds no pbem tables; {another}")
    if version != HEAD:
        migrate(source)
    return source


def _settle(
    session: Session, now: datetime, hold: bool
) -> tuple[datetime | None, list[str], list[str]]:
    """Have a database that was put back go on from there, and tell the game master by a letter.

    Return when it was saved, what there is to say, and what to do.
    """
    saved = remembered(session, "backup", "time")
    running = select(Match).where(Match.status == "running").order_by(Match.id)
    late = [one.name for one in session.scalars(running.where(Match.deadline <= now))]
    if hold:
        for match in session.scalars(running):
            match.status, match.why = "held", "put back from a backup"
            record(session, match, now, "gm", "held", why=match.why)
    queued = session.scalar(select(func.count()).where(Letter.status == "queued")) or 0
    says = [
        "What came, was run and was sent since the backup was made is not in the database.",
        "Mails that came since lie where a mailbox keeps what was taken in: in the folder "
        "Processed of IMAP, in `cur` of a Maildir. Moved back into the inbox (into `new`), they "
        "are taken in as of their receipt; what the database knows is not taken in twice. Mails "
        "that came by pipe or LMTP lie nowhere: ask for them again.",
        "A turn that was run since is to be run again; from the same orders it comes out the same.",
    ]
    if queued:
        says.append(
            f"Letters that waited then: {queued}. They leave (again, it may be) under the same "
            "Message-ID."
        )
    if hold:
        says.append("The clock of all matches stands still; orders are taken.")
        remedies = ["pbem gm <match> RELEASE, once the mails are back"]
    elif late:
        says.append(f"Past their deadline, to be run at the next tick: {', '.join(late)}.")
        remedies = [
            "pbem gm <match> HOLD, before the next tick, until the mails are back; then RELEASE",
            "pbem resume --yes, where the deadline is past by more than the phase",
        ]
    else:
        remedies = ["pbem status shows what is due when"]
    about = f"The database was put back from a backup{f' of {saved.isoformat()}' if saved else ''}"
    facts = {"about": about, "sentences": says, "remedies": remedies}
    newest = session.scalar(select(func.max(Letter.id))) or 0
    queue_apart(session, "notice", facts, now, match=None).id = _first_number(newest, saved, now)
    return saved, says, remedies


def _first_number(newest: int, saved: datetime | None, now: datetime) -> int:
    """Return the number that letters made after a restore begin at.

    It is beyond those of letters sent since the backup, fewer than a million, and beyond where any
    earlier restore of the same backup began. The seconds since 2020 are that, as a rule; where the
    backup is of what was itself restored not long before, the next million and the seconds since
    the backup are more.
    """
    since = (now - saved) // timedelta(seconds=1) if saved else 0
    by_clock = (now - _EPOCH) // timedelta(seconds=1)
    return max((newest // _GAP + 1) * _GAP + max(since, 0), by_clock)
