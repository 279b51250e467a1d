"""Letters that can't be delivered: they count against an address, and the game master is told."""

from datetime import datetime

from sqlalchemy.orm import Session

from pbem import identity, matches
from pbem.store import Address, Letter, Seat

# So many letters come back from an address before the game master is told, once.
PATIENCE = 3


def note(session: Session, seat: Seat, said: str, why: str, now: datetime) -> Address | None:
    """Count a letter that came back against the address of a seat that it went to.

    `said` is the address as the report names it, empty where it names none: the first is meant
    then. Returns the address; `None` where it isn't the seat's.
    """
    folded = identity.folded(said)
    known = [one for one in seat.addresses if one.folded == folded or not said]
    if not known:
        return None
    address = known[0]
    address.bounces += 1
    session.flush()
    if address.bounces == PATIENCE:
        matches.tell_gm(
            session,
            seat.match,
            now,
            f"Letters to {seat.person} come back",
            [f"{PATIENCE} letters to {address.address} could not be delivered: {why}."],
            [f"ADDRESS {seat.name} <address>", f"REPLACE {seat.name} WITH <name> <address>"],
        )
    return address


def give_up(session: Session, letter: Letter, why: str, now: datetime) -> None:
    """Tell the game master of a letter to somebody else that was tried for days in vain."""
    seat = session.get(Seat, letter.seat_id) if letter.seat_id else None
    if seat is None:
        return
    matches.tell_gm(
        session,
        seat.match,
        now,
        f"A letter to {seat.person} could not be sent",
        [f"Letter {letter.id} ({letter.kind}) to {letter.recipient} was given up: {why}."],
        [f"pbem letter out{letter.id} --retry sends it again"],
    )
