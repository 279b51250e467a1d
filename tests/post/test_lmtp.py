"""`pbem serve-lmtp`: what it says at the wire, and what lies in the database by then (RFC 2033)."""

import os
import signal
import socket
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from pbem import intake, lmtp, store
from pbem.config import Config
from pbem.faults import Wrong
from pbem.store import Letter, Message
from tests.conftest import NOW, mail
from tests.post.servers import PATIENCE, Talk, free_ports

GAME = "game@example.org"
PLUS = "game+hexem1.aaaaaaaaaaaaaaaa@example.org"


class Client(Talk):
    """A client that says commands and tells what is answered."""

    def ask(self, *commands: str | bytes) -> list[bytes]:
        """Say some commands at once; return a reply (its last line) for each."""
        self.say(*(one.encode() if isinstance(one, str) else one for one in commands))
        return [self.reply() for _ in commands]

    def reply(self) -> bytes:
        """Return the last line of the next reply."""
        while (line := self.hear())[3:4] == b"-":
            pass
        return line

    def hand_in(self, raw: bytes, *recipients: str) -> list[bytes]:
        """Hand in a message; return what is said of each recipient."""
        envelope = [f"RCPT TO:<{one}>" for one in recipients or (GAME,)]
        said = self.ask("MAIL FROM:<ann@example.org>", *envelope, "DATA")
        assert [one[:3] for one in said] == [*[b"250"] * (len(envelope) + 1), b"354"]
        self.raw(raw.replace(b"\n", b"\r\n") + b".\r\n")
        return [self.reply() for _ in envelope]


Scenario = Callable[[Callable[[], Client]], Any]
Serve = Callable[..., Any]


@pytest.fixture
def serve(engine: Engine, house: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Run the server here while a scenario talks to it in another thread; return what that does.

    The scenario is begun once systemd is told that the server is ready, and ended by SIGTERM.
    """

    def run(
        scenario: Scenario,
        *,
        config: Config = house,
        place: lmtp.Place | None = None,
        also: Any = (),
    ) -> Any:
        where = place or lmtp.Place("", 0, tmp_path / "lmtp")
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(str(tmp_path / "notices"))
        notices.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notices"))
        came: dict[str, Any] = {}

        def talk() -> None:
            clients: list[Client] = []

            def client() -> Client:
                if where.socket:
                    line = socket.socket(socket.AF_UNIX)
                    line.settimeout(PATIENCE)
                    line.connect(str(where.socket))
                else:
                    line = socket.create_connection(where[:2], PATIENCE)
                clients.append(Client(line))
                assert clients[-1].reply().startswith(b"220 ")
                return clients[-1]

            try:
                assert notices.recv(100) == b"READY=1"
                came["value"] = scenario(client)
            except BaseException as error:
                came["error"] = error
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                for one in clients:
                    one.close()

        thread = threading.Thread(target=talk)
        with closing(notices):
            thread.start()
            lmtp.serve(engine, config, where, also, NOW)
            thread.join(PATIENCE)
            assert notices.recv(100) == b"STOPPING=1"
        (tmp_path / "notices").unlink()
        if "error" in came:
            raise came["error"]
        return came.get("value")

    return run


def greeted(connect: Callable[[], Client]) -> Client:
    client = connect()
    assert client.ask("LHLO mx.example.org") == [b"250 HELP"]
    return client


def rows(engine: Engine) -> list[Message]:
    with store.reading(engine) as session:
        found = list(session.scalars(select(Message).order_by(Message.id)))
        assert all(one.raw is not None for one in found)
        return found


def test_a_mail_is_stored_with_its_envelope_before_it_is_answered(
    serve: Serve, engine: Engine, match: str
) -> None:
    def scenario(connect: Callable[[], Client]) -> list[Message]:
        client = greeted(connect)
        assert client.hand_in(mail("BID x 3\n..\n.two")) == [b"250 2.0.0 safe"]
        return rows(engine)

    [row] = serve(scenario)
    assert (row.status, row.source, row.recipient, row.received) == ("filed", "lmtp", GAME, NOW)
    whole = mail("BID x 3\n.\ntwo").replace(b"\n", b"\r\n")
    assert row.raw == b"Return-Path: <ann@example.org>\r\n" + whole


def test_the_time_of_receipt_is_that_of_the_final_dot_on_the_clock(
    serve: Serve, engine: Engine, match: str
) -> None:
    serve(lambda connect: greeted(connect).hand_in(mail("BID x 3")))
    [row] = rows(engine)
    assert timedelta() <= row.received - NOW < timedelta(minutes=1)


def test_rfc_2033_there_is_no_helo_and_no_ehlo(serve: Serve) -> None:
    said = serve(lambda connect: connect().ask("HELO x", "EHLO x", "MAIL FROM:<a@b>", "LHLO x"))
    assert [one[:3] for one in said] == [b"500", b"500", b"503", b"250"]


def test_fact_119_each_recipient_is_answered_and_has_a_copy_of_his_own(
    serve: Serve, engine: Engine, match: str
) -> None:
    def scenario(connect: Callable[[], Client]) -> list[list[bytes]]:
        client = greeted(connect)
        raw = mail("BID x 3")
        # The same mail once more for the last: it is told that it is safe, and counts once.
        said = [client.hand_in(raw, GAME, PLUS), client.hand_in(raw, PLUS)]
        return [*said, client.ask("NOOP")]

    assert serve(scenario) == [[b"250 2.0.0 safe"] * 2, [b"250 2.0.0 safe"], [b"250 OK"]]
    assert [row.recipient for row in rows(engine)] == [GAME, PLUS]


@pytest.mark.parametrize(
    ("address", "code"),
    [(GAME, b"250 2.1.5"), ("GAME@EXAMPLE.org", b"250 2.1.5"), (PLUS, b"250 2.1.5"),
     ("spiel@example.org", b"250 2.1.5"), ("Spiel+x@example.org", b"250 2.1.5"),
     ("anybody@games.example.org", b"250 2.1.5"), ("gamer@example.org", b"550 5.1.1"),
     ("game@example.com", b"550 5.1.1"), ("ga\u200bme@example.org", b"550 5.1.1"),
     ("x@sub.games.example.org", b"550 5.1.1")],
)  # fmt: skip
def test_mail_is_taken_for_the_mailbox_and_what_was_named_besides(
    address: str, code: bytes, serve: Serve
) -> None:
    def scenario(connect: Callable[[], Client]) -> bytes:
        client = greeted(connect)
        said = client.ask("MAIL FROM:<> SMTPUTF8 BODY=8BITMIME", f"RCPT TO:<{address}>")
        return said[1][:9]

    assert serve(scenario, also=("spiel@example.org", "@games.example.org")) == code


def test_of_no_recipient_no_message_is_taken(serve: Serve, engine: Engine) -> None:
    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        return greeted(connect).ask("MAIL FROM:<a@b>", "RCPT TO:<no@example.org>", "DATA", "NOOP")

    assert [one[:3] for one in serve(scenario)] == [b"250", b"550", b"503", b"250"]
    assert rows(engine) == []


def test_a_client_is_told_to_send_more_than_a_hundred_recipients_apart(serve: Serve) -> None:
    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        recipients = [f"RCPT TO:<game+n{n}@example.org>" for n in range(101)]
        return greeted(connect).ask("MAIL FROM:<a@b>", *recipients)

    said = serve(scenario)
    assert said[1:101] == [b"250 2.1.5 OK"] * 100
    assert said[101].startswith(b"452 ")


def test_a_bounce_keeps_its_empty_return_path(serve: Serve, engine: Engine, match: str) -> None:
    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        client = greeted(connect)
        client.ask("MAIL FROM:<>", f"RCPT TO:<{GAME}>", "DATA")
        client.raw(mail("I am away").replace(b"\n", b"\r\n") + b".\r\n")
        return [client.reply()]

    assert serve(scenario) == [b"250 2.0.0 safe"]
    [row] = rows(engine)
    assert row.raw.startswith(b"Return-Path: <>\r\n")
    assert (row.status, row.why) == ("ignored", "it has an empty return path")


def test_a_sender_of_any_script_is_kept_and_no_line_end_gets_into_the_return_path(
    serve: Serve, engine: Engine, match: str
) -> None:
    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        client = greeted(connect)
        said = []
        for number, sender in enumerate(("<ján@bücher.example>", "<a\rb@example.org>", "<ann>")):
            client.ask("RSET")
            said += client.ask(f"MAIL FROM:{sender} SMTPUTF8", f"RCPT TO:<{GAME}>", "DATA")
            if said[-1].startswith(b"354"):
                client.raw(mail("BID x 3", number=number).replace(b"\n", b"\r\n") + b".\r\n")
                said[-1] = client.reply()
        return said

    assert serve(scenario)[2::3] == [b"250 2.0.0 safe"] * 3
    senders = ["ján@bücher.example", "a b@example.org", "ann"]
    first_lines = [row.raw.partition(b"\r\n")[0].decode() for row in rows(engine)]
    assert first_lines == [f"Return-Path: <{sender}>" for sender in senders]


# A database that is away.


def test_fact_119_where_nothing_can_be_stored_each_recipient_is_told_to_come_again(
    serve: Serve, engine: Engine, match: str
) -> None:
    def scenario(connect: Callable[[], Client]) -> tuple[list[bytes], list[bytes]]:
        client = greeted(connect)
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE messages RENAME TO away"))
        refused = client.hand_in(mail("BID x 3"), GAME, PLUS)
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE away RENAME TO messages"))
        return refused, client.hand_in(mail("BID x 3"), GAME)

    refused, taken = serve(scenario)
    # Why is nobody's business but the log's.
    assert refused == [b"451 4.3.0 not stored, try again later"] * 2
    assert taken == [b"250 2.0.0 safe"]


def test_whatever_our_code_does_the_mail_is_not_bounced_and_the_others_go_on(
    serve: Serve, engine: Engine, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_in, gate = intake.take_in, threading.Event()

    def broken(engine: Any, config: Any, parcels: Any, now: Any) -> Any:
        # The first waits until the others are there, so that they are one batch.
        assert gate.wait(PATIENCE)
        if any(b"poison" in parcel.raw for parcel in parcels):
            raise RuntimeError("secret")
        return take_in(engine, config, parcels, now)

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        clients = [greeted(connect) for _ in range(4)]
        for number, client in enumerate(clients):
            client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
            words = "poison" if number == 2 else "BID x 3"
            raw = mail(words, number=number).replace(b"\n", b"\r\n")
            client.raw(raw + b".\r\n")
        # The loop is not blocked by what is being stored.
        other = greeted(connect)
        assert other.ask("NOOP") == [b"250 OK"]
        gate.set()
        return [client.reply() for client in clients]

    monkeypatch.setattr(intake, "take_in", broken)
    said = serve(scenario)
    later = b"451 4.3.0 not stored, try again later"
    assert said == [b"250 2.0.0 safe", b"250 2.0.0 safe", later, b"250 2.0.0 safe"]
    assert len(rows(engine)) == 3


def test_messages_that_wait_together_are_committed_together(
    serve: Serve, engine: Engine, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_in, gate = intake.take_in, threading.Event()
    batches: list[int] = []

    def watched(engine: Any, config: Any, parcels: Any, now: Any) -> Any:
        assert gate.wait(PATIENCE)
        batches.append(len(parcels))
        return take_in(engine, config, parcels, now)

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        clients = [greeted(connect) for _ in range(6)]
        for number, client in enumerate(clients):
            client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
            raw = mail("BID x 3", number=number).replace(b"\n", b"\r\n")
            client.raw(raw + b".\r\n")
        # A reply to a later command of another client: by now the server has read all of them.
        assert greeted(connect).ask("NOOP") == [b"250 OK"]
        gate.set()
        return [client.reply() for client in clients]

    monkeypatch.setattr(intake, "take_in", watched)
    assert serve(scenario) == [b"250 2.0.0 safe"] * 6
    assert len(batches) < 6
    assert sum(batches) == 6


# Bytes at the wire.


def test_what_is_too_large_is_kept_by_its_head_counted_and_answered(
    serve: Serve, engine: Engine, house: Config, match: str
) -> None:
    limit = house.mail.size_limit
    begin = mail("BID x 3").replace(b"\n", b"\r\n")

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        client = greeted(connect)
        client.ask("MAIL FROM:<ann@example.org> SIZE=99999999999", f"RCPT TO:<{GAME}>", "DATA")
        client.raw(begin)
        for _ in range(limit // 100_000 + 1):
            client.raw(b"x" * 99_998 + b"\r\n")
        client.raw(b".\r\n")
        return [client.reply(), *client.ask("NOOP")]

    assert serve(scenario) == [b"250 2.0.0 safe", b"250 OK"]
    [row] = rows(engine)
    size = len(begin) + (limit // 100_000 + 1) * 100_000
    assert (row.status, row.why) == ("refused", f"it has {size} bytes, more than {limit}")
    assert len(row.raw) == 65_536 + len(b"Return-Path: <ann@example.org>\r\n")
    with store.reading(engine) as session:
        receipts = session.scalars(select(Letter).where(Letter.kind == "receipt")).all()
    assert len(receipts) == 1


def test_what_is_too_large_is_not_held_in_memory(
    serve: Serve, engine: Engine, house: Config, match: str
) -> None:
    small = replace(house, mail=replace(house.mail, size_limit=100_000))

    def scenario(connect: Callable[[], Client]) -> tuple[bytes, int]:
        client = greeted(connect)
        # What is loaded for a first mail is not what is measured.
        client.hand_in(mail("BID x 3"))
        client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
        block = b"x" * 99_998 + b"\r\n"
        tracemalloc.start()
        for _ in range(300):
            client.raw(block)
        client.raw(b".\r\n")
        said = client.reply()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return said, peak

    said, peak = serve(scenario, config=small)
    assert said == b"250 2.0.0 safe"
    # Of thirty megabytes.
    assert peak < 3_000_000


def test_large_messages_wait_for_each_other_and_all_are_stored(
    serve: Serve, engine: Engine, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmtp, "_LARGE", 1000)
    monkeypatch.setattr(lmtp, "_LARGE_AT_ONCE", 1)

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        clients = [greeted(connect) for _ in range(4)]
        raws = []
        for number, client in enumerate(clients):
            client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
            raw = mail(f"BID x 3\n{'x' * 50_000}", number=number).replace(b"\n", b"\r\n") + b".\r\n"
            client.raw(raw[:30_000])
            raws.append(raw)
        # The one that came first has the place, and lets it go when it ends or is lost.
        clients.pop(0).close()
        for client, raw in zip(clients, raws[1:], strict=True):
            client.raw(raw[30_000:])
        return [client.reply() for client in clients]

    assert serve(scenario) == [b"250 2.0.0 safe"] * 3


@pytest.mark.parametrize(
    "end", [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r.\r\n", b"\r\n.\r", b"\r\n.\n", b"\r\n\x00.\r\n"]
)
def test_only_a_dot_between_two_crlf_ends_a_message(
    end: bytes, serve: Serve, engine: Engine, match: str
) -> None:
    hidden = b"MAIL FROM:<x@example.org>\r\nRCPT TO:<game@example.org>\r\nDATA\r\nFrom: bob"
    begin = mail("BID x 3").replace(b"\n", b"\r\n").rstrip()

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        client = greeted(connect)
        client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
        client.raw(begin + end + hidden + b"\r\n.\r\n")
        return [client.reply(), *client.ask("NOOP")]

    assert serve(scenario) == [b"250 2.0.0 safe", b"250 OK"]
    [row] = rows(engine)
    assert row.raw.endswith(hidden + b"\r\n")


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_message_is_the_same_however_it_is_cut_on_the_way(
    step: int, serve: Serve, engine: Engine, match: str
) -> None:
    words = "BID x 3.\n..\n..x.\n" + "a" * 70_000 + ".\n..\n"
    wire = mail(words).replace(b"\n", b"\r\n") + b".\r\nNOOP\r\n"
    cut = len(wire) - 200 if step < 1000 else 0

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        client = greeted(connect)
        client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
        client.raw(wire[:cut])
        for at in range(cut, len(wire), step):
            client.raw(wire[at : at + step])
        return [client.reply(), client.reply()]

    assert serve(scenario) == [b"250 2.0.0 safe", b"250 OK"]
    [row] = rows(engine)
    whole = mail(words.replace("\n..", "\n.")).replace(b"\n", b"\r\n")
    assert row.raw == b"Return-Path: <a@b>\r\n" + whole


def test_an_empty_message_is_one(serve: Serve, engine: Engine) -> None:
    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        client = greeted(connect)
        return [*client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA"), *client.ask(".")]

    assert serve(scenario)[-1] == b"250 2.0.0 safe"
    assert [row.raw for row in rows(engine)] == [b"Return-Path: <a@b>\r\n"]


def test_a_connection_that_is_lost_within_a_message_leaves_nothing(
    serve: Serve, engine: Engine, match: str
) -> None:
    def scenario(connect: Callable[[], Client]) -> None:
        client = greeted(connect)
        client.ask("MAIL FROM:<a@b>", f"RCPT TO:<{GAME}>", "DATA")
        client.raw(mail("BID x 3").replace(b"\n", b"\r\n"))
        client.close()

    serve(scenario)
    assert rows(engine) == []


def test_a_command_that_is_too_long_is_refused_and_the_next_one_heard(serve: Serve) -> None:
    said = serve(lambda connect: greeted(connect).ask("MAIL FROM:<" + "x" * 200_000, "NOOP"))
    assert [one[:3] for one in said] == [b"500", b"250"]


# Beginning and end.


def test_on_sigterm_the_message_in_hand_is_stored_and_answered_and_idle_ones_are_told(
    serve: Serve, engine: Engine, match: str
) -> None:
    def scenario(connect: Callable[[], Client]) -> tuple[list[bytes], bytes, bytes]:
        idle, busy = greeted(connect), greeted(connect)
        busy.ask("MAIL FROM:<ann@example.org>", f"RCPT TO:<{GAME}>", "DATA")
        os.kill(os.getpid(), signal.SIGTERM)
        told = idle.reply()
        busy.raw(mail("BID x 3").replace(b"\n", b"\r\n") + b".\r\n")
        return [busy.reply(), busy.reply()], told, busy.hear()

    said, told, nothing = serve(scenario)
    closing_down = b"421 4.3.2 closing, try again later"
    assert said == [b"250 2.0.0 safe", closing_down]
    assert (told, nothing) == (closing_down, b"")
    assert [row.status for row in rows(engine)] == ["filed"]


def test_more_connections_than_are_served_are_told_to_come_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmtp, "_MOST_CONNECTIONS", 2)

    def scenario(connect: Callable[[], Client]) -> list[bytes]:
        first, second = greeted(connect), greeted(connect)
        with pytest.raises(AssertionError):
            connect()
        assert first.ask("QUIT")[0].startswith(b"221")
        return second.ask("NOOP")

    assert serve(scenario) == [b"250 OK"]


def test_it_listens_at_a_host_and_port_too(
    serve: Serve, engine: Engine, house: Config, match: str
) -> None:
    place = lmtp.Place("127.0.0.1", free_ports()[0])
    said = serve(lambda connect: greeted(connect).hand_in(mail("BID x 3")), place=place)
    assert said == [b"250 2.0.0 safe"]
    with socket.create_server(place[:2]), pytest.raises(Wrong, match="another server is there"):
        lmtp.serve(engine, house, place)


def test_a_socket_is_for_other_users_too_and_one_left_behind_is_taken_away(
    serve: Serve, tmp_path: Path
) -> None:
    path = tmp_path / "lmtp"
    with closing(socket.socket(socket.AF_UNIX)) as left:
        left.bind(str(path))
    mode = serve(lambda connect: connect() and path.stat().st_mode & 0o777)
    assert mode == 0o666
    assert not path.exists()


def test_a_socket_that_is_in_use_or_no_socket_is_left_alone(
    engine: Engine, house: Config, tmp_path: Path
) -> None:
    path = tmp_path / "lmtp"
    with closing(socket.socket(socket.AF_UNIX)) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(Wrong, match="another server is there; stop that"):
            lmtp.serve(engine, house, lmtp.Place("", 0, path))
    path.unlink()
    path.write_text("mine")
    with pytest.raises(Wrong, match="no socket; name another --socket"):
        lmtp.serve(engine, house, lmtp.Place("", 0, path))
    assert path.read_text() == "mine"
    with pytest.raises(Wrong, match="No such file or directory; name another place"):
        lmtp.serve(engine, house, lmtp.Place("", 0, tmp_path / "none" / "lmtp"))
