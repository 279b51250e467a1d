"""The doctor finds every fault that is planted in a set-up, and says what to do about each."""

import os
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, select

from pbem import doctor, rounds, store
from pbem.config import Config
from pbem.doctor import Check
from pbem.store import Letter, Match, Message, Turn
from tests.conftest import NOW, begin

SOON = NOW + timedelta(minutes=1)
MAILDIR_IN = '[[source]]\nkind = "maildir"\npath = "mail/in"'
MAILDIR_OUT = '[sender]\nkind = "maildir"\npath = "mail/out"'


def _faults(house: Config, now: datetime = SOON) -> list[Check]:
    found = list(doctor.examine(house.folder / "pbem.toml", now))
    for one in found:
        assert one.why
        assert bool(one.remedy) == (not one.ok), one
    return [one for one in found if not one.ok]


@pytest.fixture
def well(engine: Engine, house: Config) -> Config:
    """A set-up without a fault: a match, its letters sent, a tick a minute ago."""
    begin(engine)
    rounds.tick(engine, house, NOW)
    assert _faults(house) == []
    return house


def _write(house: Config, old: str, new: str) -> None:
    path = house.folder / "pbem.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def _one(house: Config, check: str, why: str, remedy: str, now: datetime = SOON) -> None:
    """Hold that there is one fault, and what is said of it."""
    faults = _faults(house, now)
    assert [one.check for one in faults] == [check], faults
    assert why in faults[0].why
    assert remedy in faults[0].remedy


def _change(house: Config, statement: str) -> None:
    with sqlite3.connect(house.folder / "pbem.sqlite") as connection:
        connection.execute(statement)
    connection.close()


def test_a_set_up_that_is_well_is_found_to_be(well: Config) -> None:
    checks = [one.check for one in doctor.examine(well.folder / "pbem.toml", SOON)]
    assert checks == [
        "config",
        "addresses",
        "source 1",
        "sender",
        "time zones",
        "database",
        "database",
        "clock",
        "cron",
        "letters",
        "matches",
    ]


# Each writes another config: what stood there, what stands there now; what is said of it.
CONFIGS = [
    ("per_minute = 1000", "per_minute = ", "config", "line 21", "mend the file"),
    ("per_minute = 1000", "per_minit = 10", "config", "unknown key mail.per_minit", "mend"),
    ("per_minute = 1000", "per_minute = 0", "config", "make it 1 or more", "mend the file"),
    ('"game@example.org"', '"game at example"', "config", "write it as name@host", "mend"),
    ('"gia@example.org"', '"game@example.org"', "addresses", "the program's own", "of its own"),
    ('"game@example.org"', '"game+x@example.org"', "addresses", "a + of its own", "plus_addr"),
    ('templates = ""', 'templates = "mine"', "templates", "mine is no folder", "make the folder"),
    (MAILDIR_IN, '[[source]]\nkind = "pop3"', "source 1", "kind is 'pop3'", "[[source]] number 1"),
    ('path = "mail/in"', 'path = "pbem.toml"', "source 1", "it can't be read", "mend"),
    ('path = "mail/in"', 'path = "mail/gone"', "source 1", "no folder new", "mend"),
    ('path = "mail/in"', 'path = "."', "source 1", "no folder new", "mend"),
    (MAILDIR_IN, f"{MAILDIR_IN}\n{MAILDIR_IN}", "source 2", "is named twice", "leave one"),
    (
        MAILDIR_IN,
        '[[source]]\nkind = "imap"\nhost = "imap.example.invalid"\nuser = "gia"\n'
        'password_env = "PBEM_NO_SUCH_VARIABLE"',
        "source 1",
        "the environment variable PBEM_NO_SUCH_VARIABLE holds no password",
        "mend what it says",
    ),
    (
        MAILDIR_IN,
        '[[source]]\nkind = "imap"\nhost = "imap.example.org"\nuser = "gia"\n'
        'password_file = "secret.txt"',
        "source 1",
        "secret.txt: No such file or directory",
        "mend what it says",
    ),
    (MAILDIR_OUT, '[sender]\nkind = "pigeon"', "sender", "kind is 'pigeon'", "[sender]"),
    (MAILDIR_OUT, "", "sender", "kind is missing", "[sender]"),
    ('path = "mail/out"', 'path = "mail/in"', "sender", "where mail is taken from", "another"),
    (
        MAILDIR_OUT,
        '[sender]\nkind = "sendmail"\ncommand = "/no/such/sendmail"',
        "sender",
        "no such command can be run",
        "mend",
    ),
    ("sqlite:///pbem.sqlite", "sqlite:///gone.sqlite", "database", "no database there", "restore"),
    ("sqlite:///pbem.sqlite", "nonsense", "database", "database:", "write sqlite:///FILE"),
    ("sqlite:///pbem.sqlite", "sqlite:///pbem.toml", "database", "not a database", "mend"),
]


@pytest.mark.parametrize(("old", "new", "check", "why", "remedy"), CONFIGS)
def test_a_fault_in_the_config_is_found(
    well: Config, old: str, new: str, check: str, why: str, remedy: str
) -> None:
    _write(well, old, new)
    _one(well, check, why, remedy)


def test_a_config_that_is_not_there_is_found(well: Config) -> None:
    (well.folder / "pbem.toml").unlink()
    _one(well, "config", "no such file", "`pbem init` writes one")


def test_a_broken_template_is_found_with_its_line(well: Config) -> None:
    _write(well, 'templates = ""', 'templates = "mine"')
    (well.folder / "mine" / "report").mkdir(parents=True)
    (well.folder / "mine" / "report" / "body.txt").write_text("fine\n{% if x %}\n", "utf-8")
    _one(well, "templates", "body.txt, line 2", "mend that line")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("welcome/body.txt", "dear\n{{ nobody }}", "line 2: UndefinedError: 'nobody' is undefined"),
        ("welcome/subject.txt", "{{ 1 // 0 }}", "line 1: ZeroDivisionError"),
        ("shared/foot.txt", "{{ match | shout }}", "line 1: No filter named 'shout'"),
        ("hexem/picture.svg", "<svg", "hexem/picture.svg can't be drawn"),
    ],
)
def test_a_template_that_no_letter_can_be_written_by_is_found(
    well: Config, name: str, text: str, why: str
) -> None:
    _write(well, 'templates = ""', 'templates = "mine"')
    path = well.folder / "mine" / name
    path.parent.mkdir(parents=True)
    path.write_text("{# As it should be. #}", "utf-8")
    (tried,) = (
        one.why
        for one in doctor.examine(well.folder / "pbem.toml", SOON)
        if one.check == "templates" and "newest" in one.why
    )
    assert tried == "the newest letters of each kind, 1, can be written by them"
    path.write_text(text, "utf-8")
    _one(well, "templates", why, "mend that line")


def test_a_password_that_others_can_read_is_found(well: Config) -> None:
    _write(
        well,
        MAILDIR_OUT,
        '[sender]\nkind = "smtp"\nhost = "127.0.0.1"\nport = 1\nuser = "gia"\n'
        'password_file = "secret.txt"',
    )
    secret = well.folder / "secret.txt"
    secret.write_text("hush\n")
    secret.chmod(0o644)
    found = {one.check: one for one in _faults(well)}
    assert f"others can read the password in {secret}" in found["secrets"].why
    assert found["secrets"].remedy == f"chmod 600 {secret}"
    secret.chmod(0o600)
    assert "secrets" not in {one.check for one in _faults(well)}


@pytest.fixture
def hangs_up() -> Iterator[int]:
    """A server on a port of this machine that hangs up on everybody."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    server.accept()[0].close()
            except OSError:
                return

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("kind", ["imap", "smtp"])
def test_a_server_that_hangs_up_or_is_not_there_is_found(
    well: Config, kind: str, hangs_up: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        closed = other.getsockname()[1]
    check = {"imap": "source 1", "smtp": "sender"}[kind]
    table = {"imap": MAILDIR_IN, "smtp": MAILDIR_OUT}[kind]
    head = {"imap": "[[source]]", "smtp": "[sender]"}[kind]
    (well.folder / "secret.txt").write_text("hush\n")
    (well.folder / "secret.txt").chmod(0o600)
    for port in (hangs_up, closed):
        new = (
            f'{head}\nkind = "{kind}"\nhost = "127.0.0.1"\nport = {port}\ntls = "none"\n'
            'user = "gia"\npassword_file = "secret.txt"'
        )
        _write(well, table, new)
        _one(well, check, f"{kind} 127.0.0.1", "host, port and tls")
        table = new


def test_a_newer_database_is_found_and_not_touched(well: Config) -> None:
    _change(well, "UPDATE alembic_version SET version_num = '9999'")
    _one(well, "database", "version 9999 is newer", "install a newer pbem")


def test_a_database_without_tables_is_found(well: Config) -> None:
    _write(well, "sqlite:///pbem.sqlite", "sqlite:///empty.sqlite")
    sqlite3.connect(well.folder / "empty.sqlite").close()
    _one(well, "database", "holds no pbem tables", "`pbem init`")


def test_a_clock_that_runs_behind_is_found(well: Config) -> None:
    _one(well, "clock", "1 day, 0:00:00 later", "NTP", NOW - timedelta(days=1))


def test_cron_that_never_ran_is_found(engine: Engine, house: Config) -> None:
    _one(house, "cron", "no tick was ever run", "* * * * * pbem tick")


def test_cron_that_has_stopped_is_found(well: Config) -> None:
    _one(well, "cron", f"the last tick was at {NOW.isoformat()}", "cron", NOW + timedelta(hours=1))


def test_a_mailbox_not_fetched_for_long_is_found(well: Config, engine: Engine) -> None:
    with store.writing(engine) as session:
        store.remember(session, "tick", {"time": SOON.isoformat()})
        long_ago = (NOW - timedelta(hours=2)).isoformat()
        store.remember(session, "source 1", {"fetched": long_ago})
    _one(well, "mailbox", f"source 1 at {long_ago}", "pbem fetch")


def _letter(change: Callable[[Letter], None]) -> Callable[[Engine], None]:
    def plant(engine: Engine) -> None:
        with store.writing(engine) as session:
            change(session.scalars(select(Letter)).first())  # type: ignore[arg-type]

    return plant


def _failed(letter: Letter) -> None:
    letter.status = "failed"


def _stuck(letter: Letter) -> None:
    letter.status, letter.created, letter.due = "queued", NOW - timedelta(hours=3), NOW


def _retried(letter: Letter) -> None:
    letter.status, letter.why = "queued", "a template is broken"
    letter.due = NOW + timedelta(hours=1)


def _shunted(engine: Engine) -> None:
    with store.writing(engine) as session:
        session.add(
            Message(
                identity="x",
                source="pipe",
                key="",
                message_id="",
                sender="ann@example.org",
                subject="",
                recipient="",
                received=NOW,
                stored=NOW,
                raw=b"",
                status="shunted",
                why="Traceback",
            )
        )


def _match(change: Callable[[Match], None]) -> Callable[[Engine], None]:
    def plant(engine: Engine) -> None:
        with store.writing(engine) as session:
            change(session.scalars(select(Match)).one())

    return plant


def _held(match: Match) -> None:
    match.status, match.tries, match.why = "held", 3, "ZeroDivisionError: in the rules"


def _overdue(match: Match) -> None:
    match.deadline, match.began = NOW - timedelta(days=9), NOW - timedelta(days=12)


def _mars(match: Match) -> None:
    match.zone = "Mars/Phobos"


def _no_game(match: Match) -> None:
    match.game = "chess"


def _never(match: Match) -> None:
    match.settings = {**match.settings, "pause": ["2026-01-01..2099-01-01"]}


def _damaged(engine: Engine) -> None:
    with store.writing(engine) as session:
        session.scalars(select(Turn)).one().state = {"phase": "muster"}


def _bounces(match: Match) -> None:
    match.seats[0].addresses[0].bounces = 3


@pytest.mark.parametrize(
    ("plant", "check", "why", "remedy"),
    [
        (_letter(_failed), "letters", "that could not be delivered: 1", "pbem letters --failed"),
        (_letter(_stuck), "letters", "that have waited for an hour or longer: 1", "pbem send"),
        (
            _letter(_retried),
            "letters",
            "1 could not be sent: a template is",
            "pbem letter ID --retry",
        ),
        (_shunted, "letters", "mails that made the program fail: 1", "pbem letters --shunted"),
        (_match(_bounces), "letters", "letters to Ann <ann@example.org> come back", "ADDRESS Ann"),
        (_match(_held), "match hexem1", "ZeroDivisionError: in the rules", "RELEASE"),
        (_match(_overdue), "match hexem1", "it is long overdue", "pbem resume hexem1 --yes"),
        (_match(_mars), "match hexem1", "no time zone is called 'Mars/Phobos'", "SET zone"),
        (_match(_no_game), "match hexem1", "no game is called 'chess'", "install the game"),
        (_match(_never), "match hexem1", "the pauses leave no date", "SET pause []"),
        (_damaged, "match hexem1", "its state can't be read", "backup"),
    ],
)
def test_what_is_stuck_in_the_database_is_found(
    well: Config,
    engine: Engine,
    plant: Callable[[Engine], None],
    check: str,
    why: str,
    remedy: str,
) -> None:
    plant(engine)
    _one(well, check, why, remedy)


def test_a_database_that_another_process_locks_is_found(
    well: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.database, "PATIENCE", 50)
    holder = sqlite3.connect(well.folder / "pbem.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        _one(well, "database", "database is locked", "end what locks it")
    finally:
        holder.close()


def test_a_damaged_database_is_found(well: Config) -> None:
    path = well.folder / "pbem.sqlite"
    _change(well, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    half = len(content) // 2 // 4096 * 4096
    content[half : half + 3 * 4096] = b"\xff" * (3 * 4096)
    path.write_bytes(content)
    assert "database" in {one.check for one in _faults(well)}


def test_the_doctor_changes_nothing(well: Config) -> None:
    def everything() -> str:
        with sqlite3.connect(well.folder / "pbem.sqlite") as connection:
            dumped = "\n".join(connection.iterdump())
        connection.close()
        return dumped

    before = everything()
    raw = b"From: ann@example.org\n\nBID x 1\n"
    (well.folder / "mail" / "in" / "new" / "1").write_bytes(raw)
    assert _faults(well) == []
    assert everything() == before
    assert (well.folder / "mail" / "in" / "new" / "1").exists()


@pytest.mark.parametrize("end", ["-fetch-1.lock", "-wal", "-shm"])
def test_a_file_beside_the_database_that_another_user_made_is_found(
    well: Config, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    path = well.folder / f"pbem.sqlite{end}"
    path.touch()
    # The tests may run as a user who may write everything.
    may = os.access
    monkeypatch.setattr(os, "access", lambda file, mode: file != path and may(file, mode))
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    _one(well, "database", f"{path} can't be written by this user", f"chown {path}")


@pytest.mark.parametrize("mode", [0o640, 0o604])
@pytest.mark.parametrize("end", ["", "-wal"])
def test_a_database_that_others_can_read_is_found(well: Config, end: str, mode: int) -> None:
    path = well.folder / f"pbem.sqlite{end}"
    path.chmod(mode)
    if not end:
        # What is beside it goes with it, and is not named as well.
        (well.folder / "pbem.sqlite-wal").chmod(mode)
    _one(well, "database", f"others can read {path}", f"chmod 600 {path}")
