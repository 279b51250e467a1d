"""When a player is away, and what it does to the deadlines of his match."""

from datetime import date, datetime, timedelta

from sqlalchemy.orm import Session

from pbem import deadlines, matches, schedule, store
from pbem.store import Absence, Seat

# To come, at once, of a seat: each is read wherever its match is.
MOST_ABSENCES = 20
_FARTHEST = timedelta(days=3653)


def absent(session: Session, seat: Seat, start: str, end: str, now: datetime) -> str:
    """Note that a seat's player is away (ABSENT FROM <date> TO <date>, both in ISO 8601).

    Within the days that the match grants each player, a deadline in that time is moved behind it,
    once; else the seat falls to its standing orders.
    """
    match = seat.match
    span = schedule.parse_pause(f"{start.strip()}..{end.strip()}", "absence")
    zone = deadlines.zone_of(match)
    today = now.astimezone(zone).date()
    if span.last < today:
        raise ValueError(f"{span.last} is past; nothing was noted")
    if span.last - today > _FARTHEST:
        raise ValueError(f"{span.last} is more than ten years ahead; nothing was noted")
    if any(one.first <= span.last and span.first <= one.last for one in seat.absences):
        raise ValueError("some of these days were declared before; nothing was noted")
    if sum(one.last >= today for one in seat.absences) >= MOST_ABSENCES:
        raise ValueError(
            f"you have declared {MOST_ABSENCES} absences to come, the most a seat may have; "
            "nothing was noted"
        )
    used = sum(_days(one.first, one.last) for one in seat.absences if one.granted)
    limit = match.settings.get("absences", 0)
    granted = used + _days(span.first, span.last) <= limit
    absence = Absence(first=span.first, last=span.last, granted=granted, declared=now)
    seat.absences.append(absence)
    store.record(
        session, match, now, seat.name, "absent", first=str(span.first), last=str(span.last)
    )
    session.flush()
    if not granted:
        left = max(0, limit - used)
        return (
            f"Noted. No deadline moves for it ({left} of {limit} days of absence are left to you); "
            "your standing orders count, if you leave some."
        )
    deadline = match.deadline
    if deadline is None or not span.first <= deadline.astimezone(zone).date() <= span.last:
        return "Noted. A deadline that falls into that time is moved behind it, once."
    deadlines.use(session, match, seat, absence, now)
    moved = schedule.day_after(deadline, span.last, zone, deadlines.pauses(match))
    why = f"{seat.name} is away until {span.last}."
    matches.move_deadline(session, match, moved, now, seat.name, why)
    return "Noted; the deadline is moved behind it."


def _days(first: date, last: date) -> int:
    return (last - first).days + 1
