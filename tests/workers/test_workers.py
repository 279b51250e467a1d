"""Processes share the mails, the turns and the letters of one PostgreSQL; some are killed."""

import email
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from pbem import config, making, store
from pbem.config import Config
from pbem.store import Entry, Letter, Match, Message, Seat, Sheet, Turn
from tests.conftest import BOARD, NOW, mail
from tests.databases import Postgres
from tests.flow.rig import DEADLINE, HOUR, MINUTE

MATCHES = 16
SOON, LATE = NOW + HOUR, DEADLINE + MINUTE
ROOT = Path(__file__).parents[2]


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The URL of a fresh database on PostgreSQL."""
    with postgres.fresh() as url:
        yield url


@pytest.fixture
def house(house: Config, engine: Engine) -> Config:
    """A house with some matches in it, whose players all have addresses of their own."""
    for number in range(MATCHES):
        name = f"hexem{number}"
        players = tuple(
            making.Player(seat, (f"{seat.lower()}{number}@example.org",)) for seat in ("Ann", "Bob")
        )
        options = {"trust": "address", "board": BOARD, "seed": name}
        plan = making.Plan("hexem", name, players, options, ("weekly Sun 20:00",), "Europe/Berlin")
        with store.writing(engine) as session:
            making.begin(session, plan, NOW)
    return house


def work(house: Config, what: str, now: datetime, *killed: int) -> None:
    """Have four processes do a work at once, while others are killed in the middle of theirs."""
    path = str(house.folder / "pbem.toml")
    command = [sys.executable, "-m", "tests.workers.worker", path, what, now.isoformat()]
    with ExitStack() as stack:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        workers = [
            stack.enter_context(subprocess.Popen([*command, str(which)], cwd=ROOT, **pipes))
            for which in (*killed, 0, 0, 0, 0)
        ]
        stack.callback(lambda: [one.kill() for one in workers])
        doomed, others = workers[: len(killed)], workers[len(killed) :]
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in doomed:
            begin(worker)
        for worker in doomed:
            assert worker.stdout.readline() == "in the middle\n"
        for worker in others:
            begin(worker)
        for worker in doomed:
            worker.kill()
        assert [worker.wait() for worker in others] == [0] * len(others)


def begin(worker: subprocess.Popen[str]) -> None:
    """Tell a worker to begin."""
    assert worker.stdin is not None
    worker.stdin.write("\n")
    worker.stdin.flush()


def lay(house: Config, *raws: bytes) -> None:
    """Lay mails into the mailbox."""
    for raw in raws:
        number = sum(1 for _ in (house.folder / "mail" / "in").rglob("*.host"))
        path = house.folder / "mail" / "in" / "new" / f"{number}.host"
        path.write_bytes(raw)
        os.utime(path, (SOON.timestamp(), SOON.timestamp()))


def orders(number: int) -> Iterator[bytes]:
    """Write the orders of both players of a match."""
    for seat, place in (("Ann", "x"), ("Bob", "y")):
        yield mail(
            f"BID {place} {1 + number % 5}",
            sender=f"{seat} <{seat.lower()}{number}@example.org>",
            subject=f"[hexem{number}] orders",
            number=2 * number + (seat == "Bob"),
        )


def sent(house: Config) -> dict[str, list[int]]:
    """Return the numbers of the letters that have left, by reader, in the order they left."""
    found = defaultdict(list)
    paths = list((house.folder / "mail" / "out" / "new").iterdir())
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns):
        letter = email.message_from_bytes(path.read_bytes())
        found[letter["To"]].append(int(letter["Message-ID"].partition("@")[0].rpartition(".")[2]))
    return found


def count(engine: Engine, table: type[store.Base], **values: object) -> int:
    """Count the rows of a table that have some values."""
    query = select(func.count()).select_from(table).filter_by(**values)
    with store.reading(engine) as session:
        return session.scalar(query) or 0


def test_four_workers_of_a_kind_do_everything_once_though_some_are_killed(
    house: Config, engine: Engine
) -> None:
    mails = [raw for number in range(MATCHES) for raw in orders(number)]
    lay(house, *mails, *mails[:8])
    work(house, "fetch", SOON, 1)
    assert count(engine, Message) == count(engine, Message, status="filed") == len(mails)
    assert count(engine, Sheet) == count(engine, Letter, kind="receipt") == len(mails)

    work(house, "run", LATE, 2)
    assert count(engine, Match, status="running", turn=1, tries=0) == MATCHES
    assert count(engine, Turn, number=1, live=True) == count(engine, Turn, number=1) == MATCHES
    assert count(engine, Entry, what="run") == MATCHES
    assert count(engine, Letter, kind="report") == count(engine, Seat)

    work(house, "send", LATE, 3, 5)
    letters = count(engine, Letter)
    assert count(engine, Letter, status="sent") == letters == 3 * 2 * MATCHES
    by_reader = sent(house)
    left = Counter(number for numbers in by_reader.values() for number in numbers)
    assert len(left) == letters
    # Each of the two that died had just sent a letter, which was then sent again.
    assert sum(left.values()) <= letters + 2
    for numbers in by_reader.values():
        assert numbers == sorted(numbers)


def test_four_senders_together_keep_to_what_a_minute_allows(house: Config, engine: Engine) -> None:
    path = house.folder / "pbem.toml"
    path.write_text(
        path.read_text("utf-8").replace("per_minute = 1000", "per_minute = 10"), "utf-8"
    )
    slow = config.load(path)
    work(slow, "send", NOW)
    assert count(engine, Letter, status="sent") == 10
    # The clock of another machine, some seconds behind.
    work(slow, "send", NOW - timedelta(seconds=5))
    assert count(engine, Letter, status="sent") == 10
    work(slow, "send", NOW + MINUTE)
    assert count(engine, Letter, status="sent") == 20
