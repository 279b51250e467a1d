"""Who wants a seat: he is asked whether he means it, and gets one, or waits for one."""

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from pbem import addresses, identity, matches, store
from pbem.players.naming import free_name
from pbem.players.seats import take
from pbem.store import Applicant, Match, Seat

MOST_JOINING = 20


def apply(
    session: Session, match: Match, person: str, address: str, now: datetime
) -> Applicant | None:
    """Ask an address from which JOIN came whether it is meant; `None` where nobody is asked.

    That is where no letter can go to the address, where the match is over, where the address has a
    seat or waits already, or where it was asked within a day, or the match has asked `MOST_JOINING`
    addresses within one.
    """
    if addresses.fault_of(address):
        return None
    folded = identity.folded(address)
    if match.status == "over" or any(
        one.folded == folded for seat in match.seats for one in seat.addresses
    ):
        return None
    day = now - timedelta(days=1)
    asked = select(func.count()).where(Applicant.match_id == match.id, Applicant.asked > day)
    earlier = session.scalar(
        select(Applicant).where(Applicant.match_id == match.id, Applicant.folded == folded)
    )
    if earlier is not None and (earlier.status == "waiting" or earlier.asked > day):
        return None
    if (session.scalar(asked) or 0) >= MOST_JOINING:
        return None
    applicant = earlier or Applicant(
        match_id=match.id, address=address, folded=folded, key=identity.new_key()
    )
    applicant.person, applicant.status, applicant.asked = person, "asked", now
    session.add(applicant)
    session.flush()
    store.queue_apart(session, "join", {}, now, match=match, applicant=applicant)
    return applicant


def join(session: Session, applicant: Applicant, now: datetime) -> str:
    """Give an applicant who has confirmed a seat that is open, or a place on the waiting list.

    With its last open seat taken the match begins. In one that has begun the game master is told
    that somebody stands by.
    """
    match = session.get_one(Match, applicant.match_id, with_for_update={"key_share": True})
    if applicant.status != "asked" or match.status == "over":
        raise ValueError(f"there is nothing to confirm for {match.name}")
    applicant.status, applicant.confirmed = "waiting", now
    if match.status == "open":
        return _seat_applicant(session, match, applicant, now)
    vacant = [seat.name for seat in match.seats if not seat.addresses]
    matches.tell_gm(
        session,
        match,
        now,
        f"{applicant.person} stands by",
        [f"{applicant.person} would take a seat. Vacant: {', '.join(vacant) or 'none'}."],
        [f"REPLACE {seat} WITH {applicant.person} {applicant.address}" for seat in vacant],
    )
    return f"You are on the list of {match.name}, for when a seat falls vacant."


def _seat_applicant(session: Session, match: Match, applicant: Applicant, now: datetime) -> str:
    name = free_name(match, applicant.person)
    seat = Seat(position=len(match.seats), name=name, match=match)
    take(session, seat, applicant.person, [applicant.address], now)
    applicant.status = "seated"
    match.open_seats -= 1
    store.record(session, match, now, name, "joined")
    if match.open_seats == 0:
        matches.set_up(session, match, now)
        return f"You play {name} in {match.name}, and the match begins."
    sentence = (
        f"You play {name} in {match.name}. It begins when all seats are taken; open: "
        f"{match.open_seats}."
    )
    facts = {"about": f"You have a seat in {match.name}", "sentences": [sentence]}
    store.queue(session, "notice", facts, now, seat=seat)
    return sentence
