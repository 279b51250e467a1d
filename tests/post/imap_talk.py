"""What a scripted IMAP server says and hears, command by command, and the mailbox that asks it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pbem.post import Arrived, Cursor
from pbem.post.imap import ImapSource
from pbem.post.settings import ImapSettings, Secret, Server
from tests.post.servers import Talk

SECRET = Secret("password", "secret")


def settings(port: int, user: str = "ann", **changed: Any) -> ImapSettings:
    """Return settings for a server on this machine."""
    secret, tls = changed.pop("secret", SECRET), changed.pop("tls", "none")
    return ImapSettings(Server("127.0.0.1", port, tls, user, secret), **changed)


@contextmanager
def mailbox(
    port: int, user: str = "ann", *, size_limit: int = 100_000, cursor: Cursor | None = None,
    **changed: Any,
) -> Iterator[ImapSource]:  # fmt: skip
    """Open a folder of that user's."""
    source = ImapSource(settings(port, user, **changed), size_limit, cursor or Cursor())
    try:
        yield source
    finally:
        source.close()


def raws(arrived: Sequence[Arrived]) -> list[bytes]:
    """Return the raw messages of some arrivals."""
    return [one.raw for one in arrived]


def answer(talk: Talk, *lines: bytes, done: bytes = b"OK done") -> bytes:
    """Hear a command, say untagged lines, and end it; return the command."""
    tag, command = talk.hear().split(b" ", 1)
    while command == b"CAPABILITY":
        talk.say(b"* CAPABILITY " + talk.able, tag + b" OK done")
        tag, command = talk.hear().split(b" ", 1)
    talk.say(*lines, tag + b" " + done)
    return command


def greet(talk: Talk, validity: bytes = b"7", able: bytes = b"IMAP4rev1 MOVE") -> None:
    """Let the program in, up to the folder."""
    talk.able = able
    talk.say(b"* OK ready")
    command = b""
    while not command.startswith(b"SELECT"):
        tag, command = talk.hear().split(b" ", 1)
        if command.startswith(b"CAPABILITY"):
            talk.say(b"* CAPABILITY " + able)
        elif command.startswith(b"SELECT"):
            talk.say(b"* 3 EXISTS", b"* OK [UIDVALIDITY " + validity + b"] UIDs valid")
        talk.say(tag + b" OK done")


def facts(uid: int, size: int = 5, date: bytes = b"06-Dec-2026 12:00:00 +0000") -> bytes:
    """Say size and time of receipt of a message."""
    return b'* %d FETCH (UID %d RFC822.SIZE %d INTERNALDATE "%b")' % (uid, uid, size, date)


def text(uid: int, raw: bytes = b"hello") -> bytes:
    """Say the text of a message."""
    return b"* %d FETCH (UID %d BODY[] {%d}\r\n%b)" % (uid, uid, len(raw), raw)


def search(talk: Talk, *found: int) -> None:
    """Say which messages there are."""
    assert answer(talk, b"* SEARCH " + b" ".join(b"%d" % uid for uid in found)) == b"UID SEARCH ALL"


def _listed(uids: Sequence[int]) -> bytes:
    return b",".join(b"%d" % uid for uid in uids)


def facts_of(talk: Talk, *uids: int, lines: Sequence[bytes] = (), done: bytes = b"OK done") -> None:
    """Hear the question for sizes and times of some messages, and answer it (or with `lines`)."""
    asked = answer(talk, *(lines or map(facts, uids)), done=done)
    assert asked == b"UID FETCH %b (RFC822.SIZE INTERNALDATE)" % _listed(uids)


def texts_of(talk: Talk, *uids: int, lines: Sequence[bytes] = (), done: bytes = b"OK done") -> None:
    """Hear the question for the texts of some messages, and answer it (or with `lines`)."""
    asked = answer(talk, *(lines or map(text, uids)), done=done)
    assert asked == b"UID FETCH %b (BODY.PEEK[])" % _listed(uids)


def give(talk: Talk, *uids: int) -> None:
    """Give some messages, all at once."""
    facts_of(talk, *uids)
    texts_of(talk, *uids)


def bye(talk: Talk) -> None:
    """Hear the good-bye."""
    assert answer(talk, b"* BYE") == b"LOGOUT"


def three(second: Callable[[Talk], None]) -> Callable[[Talk], None]:
    """A server that has three messages and does something odd when asked for them."""

    def script(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3)
        second(talk)
        bye(talk)

    return script
