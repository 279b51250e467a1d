"""The fonts that come with us: their files, and how far each letter moves the pen."""

import struct
import unicodedata
from functools import lru_cache
from pathlib import Path

FAMILY = "DejaVu Sans"
_FOLDER = Path(__file__).resolve().parent.parent / "fonts"
FILES = sorted(str(path) for path in _FOLDER.glob("*.ttf"))


@lru_cache
def advances(bold: bool) -> dict[str, float]:
    """Return how far each character moves the pen, in parts of the font's size.

    Those the font lacks are not in it, nor those that can't be set one after the other: marks, and
    scripts that run to the left (OpenType 1.9: `cmap` of format 4, `hmtx`).
    """
    font = (_FOLDER / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")).read_bytes()
    tables = {
        font[at : at + 4]: struct.unpack(">I", font[at + 8 : at + 12])[0]
        for at in range(12, 12 + 16 * struct.unpack(">H", font[4:6])[0], 16)
    }
    head, hhea, hmtx = tables[b"head"], tables[b"hhea"], tables[b"hmtx"]
    (size,) = struct.unpack(">H", font[head + 18 : head + 20])
    (metrics,) = struct.unpack(">H", font[hhea + 34 : hhea + 36])
    wide = struct.unpack(f">{metrics * 2}H", font[hmtx : hmtx + metrics * 4])[::2]
    return {
        chr(code): wide[min(glyph, metrics - 1)] / size
        for code, glyph in _glyphs(font, tables[b"cmap"]).items()
        if unicodedata.category(chr(code)) not in ("Mn", "Me", "Cf", "Cc")
        and unicodedata.bidirectional(chr(code)) not in ("R", "AL", "AN")
    }


def _glyphs(font: bytes, cmap: int) -> dict[int, int]:
    """Return the number of the glyph of each code of the basic plane."""
    (count,) = struct.unpack(">H", font[cmap + 2 : cmap + 4])
    records = struct.iter_unpack(">HHI", font[cmap + 4 : cmap + 4 + 8 * count])
    table = cmap + next(at for platform, kind, at in records if (platform, kind) == (3, 1))
    (double,) = struct.unpack(">H", font[table + 6 : table + 8])
    ends, starts, deltas, offsets = (
        struct.unpack(f">{double // 2}H", font[at : at + double])
        for at in (table + 14, *(table + 16 + double * part for part in (1, 2, 3)))
    )
    found = {}
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for code in range(start, end + 1 if end < 0xFFFF else end):
            glyph = code
            if offsets[number]:
                at = table + 16 + 3 * double + 2 * number + offsets[number] + 2 * (code - start)
                (glyph,) = struct.unpack(">H", font[at : at + 2])
            if glyph:
                found[code] = glyph + deltas[number] & 0xFFFF
    return found
