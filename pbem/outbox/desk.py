"""Where letters are written: what was read of a match for one is at hand for the next ones."""

import time
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.orm import Session

from pbem import store
from pbem.store import Letter, Match

Found = TypeVar("Found")

# So far ahead other letters of a match are looked for.
AHEAD = 20
# What was read of a match is used for so many seconds: a seat may get another player meanwhile.
FRESH = 5

_NEXT = (
    select(Letter, Match)
    .outerjoin(Letter.match)
    .where(
        Letter.id.between(bindparam("number"), bindparam("last")),
        Letter.match_id.is_not_distinct_from(bindparam("match")),
        Letter.status == "queued",
        Letter.due <= bindparam("now"),
    )
)


class Desk:
    """The session in which letters are written, the same for as long as they are of one match.

    The match is claimed for so long. Letters are queued match by match, so nothing that is read is
    older than a match's letters; where a server is slow, it is read again after some seconds.
    """

    def __init__(self, reads: Connection, marks: Connection, now: datetime) -> None:
        self.session = Session(reads, expire_on_commit=False)
        self._now = now
        self._claim = store.Claim(marks)
        self._next: dict[int, Letter] = {}
        self._is_ready = False
        self._read_at = time.monotonic()

    def letter(self, number: int, match: int | None) -> Letter | None:
        """Return a letter of a match, or (`None`) of none.

        `None` where another process has the match in hand, or has tried to send the letter.
        """
        if number not in self._next or time.monotonic() - self._read_at > FRESH:
            self._next = {one.id: one for one in self._read(number, match)}
        return self._next.pop(number, None)

    def close(self) -> None:
        """Let go of the match."""
        self.session.close()
        self._claim.close()

    def _read(self, number: int, match: int | None) -> Sequence[Letter]:
        """Read a letter, those of its match that follow, and the match with all its seats."""
        self.session.close()
        self._read_at = time.monotonic()
        at_hand = self.session.info["kept"] = {}
        if not self._claim.take(f"send {match}"):
            return []
        given = {"number": number, "last": number + AHEAD, "match": match, "now": self._now}
        found = self.session.execute(_NEXT, given).all()
        if found and not self._is_ready:
            self._make_ready()
        if found and (whole := found[0].Match) is not None:
            # A session holds only what somebody else holds.
            at_hand["match"] = [whole, *store.seats_of(self.session, whole)]
        return [one.Letter for one in found]

    def _make_ready(self) -> None:
        """Have templates that have changed since the last round read anew."""
        # Words and pictures take long to import, and most ticks send nothing.
        from pbem.reports import reread

        reread()
        self._is_ready = True


def kept(session: Session, key: Hashable, find: Callable[[], Found]) -> Found:
    """Return what `find` finds, which in the session of a desk is looked for but once."""
    at_hand = session.info.get("kept")
    if at_hand is None:
        return find()
    if key not in at_hand:
        at_hand[key] = find()
    found: Found = at_hand[key]
    return found
