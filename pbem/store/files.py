"""The files of a SQLite database: how they are made, and which of them can't be used."""

import glob
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

# What the file itself is not: SQLite's log, and the index of that.
BESIDE = ("-wal", "-shm")

# What helps where none of the files is found to be at fault.
WRITABLE = "let the user who runs pbem write it and its folder (chown)"


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


def readable_by_others(path: Path) -> Path | None:
    """Return the database, or else its log, where others than the owner can read that.

    A log made later has the database's mode; one that is there keeps its own.
    """
    for file in (path, Path(f"{path}-wal")):
        with suppress(OSError):
            if file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
                return file
    return None


def not_ours(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file of a database, and its folder, that this user can't use; with the remedy.

    They are the database, its log and index, its lock files; what isn't there is no fault.
    """
    locks = sorted(path.parent.glob(f"{glob.escape(path.name)}-*.lock"))
    for file in (path, *(Path(f"{path}{end}") for end in BESIDE), *locks, path.parent):
        # What lies in a folder that can't be entered is not the one at fault.
        with suppress(FileNotFoundError, PermissionError):
            found = file.stat()
            enter = os.X_OK if stat.S_ISDIR(found.st_mode) else 0
            needed = os.R_OK | os.W_OK | enter
            if not os.access(file, needed):
                yield file, mended(file, found, os.geteuid())


def mended(file: Path, found: os.stat_result, user: int) -> str:
    """Return what lets a user write a file or folder that he can't write as it is.

    `found` is what `os.stat` says of it, `user` the number of the user.
    """
    needed = stat.S_IRWXU if stat.S_ISDIR(found.st_mode) else stat.S_IRUSR | stat.S_IWUSR
    missing = needed & ~found.st_mode
    if user and found.st_uid != user:
        return f"chown {file} to the user who runs pbem, and run it as no other"
    if user and missing:
        letters = (("r", stat.S_IRUSR), ("w", stat.S_IWUSR), ("x", stat.S_IXUSR))
        return f"chmod u+{''.join(letter for letter, bit in letters if missing & bit)} {file}"
    return f"mount the disk of {file} so that it can be written"


def remedy(path: Path) -> str:
    """Return what lets this user write a database; nothing where its files are not at fault."""
    return ", ".join(helps for _, helps in not_ours(path))
