"""An IMAP connection made, secured and logged in, and ended; what a server says of a failure."""

import json
from collections.abc import Iterator
from contextlib import suppress
from imaplib import IMAP4
from typing import Any

# The library comes without types.
from imapclient import IMAPClient, SocketTimeout  # type: ignore[import-untyped]
from imapclient.exceptions import LoginError, ProtocolError  # type: ignore[import-untyped]

from pbem.post import Unreachable, plain
from pbem.post.secrets import reveal
from pbem.post.settings import Server
from pbem.post.tls import verified

PATIENCE = SocketTimeout(connect=30, read=60)
# How long a good-bye may take, in seconds.
_FAREWELL = 2
# Refusals of a log-in that say nothing about the password (RFC 5530).
_PASSING = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]")


def connect(server: Server, name: str) -> Any:
    """Return a client that is logged in, over a connection as the settings want it.

    The password or token is asked for each time. Raise `Unreachable` where the log-in is refused,
    other errors as they come.
    """
    secret = reveal(server.secret, name) if server.secret else ""
    context = verified() if server.tls != "none" else None
    client = IMAPClient(
        server.host, server.port, ssl=server.tls == "tls", ssl_context=context, timeout=PATIENCE
    )
    try:
        client.normalise_times = False
        if server.tls == "starttls":
            client.starttls(context)
        _log_in(client, server, secret, name)
    except BaseException:
        hang_up(client)
        raise
    return client


def hang_up(client: Any) -> None:
    """End a connection without a word."""
    with suppress(IMAP4.error, OSError):
        client.shutdown()


def log_out(client: Any, *, is_idle: bool) -> None:
    """End a connection as is polite, if the server is still there."""
    try:
        client.socket().settimeout(_FAREWELL)
        if is_idle:
            client.idle_done()
        client.logout()
    # Whatever it answers, nothing is wanted of it any more.
    except Exception:
        hang_up(client)


def said(error: Exception) -> str:
    """Return what a server said of a failure; nothing of a reply that may hold a mail's text."""
    text = plain(str(error))
    if isinstance(error, ProtocolError) or text.startswith("unexpected response"):
        return "the server's reply can't be read"
    if isinstance(error, IMAP4.error | OSError):
        return text or type(error).__name__
    return f"the server's reply can't be read ({type(error).__name__})"


def _log_in(client: Any, server: Server, secret: str, name: str) -> None:
    is_token = server.secret is not None and server.secret.kind == "token_command"
    disabled = client.has_capability("LOGINDISABLED")
    if disabled and not is_token and server.tls == "none":
        raise Unreachable(
            f'{name}: it takes no password over an open connection; write tls = "starttls"',
            lasting=True,
        )
    mechanism = _Xoauth2(server.user, secret)
    try:
        if is_token:
            client.sasl_login("XOAUTH2", mechanism)
        elif (server.user + secret).isascii() and not disabled:
            client.login(server.user, secret)
        else:
            client.plain_login(server.user, secret)
    except LoginError as error:
        if isinstance(error.__context__, IMAP4.abort):
            raise error.__context__ from None
        refused = error.__context__.args[0] if error.__context__ else str(error)
        # Some servers repeat the command they refuse.
        told = plain(refused if isinstance(refused, bytes) else str(refused))
        told = told.replace(secret, "…") if secret else told
        remedy = "mend user and password"
        if is_token:
            told += "".join(f", {fact}" for fact in _refusal(mechanism.challenge))
            remedy = "see that token_command prints an access token that is valid for IMAP"
        else:
            with suppress(IMAP4.error, OSError):
                if client.has_capability("AUTH=XOAUTH2"):
                    remedy += "; if it wants OAuth, give a token_command"
        raise Unreachable(
            f"{name}: the log-in was refused: {told}; {remedy}",
            lasting=not any(code in told.upper() for code in _PASSING),
        ) from error


class _Xoauth2:
    """The client's side of XOAUTH2: the token once, and then nothing.

    A refusal comes as a `challenge` that holds JSON; the server says no after the empty answer.
    """

    def __init__(self, user: str, token: str) -> None:
        self.challenge = b""
        self._answers = iter([f"user={user}\1auth=Bearer {token}\1\1"])

    def __call__(self, challenge: bytes) -> str:
        self.challenge = challenge
        return next(self._answers, "")


def _refusal(challenge: bytes) -> Iterator[str]:
    """Yield what a refusal of a token tells, such as `status 401`."""
    try:
        facts = json.loads(challenge)
    except ValueError:
        return
    if isinstance(facts, dict):
        for key in ("status", "scope"):
            if isinstance(facts.get(key), str):
                yield f"{key} {plain(facts[key])}"
