"""What puts a turn off: mailboxes not fetched, long outages, missing orders; and who is told.

Nothing here runs a turn. What hinders one is told to the game master once, with the lines he can
answer; whoever called is given it as a value.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from sqlalchemy import or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pbem import deadlines, matches, schedule, store
from pbem import game as games
from pbem.faults import Damaged
from pbem.matches import Phase
from pbem.store import Match, Seat, Tenure, Turn

_UNREMINDED = (
    Match.status == "running",
    or_(Match.reminded.is_(None), Match.reminded != Match.deadline),
)


class Brake(NamedTuple):
    """What keeps a turn that is due from being run.

    `outcome` is waiting (for who is missing), put off (a mailbox could not be fetched) or overdue
    (waits for `pbem resume`). `news` tells whether that was found now; else the game master knows
    it already.
    """

    outcome: str
    why: str
    news: bool = True


def is_hindered(match: Match, now: datetime, fetched: datetime | None, early: bool) -> bool:
    """Tell whether a turn that is due is `braked`; nobody is told.

    What can't be read is no brake: the turn is tried, and fails.
    """
    try:
        return not _is_fetched(match, now, fetched, early) or (not early and is_overdue(match, now))
    except Damaged:
        return False


def _is_fetched(match: Match, now: datetime, fetched: datetime | None, early: bool) -> bool:
    wanted = now if early or match.deadline is None else match.deadline
    return fetched is not None and fetched >= wanted


def braked(
    session: Session,
    match: Match,
    now: datetime,
    fetched: datetime | None,
    early: bool,
    away: Sequence[str] = (),
) -> Brake | None:
    """Return what keeps a turn that is due from being tried (`life.md`, Brakes), if anything does.

    `fetched` is when the last mailbox was taken in (`None`: one never was), `away` says what
    hinders those that can't be now. What a phase `waits` for is looked at when it is tried.
    """
    name = match.name
    if not _is_fetched(match, now, fetched, early):
        why = "a mailbox could not be fetched since the deadline"
        says = [f"In {name} {why}:", *away]
        remedy = "`pbem doctor` says what is wrong with it; the turn is run once it is fetched."
        # Where none is away, another process is just fetching it.
        news = bool(away) and matches.alarm(
            session, match, now, "A turn is put off", says, [remedy]
        )
        return Brake("put off", why, news)
    if not early and is_overdue(match, now):
        why = f"long overdue: `pbem resume {name}` sets a new deadline"
        overdue = f"The deadline of {name} is past by more than its whole phase, so nothing is run."
        remedies = [f"pbem resume {name} --yes", "DEADLINE <time>", matches.run_line(match)]
        news = matches.alarm(
            session, match, now, "A match waits for a new deadline", [overdue], remedies
        )
        return Brake("overdue", why, news)
    return None


def waits(session: Session, match: Match, now: datetime) -> Brake | Phase:
    """Put a turn off for those from whom no orders came, and tell who must know.

    Return the phase where it is to be run, with the late sheets that count after all.
    """
    phase = matches.phase(session, match)
    deadline = match.deadline
    if not phase.awaited or deadline is None:
        return phase
    if match.waits_until is not None:
        over = match.waits_until <= now
        return phase if over else Brake("waiting", _named(phase), news=False)
    late = [seat for seat in match.seats if seat.name in phase.awaited]
    if match.turn == 0 and not match.put_off:
        # Who was merely late need not be waited for a whole phase.
        matches.adopt(session, match, *late)
        phase = matches.phase(session, match)
        return _put_off_once(session, match, phase, now) if phase.awaited else phase
    grace = deadlines.grace(match)
    many = _is_deserted(phase)
    if many and not grace:
        grace = deadlines.LONG_GRACE
    until = deadline + grace
    if many and until <= now:
        until = now + grace
    if until <= now:
        return phase
    match.waits_until = until
    matches.adopt(session, match, *late)
    phase = matches.phase(session, match)
    if not phase.awaited:
        return phase
    store.record(
        session, match, now, "program", "waits", until=until.isoformat(), seats=list(phase.awaited)
    )
    if many:
        says = f"Most who sent orders last turn sent none: {', '.join(phase.awaited)}."
        told = f"The turn is run on {deadlines.shown(match, until)} unless you decide otherwise."
        remedies = [matches.run_line(match), "EXTEND 2d", "HOLD"]
        matches.tell_gm(
            session,
            match,
            now,
            f"{match.name} waits for most of its players",
            [says, told],
            remedies,
        )
    return Brake("waiting", _named(phase))


def _named(phase: Phase) -> str:
    return f"no orders yet from {', '.join(phase.awaited)}"


def _is_deserted(phase: Phase) -> bool:
    """Tell whether more than half of the seats that had sent orders last turn are missing."""
    sent = [seat for seat in phase.turn.orders if seat and seat not in phase.turn.missing]
    return 2 * sum(seat in phase.awaited for seat in sent) > len(sent)


def _put_off_once(session: Session, match: Match, phase: Phase, now: datetime) -> Brake | Phase:
    """Put the first turn off by one phase, as somebody has sent no orders; ask the game master."""
    match.put_off = True
    later = deadlines.scheduled(session, match, match.deadline or now)
    if later is not None and later <= now:
        later = deadlines.scheduled(session, match, now)
    if later is None:
        return phase
    names = ", ".join(phase.awaited)
    why = f"No orders came from {names}, and this is the first turn: it is put off, once."
    matches.move_deadline(session, match, later, now, "program", why)
    adopted = matches.phase(session, match)
    matches.tell_gm(
        session,
        match,
        now,
        f"The first turn of {match.name} waits for {names}",
        [why, f"Without an answer of yours it is run on {deadlines.shown(match, later)}."],
        [
            matches.run_line(match),
            *(f"DROP {seat}" for seat in adopted.awaited),
            *(f"REPLACE {seat} WITH <name> <address>" for seat in adopted.awaited),
        ],
    )
    return Brake("waiting", _named(phase))


def missed(session: Session, match: Match, seats: Sequence[Seat]) -> dict[Seat, int]:
    """Count by seat the turns in a row, up to the last, in which no sheet came from its player.

    Turns in which he had nothing to decide don't count, nor those before he had the seat.
    """
    tenures = select(Tenure).where(
        Tenure.seat_id.in_([seat.id for seat in seats]), Tenure.ended.is_(None)
    )
    since = {tenure.seat_id: tenure.from_turn for tenure in session.scalars(tenures)}
    query = select(Turn).where(Turn.match_id == match.id, Turn.live.is_(True))
    turns = session.scalars(query.order_by(Turn.number.desc())).all()
    missed = {}
    for seat in seats:
        decided = (
            seat.name in turn.missing
            for turn in turns
            if turn.number > since.get(seat.id, 0)
            and (seat.name in turn.missing or seat.name in turn.orders)
        )
        missed[seat] = sum(takewhile(bool, decided))
    return missed


def remind(session: Session, now: datetime) -> int:
    """Queue a reminder to who is missing where a deadline is near; return how many.

    One a deadline; none where the whole phase is no longer than the time set by `remind`, nor where
    the state can't be read: the turn will fail, and that is told. Of anything else in the match
    that can't be read the game master is told now.
    """
    count = 0
    for number, before in _near(session, now):
        # A match that another process has in hand is looked at again at the next tick.
        query = select(Match).where(Match.id == number, *_UNREMINDED)
        match = session.scalar(query.with_for_update(key_share=True, skip_locked=True))
        # Its deadline may have been moved since.
        if match is None or match.deadline is None or now < match.deadline - before:
            continue
        match.reminded = match.deadline
        try:
            if match.deadline - match.began <= before:
                continue
            awaited = matches.phase(session, match).awaited
        except DBAPIError:
            raise
        except store.StoreDamaged as error:
            says = [str(store.damage.located(session.connection(), error))]
            about = f"Nobody is reminded in {match.name}: it is damaged"
            matches.tell_gm(session, match, now, about, says, ["pbem doctor names all that is so"])
            continue
        # Whatever else can't be read, the others are reminded.
        except Exception:
            continue
        for seat in match.seats:
            if seat.name in awaited:
                store.queue(session, "reminder", {}, now, seat=seat, turn=match.turn)
                count += 1
    return count


def _near(session: Session, now: datetime) -> list[tuple[int, timedelta]]:
    """Return the matches whose players are to be reminded, with how long before the deadline.

    Of the others, which are nearly all, no more is read than tells so.
    """
    query = (
        select(Match.id, Match.deadline, Match.settings)
        .where(*_UNREMINDED, Match.deadline > now, Match.deadline < store.LATEST)
        .order_by(Match.id)
    )
    lead = cache(_lead)
    near = []
    for number, deadline, kept in session.execute(query):
        # One that is damaged is told when its turn fails.
        with suppress(Damaged):
            before = lead(str(kept.get("remind") or "24h"))
            if before and now >= deadline - before:
                near.append((number, before))
    return near


def _lead(text: str) -> timedelta | None:
    """Read how long before a deadline is reminded; `None` where it can't be read."""
    try:
        return schedule.parse_duration(text)
    except ValueError:
        return None


def is_overdue(match: Match, now: datetime) -> bool:
    """Tell whether a deadline is past by more than the length of its own phase.

    What the match has waited for missing orders, as it was meant to, doesn't count.
    """
    deadline = match.deadline
    if deadline is None:
        return False
    return now - (match.waits_until or deadline) > deadline - match.began


def overdue(session: Session, now: datetime) -> list[str]:
    """Name the running matches that wait for a new deadline, found too late for their turn."""
    past = or_(Match.deadline < now, Match.deadline > store.LATEST)
    query = select(Match).where(Match.status == "running", past).order_by(Match.id)
    return [match.name for match in session.scalars(query) if _is_lost(match, now)]


def _is_lost(match: Match, now: datetime) -> bool:
    """Tell whether a match needs a new deadline: it is overdue, or its dates can't be read."""
    try:
        return is_overdue(match, now)
    except Damaged:
        return True


def is_any_held(session: Session, name: str | None = None) -> bool:
    """Tell whether a match (that of a name, if one is given) is held by a fault, its turn having
    failed."""
    query = select(Match.id).where(Match.status == "held", Match.tries > 0)
    if name is not None:
        query = query.where(Match.name == name)
    return session.scalar(query.limit(1)) is not None


def proposed(session: Session, match: Match, now: datetime) -> datetime | None:
    """Return the deadline that the match's schedule gives if its phase begins now.

    The one it has is not looked at, which may be damaged.
    """
    turn = store.turn_of(session, match, read="state")
    if turn is None:
        raise ValueError(f"{match.name} has not begun; it waits for players")
    deciding = games.deciding(*matches.load_state(match, turn))
    return deadlines.scheduled(session, match, now, deciding)


def resume(session: Session, match: Match, now: datetime) -> datetime | None:
    """Set the deadline that the match's schedule gives from now on; return it."""
    if match.status != "running":
        raise ValueError(f"{match.name} is {match.status}; nothing was changed")
    deadline = proposed(session, match, now)
    match.began = now
    why = "The game master resumed the match after an outage."
    matches.move_deadline(session, match, deadline, now, "gm", why)
    return deadline
