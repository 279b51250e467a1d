"""When a match's phase ends: by its schedule, zone and pauses, its players' absences, its grace."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from pbem import schedule, store
from pbem.schedule import Pause
from pbem.store import Match

# How long a match waits for who is missing where more than half are, and no `grace` is set.
LONG_GRACE = timedelta(hours=24)


def grace(match: Match) -> timedelta:
    """Return how long a match waits beyond its deadline for who is missing."""
    return schedule.parse_duration(str(match.settings.get("grace", "0")))


def zone_of(match: Match) -> ZoneInfo:
    """Return the zone a match's deadlines are kept in."""
    return schedule.parse_zone(match.zone)


def shown(match: Match, moment: datetime | None) -> str:
    """Return a deadline as the game master is told it, in the match's zone."""
    if moment is None:
        return "none"
    return f"{moment.astimezone(zone_of(match)):%a %Y-%m-%d %H:%M %z} ({match.zone})"


def pauses(match: Match) -> list[Pause]:
    """Return the dates on which a match has no deadline."""
    return [schedule.parse_pause(text) for text in match.settings.get("pause", ())]


def begin_phase(
    session: Session,
    match: Match,
    now: datetime,
    deciding: Sequence[str] = (),
    *,
    first: bool = False,
) -> None:
    """Begin the phase a match is in: its deadline by the schedule, nobody ready yet.

    The `first` phase ends at the next time the schedule names; a later one is never much shorter
    than the schedule has it.
    """
    match.deadline = scheduled(session, match, now, deciding, first=first, use_absences=True)
    match.began = now
    match.waits_until, match.early, match.run_now = None, False, False
    match.tries, match.why, match.alarm = 0, "", ""
    for seat in match.seats:
        if seat.ready:
            seat.ready = False


def scheduled(
    session: Session,
    match: Match,
    now: datetime,
    deciding: Sequence[str] = (),
    *,
    first: bool = False,
    use_absences: bool = False,
) -> datetime | None:
    """Return the deadline of a match's phase if it begins now; `None` without a schedule.

    Where single seats are asked to decide, the schedule for `decision` is meant. A deadline in the
    midst of a player's granted absence is moved behind it; with `use_absences` that is noted, for
    each moves one deadline only.
    """
    rule = schedule.next_deadline if first else schedule.fair_deadline
    zone, pause = zone_of(match), pauses(match)
    schedules = schedule.parse_all(match.schedules)
    deadline = rule(schedules, "decision" if deciding else match.phase, now, zone, pause)
    if deadline is None:
        return None
    away = [one for seat in store.seats_of(session, match) for one in seat.absences if one.granted]
    for absence in sorted(away, key=lambda one: (one.first, one.id)):
        if not absence.moved and absence.first <= deadline.astimezone(zone).date() <= absence.last:
            deadline = schedule.day_after(deadline, absence.last, zone, pause)
            absence.moved = use_absences
    return deadline
