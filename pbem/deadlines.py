"""When a match's phase ends: by its schedule, zone and pauses, its players' absences, its grace."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import schedule, store
from pbem.schedule import Pause
from pbem.store import Absence, Entry, Match, Seat

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
    midst of a player's granted absence is moved behind it. Each moves the deadline of one phase
    only: with `use_absences` it is noted that it has; without, the phase is the one that the match
    was in before, and may go by those that its deadline has used already.
    """
    rule = schedule.next_deadline if first else schedule.fair_deadline
    zone, pause = zone_of(match), pauses(match)
    schedules = schedule.parse_all(match.schedules)
    deadline = rule(schedules, "decision" if deciding else match.phase, now, zone, pause)
    if deadline is None:
        return None
    seats = store.seats_of(session, match)
    away = [(one, seat) for seat in seats for one in seat.absences if one.granted]
    own = {} if use_absences or not away else _used_since(session, match, match.turn)
    for absence, seat in sorted(away, key=lambda one: (one[0].first, one[0].id)):
        if absence.moved and absence not in own:
            continue
        if absence.first <= deadline.astimezone(zone).date() <= absence.last:
            deadline = schedule.day_after(deadline, absence.last, zone, pause)
            if use_absences:
                use(session, match, seat, absence, now)
    return deadline


def use(session: Session, match: Match, seat: Seat, absence: Absence, now: datetime) -> None:
    """Note that an absence has moved the deadline of the phase a match is in, and moves no other.

    The history has for which phase, so that UNDO can `give_back` what a turn has used up.
    """
    absence.moved = True
    dates = {"first": str(absence.first), "last": str(absence.last)}
    store.record(session, match, now, seat.name, "away", turn=match.turn, **dates)


def give_back(session: Session, match: Match, turn: int) -> list[Absence]:
    """Give the absences back that deadlines since a turn have used up, that of its own phase too.

    Return those that its own phase had used.
    """
    used = _used_since(session, match, turn)
    for absence in used:
        absence.moved = False
    return [absence for absence, since in used.items() if since == turn]


def _used_since(session: Session, match: Match, turn: int) -> dict[Absence, int]:
    """Return the absences that deadlines since a turn have used up, with the turn before each."""
    query = select(Entry).where(Entry.match_id == match.id, Entry.what == "away")
    # What was used anew after it had been given back has a later entry.
    used = {
        (one.who, one.facts["first"], one.facts["last"]): one.facts["turn"]
        for one in session.scalars(query.order_by(Entry.id))
    }
    return {
        absence: since
        for seat in match.seats
        for absence in seat.absences
        if absence.moved
        and (since := used.get((seat.name, str(absence.first), str(absence.last)), -1)) >= turn
    }
