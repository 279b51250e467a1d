"""Header fields: from bytes to names and values, encoded words, addresses, parameters, ids."""

import binascii
import re
from collections.abc import Mapping

from pbem import typography
from pbem.message import charsets

Fields = Mapping[str, list[bytes]]

_NAME = re.compile(rb"([!-9;-~]{1,80})[ \t]*:")
_KNOWN = {
    *(b"from", b"to", b"cc", b"subject", b"date", b"message-id", b"mime-version"),
    *(b"content-type", b"content-transfer-encoding", b"received", b"return-path"),
}
_WORD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?=")
_PARAMETER = re.compile(r";\s*([^\s=;]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^;]*))")
_ID = re.compile(r"<([^<>]{1,998})>")
_LONGEST = 8000
_LONGEST_ADDRESS = 320


def parse(raw: bytes, start: int, end: int) -> tuple[dict[str, list[bytes]], int]:
    """Read the fields at `start`: raw values by lower-case name, and where the body begins.

    Lenient: blanks before a colon, a stray line among the fields, no blank line before the body.
    """
    found: dict[str, list[bytes]] = {}
    last: list[bytes] | None = None
    at = start
    known_until = -1
    while at < end:
        line_end = raw.find(b"\n", at, end)
        next_line = end if line_end < 0 else line_end + 1
        line = raw[at:next_line]
        if line in (b"\r\n", b"\n", b"\r"):
            return found, next_line
        named = _NAME.match(line)
        if line[:1] in (b" ", b"\t"):
            if last is not None:
                last[-1] += line
            elif line.strip():
                return found, at
        elif named:
            last = found.setdefault(named[1].decode("ascii").lower(), [])
            last.append(line[named.end() :])
        elif not (at == start and line.startswith((b"From ", b">From "))):
            # A stray line, where known fields follow before the blank line; else the body.
            if known_until < 0:
                known_until = _last_known(raw, at, end)
            if at > known_until:
                return found, at
        at = next_line
    return found, end


def _last_known(raw: bytes, at: int, end: int) -> int:
    """Return where the last line that is a field of a known name begins, `at - 1` if none."""
    blank = min(
        (p for p in (raw.find(b"\n\n", at, end), raw.find(b"\r\n\r\n", at, end)) if p > 0),
        default=end,
    )
    last = at - 1
    while at < blank:
        named = _NAME.match(raw, at, min(at + 100, end))
        if named and named[1].lower() in _KNOWN:
            last = at
        at = raw.find(b"\n", at, blank) + 1 or blank
    return last


def unfolded(value: bytes) -> bytes:
    """Return a raw value as one line."""
    return value.replace(b"\r", b"").replace(b"\n", b"").strip()[:_LONGEST]


def first(fields: Fields, name: str) -> str:
    """Return the first field of a name as plain text, undecoded and cleaned, `""` if none."""
    values = fields.get(name)
    return line(values[0]) if values else ""


def line(value: bytes) -> str:
    """Return a raw value as plain text, undecoded and cleaned."""
    return cleaned(charsets.decode(unfolded(value)))


def cleaned(text: str) -> str:
    """Drop control and format characters, and fold white space: fit for a database or a field."""
    if not text.isprintable():
        text = typography.visible(text.replace("\n", " ").replace("\r", " "))
    return " ".join(text.split())


def text(value: bytes, charset: str = "") -> str:
    """Decode a raw value with its encoded words; raw 8-bit is UTF-8, else in that charset."""
    return cleaned(decoded_words(eight_bit(unfolded(value), charset)))


def eight_bit(value: bytes, charset: str) -> str:
    """Decode a value that may hold raw 8-bit: as UTF-8, else in the charset its mail declares."""
    if value.isascii():
        return value.decode("ascii")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return charsets.decode(value, charset)


def decoded_words(value: str) -> str:
    """Decode the encoded words (RFC 2047) in a value, also where they shouldn't be."""
    if "=?" not in value:
        return value
    parts: list[str] = []
    at = 0
    pending, pending_charset = b"", ""
    for word in _WORD.finditer(value):
        between = value[at : word.start()]
        charset = word[1].partition("*")[0].lower()
        if pending and (between.strip() or charset != pending_charset):
            # A letter may be parted between two words of one charset: join before decoding.
            parts.append(charsets.decode(pending, pending_charset))
            pending = b""
        if between.strip() or (at == 0 and between):
            parts.append(between)
        pending, pending_charset = pending + _word_bytes(word[2], word[3]), charset
        at = word.end()
    if pending:
        parts.append(charsets.decode(pending, pending_charset))
    return "".join(parts) + value[at:]


def _word_bytes(encoding: str, said: str) -> bytes:
    data = said.encode("utf-8", "replace")
    if encoding in "bB":
        return charsets.transferred(data.replace(b" ", b""), "base64")
    return binascii.a2b_qp(data, header=True)


def addresses(value: str) -> list[tuple[str, str]]:
    """Part a field of addresses into (display name, address) pairs, in order.

    Display names are decoded. Commas and addresses in quotes or comments don't part anything. What
    has no `@` is no address but part of the name that goes on after its comma (`Holm, Freya
    <freya@example.net>`); what can't be one is given as `""`. Needs time linear in the value, which
    is one line.
    """
    found: list[tuple[str, str]] = []
    named: list[str] = []
    plain: list[str] = []
    comment: list[str] = []
    angle: list[str] | None = None
    inside, quoted, depth, escaped, grouped = False, False, 0, False, False
    for c in value + ",":
        kept = comment if depth else angle if inside and angle is not None else plain
        if escaped:
            kept.append(c)
            escaped = False
        elif c == "\\" and (quoted or depth):
            escaped = True
        elif quoted:
            quoted = c != '"'
            kept.append(c)
        elif c == '"' and not depth:
            quoted = True
            kept.append(c)
        elif c == "(":
            depth += 1
        elif depth:
            depth -= c == ")"
            if depth:
                comment.append(c)
        elif c == "<" and not inside:
            if angle is not None:
                found.append(_mailbox([*named, *plain], comment, angle))
                named, plain, comment = [], [], []
            angle, inside = [], True
        elif c == ">" and inside:
            inside = False
        elif c in ",;" and not inside:
            said = "".join(plain)
            if angle is not None:
                found.append(_mailbox([*named, *plain], comment, angle))
            elif "@" in said:
                found.append(_mailbox(plain, comment, None))
            if angle is None and said.strip() and "@" not in said:
                named += (said, c)
            else:
                named = []
            plain, comment, angle, grouped = [], [], None, False
        elif c == ":" and not inside and not grouped:
            # The name of a group.
            plain, grouped = [], True
        else:
            kept.append(c)
    if quoted or inside or depth:
        # A quote, bracket or comment that never ends: nobody can say whose this is.
        found.append(("", ""))
    return found


def _mailbox(plain: list[str], comment: list[str], angle: list[str] | None) -> tuple[str, str]:
    said = "".join(plain).strip()
    if angle is None:
        name, address = "".join(comment), said
    else:
        name, address = said.replace('"', "") or "".join(comment), "".join(angle)
    if address.startswith("@"):
        address = address.partition(":")[2]
    address = "".join(typography.visible(address).split())
    local, at, domain = address.rpartition("@")
    fits = at and local and domain and len(address) <= _LONGEST_ADDRESS
    return cleaned(decoded_words(name))[:200], address if fits else ""


def parameters(value: bytes) -> tuple[str, dict[str, str]]:
    """Read a field such as Content-Type: its value in lower case, and its parameters (RFC 2231)."""
    said = eight_bit(unfolded(value)[:4000], "")
    kind = said.partition(";")[0].partition("(")[0]
    pairs = [
        (found[1].lower(), found[3].strip() if found[2] is None else found[2])
        for found in _PARAMETER.finditer(said)
    ]
    given = dict(reversed(pairs))
    if any("*" in name for name in given):
        from email.utils import collapse_rfc2231_value, decode_params

        try:
            collapsed = decode_params([("", ""), *((n, f'"{v}"') for n, v in given.items())])[1:]
            given |= {name: collapse_rfc2231_value(v).strip('"') for name, v in collapsed}
        except (ValueError, LookupError):
            pass
    return kind.strip().lower(), given


def ids(values: list[bytes]) -> tuple[str, ...]:
    """Return the message ids in fields such as References, without brackets, each once."""
    found = [name for value in values for name in _ID.findall(line(value))]
    return tuple(dict.fromkeys(found[-100:]))
