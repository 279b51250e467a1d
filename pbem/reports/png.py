"""PNG as pictures need it: the pixels of a small one are read, a great one of few colours written.

RFC 2083 has the format (its chapters 3 and 6: chunks and filters).
"""

import struct
import zlib
from collections.abc import Iterator, Sequence

SIGNATURE = b"\x89PNG\r\n\x1a\n"

# Red, green, blue, and how opaque, 0 to 255 each.
Colour = tuple[int, int, int, int]


def rows(png: bytes) -> Iterator[bytes]:
    """Yield the rows of a PNG of eight bits a channel with alpha, as resvg writes them."""
    width = struct.unpack(">I", png[16:20])[0] * 4
    data = zlib.decompress(b"".join(body for kind, body in _chunks(png) if kind == b"IDAT"))
    above = bytes(width)
    for at in range(0, len(data), width + 1):
        above = _unfiltered(data[at], bytearray(data[at + 1 : at + 1 + width]), above)
        yield above


def written(width: int, height: int, colours: Sequence[Colour], scanlines: bytearray) -> bytes:
    """Write a picture of up to 256 colours; each of its scanlines begins with a zero byte.

    That byte says that the row is not filtered, which is best for so few colours (RFC 2083, 9.6).
    """
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", bytes(part for colour in colours for part in colour[:3])),
            (b"tRNS", bytes(colour[3] for colour in colours)),
            (b"IDAT", zlib.compress(scanlines, 1)),
            (b"IEND", b""),
        )
    )


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _unfiltered(kind: int, row: bytearray, above: bytes) -> bytes:
    """Undo the filter of a row of four bytes a pixel, given the row above it (RFC 2083, 6)."""
    # Most rows of a letter are clear.
    if not any(row) and not any(above):
        return above
    if kind == 1:
        for at in range(4, len(row)):
            row[at] = row[at] + row[at - 4] & 255
    elif kind == 2:
        for at, up in enumerate(above):
            row[at] = row[at] + up & 255
    elif kind in (3, 4):
        predicted = _average if kind == 3 else _paeth
        for at, up in enumerate(above):
            left, corner = (row[at - 4], above[at - 4]) if at >= 4 else (0, 0)
            row[at] = row[at] + predicted(left, up, corner) & 255
    return bytes(row)


def _average(left: int, up: int, _corner: int) -> int:
    return (left + up) // 2


def _paeth(left: int, up: int, corner: int) -> int:
    by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner
