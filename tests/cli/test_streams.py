"""Commands whose standard streams can't be written or read, as processes of their own."""

import os
import subprocess
import sys

import pytest
from sqlalchemy import Engine, func, select

from pbem import store
from pbem.config import Config
from pbem.store import Message
from tests.conftest import mail


def shell(house: Config, line: str, said: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run a line of bash in the house; `pbem` in it is the command."""
    # Buffered as it is for a user, whatever the tests' own surroundings say.
    surroundings = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    begin = f'pbem() {{ "{sys.executable}" -m pbem "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", begin + line],
        input=said,
        capture_output=True,
        cwd=house.folder,
        env=surroundings,
        check=False,
    )


def stored(engine: Engine) -> int:
    with store.reading(engine) as session:
        return session.scalar(select(func.count()).select_from(Message)) or 0


@pytest.mark.parametrize("option", ["", "--log-json "])
@pytest.mark.parametrize("end", ["2>/dev/full", "2>&-", ">/dev/full 2>&1", ">&- 2>&-"])
def test_fact_118_a_mail_that_is_stored_is_0_whatever_becomes_of_the_log(
    house: Config, engine: Engine, match: str, option: str, end: str
) -> None:
    done = shell(house, f"pbem {option}receive {end}", mail("BID x 3"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert stored(engine) == 1


def test_fact_118_a_reader_of_the_log_who_is_gone_changes_no_code(
    house: Config, engine: Engine, match: str
) -> None:
    line = "exec 3>&1; pbem receive 2>&1 | true; echo ${PIPESTATUS[0]} >&3"
    assert shell(house, line, mail("BID x 3")).stdout == b"0\n"
    assert stored(engine) == 1


@pytest.mark.parametrize("end", ["2>/dev/full", "2>&-", ">/dev/full 2>&1"])
@pytest.mark.parametrize("wrong", ["--config /nope receive", "receive --nonsense"])
def test_fact_118_a_mail_that_is_not_stored_is_75_whatever_becomes_of_the_log(
    house: Config, wrong: str, end: str
) -> None:
    assert shell(house, f"pbem {wrong} {end}", mail("BID x 3")).returncode == 75


@pytest.mark.parametrize(("command", "code"), [("receive", 75), ("verify -", 2), ("read", 2)])
def test_a_standard_input_that_is_closed_is_named_in_words(
    house: Config, engine: Engine, command: str, code: int
) -> None:
    done = shell(house, f"pbem {command} <&-")
    assert done.returncode == code
    assert b"standard input is closed" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        *("status", "status --json", "export hexem1", "archive --out site", "rules hexem"),
        *("letter 1 --raw", "--help", "--version", "gm hexem1 HOLD"),
    ],
)
@pytest.mark.parametrize(
    ("end", "why"), [(">/dev/full", b"No space left on device"), (">&-", b"Bad file descriptor")]
)
def test_an_answer_that_cant_be_written_is_one_line_and_75(
    house: Config, engine: Engine, match: str, command: str, end: str, why: bytes
) -> None:
    done = shell(house, f"pbem {command} {end}")
    expected = b"pbem: standard output can't be written: " + why + b"\n"
    assert (done.returncode, done.stdout, done.stderr) == (75, b"", expected)


@pytest.mark.parametrize("command", ["status", "status --json", "rules hexem", "--help"])
def test_a_reader_of_the_answer_who_is_gone_is_no_fault(
    house: Config, engine: Engine, match: str, command: str
) -> None:
    # The pipe's reader is gone before anything is written to it.
    done = shell(house, f"exec 3> >(true); wait $!; pbem {command} >&3")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


def test_a_command_without_an_answer_needs_no_standard_output(
    house: Config, engine: Engine
) -> None:
    assert shell(house, "pbem tick >/dev/full").returncode == 0
    assert shell(house, "pbem tick >&-").returncode == 0
