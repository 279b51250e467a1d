"""The use cases put together: receive, fetch, run, send, a tick of all.

A use case that leads to another returns a value, or leaves a mark in the database, that says so,
and here it is done: a mail of the game master's is taken in, stored as his (`gm`) and then obeyed;
an order of his that runs a turn marks the match, which is then run, the mailboxes fetched first.
Where the process ends in between, the next tick finds the mark.
"""

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO

from sqlalchemy import Engine, select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from pbem import brakes, matches, outbox, post, store, turns
from pbem.config import Config
from pbem.faults import Away, Wrong
from pbem.post import Cursor, settings
from pbem.store import Match, Message

if TYPE_CHECKING:
    # Taking mail in and obeying take long to import, and most ticks find no mail.
    from pbem import gm, intake

log = logging.getLogger("pbem")

# Messages taken in at a time: one commit for all of them.
BATCH = 50
# By how much the clocks of two machines may differ.
_SKEW = timedelta(minutes=1)


@dataclass
class Fetched:
    """What a fetch came to: messages by what became of them, and the mailboxes that were away.

    `failed` is why one could not be used, `busy` says that another process was just fetching one.
    """

    became: dict[str, int] = field(default_factory=dict)
    away: list[str] = field(default_factory=list)
    failed: post.Unreachable | None = None
    busy: bool = False

    @property
    def count(self) -> int:
        """How many messages were taken in."""
        return sum(self.became.values())

    def add(self, other: "Fetched") -> None:
        """Add what another fetch came to."""
        for status, count in other.became.items():
            self.became[status] = self.became.get(status, 0) + count
        self.away += other.away
        self.failed = self.failed or other.failed
        self.busy = self.busy or other.busy


@dataclass
class Tick:
    """What a tick did; `held` tells whether a match is held by a fault, found now or before."""

    fetched: Fetched
    ran: list[turns.Ran]
    reminded: int
    sent: outbox.Sent
    held: bool

    def lines(self) -> Iterator[str]:
        """Say what was done, a line each; nothing where there was nothing to do."""
        if self.fetched.count:
            became = ", ".join(f"{count} {status}" for status, count in self.fetched.became.items())
            yield f"{self.fetched.count} taken in: {became}"
        for ran in self.ran:
            if ran.outcome == "ran":
                yield f"{ran.match}: turn run"
        if self.reminded:
            yield f"{self.reminded} reminded"
        if self.sent.sent:
            yield f"{self.sent.sent} sent"


def receive(
    engine: Engine,
    config: Config,
    stream: BinaryIO,
    recipient: str,
    received: datetime,
    now: datetime,
) -> "intake.Taken":
    """Take in one raw message from a stream; of one that is too large, its head."""
    from pbem import intake

    raw = stream.read(config.mail.size_limit + 1)
    # The sender of a pipe that is not read to its end would take that for a failure.
    while stream.read(1 << 20):
        pass
    parcel = intake.Parcel(raw, received, "pipe", recipient=recipient)
    return intake.take_in(engine, config, [parcel], now)[0]


def fetch(engine: Engine, config: Config, now: datetime) -> Fetched:
    """Take in what lies in every mailbox; one that can't be reached does not stop the others."""
    result = Fetched()
    for number in range(1, len(config.sources) + 1):
        result.add(fetch_from(engine, config, number, now))
    return result


def fetch_from(
    engine: Engine, config: Config, number: int, now: datetime, kept: post.Source | None = None
) -> Fetched:
    """Take in what lies in one mailbox, by its number among those of the config.

    A message is confirmed to its mailbox only after the commit that stored it. A source that is
    `kept` open is used and left open, else one is opened and closed.
    """
    result = Fetched()
    place = f"source {number}"
    with store.alone(engine, f"fetch-{number}") as ours:
        if not ours:
            result.busy = True
            return result
        source = kept or opened(engine, config, number)
        try:
            # The names of files may come again: they are told apart by what is in them.
            has_lasting_keys = config.sources[number - 1].get("kind") == "imap"
            known = _known(engine, source.name) if has_lasting_keys else post.nothing_known
            for batch in _batches(source.fetch(known)):
                for status in _take_in(engine, config, source.name, batch, now):
                    result.became[status] = result.became.get(status, 0) + 1
                source.confirm([one.key for one in batch])
            result.away.extend(f"{source.name}: {why}" for why in source.missed.values())
            with store.writing(engine) as session:
                fetched = {"fetched": now.isoformat(), **source.cursor._asdict()}
                store.remember(session, place, fetched)
        except (post.Unreachable, store.StoreLocked) as error:
            # What waits for a row that is locked stays in the mailbox, with all that follows it.
            if isinstance(error, post.Unreachable):
                result.failed = error
            result.away.append(str(error))
            with store.writing(engine) as session:
                remembered = store.mark(session, place)
                store.remember(session, place, {**remembered, "away": str(error)})
        finally:
            if kept is None:
                source.close()
    return result


def opened(engine: Engine, config: Config, number: int) -> post.Source:
    """Open a mailbox by its number in the config, as it was left; it connects when it is used."""
    where = f"source {number}"
    try:
        wanted = settings.read_source(config.sources[number - 1], where, config.folder)
    except ValueError as error:
        raise Wrong(str(error)) from None
    with store.reading(engine) as session:
        left = store.mark(session, where)
    cursor = Cursor(left.get("uidvalidity", 0), left.get("changes", 0))
    return post.open_source(wanted, size_limit=config.mail.size_limit, cursor=cursor)


def _known(engine: Engine, source: str) -> post.Known:
    def known(keys: Sequence[str]) -> set[str]:
        from pbem import intake

        return intake.known(engine, source, keys)

    return known


def _take_in(
    engine: Engine, config: Config, source: str, batch: Sequence[post.Arrived], now: datetime
) -> list[str]:
    """Take in some arrivals in one transaction; return what each became."""
    from pbem import intake

    parcels = [
        intake.Parcel(one.raw, one.received, source, one.key, one.recipient, one.size)
        for one in batch
    ]
    return [taken.status for taken in intake.take_in(engine, config, parcels, now)]


def _batches(arrivals: Iterable[post.Arrived]) -> Iterator[list[post.Arrived]]:
    """Part arrivals into batches of a few messages, and of a few megabytes."""
    batch: list[post.Arrived] = []
    weight = 0
    for one in arrivals:
        batch.append(one)
        weight += len(one.raw)
        if len(batch) >= BATCH or weight > 8_000_000:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _fetched_at(engine: Engine, config: Config, now: datetime) -> datetime | None:
    """Return since when all mailboxes are taken in; `None` where one never was."""
    if not config.sources:
        return now
    with store.reading(engine) as session:
        found = [
            store.remembered(session, f"source {number}", "fetched")
            for number in range(1, len(config.sources) + 1)
        ]
    moments = [one for one in found if one is not None]
    # What a clock that was ahead has noted says nothing of when it was.
    if len(moments) < len(found) or max(moments) > now + _SKEW:
        return None
    return min(moments)


def run(
    engine: Engine, config: Config, now: datetime, match: str | None = None, *, early: bool = False
) -> list[turns.Ran]:
    """Run what is due, or one match (`early`: before its deadline), the mailboxes fetched first."""
    with store.reading(engine) as session:
        due = turns.due(session, now)
    if match is None and not due:
        return []
    away = fetch(engine, config, now).away
    for why in away:
        log.warning(why)
    obey_mails(engine, config, now)
    fetched = _fetched_at(engine, config, now)
    if match is None:
        return turns.run_due(engine, now, fetched, away)
    ran = turns.run(engine, match, now, fetched, early=early, away=away)
    return [ran] if ran else []


@dataclass(frozen=True, slots=True)
class Obeyed:
    """What became of the game master's lines, and of the turn he had run, if he had."""

    done: "list[gm.Done]"
    ran: list[turns.Ran]


def obey(engine: Engine, config: Config, name: str, text: str, now: datetime) -> Obeyed:
    """Carry out the game master's lines for a match; a turn that they ask for is run at once."""
    from pbem import gm

    with store.writing(engine) as session:
        match = store.match_named(session, name, lock=True)
        if match is None:
            raise Wrong(f"no match is called {name!r}")
        done = gm.obey(session, match, text, now, mailbox=config.mail.address)
        asked = match.run_now
    return Obeyed(done, run(engine, config, now, name) if asked else [])


def obey_mails(engine: Engine, config: Config, now: datetime) -> int:
    """Carry out the game master's orders that came by mail; answer each; return how many came.

    A mail that makes our code fail is shunted with its traceback; the others are carried out. Those
    for a match that somebody has locked for long wait for the next time.
    """
    with store.reading(engine) as session:
        query = (
            select(Message.id, Match.name)
            .join(Match, Message.match_id == Match.id)
            .where(Message.status == "gm")
            .order_by(Message.received, Message.id)
        )
        found = session.execute(query).all()
    locked = set()
    for number, name in found:
        if name in locked:
            continue
        try:
            with store.writing(engine) as session:
                # The match comes first: so of two processes each finds the earlier mails carried
                # out.
                match = store.match_named(session, name, lock=True)
                mail = session.get_one(Message, number, with_for_update=True)
                if mail.status == "gm" and match is not None:
                    _obey_mail(session, config, match, mail, now)
        except store.StoreLocked as error:
            locked.add(name)
            log.warning("%s: the game master's mail waits: %s", name, error)
    return len(found)


def _obey_mail(
    session: Session, config: Config, match: Match, mail: Message, now: datetime
) -> None:
    from pbem import gm
    from pbem.message import read

    letter = read(mail.raw, recipient=mail.recipient, size_limit=config.mail.size_limit)
    try:
        with session.begin_nested():
            mailbox = config.mail.address
            done = gm.obey(session, match, letter.text, now, by_mail=True, mailbox=mailbox)
    except OperationalError:
        raise
    # Whatever a mail does to our code, it is kept, and the next one is taken in.
    except Exception as error:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise
        mail.status, mail.why = "shunted", traceback.format_exc()
        says = [f"The mail {mail.subject!r} made the program fail: {type(error).__name__}: {error}"]
        remedies = [f"pbem letter in{mail.id} --retry"]
        matches.tell_gm(session, match, now, "Your orders were not carried out", says, remedies)
        return
    refused = sum(one.refused for one in done)
    mail.status = "filed" if len(done) > refused else "answered"
    about = f"{refused} of your orders refused" if refused else "Your orders are carried out"
    facts = {
        "about": about if done else "No order found in your mail",
        "sentences": [f"{one.text}: {'refused: ' if one.refused else ''}{one.said}" for one in done]
        or ["Nothing was done."],
    }
    store.queue_apart(session, "notice", facts, now, match=match, answers=mail)


def send(
    engine: Engine, config: Config, now: datetime, is_asked_to_stop: Callable[[], bool] = bool
) -> outbox.Sent:
    """Send the letters that are due; a sender that can't be reached leaves them as they are.

    So does one that is asked to stop, between two letters.
    """
    with store.reading(engine) as session:
        if not outbox.is_any_due(session, now):
            return outbox.Sent()
    try:
        wanted = settings.read_sender(config.sender, "sender", config.folder)
    except ValueError as error:
        raise Wrong(str(error)) from None
    sender = post.open_sender(wanted)
    try:
        return outbox.flush(engine, config, _Stoppable(sender, is_asked_to_stop), now)
    except _Stopped:
        return outbox.Sent()
    except post.Unreachable as error:
        raise Away(str(error)) from error
    finally:
        sender.close()


class _Stopped(Exception):
    """Letters are left for the next time, as the process is to end."""


class _Stoppable:
    """A sender that takes no further letter once it is asked to stop."""

    def __init__(self, sender: post.Sender, is_asked: Callable[[], bool]) -> None:
        self.name = sender.name
        self.sender = sender
        self.is_asked = is_asked

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> post.Sent:
        if self.is_asked():
            raise _Stopped
        return self.sender.send(envelope_from, recipient, raw)

    def probe(self) -> None:
        self.sender.probe()

    def close(self) -> None:
        self.sender.close()


def tick(engine: Engine, config: Config, now: datetime) -> Tick:
    """Fetch, run what is due, send: once."""
    fetched = fetch(engine, config, now)
    ran, reminded = play(engine, config, now, fetched.away)
    sent = send(engine, config, now)
    note_tick(engine, now)
    with store.reading(engine) as session:
        held = brakes.is_any_held(session)
    return Tick(fetched, ran, reminded, sent, held)


def play(
    engine: Engine, config: Config, now: datetime, away: Sequence[str]
) -> tuple[list[turns.Ran], int]:
    """Do what is to be done once mail is fetched: obey, run what is due, remind.

    `away` says of mailboxes why they could not be fetched. Return what was run, and how many were
    reminded.
    """
    obey_mails(engine, config, now)
    ran = turns.run_due(engine, now, _fetched_at(engine, config, now), away)
    with store.writing(engine) as session:
        return ran, brakes.remind(session, now)


def note_tick(engine: Engine, now: datetime) -> None:
    """Remember that a tick has come to its end, for who looks whether anything is at work."""
    with store.writing(engine) as session:
        store.remember(session, "tick", {"time": now.isoformat()})
