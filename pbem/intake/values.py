"""What goes into the taking in of mail, and what comes out of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pbem.store import Match, Seat


@dataclass(frozen=True, slots=True)
class Parcel:
    """One raw message as a source gave it: `key` names it there, `received` decides lateness.

    `size` counts the bytes of the whole message where `raw` is only its head.
    """

    raw: bytes
    received: datetime
    source: str
    key: str = ""
    recipient: str = ""
    size: int = 0


class Taken(NamedTuple):
    """What became of a message: its status in the store, and why.

    One that is `gm` is still to be carried out.
    """

    status: str
    why: str = ""


COPY = Taken("ignored", "a copy of an earlier mail")


@dataclass(frozen=True, slots=True)
class Mail:
    """A message as it lies in the store: its number there, when it came, and its raw bytes."""

    id: int
    received: datetime
    raw: bytes


class Handled(NamedTuple):
    """What became of a mail, and to which match and seat it was laid."""

    taken: Taken
    match: Match | None = None
    seat: Seat | None = None
