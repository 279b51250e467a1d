"""The daemon: a tick for every mail, deadline and minute, until it is told to stop.

One thread does one thing at a time. Between two rounds it waits for whatever comes first: a word
from a mailbox that can speak by itself (IMAP IDLE, RFC 2177), the next deadline, the next look, a
signal. Each IMAP mailbox has one connection, on which it is fetched and listened to; of several
daemons one looks after it.
"""

import itertools
import logging
import random
import selectors
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sqlalchemy import Engine, func, select

from pbem import post, rounds, store
from pbem.config import Config
from pbem.faults import Away, Damaged, Wrong
from pbem.signals import Halt, Signals, tell_systemd
from pbem.store import Letter, Match

if TYPE_CHECKING:
    from pbem.post.imap import ImapSource

log = logging.getLogger("pbem.daemon")

LONGEST_BACK_OFF = timedelta(minutes=5)
# A connection that says nothing is asked so often whether it is still there (RFC 2177: 29 minutes,
# but routers forget it sooner), in seconds.
LONGEST_SILENCE = 9 * 60
# Seconds between two rounds, unless a mailbox has spoken.
_SHORTEST_PAUSE = 1
# Seconds until the next try where another process had the mailbox, or letters have to queue.
_SHORT_PAUSE = 3
# Seconds between two tries whether a mailbox that another daemon looks after has been let go.
_STANDBY = 2


def serve(engine: Engine, config: Config, every: float, clock: datetime | None = None) -> None:
    """Tick for ever: at each mail and deadline, and every so many seconds; end on SIGTERM, SIGINT.

    `clock` is what to take for now at the start. What fails is tried again, later each time.
    """
    signals = Signals()
    with signals.heeded():
        tell_systemd("READY=1")
        log.info("daemon started", extra={"event": "started"})
        daemon = _Daemon(engine, config, every, clock, signals)
        try:
            while not signals.asked:
                daemon.round()
                daemon.wait()
        except Halt:
            pass
        finally:
            tell_systemd("STOPPING=1")
            daemon.let_go()
    log.info("daemon stopped", extra={"event": "stopped"})


def back_off(failures: int, *, lasting: bool = False) -> float:
    """Return how many seconds to leave alone what failed so often, one time after the other.

    Twice as long each time, by chance up to half of it less, and never more than five minutes: the
    longest at once where trying again won't help (a wrong password locks accounts).
    """
    longest = LONGEST_BACK_OFF.total_seconds()
    full = longest if lasting else min(2.0**failures, longest)
    return full * random.uniform(0.5, 1.0)


@dataclass
class _Patience:
    """Until when something that failed is left alone, and how often it has failed of late."""

    failures: int = 0
    until: float = 0

    @property
    def is_over(self) -> bool:
        """Whether it may be tried again."""
        return time.monotonic() >= self.until

    def failed(self, *, lasting: bool = False) -> float:
        """Note a failure; return for how many seconds it is left alone."""
        now = time.monotonic()
        # One try between two failures that went well doesn't make them few.
        if now - self.until > LONGEST_BACK_OFF.total_seconds():
            self.failures = 0
        self.failures += 1
        seconds = back_off(self.failures, lasting=lasting)
        self.until = now + seconds
        return seconds


@dataclass
class _Box:
    """A mailbox that this daemon looks after, and its connection if that is kept.

    One that speaks by itself does so at the file descriptor `voice`, and is heeded from a time on.
    """

    number: int
    source: "ImapSource | None"
    away: list[str] = field(default_factory=list)
    voice: int | None = None
    has_spoken: bool = False
    idle_words: int = 0
    heeded_from: float = 0

    def note(self, fetched: rounds.Fetched, every: float, now: float) -> None:
        """Note what a fetch came to; after words that brought no mail, be deaf for a while.

        So neither a server that talks without end nor one that hangs up at once is asked without
        a pause, and what is looked at anyway now and then is not missed.
        """
        self.away = fetched.away
        if self.has_spoken and not fetched.count:
            self.heeded_from = now + min(2.0**self.idle_words, every)
            self.idle_words += 1
        elif now >= self.heeded_from:
            self.idle_words = 0
        self.has_spoken = False


class _Daemon:
    """What a round leaves for the next: mailboxes in its charge, and what is left alone for now."""

    def __init__(
        self,
        engine: Engine,
        config: Config,
        every: float,
        clock: datetime | None,
        signals: Signals,
    ) -> None:
        self._engine = engine
        self._config = config
        self._every = every
        self._clock = clock
        self._signals = signals
        self._begun = datetime.now(UTC)
        self._round_of = self._now
        self._began = time.monotonic()
        self._boxes: dict[int, _Box] = {}
        self._locks = ExitStack()
        self._patience: defaultdict[int | str, _Patience] = defaultdict(_Patience)
        self._is_hurried = False

    @property
    def _now(self) -> datetime:
        real = datetime.now(UTC)
        now = self._clock + (real - self._begun) if self._clock else real
        return now.replace(microsecond=0)

    def round(self) -> None:
        """Fetch, run what is due, send; what fails in one of them doesn't keep back the others."""
        self._signals.busy_since = self._began = time.monotonic()
        self._is_hurried = False
        self._round_of = now = self._now
        try:
            with self._signals.may_end_anywhere():
                with self._faults_told("mailboxes"):
                    self._take_charge()
                for box in self._boxes.values():
                    with self._faults_told(box.number):
                        self._fetch(box, now)
            with self._faults_told("play"):
                self._play(now)
            with self._faults_told("sender"):
                self._send(now)
            with self._faults_told("database"):
                rounds.note_tick(self._engine, now)
        except Away as error:
            # With the database the locks may be lost, and mail can't be stored.
            self.let_go()
            self._leave_alone("database", str(error))

    def wait(self) -> None:
        """Wait until something is to be done."""
        with self._signals.may_end_anywhere(), selectors.DefaultSelector() as selector:
            self._listen()
            for box in self._boxes.values():
                if box.voice is not None and time.monotonic() >= box.heeded_from:
                    selector.register(box.voice, selectors.EVENT_READ, box)
            until = time.monotonic() + self._pause()
            while (left := until - time.monotonic()) > 0:
                heard = selector.select(min(left, _STANDBY) if self._stands_by else left)
                for key, _ in heard:
                    key.data.has_spoken = True
                if heard or (self._stands_by and self._has_taken_over()):
                    break

    def let_go(self) -> None:
        """Close all connections, and leave the mailboxes to other daemons."""
        for box in self._boxes.values():
            if box.source:
                box.source.close()
        self._boxes.clear()
        with suppress(Away):
            self._locks.close()
        self._locks = ExitStack()

    @property
    def _stands_by(self) -> bool:
        """Whether another daemon looks after a mailbox, and this one could."""
        patience = (self._patience["database"], self._patience["mailboxes"])
        are_all_ours = len(self._boxes) == len(self._config.sources)
        return not are_all_ours and all(one.is_over for one in patience)

    def _has_taken_over(self) -> bool:
        """Take the mailboxes that other daemons have let go; tell whether there were any."""
        before = len(self._boxes)
        with suppress(Away), self._faults_told("mailboxes"):
            self._take_charge()
        return len(self._boxes) > before

    def _take_charge(self) -> None:
        """Look after the mailboxes that no other daemon looks after."""
        for number, table in enumerate(self._config.sources, 1):
            if number in self._boxes:
                continue
            with ExitStack() as tried:
                if tried.enter_context(store.alone(self._engine, f"daemon-{number}")):
                    self._locks.push(tried.pop_all())
                    kept = None
                    if table.get("kind") == "imap":
                        opened = rounds.opened(self._engine, self._config, number)
                        kept = cast("ImapSource", opened)
                    self._boxes[number] = _Box(number, kept)

    def _fetch(self, box: _Box, now: datetime) -> None:
        if not self._patience[box.number].is_over:
            return
        fetched = rounds.fetch_from(self._engine, self._config, box.number, now, box.source)
        box.note(fetched, self._every, time.monotonic())
        self._is_hurried = self._is_hurried or fetched.busy
        if fetched.count:
            counts = ", ".join(f"{count} {status}" for status, count in fetched.became.items())
            extra = {"event": "fetched", "source": box.number, "counts": fetched.became}
            log.info("%d taken in: %s", fetched.count, counts, extra=extra)
        if fetched.failed:
            self._leave_alone(box.number, str(fetched.failed), lasting=fetched.failed.lasting)

    def _play(self, now: datetime) -> None:
        away = list(itertools.chain.from_iterable(box.away for box in self._boxes.values()))
        ran, reminded = rounds.play(self._engine, self._config, now, away)
        for one in ran:
            extra = {"event": one.outcome, "match": one.match}
            if one.outcome == "ran":
                log.info("%s: turn run", one.match, extra=extra)
            elif one.news:
                log.warning("%s: %s: %s", one.match, one.outcome, one.why, extra=extra)
        if reminded:
            log.info("%d reminded", reminded, extra={"event": "reminded", "count": reminded})

    def _send(self, now: datetime) -> None:
        if not self._patience["sender"].is_over:
            return
        try:
            sent = rounds.send(self._engine, self._config, now, lambda: self._signals.asked)
        except Away as error:
            if not isinstance(error.__cause__, post.Unreachable):
                raise
            self._leave_alone("sender", str(error), lasting=error.__cause__.lasting)
            return
        for why in sent.whys:
            log.warning(why, extra={"event": "not sent"})
        if sent.sent:
            log.info("%d sent", sent.sent, extra={"event": "sent", "count": sent.sent})

    def _listen(self) -> None:
        """Have the mailboxes speak that can; one that can't now is left alone for a while."""
        for box in self._boxes.values():
            box.voice, box.has_spoken = None, False
            if box.source is None or not self._patience[box.number].is_over:
                continue
            with self._faults_told(box.number):
                try:
                    box.voice = box.source.listen()
                    box.has_spoken = box.source.has_words
                except post.Unreachable as error:
                    self._leave_alone(box.number, str(error), lasting=error.lasting)

    def _pause(self) -> float:
        """Return in how many seconds something is to be done, whatever the mailboxes say."""
        now = time.monotonic()
        if not self._patience["database"].is_over:
            return self._patience["database"].until - now
        if any(box.has_spoken and now >= box.heeded_from for box in self._boxes.values()):
            return 0
        pauses = [self._began + self._every - now, LONGEST_SILENCE]
        pauses += [one.until - now for one in self._patience.values() if not one.is_over]
        pauses += [box.heeded_from - now for box in self._boxes.values() if box.heeded_from > now]
        if self._is_hurried:
            pauses.append(_SHORT_PAUSE)
        try:
            pauses.append(self._until_next())
        except Away as error:
            self._leave_alone("database", str(error))
        return max(_SHORTEST_PAUSE, min(pauses))

    def _until_next(self) -> float:
        """Return in how many seconds the next deadline is, or the next letter due.

        What has come due since the round began is yet to be done.
        """
        now = self._round_of
        with store.reading(self._engine) as session:
            moments = session.scalars(
                select(Match.deadline)
                .where(Match.status == "running", Match.deadline > now)
                .union(
                    select(Match.waits_until).where(Match.waits_until > now),
                    select(func.min(Letter.due)).where(Letter.status == "queued", Letter.due > now),
                )
            )
            found = [one for one in moments if isinstance(one, datetime)]
            pauses = [(one - self._now).total_seconds() for one in found]
            if self._patience["sender"].is_over:
                waiting = select(Letter.id).where(Letter.status == "queued", Letter.due <= now)
                # More than a minute allows.
                if session.scalar(waiting.limit(1)) is not None:
                    pauses.append(_SHORT_PAUSE)
        return min(pauses, default=self._every)

    def _leave_alone(self, what: int | str, why: str, *, lasting: bool = False) -> None:
        """Say what failed, and leave it alone for a while."""
        seconds = self._patience[what].failed(lasting=lasting)
        extra = {"event": "away", "of": what, "seconds": round(seconds)}
        log.warning("%s; tried again in %.0f s", why.splitlines()[0], seconds, extra=extra)

    @contextmanager
    def _faults_told(self, what: int | str) -> Iterator[None]:
        """Say what our own code failed on, go on, and leave that alone for a while."""
        try:
            yield
        except Away:
            raise
        except (Wrong, Damaged) as error:
            self._leave_alone(what, str(error))
        # Whatever goes wrong, the next mail may be an order that is in time.
        except Exception as error:
            self._leave_alone(what, f"the program failed: {_place(error)}")


def _place(error: Exception) -> str:
    """Say what kind of error it is and where it arose; its text may hold a mail's, or a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    steps = (f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in frames)
    return f"{type(error).__name__} at {' > '.join(steps)}"
