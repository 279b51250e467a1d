"""A server that is listened to (IDLE, RFC 2177): what wakes, what is a lost connection."""

import logging
import select
import threading
from collections.abc import Callable

import pytest

from pbem.post import Unreachable, imap_connection
from pbem.post.imap import ImapSource
from tests.post.imap_talk import answer, bye, give, greet, mailbox, raws, search
from tests.post.servers import PATIENCE, Dovecot, Talk, scripted
from tests.post.test_imap import MAIL, put, uids

ABLE = b"IMAP4rev1 MOVE IDLE"


def begin_idle(talk: Talk, *words: bytes) -> bytes:
    """Hear IDLE, answer it together with some words, and return its tag."""
    tag, command = talk.hear().split(b" ", 1)
    assert command == b"IDLE"
    talk.say(b"+ idling", *words)
    return tag


def end_idle(talk: Talk, tag: bytes) -> None:
    """Hear the end of IDLE, and the NOOP that has the server look again."""
    talk.hear(b"DONE")
    talk.say(tag + b" OK done")
    assert answer(talk) == b"NOOP"


def listen(source: ImapSource) -> int:
    """Have the server speak by itself; return where."""
    voice = source.listen()
    assert voice is not None
    return voice


def is_readable(voice: int) -> bool:
    """Wait until the server has said something."""
    return bool(select.select([voice], [], [], PATIENCE)[0])


def test_fact_100_a_word_from_the_server_wakes_and_after_it_a_noop_and_a_search_find_the_mail() -> (
    None
):
    def script(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        tag = begin_idle(talk)
        talk.say(b"* OK Still here", b"* 1 EXISTS")
        end_idle(talk, tag)
        search(talk, 1)
        give(talk, 1)
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        assert list(source.fetch()) == []
        assert is_readable(listen(source))
        assert raws(list(source.fetch())) == [b"hello"]


def test_listening_twice_is_one_idle_and_closing_ends_it_with_a_good_bye() -> None:
    def script(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        tag = begin_idle(talk)
        talk.hear(b"DONE")
        talk.say(tag + b" OK done")
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        assert list(source.fetch()) == []
        assert listen(source) == listen(source)
        assert not source.has_words


def test_words_that_were_read_together_with_the_answer_to_idle_are_known_of() -> None:
    def script(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        tag = begin_idle(talk, b"* 1 EXISTS")
        end_idle(talk, tag)
        search(talk)
        tag, _ = talk.hear(b"").split(b" ", 1)
        talk.say(b"* 2 EXISTS", b"+ idling")
        talk.hear(b"DONE")
        talk.say(tag + b" OK done")
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        for _ in range(2):
            assert list(source.fetch()) == []
            listen(source)
            assert source.has_words


def test_what_arrives_while_the_server_answers_another_command_is_known_of() -> None:
    def script(talk: Talk) -> None:
        greet(talk, able=ABLE)
        assert answer(talk, b"* SEARCH", b"* 1 EXISTS").startswith(b"UID SEARCH")
        tag = begin_idle(talk)
        end_idle(talk, tag)
        search(talk)
        tag = begin_idle(talk)
        talk.hear(b"DONE")
        talk.say(tag + b" OK done")
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        for is_told in (True, False):
            assert list(source.fetch()) == []
            listen(source)
            assert source.has_words is is_told


@pytest.mark.parametrize("able", [b"IMAP4rev1 MOVE", ABLE])
def test_a_server_without_idle_or_that_refuses_it_is_to_be_asked(able: bytes) -> None:
    def script(talk: Talk) -> None:
        greet(talk, able=able)
        search(talk)
        if able == ABLE:
            assert answer(talk, done=b"BAD what?") == b"IDLE"
        assert answer(talk) == b"NOOP"
        search(talk, 1)
        give(talk, 1)
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        assert source.listen() is None
        assert list(source.fetch()) == []
        assert source.listen() is None
        assert source.listen() is None
        assert not source.has_words
        assert raws(list(source.fetch())) == [b"hello"]


def leave(talk: Talk) -> None:
    """Say good-bye and hang up."""
    talk.say(b"* BYE shutting down")


def hang_up(talk: Talk) -> None:
    """Hang up without a word."""


@pytest.mark.parametrize("go", [leave, hang_up])
def test_fact_101_a_server_that_leaves_while_it_is_listened_to_is_connected_to_again_at_once(
    go: Callable[[Talk], None], caplog: pytest.LogCaptureFixture
) -> None:
    def first(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        begin_idle(talk)
        go(talk)

    def second(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk, 1)
        give(talk, 1)
        bye(talk)

    with (
        caplog.at_level(logging.INFO, "pbem"),
        scripted(first, second) as port,
        mailbox(port) as source,
    ):
        assert list(source.fetch()) == []
        assert is_readable(listen(source))
        assert raws(list(source.fetch())) == [b"hello"]
    assert "the connection was lost" in caplog.text


def test_fact_101_a_good_bye_before_the_end_of_idle_is_a_lost_connection() -> None:
    def first(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        tag = begin_idle(talk, b"* BYE for today")
        talk.hear(b"DONE")
        talk.say(tag + b" OK done")

    def second(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        bye(talk)

    with scripted(first, second) as port, mailbox(port) as source:
        assert list(source.fetch()) == []
        listen(source)
        assert source.has_words
        assert list(source.fetch()) == []


def test_fact_100_a_server_that_answers_no_more_is_given_up_and_connected_to_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(imap_connection, "_ROUSING", 0.1)
    connected_again = threading.Event()

    def silent(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        begin_idle(talk)
        talk.hear(b"DONE")
        # Silence and a dead peer look alike: only the next connection tells that it was given up.
        assert talk.hear() == b""
        connected_again.set()

    def second(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        bye(talk)

    with scripted(silent, second) as port, mailbox(port) as source:
        assert list(source.fetch()) == []
        listen(source)
        assert list(source.fetch()) == []
        assert connected_again.wait(PATIENCE)


def test_a_server_that_is_gone_when_it_is_to_be_listened_to_is_unreachable() -> None:
    def script(talk: Talk) -> None:
        greet(talk, able=ABLE)
        search(talk)
        talk.hear()

    with scripted(script) as port, mailbox(port) as source:
        assert list(source.fetch()) == []
        with pytest.raises(Unreachable, match="it can't be listened to") as lost:
            source.listen()
        assert not lost.value.lasting
        assert source.listen() is None


def test_a_dovecot_says_when_mail_arrives_and_one_connection_does_for_all(
    dovecot: Dovecot,
) -> None:
    with mailbox(dovecot.port, "idler") as source:
        for number in range(3):
            assert list(source.fetch()) == []
            voice = listen(source)
            put(dovecot, "idler", MAIL + b"%d" % number)
            assert is_readable(voice)
            [one] = source.fetch()
            source.confirm([one.key])
    assert len(uids(dovecot, "idler", "Processed")) == 3
