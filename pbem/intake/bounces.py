"""Letters that came back: the letter is marked, its address counts, the game master is told."""

from typing import TYPE_CHECKING

from pbem import identity, matches, undelivered
from pbem.intake.lookup import Lookup
from pbem.intake.values import Handled, Taken
from pbem.store import Letter, Seat

if TYPE_CHECKING:
    from pbem.message import Letter as Read


def note(lookup: Lookup, letter: "Read") -> Handled:
    """Mark the letter that a delivery report is about, and count it against its address.

    Only a report that shows the seat's token counts: in the address it came to (ours differs from
    letter to letter's seat), or in the Message-ID of the letter it brings back.
    """
    bounce = letter.bounced
    claims = identity.claims(letter.to, [bounce.message_id] if bounce else [], "")
    seat = next(filter(None, (_seat(lookup, claim) for claim in claims)), None)
    if bounce is None or seat is None:
        return Handled(Taken("bounced", f"{letter.why}; nobody can say whose"))
    number = identity.letter_number(f"<{bounce.message_id}>")
    sent = lookup.session.get(Letter, number) if number is not None else None
    if sent is not None and sent.seat_id == seat.id:
        if sent.status == "bounced":
            return Handled(Taken("bounced", "told before"), seat.match, seat)
        sent.status, sent.why = "bounced", letter.why
    said = bounce.recipient or (sent.recipient if sent else "")
    address = undelivered.note(lookup.session, seat, said, letter.why, lookup.now)
    if address is None:
        return Handled(Taken("bounced", letter.why), seat.match, seat)
    return Handled(Taken("bounced", f"{address.address}: {letter.why}"), seat.match, seat)


def _seat(lookup: Lookup, claim: identity.Claim) -> Seat | None:
    match = lookup.match(claim.match) if claim.match else None
    for seat in match.seats if match else ():
        if identity.is_token(claim.token, matches.token(seat.match, seat)):
            return seat
    return None
