"""Pictures: an SVG becomes a PNG, with the fonts that come with us and no others."""

import struct
from functools import lru_cache

from pbem.reports import fonts

# Twice the size it is shown at: sharp on a phone.
SCALE = 2


@lru_cache(maxsize=16)
def picture(svg: str) -> bytes:
    """Draw an SVG as a PNG of `SCALE` times its size; the same text is drawn once.

    Raise `ValueError` where it is no SVG that can be drawn.
    """
    # It imports Pillow, which a tick that draws nothing does without.
    from pbem.reports import pieces

    try:
        return pieces.laid(svg, SCALE, _drawn)
    except pieces.Unfit:
        return _drawn(svg, SCALE)


def _drawn(svg: str, zoom: float = 1) -> bytes:
    """Draw an SVG as a whole."""
    import resvg_py

    drawn = resvg_py.svg_to_bytes(
        svg_string=svg,
        zoom=zoom,
        skip_system_fonts=True,
        font_files=fonts.FILES,
        font_family=fonts.FAMILY,
        sans_serif_family=fonts.FAMILY,
        serif_family=fonts.FAMILY,
        monospace_family=fonts.FAMILY,
    )
    return bytes(drawn)


def width(png: bytes) -> int:
    """Return how wide a picture of ours is to be shown, in CSS pixels (PNG, 11.2.2)."""
    (pixels,) = struct.unpack(">I", png[16:20])
    return int(pixels) // SCALE
