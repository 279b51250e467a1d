"""Sending letters: in the order they were queued, each sent and marked, or tried again later."""

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pbem import store, undelivered
from pbem.config import Config
from pbem.outbox.claiming import Allowance, Waiting, claimed, claims_rows, recall, waiting
from pbem.outbox.desk import Desk
from pbem.outbox.writing import SHOW_A_TURN, compose, return_path, turn_shown
from pbem.post import Accepted, Refused, Sender, Unsure
from pbem.store import Letter, Match, Seat

# When a letter that could not be delivered is tried again: after so many minutes, then hourly.
RETRIES = (1, 5, 15, 60)
GIVE_UP = timedelta(days=5)
# A letter that a server may have, though it didn't say so, is sent so often at the most.
MOST_UNSURE = 3
DAY = timedelta(days=1)

_LESSER = ("receipt", "press", "reminder", "notice", "deadline")
# What is not sent to who has chosen fewer letters; what he has asked for is.
_UNWANTED = {"REPORTS": _LESSER, "NONE": (*_LESSER, "report", "over", "digest")}


@dataclass
class Sent:
    """What a round of sending came to: letters sent, dropped, put off, failed, with their whys.

    Of those put off, `unwritten` could not be written, a template being broken.
    """

    sent: int = 0
    dropped: int = 0
    later: int = 0
    unwritten: int = 0
    failed: int = 0
    whys: list[str] = field(default_factory=list)


class Verdict(NamedTuple):
    """What came of a try to send a letter: sent, dropped, failed (refused for good), or later.

    `part` is what a server refused; `left` tells whether the letter was handed to one, `unsure`
    whether that may have it without having said so.
    """

    status: str
    why: str = ""
    part: str = ""
    left: bool = False
    unsure: bool = False
    unwritten: bool = False


def flush(engine: Engine, config: Config, sender: Sender, now: datetime) -> Sent:
    """Send the letters that are due, as many as a minute allows.

    Several processes may do so at once on PostgreSQL, each sending what the others don't; on SQLite
    it is one at a time.
    """
    result = Sent()
    if claims_rows(engine):
        _flush(engine, config, sender, now, result)
        return result
    with store.alone(engine, "send") as ours:
        if ours:
            _flush(engine, config, sender, now, result)
    return result


def _flush(engine: Engine, config: Config, sender: Sender, now: datetime, result: Sent) -> None:
    with store.writing(engine) as session:
        recall(session, now)
        if store.hold(session, "digests"):
            _gather(session, now)
    allowance = Allowance(engine, config.mail.per_minute, now)
    # To whom somebody else is sending: he goes on with all that waits for that reader.
    theirs: set[str] = set()
    begun: set[int | None] = set()
    desk = Desk(engine)
    try:
        for one, wanted in _in_turn(engine, now, begun):
            if not one.is_due:
                theirs.add(one.whose)
            if one.whose in theirs:
                continue
            if not allowance.take(wanted):
                return
            verdict = _send_one(engine, config, sender, desk, one, now)
            if verdict is None:
                theirs.add(one.whose)
                begun.add(one.match)
            else:
                _note(result, one, verdict)
            if verdict is None or not verdict.left:
                allowance.spare()
    finally:
        desk.close()
        allowance.close()


def _in_turn(
    engine: Engine, now: datetime, begun: Set[int | None]
) -> Iterator[tuple[Waiting, int]]:
    """Yield the letters that wait, each with how many may yet leave, with it.

    Those of a match in `begun`, which others are at, come at last, if any is then left: a match's
    letters have so much in common that one process best writes them all.
    """
    for last in (False, True):
        for page in waiting(engine, now) if begun or not last else ():
            for place, one in enumerate(page):
                if (one.match in begun) == last:
                    yield one, len(page) - place


def _gather(session: Session, now: datetime) -> None:
    """Put the lesser letters of a day to who wants a digest into one; those younger wait."""
    query = (
        select(Letter)
        .join(Seat, Letter.seat_id == Seat.id)
        .where(
            Letter.status == "queued",
            Letter.kind.in_(_LESSER),
            Letter.due <= now,
            Seat.mail == "DIGEST",
        )
        .order_by(Letter.seat_id, Letter.id)
        # One that somebody is just sending is left to him.
        .with_for_update(skip_locked=True, of=Letter)
    )
    for number, found in itertools.groupby(session.scalars(query), lambda one: one.seat_id):
        letters = [one for one in found if not one.facts.get("asked")]
        if not letters:
            continue
        last = session.scalar(
            select(func.max(Letter.created)).where(
                Letter.seat_id == number, Letter.kind == "digest"
            )
        )
        due = max(last or letters[0].created, letters[0].created - DAY) + DAY
        useful = [one for one in letters if not _outlived(session, one, now)]
        if due > now:
            for letter in letters:
                letter.due = due
        elif useful:
            _digest(session, useful, now)


def _digest(session: Session, letters: Sequence[Letter], now: datetime) -> None:
    for letter in letters:
        letter.status, letter.why = "dropped", "told in a digest"
    seat = session.get_one(Seat, letters[0].seat_id)
    numbers = [letter.id for letter in letters]
    store.queue(session, "digest", {"letters": numbers}, now, seat=seat)


def _send_one(
    engine: Engine, config: Config, sender: Sender, desk: Desk, one: Waiting, now: datetime
) -> Verdict | None:
    """Send a letter and mark it; return what came of it, `None` where it is not for us to send."""
    with claimed(engine, desk, one, now) as claim:
        if claim is None:
            return None
        session, letter = claim
        # On SQLite it is the desk's own session that has claimed.
        reads = desk.session(letter.match_id) if claims_rows(engine) else session
        verdict = _tried(reads, config, sender, letter, now)
        if verdict is not None and claims_rows(engine):
            return _mark(session, letter, now, verdict)
    if verdict is not None:
        session.expunge(letter)
        with store.writing(engine) as session:
            session.add(letter)
            verdict = _mark(session, letter, now, verdict)
    return verdict


def _tried(
    session: Session, config: Config, sender: Sender, letter: Letter, now: datetime
) -> Verdict | None:
    """Write a letter and send it, if it is still of use; `None` where it waits for a digest."""
    # Words and pictures take long to import, and most ticks send nothing.
    from pbem.reports import TemplateFault

    useless = _outlived(session, letter, now)
    if useless:
        return Verdict("dropped", useless)
    if _is_for_digest(session, letter):
        return None
    try:
        raw = compose(session, config, letter, now)
    except TemplateFault as error:
        fault = f"{error}; mend it (`pbem doctor` tries them), then it is sent"
        return Verdict("later", fault, unwritten=True)
    except DBAPIError:
        raise
    # A letter that can't be written must not stop the others.
    except Exception as error:
        return Verdict("later", f"{type(error).__name__}: {error}")
    envelope_from = return_path(session, config, letter)
    done = sender.send(envelope_from, letter.recipient or config.game_master.address, raw)
    if isinstance(done, Accepted):
        return Verdict("sent", left=True)
    if isinstance(done, Refused):
        return Verdict("failed", done.why, done.part, left=True)
    return Verdict("later", done.why, left=True, unsure=isinstance(done, Unsure))


def _mark(session: Session, letter: Letter, now: datetime, verdict: Verdict) -> Verdict:
    """Mark what came of a letter; one that was tried for days, or may have arrived some times
    already, is given up, which is returned."""
    letter.why = verdict.why
    letter.tries += verdict.status != "dropped"
    letter.sent = now if verdict.status == "sent" else None
    unsure = letter.facts.get("unsure", 0) + verdict.unsure
    if verdict.unsure:
        letter.facts = {**letter.facts, "unsure": unsure}
        letter.why += f" (it may have arrived; try {unsure} of {MOST_UNSURE})"
    if verdict.status != "later":
        letter.status = verdict.status
    elif now - letter.created > GIVE_UP or unsure >= MOST_UNSURE:
        letter.status = "failed"
        undelivered.give_up(session, letter, now)
        return verdict._replace(status="failed")
    else:
        wait = RETRIES[letter.tries - 1] if letter.tries <= len(RETRIES) else 60
        letter.due = now + timedelta(minutes=wait)
    if verdict.status == "failed":
        _refused(session, letter, now, verdict)
    return verdict


def _refused(session: Session, letter: Letter, now: datetime, verdict: Verdict) -> None:
    """Note a letter that was refused for good: for its recipient's sake, that is a bounce."""
    seat = session.get(Seat, letter.seat_id) if letter.seat_id else None
    if seat is not None and verdict.part == "recipient":
        undelivered.note(session, seat, letter.recipient, verdict.why, now)
    else:
        undelivered.give_up(session, letter, now)


def _note(result: Sent, one: Waiting, verdict: Verdict) -> None:
    """Count what came of a letter."""
    result.sent += verdict.status == "sent"
    result.dropped += verdict.status == "dropped"
    result.later += verdict.status == "later"
    result.failed += verdict.status == "failed"
    result.unwritten += verdict.unwritten
    if verdict.status in ("later", "failed"):
        result.whys.append(f"letter {one.number} to {one.recipient}: {verdict.why}")


def _is_for_digest(session: Session, letter: Letter) -> bool:
    """Tell whether a letter is to be told in a digest, into which it will be gathered."""
    if letter.seat_id is None or letter.kind not in _LESSER or letter.facts.get("asked"):
        return False
    return session.get_one(Seat, letter.seat_id).mail == "DIGEST"


def _outlived(session: Session, letter: Letter, now: datetime) -> str:
    """Say why a letter is of no use any more; empty where it still is."""
    if letter.kind == "receipt" and _is_overtaken(session, letter):
        return "overtaken by a newer receipt"
    if letter.seat_id is not None:
        seat = session.get_one(Seat, letter.seat_id)
        if letter.kind in _UNWANTED.get(seat.mail, ()) and not letter.facts.get("asked"):
            return f"its reader wants no such letters (MAIL {seat.mail})"
        if letter.kind == "address":
            return ""
        # Its token is the new player's, and what it tells may be none of the old one's business.
        if all(one.address != letter.recipient for one in seat.addresses):
            return "the address is the seat's no more"
    if letter.match_id is None or letter.turn is None:
        return ""
    match = session.get_one(Match, letter.match_id)
    if letter.kind in ("reminder", "deadline") and match.turn != letter.turn:
        return "the turn was run, or undone"
    if letter.kind == "reminder" and _is_past(match, now):
        return "the deadline is past"
    if letter.kind in SHOW_A_TURN and turn_shown(session, match, letter.turn) is None:
        return "its turn was undone"
    return ""


def _is_overtaken(session: Session, letter: Letter) -> bool:
    """Tell whether a receipt tells of nothing but a sheet, and a newer one has replaced that."""
    if letter.facts.get("notes") or letter.facts.get("asked"):
        return False
    newer = select(Letter.facts).where(
        Letter.seat_id == letter.seat_id, Letter.kind == "receipt", Letter.id > letter.id
    )
    return any(facts.get("sheet") is not None for facts in session.scalars(newer))


def _is_past(match: Match, now: datetime) -> bool:
    return match.deadline is not None and match.deadline <= now
