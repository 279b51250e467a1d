"""The use cases put together: receive, fetch, run, send, a tick of all, the daemon, the status."""

import itertools
import logging
import os
import random
import signal
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from pbem import intake, outbox, post, store, turns
from pbem.config import Config
from pbem.faults import Away, Wrong
from pbem.game import Json
from pbem.post import Cursor, settings
from pbem.store import Letter, Match, Message, Seat, Turn

log = logging.getLogger("pbem")

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
    sent: outbox.Sent

    def lines(self) -> Iterator[str]:
        """Say what was done, a line each; nothing where there was nothing to do."""
        if self.fetched.count:
            became = ", ".join(f"{count} {status}" for status, count in self.fetched.became.items())
            yield f"{self.fetched.count} taken in: {became}"
        for ran in self.ran:
            if ran.outcome == "ran":
                yield f"{ran.match}: turn run"
        if self.sent.sent:
            yield f"{self.sent.sent} sent"


def receive(
    engine: Engine,
    config: Config,
    stream: BinaryIO,
    recipient: str,
    received: datetime,
    now: datetime,
) -> intake.Taken:
    """Take in one raw message from a stream; of one that is too large, its head."""
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
        arrivals = (
            source.fetch(lambda key: intake.is_known(engine, source.name, key))
            if isinstance(wanted, settings.ImapSettings)
            else source.fetch()
        )
        for batch in _batches(arrivals, intake.BATCH):
            parcels = [
                intake.Parcel(one.raw, one.received, source.name, one.key, one.recipient, one.size)
                for one in batch
            ]
            for taken in intake.take_in(engine, config, parcels, now):
                result.became[taken.status] = result.became.get(taken.status, 0) + 1
            source.confirm([one.key for one in batch])
        result.away.extend(f"{source.name}: {why}" for why in source.missed.values())
    finally:
        source.close()
    with store.writing(engine) as session:
        store.remember(session, place, {"fetched": now.isoformat(), **source.cursor._asdict()})


def _batches(arrivals: Iterable[post.Arrived], size: int) -> Iterator[list[post.Arrived]]:
    """Part arrivals into batches of a few messages, and of a few megabytes."""
    batch: list[post.Arrived] = []
    weight = 0
    for one in arrivals:
        batch.append(one)
        weight += len(one.raw)
        if len(batch) >= size or weight > 8_000_000:
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
    for why in fetch(engine, config, now).away:
        log.warning(why)
    fetched = _fetched_at(engine, config, now)
    if match is None:
        return turns.run_due(engine, now, fetched)
    ran = turns.run(engine, match, now, fetched, early=early)
    return [ran] if ran else []


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
    ran = turns.run_due(engine, now, _fetched_at(engine, config, now))
    sent = send(engine, config, now)
    with store.writing(engine) as session:
        store.remember(session, "tick", {"time": now.isoformat()})
    return Tick(fetched, ran, sent)


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
            next_one = session.scalar(
                select(func.min(Match.deadline)).where(
                    Match.status == "running", Match.deadline > now
                )
            )
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


def status(session: Session, now: datetime, match: str | None = None) -> Json:
    """Return what a game master asks: what is due when, who is missing, what is stuck."""
    query = select(Match).order_by(Match.deadline.is_(None), Match.deadline, Match.id)
    if match is not None:
        query = query.where(Match.name == match)
    tick = store.mark(session, "tick")
    count = {
        "queued": select(func.count()).where(Letter.status == "queued"),
        "failed": select(func.count()).where(Letter.status.in_(("failed", "bounced"))),
        "shunted": select(func.count()).where(Message.status == "shunted"),
    }
    return {
        "now": now.isoformat(),
        "matches": [_status_of(session, one) for one in session.scalars(query)],
        "letters": {name: session.scalar(counted) or 0 for name, counted in count.items()},
        "last_tick": tick.get("time"),
    }


def _status_of(session: Session, match: Match) -> Json:
    turn = store.turn_of(session, match)
    waiting: list[str] = []
    if turn is not None and match.status in ("running", "held"):
        game, state = turns.load_state(match, turn)
        waiting = list(game.waiting(state))
    sheets = store.newest_sheets(session, match)
    sent = [seat.name for seat in match.seats if seat.id in sheets]
    return {
        "match": match.name,
        "game": match.game,
        "state": match.status,
        "phase": match.phase,
        "turn": match.turn,
        "deadline": match.deadline.isoformat() if match.deadline else None,
        "zone": match.zone,
        "sent": sent,
        "missing": [seat for seat in waiting if seat not in sent],
        "why": match.why,
    }


def view(match: Match, turn: Turn, seat: str | None) -> Json:
    """Return what a seat (`None`: the public) may know of a turn's state, as JSON."""
    game, state = turns.load_state(match, turn)
    return {
        **game.view(state, seat),
        "match": match.name,
        "seat": seat,
        "turn": turn.number,
    }


def shown(
    session: Session, config: Config, match: Match, turn: Turn, seat: str | None, now: datetime
) -> str:
    """Return the report of a turn as a seat (`None`: the public) may read it, as text."""
    from pbem.reports import words

    row = session.scalar(select(Seat).where(Seat.match_id == match.id, Seat.name == seat))
    facts = outbox.facts_of(session, config, match, turn, row, now)
    return words("report", facts, config.templates_folder).text
