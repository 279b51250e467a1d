"""Answers to mails: queued as facts, no more than anybody wants, and never in a circle."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from pbem import identity, store
from pbem.game import Json
from pbem.intake.lookup import Lookup
from pbem.intake.values import Mail, Taken
from pbem.store import Letter, Seat

if TYPE_CHECKING:
    from pbem.message import Letter as Read

# Answers to one address in a day, and in a match in an hour; beyond them mails count, unanswered.
MOST_RECEIPTS = 20
MOST_OF_MATCH = 100

# Answers in a day to mails of a seat that hold nothing: a program that answers ours sends no other.
MOST_EMPTY = 2

# Characters of a line, or a subject, that a letter repeats to its writer.
LONGEST_SHOWN = 200

# What is said of a mail that a letter would have answered.
SILENT = "it is not answered: no more letters go there for now"

_ENOUGH = "No more receipts today"

_INSERT = insert(Letter)


def plain(why: str) -> Json:
    """Return the facts of a receipt that only says why nothing was taken."""
    return {
        "outcome": "nothing taken",
        "lines": [],
        "late": False,
        "sheet": None,
        "forecast": False,
        "why": why,
        "notes": [],
    }


def answer(
    lookup: Lookup, mail: Mail, letter: "Read", seat: Seat, receipt: Mapping[str, Any]
) -> bool:
    """Queue a receipt to a seat's registered address, where the mail wants one; tell whether.

    After `MOST_RECEIPTS` in a day its player is told so once, and then nothing more.
    """
    if not letter.auto_reply or not _has_room(lookup, seat):
        return False
    facts = {**receipt, "number": mail.id, "answers": answers(mail, letter)}
    facts["words"] = words_of(letter)
    _queue(lookup, "receipt", facts, seat, mail)
    return True


def refuse(lookup: Lookup, mail: Mail, letter: "Read", seat: Seat, why: str) -> Taken:
    """Answer a mail of which nothing was taken by a sentence, unless that goes in a circle.

    What became of the mail says whether it was answered.
    """
    unanswered = ""
    if not letter.auto_reply:
        unanswered = "; it wants no answer"
    elif is_circle(lookup, letter, seat):
        unanswered = "; it is not answered: as much was said within a day"
    elif not answer(lookup, mail, letter, seat, {**plain(why), "empty": True}):
        unanswered = f"; {SILENT}"
    status = "ignored" if unanswered else "answered"
    return Taken("refused" if letter.kind == "refused" else status, f"{why}{unanswered}")


def ask(lookup: Lookup, mail: Mail, letter: "Read", seat: Seat, sheet: Sequence[str]) -> None:
    """Ask a seat's registered address whether a mail is its player's."""
    if letter.auto_reply and _has_room(lookup, seat):
        facts = {
            "message": mail.id,
            "sender": letter.sender or " and ".join(letter.senders[:3]),
            "is_known": any(one.folded == identity.folded(letter.sender) for one in seat.addresses),
            "is_single": bool(letter.sender),
            "sheet": list(sheet),
            "answers": answers(mail, letter),
        }
        _queue(lookup, "confirm", facts, seat, mail)


def shortened(line: str, longest: int = LONGEST_SHOWN) -> str:
    """Return a line that a letter repeats to its writer, which may be a long one."""
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def answers(mail: Mail, letter: "Read") -> Json:
    """Return which mail a letter answers, as its reader may look for it."""
    return {
        "subject": shortened(letter.subject),
        "date": letter.date,
        "message_id": letter.message_id,
        "received": mail.received.isoformat(),
    }


def is_circle(lookup: Lookup, letter: "Read", seat: Seat) -> bool:
    """Tell whether a mail that holds nothing is likely a program's answer to an answer of ours.

    It is where its words are those of an earlier one within a day, or where that day has seen some
    such mails already.
    """
    query = select(Letter.facts).where(
        Letter.seat_id == seat.id,
        Letter.kind == "receipt",
        Letter.created > lookup.now - timedelta(days=1),
    )
    earlier = [facts["words"] for facts in lookup.session.scalars(query) if facts.get("empty")]
    return len(earlier) >= MOST_EMPTY or words_of(letter) in earlier


def is_replay(lookup: Lookup, letter: "Read", seat: Seat, since: datetime) -> bool:
    """Tell whether a mail repeats one that was answered before the phase began, `since`.

    A copy with its Message-ID is seen before; this is one that somebody sends anew. It bears the
    date of the first, so most mails need no second look.
    """
    try:
        dated = parsedate_to_datetime(letter.date or "")
    except (ValueError, TypeError, IndexError, OverflowError):
        return False
    if dated.tzinfo is None or dated >= since:
        return False
    query = select(Letter.facts).where(
        Letter.seat_id == seat.id, Letter.kind == "receipt", Letter.created <= since
    )
    words = words_of(letter)
    return any(
        facts["answers"]["date"] == letter.date and facts.get("words") == words
        for facts in lookup.session.scalars(query)
    )


def words_of(letter: "Read") -> str:
    """Return a hash of a mail's own words; of a mail that was not read, of why."""
    said = letter.text.strip() or letter.why
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def _has_room(lookup: Lookup, seat: Seat) -> bool:
    if not seat.addresses:
        return False
    if lookup.receipts_today(seat) > MOST_RECEIPTS:
        _tell_once(lookup, seat)
        return False
    return lookup.receipts_of(seat) <= MOST_OF_MATCH


def _tell_once(lookup: Lookup, seat: Seat) -> None:
    """Tell a player once a day that no more of his mails are answered."""
    query = select(Letter.facts).where(
        Letter.recipient == seat.addresses[0].address,
        Letter.kind == "notice",
        Letter.created > lookup.now - timedelta(days=1),
    )
    if any(facts["about"] == _ENOUGH for facts in lookup.session.scalars(query)):
        return
    facts = {
        "about": _ENOUGH,
        "sentences": [
            f"{MOST_RECEIPTS} mails from your address were answered within a day.",
            "What you send still counts; receipts come again tomorrow. "
            "Each report says what was carried out.",
        ],
    }
    store.queue(lookup.session, "notice", facts, lookup.now, seat=seat)


def _queue(lookup: Lookup, kind: str, facts: Json, seat: Seat, mail: Mail) -> None:
    # As `store.queue` does, but without the unit of work: nearly every mail leads here.
    row = {
        "match_id": seat.match_id,
        "seat_id": seat.id,
        "kind": kind,
        "recipient": seat.addresses[0].address,
        "person": seat.person,
        "answers_id": mail.id,
        "turn": seat.match.turn,
        "facts": facts,
        "created": lookup.now,
        "due": lookup.now,
        "status": "queued",
        "tries": 0,
        "why": "",
    }
    lookup.put_off(_INSERT, row)
