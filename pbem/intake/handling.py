"""What becomes of a mail: by what it is, and by whose it is."""

import re
from typing import TYPE_CHECKING

from sqlalchemy import inspect

from pbem import addresses, commands, identity, players, store
from pbem.intake import bounces, copies, receipts, sheets
from pbem.intake.lookup import Lookup
from pbem.intake.opening import read
from pbem.intake.values import COPY, Handled, Mail, Taken
from pbem.intake.whose import Whose, whose
from pbem.store import Address, Match, Message, Seat

if TYPE_CHECKING:
    from pbem.message import Letter

# What a player answers to the question whether a mail is his: YES, whatever comes after it, or
# another word for it alone on a line. In other tongues many an automatic answer begins with these
# (`Tak for din mail`, `Da ich verreist bin`).
_YES = re.compile(
    r"\W*(?:yes\b.*|(?:yep|ja|jawohl|oui|si|sí|sì|sim|tak|da|да|ano|áno|evet|hai|はい|是|是的|ναι|כן|نعم"
    r"|ok|okay|confirm|confirmed|correct|mine)\W*)",
    re.IGNORECASE,
)

# What becomes of mail that is no letter of a person's.
_STATUS = {
    "auto": "ignored",
    "own": "ignored",
    "report": "ignored",
    "spam": "rejected",
}


def handle(lookup: Lookup, mail: Mail, letter: "Letter") -> Handled:
    """Do what a stored mail asks, and tell what became of it."""
    if letter.kind == "bounce":
        return bounces.note(lookup, letter)
    if letter.kind in _STATUS:
        return Handled(Taken(_STATUS[letter.kind], letter.why))
    found = whose(lookup, letter, mail.raw)
    seat = found.seat
    if copies.is_copy(lookup, mail, letter, found):
        return Handled(COPY, found.match or (seat.match if seat else None), seat)
    match found.verdict:
        case "gm" if found.match is not None:
            return _from_gm(letter, found.match)
        case "applicant" if found.applicant is not None:
            return _applied(lookup, letter, found)
        case "new address" if seat is not None:
            return _moved(lookup, letter, seat)
        case "unproven" if seat is None:
            return _without_token(lookup, letter, found)
    if seat is None:
        return _from_stranger(lookup, letter, found.why)
    if letter.kind == "refused":
        return Handled(receipts.refuse(lookup, mail, letter, seat, letter.why), seat.match, seat)
    if found.verdict in ("which", "unproven"):
        return Handled(receipts.refuse(lookup, mail, letter, seat, found.why), seat.match, seat)
    if found.verdict == "ask":
        return _hold(lookup, mail, letter, found, seat)
    held = _confirmed(lookup, letter, seat)
    if held is not None:
        taken = _confirm(lookup, held, seat)
        if not sheets.asked_in(lookup, mail, letter, seat):
            return Handled(Taken(taken.status, f"confirmed message {held.id}"), seat.match, seat)
    match_row = seat.match
    taken = sheets.take(lookup, mail, letter, seat)
    # Who resigns before a match begins leaves no seat behind.
    return Handled(taken, match_row, None if inspect(seat).deleted else seat)


def _from_gm(letter: "Letter", match: Match) -> Handled:
    """Lay a game master's mail aside: what he orders is carried out elsewhere."""
    if letter.kind == "refused":
        return Handled(Taken("refused", letter.why), match)
    if not sheets.is_for_gm(letter.text, match):
        return Handled(Taken("answered", "the game master's mail holds no order"), match)
    return Handled(Taken("gm"), match)


def _without_token(lookup: Lookup, letter: "Letter", found: Whose) -> Handled:
    """Tell the game master, once a day, that a mail in his name was not carried out.

    The letter that tells it bears his token, where it is clear which match was meant.
    """
    mark = "gm without token"
    day = lookup.now.date().isoformat()
    if letter.auto_reply and store.mark(lookup.session, mark).get("told") != day:
        store.remember(lookup.session, mark, {"told": day})
        facts = {
            "about": "A mail in your name was not carried out",
            "sentences": [
                f"It came from {letter.sender} and did not bear your token, so nobody can tell "
                "whether it was yours.",
            ],
            "remedies": ["Answer this letter, or any letter to you about the match you mean"],
        }
        store.queue_apart(lookup.session, "notice", facts, lookup.now, match=found.match)
    return Handled(Taken("rejected", found.why), found.match)


def _from_stranger(lookup: Lookup, letter: "Letter", why: str) -> Handled:
    """Let a stranger's mail be, unless it asks for a seat: that is answered by one letter."""
    rejected = Handled(Taken("rejected", why))
    if letter.kind != "mail" or not letter.auto_reply or not letter.sender:
        return rejected
    for order in commands.PLAYER.read(letter.text).orders:
        if isinstance(order, commands.Join):
            return join(lookup, letter, order.match) or rejected
    return rejected


def join(lookup: Lookup, letter: "Letter", name: str) -> Handled | None:
    """Ask a mail's sender whether he means to join a match; `None` where he isn't asked."""
    match = lookup.match(name)
    if match is None:
        return None
    # An address is no name, nor is what stands before its sign: all would come to read it.
    person = letter.name if letter.name and "@" not in letter.name else "Player"
    asked = players.apply(lookup.session, match, person, letter.sender, lookup.now)
    return Handled(Taken("answered", f"asked to join {name}"), match) if asked else None


def _applied(lookup: Lookup, letter: "Letter", found: Whose) -> Handled:
    if found.applicant is None or not _says_yes(letter):
        return Handled(Taken("answered", "an applicant's mail that doesn't say yes"), found.match)
    try:
        said = players.join(lookup.session, found.applicant, lookup.now)
    except ValueError as error:
        return Handled(Taken("answered", str(error)), found.match)
    lookup.forget()
    return Handled(Taken("answered", said), found.match)


def _moved(lookup: Lookup, letter: "Letter", seat: Seat) -> Handled:
    """Have a seat's mail go to the address that answered our question there."""
    if not _says_yes(letter):
        return Handled(Taken("answered", "a new address that doesn't say yes"), seat.match, seat)
    try:
        said = players.set_address(lookup.session, seat, letter.sender, lookup.now)
    except ValueError as error:
        return Handled(Taken("answered", str(error)), seat.match, seat)
    lookup.forget()
    return Handled(Taken("answered", said), seat.match, seat)


def _hold(lookup: Lookup, mail: Mail, letter: "Letter", found: Whose, seat: Seat) -> Handled:
    """Keep a mail until the seat's registered address confirms it, if it would change anything."""
    lines = sheets.asked_in(lookup, mail, letter, seat)
    if lines:
        receipts.ask(lookup, mail, letter, seat, lines)
        return Handled(Taken("held", found.why), seat.match, seat)
    known = {one.folded for one in seat.addresses}
    if identity.folded(letter.sender) not in known:
        return Handled(Taken("rejected", f"{found.why}, and nothing in it"), seat.match, seat)
    return Handled(sheets.take(lookup, mail, letter, seat), seat.match, seat)


def _says_yes(letter: "Letter") -> bool:
    """Tell whether a mail's first line of words says yes."""
    return bool(_YES.fullmatch(letter.text.strip().partition("\n")[0]))


def _confirmed(lookup: Lookup, letter: "Letter", seat: Seat) -> Message | None:
    """Return the held message that a mail confirms, saying yes to our question about it."""
    if not _says_yes(letter):
        return None
    for reference in letter.references:
        number = identity.letter_number(reference)
        asked = lookup.session.get(store.Letter, number) if number is not None else None
        if asked and asked.kind == "confirm" and asked.seat_id == seat.id:
            held = lookup.session.get(Message, asked.facts["message"])
            if held is not None and held.status == "held":
                return held
    return None


def _confirm(lookup: Lookup, held: Message, seat: Seat) -> Taken:
    """Take a held message as the seat's, as of its receipt; its sender's address is added, if a
    letter can go to it."""
    letter = read(lookup.config, held.raw, held.recipient)
    sender = identity.folded(letter.sender)
    is_new = all(address.folded != sender for address in seat.addresses)
    if sender and is_new and not addresses.fault_of(letter.sender):
        seat.addresses.append(Address(address=letter.sender, folded=sender))
        store.record(
            lookup.session, seat.match, lookup.now, seat.name, "address", added=letter.sender
        )
        lookup.session.flush()
        lookup.forget()
    taken = sheets.take(lookup, Mail(held.id, held.received, held.raw), letter, seat)
    held.status, held.why = taken.status, taken.why
    return taken
