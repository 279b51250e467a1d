"""Pictures: an SVG becomes a PNG, with the fonts that come with us and no others."""

import struct
from functools import lru_cache
from pathlib import Path

_FONTS = Path(__file__).resolve().parent.parent / "fonts"
# Twice the size it is shown at: sharp on a phone.
SCALE = 2


@lru_cache(maxsize=64)
def picture(svg: str) -> bytes:
    """Draw an SVG as a PNG of `SCALE` times its size; the same text is drawn once.

    Raise `ValueError` where it is no SVG that can be drawn.
    """
    import resvg_py

    drawn = resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=SCALE,
        skip_system_fonts=True,
        font_files=[str(path) for path in sorted(_FONTS.glob("*.ttf"))],
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
        serif_family="DejaVu Sans",
        monospace_family="DejaVu Sans",
    )
    return bytes(drawn)


def width(png: bytes) -> int:
    """Return how wide a picture of ours is to be shown, in CSS pixels (PNG, 11.2.2)."""
    (pixels,) = struct.unpack(">I", png[16:20])
    return int(pixels) // SCALE
