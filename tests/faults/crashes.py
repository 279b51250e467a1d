"""Processes that end at a chosen moment, as by `kill -9`: forked from here, where all is imported.

A *point* is a moment at which the world outside may see a change: before and after each commit,
each fsync, each renaming or removal of a file, each word to or from the network. A child counts its
points and kills itself at one of them; nothing of it runs any more, no `finally`, no `atexit`.
"""

import os
import random
import signal
import socket
import ssl
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from sqlalchemy.engine.default import DefaultDialect

# What is looked at: the owner of a function, and its name there.
_FILES = tuple((os, name) for name in ("fsync", "rename", "replace", "link", "unlink"))
_NETWORK = tuple(
    (owner, name)
    for owner in (socket.socket, ssl.SSLSocket)
    for name in ("connect", "send", "sendall", "recv", "recv_into", "close")
)
_COMMITS = ((DefaultDialect, "do_commit"),)

# So many points a child that is one of a row lives longer than the one before it.
STRIDE = 1 if os.environ.get("PBEM_CRASHES", "100") != "100" else 2

# Exit codes of a child: its work was done, or it failed by an exception.
DONE, FAILED = 0, 3


Mark = Callable[[str, str, tuple[Any, ...]], None]


@dataclass
class _Points:
    """The points that a child has passed, and the one at which it is to die (`None`: none)."""

    last: int | None
    passed: list[str] = field(default_factory=list)

    def mark(self, when: str, name: str, given: tuple[Any, ...]) -> None:
        del given
        self.passed.append(f"{when} {name} {len(self.passed)}")
        if len(self.passed) - 1 == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


def _watched(mark: Mark, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def watched(*given: Any, **named: Any) -> Any:
        mark("before", name, given)
        result = function(*given, **named)
        mark("after", name, given)
        return result

    return watched


def watch(mark: Mark) -> None:
    """Have all that is looked at call `mark` (before or after, name, arguments) from now on."""
    for owner, name in (*_FILES, *_NETWORK, *_COMMITS):
        if name in vars(owner):
            setattr(owner, name, _watched(mark, name, getattr(owner, name)))


def start(work: Callable[[], object], log: Path, prepare: Callable[[], None]) -> int:
    """Begin some work in a child of this process and return the child's number.

    An exception in it is written to `log`.
    """
    with warnings.catch_warnings():
        # Python 3.12 warns of a fork beside threads; the child uses none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = FAILED
        try:
            prepare()
            work()
            code = DONE
        except BaseException:
            log.write_text(traceback.format_exc(), "utf-8")
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """Wait for a child's end; return how it ended, as `os.waitstatus_to_exitcode`."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def fork(work: Callable[[], object], log: Path, prepare: Callable[[], None]) -> int:
    """Do some work in a child of this process (see `start`); return how it ended."""
    return ended(start(work, log, prepare))


def dying(point: int | None) -> Callable[[], None]:
    """Return what prepares a child for dying at a point (`None`: at none)."""
    return lambda: watch(_Points(point).mark)


def points_of(work: Callable[[], object], log: Path) -> list[str]:
    """Do some work in a child to its end; return the names of the points it passed, in order."""
    points = _Points(None)

    def noted() -> None:
        work()
        log.write_text("\n".join(points.passed), "utf-8")

    code = fork(noted, log, lambda: watch(points.mark))
    assert code == DONE, log.read_text("utf-8")
    return log.read_text("utf-8").split("\n")


def killed_at(work: Callable[[], object], point: int, log: Path) -> bool:
    """Do some work in a child that dies at a point; tell whether it got there."""
    code = fork(work, log, dying(point))
    assert code in (DONE, -signal.SIGKILL), log.read_text("utf-8")
    return code != DONE


def killed_after(work: Callable[[], object], seconds: float, log: Path) -> bool:
    """Do some work in a child that dies after a time, wherever it is then, C code included."""

    def prepare() -> None:
        # The signal's own action ends a process as abruptly as SIGKILL does.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    code = fork(work, log, prepare)
    assert code in (DONE, -signal.SIGALRM), log.read_text("utf-8")
    return code != DONE


def completed(work: Callable[[], object], log: Path) -> None:
    """Do some work in a child that nothing happens to."""
    assert fork(work, log, lambda: None) == DONE, log.read_text("utf-8")


def spread(count: int, most: int | None) -> Iterator[int]:
    """Yield the numbers below `count`: all, or `most` of them, evenly spread."""
    yield from range(count) if most is None or most >= count else chosen(count, most)


def chosen(count: int, most: int) -> Sequence[int]:
    """Return `most` numbers below `count`, evenly spread."""
    return [place * count // most for place in range(most)]


def budget(share: int) -> int | None:
    """Return how many crashes a test is to make: `share` of the hundred that every run makes.

    `PBEM_CRASHES` asks for more: so many in all, or `all` for every point there is (`None`).
    """
    wanted = os.environ.get("PBEM_CRASHES", "100")
    return None if wanted == "all" else max(1, int(wanted) * share // 100)


def delays(count: int, seconds: float, seed: str) -> list[float]:
    """Return some moments within a time, drawn by a seed."""
    rng = random.Random(seed)
    return [rng.uniform(0.001, seconds) for _ in range(count)]
