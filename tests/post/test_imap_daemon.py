"""The daemon at mailboxes of a real Dovecot: woken by mail, one connection each, soon stopped."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest
import trustme
from imapclient import IMAPClient  # type: ignore[import-untyped]
from sqlalchemy import Engine, select

from pbem import matches, store
from pbem.config import Config
from pbem.store import Seat
from tests.conftest import begin, mail
from tests.daemons import Daemon, daemon
from tests.post.proxies import proxy
from tests.post.servers import Dovecot, smtp_server
from tests.post.test_imap import put, uids
from tests.post.test_imap_cuts import BEGUN, LATER

CLOCK = ("--clock", LATER.isoformat())
MAILDIR = '[[source]]\nkind = "maildir"\npath = "mail/in"\n'


def order(number: int, **fields: str) -> bytes:
    """Return an order mail of Ann's."""
    return mail("BID x 2", number=number, **fields).replace(b"\n", b"\r\n")


def table(port: int, user: str, password: str = "secret", tls: str = "none") -> str:
    """Return the table of an IMAP mailbox."""
    return (
        f'[[source]]\nkind = "imap"\nhost = "127.0.0.1"\nport = {port}\ntls = "{tls}"\n'
        f'user = "{user}"\npassword = "{password}"\n'
    )


@pytest.fixture
def folder(house: Config, engine: Engine) -> Path:
    """A house with a match in it that was begun some years ago."""
    begin(engine, now=BEGUN)
    return house.folder


def write(folder: Path, *tables: str) -> None:
    """Write these mailboxes into the config instead of the Maildir."""
    path = folder / "pbem.toml"
    path.write_text(path.read_text("utf-8").replace(MAILDIR, "".join(tables)), "utf-8")


@pytest.mark.parametrize("tls", ["none", "tls", "starttls"])
def test_fact_100_mail_wakes_the_daemon_and_is_answered_at_once(
    folder: Path, dovecot: Dovecot, trusted: trustme.CA, tls: str
) -> None:
    port, user = dovecot.tls_port if tls == "tls" else dovecot.port, f"woken-{tls}"
    write(folder, table(port, user, tls=tls))
    with daemon(folder, before=CLOCK) as running:
        assert running.hear(event="sent")["count"] == 2
        for number in (1, 2):
            put(dovecot, user, order(number), received=LATER)
            assert running.hear(event="fetched")["counts"] == {"filed": 1}
            assert running.hear(event="sent")["count"] == 1
        assert running.stop() == 0
    assert len(uids(dovecot, user, "Processed")) == 2


def test_fact_109_a_mailbox_has_one_connection_however_many_daemons_there_are(
    folder: Path, dovecot: Dovecot
) -> None:
    with proxy(dovecot.port) as line:
        write(folder, table(line.port, "one-line"))
        with daemon(folder, before=CLOCK) as first, daemon(folder, before=CLOCK) as second:
            for number in (1, 2, 3):
                put(dovecot, "one-line", order(number), received=LATER)
            taken = 0
            while taken < 3:
                taken += sum(first.hear(event="fetched")["counts"].values())
            assert second.stop() == 0
            assert first.stop() == 0
        assert line.connections == 1
        assert not any(said.get("event") == "fetched" for said in second.said)


def test_several_mailboxes_are_listened_to_at_once(folder: Path, dovecot: Dovecot) -> None:
    write(folder, table(dovecot.port, "left"), MAILDIR, table(dovecot.port, "right"))
    with daemon(folder, before=CLOCK) as running:
        running.hear(event="sent")
        for number, (user, source) in enumerate([("right", 3), ("left", 1), ("right", 3)]):
            put(dovecot, user, order(number), received=LATER)
            assert running.hear(event="fetched")["source"] == source
        assert running.stop() == 0


def test_a_server_without_idle_is_asked_now_and_then(folder: Path, dovecot: Dovecot) -> None:
    write(folder, table(dovecot.port, "mute"))
    with daemon(folder, "--every", "1", before=CLOCK) as running:
        running.hear(event="sent")
        put(dovecot, "mute", order(1), received=LATER)
        running.hear(event="fetched")
        assert running.stop() == 0


def test_fact_101_a_server_that_hangs_up_is_connected_to_again_and_speaks_again(
    folder: Path, dovecot: Dovecot
) -> None:
    with proxy(dovecot.port) as line:
        write(folder, table(line.port, "restarted"))
        with daemon(folder, before=CLOCK) as running:
            running.hear(event="sent")
            put(dovecot, "restarted", order(1), received=LATER)
            running.hear(event="fetched")
            running.hear(event="sent")
            line.hang_up()
            put(dovecot, "restarted", order(2), received=LATER)
            running.hear(event="fetched")
            assert running.stop() == 0
        assert line.connections == 2


def test_fact_110_a_refused_log_in_is_not_tried_again_while_others_go_on(
    folder: Path, dovecot: Dovecot
) -> None:
    with proxy(dovecot.port) as line:
        write(folder, table(line.port, "wrong", "not-it"), table(dovecot.port, "right-one"))
        with daemon(folder, "--every", "1", before=CLOCK) as running:
            away = running.hear(event="away")
            assert (away["of"], away["level"]) == (1, "warning")
            assert away["seconds"] >= 150
            for number in range(4):
                put(dovecot, "right-one", order(number), received=LATER)
                assert running.hear(event="fetched")["source"] == 2
            assert running.stop() == 0
        assert line.connections == 1
    assert "not-it" not in json.dumps(running.said)


def quiet(running: Daemon) -> bool:
    """Tell whether it ended because it was asked to, and not because something took too long."""
    return running.stop() == 0 and not any(line.get("event") == "away" for line in running.said)


def test_sigterm_ends_a_daemon_at_once_that_waits_for_a_greeting(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        write(folder, table(listener.getsockname()[1], "ann"))
        with daemon(folder, before=CLOCK) as running, listener.accept()[0]:
            assert quiet(running)


def test_sigterm_ends_a_daemon_at_once_whose_password_command_hangs(folder: Path) -> None:
    hanging = table(1, "ann").replace('password = "secret"', 'password_command = "sh hang"')
    write(folder, hanging)
    (folder / "hang").write_text("echo >begun\nsleep 1000\n")
    os.mkfifo(folder / "begun")
    with daemon(folder, before=CLOCK) as running:
        assert (folder / "begun").read_text() == "\n"
        assert quiet(running)


def test_sigterm_ends_a_daemon_at_once_in_the_midst_of_a_message(
    folder: Path, dovecot: Dovecot
) -> None:
    put(dovecot, "midst", order(1) + b"x" * 500_000, received=LATER)
    with proxy(dovecot.port, piece=4096, deaf_after=200_000) as line:
        write(folder, table(line.port, "midst"))
        with daemon(folder, before=CLOCK) as running:
            assert line.is_deaf.wait(30)
            assert quiet(running)
    assert uids(dovecot, "midst") == [1]


def test_sigterm_ends_a_daemon_at_once_that_listens_to_a_dead_line(
    folder: Path, dovecot: Dovecot
) -> None:
    with proxy(dovecot.port) as line:
        write(folder, table(line.port, "dead"))
        with daemon(folder, before=CLOCK) as running:
            running.hear(event="sent")
            put(dovecot, "dead", order(1), received=LATER)
            running.hear(event="sent")
            line.deaf_after = 0
            assert quiet(running)


def test_a_second_signal_changes_nothing(folder: Path, dovecot: Dovecot) -> None:
    write(folder, table(dovecot.port, "twice"))
    with daemon(folder, before=CLOCK) as running:
        running.hear(event="sent")
        running.process.send_signal(signal.SIGTERM)
        running.process.send_signal(signal.SIGINT)
        assert running.stop() == 0


def test_no_log_line_holds_a_password_a_token_or_what_a_mail_says(
    folder: Path, house: Config, engine: Engine, dovecot: Dovecot
) -> None:
    with store.reading(engine) as session:
        seat = session.scalars(select(Seat).order_by(Seat.id)).first()
        assert seat is not None
        token = matches.token(seat.match, seat)
        bears = f"game+{seat.match.name}.{token}@example.org"
    said = f"550 5.7.1 <{bears}> has no place here; <{seat.match.name}.{token}.1@example.org>"
    post = 'kind = "smtp"\nhost = "127.0.0.1"\nport = {}\ntls = "none"'
    with smtp_server() as server:
        server.answers = {"MAIL": [said] * 3}
        write(
            folder,
            table(dovecot.port, "umlaut", "pässwörd"),
            table(dovecot.port, "wrong", "parole-one"),
            table(1, "nobody", "parole-two"),
            table(dovecot.port, "wrong", "parole-three").replace(
                'password = "parole-three"', "token_command = \"sh -c 'echo parole-three'\""
            ),
        )
        path = folder / "pbem.toml"
        text = path.read_text("utf-8")
        path.write_text(
            text.replace('kind = "maildir"\npath = "mail/out"', post.format(server.port)), "utf-8"
        )
        with IMAPClient("127.0.0.1", dovecot.port, ssl=False) as person:
            person.plain_login("umlaut", "pässwörd")
            for number, body in enumerate(["BID x 2\nmy darkest plan", "BYD x 2", "BID darkest 7"]):
                raw = mail(body, number=number, to=bears).replace(b"\n", b"\r\n")
                person.append("INBOX", raw, msg_time=LATER)
            person.append("INBOX", b"no mail at all: darkest", msg_time=LATER)
        with daemon(folder, before=CLOCK) as running:
            for source in (2, 3, 4):
                running.hear(event="away", of=source)
            running.hear(event="not sent")
            assert running.stop() == 0
    log = json.dumps(running.said, ensure_ascii=False)
    assert f"game+{seat.match.name}.…@example.org" in log
    assert f"<{seat.match.name}.….1@example.org>" in log
    for hidden in ("pässwörd", "parole", token, "darkest"):
        assert hidden not in log
    for line in running.said:
        assert {"time", "level", "logger", "message"} <= set(line)
