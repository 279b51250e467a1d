"""What a player does about his sheet besides ordering: be ready, order nothing, withdraw it."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import matches
from pbem.store import Message, Seat, Sheet


def ready(session: Session, seat: Seat, is_ready: bool) -> str:
    """Note that a seat is ready for the turn to be run (READY), or isn't (NOT READY)."""
    match = seat.match
    seat.ready = is_ready
    matches.settle(session, match)
    if not is_ready:
        return "You are not ready; the turn waits for you up to its deadline."
    if match.settings.get("early") != "ready":
        return "You are ready; this match still waits for its deadline."
    sent = seat.name in matches.phase(session, match).sheets
    told = "" if sent else " You have sent no orders: NO ORDERS says that you mean it."
    return f"You are ready; once all are, the turn is run.{told}"


def no_orders(
    session: Session, seat: Seat, received: datetime, message: Message | None = None
) -> str:
    """File a deliberate empty sheet (NO ORDERS)."""
    came = matches.file(session, seat.match, seat, "", received, message=message)
    if came.verdict != "in time":
        raise ValueError(came.why)
    return "You order nothing this turn; that counts as your sheet."


def cancel(session: Session, seat: Seat, received: datetime) -> str:
    """Withdraw a seat's sheets for the phase to come, and its standing one (CANCEL)."""
    match = seat.match
    came = matches.arrival(session, match, seat, received)
    if came.verdict != "in time":
        raise ValueError(came.why)
    query = select(Sheet).where(
        Sheet.seat_id == seat.id,
        Sheet.withdrawn.is_(False),
        (Sheet.turn == match.turn) | (Sheet.standing & (Sheet.turn < match.turn)),
    )
    found = list(session.scalars(query))
    for sheet in found:
        # What a turn that was run went by stays as it was, for UNDO; it only stands no longer.
        if sheet.turn == match.turn:
            sheet.withdrawn = True
        else:
            sheet.standing = False
    matches.settle(session, match)
    return "Your orders are withdrawn." if found else "There were no orders to withdraw."
