"""The use cases put together: receive, fetch, run, send, a tick of all, the daemon.

A use case that leads to another returns a value, or leaves a mark in the database, that says so,
and here it is done: a mail of the game master's is taken in, stored as his (`gm`) and then obeyed;
an order of his that runs a turn marks the match, which is then run, the mailboxes fetched first.
Where the process ends in between, the next tick finds the mark.
"""

import itertools
import logging
import os
import random
import signal
import socket
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, BinaryIO

from sqlalchemy import Engine, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pbem import brakes, matches, outbox, post, store, turns
from pbem.config import Config
from pbem.faults import Away, Wrong
from pbem.post import Cursor, settings
from pbem.store import Letter, Match, Message

if TYPE_CHECKING:
    # Taking mail in and obeying take long to import, and most ticks find no mail.
    from pbem import gm, intake

log = logging.getLogger("pbem")

# Messages taken in at a time: one commit for all of them.
BATCH = 50
LONGEST_BACK_OFF = timedelta(minutes=5)


@dataclass
class Fetched:
    """What a fetch came to: messages by what became of them, and the mailboxes that were away."""

    became: dict[str, int] = field(default_factory=dict)
    away: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many messages were taken in."""
        return sum(self.became.values())


@dataclass
class Tick:
    """What a tick did."""

    fetched: Fetched
    ran: list[turns.Ran]
    reminded: int
    sent: outbox.Sent

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
    """Take in what lies in every mailbox; one that can't be reached does not stop the others.

    A message is confirmed to its mailbox only after the commit that stored it.
    """
    result = Fetched()
    for number, table in enumerate(config.sources, 1):
        with store.alone(engine, f"fetch-{number}") as ours:
            if not ours:
                continue
            try:
                _fetch_one(engine, config, number, table, now, result)
            except post.Unreachable as error:
                result.away.append(str(error))
                with store.writing(engine) as session:
                    kept = store.mark(session, f"source {number}")
                    store.remember(session, f"source {number}", {**kept, "away": str(error)})
    return result


def _fetch_one(
    engine: Engine,
    config: Config,
    number: int,
    table: Mapping[str, Any],
    now: datetime,
    result: Fetched,
) -> None:
    try:
        wanted = settings.read_source(table, f"source {number}", config.folder)
    except ValueError as error:
        raise Wrong(str(error)) from None
    place = f"source {number}"
    with store.reading(engine) as session:
        kept = store.mark(session, place)
    cursor = Cursor(kept.get("uidvalidity", 0), kept.get("changes", 0))
    source = post.open_source(wanted, size_limit=config.mail.size_limit, cursor=cursor)
    try:
        # A UID is never given twice, so what is stored need not be read again; files may bear
        # any name, and are told apart by what is in them.
        known = isinstance(wanted, settings.ImapSettings)
        arrivals = source.fetch(_known(engine, source.name)) if known else source.fetch()
        for batch in _batches(arrivals):
            for status in _take_in(engine, config, source.name, batch, now):
                result.became[status] = result.became.get(status, 0) + 1
            source.confirm([one.key for one in batch])
        result.away.extend(f"{source.name}: {why}" for why in source.missed.values())
    finally:
        source.close()
    with store.writing(engine) as session:
        store.remember(session, place, {"fetched": now.isoformat(), **source.cursor._asdict()})


def _known(engine: Engine, source: str) -> Callable[[str], bool]:
    from pbem import intake

    return lambda key: intake.is_known(engine, source, key)


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
        marks = [
            store.mark(session, f"source {number}").get("fetched")
            for number in range(1, len(config.sources) + 1)
        ]
    if not all(marks):
        return None
    return min(datetime.fromisoformat(mark) for mark in marks if mark)


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

    A mail that makes our code fail is shunted with its traceback; the others are carried out.
    """
    with store.reading(engine) as session:
        query = select(Message.id).where(Message.status == "gm").order_by(Message.received)
        numbers = list(session.scalars(query))
    for number in numbers:
        with store.writing(engine) as session:
            mail = session.get_one(Message, number, with_for_update=True)
            if mail.status == "gm" and mail.match_id is not None:
                match = session.get_one(Match, mail.match_id, with_for_update=True)
                _obey_mail(session, config, match, mail, now)
    return len(numbers)


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
    except DBAPIError:
        raise
    # Whatever a mail does to our code, it is kept, and the next one is taken in.
    except Exception as error:
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


def send(engine: Engine, config: Config, now: datetime) -> outbox.Sent:
    """Send the letters that are due; a sender that can't be reached leaves them as they are."""
    with store.reading(engine) as session:
        waiting = select(Letter.id).where(Letter.status == "queued", Letter.due <= now)
        if session.scalar(waiting.limit(1)) is None:
            return outbox.Sent()
    try:
        wanted = settings.read_sender(config.sender, "sender", config.folder)
    except ValueError as error:
        raise Wrong(str(error)) from None
    sender = post.open_sender(wanted)
    try:
        return outbox.flush(engine, config, sender, now)
    except post.Unreachable as error:
        raise Away(str(error)) from None
    finally:
        sender.close()


def tick(engine: Engine, config: Config, now: datetime) -> Tick:
    """Fetch, run what is due, send: once."""
    fetched = fetch(engine, config, now)
    obey_mails(engine, config, now)
    ran = turns.run_due(engine, now, _fetched_at(engine, config, now), fetched.away)
    with store.writing(engine) as session:
        reminded = brakes.remind(session, now)
    sent = send(engine, config, now)
    with store.writing(engine) as session:
        store.remember(session, "tick", {"time": now.isoformat()})
    return Tick(fetched, ran, reminded, sent)


def serve(engine: Engine, config: Config, every: float, clock: datetime | None = None) -> None:
    """Tick for ever: every so many seconds, and at each deadline; end on SIGTERM or SIGINT.

    A mailbox, server or database that is away is waited for, longer each time.
    """
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    _notify("READY=1")
    log.info("daemon started")
    failures = 0
    begun = datetime.now(UTC)
    while not stop.is_set():
        real = datetime.now(UTC)
        now = (clock + (real - begun) if clock else real).replace(microsecond=0)
        try:
            done = tick(engine, config, now)
        except Away as error:
            log.warning(str(error))
            failures += 1
        else:
            for line in itertools.chain(done.lines(), done.fetched.away, done.sent.whys):
                log.info(line)
            failures = failures + 1 if done.fetched.away else 0
        stop.wait(_pause(engine, now, every, failures))
    _notify("STOPPING=1")
    log.info("daemon stopped")


def _pause(engine: Engine, now: datetime, every: float, failures: int) -> float:
    """Return how many seconds to wait: until the next look or deadline, longer after failures."""
    if failures:
        longest = min(every * 2.0**failures, LONGEST_BACK_OFF.total_seconds())
        return longest * random.uniform(0.5, 1.0)
    try:
        with store.reading(engine) as session:
            moments = session.scalars(
                select(Match.deadline)
                .where(Match.status == "running", Match.deadline > now)
                .union(select(Match.waits_until).where(Match.waits_until > now))
            )
            next_one = min((one for one in moments if one), default=None)
    except Away:
        return every
    until = (next_one - now).total_seconds() if next_one else every
    return max(1.0, min(every, until))


def _notify(state: str) -> None:
    """Tell systemd how the service stands, where it asks (sd_notify)."""
    place = os.environ.get("NOTIFY_SOCKET")
    if not place:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as speaker:
        speaker.connect("\0" + place[1:] if place.startswith("@") else place)
        speaker.sendall(state.encode())
