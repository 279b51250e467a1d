"""Whole rounds over a real Maildir: fetch, run, send; confirmed after the commit; crashes."""

import email
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from pbem import rounds, store
from pbem.config import Config
from pbem.store import Letter, Message, Sheet, Turn
from tests.conftest import NOW, idle, mail

DEADLINE = datetime(2026, 12, 6, 19, 0, tzinfo=UTC)


def lay(house: Config, raw: bytes, received: datetime, name: str = "1.host") -> Path:
    """Lay a mail into the mailbox as received then."""
    path = house.folder / "mail" / "in" / "new" / name
    path.write_bytes(raw)
    os.utime(path, (received.timestamp(), received.timestamp()))
    return path


def sent(house: Config) -> list[email.message.Message]:
    """Return the letters in the post office, by the time they left."""
    paths = (house.folder / "mail" / "out" / "new").iterdir()
    ordered = sorted(paths, key=lambda path: path.stat().st_mtime_ns)
    return [email.message_from_bytes(path.read_bytes()) for path in ordered]


def test_an_order_mail_in_the_mailbox_becomes_a_receipt_in_the_post_office(
    match: str, engine: Engine, house: Config
) -> None:
    rounds.tick(engine, house, NOW)
    welcomes = sent(house)
    assert [one["To"] for one in welcomes] == [
        '"Ann" <ann@example.org>',
        '"Bob" <bob@example.org>',
    ]
    path = lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
    done = rounds.tick(engine, house, NOW + timedelta(minutes=6))
    assert done.fetched.became == {"filed": 1}
    assert not path.exists()
    assert [one.name.endswith("S") for one in (path.parent.parent / "cur").iterdir()] == [True]
    receipt = sent(house)[-1]
    assert receipt["Auto-Submitted"] == "auto-replied"
    assert receipt["In-Reply-To"] == "<1@mail.example.org>"
    assert "accepted" in receipt["Subject"]


def test_a_reply_to_a_letter_is_known_by_its_address_alone(
    match: str, engine: Engine, house: Config
) -> None:
    rounds.tick(engine, house, NOW)
    reply_to = sent(house)[0]["Reply-To"]
    lay(house, mail("BID x 2", to=reply_to, subject="Re:"), NOW + timedelta(minutes=5))
    assert rounds.fetch(engine, house, NOW + timedelta(minutes=6)).became == {"filed": 1}


def test_mail_received_before_the_deadline_and_fetched_after_it_counts(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    lay(house, mail("BID x 3"), DEADLINE)
    lay(house, mail("BID x 1", number=2), DEADLINE + timedelta(seconds=1), "2.host")
    done = rounds.tick(engine, house, DEADLINE + timedelta(minutes=1))
    assert done.fetched.became == {"filed": 1, "late": 1}
    assert [ran.outcome for ran in done.ran] == ["ran"]
    with store.reading(engine) as session:
        orders = session.scalars(select(Turn.orders).where(Turn.number == 1)).one()
        assert orders["Ann"].strip() == "BID x 3"


def test_a_template_that_is_changed_between_two_rounds_is_read_anew(
    match: str, engine: Engine, house: Config
) -> None:
    house = replace(house, templates="mine")
    subject = house.folder / "mine" / "welcome" / "subject.txt"
    subject.parent.mkdir(parents=True)
    for number in (1, 2):
        subject.write_text(f"Welcome in words of my own, {number}")
        os.utime(subject, (number, number))
        rounds.tick(engine, house, NOW)
        assert {one["Subject"] for one in sent(house)[-2:]} == {subject.read_text()}
        with store.writing(engine) as session:
            session.execute(update(Letter).values(status="queued"))


def test_a_mailbox_fetched_by_a_clock_that_was_ahead_is_not_fetched_since_the_deadline(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    rounds.fetch(engine, house, DEADLINE + timedelta(days=30))
    box = house.folder / "mail" / "in"
    box.rename(box.with_name("elsewhere"))
    after = DEADLINE + timedelta(minutes=1)
    assert [one.outcome for one in rounds.tick(engine, house, after).ran] == ["put off"]
    box.with_name("elsewhere").rename(box)
    assert [one.outcome for one in rounds.tick(engine, house, after).ran] == ["ran"]


def test_every_letter_has_one_message_id_for_all_tries(
    match: str, engine: Engine, house: Config
) -> None:
    rounds.tick(engine, house, NOW)
    with store.writing(engine) as session:
        for letter in session.scalars(select(Letter)):
            letter.status = "queued"
    rounds.tick(engine, house, NOW + timedelta(minutes=2))
    ids = [one["Message-ID"] for one in sent(house)]
    assert len(ids) == 4
    assert len(set(ids)) == 2


def test_a_tick_with_nothing_to_do_says_nothing(match: str, engine: Engine, house: Config) -> None:
    rounds.tick(engine, house, NOW)
    assert list(rounds.tick(engine, house, NOW + timedelta(minutes=1)).lines()) == []


def test_an_overtaken_receipt_is_dropped_unsent(match: str, engine: Engine, house: Config) -> None:
    rounds.tick(engine, house, NOW)
    lay(house, mail("BID x 2", number=1), NOW, "1.host")
    lay(house, mail("BID x 3", number=2), NOW, "2.host")
    done = rounds.tick(engine, house, NOW + timedelta(minutes=2))
    assert (done.sent.sent, done.sent.dropped) == (1, 1)


def test_no_more_letters_leave_in_a_minute_than_allowed(
    match: str, engine: Engine, house: Config
) -> None:
    from dataclasses import replace

    slow = replace(house, mail=replace(house.mail, per_minute=1))
    assert rounds.tick(engine, slow, NOW).sent.sent == 1
    assert rounds.tick(engine, slow, NOW + timedelta(seconds=30)).sent.sent == 0
    assert rounds.tick(engine, slow, NOW + timedelta(seconds=61)).sent.sent == 1


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "a file"])
def test_a_mailbox_that_is_away_puts_turns_off_and_stops_nothing_else(
    match: str, engine: Engine, house: Config, left: str
) -> None:
    box = house.folder / "mail" / "in"
    shutil.rmtree(box)
    if left == "a file":
        box.write_text("no folder")
    elif left == "an empty folder":
        box.mkdir()
    done = rounds.tick(engine, house, DEADLINE + timedelta(minutes=1))
    assert len(done.fetched.away) == 1
    assert [ran.outcome for ran in done.ran] == ["put off"]
    # The welcomes go out, and the game master is told, once.
    assert [one["To"] for one in sent(house)[2:]] == ['"Gia" <gia@example.org>']
    again = rounds.tick(engine, house, DEADLINE + timedelta(minutes=2))
    assert ([ran.news for ran in again.ran], again.sent.sent) == ([False], 0)


# Between any two statements: the process ends where the n-th call of a watched function is made.
# A warm parent forks a child for each crash, so that none has to import everything anew.
_CRASHING = """
import os, sys
from datetime import datetime
from pathlib import Path
import css_inline, icalendar, jinja2, resvg_py, sqlalchemy.dialects.sqlite
from sqlalchemy import event
from sqlalchemy.engine import Engine
from pbem import config, game, message, reports, rounds, store

game.named("hexem")

def crash(path, after, now):
    left = [int(after)]

    def step(*_):
        left[0] -= 1
        if left[0] < 0:
            os._exit(9)

    event.listen(Engine, "before_cursor_execute", step)
    event.listen(Engine, "commit", step)
    for name in ("rename", "link", "fsync", "replace", "unlink"):
        original = getattr(os, name)

        def stepped(*args, original=original, **kwargs):
            step()
            result = original(*args, **kwargs)
            step()
            return result

        setattr(os, name, stepped)
    house = config.load(Path(path))
    rounds.tick(store.open(house.database_url), house, datetime.fromisoformat(now))
    os._exit(0)

for line in sys.stdin:
    children = []
    for job in line.strip().split("\t"):
        child = os.fork()
        if child == 0:
            try:
                crash(*job.split("|"))
            finally:
                os._exit(1)
        children.append(child)
    print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children), flush=True)
"""

Crash = Callable[..., list[int]]


@pytest.fixture(scope="module")
def crash() -> Iterator[Crash]:
    """Run ticks side by side that each end, without clean-up, after so many steps."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _CRASHING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def run(house: Config, now: datetime, *after: int) -> list[int]:
        assert parent.stdin is not None
        assert parent.stdout is not None
        config = house.folder / "pbem.toml"
        print(*(f"{config}|{one}|{now.isoformat()}" for one in after), sep="\t", file=parent.stdin)
        parent.stdin.flush()
        return [int(code) for code in parent.stdout.readline().split()]

    with parent:
        yield run
        assert parent.stdin is not None
        parent.stdin.close()


@pytest.fixture
def played(match: str, engine: Engine, house: Config) -> Iterator[datetime]:
    """A match with its welcomes sent, two order mails in the mailbox, and the turn due."""
    rounds.tick(engine, house, NOW)
    lay(house, mail("BID x 2", number=1), NOW + timedelta(hours=1), "1.host")
    bob = mail("BID y 1", number=2, sender="bob@example.org")
    lay(house, bob, NOW + timedelta(hours=1), "2.host")
    yield DEADLINE + timedelta(minutes=1)


# More steps than a tick takes; the test after this one holds that to be so.
STEPS = 240


@pytest.mark.parametrize("after", range(0, STEPS, 12))
def test_a_crash_anywhere_loses_and_doubles_nothing(
    played: datetime, engine: Engine, house: Config, crash: Crash, after: int
) -> None:
    assert crash(house, played, after)[0] in (0, 9)
    for minute in range(1, 3):
        rounds.tick(engine, house, played + timedelta(minutes=minute))
    with store.reading(engine) as session:
        assert sorted(session.scalars(select(Message.status))) == ["filed", "filed"]
        assert len(session.scalars(select(Sheet)).all()) == 2
        assert session.scalars(select(Turn.number).order_by(Turn.number)).all() == [0, 1]
        orders = session.scalars(select(Turn.orders).where(Turn.number == 1)).one()
        assert sorted(orders) == ["Ann", "Bob"]
        letters = session.scalars(select(Letter).order_by(Letter.id)).all()
        assert [one.kind for one in letters] == ["welcome"] * 2 + ["receipt"] * 2 + ["report"] * 2
        assert {one.status for one in letters} == {"sent"}
    # At most the one letter in hand went twice, and under the same Message-ID.
    ids = [one["Message-ID"] for one in sent(house)]
    assert len(set(ids)) == 6
    assert len(ids) <= 7


def test_the_crash_test_reaches_from_the_first_step_to_the_last(
    played: datetime, engine: Engine, house: Config, crash: Crash
) -> None:
    assert crash(house, played, 0) == [9]
    assert crash(house, played, STEPS) == [0]


def test_two_ticks_at_the_same_moment_run_each_turn_once(
    played: datetime, engine: Engine, house: Config, crash: Crash
) -> None:
    never = 100_000
    assert crash(house, played, never, never) == [0, 0]
    rounds.tick(engine, house, played + timedelta(minutes=1))
    with store.reading(engine) as session:
        assert session.scalars(select(Turn.number).order_by(Turn.number)).all() == [0, 1]
        assert len(session.scalars(select(Letter)).all()) == 6
    ids = [one["Message-ID"] for one in sent(house)]
    assert len(ids) == len(set(ids)) == 6
