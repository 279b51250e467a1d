"""The orders that move the clock of a match: deadline, hold, release, run, end."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import deadlines, matches, schedule, store
from pbem.store import Match, Sheet, Tenure


def must_be_on(match: Match) -> None:
    """Raise `ValueError` for a match that is open or over."""
    if match.status not in ("running", "held"):
        raise ValueError(f"{match.name} is {match.status}; nothing was changed")


def set_deadline(session: Session, match: Match, time: str, now: datetime) -> str:
    """Move the deadline (DEADLINE); what is odd about the time is said."""
    must_be_on(match)
    zone = deadlines.zone_of(match)
    moment = schedule.parse_time(time, zone)
    if moment <= now:
        raise ValueError(
            f"{deadlines.shown(match, moment)} is past; name a time to come, or RUN NOW"
        )
    why = "The game master moved it."
    matches.move_deadline(session, match, moment, now, "gm", why)
    odd = schedule.odd_time(time, zone)
    paused = any(
        one.first <= moment.astimezone(zone).date() <= one.last for one in deadlines.pauses(match)
    )
    notes = [odd and f" ({odd})", " (that is a paused date)" if paused else ""]
    return f"The deadline is {deadlines.shown(match, moment)}.{''.join(notes)}"


def extend(session: Session, match: Match, duration: str, now: datetime) -> str:
    """Move the deadline on (EXTEND): days by the wall clock, hours as they pass."""
    must_be_on(match)
    if match.deadline is None:
        raise ValueError(f"{match.name} has no deadline; set one with DEADLINE <time>")
    moment = schedule.later(match.deadline, duration, deadlines.zone_of(match))
    if moment <= now:
        raise ValueError(f"{deadlines.shown(match, moment)} is past too; write a longer duration")
    why = "The game master extended it."
    matches.move_deadline(session, match, moment, now, "gm", why)
    return f"The deadline is {deadlines.shown(match, moment)}."


def hold(session: Session, match: Match, now: datetime) -> str:
    """Have the clock of a match stand still (HOLD)."""
    if match.status != "running":
        raise ValueError(f"{match.name} is {match.status}; only a running match is held")
    # Tries that failed tell no more why it is held.
    match.status, match.tries, match.why = "held", 0, "by the game master"
    store.record(session, match, now, "gm", "held", why=match.why)
    said = "The clock stands still until the game master releases the match. Orders are taken."
    tell_all(session, match, now, f"{match.name} is held", [said])
    return f"{match.name} is held."


def release(session: Session, match: Match, now: datetime) -> str:
    """Have a held match go on (RELEASE), by a new deadline where the old one is past.

    Not one whose players have come from another database without their addresses: nobody could
    write to them. A seat that its player left, or was taken off, hinders nothing.
    """
    if match.status != "held":
        raise ValueError(f"{match.name} is {match.status}; only a held match is released")
    lost = _lost(session, match)
    if lost:
        seats = f"the seat {lost[0]}" if len(lost) == 1 else f"the seats {', '.join(lost)}"
        raise ValueError(
            f"no address is known for {seats}: ADDRESS <seat> <address>, or REPLACE <seat> WITH "
            "<name> <address>, or DROP <seat> where nobody is to play it; then RELEASE"
        )
    match.status, match.tries, match.why = "running", 0, ""
    store.record(session, match, now, "gm", "released")
    deadline = match.deadline
    if deadline is not None and deadline <= now:
        match.began = now
        deadline = deadlines.scheduled(session, match, now, matches.phase(session, match).deciding)
    matches.move_deadline(
        session, match, deadline, now, "gm", "The game master released the match; it goes on."
    )
    return f"{match.name} goes on; the deadline is {deadlines.shown(match, deadline)}."


def _lost(session: Session, match: Match) -> list[str]:
    """Name the seats that somebody has whose address is not known."""
    taken = select(Tenure.seat_id).where(
        Tenure.seat_id.in_([seat.id for seat in match.seats]), Tenure.ended.is_(None)
    )
    held = set(session.scalars(taken))
    return [seat.name for seat in match.seats if seat.id in held and not seat.addresses]


def run_now(
    session: Session, match: Match, phase: str | None, turn: int | None, now: datetime
) -> str:
    """Mark the phase to be run (RUN NOW), if it is the one that is meant."""
    if phase is not None and turn is not None and turn < match.turn:
        return f"{phase} {turn} has been run; nothing is done."
    if match.status != "running":
        raise ValueError(f"{match.name} is {match.status}; nothing is run")
    if phase is not None and (phase.lower(), turn) != (match.phase, match.turn):
        raise ValueError(f"the phase to come is {matches.run_line(match)[8:]}, not {phase} {turn}")
    match.run_now = True
    store.record(session, match, now, "gm", "run now", phase=match.phase, turn=match.turn)
    return f"{match.phase} {match.turn} is run as soon as the mailboxes are fetched."


def finish(session: Session, match: Match, now: datetime) -> str:
    """End the match (END): the phase it is in is not played."""
    if match.status == "over":
        raise ValueError(f"{match.name} is over already")
    store.record(session, match, now, "gm", "ended", turn=match.turn)
    if match.status == "open":
        match.status, match.phase = "over", "over"
        tell_all(session, match, now, f"{match.name} does not begin", ["It was called off."])
        return f"{match.name} is called off."
    earlier = store.gm_orders(session, match)
    file_gm(session, match, f"{earlier}\nEND".strip(), now)
    match.status, match.tries, match.run_now = "running", 0, True
    return f"{match.name} is over as soon as the mailboxes are fetched."


def file_gm(session: Session, match: Match, text: str, now: datetime) -> None:
    """File the game master's lines for the phase to come; they replace those filed before."""
    session.add(Sheet(match_id=match.id, seat_id=None, turn=match.turn, text=text, received=now))
    session.flush()


def tell_all(
    session: Session, match: Match, now: datetime, about: str, sentences: Sequence[str]
) -> None:
    """Queue a notice to every seat."""
    facts = {"about": about, "sentences": list(sentences)}
    matches.tell(session, match, "notice", facts, now)
