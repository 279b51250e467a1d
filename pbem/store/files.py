"""The files of a SQLite database: how they are made, and which of them can't be used."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TextIO

# What the file itself is not: SQLite's log, and the index of that.
BESIDE = ("-wal", "-shm")


def make(path: Path) -> None:
    """Make an empty file that only its owner can read, where none is; else leave all as it is.

    SQLite gives the files it makes beside a database the mode of that. Where it can't be made,
    SQLite will say why.
    """
    # One that is there must not be opened: closing it would end the locks SQLite has on it.
    with suppress(OSError):
        os.close(os.open(os.path.realpath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_lock(path: Path, lock: Path) -> TextIO:
    """Open a database's lock file, made for those who may use the database; raise `OSError`."""
    mode = 0o600
    with suppress(OSError):
        mode |= stat.S_IMODE(path.stat().st_mode) & 0o666
    return open(lock, "a", opener=lambda name, flags: os.open(name, flags, mode))


def readable_by_others(path: Path) -> list[Path]:
    """Return the files with a database's content that others than its owner can read."""
    found = []
    for file in (path, *(Path(f"{path}{end}") for end in BESIDE)):
        with suppress(OSError):
            if file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
                found.append(file)
    return found
