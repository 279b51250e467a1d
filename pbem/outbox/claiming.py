"""Which letters one of many senders may send: in order, some matches at a time, as a minute allows.

On PostgreSQL any number of processes send at once. Each claims matches for as long as it sends
letters of them, by locks that die with its connection; the others leave these to it, so that none
is sent twice, or overtakes an earlier one. By that connection the letters are marked: who has lost
his claim can't mark the next one, and sends no more. On SQLite one process sends at a time.
"""

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, or_, select, update
from sqlalchemy.orm import Session

from pbem import store
from pbem.store import Letter

# Letters looked up at a time.
PAGE = 200
# Letters counted at a time, before they are sent, or a third of a minute's if that is more.
SHARE = 20
# By how much the clocks of two machines may differ: a letter that is queued by one whose clock is
# fast is not overtaken by those of another.
SKEW = timedelta(minutes=1)
MINUTE = timedelta(minutes=1)
# No letter is put off for longer, a digest's aside: one due later was put off by a wrong clock.
FURTHEST = timedelta(days=1) + SKEW


class Waiting(NamedTuple):
    """A letter that waits: its number, to which address, and whose it is: a seat's, an applicant's,
    or the game master's of a match.

    One that isn't due yet keeps back the later ones of the same reader.
    """

    number: int
    recipient: str
    whose: str
    match: int | None
    is_due: bool


_WAITING = (
    select(
        Letter.id,
        Letter.recipient,
        Letter.seat_id,
        Letter.applicant_id,
        Letter.match_id,
        # What it is may be damaged, and hinders none.
        (Letter.due <= bindparam("now")).label("is_due"),
        Letter.tries,
    )
    .where(
        Letter.status == "queued", Letter.due <= bindparam("soon"), Letter.id > bindparam("last")
    )
    .order_by(Letter.id)
    .limit(PAGE)
)


def is_any_due(session: Session, now: datetime) -> bool:
    """Tell whether a letter waits that is to be sent now."""
    due = or_(Letter.due <= now, Letter.due > now + FURTHEST)
    query = select(Letter.id).where(Letter.status == "queued", due)
    return session.scalar(query.limit(1)) is not None


def recall(session: Session, now: datetime) -> None:
    """Have the letters sent now that were put off while a clock was ahead."""
    session.execute(
        update(Letter).where(Letter.status == "queued", Letter.due > now + FURTHEST).values(due=now)
    )


def waiting(connection: Connection, now: datetime) -> Iterator[list[Waiting]]:
    """Yield the letters that are due in the order they were queued, some at a time."""
    last = 0
    while True:
        found = connection.execute(_WAITING, {"soon": now + SKEW, "now": now, "last": last}).all()
        if not found:
            return
        last = found[-1].id
        yield [
            Waiting(
                one.id,
                one.recipient,
                _whose(one.seat_id, one.applicant_id, one.match_id),
                one.match_id,
                bool(one.is_due),
            )
            for one in found
            # One that is to be tried again later keeps nobody back.
            if one.is_due or not one.tries
        ]


def _whose(seat: int | None, applicant: int | None, match: int | None) -> str:
    if seat is not None:
        return f"seat {seat}"
    return f"match {match}" if applicant is None else f"applicant {applicant}"


def are_many(engine: Engine) -> bool:
    """Tell whether many processes may send at once."""
    return engine.dialect.name != "sqlite"


class Allowance:
    """How many letters may still leave, with all that others send and have sent within a minute.

    What leaves is counted before it does, some letters at a time, so that senders together never
    send more; what was counted and didn't leave is given back at the end.
    """

    def __init__(
        self,
        engine: Engine,
        per_minute: int,
        now: datetime,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`now` is when the round began; `seconds` tell how long it has lasted."""
        self._engine = engine
        self._per_minute = per_minute
        self._share = max(SHARE, per_minute // 3)
        self._now = self._counted = now
        self._seconds = seconds
        self._begun = seconds()
        self._left = 0

    def take(self, wanted: int) -> bool:
        """Tell whether one more letter may leave; `wanted` are about to, with it."""
        if self._left == 0:
            self._left = self._count(min(max(wanted, 1), self._share))
        if self._left == 0:
            return False
        self._left -= 1
        return True

    def spare(self) -> None:
        """Take back what the last `take` allowed: the letter didn't leave."""
        self._left += 1

    def close(self) -> None:
        """Give back what was counted and didn't leave."""
        if self._left:
            self._count(-self._left)
            self._left = 0

    def _count(self, more: int) -> int:
        """Count some letters more as sent, or (fewer) those not that were counted last; return how
        many of them may be."""
        now = self._now + timedelta(seconds=int(self._seconds() - self._begun))
        if more > 0:
            self._counted = now
        with store.writing(self._engine) as session:
            store.hold(session, "throttle", wait=True)
            # What a clock that was wrong, or a rehearsal, has counted ahead is of no account.
            counted = _counted(store.mark(session, "throttle"), now)
            more = min(more, max(self._per_minute - sum(counted.values()), 0))
            ours = self._counted.isoformat()
            counted[ours] = max(counted.get(ours, 0) + more, 0)
            store.remember(session, "throttle", counted)
        return more


def _counted(kept: dict[str, Any], now: datetime) -> dict[str, int]:
    """Return what was counted within a minute, by time; nothing where that can't be read."""
    try:
        return {
            moment: int(count)
            for moment, count in kept.items()
            if now - MINUTE < datetime.fromisoformat(moment) <= now + SKEW
        }
    except (ValueError, TypeError):
        return {}
