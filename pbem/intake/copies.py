"""When two messages are one mail: the same content that came by two ways, or to two recipients.

A mail to `game+match.token@` with a copy to `game@` comes twice. Each is stored, since who is
meant, and by how good a proof, may differ; but for one seat the mail is carried out once.
"""

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from pbem import matches
from pbem.intake.lookup import Lookup
from pbem.intake.opening import read
from pbem.intake.values import Mail
from pbem.intake.whose import Whose, whose
from pbem.store import Match, Message, Seat

if TYPE_CHECKING:
    from pbem.message import Letter

# What a message has become that did something for a seat, or may yet.
_AT_WORK = ("filed", "answered", "late", "gm", "held")
# Beyond doubt whose: a better proof of the same would change nothing.
_PROVEN = ("sure", "gm", "applicant", "new address")


def key(letter: "Letter", received: datetime, plus: str) -> str:
    """Return what makes a message the same one: Message-ID, content, and the plus part it came to.

    Of one with neither Message-ID nor date the day of receipt counts too: the orders of a simple
    client may be the same in every turn.
    """
    parts = [letter.message_id, letter.digest, plus]
    if not letter.date and not letter.message_id:
        parts.append(received.date().isoformat())
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def plus_part(address: str) -> str:
    """Return what stands between the plus sign and the host of an address; empty without one."""
    return address.partition("@")[0].partition("+")[2].lower()


def is_copy(lookup: Lookup, mail: Mail, letter: "Letter", found: Whose) -> bool:
    """Tell whether another message, the same mail, has done for its seat what this one would do.

    One that waits for a confirmation is set aside where this one needs none.
    """
    match = found.match or (found.seat.match if found.seat else None)
    if match is None:
        return False
    keys = _keys(mail, letter, match, found.seat)
    others = _others(lookup, mail, keys)
    if any(other.status == "stored" for other in others):
        # What became of it is still to be written.
        lookup.write()
        others = _others(lookup, mail, keys)
    for other in others:
        seat_id = found.seat.id if found.seat else None
        if other.status not in _AT_WORK or (other.match_id, other.seat_id) != (match.id, seat_id):
            continue
        row = lookup.session.get_one(Message, other.id)
        before = whose(lookup, read(lookup.config, row.raw, row.recipient), row.raw).verdict
        if before in _PROVEN or found.verdict not in _PROVEN:
            return True
        if row.status == "held":
            row.status, row.why = "ignored", "a copy of it that needed no confirmation was taken"
    return False


def _keys(mail: Mail, letter: "Letter", match: Match, seat: Seat | None) -> set[str]:
    """Return the keys that the same mail may have by another way in."""
    pluses = {"", f"{match.name}.{matches.token(match, seat)}", *map(plus_part, letter.to)}
    return {key(letter, mail.received, plus) for plus in pluses}


def _others(lookup: Lookup, mail: Mail, keys: set[str]) -> list[Any]:
    query = select(Message.id, Message.status, Message.match_id, Message.seat_id).where(
        Message.identity.in_(keys), Message.id != mail.id
    )
    return list(lookup.connection.execute(query))
