"""Letters of the outbox over SMTP on a clock of the test's: tried again, counted, given up."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from email import message_from_bytes
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from pbem import config, outbox, rounds, store
from pbem.config import Config
from pbem.faults import Away
from pbem.store import Letter
from tests.conftest import NOW
from tests.post.servers import Post, Talk, scripted, smtp_server

MINUTE = timedelta(minutes=1)


@pytest.fixture
def post() -> Iterator[Post]:
    with smtp_server() as running:
        yield running


def by_smtp(house: Config, port: int, tls: str = "none") -> Config:
    """Have letters leave by a server."""
    path: Path = house.folder / "pbem.toml"
    rest = path.read_text("utf-8").partition("[sender]")[0]
    server = f'[sender]\nkind = "smtp"\nhost = "127.0.0.1"\nport = {port}\ntls = "{tls}"\n'
    path.write_text(rest + server, "utf-8")
    return config.load(path)


def letters(engine: Engine) -> list[Letter]:
    with store.reading(engine) as session:
        return list(session.scalars(select(Letter).order_by(Letter.id)))


def message_ids(post: Post) -> list[str]:
    return [message_from_bytes(one.raw)["Message-ID"] for one in post.letters]


def test_fact_115_a_greylisted_letter_is_tried_after_minutes_and_never_within_seconds(
    engine: Engine, house: Config, match: str, post: Post
) -> None:
    setup = by_smtp(house, post.port)
    grey = "451 4.7.1 greylisted, try again in 5 minutes"
    post.answers = {"RCPT": [grey] * 2}
    assert rounds.send(engine, setup, NOW).later == 2
    assert rounds.send(engine, setup, NOW + timedelta(seconds=59)).later == 0
    # After 1, 5, 15, 60 minutes, then hourly.
    post.answers = {"RCPT": [grey] * 12}
    at = NOW
    for wait in (1, 5, 15, 60, 60, 60):
        assert rounds.send(engine, setup, at + wait * MINUTE - timedelta(seconds=1)).later == 0
        at += wait * MINUTE
        assert rounds.send(engine, setup, at).later == 2
    assert post.letters == []
    assert rounds.send(engine, setup, at + 60 * MINUTE).sent == 2
    assert [one.tries for one in letters(engine)] == [8, 8]


def test_fact_115_after_five_days_a_letter_is_given_up_and_the_game_master_told(
    engine: Engine, house: Config, match: str, post: Post
) -> None:
    setup = by_smtp(house, post.port)
    post.answers = {"RCPT": ["450 4.2.0 busy"] * 2}
    later = NOW + outbox.GIVE_UP + timedelta(seconds=1)
    assert rounds.send(engine, setup, later).failed == 2
    first, second, *told = letters(engine)
    assert (first.status, second.status) == ("failed", "failed")
    assert [one.kind for one in told] == ["notice", "notice"]
    assert "out1 --retry" in str(told[0].facts)


def test_fact_114_one_refused_recipient_fails_alone(
    engine: Engine, house: Config, match: str, post: Post
) -> None:
    post.answers = {"RCPT": ["550 5.1.1 no such user"]}
    sent = rounds.send(engine, by_smtp(house, post.port), NOW)
    assert (sent.sent, sent.failed) == (1, 1)
    first, second = letters(engine)
    assert (first.status, second.status) == ("failed", "sent")
    assert [one.recipients for one in post.letters] == [("bob@example.org",)]


def test_fact_111_where_starttls_is_missing_nothing_leaves_and_no_letter_is_blamed(
    engine: Engine, house: Config, match: str, post: Post
) -> None:
    with pytest.raises(Away, match="STARTTLS"):
        rounds.send(engine, by_smtp(house, post.port, "starttls"), NOW)
    assert post.letters == []
    assert [(one.status, one.tries) for one in letters(engine)] == [("queued", 0)] * 2


def server(kept: list[str], answer: bytes, most: int = 99) -> Callable[[Talk], None]:
    """Hear letters to their final dots, and say something or (without an answer) hang up; after so
    many hang up in any case."""

    def script(talk: Talk) -> None:
        talk.say(b"220 mail.example.org")
        talk.hear(b"ehlo")
        talk.say(b"250 mail.example.org")
        for _ in range(most):
            while (command := talk.hear()) == b"RSET":
                talk.say(b"250 OK")
            if command.upper() == b"QUIT":
                talk.say(b"221 bye")
                return
            talk.say(b"250 OK")
            talk.hear(b"RCPT")
            talk.say(b"250 OK")
            talk.hear(b"DATA")
            talk.say(b"354 go on")
            raw = b"\n".join(talk.hear_until(b"."))
            kept.append(message_from_bytes(raw)["Message-ID"])
            talk.say(*([answer] if answer else []))

    return script


def test_fact_113_a_letter_that_may_have_arrived_keeps_its_message_id_and_is_sent_thrice_at_most(
    engine: Engine, house: Config, match: str
) -> None:
    with store.writing(engine) as session:
        session.delete(session.get_one(Letter, 2))
    kept: list[str] = []
    at = NOW
    drops = [server(kept, b"", 1)] * outbox.MOST_UNSURE
    # The game master is told at once.
    with scripted(*drops, server([], b"250 taken")) as port:
        setup = by_smtp(house, port)
        for wait in (1, 5):
            assert rounds.send(engine, setup, at).later == 1
            at += wait * MINUTE
        assert letters(engine)[0].why.endswith("(it may have arrived; try 2 of 3)")
        sent = rounds.send(engine, setup, at)
    assert (sent.failed, sent.sent) == (1, 1)
    assert len(kept) == 3
    assert len(set(kept)) == 1
    letter, told = letters(engine)
    assert letter.status == "failed"
    assert told.facts["about"] == "A letter to Ann could not be sent"
    assert "it may have arrived; try 3 of 3" in str(told.facts)


def test_fact_113_a_drop_after_the_250_costs_nothing(
    engine: Engine, house: Config, match: str
) -> None:
    kept: list[str] = []
    with scripted(server(kept, b"250 taken", 1), server(kept, b"250 taken")) as port:
        assert rounds.send(engine, by_smtp(house, port), NOW).sent == 2
    assert len(set(kept)) == len(kept) == 2


def test_one_message_id_for_all_tries(
    engine: Engine, house: Config, match: str, post: Post
) -> None:
    kept: list[str] = []
    refuses = server(kept, b"451 4.3.0 no room", 2)
    with scripted(refuses) as port:
        assert rounds.send(engine, by_smtp(house, port), NOW).later == 2
    assert rounds.send(engine, by_smtp(house, post.port), NOW + MINUTE).sent == 2
    assert message_ids(post) == kept
