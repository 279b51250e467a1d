"""Messages stored and taken in: each once, each in a savepoint, and kept whatever it does to us."""

import hashlib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, bindparam, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm import Session

from pbem import store
from pbem.config import Config
from pbem.faults import Wrong
from pbem.intake import copies
from pbem.intake.handling import handle
from pbem.intake.lookup import Lookup
from pbem.intake.values import COPY, Handled, Mail, Parcel, Taken
from pbem.store import Message

if TYPE_CHECKING:
    from pbem.message import Letter


# What a message may have become for it to be taken in again: it has changed nothing yet.
_CAN_RETAKE = ("shunted", "rejected", "refused", "ignored", "held", "answered")

# How often a batch is tried whose messages other processes store at the same time.
_MOST_RACES = 5

_INSERT = insert(Message).returning(Message.id, sort_by_parameter_order=True)
_UPDATE = (
    update(Message)
    .where(Message.id == bindparam("number"))
    .values(
        status=bindparam("became"),
        why=bindparam("reason"),
        match_id=bindparam("match"),
        seat_id=bindparam("seat"),
    )
)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A message as read; with `error`, as far as it could be."""

    parcel: Parcel
    letter: "Letter"
    error: Exception | None = None


def take_in(
    engine: Engine, config: Config, parcels: Sequence[Parcel], now: datetime
) -> list[Taken]:
    """Take in some messages in one transaction, each in a savepoint of its own.

    Each is stored, and then does what it asks; one that was taken in before does nothing. One on
    which our own code fails is shunted with its traceback, and does nothing else.
    """
    opened = [_open(config, parcel) for parcel in parcels]
    for _ in range(_MOST_RACES - 1):
        try:
            return _take_all(engine, config, opened, now)
        # Another process takes in mails for the same matches, in another order.
        except store.StoreCollision:
            continue
    return _take_all(engine, config, opened, now)


def _take_all(
    engine: Engine, config: Config, opened: Sequence[_Opened], now: datetime
) -> list[Taken]:
    with store.writing(engine) as session:
        numbers = _store(session, config, opened, now)
        lookup = Lookup(session, config, now)
        lookup.expect(one.letter for one in opened)
        lookup.twins = copies.twins(
            lookup,
            [
                (number, one.letter, one.parcel.received)
                for number, one in zip(numbers, opened, strict=True)
                if number is not None
            ],
        )
        taken = [
            COPY if number is None else _take(lookup, one, number)
            for one, number in zip(opened, numbers, strict=True)
        ]
        lookup.write()
    return taken


def retake(session: Session, config: Config, row: Message, now: datetime) -> Taken:
    """Take a stored message in again, as of its receipt; raise `Wrong` where that would count it
    twice."""
    if row.status not in _CAN_RETAKE:
        raise Wrong(f"in{row.id} was taken in already: it is {row.status}; nothing is done")
    parcel = Parcel(row.raw, row.received, row.source, row.key, row.recipient)
    lookup = Lookup(session, config, now)
    opened = _open(config, parcel)
    lookup.expect([opened.letter])
    taken = _take(lookup, opened, row.id)
    lookup.write()
    session.expire(row)
    return taken


def known(engine: Engine, source: str, keys: Sequence[str]) -> set[str]:
    """Return those of some keys of a source whose messages were taken in before."""
    with store.reading(engine) as session:
        query = select(Message.key).where(Message.source == source[:200], Message.key.in_(keys))
        return set(session.scalars(query))


def _open(config: Config, parcel: Parcel) -> _Opened:
    # Reading mail takes long to import, and most ticks find none.
    from pbem.intake.opening import read

    is_head = parcel.size > len(parcel.raw)
    limit = len(parcel.raw) - 1 if is_head else config.mail.size_limit
    try:
        letter = read(config, parcel.raw, parcel.recipient, limit)
        if is_head:
            why = f"it has {parcel.size} bytes, more than {config.mail.size_limit}"
            letter = replace(letter, why=why)
        return _Opened(parcel, letter)
    except Exception as error:
        digest = hashlib.sha256(parcel.raw).hexdigest()
        return _Opened(parcel, replace(read(config, b""), digest=digest), error)


def _store(
    session: Session, config: Config, opened: Sequence[_Opened], now: datetime
) -> list[int | None]:
    """Store those of some messages that were not taken in before; return their numbers.

    Where another process takes in the same message at the same time, its row is waited for.
    """
    keys = [_identity(one) for one in opened]
    fresh: dict[str, int] = {}
    for _ in range(_MOST_RACES):
        known = set(session.scalars(select(Message.identity).where(Message.identity.in_(keys))))
        rows = {
            key: _row(config, one, key, now)
            for key, one in zip(keys, opened, strict=True)
            if key not in known
        }
        try:
            with session.begin_nested():
                made = session.execute(_INSERT, list(rows.values())) if rows else ()
                fresh = dict(zip(rows, (number for (number,) in made), strict=True))
            break
        except IntegrityError:
            continue
    else:
        raise store.StoreAway("other processes store the same mails just now; try again later")
    return [fresh.pop(key, None) for key in keys]


def _take(lookup: Lookup, opened: _Opened, number: int) -> Taken:
    """Do what a stored message asks."""
    try:
        with lookup.one_message():
            if opened.error is not None:
                raise opened.error
            mail = Mail(number, opened.parcel.received, opened.parcel.raw)
            handled = handle(lookup, mail, opened.letter)
            _finish(lookup, number, handled)
            return handled.taken
    except OperationalError:
        raise
    # Whatever a mail does to our code, it is kept, and the next one is taken in.
    except Exception as error:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise
        return _shunt(lookup, opened.letter.sender, number, error)


def _row(config: Config, opened: _Opened, identity: str, now: datetime) -> dict[str, Any]:
    parcel, letter = opened.parcel, opened.letter
    return {
        "identity": identity,
        "source": parcel.source[:200],
        "key": parcel.key[:250],
        "message_id": letter.message_id,
        "sender": letter.sender,
        "subject": letter.subject,
        "recipient": parcel.recipient,
        "received": parcel.received,
        "stored": now,
        "raw": parcel.raw[: config.mail.size_limit],
        "status": "stored",
        "why": "",
    }


def _identity(opened: _Opened) -> str:
    parcel = opened.parcel
    return copies.key(opened.letter, parcel.received, copies.plus_part(parcel.recipient))


def _finish(lookup: Lookup, number: int, handled: Handled) -> None:
    values = {
        "number": number,
        "became": handled.taken.status,
        "reason": handled.taken.why,
        "match": handled.match.id if handled.match else None,
        "seat": handled.seat.id if handled.seat else None,
    }
    lookup.put_off(_UPDATE, values)


def _shunt(lookup: Lookup, sender: str, number: int, error: Exception) -> Taken:
    """Lay a message aside on which our code failed, and tell the game master, once for a fault."""
    session, now = lookup.session, lookup.now
    trace = "".join(traceback.format_exception(error))
    _finish(lookup, number, Handled(Taken("shunted", trace)))
    fault = " ".join(trace.strip().rpartition("\n")[2].split())[:300]
    key = f"fault {hashlib.sha256(fault.encode()).hexdigest()[:32]}"
    told = store.remembered(session, key, "told")
    if told is None or told < now - timedelta(days=1):
        store.remember(session, key, {"told": now.isoformat()})
        facts = {
            "about": "A mail could not be taken in",
            "sentences": [
                f"On message {number} from {sender or 'nobody'} the program failed: {fault}",
                "The mail is kept, and did nothing. Of more that fail alike you hear tomorrow.",
            ],
            "remedies": [
                f"pbem letter in{number} shows it with all that is known of the fault",
                f"pbem letter in{number} --retry takes it in again, once the fault is mended",
            ],
        }
        store.queue_apart(session, "notice", facts, now, match=None)
    return Taken("shunted", trace)
