"""A way out through a command that takes letters as `sendmail` does."""

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from typing import Literal

from pbem.post import (
    Accepted,
    Later,
    Refused,
    Sent,
    Unreachable,
    Unsure,
    fault_of_address,
)

_PATIENCE = 300

# The exit codes of sysexits.h that speak of the recipient: no such user, no such host.
_RECIPIENT = (67, 68)
# Those that speak of the moment: system error, a file missing, not to be made, not to be written
# (a full disk), and "temporary" itself.
_TEMPORARY = (71, 72, 73, 74, 75)
# What a shell says where the program behind a wrapper is missing or may not be run.
_NO_COMMAND = (126, 127)


class SendmailSender:
    """A way out that runs a command for each letter, which it gets on standard input."""

    def __init__(self, command: Sequence[str]) -> None:
        self.name = f"sendmail {command[0]}"
        self._command = tuple(command)

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Sent:
        """Hand over one letter and read the exit code (see `Sender.send`)."""
        if envelope_from and (fault := fault_of_address(envelope_from)):
            return Refused(fault, "sender")
        if fault := fault_of_address(recipient):
            return Refused(fault, "recipient")
        sender = envelope_from or "<>"
        try:
            done = subprocess.run(
                [*self._command, "-i", "-f", sender, "--", recipient],
                # Programs of this kind want the line ends of the system, and make their own.
                input=re.sub(rb"\r\n?", b"\n", raw),
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Unsure(f"{self.name}: stopped after {_PATIENCE} s without an end")
        except OSError as error:
            raise Unreachable(
                f"{self.name}: it can't be run: {error.strerror}; mend the command", lasting=True
            ) from error
        return _outcome(self.name, done.returncode, _said(done))

    def probe(self) -> None:
        """Look whether the command is there and may be run (see `Sender.probe`)."""
        if shutil.which(self._command[0]) is None:
            raise Unreachable(f"{self.name}: no such command can be run; mend it", lasting=True)

    def close(self) -> None:
        """Do nothing: each letter has a process of its own."""


def _outcome(name: str, code: int, said: str) -> Sent:
    if code == 0:
        return Accepted(said or "taken")
    if code < 0:
        return Unsure(f"{name}: ended by {signal.Signals(-code).name}; {said}")
    why = f"{name}: exit code {code}: {said or 'no reason given'}"
    if code in _NO_COMMAND:
        raise Unreachable(f"{why}; mend the command", lasting=True)
    if code in _TEMPORARY:
        return Later(why)
    part: Literal["recipient", "content"] = "recipient" if code in _RECIPIENT else "content"
    return Refused(why, part)


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line the command printed, errors before all else."""
    lines = (done.stdout + b"\n" + done.stderr).decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
