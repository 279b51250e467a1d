"""Fetching a password or an access token: from the config, the environment, a file, a command."""

import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from pbem.post import Unreachable, plain
from pbem.post.settings import Secret

_PATIENCE = 60


def reveal(secret: Secret, whose: str) -> str:
    """Return the password or token; `whose` names the mailbox or server in what is raised.

    Raise `Unreachable` where it can't be had, never showing any part of it.
    """
    match secret.kind:
        case "password":
            return secret.said
        case "password_env":
            found = os.environ.get(secret.said, "")
            what = f"the environment variable {secret.said}"
        case "password_file":
            what = f"the file {secret.said}"
            try:
                found = Path(secret.said).read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
                raise Unreachable(
                    f"{whose}: the password is not to be had from {what}: {why}", lasting=True
                ) from None
        case _:
            found = _printed(secret, whose)
            what = f"the {secret.kind}"
    # One line end belongs to the file or the command, not to the password.
    found = found.split("\n", 1)[0].removesuffix("\r")
    if not found:
        raise Unreachable(f"{whose}: {what} holds no password", lasting=True)
    return found


def _printed(secret: Secret, whose: str) -> str:
    words = shlex.split(secret.said)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=secret.folder,
            start_new_session=True,
        )
    except OSError as error:
        raise Unreachable(
            f"{whose}: {secret.kind} can't be run: {words[0]}: {error.strerror}", lasting=True
        ) from None
    with process:
        try:
            printed, said = process.communicate(timeout=_PATIENCE)
        except BaseException as error:
            # What the command has begun would hold its output open, and us with it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise Unreachable(f"{whose}: {secret.kind} took longer than {_PATIENCE} s") from None
    if process.returncode:
        why = said.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
        raise Unreachable(f"{whose}: {secret.kind} failed ({process.returncode}): {plain(why[0])}")
    return printed.decode(errors="replace")
