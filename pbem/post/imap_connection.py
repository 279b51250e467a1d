"""One folder on an IMAP server over a connection that is kept, and made anew where it is lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from imaplib import IMAP4
from typing import Any

# The library comes without types.
from imapclient.exceptions import CapabilityError  # type: ignore[import-untyped]

from pbem.post import Cursor, Unreachable, log, plain
from pbem.post.imap_login import PATIENCE, connect, hang_up, log_out, said
from pbem.post.settings import ImapSettings
from pbem.post.tls import unreachable

# Seconds a server that was listened to has for an answer: it may be long dead.
_ROUSING = 15
# What may be listed and can't be used (RFC 9051, 7.3.1).
_UNUSABLE = {b"\\noselect", b"\\nonexistent"}


class ImapConnection:
    """The connection, in the folder; `validity` is the folder's, `name` says to people which one.

    While it is not asked for anything, the server may be listened to on it (IDLE, RFC 2177).
    """

    def __init__(self, settings: ImapSettings, cursor: Cursor) -> None:
        server = settings.server
        self.name = f"imap {server.host}: {server.user}, {settings.folder}"
        self.cursor = cursor
        self.validity = 0
        self._settings = settings
        self._client: Any = None
        self._is_idle = False
        self._is_mute = False
        self._heard = False

    def client(self) -> Any:
        """Return the connection, made, logged in and in the folder if there is none."""
        if self._client:
            return self._client
        with self.asking("it can't be reached"):
            self._client = client = connect(self._settings.server, self.name)
            selected = self._selected(client)
        # Without a UIDVALIDITY no UID is worth remembering: the time makes these keys new ones.
        self.validity = selected.get(b"UIDVALIDITY") or time.time_ns()
        self._remember(self.validity)
        return client

    def client_in(self, validity: int) -> Any:
        """Return the client, if the folder is still the one of that validity."""
        client = self.client()
        if self.validity != validity:
            raise Unreachable(f"{self.name}: the folder was made anew meanwhile")
        return client

    def searched(self) -> list[int]:
        """Return the UIDs of all messages, over a new connection where the kept one is dead."""
        is_kept = self._client is not None
        with self.asking("the folder can't be searched"):
            try:
                if is_kept:
                    self._rouse(self._client)
                return self._search()
            except (IMAP4.abort, OSError) as error:
                if not is_kept:
                    raise
                log.info("%s: the connection was lost: %s", self.name, said(error))
                self.drop()
            return self._search()

    def _search(self) -> list[int]:
        client = self.client()
        # The library would keep for ever whatever it was told unasked. What arrives from here on a
        # server tells once, perhaps with its answer to another command.
        client._imap.untagged_responses.clear()
        return sorted(client.search("ALL"))

    def listen(self) -> int | None:
        """Have the server say by itself when something arrives (IDLE, RFC 2177), till a fetch.

        Return the file descriptor that can be read then, or `None` where the server has to be
        asked. Raise `Unreachable` where it is there no more.
        """
        client = self._client
        if client is None:
            return None
        with self.asking("it can't be listened to"):
            if self._is_mute or not client.has_capability("IDLE"):
                return None
            if not self._is_idle:
                self._begin_idle(client)
            return client.socket().fileno() if self._is_idle else None

    @property
    def has_words(self) -> bool:
        """Whether a server that is listened to has said something that was read with its answer."""
        if not self._is_idle:
            return False
        sock, imap = self._client.socket(), self._client._imap
        sock.settimeout(0)
        try:
            # The library reads ahead: such words are never seen at the socket.
            return self._heard or bool((getattr(imap, "_file", None) or imap.file).peek(1))
        except OSError:
            return False
        finally:
            sock.settimeout(PATIENCE.read)

    def close(self) -> None:
        """Log out, if the server is still there."""
        client, self._client = self._client, None
        if client:
            log_out(client, is_idle=self._is_idle)
        self._is_idle = False

    @contextmanager
    def asking(self, fault: str) -> Iterator[None]:
        """Turn what goes wrong with the connection or a command into `Unreachable`."""
        try:
            yield
        except Unreachable:
            self.drop()
            raise
        except IMAP4.readonly as error:
            self.drop()
            raise Unreachable(
                f"{self.name}: the folder may only be read; give the log-in the right to write",
                lasting=True,
            ) from error
        except OSError as error:
            self.drop()
            raise unreachable(self.name, error) from error
        # Not only `IMAP4.error`: the library stumbles in many ways over replies of no known form.
        except Exception as error:
            self.drop()
            # What a server can't do it can't do a minute later either.
            lasting = isinstance(error, CapabilityError)
            raise Unreachable(f"{self.name}: {fault}: {said(error)}", lasting=lasting) from error
        # Broken off within an answer, a connection is of no use any more.
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """End the connection without a word; it is made anew when it is used."""
        client, self._client = self._client, None
        self._is_idle = False
        if client:
            hang_up(client)

    def _selected(self, client: Any) -> Any:
        """Go into the folder, made if missing, and return what the server says of it."""
        wanted = self._settings.folder
        try:
            return client.select_folder(wanted)
        except IMAP4.abort:
            raise
        except IMAP4.error:
            if client.folder_exists(wanted):
                raise
        name = folder(client, wanted, self.name)
        if not name:
            raise Unreachable(
                f"{self.name}: there can be no such folder; mend folder", lasting=True
            )
        return client.select_folder(name)

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

    def _begin_idle(self, client: Any) -> None:
        imap = client._imap
        # It has told already of what arrived since the search, and IDLE brings only what is newer.
        self._heard = "EXISTS" in imap.untagged_responses
        # The library's own way takes whatever comes before the answer for an error.
        client._idle_tag = tag = imap._command("IDLE")
        while imap._get_response() is not None:
            if imap.tagged_commands[tag]:
                del imap.tagged_commands[tag]
                log.info("%s: it refuses IDLE, and is asked now and then", self.name)
                self._is_mute = True
                return
            self._heard = True
        self._is_idle = True

    def _rouse(self, client: Any) -> None:
        """Take up a kept connection again; a dead one, or a good-bye, is a lost connection."""
        sock = client.socket()
        sock.settimeout(_ROUSING)
        if self._is_idle:
            self._is_idle = False
            _, words = client.idle_done()
            for word in words:
                if word and word[0] == b"BYE":
                    raise IMAP4.abort(f"it said good-bye: {plain(word[-1])}")
        # Some servers show what is new only after a command of no other use.
        client.noop()
        sock.settimeout(PATIENCE.read)


def folder(client: Any, wanted: str, name: str) -> str:
    """Return a folder's name as the server has it, made if missing; empty where there can be none.

    It is written with `/` in the config; some servers have another separator, and some allow no
    folder but below the inbox. `name` is the mailbox's, for the log.
    """
    listed = client.list_folders("", "")
    separator = listed[0][1].decode() if listed and listed[0][1] else "/"
    inside = wanted.replace("/", separator)
    names = (inside, f"INBOX{separator}{inside}")
    for one in names:
        if _exists(client, one):
            return one
    for one in names:
        try:
            client.create_folder(one)
        except IMAP4.abort:
            raise
        except IMAP4.error as error:
            log.info("%s: %s can't be made: %s", name, one, plain(str(error)))
            continue
        log.info("%s: the folder %s was missing and has been made", name, one)
        # So that people see it in their own client; it does without.
        with suppress(IMAP4.error):
            client.subscribe_folder(one)
        return one
    return ""


def _exists(client: Any, name: str) -> bool:
    listed = client.list_folders("", name)
    return any(not {flag.lower() for flag in flags} & _UNUSABLE for flags, _, _ in listed)
