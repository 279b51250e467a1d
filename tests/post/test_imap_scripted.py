"""What a Dovecot would never say: batches that fail, replies in no known form, good-byes."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from pbem.post import Unreachable
from tests.post.imap_talk import (
    answer,
    bye,
    facts,
    facts_of,
    give,
    greet,
    mailbox,
    raws,
    search,
    text,
    texts_of,
    three,
)
from tests.post.servers import Talk, scripted


def test_messages_come_by_the_hundred_with_two_commands_for_many() -> None:
    def script(talk: Talk) -> None:
        greet(talk)
        search(talk, *range(1, 251))
        for some in (range(1, 101), range(101, 201), range(201, 251)):
            give(talk, *some)
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == [f"7.{uid}" for uid in range(1, 251)]


def test_a_batch_is_of_so_many_bytes_and_a_large_message_comes_alone() -> None:
    sizes = {1: 400_000, 2: 400_000, 3: 400_000, 4: 5, 5: 2_000_000, 6: 5}

    def script(talk: Talk) -> None:
        greet(talk)
        search(talk, *sizes)
        facts_of(talk, *sizes, lines=[facts(uid, size) for uid, size in sizes.items()])
        texts_of(talk, 1, 2)
        texts_of(talk, 3, 4)
        facts_of(talk, 5, lines=[facts(5, 2_000_000)])
        texts_of(talk, 5)
        texts_of(talk, 6)
        bye(talk)

    with scripted(script) as port, mailbox(port, size_limit=10_000_000) as source:
        assert [one.key for one in source.fetch()] == [f"7.{uid}" for uid in sizes]


def test_a_batch_of_messages_stored_before_is_asked_of_the_database_at_once() -> None:
    asked: list[int] = []

    def known(keys: object) -> set[str]:
        assert isinstance(keys, list)
        asked.append(len(keys))
        return set(keys)

    def script(talk: Talk) -> None:
        greet(talk)
        search(talk, *range(1, 1201))
        answer(talk, b"* SEARCH 1 1200")
        assert b"STORE 1,1200 +FLAGS.SILENT" in answer(talk)
        bye(talk)

    with scripted(script) as port, mailbox(port, processed="") as source:
        assert list(source.fetch(known)) == []
    assert asked == [500, 500, 200]


def refuse_facts(talk: Talk) -> None:
    facts_of(talk, 1, 2, 3, done=b"NO [SERVERBUG] cannot")
    give(talk, 1)
    facts_of(talk, 2, done=b"NO [SERVERBUG] cannot")
    give(talk, 3)


def refuse_text(talk: Talk) -> None:
    facts_of(talk, 1, 2, 3)
    texts_of(talk, 1, 2, 3, done=b"NO cannot read it")
    give(talk, 1)
    facts_of(talk, 2)
    texts_of(talk, 2, done=b"NO cannot read it")
    give(talk, 3)


def no_text(talk: Talk) -> None:
    facts_of(talk, 1, 2, 3)
    none = b"* 2 FETCH (UID 2 BODY[] NIL)"
    texts_of(talk, 1, 2, 3, lines=[text(1), none, text(3)])
    facts_of(talk, 2)
    texts_of(talk, 2, lines=[none])


def only_flags(talk: Talk) -> None:
    facts_of(talk, 1, 2, 3)
    flags = b"* 2 FETCH (UID 2 FLAGS (\\Seen))"
    texts_of(talk, 1, 2, 3, lines=[text(1), flags, text(3)])
    facts_of(talk, 2)
    texts_of(talk, 2, lines=[flags])


def garbage(talk: Talk) -> None:
    facts_of(talk, 1, 2, 3)
    broken = b"* 2 FETCH (UID 2 BODY[] ((("
    texts_of(talk, 1, 2, 3, lines=[text(1), broken])
    give(talk, 1)
    facts_of(talk, 2)
    texts_of(talk, 2, lines=[broken])
    give(talk, 3)


def odd_size(talk: Talk) -> None:
    lines = [facts(1), b"* 2 FETCH (UID 2 INTERNALDATE NIL)", facts(3)]
    facts_of(talk, 1, 2, 3, lines=lines)
    texts_of(talk, 1)
    facts_of(talk, 2, lines=[lines[1]])
    texts_of(talk, 2, done=b"NO cannot")
    texts_of(talk, 3)


@pytest.mark.parametrize(
    "second", [refuse_facts, refuse_text, no_text, only_flags, garbage, odd_size]
)
def test_fact_102_a_message_that_cannot_be_had_is_named_and_the_others_are_taken(
    second: Callable[[Talk], None], caplog: pytest.LogCaptureFixture
) -> None:
    with scripted(three(second)) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.1", "7.3"]
        assert list(source.missed) == ["7.2"]
    assert "UID 2: the server" in caplog.text


def test_fact_102_a_reply_that_cannot_be_read_shows_nothing_of_a_mail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = b"* 2 FETCH (UID 2 BODY[] (MUSTER to the death)"
    mislaid = b"MUSTER to the death"

    def script(talk: Talk) -> None:
        facts_of(talk, 1, 2, 3)
        texts_of(talk, 1, 2, 3, lines=[secret])
        give(talk, 1)
        facts_of(talk, 2)
        texts_of(talk, 2, lines=[secret])
        facts_of(talk, 3)
        talk.hear()
        talk.say(b"* 3 FETCH (UID 3 BODY[] {3}", mislaid)

    def again(talk: Talk) -> None:
        greet(talk)
        facts_of(talk, 3)
        talk.hear()
        talk.say(b"* 3 FETCH (UID 3 BODY[] {3}", mislaid)

    def first(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3)
        script(talk)

    with (
        caplog.at_level(logging.DEBUG, "pbem"),
        scripted(first, again) as port,
        mailbox(port) as source,
    ):
        assert [one.key for one in source.fetch()] == ["7.1"]
        assert list(source.missed) == ["7.2", "7.3"]
        assert "death" not in str(source.missed)
    assert "death" not in caplog.text


def test_fact_105_a_message_that_cannot_be_had_is_not_asked_for_again_at_once() -> None:
    def script(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3)
        no_text(talk)
        assert answer(talk) == b"NOOP"
        search(talk, 2, 4)
        give(talk, 4)
        bye(talk)

    with scripted(script) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.1", "7.3"]
        assert [one.key for one in source.fetch()] == ["7.4"]
        assert source.missed == {"7.2": "the server gave no text of it"}


@pytest.mark.parametrize("date", [b"yesterday", b"31-Feb-2026 12:00:00 +0000"])
def test_a_time_of_receipt_nobody_can_read_does_not_lose_the_message(date: bytes) -> None:
    def second(talk: Talk) -> None:
        facts_of(talk, 1, 2, 3, lines=[facts(1), facts(2, date=date), facts(3)])
        texts_of(talk, 1, 2, 3)

    before = datetime.now(UTC).replace(microsecond=0)
    with scripted(three(second)) as port, mailbox(port) as source:
        _, odd, _ = source.fetch()
    assert odd.raw == b"hello"
    assert before <= odd.received <= datetime.now(UTC)


def test_fact_099_unasked_replies_about_other_messages_change_nothing() -> None:
    def second(talk: Talk) -> None:
        seen = b"* 1 FETCH (UID 1 FLAGS (\\Seen))"
        some = [seen, b"* 4 EXISTS", *map(facts, (1, 2, 3)), b"* 1 RECENT"]
        facts_of(talk, 1, 2, 3, lines=some)
        other = b"* 9 FETCH (UID 9 FLAGS (\\Seen))"
        texts_of(talk, 1, 2, 3, lines=[*map(text, (1, 2, 3)), seen, other])

    with scripted(three(second)) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.1", "7.2", "7.3"]


def test_fact_099_what_is_gone_when_sizes_or_texts_are_asked_for_is_passed_over() -> None:
    def second(talk: Talk) -> None:
        facts_of(talk, 1, 2, 3, lines=[facts(2), facts(3)])
        texts_of(talk, 2, 3, lines=[text(3)])

    with scripted(three(second)) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.3"]
        assert source.missed == {}


def test_fact_103_header_text_that_looks_like_protocol_is_only_text() -> None:
    raw = b"X-Spam-Flag: NO\r\n\r\n* BYE\r\nA001 NO BODY[] {3}\r\n)"

    def second(talk: Talk) -> None:
        facts_of(talk, 1, 2, 3)
        texts_of(talk, 1, 2, 3, lines=[text(1), text(2, raw), text(3)])

    with scripted(three(second)) as port, mailbox(port) as source:
        assert raws(list(source.fetch())) == [b"hello", raw, b"hello"]


def test_a_size_the_server_overstates_cuts_nothing() -> None:
    def second(talk: Talk) -> None:
        facts_of(talk, 1, 2, 3, lines=[facts(1), facts(2, 999_999), facts(3)])
        texts_of(talk, 1)
        facts_of(talk, 2, lines=[facts(2, 999_999)])
        answer(talk, b"* 2 FETCH (UID 2 BODY[]<0> {5}\r\nhello)")
        texts_of(talk, 3)

    with scripted(three(second)) as port, mailbox(port) as source:
        _, odd, _ = source.fetch()
    assert (odd.raw, odd.size, odd.whole) == (b"hello", 5, True)


def cut_off(talk: Talk) -> None:
    """Break the connection in the midst of the second message's text."""
    greet(talk)
    search(talk, 1, 2)
    facts_of(talk, 1, 2)
    talk.hear()
    talk.say(text(1))
    talk.raw(b"* 2 FETCH (UID 2 BODY[] {500}\r\nFrom: ann@exam")


def test_a_connection_cut_within_a_message_is_made_again_and_nothing_is_half_taken() -> None:
    def again(talk: Talk) -> None:
        greet(talk)
        give(talk, 1)
        give(talk, 2)
        bye(talk)

    with scripted(cut_off, again) as port, mailbox(port) as source:
        assert raws(list(source.fetch())) == [b"hello", b"hello"]


def test_fact_105_a_message_that_breaks_every_connection_does_not_keep_back_the_others() -> None:
    def first(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3)
        talk.hear()

    def second(talk: Talk) -> None:
        greet(talk)
        give(talk, 1)
        talk.hear()

    def third(talk: Talk) -> None:
        greet(talk)
        talk.hear()

    def fourth(talk: Talk) -> None:
        greet(talk)
        give(talk, 3)
        bye(talk)

    with scripted(first, second, third, fourth) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.1", "7.3"]
        assert "broke twice" in source.missed["7.2"]


def test_a_server_that_breaks_on_many_messages_is_given_up_for_now() -> None:
    def first(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3, 4, 5)
        talk.hear()

    def later(talk: Talk) -> None:
        greet(talk)
        talk.hear()

    with (
        scripted(first, *[later] * 6) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="the connection broke twice") as lost,
    ):
        list(source.fetch())
    assert not lost.value.lasting


def test_fact_097_a_folder_made_anew_while_it_is_read_ends_the_fetch() -> None:
    def again(talk: Talk) -> None:
        greet(talk, validity=b"8")
        bye(talk)

    with (
        scripted(cut_off, again) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="the folder was made anew meanwhile"),
    ):
        list(source.fetch())


def test_fact_101_bye_is_a_lost_connection_and_the_next_fetch_connects_again() -> None:
    def leaving(talk: Talk) -> None:
        greet(talk)
        talk.hear()
        talk.say(b"* BYE going down")

    def back(talk: Talk) -> None:
        greet(talk)
        search(talk, 1)
        give(talk, 1)
        bye(talk)

    with scripted(leaving, back) as port, mailbox(port) as source:
        with pytest.raises(Unreachable) as lost:
            list(source.fetch())
        assert not lost.value.lasting
        assert raws(list(source.fetch())) == [b"hello"]


def test_a_kept_connection_that_has_died_is_made_again_at_once() -> None:
    def first(talk: Talk) -> None:
        greet(talk)
        search(talk)

    def second(talk: Talk) -> None:
        greet(talk)
        search(talk, 1)
        give(talk, 1)
        bye(talk)

    with scripted(first, second) as port, mailbox(port) as source:
        assert list(source.fetch()) == []
        assert raws(list(source.fetch())) == [b"hello"]


def test_a_folder_that_is_there_and_cannot_be_entered_is_unreachable() -> None:
    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        answer(talk)
        assert b"SELECT" in answer(talk, done=b"NO [NOPERM] not yours")
        answer(talk, b'* LIST () "/" INBOX')

    with (
        scripted(script) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match=r"^imap 127.0.0.1: ann, INBOX: .*\[NOPERM\] not yours"),
    ):
        list(source.fetch())


@pytest.mark.parametrize("greeting", [b"* BYE too many connections", b"hello?", b""])
def test_a_server_that_does_not_greet_is_unreachable(greeting: bytes) -> None:
    with (
        scripted(lambda talk: talk.say(greeting)) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match=r"^imap 127.0.0.1: ann, INBOX: ") as lost,
    ):
        list(source.fetch())
    assert not lost.value.lasting


def test_nobody_at_the_port_is_unreachable() -> None:
    with scripted() as port:
        pass
    with (
        mailbox(port) as source,
        pytest.raises(Unreachable, match="refused; is it up, and") as lost,
    ):
        list(source.fetch())
    assert not lost.value.lasting


def test_fact_106_a_folder_that_may_only_be_read_is_said_as_lasting() -> None:
    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        command = b""
        while not command.startswith(b"SELECT"):
            tag, command = talk.hear().split(b" ", 1)
            only = b"[READ-ONLY] " if command.startswith(b"SELECT") else b""
            talk.say(b"* CAPABILITY IMAP4rev1", tag + b" OK " + only + b"done")

    with (
        scripted(script) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="the folder may only be read; give") as lost,
    ):
        list(source.fetch())
    assert lost.value.lasting


def test_fact_107_where_folders_live_below_the_inbox_the_one_for_processed_mail_does_too() -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        greet(talk)
        assert b"STORE" in answer(talk)
        answer(talk, b'* LIST (\\Noselect) "." ""')
        for _ in range(2):
            assert b"LIST" in answer(talk)
        assert b"CREATE" in answer(talk, done=b"NO [CANNOT] not here")
        heard.append(answer(talk))
        assert b"SUBSCRIBE" in answer(talk, done=b"NO why")
        heard.append(answer(talk))
        bye(talk)

    with scripted(script) as port, mailbox(port, processed="Games/Done") as source:
        source.confirm(["7.4", "7.5"])
    assert heard == [b'CREATE "INBOX.Games.Done"', b'UID MOVE 4,5 "INBOX.Games.Done"']


def test_one_message_that_cannot_be_put_away_does_not_keep_back_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        greet(talk)
        answer(talk)
        for folder in (b'(\\Noselect) "/" ""', b'() "/" Processed'):
            answer(talk, b"* LIST " + folder)
        assert b"MOVE" in answer(talk, done=b"NO [TRYCREATE] said")
        assert b"STORE 1 " in answer(talk)
        for folder in (b'(\\Noselect) "/" ""', b'() "/" Processed'):
            answer(talk, b"* LIST " + folder)
        for done in (b"OK", b"OK", b"NO", b"OK", b"OK"):
            heard.append(answer(talk, done=done + b" said").split(b" ")[2])
        bye(talk)

    with caplog.at_level(logging.WARNING), scripted(script) as port, mailbox(port) as source:
        source.confirm(["7.1", "7.2", "7.3"])
    assert heard == [b"1", b"2", b"2", b"3", b"3"]
    assert "UID 2 can't be put away: move failed: said" in caplog.text
