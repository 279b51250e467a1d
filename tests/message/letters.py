"""Raw mails made in a line: the builders and the two readers that the tests here share."""

from collections.abc import Sequence
from functools import cache

from pbem import message, reading
from pbem.message import Letter
from pbem.reading import Roster

OURS = "game@play.example.org"
FREYA = "freya@example.net"
GOOD_RESULT = (
    "mx.play.example.org; dkim=pass (2048-bit key) header.d=example.net;"
    " dmarc=pass (p=none) header.from=example.net"
)
ROSTER = Roster(
    players={FREYA: "Freya", "oswin@example.org": "Oswin"},
    own=(OURS, "bounces+*@play.example.org"),
    authserv_id="mx.play.example.org",
)
# What a report holds that was mailed to Freya: none of it may come back as an order.
REPORT = "Turn 5 is open.\nYour orders were:\nMUSTER A1\nBID Picts 12\nCLAIM YORK"
MARKED = "\n".join(f"> {line}" for line in REPORT.split("\n"))


def mail(
    body: str | bytes = "MUSTER C4\n",
    kind: str = "text/plain; charset=utf-8",
    head: str | bytes = "",
    **given: str | None,
) -> bytes:
    """Make a mail from Freya to us; a field given as None is left out, `head` is put on top."""
    fields: dict[str, str | None] = {
        "From": f"Freya Holm <{FREYA}>",
        "To": f"game+hexem1@{OURS.partition('@')[2]}",
        "Subject": "[hexem1] orders",
        "Message-ID": "<1@example.net>",
        "Date": "Mon, 3 Mar 2031 18:04:11 +0000",
        "Content-Type": kind,
    }
    fields |= {name.replace("_", "-"): value for name, value in given.items()}
    said = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)
    top = head if isinstance(head, bytes) else head.encode()
    content = body if isinstance(body, bytes) else body.encode()
    return top + said.encode() + b"\r\n" + content


def parts(*entities: str | bytes, kind: str = "mixed", **given: str | None) -> bytes:
    """Make a mail of some MIME entities, each its fields, a blank line, and its content."""
    body = b"".join(
        b"--cut\r\n" + (one if isinstance(one, bytes) else one.encode()) + b"\r\n"
        for one in entities
    )
    return mail(body + b"--cut--\r\n", f'multipart/{kind}; boundary="cut"', **given)


def entity(content: str, kind: str = "text/plain; charset=utf-8", *fields: str) -> str:
    """Make a MIME entity for `parts`."""
    return "\r\n".join([f"Content-Type: {kind}", *fields, "", content])


def html(body: str) -> bytes:
    """Make a mail that has HTML only."""
    return mail(body, "text/html; charset=utf-8")


def letter(raw: bytes, recipient: str = "") -> Letter:
    """Read a mail as the intake does."""
    return message.read(raw, recipient, ROSTER.own)


@cache
def _grammar() -> reading.Grammar:
    return reading.grammar_of(None)


def judged(*mails: bytes) -> list[tuple[str, bool, Sequence[str]]]:
    """Return action, answer and lines of mails that arrive one after the other."""
    seen: set[str] = set()
    read = [reading.read_mail(raw, _grammar(), ROSTER, seen) for raw in mails]
    return [(one["action"], one["auto_reply"], one["lines"]) for one in read]


def lines(raw: bytes | str) -> list[str]:
    """Return the order lines taken from a mail, or from a mail of this plain text."""
    return list(judged(raw if isinstance(raw, bytes) else mail(raw))[0][2])
