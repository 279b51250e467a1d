"""Tokens: which seat of which match a letter belongs to, and whether a mail may speak for it.

A token is an HMAC of match and seat under the seat's own key, 16 characters of base32; it rides in
the Message-ID, the Reply-To and the subject of every letter sent to the seat (`mail.md`).
"""

import base64
import hmac
import re
import secrets
from collections.abc import Iterable
from typing import NamedTuple

LENGTH = 16
_NAMED = re.compile(r"([a-z0-9][a-z0-9-]{0,31})\.([a-z2-7]{16})(?![a-z2-7])", re.IGNORECASE)
_LETTER = re.compile(r"\.[a-z2-7]{16}\.(\d{1,18})@", re.IGNORECASE)
_PASSWORD = re.compile(r"^[\W_]*PASSWORD[: ]+([a-z2-7]{16})\b", re.IGNORECASE | re.MULTILINE)


class Claim(NamedTuple):
    """A token as a mail shows it, for a match if it names one; not yet found to be true."""

    match: str | None
    token: str


def new_key() -> str:
    """Return a fresh secret key for a seat; an old token dies with the old key."""
    return secrets.token_hex(32)


def token(match: str, seat: str, key: str) -> str:
    """Return the token of a seat under its key."""
    digest = hmac.digest(bytes.fromhex(key), f"{match}\n{seat}".encode(), "sha256")
    return base64.b32encode(digest)[:LENGTH].decode().lower()


def is_token(said: str, true: str) -> bool:
    """Compare tokens in constant time, whatever their case."""
    return hmac.compare_digest(said.lower().encode(), true.encode())


def address(mailbox: str, match: str, token: str, plus_addressing: bool) -> str:
    """Return the address a reply goes to: the mailbox, with match and token in its plus part."""
    local, _, host = mailbox.rpartition("@")
    return f"{local}+{match}.{token}@{host}" if plus_addressing else mailbox


def message_id(match: str, token: str, letter: int, host: str) -> str:
    """Return the Message-ID of a letter to a seat, by its number among all letters."""
    return f"<{match}.{token}.{letter}@{host}>"


def claims(recipients: Iterable[str], references: Iterable[str], text: str) -> list[Claim]:
    """Find the tokens a mail shows: in its recipients, what it answers, a PASSWORD line.

    In this order, the most telling first (`mail.md`).
    """
    found: dict[Claim, None] = {}
    for recipient in recipients:
        plus = recipient.partition("@")[0].partition("+")[2]
        for match, said in _NAMED.findall(plus):
            found[Claim(match.lower(), said.lower())] = None
    for reference in references:
        for match, said in _NAMED.findall(reference):
            found[Claim(match.lower(), said.lower())] = None
    for said in _PASSWORD.findall(text):
        found[Claim(None, said.lower())] = None
    return list(found)


def folded(address: str) -> str:
    """Return an address as it is compared: case doesn't matter, nor what can't be seen."""
    return "".join(c for c in address.casefold() if c.isprintable() and not c.isspace())


def letter_number(message_id: str) -> int | None:
    """Return the number of the letter of ours that a Message-ID names; `None` where it's none."""
    found = _LETTER.search(message_id)
    return int(found[1]) if found else None
