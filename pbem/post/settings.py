"""How mailboxes and senders are reached: the tables `[[source]]` and `[sender]`, checked."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

Tls = Literal["starttls", "tls", "none"]

_SECRETS = ("password", "password_env", "password_file", "password_command", "token_command")
_SERVER = ("host", "port", "tls", "user", *_SECRETS)
_PORTS = {
    "imap": {"tls": 993, "starttls": 143, "none": 143},
    "smtp": {"tls": 465, "starttls": 587, "none": 25},
}


@dataclass(frozen=True)
class Secret:
    """Where a password is found: `kind` is the key of the table, `said` its value.

    A `token_command` prints an OAuth access token instead of a password.
    """

    kind: str
    said: str = field(repr=False)
    folder: Path = Path()


class Server(NamedTuple):
    """A server and how to log in there; without a user nobody logs in."""

    host: str
    port: int
    tls: Tls
    user: str = ""
    secret: Secret | None = None


class MaildirSettings(NamedTuple):
    """A Maildir, as a mailbox or as a way out."""

    path: Path


class ImapSettings(NamedTuple):
    """A folder on an IMAP server; what was taken in goes to `processed` (empty: stays there)."""

    server: Server
    folder: str = "INBOX"
    processed: str = "Processed"


class SmtpSettings(NamedTuple):
    """A server that takes letters over SMTP."""

    server: Server


class SendmailSettings(NamedTuple):
    """A command that takes letters as `sendmail` does, in words."""

    command: tuple[str, ...]


SourceSettings = MaildirSettings | ImapSettings
SenderSettings = MaildirSettings | SmtpSettings | SendmailSettings


def read_source(table: Mapping[str, Any], where: str, folder: Path = Path()) -> SourceSettings:
    """Read a `[[source]]` table; relative paths start at `folder`.

    Raise `ValueError` with a line that names the place (`where`), the fault and the remedy.
    """
    kind = _kind(table, where, ("maildir", "imap"))
    if kind == "maildir":
        _only(table, where, ("path",))
        return MaildirSettings(_path(table, "path", where, folder))
    _only(table, where, (*_SERVER, "folder", "processed"))
    server = _server(table, where, folder, kind)
    if server.secret is None:
        raise ValueError(
            f"{where}: there is no log-in; add user, and password_env, password_file or "
            "password_command"
        )
    inbox = _text(table, "folder", where, "INBOX")
    processed = _text(table, "processed", where, "Processed", empty=True)
    if processed.casefold() == inbox.casefold():
        raise ValueError(f"{where}: folder and processed are both {inbox!r}; change one of them")
    return ImapSettings(server, inbox, processed)


def read_sender(table: Mapping[str, Any], where: str, folder: Path = Path()) -> SenderSettings:
    """Read the `[sender]` table, as `read_source` does a source."""
    kind = _kind(table, where, ("maildir", "smtp", "sendmail"))
    if kind == "maildir":
        _only(table, where, ("path",))
        return MaildirSettings(_path(table, "path", where, folder))
    if kind == "sendmail":
        _only(table, where, ("command",))
        said = _text(table, "command", where, "/usr/sbin/sendmail")
        return SendmailSettings(tuple(_words(said, "command", where)))
    _only(table, where, _SERVER)
    return SmtpSettings(_server(table, where, folder, kind))


def _kind(table: Mapping[str, Any], where: str, kinds: tuple[str, ...]) -> str:
    kind = table.get("kind")
    if kind not in kinds:
        shown = ", ".join(f'"{name}"' for name in kinds)
        fault = f"kind is {kind!r}" if "kind" in table else "kind is missing"
        raise ValueError(f"{where}: {fault}; write one of {shown}")
    return cast(str, kind)


def _only(table: Mapping[str, Any], where: str, known: tuple[str, ...]) -> None:
    for key in table:
        if key != "kind" and key not in known:
            import difflib

            near = difflib.get_close_matches(key, known, 1)
            remedy = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise ValueError(f"{where}: no key {key!r} belongs to this kind; {remedy}")


def _text(
    table: Mapping[str, Any], key: str, where: str, default: str, *, empty: bool = False
) -> str:
    said = table.get(key, default)
    if not isinstance(said, str) or any(not c.isprintable() for c in said):
        raise ValueError(f"{where}: {key} is {said!r}; write a text in quotes")
    if not said and not empty:
        raise ValueError(f'{where}: {key} is missing; write it as {key} = "…"')
    return said


def _path(table: Mapping[str, Any], key: str, where: str, folder: Path) -> Path:
    return folder / Path(_text(table, key, where, "")).expanduser()


def _words(said: str, key: str, where: str) -> list[str]:
    try:
        words = shlex.split(said)
    except ValueError as error:
        raise ValueError(f"{where}: {key} can't be read ({error}); mend its quotes") from None
    if not words:
        raise ValueError(f"{where}: {key} holds no command; write the program's name")
    return words


def _server(table: Mapping[str, Any], where: str, folder: Path, kind: str) -> Server:
    host = _text(table, "host", where, "")
    if "/" in host or host.count(":") == 1 or " " in host:
        raise ValueError(f"{where}: host is {host!r}; write the name alone, and port apart")
    tls = table.get("tls", "tls" if kind == "imap" else "starttls")
    if tls not in ("starttls", "tls", "none"):
        raise ValueError(f'{where}: tls is {tls!r}; write one of "starttls", "tls", "none"')
    port = table.get("port", _PORTS[kind][tls])
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 65_536:
        raise ValueError(f"{where}: port is {port!r}; write a number from 1 to 65535")
    user = _text(table, "user", where, "", empty=True)
    secret = _secret(table, where, folder)
    if user and not secret:
        raise ValueError(f"{where}: user has no password; add password_env, or one of its kin")
    if secret and not user:
        raise ValueError(f"{where}: {secret.kind} has no user; add user")
    return Server(host, port, cast(Tls, tls), user, secret)


def _secret(table: Mapping[str, Any], where: str, folder: Path) -> Secret | None:
    given = [key for key in _SECRETS if key in table]
    if len(given) > 1:
        raise ValueError(f"{where}: {' and '.join(given)} are both given; leave only one")
    for key in given:
        # Never through `_text`, which would show a faulty password.
        said = table[key]
        if not isinstance(said, str) or not said:
            raise ValueError(f"{where}: {key} is no text; write it in quotes")
        if key.endswith("_command"):
            _words(said, key, where)
        if key == "password_file":
            said = str(folder / Path(said).expanduser())
        return Secret(key, said, folder)
    return None
