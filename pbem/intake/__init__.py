"""Taking mail in: each message stored, read, laid to its seat, its orders filed, answered.

Nothing here confirms a message to where it came from: that is done after the commit.
"""

from pbem.intake.receipts import MOST_RECEIPTS
from pbem.intake.taking import known, retake, take_in
from pbem.intake.values import Parcel, Taken

__all__ = [
    "MOST_RECEIPTS",
    "Parcel",
    "Taken",
    "known",
    "retake",
    "take_in",
]
