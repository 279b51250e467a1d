"""How many ordinary replies are taken in a second, beside a parse and a commit for each.

Run it by itself: `python tests/bench/bench_intake.py`. Each reply has some 4 KB, as text and as
HTML, with the letter it answers quoted; it is read, checked, filed, its receipt queued, and fifty
are committed together. The floor is what nothing could do without: the standard library's parser,
and one row inserted and committed. It prints absolute figures and asserts the ratio.
"""

import email
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path

from sqlalchemy import Engine, func, select

from pbem import config, intake, making, matches, outbox, rounds, store
from pbem.config import Config
from pbem.reports import words
from pbem.store import Letter, Message, Seat, Sheet

MAILS = 1000
ROUNDS = 5
MATCHES = 20
SEATS = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def replies(engine: Engine, setup: Config, count: int) -> Iterator[bytes]:
    """Write replies of all seats in turn, as Gmail would."""
    with store.reading(engine) as session:
        seats = session.scalars(select(Seat).order_by(Seat.position, Seat.match_id)).all()
        welcome = session.scalars(select(Letter).limit(1)).one()
        facts = outbox.facts_of(session, setup, seats[0].match, None, seats[0], NOW)
        shown = store.turn_of(session, seats[0].match, 0)
        facts |= outbox.facts_of(session, setup, seats[0].match, shown, seats[0], NOW)
        quoted = words(welcome.kind, facts, None).text[:1450].splitlines()
        for number in range(count):
            seat = seats[number % len(seats)]
            yield reply(seat, number, quoted)


def reply(seat: Seat, number: int, quoted: Sequence[str]) -> bytes:
    """Write one reply: two orders, a greeting, and below them the letter it answers."""
    chance = random.Random(number)
    token = matches.token(seat.match, seat)
    own = [
        "Hello Gia,",
        "",
        f"BID {chance.choice('stuv')} {chance.randint(1, 3)}",
        f"BID {chance.choice('wxyz')} {chance.randint(1, 2)}",
        "",
        f"Regards, {seat.name}",
        "",
    ]
    said = f"On Tue, 1 Dec 2026 at 13:00, Gia ({seat.match.name}) <game@example.org> wrote:"
    plain = "\r\n".join([*own, said, *(f"> {line}" for line in quoted)])
    markup = "\r\n".join(
        [
            *(f"<div>{escape(line) or '<br>'}</div>" for line in own),
            f'<div class="gmail_quote"><div class="gmail_attr">{escape(said)}<br></div>',
            '<blockquote class="gmail_quote">',
            *(f"{escape(line)}<br>" for line in quoted),
            "</blockquote></div>",
        ]
    )
    return (
        f"Received: from mx.example.org by example.org; Tue, 01 Dec 2026 12:00:00 +0000\r\n"
        f"From: {seat.name} <{seat.addresses[0].address}>\r\n"
        f"To: game+{seat.match.name}.{token}@example.org\r\n"
        f"Subject: Re: [{seat.match.name}] Welcome\r\n"
        f"Date: Tue, 01 Dec 2026 13:00:{number % 60:02} +0100\r\n"
        f"Message-ID: <{number}.{chance.getrandbits(64):x}@mail.example.org>\r\n"
        f"In-Reply-To: <{seat.match.name}.{token}.{number + 1}@example.org>\r\n"
        "MIME-Version: 1.0\r\n"
        'Content-Type: multipart/alternative; boundary="0000"\r\n\r\n'
        f'--0000\r\nContent-Type: text/plain; charset="UTF-8"\r\n\r\n{plain}\r\n'
        f'--0000\r\nContent-Type: text/html; charset="UTF-8"\r\n\r\n{markup}\r\n--0000--\r\n'
    ).encode()


def begin(engine: Engine) -> None:
    """Begin matches of Hexem for eight."""
    with store.writing(engine) as session:
        for number in range(MATCHES):
            plan = making.Plan(
                game="hexem",
                match=f"m{number}",
                players=tuple(
                    making.Player(seat, (f"{seat.lower()}{number}@example.org",)) for seat in SEATS
                ),
                options={},
                schedules=("weekly Sun 20:00",),
            )
            making.begin(session, plan, NOW)


def floor(folder: Path, mails: Sequence[bytes]) -> float:
    """Return how many mails a second are parsed, inserted and committed one by one."""
    database = sqlite3.connect(folder / "floor.sqlite", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    table = "mails (id INTEGER PRIMARY KEY, sender TEXT, raw BLOB)"
    database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
    begun = time.perf_counter()
    for raw in mails:
        sender = email.message_from_bytes(raw)["From"]
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO mails (sender, raw) VALUES (?, ?)", (sender, raw))
        database.execute("COMMIT")
    rate = len(mails) / (time.perf_counter() - begun)
    database.close()
    return rate


def taken(engine: Engine, setup: Config, mails: Sequence[bytes]) -> float:
    """Return how many mails a second are taken in, fifty in one commit."""
    now = NOW + timedelta(hours=1)
    begun = time.perf_counter()
    for at in range(0, len(mails), rounds.BATCH):
        parcels = [intake.Parcel(raw, now, "pipe") for raw in mails[at : at + rounds.BATCH]]
        intake.take_in(engine, setup, parcels, now)
    return len(mails) / (time.perf_counter() - begun)


def main() -> None:
    """Measure both with the same mails, the imports and the first batch left out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pbem.toml").write_text(config.TEXT, "utf-8")
        setup = config.load(folder / "pbem.toml")
        store.create(setup.database_url)
        engine = store.open(setup.database_url)
        begin(engine)
        mails = list(replies(engine, setup, MAILS + rounds.BATCH))
        warm, mails = mails[: rounds.BATCH], mails[rounds.BATCH :]
        taken(engine, setup, warm)
        parts = [mails[at : at + MAILS // ROUNDS] for at in range(0, MAILS, MAILS // ROUNDS)]
        # In turn, so that what else the machine does meets both.
        rates = [(taken(engine, setup, part), floor(folder, part)) for part in parts]
        with store.reading(engine) as session:
            filed = session.scalar(select(func.count()).where(Message.status == "filed"))
            sheets = session.scalar(select(func.count()).select_from(Sheet))
            receipts = session.scalar(select(func.count()).where(Letter.kind == "receipt"))
        engine.dispose()
    size = sum(map(len, mails)) // len(mails)
    rate = statistics.median(ours for ours, _ in rates)
    least = statistics.median(bare for _, bare in rates)
    share = statistics.median(ours / bare for ours, bare in rates)
    print(f"{MAILS} replies of {size} bytes: {rate:.0f} taken in a second")
    print(f"parse and one commit each: {least:.0f} a second; share {share:.2f}")
    assert filed == sheets == receipts == MAILS + rounds.BATCH, (filed, sheets, receipts)
    assert share >= 0.3, share


if __name__ == "__main__":
    main()
