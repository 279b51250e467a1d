"""Who has a seat: it is given to somebody, taken from him, and his mail goes where he reads it."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from pbem import addresses as addressing
from pbem import deadlines, identity, matches, store
from pbem.store import Address, Applicant, Letter, Match, Message, Seat, Sheet, Tenure


def replace(
    session: Session, seat: Seat, person: str, addresses: Sequence[str], now: datetime
) -> str:
    """Give a seat to another person: he is mailed what he needs, and gets a full phase.

    Tokens and standing orders of who had it before die; he inherits no missed turns. Who retakes a
    seat of his own moves no deadline; who had it last, by his address, is welcomed back.
    """
    match = seat.match
    if match.status == "over":
        raise ValueError(f"{match.name} is over; nobody takes a seat any more")
    _must_be_usable(addresses)
    folded = [identity.folded(address) for address in addresses]
    earlier = select(Tenure).where(Tenure.seat_id == seat.id).order_by(Tenure.began, Tenure.id)
    had = [bool(set(folded) & set(one.addresses)) for one in session.scalars(earlier)]
    own, is_back = any(had), had[-1:] == [True]
    _leave(session, seat, now)
    take(session, seat, person, addresses, now)
    session.flush()
    back = {"is_back": True} if is_back else {}
    store.record(session, match, now, "gm", "replaced", seat=seat.name, person=person, **back)
    if match.status == "open":
        facts = {
            "about": f"You have a seat in {match.name}",
            "sentences": [f"You play {seat.name}."],
        }
        store.queue(session, "notice", facts, now, seat=seat)
    else:
        store.queue(
            session, "welcome", {"takes_over": True, **back}, now, seat=seat, turn=match.turn
        )
    _tell_others(session, seat, now, f"{person} plays {seat.name} from now on.")
    matches.settle(session, match)
    deadline, full = match.deadline, deadlines.scheduled(session, match, now)
    if own or deadline is None or full is None or match.status != "running" or full <= deadline:
        return f"{person} has the seat {seat.name}."
    why = f"{person} takes over {seat.name} and gets a full phase to find the way."
    matches.move_deadline(session, match, full, now, "program", why)
    return f"{person} has the seat {seat.name}; the deadline is moved, for a full phase."


def take(
    session: Session, seat: Seat, person: str, addresses: Sequence[str], now: datetime
) -> None:
    """Put a person onto a seat that is vacant, with a fresh key; nobody is told.

    Raise `ValueError` for an address to which no letter can go.
    """
    _must_be_usable(addresses)
    seat.person, seat.key, seat.ready = person, identity.new_key(), False
    seat.mail, seat.language = "ALL", ""
    whole = {identity.folded(address): address for address in addresses}
    seat.addresses = [Address(address=said, folded=folded) for folded, said in whole.items()]
    session.add(seat)
    session.flush()
    session.add(
        Tenure(
            seat_id=seat.id,
            person=person,
            addresses=list(whole),
            from_turn=seat.match.turn,
            began=now,
        )
    )


def _must_be_usable(given: Iterable[str]) -> None:
    for address in given:
        if fault := addressing.fault_of(address):
            raise ValueError(f"{address}: {fault}")


def _leave(session: Session, seat: Seat, now: datetime) -> None:
    """End a person's time on a seat: addresses, key and standing orders go with him."""
    query = select(Tenure).where(Tenure.seat_id == seat.id, Tenure.ended.is_(None))
    for tenure in session.scalars(query):
        tenure.ended = now
    kept = select(Sheet).where(Sheet.seat_id == seat.id, Sheet.standing)
    for sheet in session.scalars(kept):
        sheet.standing = False
    seat.addresses.clear()
    seat.absences.clear()
    seat.ready = False
    _change_key(session, seat)
    session.flush()


def drop(session: Session, seat: Seat, now: datetime, who: str) -> str:
    """Take the player off a seat (DROP, RESIGN); the seat stays in the game, and is vacant.

    The game master is told whom he could ask. In a match that has not begun the seat is open again.
    """
    match, person = seat.match, seat.person
    # Of a match that came from another database no address is known, but who had which seat.
    is_had = select(Tenure.id).where(Tenure.seat_id == seat.id, Tenure.ended.is_(None)).limit(1)
    if not seat.addresses and session.scalar(is_had) is None:
        raise ValueError(f"{seat.name} is vacant already")
    what = "resigned" if who == seat.name else "dropped"
    sentence = f"{person} has left the match."
    facts = {"about": f"You have left {match.name}", "sentences": ["No more letters will come."]}
    farewell = store.queue(session, "notice", facts, now, seat=seat)
    if farewell is not None:
        # It bears no token: the seat is somebody else's by the time it leaves.
        farewell.seat_id = None
    _tell_others(session, seat, now, sentence)
    store.record(session, match, now, who, what, seat=seat.name, person=person)
    if match.status == "open":
        _reopen(session, match, seat)
        return sentence
    _leave(session, seat, now)
    matches.tell_gm(
        session,
        match,
        now,
        f"The seat {seat.name} is vacant",
        [f"{person} {'has' if what == 'resigned' else 'was'} {what}. {_vacant(match)}"],
        [
            *(
                f"REPLACE {seat.name} WITH {one.person} {one.address}"
                for one in waiting(session, match)
            ),
            f"REPLACE {seat.name} WITH <name> <address>",
        ],
    )
    matches.settle(session, match)
    return sentence


def _vacant(match: Match) -> str:
    return f"{match.name} waits for no orders of the seat until somebody takes it."


def _reopen(session: Session, match: Match, seat: Seat) -> None:
    """Open a seat of a match that has not begun again; nothing of who had it stays."""
    for tenure in session.scalars(select(Tenure).where(Tenure.seat_id == seat.id)):
        session.delete(tenure)
    for letter in session.scalars(select(Letter).where(Letter.seat_id == seat.id)):
        letter.seat_id = None
    for message in session.scalars(select(Message).where(Message.seat_id == seat.id)):
        message.seat_id = None
    session.flush()
    match.seats.remove(seat)
    match.open_seats += 1
    session.flush()
    for position, other in enumerate(match.seats):
        other.position = position
        session.flush()


def _change_key(session: Session, seat: Seat) -> None:
    """Have all tokens of a seat's letters die.

    A question whether an address is meant, if it has not left yet, must not leave with a new one.
    """
    seat.key = identity.new_key()
    session.execute(
        update(Letter)
        .where(Letter.seat_id == seat.id, Letter.status == "queued", Letter.kind == "address")
        .values(status="dropped", why="the seat has another address, or another player")
    )


def set_address(session: Session, seat: Seat, address: str, now: datetime) -> str:
    """Have a seat's mail sent to another address, and taken from no other; old tokens die.

    What waits to be sent goes to the same player, and so to his new address. Raise `ValueError`
    for one to which no letter can go.
    """
    _must_be_usable([address])
    before = [one.address for one in seat.addresses]
    session.execute(
        update(Letter)
        .where(Letter.seat_id == seat.id, Letter.status == "queued", Letter.recipient.in_(before))
        .where(Letter.kind != "address")
        .values(recipient=address)
    )
    seat.addresses.clear()
    session.flush()
    seat.addresses.append(Address(address=address, folded=identity.folded(address)))
    _change_key(session, seat)
    session.flush()
    store.record(session, seat.match, now, "gm", "address", seat=seat.name, address=address)
    facts = {
        "about": f"Your address in {seat.match.name} is now {address}",
        "sentences": [
            "Orders count from this address only; letters come to it.",
            "Answer this letter, or any later one: what older letters bear is of no use any more.",
        ],
        # No other letter may come that bears the new token.
        "needed": True,
    }
    store.queue(session, "notice", facts, now, seat=seat)
    return f"Mail of {seat.name} goes to {address}."


def waiting(session: Session, match: Match) -> list[Applicant]:
    """Return who waits for a seat of a match, the first to confirm first."""
    query = (
        select(Applicant)
        .where(Applicant.match_id == match.id, Applicant.status == "waiting")
        .order_by(Applicant.confirmed, Applicant.id)
    )
    return list(session.scalars(query))


def _tell_others(session: Session, seat: Seat, now: datetime, sentence: str) -> None:
    facts = {"about": sentence.rstrip("."), "sentences": [sentence]}
    for other in seat.match.seats:
        if other is not seat:
            store.queue(session, "notice", facts, now, seat=other)
