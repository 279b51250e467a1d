"""What asks a daemon to stop, and what tells systemd that it is alive."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from pbem import systemd

# Seconds a letter in hand has once the daemon is told to stop.
GRACE = 10
# What takes longer than this, in seconds, is no longer reported to systemd as being alive.
_LONGEST = 15 * 60


class Halt(BaseException):
    """The daemon was asked to stop, and what it was about may end anywhere."""


class Signals:
    """What asks the daemon to stop, and what tells systemd that it is alive."""

    def __init__(self) -> None:
        self.asked = False
        self.busy_since = time.monotonic()
        self._is_halted = False
        self._may_end = False

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Heed the signals while something goes on, and leave them as they were before."""
        handlers = {signal.SIGTERM: self._ask, signal.SIGINT: self._ask, signal.SIGALRM: self._beat}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        if pulse := _watchdog():
            signal.setitimer(signal.ITIMER_REAL, pulse, pulse)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def may_end_anywhere(self) -> Iterator[None]:
        """Do something that loses and doubles nothing wherever it is broken off: stop at once."""
        self._may_end = True
        try:
            if self.asked:
                self._halt()
            yield
        finally:
            self._may_end = False

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        if self._may_end or again:
            self._halt()
        # A letter in hand is either sent and marked as that, or as it was before.
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def _beat(self, _number: int, _frame: FrameType | None) -> None:
        if self.asked:
            self._halt()
        elif time.monotonic() - self.busy_since < _LONGEST:
            tell_systemd("WATCHDOG=1")

    def _halt(self) -> None:
        if not self._is_halted:
            self._is_halted = True
            raise Halt


def tell_systemd(state: str) -> None:
    """Tell systemd how the service stands, if anybody listens."""
    # A daemon doesn't end because nobody hears that it is well.
    with suppress(OSError):
        systemd.notify(state)


def _watchdog() -> float:
    """Return how often systemd wants to be told, in seconds, by half; 0 where it doesn't."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0
    said = os.environ.get("WATCHDOG_USEC", "")
    return int(said) / 2_000_000 if said.isdigit() else 0
