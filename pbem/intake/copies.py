"""When two messages are one mail: the same content that came by two ways, or to two recipients.

A mail to `game+match.token@` with a copy to `game@` comes twice. Each is stored, since who is
meant, and by how good a proof, may differ; but for one seat the mail is carried out once.
"""

import hashlib
from collections.abc import Iterable
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


def twins(lookup: Lookup, mails: Iterable[tuple[int, "Letter", datetime]]) -> set[int]:
    """Return the numbers of those of some stored mails that seem to be there a second time.

    What is looked for is a mail's own player's: who writes from an address that nobody knows may
    have shown another token elsewhere.
    """
    wanted: dict[str, set[int]] = {}
    for number, letter, received in mails:
        known = [(seat.match, seat) for seat in lookup.seats_at(letter.sender)]
        for one in _keys(letter, received, known):
            wanted.setdefault(one, set()).add(number)
    query = select(Message.id, Message.identity).where(Message.identity.in_(wanted))
    found: set[int] = set()
    for number, one in lookup.connection.execute(query):
        found |= wanted[one] - {number}
    return found


def is_copy(lookup: Lookup, mail: Mail, letter: "Letter", found: Whose) -> bool:
    """Tell whether another message, the same mail, has done for its seat what this one would do.

    One that waits for a confirmation is set aside where this one needs none.
    """
    match = found.match or (found.seat.match if found.seat else None)
    if match is None:
        return False
    # The game master's tokens, and those shown from elsewhere, were not looked for with the others.
    is_looked_up = lookup.twins is not None and found.verdict in ("sure", "which", "unproven")
    if is_looked_up and found.seat and mail.id not in (lookup.twins or ()):
        return False
    keys = _keys(letter, mail.received, [(match, found.seat)])
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


def _keys(
    letter: "Letter", received: datetime, whose: Iterable[tuple[Match, Seat | None]]
) -> set[str]:
    """Return the keys that a mail of some seats (`None`: a game master) may have elsewhere."""
    pluses = {"", *map(plus_part, letter.to)}
    pluses |= {f"{match.name}.{matches.token(match, seat)}" for match, seat in whose}
    return {key(letter, received, plus) for plus in pluses}


def _others(lookup: Lookup, mail: Mail, keys: set[str]) -> list[Any]:
    query = select(Message.id, Message.status, Message.match_id, Message.seat_id).where(
        Message.identity.in_(keys), Message.id != mail.id
    )
    return list(lookup.connection.execute(query))
