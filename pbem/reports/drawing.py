"""Pictures: an SVG becomes a PNG, with the fonts that come with us and no others."""

import struct
from functools import lru_cache

from pbem.reports import fonts
from pbem.reports.extent import depth, size

# Twice the size it is shown at: sharp on a phone.
SCALE = 2
# The greatest board of ours has a quarter of so many pixels. More than the memory takes would end
# the process.
_MOST_PIXELS = 40_000_000
# Elements in elements to a depth of some 300 would end it too.
_DEEPEST = 60


@lru_cache(maxsize=16)
def picture(svg: str) -> bytes:
    """Draw an SVG as a PNG of `SCALE` times its size; the same text is drawn once.

    Raise `ValueError` where it is no SVG that can be drawn, or a far too great one.
    """
    # It imports Pillow, which a tick that draws nothing does without.
    from pbem.reports import pieces, shapes

    across, down = (max(1, length * SCALE) for length in size(svg))
    if across * down > _MOST_PIXELS:
        raise ValueError(
            f"it would be {across:.0f} by {down:.0f} pixels, and at most {_MOST_PIXELS} are drawn"
        )
    try:
        return pieces.laid(svg, SCALE, _drawn)
    except shapes.Unfit:
        if depth(svg) > _DEEPEST:
            raise ValueError(f"its elements are nested more than {_DEEPEST} deep") from None
        return _drawn(svg, SCALE)


def _drawn(svg: str, zoom: float = 1) -> bytes:
    """Draw an SVG as a whole."""
    import resvg_py

    try:
        drawn = resvg_py.svg_to_bytes(
            svg_string=svg,
            zoom=zoom,
            # As many as CSS has pixels an inch.
            dpi=96,
            skip_system_fonts=True,
            font_files=fonts.FILES,
            font_family=fonts.FAMILY,
            sans_serif_family=fonts.FAMILY,
            serif_family=fonts.FAMILY,
            monospace_family=fonts.FAMILY,
        )
    except BaseException as error:
        # Numbers without measure make it panic, which is no `Exception`; the class has no module.
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"the SVG has something that fails to be drawn: {error}") from error
    return bytes(drawn)


def width(png: bytes) -> int:
    """Return how wide a picture of ours is to be shown, in CSS pixels (PNG, 11.2.2)."""
    (pixels,) = struct.unpack(">I", png[16:20])
    return int(pixels) // SCALE
