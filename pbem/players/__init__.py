"""What a player may do besides ordering: be ready, be away, withdraw, leave, join, take a seat.

Each function carries out one command for a seat, tells whom it concerns, and returns the sentence
that answers it; one that can't be done raises `ValueError` with a sentence for its sender. A mail's
commands are carried out where it is taken in, in the mail's own savepoint; the game master's orders
about seats call the same functions.
"""

from pbem.players.absence import MOST_ABSENCES, absent
from pbem.players.joining import MOST_JOINING, apply, join
from pbem.players.naming import LONGEST_NAME, RESERVED, fault_of_name, free_name
from pbem.players.seats import drop, replace, set_address, take, waiting
from pbem.players.sheets import cancel, no_orders, ready

__all__ = [
    "LONGEST_NAME",
    "MOST_ABSENCES",
    "MOST_JOINING",
    "RESERVED",
    "absent",
    "apply",
    "cancel",
    "drop",
    "fault_of_name",
    "free_name",
    "join",
    "no_orders",
    "ready",
    "replace",
    "set_address",
    "take",
    "waiting",
]
