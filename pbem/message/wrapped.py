"""Texts wrapped in other formats: Outlook's winmail.dat (TNEF) and opaque S/MIME (CMS)."""

_TNEF = b"\x78\x9f\x3e\x22"
_TNEF_BODY = 0x0002800C
_SIGNED = bytes.fromhex("06092a864886f70d010702")
_DATA = bytes.fromhex("06092a864886f70d010701")


def tnef_body(data: bytes) -> bytes | None:
    """Return the plain body of a winmail.dat, `None` where it holds none (or only rich text)."""
    if not data.startswith(_TNEF):
        return None
    at = 6
    while at + 9 <= len(data):
        attribute = int.from_bytes(data[at + 1 : at + 5], "little")
        length = int.from_bytes(data[at + 5 : at + 9], "little")
        if attribute == _TNEF_BODY and data[at] == 1:
            return data[at + 9 : at + 9 + length].rstrip(b"\0")
        at += 9 + length + 2
    return None


def signed_content(data: bytes) -> bytes | None:
    """Return the MIME entity inside opaquely signed CMS data (RFC 5652), `None` if there is none.

    The signature is not checked: who signed says nothing about the seat.
    """
    if _SIGNED not in data[:64]:
        return None
    at = data.find(_DATA)
    if at < 0:
        return None
    content = _element(data, at + len(_DATA), len(data))
    if content is None or content[0] != 0xA0:
        return None
    return _octets(data, content[1], content[2])


def _element(data: bytes, at: int, end: int) -> tuple[int, int, int] | None:
    """Return tag, start and end of the content of the BER element at `at`."""
    if at + 2 > end:
        return None
    tag, length, start = data[at], data[at + 1], at + 2
    if length == 0x80:
        return tag, start, end
    if length > 0x80:
        width = length & 0x7F
        length = int.from_bytes(data[start : start + width], "big")
        start += width
    return tag, start, min(start + length, end)


def _octets(data: bytes, at: int, end: int) -> bytes | None:
    """Join the octet strings from `at`; a constructed one is a row of others."""
    found: list[bytes] = []
    while (element := _element(data, at, end)) and element[0] in (0x04, 0x24):
        tag, start, stop = element
        if tag == 0x04:
            found.append(data[start:stop])
        at = stop if tag == 0x04 else start
    return b"".join(found) or None
