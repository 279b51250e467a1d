"""The marker lines our letters bear and the reader of answers looks for; data never holds one."""

import re

# Stands above everything we write: a player's own words stand above it.
MARKER = "##- Write your orders above this line -##"

# The order form stands between these two; lines filled in there count even where quoted.
FORM_BEGIN = "##- Order form: fill in the blanks and send it back -##"
FORM_END = "##- End of the order form -##"

# Full-width twins and joiners are in it because the reader folds the ones and drops the others.
_LIKE_OURS = re.compile(r"[#＃﹟](?:[\u200c\u200d]*[#＃﹟])+(?=[\u200c\u200d]*[-‐‑‒–—―−﹘﹣－])")


def defused(text: str) -> str:
    """Return data with nothing in it that could pass for a marker line.

    Else one player's press could lay a filled-in order form into another player's answer.
    """
    return _LIKE_OURS.sub("#", text)
