"""A daemon as a process of its own: what it says is waited for, never a time."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Whatever is waited for has come by then, or never will.
PATIENCE = 60


@dataclass
class Daemon:
    """A running daemon and what it has logged, line by line."""

    process: "subprocess.Popen[str]"
    said: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, **wanted: object) -> dict[str, Any]:
        """Wait for a log line that has these values, and return it."""
        assert self.process.stderr
        for text in self.process.stderr:
            line = json.loads(text)
            self.said.append(line)
            if all(line.get(key) == value for key, value in wanted.items()):
                return line
        raise AssertionError(f"it ended, and never said {wanted}: {self.said}")

    def hear_words(self, words: str) -> dict[str, Any]:
        """Wait for a log line with these words in its message."""
        while words not in self.hear()["message"]:
            pass
        return self.said[-1]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; return its exit code when it has."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end, all that it says heard; return its exit code."""
        assert self.process.stderr
        self.said += [json.loads(text) for text in self.process.stderr]
        return self.process.wait(PATIENCE)


@contextmanager
def daemon(
    folder: Path,
    *options: str,
    program: Sequence[str] = ("-m", "pbem"),
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> Iterator[Daemon]:
    """Run `pbem daemon` in a folder, which looks by itself only once in a day.

    A `program` of the test's own may stand for the module, and options come `before` the command.
    """
    process = subprocess.Popen(
        [sys.executable, *program, "--log-json", *before, "daemon", "--every", "86400", *options],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stderr=subprocess.PIPE,
        text=True,
    )
    # A daemon that says nothing must not hold up the tests for ever.
    killer = threading.Timer(patience, process.kill)
    killer.start()
    try:
        running = Daemon(process)
        running.hear(event="started")
        yield running
    finally:
        killer.cancel()
        process.kill()
        process.wait()
        assert process.stderr
        process.stderr.close()
