"""Sending letters: in the order they were queued, each sent and marked, or tried again later."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from pbem import store, undelivered
from pbem.config import Config
from pbem.outbox.writing import SHOW_A_TURN, compose, return_path
from pbem.post import Accepted, Refused, Sender
from pbem.store import Letter, Match, Seat

# When a letter that could not be delivered is tried again: after so many minutes, then hourly.
RETRIES = (1, 5, 15, 60)
GIVE_UP = timedelta(days=5)
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


def flush(engine: Engine, config: Config, sender: Sender, now: datetime) -> Sent:
    """Send the letters that are due, as many as a minute allows, one process at a time."""
    result = Sent()
    with store.alone(engine, "send") as ours:
        if not ours:
            return result
        with store.writing(engine) as session:
            _gather(session, now)
        for number in _queue(engine, config, now):
            _send_one(engine, config, sender, number, now, result)
    return result


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


def _queue(engine: Engine, config: Config, now: datetime) -> Iterator[int]:
    """Yield the numbers of the letters to send now."""
    with store.reading(engine) as session:
        just_sent = select(func.count()).where(
            Letter.status == "sent", Letter.sent > now - timedelta(minutes=1)
        )
        room = config.mail.per_minute - (session.scalar(just_sent) or 0)
        query = (
            select(Letter.id)
            .where(Letter.status == "queued", Letter.due <= now)
            .order_by(Letter.due, Letter.id)
            .limit(max(room, 0))
        )
        numbers = list(session.scalars(query))
    yield from numbers


def _send_one(
    engine: Engine, config: Config, sender: Sender, number: int, now: datetime, result: Sent
) -> None:
    # Words and pictures take long to import, and most ticks send nothing.
    from pbem.reports import TemplateFault

    with store.reading(engine) as session:
        letter = session.get_one(Letter, number)
        useless = _outlived(session, letter, now)
        raw, fault = b"", ""
        if not useless:
            try:
                raw = compose(session, config, letter, now)
            except TemplateFault as error:
                fault = f"{error}; mend it (`pbem doctor` tries them), then it is sent"
                result.unwritten += 1
            # A letter that can't be written must not stop the others.
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
        envelope_from = return_path(session, config, letter)
    if useless:
        _mark(engine, number, now, "dropped", useless)
        result.dropped += 1
    elif fault:
        _put_off(engine, letter, now, fault, result)
    else:
        done = sender.send(envelope_from, letter.recipient or config.game_master.address, raw)
        if isinstance(done, Accepted):
            _mark(engine, number, now, "sent", "")
            result.sent += 1
        elif isinstance(done, Refused):
            _refused(engine, number, now, done)
            result.failed += 1
            result.whys.append(f"letter {number} to {letter.recipient}: {done.why}")
        else:
            _put_off(engine, letter, now, done.why, result)


def _mark(engine: Engine, number: int, now: datetime, status: str, why: str) -> None:
    with store.writing(engine) as session:
        letter = session.get_one(Letter, number)
        letter.status, letter.why = status, why
        letter.tries += status != "dropped"
        letter.sent = now if status == "sent" else None


def _refused(engine: Engine, number: int, now: datetime, done: Refused) -> None:
    """Mark a letter that was refused for good; for its recipient's sake, that is a bounce."""
    with store.writing(engine) as session:
        letter = session.get_one(Letter, number)
        letter.status, letter.why, letter.sent = "failed", done.why, None
        letter.tries += 1
        seat = session.get(Seat, letter.seat_id) if letter.seat_id else None
        if seat is not None and done.part == "recipient":
            undelivered.note(session, seat, letter.recipient, done.why, now)
        else:
            undelivered.give_up(session, letter, now)


def _put_off(engine: Engine, letter: Letter, now: datetime, why: str, result: Sent) -> None:
    """Have a letter tried again later, or give it up after some days."""
    with store.writing(engine) as session:
        row = session.get_one(Letter, letter.id)
        wait = RETRIES[row.tries] if row.tries < len(RETRIES) else 60
        row.tries += 1
        row.why = why
        row.due = now + timedelta(minutes=wait)
        if now - row.created > GIVE_UP:
            row.status = "failed"
            undelivered.give_up(session, row, now)
            result.failed += 1
        else:
            result.later += 1
    result.whys.append(f"letter {letter.id} to {letter.recipient}: {why}")


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
    if letter.kind in SHOW_A_TURN and store.turn_of(session, match, letter.turn) is None:
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
