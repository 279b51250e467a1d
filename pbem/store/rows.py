"""The rows that use cases ask for and add: a match, its turns and sheets, letters, history."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import bindparam, insert, inspect, select
from sqlalchemy.orm import Session, defaultload, joinedload, undefer
from sqlalchemy.orm.attributes import set_committed_value

from pbem.store.columns import Unreadable
from pbem.store.tables import (
    Address,
    Applicant,
    Entry,
    Letter,
    Mark,
    Match,
    Message,
    Seat,
    Sheet,
    Turn,
)

# Turns are numbered in 32 bits; PostgreSQL refuses to compare them with more.
_MOST = 2**31 - 1

# What every turn asks for is written once: to put a query together takes as long as to run it.
_WHOLE_SEAT = (joinedload(Seat.addresses), joinedload(Seat.absences))
_NAMED = (
    select(Match)
    .where(Match.name == bindparam("name"))
    .options(defaultload(Match.seats).options(*_WHOLE_SEAT))
)
_LOCKED = _NAMED.with_for_update(key_share=True)
_LOCKED_IF_FREE = _NAMED.with_for_update(key_share=True, skip_locked=True)
_TURN = select(Turn).where(
    Turn.match_id == bindparam("match"), Turn.number == bindparam("number"), Turn.live.is_(True)
)
WHOLE_TURN = undefer("*")
_TURNS = {
    "": _TURN,
    "state": _TURN.options(undefer(Turn.state)),
    "all": _TURN.options(WHOLE_TURN),
}
_SHEETS = (
    select(Sheet)
    .where(
        Sheet.match_id == bindparam("match"),
        Sheet.turn == bindparam("turn"),
        Sheet.late.is_(False),
        Sheet.withdrawn.is_(False),
    )
    .order_by(Sheet.received, Sheet.id)
)
_SEATS = (
    select(Seat)
    .where(Seat.match_id == bindparam("match"))
    .order_by(Seat.position)
    .options(*_WHOLE_SEAT)
)
_SEATS_OF_MANY = (
    select(Seat)
    .where(Seat.match_id.in_(bindparam("matches", expanding=True)))
    .order_by(Seat.match_id, Seat.position)
    .options(*_WHOLE_SEAT)
)
# Without asking for the number that the row got.
_NEW_TURN, _HISTORY = insert(Turn).inline(), insert(Entry).inline()
_FIRST_ADDRESS = (
    select(Address.address)
    .where(Address.seat_id == Seat.id)
    .order_by(Address.id)
    .limit(1)
    .scalar_subquery()
)
_READERS = (
    select(Seat.match_id, Seat.id, Seat.position, Seat.person, _FIRST_ADDRESS.label("address"))
    .where(Seat.match_id == bindparam("match"))
    .subquery()
    .c
)
_KIND, _NUMBER, _FACTS, _NOW = (
    bindparam(name, type_=Letter.__table__.c[name].type)
    for name in ("kind", "turn", "facts", "created")
)
_LETTERS = insert(Letter).from_select(
    ["match_id", "seat_id", "kind", "recipient", "person", "turn", "facts", "created", "due"],
    select(
        _READERS.match_id,
        _READERS.id,
        _KIND,
        _READERS.address,
        _READERS.person,
        _NUMBER,
        _FACTS,
        _NOW,
        _NOW,
    )
    .where(_READERS.address.is_not(None))
    .order_by(_READERS.position),
)


def mark(session: Session, name: str) -> dict[str, Any]:
    """Return what is remembered under a name; empty where nothing is, or it can't be read."""
    found = session.get(Mark, name, populate_existing=True)
    return {} if found is None or isinstance(found.value, Unreadable) else dict(found.value)


def remembered(session: Session, name: str, what: str) -> datetime | None:
    """Return when something was, by what is remembered under a name; `None` where none tells."""
    try:
        return datetime.fromisoformat(mark(session, name)[what]).astimezone(UTC)
    except (KeyError, TypeError, ValueError):
        return None


def remember(session: Session, name: str, value: Mapping[str, Any]) -> None:
    """Remember a value under a name, in place of what was there.

    Two processes may do so at once: the later one's stays.
    """
    # Each of the two takes long to import, and most installations need one.
    if session.get_bind().dialect.name == "sqlite":
        from sqlalchemy.dialects.sqlite import insert
    else:
        from sqlalchemy.dialects.postgresql import insert  # type: ignore[assignment]
    given = {"value": dict(value)}
    query = insert(Mark).values(name=name, **given)
    session.execute(query.on_conflict_do_update(index_elements=["name"], set_=given))


def match_named(
    session: Session, name: str, *, lock: bool = False, wait: bool = True
) -> Match | None:
    """Return the match of that name, its row locked where asked.

    Where that isn't to `wait` for who has locked it, there is none then. The lock leaves mails and
    letters that refer to the match alone. Its seats are read once they are asked for, with their
    addresses and absences.
    """
    query = _NAMED if not lock else _LOCKED if wait else _LOCKED_IF_FREE
    return session.scalar(query, {"name": name})


def seats_of(session: Session, match: Match) -> list[Seat]:
    """Return a match's seats, read with their addresses and absences if they weren't yet."""
    # Left to itself the session puts the query together each time.
    if "seats" in inspect(match).unloaded:
        found = session.scalars(_SEATS, {"match": match.id}).unique().all()
        set_committed_value(match, "seats", found)
    return match.seats


def read_seats(session: Session, matches: Sequence[Match]) -> None:
    """Read the seats of matches at once, as `seats_of` does for one."""
    found: dict[int, list[Seat]] = {match.id: [] for match in matches}
    for seat in session.scalars(_SEATS_OF_MANY, {"matches": list(found)}).unique():
        found[seat.match_id].append(seat)
    for match in matches:
        set_committed_value(match, "seats", found[match.id])


def turn_of(
    session: Session,
    match: Match,
    number: int | None = None,
    *,
    read: Literal["", "state", "all"] = "",
) -> Turn | None:
    """Return a match's turn that stands, by its number (the last one if none is given).

    Its JSON is read once it is asked for, the state or all of it at once where told.
    """
    wanted = match.turn if number is None else number
    # A player may ask for any number.
    if not 0 <= wanted <= _MOST:
        return None
    return session.scalar(_TURNS[read], {"match": match.id, "number": wanted})


def add_turn(session: Session, match: Match, **columns: Any) -> None:
    """Add the turn a match has come to: its number and deadline are the match's."""
    row = {"match_id": match.id, "number": match.turn, "deadline": match.deadline, **columns}
    session.connection().execute(_NEW_TURN, row)


def newest_sheets(session: Session, match: Match) -> dict[int | None, Sheet]:
    """Return the sheets that came and count in the phase to come, by seat id (`None`: the GM's)."""
    found = session.scalars(_SHEETS, {"match": match.id, "turn": match.turn})
    return {sheet.seat_id: sheet for sheet in found}


def gm_orders(session: Session, match: Match) -> str:
    """Return the game master's order lines for the phase to come."""
    sheet = newest_sheets(session, match).get(None)
    return sheet.text if sheet else ""


def standing_sheets(session: Session, match: Match) -> dict[int | None, Sheet]:
    """Return the newest standing sheet of each seat that has one from an earlier turn, by its id.

    Who has sent a standing sheet and then another one in the same turn keeps the standing one.
    """
    query = (
        select(Sheet)
        .where(
            Sheet.match_id == match.id,
            Sheet.turn < match.turn,
            Sheet.standing,
            Sheet.late.is_(False),
            Sheet.withdrawn.is_(False),
        )
        .order_by(Sheet.turn, Sheet.received, Sheet.id)
    )
    return {sheet.seat_id: sheet for sheet in session.scalars(query)}


def queue(
    session: Session,
    kind: str,
    facts: Mapping[str, Any],
    now: datetime,
    *,
    seat: Seat,
    answers: Message | None = None,
    turn: int | None = None,
) -> Letter | None:
    """Put a letter to a seat into the outbox, addressed to the first of its addresses.

    There is none, and `None` is returned, where the seat is vacant.
    """
    if not seat.addresses:
        return None
    letter = Letter(
        match_id=seat.match_id,
        seat_id=seat.id,
        kind=kind,
        recipient=seat.addresses[0].address,
        person=seat.person,
        answers_id=answers.id if answers else None,
        turn=turn,
        facts=dict(facts),
        created=now,
        due=now,
    )
    session.add(letter)
    return letter


def queue_all(
    session: Session,
    kind: str,
    facts: Mapping[str, Any],
    now: datetime,
    *,
    match: Match,
    turn: int | None = None,
) -> None:
    """Put a letter to each seat that isn't vacant into the outbox, in seat order."""
    session.flush()
    given = {"kind": kind, "turn": turn, "facts": dict(facts), "created": now, "match": match.id}
    session.connection().execute(_LETTERS, given)


def queue_apart(
    session: Session,
    kind: str,
    facts: Mapping[str, Any],
    now: datetime,
    *,
    match: Match | None,
    applicant: Applicant | None = None,
    answers: Message | None = None,
) -> Letter:
    """Put a letter to an applicant into the outbox, or (without one) to the game master.

    Where it is about a match, an answer to it bears a token: the applicant's or the game master's.
    """
    letter = Letter(
        match_id=match.id if match else None,
        applicant_id=applicant.id if applicant else None,
        kind=kind,
        recipient=applicant.address if applicant else "",
        person=applicant.person if applicant else "",
        answers_id=answers.id if answers else None,
        turn=None,
        facts=dict(facts),
        created=now,
        due=now,
    )
    session.add(letter)
    return letter


def record(
    session: Session, match: Match, now: datetime, who: str, what: str, **facts: Any
) -> None:
    """Add an entry to a match's history."""
    row = {"match_id": match.id, "time": now, "who": who, "what": what, "facts": facts}
    session.connection().execute(_HISTORY, row)
