"""Whether a letter that waits is still of use or wanted, and the turn that it is about."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem.outbox.rows import turn_shown
from pbem.store import Letter, Match

# The letters that show a turn; the others only need to know where the match stands.
SHOW_A_TURN = ("welcome", "report", "over", "reminder")

# What may wait for a digest; the use of the others that a reader may do without ends with the
# deadline.
DIGESTED = ("receipt", "press", "notice")
_LESSER = (*DIGESTED, "reminder", "deadline")
# What doesn't come, or not by itself, to who has chosen fewer letters (MAIL).
_YIELDING = {
    "DIGEST": DIGESTED,
    "REPORTS": _LESSER,
    "NONE": (*_LESSER, "report", "over", "digest"),
}


def yields(letter: Letter) -> bool:
    """Tell whether a letter is left out, or put off for a digest, because its reader wishes so.

    One that he has asked for goes at once whatever his wish, and so does one that he can't do
    without (its fact `needed`).
    """
    kinds = _YIELDING.get(letter.seat.mail, ()) if letter.seat else ()
    return letter.kind in kinds and not (letter.facts.get("asked") or letter.facts.get("needed"))


def is_for_digest(letter: Letter) -> bool:
    """Tell whether a letter is to be told in a digest, into which it will be gathered."""
    return letter.seat is not None and letter.seat.mail == "DIGEST" and yields(letter)


def outlived(session: Session, letter: Letter, now: datetime) -> str:
    """Say why a letter is of no use any more; empty where it still is."""
    if letter.kind == "receipt" and _is_overtaken(session, letter):
        return "overtaken by a newer receipt"
    match, seat = letter.match, letter.seat
    if seat is not None:
        if seat.mail != "DIGEST" and yields(letter):
            return f"its reader wants no such letters (MAIL {seat.mail})"
        if letter.kind == "address":
            return ""
        # Its token is the new player's, and what it tells may be none of the old one's business.
        if all(one.address != letter.recipient for one in seat.addresses):
            return "the address is the seat's no more"
    if match is None or letter.turn is None:
        return ""
    if letter.kind in ("reminder", "deadline") and match.turn != letter.turn:
        return "the turn was run, or undone"
    if letter.kind == "reminder" and _is_past(match, now):
        return "the deadline is past"
    if is_for_digest(letter) and letter.turn < match.turn and _tells_of_a_sheet_only(letter):
        return "its turn was run, and the report tells of that"
    return "its turn was undone" if is_undone(session, letter) else ""


def is_undone(session: Session, letter: Letter) -> bool:
    """Tell whether a letter shows a turn that is there no more."""
    match = letter.match
    if match is None or letter.turn is None or letter.kind not in SHOW_A_TURN:
        return False
    return turn_shown(session, match, letter.turn) is None


def _is_overtaken(session: Session, letter: Letter) -> bool:
    """Tell whether a receipt tells of nothing but a sheet, and a newer one has replaced that."""
    if letter.facts.get("notes") or letter.facts.get("asked"):
        return False
    newer = select(Letter.facts).where(
        Letter.seat_id == letter.seat_id, Letter.kind == "receipt", Letter.id > letter.id
    )
    return any(facts.get("sheet") is not None for facts in session.scalars(newer))


def _tells_of_a_sheet_only(letter: Letter) -> bool:
    """Tell whether a letter is a receipt of a sheet that came in time, and of nothing besides."""
    facts = letter.facts
    if letter.kind != "receipt" or facts.get("notes") or facts.get("late"):
        return False
    return facts.get("sheet") is not None


def _is_past(match: Match, now: datetime) -> bool:
    return match.deadline is not None and match.deadline <= now
