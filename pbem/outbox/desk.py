"""Where letters are written: what they need is read for many at once, their matches claimed."""

import time
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from pbem import store
from pbem.outbox.claiming import Waiting
from pbem.outbox.rows import read_ahead
from pbem.store import Letter

# Letters of so many matches are read at a time, and so many letters, at the most.
MATCHES = 8
LETTERS = 48
# What was read of a match is used for so many seconds: a seat may get another player meanwhile.
FRESH = 5


class Desk:
    """The session in which letters are written, the same for those that are read at a time.

    Their matches are claimed for so long: one at first, twice as many each time, and one again
    where a server is slow. Others may send what is left, and what was read is never old.
    """

    def __init__(self, reads: Connection, marks: Connection, now: datetime) -> None:
        self.session = Session(reads, expire_on_commit=False)
        self._now = now
        self._claim = store.Claim(marks)
        self._next: dict[int, Letter | None] = {}
        self._matches = 1
        self._is_ready = False
        self._read_at = time.monotonic()

    def letter(self, coming: Sequence[Waiting]) -> Letter | None:
        """Return the first of the letters that are coming.

        `None` where another process has its match in hand, or has tried to send it.
        """
        number = coming[0].number
        is_old = time.monotonic() - self._read_at > FRESH
        if is_old:
            self._matches = 1
        if is_old or number not in self._next:
            self._next = self._read(_of_first(coming, self._matches))
            self._matches = min(2 * self._matches, MATCHES)
        return self._next.pop(number)

    def close(self) -> None:
        """Let go of the matches."""
        self.session.close()
        self._claim.close()

    def _read(self, coming: Sequence[Waiting]) -> dict[int, Letter | None]:
        """Read letters, of the matches that nobody else has in hand, with all they tell."""
        self.session.close()
        self._read_at = time.monotonic()
        due = [one for one in coming if one.is_due]
        works = {f"send {one.match}": one.match for one in due}
        ours = {works[work] for work in self._claim.take(works)}
        numbers = [one.number for one in due]
        found = read_ahead(self.session, numbers, ours, self._now) if ours else {}
        if found and not self._is_ready:
            self._make_ready()
        return {number: found.get(number) for number in numbers}

    def _make_ready(self) -> None:
        """Have templates that have changed since the last round read anew."""
        # Words and pictures take long to import, and most ticks send nothing.
        from pbem.reports import reread

        reread()
        self._is_ready = True


def _of_first(coming: Sequence[Waiting], many: int) -> Sequence[Waiting]:
    """Return the letters that come before any but the first so many matches."""
    matches = set()
    for place, one in enumerate(coming[:LETTERS]):
        matches.add(one.match)
        if len(matches) > many:
            return coming[:place]
    return coming[:LETTERS]
