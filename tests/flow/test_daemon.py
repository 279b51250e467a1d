"""The daemon: what wakes it, what it waits for, what it survives, and how it ends."""

import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, select, text

from pbem import daemon as daemons
from pbem import rounds, store
from pbem.config import Config
from pbem.daemon import LONGEST_BACK_OFF, back_off
from pbem.store import Letter
from tests.conftest import NOW, mail
from tests.daemons import daemon
from tests.flow.test_rounds import DEADLINE, lay, sent
from tests.post.servers import Talk, scripted

CLOCK = ("--clock", (NOW + timedelta(minutes=6)).isoformat())


def test_fact_109_after_failures_the_daemon_waits_longer_and_never_more_than_five_minutes() -> None:
    longest = LONGEST_BACK_OFF.total_seconds()
    assert longest == 300
    for failures in range(1, 40):
        full = min(2.0**failures, longest)
        waits = {back_off(failures) for _ in range(20)}
        assert all(full / 2 <= wait <= full for wait in waits)
        # Many daemons that lost one server don't come back at one moment.
        assert len(waits) > 1


def test_fact_110_a_refused_log_in_is_left_alone_for_minutes_at_once() -> None:
    assert all(150 <= back_off(1, lasting=True) <= 300 for _ in range(20))


def test_fact_109_a_server_that_talks_without_bringing_mail_is_heeded_ever_later() -> None:
    box = daemons._Box(1, None)
    deaf = []
    for _ in range(8):
        box.has_spoken = True
        box.note(rounds.Fetched(), 60, 1000)
        deaf.append(box.heeded_from - 1000)
    assert deaf == [1, 2, 4, 8, 16, 32, 60, 60]
    # A look between times changes nothing; one that finds it was quiet does, and so does mail.
    box.note(rounds.Fetched(), 60, 1030)
    assert box.idle_words == 8
    box.note(rounds.Fetched({"filed": 1}), 60, 1061)
    assert box.idle_words == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_daemon_that_waits_for_a_day_ends_at_once_when_it_is_asked_to(
    house: Config, number: int
) -> None:
    with daemon(house.folder) as running:
        assert running.stop(number) == 0
    assert running.said[-1]["event"] == "stopped"


def test_it_takes_mail_in_and_answers_and_wakes_for_the_deadline(
    match: str, engine: Engine, house: Config
) -> None:
    lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
    lay(house, mail("BID y 2", sender="bob@example.org", number=2), NOW, "2.host")
    clock = (DEADLINE - timedelta(seconds=2)).isoformat()
    with daemon(house.folder, before=("--clock", clock)) as running:
        assert running.hear(event="fetched")["counts"] == {"filed": 2}
        assert running.hear(event="sent")["count"] == 4
        assert running.hear(event="ran")["match"] == match
        running.hear(event="sent")
        assert running.stop() == 0
    assert "Turn 1" in sent(house)[-1]["Subject"]


def test_systemd_is_told_that_it_is_ready_alive_and_stopping(house: Config, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(60)
        told = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "100000"}
        with daemon(house.folder, environment=told) as running:
            assert [ear.recv(100) for _ in range(4)] == [b"READY=1", *[b"WATCHDOG=1"] * 3]
            assert running.stop() == 0
        while (word := ear.recv(100)) == b"WATCHDOG=1":
            pass
        assert word == b"STOPPING=1"


def test_nobody_who_listens_for_systemd_is_no_fault(house: Config) -> None:
    told = {"NOTIFY_SOCKET": "/nowhere/at/all", "WATCHDOG_USEC": "1000"}
    with daemon(house.folder, environment=told) as running:
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("said", "instead"),
    [('kind = "maildir"\npath = "mail/in"', 'kind = "pop3"'), ("per_minute", "per_minit")],
)
def test_a_wrong_config_ends_it_at_the_start_with_2(house: Config, said: str, instead: str) -> None:
    path = house.folder / "pbem.toml"
    path.write_text(path.read_text().replace(said, instead))
    command = [sys.executable, "-m", "pbem", "daemon"]
    done = subprocess.run(command, cwd=house.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


IMPATIENT = (
    "-c",
    "from pbem.store import database; database.PATIENCE = 50; from pbem.cli import main; main()",
)


@contextmanager
def away(engine: Engine) -> Iterator[None]:
    """Take the database away: a lock on SQLite; nobody may connect elsewhere, all are cut off."""
    if engine.dialect.name == "sqlite":
        with closing(sqlite3.connect(engine.url.database or "", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    name = engine.url.database
    above = create_engine(engine.url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    with above.connect() as connection:
        connection.execute(text(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false"))
        whose = f"FROM pg_stat_activity WHERE datname = '{name}'"
        connection.execute(text(f"SELECT pg_terminate_backend(pid) {whose}"))
        yield
        connection.execute(text(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true"))
    above.dispose()


def test_it_waits_for_a_database_that_is_away_and_goes_on(
    match: str, engine: Engine, house: Config
) -> None:
    engine.dispose()
    with daemon(house.folder, "--every", "1", program=IMPATIENT, before=CLOCK) as running:
        running.hear(event="sent", count=2)
        with away(engine):
            assert running.hear(event="away")["of"] == "database"
        lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
        assert running.hear(event="fetched")["counts"] == {"filed": 1}
        assert running.stop() == 0


FAULTY = (
    "-c",
    "from pbem import brakes\n"
    "def remind(*_): raise KeyError('what Ann wrote')\n"
    "brakes.remind = remind\n"
    "from pbem.cli import main; main()",
)


def test_a_fault_of_our_own_is_told_without_what_it_was_about_and_all_else_is_done(
    match: str, house: Config
) -> None:
    lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
    with daemon(house.folder, program=FAULTY, before=CLOCK) as running:
        running.hear(event="fetched")
        told = running.hear(event="away")
        assert told["of"] == "play"
        assert "the program failed: KeyError at" in told["message"]
        running.hear(event="sent", count=3)
        assert running.stop() == 0
    assert "Ann wrote" not in str(running.said)


def test_a_broken_template_stops_its_letters_and_nothing_else(match: str, house: Config) -> None:
    path = house.folder / "pbem.toml"
    path.write_text(path.read_text().replace('templates = ""', 'templates = "mine"'))
    (house.folder / "mine" / "receipt").mkdir(parents=True)
    (house.folder / "mine" / "receipt" / "body.txt").write_text("{% if %}")
    lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
    with daemon(house.folder, before=CLOCK) as running:
        running.hear(event="fetched")
        assert "receipt" in running.hear(event="not sent")["message"]
        running.hear(event="sent", count=2)
        assert running.stop() == 0


def smtp_until(heard: threading.Event, go_on: threading.Event) -> Callable[[Talk], None]:
    """A server that takes one letter, and answers its end only when it may."""

    def script(talk: Talk) -> None:
        talk.say(b"220 ready")
        while (line := talk.hear()) and not line.upper().startswith(b"QUIT"):
            if line.upper().startswith(b"DATA"):
                talk.say(b"354 go on")
                talk.hear_until(b".")
                heard.set()
                assert go_on.wait(30)
            talk.say(b"250 OK")

    return script


def test_the_letter_in_hand_is_sent_and_marked_before_the_end_and_no_other_is_begun(
    match: str, engine: Engine, house: Config
) -> None:
    heard, go_on = threading.Event(), threading.Event()
    path = house.folder / "pbem.toml"
    with scripted(smtp_until(heard, go_on)) as port:
        table = f'kind = "smtp"\nhost = "127.0.0.1"\nport = {port}\ntls = "none"'
        path.write_text(path.read_text().replace('kind = "maildir"\npath = "mail/out"', table))
        with daemon(house.folder, before=CLOCK) as running:
            assert heard.wait(30)
            running.process.send_signal(signal.SIGTERM)
            go_on.set()
            assert running.ended() == 0
    with store.reading(engine) as session:
        assert sorted(session.scalars(select(Letter.status))) == ["queued", "sent"]


def test_of_two_daemons_one_has_the_mailbox_until_it_ends(
    match: str, engine: Engine, house: Config
) -> None:
    with daemon(house.folder, before=CLOCK) as first:
        first.hear(event="sent", count=2)
        with daemon(house.folder, "--every", "1", before=CLOCK) as second:
            # The second has had its turn and left the mail to the first, which looks once a day.
            lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
            with store.writing(engine) as session:
                store.queue_apart(session, "notice", NOTICE, NOW, match=None)
            second.hear(event="sent", count=1)
            assert not any(line.get("event") == "fetched" for line in second.said)
            assert first.stop() == 0
            assert second.hear(event="fetched")["counts"] == {"filed": 1}
            assert second.stop() == 0


@pytest.mark.parametrize("ended", [signal.SIGTERM, signal.SIGKILL])
def test_a_mailbox_that_a_daemon_has_let_go_is_another_s_at_once(
    match: str, house: Config, ended: signal.Signals
) -> None:
    # Both look once a day by themselves.
    with daemon(house.folder, before=CLOCK) as first:
        first.hear(event="sent", count=2)
        with daemon(house.folder, before=CLOCK) as second:
            lay(house, mail("BID x 2"), NOW + timedelta(minutes=5))
            first.stop(ended)
            assert second.hear(event="fetched")["counts"] == {"filed": 1}
            assert second.stop() == 0


NOTICE = {"about": "a test", "sentences": ["It goes on."], "remedies": []}


def test_a_daemon_that_is_killed_leaves_no_lock_behind(match: str, house: Config) -> None:
    with daemon(house.folder, before=CLOCK) as running:
        running.hear(event="sent")
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    lay(house, mail("BID x 2"), NOW)
    with daemon(house.folder, before=CLOCK) as running:
        running.hear(event="fetched")
        assert running.stop() == 0
