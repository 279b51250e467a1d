"""`pbem serve-lmtp`: each recipient answered, and what lies in the database by then (RFC 2033)."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from pbem import intake
from pbem.store import Message
from tests.conftest import NOW, mail
from tests.post.lmtp import GAME, Client, Serve, greeted, rows
from tests.post.servers import PATIENCE

PLUS = "game+hexem1.aaaaaaaaaaaaaaaa@example.org"


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
