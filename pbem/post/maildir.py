"""A Maildir, as a mailbox and as a way out (https://cr.yp.to/proto/maildir.html)."""

import itertools
import os
import socket
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from pbem.post import (
    HEAD,
    Accepted,
    Arrived,
    Cursor,
    Known,
    Refused,
    Sent,
    Unreachable,
    fault_of_address,
    log,
    nothing_known,
)

_FOLDERS = ("tmp", "new", "cur")
_counter = itertools.count()


class _Found(NamedTuple):
    """A file of the Maildir: its key, where it lies, and whether it bears the flag S."""

    key: str
    path: Path
    seen: bool


class _Read(NamedTuple):
    """Which file was read under a key, its inode if that matters: names may occur twice."""

    path: Path
    inode: int | None


class MaildirSource:
    """The mailbox in a Maildir: all in `new`, and what bears no flag S (seen) in `cur`."""

    def __init__(self, path: Path, size_limit: int) -> None:
        self.name = f"maildir {path}"
        self.cursor = Cursor()
        self.missed: Mapping[str, str] = {}
        self._path = path
        self._size_limit = size_limit
        self._read_as: dict[str, _Read] = {}

    def fetch(self, known: Known = nothing_known) -> Iterator[Arrived]:
        """Yield what lies here, oldest first (see `Source.fetch`)."""
        missed: dict[str, str] = {}
        self.missed = missed
        _complete(self._path)
        waiting = {found.key: found for found in self._listed() if not found.seen}
        found_stored = known(list(waiting))
        stored = [key for key in waiting if key in found_stored]
        self.confirm(stored)
        for key in stored:
            del waiting[key]
        for found in sorted(waiting.values(), key=_age):
            try:
                arrived = self._read(found) or self._read(self._again(found))
            except OSError as error:
                missed[found.key] = f"it can't be read: {error.strerror}"
                log.warning("%s: %s: %s", self.name, found.key, missed[found.key])
                continue
            if arrived:
                yield arrived

    def confirm(self, keys: Sequence[str]) -> None:
        """Move messages to `cur` with the flag S, keeping their other flags."""
        # Most lie where they were read; only for the others is all listed again.
        wanted = {key for key in keys if not self._put_away(key, self._read_as.get(key))}
        for found in self._listed() if wanted else ():
            if found.key not in wanted or found.seen:
                continue
            inode = self._read_as[found.key].inode if found.key in self._read_as else None
            if not self._put_away(found.key, _Read(found.path, inode)):
                log.info("%s: %s is gone, or another message by now", self.name, found.key)
        for key in keys:
            self._read_as.pop(key, None)

    def _put_away(self, key: str, read: _Read | None) -> bool:
        """Move one message to `cur`, if it lies at that path, and is the one that was read."""
        try:
            if read is None or read.inode not in (None, read.path.stat().st_ino):
                return False
            read.path.rename(self._seen_name(read.path))
        except FileNotFoundError:
            return False
        except OSError as error:
            raise Unreachable(
                f"{self.name}: {key} can't be moved to cur: {error.strerror}; "
                "give the program the right to write there",
                lasting=True,
            ) from error
        return True

    def close(self) -> None:
        """Do nothing: a Maildir has no connection."""

    def _seen_name(self, path: Path) -> Path:
        """Return where a message goes once it is taken in, under a name no other bears there."""
        base, flags = _parts(path.name)
        info = f":2,{''.join(sorted({*flags, 'S'}))}"
        names = (f"{base}{info}", *(f"{base}.{again}{info}" for again in range(2, 1000)))
        free = (self._path / "cur" / name for name in names)
        # A rename would silently replace another message of the same name.
        return next(place for place in free if not place.exists())

    def _listed(self) -> Iterator[_Found]:
        """Yield the files of `new`, then those of `cur`: so none moved meanwhile is overlooked."""
        for folder in ("new", "cur"):
            try:
                paths = sorted((self._path / folder).iterdir())
            except OSError as error:
                raise Unreachable(
                    f"{self.name}: {folder} can't be read: {error.strerror}", lasting=True
                ) from error
            for path in paths:
                base, flags = _parts(path.name)
                if base and not base.startswith("."):
                    # A name may hold bytes that no database takes.
                    key = base if base.isprintable() else repr(base)
                    yield _Found(key, path, folder == "cur" and "S" in flags)

    def _again(self, gone: _Found) -> _Found:
        """Find a message that another program has moved or flagged since it was listed."""
        return next((found for found in self._listed() if found.key == gone.key), gone)

    def _read(self, found: _Found) -> Arrived | None:
        """Return a message; `None` for what is gone, or is no ordinary file."""
        try:
            status = found.path.stat()
            # A pipe that somebody left here would block for ever.
            if not stat.S_ISREG(status.st_mode):
                return None
            self._read_as[found.key] = _Read(found.path, status.st_ino)
            large = status.st_size > self._size_limit
            with found.path.open("rb") as file:
                raw = file.read(min(HEAD, self._size_limit)) if large else file.read()
        except FileNotFoundError:
            return None
        try:
            received = datetime.fromtimestamp(status.st_mtime // 1, UTC)
        except (ValueError, OverflowError):
            log.warning("%s: %s has an impossible time; now is taken", self.name, found.key)
            received = datetime.now(UTC).replace(microsecond=0)
        return Arrived(found.key, raw, received, status.st_size if large else len(raw))


class MaildirSender:
    """A way out that lays each letter into a Maildir, as a mail server would."""

    def __init__(self, path: Path) -> None:
        self.name = f"maildir {path}"
        self._path = path

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Sent:
        """Lay down one letter, with `Return-Path` and `Delivered-To` on top (see `Sender.send`)."""
        if envelope_from and (fault := fault_of_address(envelope_from)):
            return Refused(fault, "sender")
        if fault := fault_of_address(recipient):
            return Refused(fault, "recipient")
        end = "\r\n" if raw.partition(b"\n")[0].endswith(b"\r") else "\n"
        top = f"Return-Path: <{envelope_from}>{end}Delivered-To: {recipient}{end}"
        try:
            return Accepted(f"laid down as {deliver(self._path, top.encode() + raw)}")
        except OSError as error:
            raise Unreachable(
                f"{self.name}: no letter can be laid down: {error.strerror}"
            ) from error

    def probe(self) -> None:
        """Make the Maildir, if it is missing, and try to write there (see `Sender.probe`)."""
        make(self._path)
        draft = self._path / "tmp" / "probe"
        try:
            draft.write_bytes(b"")
            draft.unlink()
        except OSError as error:
            raise Unreachable(
                f"{self.name}: tmp can't be written: {error.strerror}", lasting=True
            ) from error

    def close(self) -> None:
        """Do nothing: a Maildir has no connection."""


def deliver(path: Path, raw: bytes, received: datetime | None = None) -> str:
    """Put a message into the `new` of a Maildir, made if missing, and return its key.

    The message appears there whole or not at all. `received` becomes the file's time (default:
    now). Raise `OSError` where it can't be written, `Unreachable` where the path is no Maildir.
    """
    make(path)
    host = socket.gethostname().replace("/", "_").replace(":", "_")
    now = time.time_ns()
    key = f"{now // 10**9}.M{now // 1000 % 10**6}P{os.getpid()}Q{next(_counter)}.{host}"
    draft = path / "tmp" / key
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        if received is not None:
            os.utime(draft, (received.timestamp(), received.timestamp()))
        draft.rename(path / "new" / key)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    # The name itself must outlive a power cut too.
    folder = os.open(path / "new", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return key


def make(path: Path) -> None:
    """Make a Maildir, or the folders it lacks; raise `Unreachable` where it can be none."""
    try:
        here = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        if "new" not in here and any(not name.startswith(".") for name in here):
            raise Unreachable(
                f"maildir {path}: it holds other things and no folder new; name a Maildir",
                lasting=True,
            )
        for folder in _FOLDERS:
            (path / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unreachable(
            f"maildir {path}: it can't be made or read: {error.strerror}; mend the path or its "
            "rights",
            lasting=True,
        ) from error


def _complete(path: Path) -> None:
    """Make what a mailbox lacks besides `new`; raise `Unreachable` where it has no `new`.

    A disk that is not mounted leaves no folder, or an empty one: a mailbox made there would hide
    that its mail is away.
    """
    try:
        (path / "new").stat()
        for folder in _FOLDERS:
            (path / folder).mkdir(mode=0o700, exist_ok=True)
    except FileNotFoundError:
        raise Unreachable(
            f"maildir {path}: no folder new is there; mount it, make it (`pbem init` does), or "
            "mend its path in the config",
            lasting=True,
        ) from None
    except OSError as error:
        raise Unreachable(
            f"maildir {path}: it can't be read: {error.strerror}; mend the path or its rights",
            lasting=True,
        ) from error


def _parts(name: str) -> tuple[str, str]:
    """Part a file's name into base name and flags."""
    base, _, info = name.partition(":")
    return base, info.removeprefix("2,") if info.startswith("2,") else ""


def _age(found: _Found) -> tuple[int, str]:
    try:
        return found.path.stat().st_mtime_ns, found.key
    except OSError:
        return 0, found.key
