"""`pbem serve-lmtp` at the wire: bytes, sizes and line ends, its beginning and its end."""

import socket
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from pbem import lmtp, store
from pbem.config import Config
from pbem.faults import Wrong
from pbem.store import Letter
from tests.conftest import mail
from tests.post.lmtp import GAME, Client, Serve, greeted, rows, tell_to_stop
from tests.post.servers import free_ports


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
        tell_to_stop()
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
