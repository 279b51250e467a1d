"""A folder on an IMAP server as a mailbox: by UID, without a mark until it is safe (RFC 3501).

Every message that lies in the folder is looked at, whoever has read it before: which of them are
taken in the database remembers, never the mailbox.
"""

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from imaplib import IMAP4
from typing import Any, NamedTuple, TypeVar

# The library comes without types.
from imapclient import DELETED, SEEN  # type: ignore[import-untyped]

from pbem.post import HEAD, Arrived, Cursor, Known, Unreachable, log, nothing_known, plain
from pbem.post.imap_connection import ImapConnection, folder
from pbem.post.imap_login import said
from pbem.post.settings import ImapSettings

# So many messages are asked for, or put away, by one command: a line of a thousand characters.
_BATCH = 100
# So many keys are looked up by one question to the database.
_MANY = 500
# So many bytes of them come at once, and one that is larger comes alone.
_WEIGHT = 1_000_000
# So many messages may each break the connection twice before the server is given up for now.
_MOST_BREAKS = 3
# Seconds until a message that could not be had is asked for again: twice as long each time, and at
# most so long.
_RETRY, _LONGEST_RETRY = 60, 3600

_FACTS = ["RFC822.SIZE", "INTERNALDATE"]


class ImapSource:
    """The mailbox in one folder; what was taken in is moved to another one, and never deleted.

    Between two fetches the connection may be kept, and the server be listened to on it.
    """

    def __init__(self, settings: ImapSettings, size_limit: int, cursor: Cursor) -> None:
        self.missed: Mapping[str, str] = {}
        self._connection = ImapConnection(settings, cursor)
        self.name = self._connection.name
        self._processed = settings.processed
        self._size_limit = size_limit
        # The folder for what was taken in, as the server names it; empty where there can be none.
        self._target: str | None = None
        # Keys of messages that were confirmed and lie where they lay.
        self._stay: set[str] = set()
        # Messages that could not be had, by UID.
        self._tried: dict[int, _Tried] = {}

    @property
    def cursor(self) -> Cursor:
        """The folder's UIDVALIDITY, and how often it has changed."""
        return self._connection.cursor

    def listen(self) -> int | None:
        """Have the server say by itself when something arrives, till the next fetch.

        Return the file descriptor that can be read then, or `None` where the server has to be
        asked. Raise `Unreachable` where it is there no more.
        """
        return self._connection.listen()

    @property
    def has_words(self) -> bool:
        """Whether a server that is listened to has said something that shows at no socket."""
        return self._connection.has_words

    def close(self) -> None:
        """Log out, if the server is still there."""
        self._connection.close()

    def fetch(self, known: Known = nothing_known) -> Iterator[Arrived]:
        """Yield what lies in the folder, in the order of its UIDs (see `Source.fetch`).

        Messages come a hundred at a time; where that fails, one by one.
        """
        missed: dict[str, str] = {}
        self.missed = missed
        found = self._connection.searched()
        validity = self._connection.validity
        self._stay = {key for uid in found if (key := f"{validity}.{uid}") in self._stay}
        uids = [uid for uid in found if f"{validity}.{uid}" not in self._stay]
        self._tried = {uid: self._tried[uid] for uid in uids if uid in self._tried}
        waiting = self._without_stored(uids, validity, known)
        doubtful = [(uid, None) for uid in waiting if uid in self._tried]
        others = [uid for uid in waiting if uid not in self._tried]
        breaks = 0
        for uid, arrived in itertools.chain(doubtful, self._together(others, validity)):
            if arrived:
                yield arrived
                continue
            tried = self._tried.get(uid, _Tried())
            if time.monotonic() < tried.again:
                missed[f"{validity}.{uid}"] = tried.why
                continue
            try:
                arrived = self._alone(uid, validity)
            except _Unreadable as error:
                missed[f"{validity}.{uid}"] = str(error)
                self._tried[uid] = tried.once_more(str(error))
                log.warning("%s: UID %d: %s", self.name, uid, error)
                breaks += error.broken
                if breaks >= _MOST_BREAKS:
                    raise Unreachable(f"{self.name}: {error}") from error
                continue
            if arrived:
                yield arrived

    def confirm(self, keys: Sequence[str]) -> None:
        """Mark messages as seen and move them to the folder for what was taken in.

        A key from before the server gave all UIDs anew names nothing any more, and is passed over.
        """
        if not keys:
            return
        client = self._connection.client()
        found = [key.partition(".") for key in keys]
        valid = str(self._connection.validity)
        uids = [int(uid) for validity, _, uid in found if validity == valid]
        for batch in _parted(uids):
            with self._connection.asking("messages can't be put away"):
                try:
                    self._put_away(client, batch)
                except IMAP4.abort:
                    raise
                except IMAP4.error as error:
                    log.info("%s: one by one now: %s", self.name, plain(str(error)))
                    # Somebody may have taken the folder away.
                    self._target = None
                    self._put_away_singly(client, batch)
            if not (self._can_move(client) and self._target):
                self._stay.update(f"{valid}.{uid}" for uid in batch)

    def _without_stored(self, uids: Sequence[int], validity: int, known: Known) -> list[int]:
        """Return which messages are to be taken in; confirm those that were stored before."""
        stored: list[int] = []
        for part in _parted(uids, _MANY):
            found = known([f"{validity}.{uid}" for uid in part])
            stored += [uid for uid in part if f"{validity}.{uid}" in found]
        marked = stored
        if stored and not self._can_move(self._connection.client()):
            # These stay: only those without the mark need anything.
            with self._connection.asking("the folder can't be searched"):
                unseen = set(self._connection.client().search("UNSEEN"))
            marked = [uid for uid in stored if uid in unseen]
        self.confirm([f"{validity}.{uid}" for uid in marked])
        taken = set(stored)
        return [uid for uid in uids if uid not in taken]

    def _together(self, uids: Sequence[int], validity: int) -> Iterator[tuple[int, Arrived | None]]:
        """Yield messages as they come many at a time, and `None` for what is to be had alone.

        What has vanished is left out.
        """
        for part in _parted(uids):
            facts = self._at_once(part, _FACTS, validity)
            if facts is None:
                yield from ((uid, None) for uid in part)
                continue
            for batch in self._weighed(part, facts):
                if not self._is_light(facts.get(batch[0])):
                    yield batch[0], None
                    continue
                texts = self._at_once(batch, ["BODY.PEEK[]"], validity)
                for uid in batch:
                    if texts is None:
                        yield uid, None
                    elif uid not in texts:
                        log.info("%s: UID %d is gone", self.name, uid)
                    else:
                        raw = texts.pop(uid).get(b"BODY[]")
                        whole = isinstance(raw, bytes)
                        yield uid, self._arrived(uid, validity, raw, facts[uid]) if whole else None

    def _weighed(self, uids: Sequence[int], facts: Mapping[int, Any]) -> Iterator[list[int]]:
        """Part messages into batches of not too many bytes; a large one is alone in its batch."""
        batch: list[int] = []
        weight = 0
        for uid in uids:
            if uid not in facts:
                log.info("%s: UID %d is gone", self.name, uid)
                continue
            is_light = self._is_light(facts[uid])
            size = facts[uid][b"RFC822.SIZE"] if is_light else _WEIGHT
            if batch and weight + size > _WEIGHT:
                yield batch
                batch, weight = [], 0
            batch.append(uid)
            weight += size
            if not is_light:
                yield batch
                batch, weight = [], 0
        if batch:
            yield batch

    def _is_light(self, facts: Any) -> bool:
        size = facts.get(b"RFC822.SIZE")
        return isinstance(size, int) and size <= min(_WEIGHT, self._size_limit)

    def _at_once(self, uids: Sequence[int], wanted: Sequence[str], validity: int) -> Any:
        """Ask for something of several messages; return `None` where the answer can't be had."""
        client = self._connection.client_in(validity)
        try:
            return client.fetch(uids, wanted)
        except (IMAP4.abort, OSError) as error:
            self._connection.drop()
            log.info("%s: one by one now: the connection broke: %s", self.name, said(error))
        # Whatever one message does to the reading of replies, the others are to be had.
        except Exception as error:
            log.info("%s: one by one now: %s", self.name, said(error))
        except BaseException:
            self._connection.drop()
            raise
        return None

    def _alone(self, uid: int, validity: int) -> Arrived | None:
        """Return one message, or `None` where it has vanished; try twice if the connection breaks.

        Raise `_Unreadable` where it lies there and can't be had.
        """
        why = ""
        for _ in range(2):
            client = self._connection.client_in(validity)
            try:
                return self._read(client, uid, validity)
            except (IMAP4.abort, OSError) as error:
                self._connection.drop()
                why = said(error)
            except _Unreadable:
                raise
            # As above.
            except Exception as error:
                raise _Unreadable(f"the server does not give it: {said(error)}") from error
            except BaseException:
                self._connection.drop()
                raise
        raise _Unreadable(f"the connection broke twice as it was read: {why}", broken=True)

    def _read(self, client: Any, uid: int, validity: int) -> Arrived | None:
        facts = client.fetch([uid], _FACTS)
        if uid not in facts:
            log.info("%s: UID %d is gone", self.name, uid)
            return None
        size = facts[uid].get(b"RFC822.SIZE")
        head = min(HEAD, self._size_limit)
        large = isinstance(size, int) and size > self._size_limit
        reply = client.fetch([uid], [f"BODY.PEEK[]<0.{head}>" if large else "BODY.PEEK[]"])
        if uid not in reply:
            log.info("%s: UID %d is gone", self.name, uid)
            return None
        raw = reply[uid].get(b"BODY[]<0>" if large else b"BODY[]")
        if not isinstance(raw, bytes):
            raise _Unreadable("the server gave no text of it")
        if not large:
            return self._arrived(uid, validity, raw, facts[uid])
        beginning = raw[:head]
        is_whole = len(beginning) < head
        return self._arrived(uid, validity, beginning, facts[uid], None if is_whole else size)

    def _arrived(
        self, uid: int, validity: int, raw: bytes, facts: Any, size: int | None = None
    ) -> Arrived:
        received = facts.get(b"INTERNALDATE")
        if not isinstance(received, datetime):
            log.warning("%s: UID %d has no time of receipt; now is taken", self.name, uid)
            received = datetime.now(UTC)
        received = received.astimezone(UTC).replace(microsecond=0)
        return Arrived(f"{validity}.{uid}", raw, received, size or len(raw))

    def _can_move(self, client: Any) -> bool:
        """Tell whether the server can move just some messages, and where to is said."""
        # Without UIDPLUS an EXPUNGE would delete whatever else is marked: then they stay.
        can = client.has_capability("MOVE") or client.has_capability("UIDPLUS")
        return bool(self._processed) and can

    def _put_away(self, client: Any, uids: Sequence[int]) -> None:
        """Mark messages as seen and move them, where the server can move just these."""
        client.add_flags(uids, [SEEN], silent=True)
        if not self._can_move(client):
            return
        if self._target is None:
            self._target = folder(client, self._processed, self.name)
            if not self._target:
                why = f"there can be no folder {self._processed}; messages stay"
                log.warning("%s: %s", self.name, why)
        if not self._target:
            return
        if client.has_capability("MOVE"):
            client.move(uids, self._target)
        else:
            client.copy(uids, self._target)
            client.add_flags(uids, [DELETED], silent=True)
            client.uid_expunge(uids)

    def _put_away_singly(self, client: Any, uids: Sequence[int]) -> None:
        for uid in uids:
            try:
                self._put_away(client, [uid])
            except IMAP4.abort:
                raise
            except IMAP4.error as error:
                why = plain(str(error))
                log.warning("%s: UID %d can't be put away: %s", self.name, uid, why)


class _Tried(NamedTuple):
    """How often a message could not be had, when it is asked for again, and why."""

    times: int = 0
    again: float = 0
    why: str = ""

    def once_more(self, why: str) -> "_Tried":
        wait = min(_RETRY * 2**self.times, _LONGEST_RETRY)
        return _Tried(self.times + 1, time.monotonic() + wait, why)


class _Unreadable(Exception):
    """One message can't be had; `broken` says that it broke the connection."""

    def __init__(self, text: str, *, broken: bool = False) -> None:
        super().__init__(text)
        self.broken = broken


T = TypeVar("T")


def _parted(items: Sequence[T], size: int = _BATCH) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
