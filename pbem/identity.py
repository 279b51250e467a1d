"""Who somebody is: addresses as they are compared, tokens, and what a mail server vouches for.

A token is an HMAC of match and seat under the seat's own key, 16 characters of base32; it rides in
the Message-ID and the Reply-To of every letter sent to the seat (`mail.md`). The game master has
one for each match, and so has who applies for a seat.
"""

import base64
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from pbem import addresses

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


@lru_cache(maxsize=8)
def token(match: str, seat: str, key: str) -> str:
    """Return the token of a seat under its key."""
    digest = hmac.digest(bytes.fromhex(key), f"{match}\n{seat}".encode(), "sha256")
    # Five bytes are eight letters (RFC 4648, 6); the rest isn't wanted.
    return base64.b32encode(digest[: LENGTH // 8 * 5]).decode().lower()


def address_token(match: str, seat: str, key: str, address: str) -> str:
    """Return the token of the letter that asks whether an address is a seat's new one.

    It proves that its letter was read at that address, and is good for nothing else.
    """
    return token(match, f"{seat}\n{folded(address)}", key)


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
    """Return an address as it is compared.

    Case doesn't matter, nor what can't be seen; a host is in ASCII, Gmail's dots and plus parts
    are undone. Of other hosts nobody knows what their plus parts mean.
    """
    said = address.casefold()
    if not (said.isascii() and said.isprintable() and " " not in said):
        said = "".join(c for c in said if c.isprintable() and not c.isspace())
    local, at, host = said.rpartition("@")
    if not host.isascii():
        with suppress(UnicodeError):
            host = addresses.in_ascii(host)
    if host in ("gmail.com", "googlemail.com"):
        local, host = local.partition("+")[0].replace(".", ""), "gmail.com"
    return local + at + host


def own_addresses(mailbox: str) -> tuple[str, str]:
    """Return the patterns of our own addresses: the mailbox, with and without a plus part."""
    local, _, host = mailbox.rpartition("@")
    return mailbox, f"{local}+*@{host}"


def is_mailbox(address: str, mailbox: str) -> bool:
    """Tell whether an address is the mailbox, with or without a plus part."""
    said, own = (folded(one).rpartition("@") for one in (address, mailbox))
    whole = own[0].partition("+")[0]
    return said[2] == own[2] and said[0].partition("+")[0] in (own[0], whole)


def letter_number(message_id: str) -> int | None:
    """Return the number of the letter of ours that a Message-ID names; `None` where it's none."""
    found = _LETTER.search(message_id)
    return int(found[1]) if found else None


class Vouched(NamedTuple):
    """What our own mail server found of a sender: `passed` (dkim or dmarc, aligned), or a fault.

    With neither it has found nothing, or nobody was asked.
    """

    passed: bool = False
    fault: str = ""


def vouched(fields: Sequence[str], sender: str, server: str) -> Vouched:
    """Read the Authentication-Results fields (RFC 8601) of a mail, the topmost first.

    Only the topmost one of our server counts: others are anybody's word, and where they are all
    there is, nobody vouches. A method speaks for the sender only where its domain is aligned with
    the one in From (RFC 7489, 3.1).
    """
    ours = [field for field in fields if _server(field) == server.casefold()]
    if not ours:
        return Vouched(fault="only foreign servers vouch for its sender" if fields else "")
    # It takes long to import, and says nothing of its types.
    import authres  # type: ignore[import-untyped]

    try:
        header = authres.AuthenticationResultsHeader.parse(f"Authentication-Results: {ours[0]}")
    except (authres.AuthResError, ValueError, IndexError):
        return Vouched(fault="the result of its sender's authentication can't be read")
    domain = sender.rpartition("@")[2].casefold()
    results = [
        (str(one.method).lower(), str(one.result).lower(), _is_aligned(one, domain))
        for one in header.results or ()
    ]
    if any(method == "dmarc" and result == "fail" for method, result, _ in results):
        return Vouched(fault="its sender failed authentication (dmarc)")
    checks = [one for one in results if one[0] in ("dmarc", "dkim", "spf")]
    good = [method for method, result, aligned in checks if result == "pass" and aligned]
    if good:
        return Vouched(passed="dkim" in good or "dmarc" in good)
    against = [m for m, result, _ in checks if result in ("fail", "softfail", "policy", "pass")]
    why = f"its sender failed authentication ({', '.join(against)})" if against else ""
    return Vouched(fault=why)


def signed(raw: bytes, sender: str, record: Callable[..., bytes | None] | None = None) -> bool:
    """Tell whether a raw mail bears a DKIM signature (RFC 6376) aligned with its sender that holds.

    It needs the extra `dkim`, and asks the DNS for the key (or `record`, which is given its name);
    without the one, or the other's answer, it does not.
    """
    try:
        import dkim  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return False
    domain = sender.rpartition("@")[2].casefold()
    head = raw[:256_000].replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("latin-1")
    fields = re.findall(r"(?im)^DKIM-Signature:((?:[^\n]|\n[ \t])*)", head)
    for index, field in enumerate(fields[:5]):
        said = dict(re.findall(r"(?:^|;)\s*([a-z]+)\s*=\s*([^;\s]+)", field))
        # With `l` anything may have been added to the end of the mail.
        if "l" in said or not _is_under(said.get("d", "").casefold(), domain):
            continue
        # Whatever else is wrong with a signature, it proves nothing.
        with suppress(Exception):
            asked = {} if record is None else {"dnsfunc": record}
            if dkim.DKIM(raw, timeout=5).verify(idx=index, **asked):
                return True
    return False


def _server(field: str) -> str:
    said = field.partition(";")[0]
    return said.partition("(")[0].split(" ")[0].strip('"').casefold()


def _is_aligned(result: Any, domain: str) -> bool:
    """Tell whether a result speaks for the domain of From, or for one above or below it."""
    said = {f"{p.type}.{p.name}".lower(): str(p.value) for p in result.properties}
    for name in ("header.from", "header.d", "header.i", "smtp.mailfrom", "smtp.mail"):
        if name in said:
            return _is_under(said[name].rpartition("@")[2].strip('"').casefold(), domain)
    return False


def _is_under(other: str, domain: str) -> bool:
    # One of them must have a dot in it: a signature by `org` is not aligned with everybody.
    if "." not in other or "." not in domain:
        return other == domain
    return other == domain or other.endswith(f".{domain}") or domain.endswith(f".{other}")
