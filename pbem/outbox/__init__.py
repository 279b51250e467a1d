"""Letters on their way out: written from facts, sent in order, marked, tried again, given up."""

from pbem.outbox.claiming import is_any_due
from pbem.outbox.facts import facts_of
from pbem.outbox.outlived import is_undone
from pbem.outbox.sending import GIVE_UP, MOST_UNSURE, Sent, flush
from pbem.outbox.writing import compose

__all__ = [
    "GIVE_UP",
    "MOST_UNSURE",
    "Sent",
    "compose",
    "facts_of",
    "flush",
    "is_any_due",
    "is_undone",
]
