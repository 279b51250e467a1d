"""Ways in and out of mail: what a mailbox and a sender are, and how they are opened.

A source hands over raw messages and is told afterwards which are safe; a sender takes one letter to
one recipient and says what became of it. Neither knows a game, a match or the database.
"""

import logging
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from pbem.post.settings import (
    MaildirSettings,
    SenderSettings,
    SmtpSettings,
    SourceSettings,
)

log = logging.getLogger("pbem.post")

# So much of a message that is too large is still taken, for its header.
HEAD = 65_536
SIZE_LIMIT = 10_000_000


class Arrived(NamedTuple):
    """A message as it lies in a mailbox.

    `key` names it within its source for as long as it lies there. `received` is when it got there,
    in UTC and whole seconds. `size` counts the bytes of the whole message: where it is beyond the
    limit, `raw` is only its beginning. `recipient` is the envelope's where the source knows it.
    """

    key: str
    raw: bytes
    received: datetime
    size: int
    recipient: str = ""

    @property
    def whole(self) -> bool:
        """Whether `raw` is all of the message."""
        return len(self.raw) >= self.size


class Cursor(NamedTuple):
    """What is to be remembered of a mailbox from one fetch to the next.

    `uidvalidity` is the folder's last (0: none yet); `changes` counts how often it was another.
    """

    uidvalidity: int = 0
    changes: int = 0


class Source(Protocol):
    """A mailbox.

    `name` says which one, for keys and for people. After a fetch, `missed` holds the messages that
    lie there and could not be read, and why; `cursor` is to be kept and given to `open_source`.
    """

    name: str
    missed: Mapping[str, str]

    @property
    def cursor(self) -> Cursor:
        """What the next fetch is to know of this one."""

    def fetch(self, known: "Known" = ...) -> Iterator[Arrived]:
        """Yield what lies in the mailbox, as it arrived, a few messages in memory at a time.

        A key that is `known` (stored by an earlier fetch) is confirmed instead of yielded. Raise
        `Unreachable` where the mailbox can't be read.
        """

    def confirm(self, keys: Sequence[str]) -> None:
        """Mark messages as taken in, once that is committed; what has vanished is no error."""

    def close(self) -> None:
        """Let the connection go; a closed source connects again when it is used again."""


class Sender(Protocol):
    """A way out; `name` says which one, for people."""

    name: str

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> "Sent":
        """Hand over one letter for one recipient and say what became of it.

        Raise `Unreachable` where it could not even be tried: the letter is then as before.
        """

    def probe(self) -> None:
        """Try as far as can be tried without a letter; raise `Unreachable` with what is wrong."""

    def close(self) -> None:
        """Let the connection go; a closed sender connects again when it is used again."""


@dataclass(frozen=True)
class Accepted:
    """The letter was taken; `reply` is what the server said."""

    reply: str


@dataclass(frozen=True)
class Refused:
    """The letter was refused for good: its `sender`, its `recipient` or its `content`.

    Only the refusal of a recipient says anything about his address.
    """

    why: str
    part: Literal["sender", "recipient", "content"]


@dataclass(frozen=True)
class Later:
    """The letter was not taken, and may be if it is tried again later."""

    why: str


@dataclass(frozen=True)
class Unsure:
    """The letter may have been taken: the answer to all of it never came."""

    why: str


Sent = Accepted | Refused | Later | Unsure


class Unreachable(Exception):
    """A mailbox or server could not be reached or used; the text says which one and why.

    `lasting` says that trying again won't help before somebody has mended something: a password, a
    right, a certificate.
    """

    def __init__(self, text: str, *, lasting: bool = False) -> None:
        super().__init__(text)
        self.lasting = lasting


# Of some keys of a source, those that are stored.
Known = Callable[[Sequence[str]], Container[str]]


def nothing_known(keys: Sequence[str]) -> Container[str]:  # noqa: ARG001 - the form of `Known`
    """Tell of any keys that none is stored yet."""
    return ()


def fault_of_address(address: str) -> str:
    """Say why an address can't stand in an envelope; empty if it can.

    What could end a command, an argument or a header line is refused here, for all ways out.
    """
    if not re.fullmatch(r"[^\s<>@\x00-\x1f\x7f-\x9f]+@[^\s<>@\x00-\x1f\x7f-\x9f]+", address):
        return f"{address!r} is no mail address"
    return ""


def plain(said: bytes | str) -> str:
    """Return what a server said as one line of at most 300 characters, without control codes."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text).strip()[:300]


def open_source(
    settings: SourceSettings, *, size_limit: int = SIZE_LIMIT, cursor: Cursor | None = None
) -> Source:
    """Return the mailbox of these settings; it connects when it is first used."""
    if isinstance(settings, MaildirSettings):
        from pbem.post.maildir import MaildirSource

        return MaildirSource(settings.path, size_limit)
    from pbem.post.imap import ImapSource

    return ImapSource(settings, size_limit, cursor or Cursor())


def open_sender(settings: SenderSettings) -> Sender:
    """Return the sender of these settings; it connects when it is first used."""
    if isinstance(settings, MaildirSettings):
        from pbem.post.maildir import MaildirSender

        return MaildirSender(settings.path)
    if isinstance(settings, SmtpSettings):
        from pbem.post.smtp import SmtpSender

        return SmtpSender(settings)
    from pbem.post.sendmail import SendmailSender

    return SendmailSender(settings.command)
