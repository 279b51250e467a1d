"""A folder on an IMAP server as a mailbox: by UID, without a mark until it is safe (RFC 3501).

Every message that lies in the folder is looked at, whoever has read it before: which of them are
taken in the database remembers, never the mailbox.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from imaplib import IMAP4
from typing import Any

# The library comes without types.
from imapclient import DELETED, SEEN, IMAPClient, SocketTimeout  # type: ignore[import-untyped]
from imapclient.exceptions import CapabilityError, LoginError  # type: ignore[import-untyped]

from pbem.post import HEAD, Arrived, Cursor, Unreachable, log, nothing_known, plain
from pbem.post.secrets import reveal
from pbem.post.settings import ImapSettings
from pbem.post.tls import unreachable, verified

_PATIENCE = SocketTimeout(connect=30, read=60)
# So many messages are put away by one command.
_BATCH = 100
# So many messages may each break the connection twice before the server is given up for now.
_MOST_BREAKS = 3
# Refusals of a log-in that say nothing about the password (RFC 5530).
_PASSING = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]")


class ImapSource:
    """The mailbox in one folder; what was taken in is moved to another one, and never deleted."""

    def __init__(self, settings: ImapSettings, size_limit: int, cursor: Cursor) -> None:
        server = settings.server
        self.name = f"imap {server.host}: {server.user}, {settings.folder}"
        self.cursor = cursor
        self.missed: Mapping[str, str] = {}
        self._settings = settings
        self._size_limit = size_limit
        self._client: Any = None
        self._validity = 0
        self._target: str | None = None

    def fetch(self, known: Callable[[str], bool] = nothing_known) -> Iterator[Arrived]:
        """Yield what lies in the folder, in the order of its UIDs (see `Source.fetch`)."""
        missed: dict[str, str] = {}
        self.missed = missed
        uids = self._searched()
        validity = self._validity
        stored = {uid for uid in uids if known(f"{validity}.{uid}")}
        self.confirm([f"{validity}.{uid}" for uid in sorted(stored)])
        breaks = 0
        for uid in uids:
            if uid in stored:
                continue
            try:
                arrived = self._message(uid, validity)
            except _Unreadable as error:
                missed[f"{validity}.{uid}"] = str(error)
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
        client = self._connected()
        found = [key.partition(".") for key in keys]
        uids = [int(uid) for validity, _, uid in found if validity == str(self._validity)]
        for start in range(0, len(uids), _BATCH):
            batch = uids[start : start + _BATCH]
            with self._asking("messages can't be put away"):
                try:
                    self._put_away(client, batch)
                except IMAP4.abort:
                    raise
                except IMAP4.error as error:
                    log.info("%s: one by one now: %s", self.name, plain(str(error)))
                    self._put_away_singly(client, batch)

    def close(self) -> None:
        """Log out, if the server is still there."""
        client, self._client = self._client, None
        if client:
            try:
                client.logout()
            except (IMAP4.error, OSError):
                with suppress(IMAP4.error, OSError):
                    client.shutdown()

    def _searched(self) -> list[int]:
        """Return the UIDs of all messages, over a new connection where a kept one is dead."""
        kept = self._client is not None
        with self._asking("the folder can't be searched"):
            try:
                return sorted(self._connected().search("ALL"))
            except (IMAP4.abort, OSError):
                if not kept:
                    raise
                self._drop()
            return sorted(self._connected().search("ALL"))

    def _message(self, uid: int, validity: int) -> Arrived | None:
        """Return one message, or `None` where it has vanished; try twice if the connection breaks.

        Raise `_Unreadable` where it lies there and can't be had.
        """
        why = ""
        for _ in range(2):
            client = self._connected()
            if self._validity != validity:
                raise Unreachable(f"{self.name}: the folder was made anew meanwhile")
            try:
                return self._read(client, uid, validity)
            except (IMAP4.abort, OSError) as error:
                self._drop()
                why = plain(str(error))
            except _Unreadable:
                raise
            # Whatever one message does to the reading of replies, the others are to be had.
            except Exception as error:
                raise _Unreadable(
                    f"the server's reply can't be read: {plain(str(error))}"
                ) from error
        raise _Unreadable(f"the connection broke twice as it was read: {why}", broken=True)

    def _read(self, client: Any, uid: int, validity: int) -> Arrived | None:
        facts = client.fetch([uid], ["RFC822.SIZE", "INTERNALDATE"])
        if uid not in facts:
            log.info("%s: UID %d is gone", self.name, uid)
            return None
        size, received = facts[uid].get(b"RFC822.SIZE"), facts[uid].get(b"INTERNALDATE")
        if not isinstance(received, datetime):
            log.warning("%s: UID %d has no time of receipt; now is taken", self.name, uid)
            received = datetime.now(UTC)
        head = min(HEAD, self._size_limit)
        large = isinstance(size, int) and size > self._size_limit
        reply = client.fetch([uid], [f"BODY.PEEK[]<0.{head}>" if large else "BODY.PEEK[]"])
        if uid not in reply:
            log.info("%s: UID %d is gone", self.name, uid)
            return None
        raw = reply[uid].get(b"BODY[]<0>" if large else b"BODY[]")
        if not isinstance(raw, bytes):
            raise _Unreadable("the server gave no text of it")
        raw = raw[:head] if large else raw
        received = received.astimezone(UTC).replace(microsecond=0)
        whole = not large or len(raw) < head
        return Arrived(f"{validity}.{uid}", raw, received, len(raw) if whole else size)

    def _put_away(self, client: Any, uids: Sequence[int]) -> None:
        """Mark messages as seen and move them, where the server can move just these."""
        client.add_flags(uids, [SEEN], silent=True)
        if self._target is None:
            self._target = self._made(client)
        if not self._target:
            return
        if client.has_capability("MOVE"):
            client.move(uids, self._target)
        # Without UIDPLUS an EXPUNGE would delete whatever else is marked: then they stay.
        elif client.has_capability("UIDPLUS"):
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

    def _made(self, client: Any) -> str:
        """Return the folder for what was taken in, made if missing; empty where there is none.

        Its name is written with `/` in the config; some servers have another separator, and some
        allow no folder but below the inbox.
        """
        wanted = self._settings.processed
        if not wanted:
            return ""
        listed = client.list_folders("", "")
        separator = listed[0][1].decode() if listed and listed[0][1] else "/"
        wanted = wanted.replace("/", separator)
        names = (wanted, f"INBOX{separator}{wanted}")
        for name in names:
            if client.folder_exists(name):
                return name
        for name in names:
            try:
                client.create_folder(name)
            except IMAP4.abort:
                raise
            except IMAP4.error as error:
                log.info("%s: %s can't be made: %s", self.name, name, plain(str(error)))
                continue
            # So that people see it in their own client; it does without.
            with suppress(IMAP4.error):
                client.subscribe_folder(name)
            return name
        log.warning("%s: there can be no folder %s; messages stay, as seen", self.name, wanted)
        return ""

    def _connected(self) -> Any:
        """Return the connection, made, secured, logged in and in the folder if there is none."""
        if self._client:
            return self._client
        server = self._settings.server
        secret = reveal(server.secret, self.name) if server.secret else ""
        context = verified() if server.tls != "none" else None
        with self._asking("it can't be reached"):
            self._client = client = IMAPClient(
                server.host,
                server.port,
                ssl=server.tls == "tls",
                ssl_context=context,
                timeout=_PATIENCE,
            )
            client.normalise_times = False
            if server.tls == "starttls":
                client.starttls(context)
            self._log_in(client, secret)
            selected = self._selected(client)
            self._target = None
        # Without a UIDVALIDITY no UID is worth remembering: the time makes these keys new ones.
        self._validity = selected.get(b"UIDVALIDITY") or time.time_ns()
        self._remember(self._validity)
        return client

    def _selected(self, client: Any) -> Any:
        """Go into the folder, made if missing, and return what the server says of it."""
        folder = self._settings.folder
        try:
            return client.select_folder(folder)
        except IMAP4.abort:
            raise
        except IMAP4.error:
            if client.folder_exists(folder):
                raise
            client.create_folder(folder)
            log.warning("%s: the folder was missing and has been made", self.name)
        return client.select_folder(folder)

    def _log_in(self, client: Any, secret: str) -> None:
        server = self._settings.server
        token = server.secret is not None and server.secret.kind == "token_command"
        try:
            if token:
                client.oauth2_login(server.user, secret)
            elif (server.user + secret).isascii() and not client.has_capability("LOGINDISABLED"):
                client.login(server.user, secret)
            else:
                client.plain_login(server.user, secret)
        except LoginError as error:
            if isinstance(error.__context__, IMAP4.abort):
                raise error.__context__ from None
            said = plain(str(error))
            remedy = "mend user and password"
            with suppress(IMAP4.error, OSError):
                if not token and client.has_capability("AUTH=XOAUTH2"):
                    remedy += "; if it wants OAuth, give a token_command"
            self._drop()
            raise Unreachable(
                f"{self.name}: the log-in was refused: {said}; {remedy}",
                lasting=not any(code in said.upper() for code in _PASSING),
            ) from error

    def _remember(self, validity: int) -> None:
        before, changes = self.cursor
        if before and before != validity:
            changes += 1
            log.warning(
                "%s: the server has given all UIDs anew (for the %d. time); all is looked at again",
                self.name,
                changes,
            )
        self.cursor = Cursor(validity, changes)

    @contextmanager
    def _asking(self, fault: str) -> Iterator[None]:
        """Turn what goes wrong with the connection or a command into `Unreachable`."""
        try:
            yield
        except Unreachable:
            raise
        except IMAP4.readonly as error:
            self._drop()
            raise Unreachable(
                f"{self.name}: the folder may only be read; give the log-in the right to write",
                lasting=True,
            ) from error
        except OSError as error:
            self._drop()
            raise unreachable(self.name, error) from error
        # Not only `IMAP4.error`: the library stumbles in many ways over replies of no known form.
        except Exception as error:
            self._drop()
            why = f"{self.name}: {fault}: {plain(str(error))}"
            # What a server can't do it can't do a minute later either.
            raise Unreachable(why, lasting=isinstance(error, CapabilityError)) from error

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client:
            with suppress(IMAP4.error, OSError):
                client.shutdown()


class _Unreadable(Exception):
    """One message can't be had; `broken` says that it broke the connection."""

    def __init__(self, text: str, *, broken: bool = False) -> None:
        super().__init__(text)
        self.broken = broken
