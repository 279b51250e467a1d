"""Sending letters: in the order they were queued, each sent and marked, or tried again later."""

import itertools
from collections.abc import Iterator, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, func, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pbem import store, undelivered
from pbem.config import Config
from pbem.outbox.claiming import Allowance, Waiting, are_many, recall, waiting
from pbem.outbox.desk import Desk
from pbem.outbox.outlived import DIGESTED, is_for_digest, outlived
from pbem.outbox.writing import compose, return_path
from pbem.post import Accepted, Refused, Sender, Unsure
from pbem.store import Letter, Seat

# When a letter that could not be delivered is tried again: after so many minutes, then hourly.
RETRIES = (1, 5, 15, 60)
GIVE_UP = timedelta(days=5)
# A letter that a server may have, though it didn't say so, is sent so often at the most.
MOST_UNSURE = 3
DAY = timedelta(days=1)
# What a digest holds is of use before the deadline: then it comes so long before it at the latest.
AHEAD = timedelta(hours=2)

_MARK = update(Letter).where(Letter.id == bindparam("number"))


@dataclass
class Sent:
    """What a round of sending came to: letters sent, dropped, put off, failed, with their whys.

    Of those put off, `unwritten` could not be written, a template being broken, and `damaged` could
    not be read.
    """

    sent: int = 0
    dropped: int = 0
    later: int = 0
    unwritten: int = 0
    damaged: int = 0
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
    damaged: bool = False


def flush(engine: Engine, config: Config, sender: Sender, now: datetime) -> Sent:
    """Send the letters that are due, as many as a minute allows.

    Several processes may do so at once on PostgreSQL, each sending what the others don't; on SQLite
    it is one at a time.
    """
    result = Sent()
    if are_many(engine):
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
    # Matches that others have in hand; and who has an earlier letter that can't leave yet.
    theirs: set[int | None] = set()
    kept_back: set[str] = set()
    with (
        store.connected(engine, reading=True) as reads,
        store.connected(engine, single=True) as marks,
        closing(Desk(reads, marks, now)) as desk,
        closing(Allowance(engine, config.mail.per_minute, now)) as allowance,
    ):
        for coming in _in_turn(marks, now, theirs):
            one = coming[0]
            if not one.is_due:
                kept_back.add(one.whose)
            if one.whose in kept_back:
                continue
            if not allowance.take(len(coming)):
                return
            verdict = _send_one(marks, config, sender, desk, coming, now)
            if verdict is not None:
                _note(result, one, verdict)
            elif one.match in theirs:
                kept_back.add(one.whose)
            else:
                theirs.add(one.match)
            if verdict is None or not verdict.left:
                allowance.spare()


def _in_turn(
    connection: Connection, now: datetime, theirs: Set[int | None]
) -> Iterator[Sequence[Waiting]]:
    """Yield the letters that wait, each at the head of those that may yet leave.

    Those of matches that others have in hand (`theirs`) come at last, if any is then left.
    """
    for last in (False, True):
        for page in waiting(connection, now) if theirs or not last else ():
            for place, one in enumerate(page):
                if (one.match in theirs) == last:
                    yield page[place:]


def _gather(session: Session, now: datetime) -> None:
    """Put the letters of a day that are for a digest into one; those younger wait.

    It comes a day after the one before, or earlier where a deadline is near.
    """
    query = (
        select(Letter)
        .join(Seat, Letter.seat_id == Seat.id)
        .where(
            Letter.status == "queued",
            Letter.kind.in_(DIGESTED),
            Letter.due <= now,
            Seat.mail == "DIGEST",
        )
        .order_by(Letter.seat_id, Letter.id)
        .with_for_update(skip_locked=True, of=Letter)
    )
    for _, found in itertools.groupby(session.scalars(query), lambda one: one.seat_id):
        # Letters that can't be read keep back no more than those of the same seat.
        with suppress(store.StoreDamaged):
            _gather_of_seat(session, [one for one in found if is_for_digest(one)], now)


def _gather_of_seat(session: Session, letters: Sequence[Letter], now: datetime) -> None:
    # What somebody is just sending is left to him.
    if not letters or not store.hold(session, f"send {letters[0].match_id}"):
        return
    last = session.scalar(
        select(func.max(Letter.created)).where(
            Letter.seat_id == letters[0].seat_id, Letter.kind == "digest"
        )
    )
    due = max(last or letters[0].created, letters[0].created - DAY) + DAY
    match = letters[0].match
    if match is not None and match.deadline is not None and match.deadline > now:
        due = min(due, match.deadline - AHEAD)
    useful = [one for one in letters if not outlived(session, one, now)]
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
    marks: Connection,
    config: Config,
    sender: Sender,
    desk: Desk,
    coming: Sequence[Waiting],
    now: datetime,
) -> Verdict | None:
    """Send the first of the letters that are coming and mark it; return what came of it, `None`
    where it is not for us to send."""
    try:
        letter = desk.letter(coming)
        # It is too late to find that damaged once the letter has left.
        tries = letter.tries + 1 if letter else 0
    except DBAPIError:
        raise
    # A row that can't be read must not stop the letters of other matches.
    except Exception as error:
        return _put_off(marks, coming[0], now, f"it can't be read: {type(error).__name__}: {error}")
    try:
        verdict = _tried(desk.session, config, sender, letter, now) if letter else None
    except store.StoreDamaged as error:
        return _put_off(marks, coming[0], now, str(store.damage.located(marks, error)))
    if letter is None or verdict is None:
        return None
    verdict, marked = _marked(letter, tries, now, verdict)
    if verdict.status == "failed":
        with store.writing(marks.engine) as session:
            session.connection().execute(_MARK, marked)
            _refused(session, letter, now, verdict)
    else:
        marks.execute(_MARK, marked)
        # From here on the mark is safe, even where each statement commits by itself.
        marks.commit()
    return verdict


def _put_off(marks: Connection, one: Waiting, now: datetime, why: str) -> Verdict:
    """Mark a letter to be tried again later that can't be read, not even how often it was tried."""
    due = now + timedelta(minutes=RETRIES[-1])
    marks.execute(_MARK, {"number": one.number, "due": due, "why": why})
    marks.commit()
    return Verdict("later", why, damaged=True)


def _tried(
    session: Session, config: Config, sender: Sender, letter: Letter, now: datetime
) -> Verdict | None:
    """Write a letter and send it, if it is still of use; `None` where it waits for a digest."""
    # Words and pictures take long to import, and most ticks send nothing.
    from pbem.reports import TemplateFault

    try:
        useless = outlived(session, letter, now)
        if useless:
            return Verdict("dropped", useless)
        if is_for_digest(letter):
            return None
        raw = compose(session, config, letter, now)
    except TemplateFault as error:
        fault = f"{error}; mend it (`pbem doctor` tries them), then it is sent"
        return Verdict("later", fault, unwritten=True)
    except (DBAPIError, store.StoreDamaged):
        raise
    # A letter that can't be written must not stop the others.
    except Exception as error:
        return Verdict("later", f"{type(error).__name__}: {error}")
    envelope_from = return_path(config, letter)
    done = sender.send(envelope_from, letter.recipient or config.game_master.address, raw)
    if isinstance(done, Accepted):
        return Verdict("sent", left=True)
    if isinstance(done, Refused):
        return Verdict("failed", done.why, done.part, left=True)
    return Verdict("later", done.why, left=True, unsure=isinstance(done, Unsure))


def _marked(
    letter: Letter, tries: int, now: datetime, verdict: Verdict
) -> tuple[Verdict, dict[str, Any]]:
    """Return how a letter is marked by what came of it; one that was tried for days, or may have
    arrived some times already, is given up: that is the verdict then."""
    tries -= verdict.status == "dropped"
    marked: dict[str, Any] = {"number": letter.id, "tries": tries}
    unsure = letter.facts.get("unsure", 0) + verdict.unsure
    if verdict.unsure:
        marked["facts"] = {**letter.facts, "unsure": unsure}
        why = f"{verdict.why} (it may have arrived; try {unsure} of {MOST_UNSURE})"
        verdict = verdict._replace(why=why)
    if verdict.status == "later":
        if now - letter.created > GIVE_UP or unsure >= MOST_UNSURE:
            verdict = verdict._replace(status="failed")
        else:
            wait = RETRIES[tries - 1] if tries <= len(RETRIES) else 60
            marked["due"] = now + timedelta(minutes=wait)
    marked["status"] = "queued" if verdict.status == "later" else verdict.status
    marked["sent"] = now if verdict.status == "sent" else None
    return verdict, {**marked, "why": verdict.why}


def _refused(session: Session, letter: Letter, now: datetime, verdict: Verdict) -> None:
    """Note a letter that was refused for good: for its recipient's sake, that is a bounce."""
    seat = session.get(Seat, letter.seat_id) if letter.seat_id else None
    if seat is not None and verdict.part == "recipient":
        undelivered.note(session, seat, letter.recipient, verdict.why, now)
    else:
        undelivered.give_up(session, letter, verdict.why, now)


def _note(result: Sent, one: Waiting, verdict: Verdict) -> None:
    """Count what came of a letter."""
    result.sent += verdict.status == "sent"
    result.dropped += verdict.status == "dropped"
    result.later += verdict.status == "later"
    result.failed += verdict.status == "failed"
    result.unwritten += verdict.unwritten
    result.damaged += verdict.damaged
    if verdict.status in ("later", "failed"):
        result.whys.append(f"letter {one.number} to {one.recipient}: {verdict.why}")
