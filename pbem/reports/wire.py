"""A letter as bytes: headers nobody can break into, parts every client shows, the same each time.

Lines end in CRLF, as RFC 5322 has them; who keeps letters in files may turn them to LF.
"""

import re
from binascii import b2a_base64, b2a_qp
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.header import Header
from email.utils import format_datetime, quote
from functools import lru_cache
from hashlib import sha256
from typing import Literal

from pbem import addresses

Person = tuple[str, str]

# All controls, line ends of any system, and what turns the direction of writing.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+")
_MESSAGE_ID = re.compile(r"[!-;=?-~]{1,900}")
_LONGEST_WORD = 60
_LONGEST_LINE = 78
_CRLF = b"\r\n"

# A part of a message, in pieces: joined but once, for a picture is long.
Part = list[bytes]


@dataclass(frozen=True)
class Picture:
    """A picture of a letter: the Content-ID its HTML names, the PNG, and what it shows in words."""

    cid: str
    png: bytes
    alt: str


@dataclass(frozen=True)
class Words:
    """What a letter says, before it is addressed to anybody."""

    subject: str
    text: str
    html: str | None = None
    pictures: tuple[Picture, ...] = ()
    calendar: bytes | None = None


@dataclass(frozen=True)
class Envelope:
    """Who writes to whom, and where the letter stands in its thread.

    People are (display name, address). Message-IDs may bear their angle brackets or not.
    `date` knows its zone. `list_id` is the match's, such as `hexem1.example.org`.
    """

    sender: Person
    recipient: Person
    reply_to: str
    message_id: str
    date: datetime
    list_id: str
    auto: Literal["auto-generated", "auto-replied"] = "auto-generated"
    in_reply_to: str | None = None
    references: Sequence[str] = ()


def mime(words: Words, envelope: Envelope) -> bytes:
    """Write the complete message (RFC 5322, 2045, 2387, 3834), CRLF at every line's end.

    The same arguments give the same bytes. The calendar part is an attachment beside the
    alternatives and not one of them: Exchange makes an appointment of a letter that has it among
    them, and readers that show the last alternative would show nothing else.
    All is ASCII, unless an address itself is not (then the transport needs SMTPUTF8).
    """
    seed = envelope.message_id
    body = _text("text/plain; charset=utf-8", words.text)
    if words.html is not None:
        html = _text("text/html; charset=utf-8", words.html)
        if words.pictures:
            parts = [html, *map(_image, words.pictures)]
            html = _multipart('related; type="text/html"', parts, seed + "/related")
        body = _multipart("alternative", [body, html], seed + "/alternative")
    if words.calendar is not None:
        invitation = _text(
            "text/calendar; charset=utf-8; method=PUBLISH",
            words.calendar.decode(),
            'Content-Disposition: attachment; filename="deadline.ics"',
        )
        body = _multipart("mixed", [body, invitation], seed + "/mixed")
    return b"".join([*(line.encode() + _CRLF for line in _headers(words, envelope)), *body])


def one_line(value: str) -> str:
    """Return a header's value on one line: no control, line end or direction mark stays in it."""
    return " ".join(_CONTROL.sub(" ", value).split())


def _headers(words: Words, envelope: Envelope) -> list[str]:
    own = _identifiers([envelope.message_id])
    earlier = _identifiers([envelope.in_reply_to or ""])
    before = _identifiers(envelope.references)
    fields = [
        ("From", _person("From", envelope.sender)),
        ("To", _person("To", envelope.recipient)),
        ("Reply-To", _address(envelope.reply_to)),
        ("Subject", _unstructured("Subject", words.subject)),
        ("Date", format_datetime(envelope.date)),
        ("Message-ID", "".join(own)),
        ("In-Reply-To", "".join(earlier)),
        ("References", "\r\n ".join(before)),
        ("List-Id", f"<{_address(envelope.list_id)}>"),
        ("Auto-Submitted", envelope.auto),
        ("X-Auto-Response-Suppress", "All"),
        ("MIME-Version", "1.0"),
    ]
    return [f"{name}: {value}" for name, value in fields if value]


def _unstructured(name: str, value: str) -> str:
    """Fold a text for a header, in encoded words (RFC 2047) where it isn't simple ASCII."""
    value = one_line(value)
    words = value.split(" ")
    simple = value.isascii() and "=?" not in value and max(map(len, words)) <= _LONGEST_WORD
    if simple and len(name) + len(value) <= 74:
        return value
    made = Header(value, "us-ascii" if simple else "utf-8", maxlinelen=76, header_name=name)
    return made.encode(linesep="\r\n")


def _person(name: str, person: Person) -> str:
    shown, address = one_line(person[0]), _address(person[1])
    if not shown:
        return address
    simple = shown.isascii() and "=?" not in shown and len(shown) <= _LONGEST_WORD
    shown = f'"{quote(shown)}"' if simple else _encoded(name, shown)
    fold = "\r\n " if len(name) + len(shown) + len(address) > 70 else " "
    return f"{shown}{fold}<{address}>"


def _encoded(name: str, value: str) -> str:
    return Header(value, "utf-8", maxlinelen=76, header_name=name).encode(linesep="\r\n")


def _address(address: str) -> str:
    """Return an address (or a name of its form) with nothing in it that could end it."""
    bare = re.sub(r"[\s<>,;:\"()\[\]\\]", "", one_line(address))
    local, at, host = bare.rpartition("@")
    # What was let in by an older program is for the server to refuse.
    with suppress(UnicodeError):
        host = addresses.in_ascii(host)
    return local + at + host


def _identifiers(found: Sequence[str]) -> list[str]:
    """Return the well-formed ones of some Message-IDs, in angle brackets (RFC 5322, 3.6.4)."""
    bare = [one.strip().removeprefix("<").removesuffix(">") for one in found]
    return [f"<{one}>" for one in bare if _MESSAGE_ID.fullmatch(one)]


def _text(kind: str, text: str, *more: str) -> Part:
    """Write a part that holds a text, by the shortest encoding that is safe on the wire.

    It is in UTF-8, its lines ended by CRLF, the last one too.
    """
    lines = text.replace("\r\n", "\n").split("\n") if "\r" in text else text.split("\n")
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    lines.append("")
    if text.isascii() and max(map(len, lines)) <= _LONGEST_LINE:
        return _leaf(kind, "7bit", "\r\n".join(lines).encode("ascii"), *more)
    printable = _CRLF.join(map(_printable, lines))
    # No text is shorter in UTF-8 than it has letters.
    if len(printable) >= len(text) * 4 // 3:
        content = "\r\n".join(lines).encode(errors="replace")
        if len(printable) >= len(content) * 4 // 3:
            return _leaf(kind, "base64", _base64(content), *more)
    return _leaf(kind, "quoted-printable", printable, *more)


@lru_cache(maxsize=1024)
def _printable(line: str) -> bytes:
    """Write a line as quoted-printable; the letters of a match have most of theirs in common."""
    return b2a_qp(line.encode(errors="replace"), istext=True).replace(b"=\n", b"=\r\n")


def _base64(content: bytes) -> bytes:
    """Write data in base64, in lines of 76 letters (RFC 2045, 6.8)."""
    coded = b2a_base64(content, newline=False)
    return b"".join([coded[at : at + 76] + _CRLF for at in range(0, len(coded), 76)])


def _leaf(kind: str, way: str, coded: bytes, *more: str) -> Part:
    """Write a part that holds a text or data, encoded by a way that is safe on the wire."""
    headers = [f"Content-Type: {kind}", f"Content-Transfer-Encoding: {way}", *more, "", ""]
    return ["\r\n".join(headers).encode("ascii"), coded]


@lru_cache(maxsize=16)
def _image(picture: Picture) -> Part:
    return _leaf(
        "image/png",
        "base64",
        _base64(picture.png),
        f"Content-ID: <{_address(picture.cid)}>",
        'Content-Disposition: inline; filename="picture.png"',
    )


def _multipart(kind: str, parts: Sequence[Part], seed: str) -> Part:
    # An equals sign followed by an underscore stands in no encoded part, so no boundary occurs
    # in one (RFC 2045, 6.7); the rest comes from the Message-ID, so a letter is always the same.
    boundary = f"=_{sha256(seed.encode()).hexdigest()[:32]}"
    head = f'Content-Type: multipart/{kind};\r\n boundary="{boundary}"\r\n\r\n'.encode()
    line = f"--{boundary}\r\n".encode()
    written = (chunk for part in parts for chunk in (line, *part, _CRLF))
    return [head, *written, f"--{boundary}--\r\n".encode()]
