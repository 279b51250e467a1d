"""A way out over SMTP, phase by phase, so that it is known what a lost connection means (RFC 5321).

`smtplib` keeps the connection and reads the replies; which command comes next is decided here.
"""

import re
import smtplib
from contextlib import suppress
from typing import Literal, NamedTuple

from pbem.post import Accepted, Later, Refused, Sent, Unreachable, Unsure, fault_of_address, plain
from pbem.post.secrets import reveal
from pbem.post.settings import Server, SmtpSettings
from pbem.post.tls import unreachable, verified

_Part = Literal["sender", "recipient", "content"]

# Seconds to wait for a reply, and for the one after the final dot (RFC 5321, 4.5.3.2).
_PATIENCE = 60
_PATIENCE_AT_THE_END = 600

# The server wants a log-in, or another one, before it takes any letter.
_LOG_IN = (530, 534, 535, 538)
# The server is closing the connection.
_CLOSING = 421


class SmtpSender:
    """A way out over one connection, kept for a batch and made again when it is lost."""

    def __init__(self, settings: SmtpSettings) -> None:
        self.name = f"smtp {settings.server.host}:{settings.server.port}"
        self._server = settings.server
        self._kept: smtplib.SMTP | None = None

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Sent:
        """Hand over one letter in an envelope of its own (see `Sender.send`)."""
        if envelope_from and (fault := fault_of_address(envelope_from)):
            return Refused(fault, "sender")
        if fault := fault_of_address(recipient):
            return Refused(fault, "recipient")
        if self._kept:
            sent = self._try(self._kept, envelope_from, recipient, raw)
            # A server may hang up between two letters; that says nothing about the next one.
            if not isinstance(sent, _HungUp):
                return sent
        self._kept = _connected(self._server, self.name)
        sent = self._try(self._kept, envelope_from, recipient, raw)
        return Later(sent.why) if isinstance(sent, _HungUp) else sent

    def probe(self) -> None:
        """Connect, secure the connection and log in (see `Sender.probe`)."""
        self.close()
        self._kept = _connected(self._server, self.name)

    def close(self) -> None:
        """Say good-bye, if there is anybody to say it to."""
        kept, self._kept = self._kept, None
        if kept:
            try:
                kept.quit()
            except (smtplib.SMTPException, OSError):
                kept.close()

    def _try(
        self, smtp: smtplib.SMTP, envelope_from: str, recipient: str, raw: bytes
    ) -> "Sent | _HungUp":
        """Go through the phases of one letter; `_HungUp` where not even the first was answered."""
        envelope = _envelope(smtp, envelope_from, recipient, raw)
        if isinstance(envelope, Refused):
            return envelope
        commands: tuple[tuple[_Part, str], ...] = (
            ("sender", envelope.mail),
            ("recipient", envelope.rcpt),
            ("content", "DATA"),
        )
        smtp.command_encoding = envelope.encoding
        # Where the server allows it, the three leave at once, and their replies come one by one.
        at_once = bool(smtp.has_extn("pipelining"))
        if at_once:
            self._say(smtp, "\r\n".join(command for _, command in commands))
        for place, (part, command) in enumerate(commands):
            if not at_once:
                self._say(smtp, command)
            reply = self._heard(smtp)
            if reply.code // 100 == (3 if command == "DATA" else 2):
                continue
            if reply.code in (0, _CLOSING):
                self._drop(smtp)
                why = f"{self.name}: it hung up before it had the letter: {reply.text}"
                return _HungUp(why) if part == "sender" else Later(why)
            if at_once:
                self._call_off(smtp, len(commands) - place - 1)
            return self._declined(smtp, reply, part)
        return self._data(smtp, raw)

    def _call_off(self, smtp: smtplib.SMTP, replies: int) -> None:
        """Hear the replies to what was said too soon; a letter that is waited for is left empty.

        The server has no recipient for it, so that nobody gets it (RFC 2920, 3.1).
        """
        last = [self._heard(smtp) for _ in range(replies)][-1:]
        if last and last[0].code // 100 == 3:
            self._say(smtp, ".")
            self._heard(smtp)

    def _data(self, smtp: smtplib.SMTP, raw: bytes) -> Sent:
        """Send the letter itself: until the final dot nothing can have been taken, then it may.

        The dot is the last that is handed to the system: where that fails, it never left.
        """
        body = re.sub(rb"\r\n|\r|\n", b"\r\n", raw)
        body = re.sub(rb"(?m)^\.", b"..", body)
        end = b".\r\n" if body.endswith(b"\r\n") or not body else b"\r\n.\r\n"
        try:
            smtp.send(body + end)
        except smtplib.SMTPException as error:
            self._drop(smtp)
            return Later(f"{self.name}: the connection broke within the letter: {error}")
        if smtp.sock:
            smtp.sock.settimeout(_PATIENCE_AT_THE_END)
        reply = self._heard(smtp)
        if smtp.sock:
            smtp.sock.settimeout(_PATIENCE)
        if reply.code // 100 == 2:
            return Accepted(reply.shown)
        if reply.code == 0:
            self._drop(smtp)
            return Unsure(f"{self.name}: no answer to the whole letter: {reply.text}")
        return self._declined(smtp, reply, "content")

    def _say(self, smtp: smtplib.SMTP, commands: str) -> None:
        """Send commands, as they are encoded for this letter; that none arrived is heard later."""
        with suppress(smtplib.SMTPException):
            smtp.send(f"{commands}\r\n")

    def _heard(self, smtp: smtplib.SMTP) -> "_Reply":
        """Return the next reply; code 0 where none came or none that is one."""
        if smtp.sock is None:
            return _Reply(0, "the connection is lost")
        try:
            code, said = smtp.getreply()
        except smtplib.SMTPException as error:
            return _Reply(0, str(error))
        if not 200 <= code <= 599:
            return _Reply(0, f"{said!r} is no reply")
        return _Reply(code, plain(said))

    def _declined(self, smtp: smtplib.SMTP, reply: "_Reply", part: _Part) -> Sent:
        """Make ready for the next letter, and say what became of this one."""
        if reply.code != _CLOSING:
            self._say(smtp, "RSET")
        if reply.code == _CLOSING or self._heard(smtp).code // 100 != 2:
            self._drop(smtp)
        why = f"{self.name}: {reply.shown}"
        if reply.code in _LOG_IN:
            raise Unreachable(f"{why}; mend user and password", lasting=True)
        if reply.code // 100 == 5:
            return Refused(why, _blamed(reply.text, part))
        return Later(why)

    def _drop(self, smtp: smtplib.SMTP) -> None:
        smtp.close()
        self._kept = None


class _HungUp(NamedTuple):
    """The connection ended before the letter had begun."""

    why: str


class _Reply(NamedTuple):
    """A reply of the server: its code (0: none came) and its words on one line."""

    code: int
    text: str

    @property
    def shown(self) -> str:
        return f"{self.code} {self.text}".strip()


class _Envelope(NamedTuple):
    """The two commands of an envelope, and how they are encoded."""

    mail: str
    rcpt: str
    encoding: str


def _envelope(
    smtp: smtplib.SMTP, envelope_from: str, recipient: str, raw: bytes
) -> _Envelope | Refused:
    """Write the commands with what the server can do; refuse what it has no form for."""
    options = f" SIZE={len(raw)}" if smtp.has_extn("size") else ""
    if not raw.isascii() and smtp.has_extn("8bitmime"):
        options += " BODY=8BITMIME"
    header = re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[0]
    wide = not (envelope_from + recipient).isascii()
    if (wide or not header.isascii()) and smtp.has_extn("smtputf8"):
        mail = f"MAIL FROM:<{envelope_from}>{options} SMTPUTF8"
        return _Envelope(mail, f"RCPT TO:<{recipient}>", "utf-8")
    parts: tuple[tuple[_Part, str], ...] = (("sender", envelope_from), ("recipient", recipient))
    written: list[str] = []
    for part, address in parts:
        try:
            written.append(_in_ascii(address))
        except UnicodeError:
            why = f"the server takes no address with such letters: {address}"
            return Refused(why, part)
    return _Envelope(f"MAIL FROM:<{written[0]}>{options}", f"RCPT TO:<{written[1]}>", "ascii")


def _in_ascii(address: str) -> str:
    """Return an address with its domain in ASCII (RFC 5891), or raise `UnicodeError`."""
    if address.isascii():
        return address
    local, _, domain = address.rpartition("@")
    return local.encode("ascii").decode() + "@" + domain.encode("idna").decode()


def _blamed(text: str, part: _Part) -> _Part:
    """Say what was refused: the phase tells, unless an enhanced code (RFC 3463) tells better."""
    found = re.match(r"5\.(\d{1,3})\.\d{1,3}\b", text)
    subject = found[1] if found else ""
    if part != "sender" and subject in ("1", "2"):
        return "recipient"
    # Policy, such as "relaying denied", is about us and not about his address.
    return "sender" if part == "recipient" and subject == "7" else part


def _connected(server: Server, name: str) -> smtplib.SMTP:
    """Connect, secure and log in; raise `Unreachable` with what went wrong."""
    password = reveal(server.secret, name) if server.secret else ""
    smtp: smtplib.SMTP | None = None
    try:
        if server.tls == "tls":
            smtp = smtplib.SMTP_SSL(server.host, server.port, timeout=_PATIENCE, context=verified())
        else:
            smtp = smtplib.SMTP(server.host, server.port, timeout=_PATIENCE)
        if server.tls == "starttls":
            code, said = smtp.starttls(context=verified())
            if code != 220:
                raise smtplib.SMTPResponseException(code, said)
        smtp.ehlo_or_helo_if_needed()
        if password and server.secret and server.secret.kind == "token_command":
            token = f"user={server.user}\1auth=Bearer {password}\1\1"
            smtp.auth("XOAUTH2", lambda challenge=None: "" if challenge else token)
        elif password:
            smtp.login(server.user, password)
    except Exception as error:
        if smtp:
            smtp.close()
        raise _explained(error, name, server.user) from error
    return smtp


def _explained(error: Exception, name: str, user: str) -> Exception:
    """Return what a failed connection means, or the error itself where it is one of our own."""
    if isinstance(error, smtplib.SMTPResponseException):
        said = f"{error.smtp_code} {plain(error.smtp_error)}"
        lasting = error.smtp_code >= 500
        if isinstance(error, smtplib.SMTPAuthenticationError):
            why = f"the log-in of {user} was refused: {said}; mend user and password"
            return Unreachable(f"{name}: {why}", lasting=lasting)
        return Unreachable(f"{name}: {said}", lasting=lasting)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return Unreachable(f"{name}: {error}; mend tls or port", lasting=True)
    if isinstance(error, UnicodeError):
        return Unreachable(f"{name}: user or password has letters no log-in takes", lasting=True)
    if isinstance(error, (smtplib.SMTPException, OSError)):
        return unreachable(name, error)
    return error
