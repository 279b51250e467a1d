"""IMAP folders as mailboxes: a real Dovecot, and a scripted server for what it would never say."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import trustme
from imapclient import IMAPClient  # type: ignore[import-untyped]

from pbem.post import Arrived, Cursor, Source, Unreachable, open_source
from pbem.post.settings import ImapSettings, Secret, Server
from tests.post.servers import Dovecot, Talk, scripted

MAIL = b"From: ann@example.org\r\nSubject: orders\r\n\r\nMUSTER A1\r\n"
NOON = datetime(2024, 12, 6, 12, 0, tzinfo=UTC)
SECRET = Secret("password", "secret")


def settings(port: int, user: str = "ann", **changed: Any) -> ImapSettings:
    server = Server("127.0.0.1", port, changed.pop("tls", "none"), user, SECRET)
    return ImapSettings(server, **changed)


@contextmanager
def mailbox(
    port: int, user: str = "ann", *, size_limit: int = 100_000, cursor: Cursor | None = None,
    **changed: Any,
) -> Iterator[Source]:  # fmt: skip
    source = open_source(settings(port, user, **changed), size_limit=size_limit, cursor=cursor)
    try:
        yield source
    finally:
        source.close()


@contextmanager
def client(dovecot: Dovecot, user: str) -> Iterator[Any]:
    """A person at the same mailbox with a client of his own."""
    with IMAPClient("127.0.0.1", dovecot.port, ssl=False) as person:
        person.login(user, "secret")
        person.select_folder("INBOX")
        yield person


def put(dovecot: Dovecot, user: str, *mails: bytes, received: datetime = NOON) -> None:
    with client(dovecot, user) as person:
        for mail in mails:
            person.append("INBOX", mail, msg_time=received)


def uids(dovecot: Dovecot, user: str, folder: str = "INBOX", search: str = "ALL") -> list[int]:
    with client(dovecot, user) as person:
        person.select_folder(folder, readonly=True)
        return list(person.search(search))


def raws(arrived: Sequence[Arrived]) -> list[bytes]:
    return [one.raw for one in arrived]


def test_mail_is_taken_by_uid_and_moved_to_processed_once_confirmed(dovecot: Dovecot) -> None:
    put(dovecot, "mover", MAIL, MAIL + b"2\r\n", MAIL + b"3\r\n")
    with mailbox(dovecot.port, "mover") as source:
        arrived = list(source.fetch())
        assert raws(arrived) == [MAIL, MAIL + b"2\r\n", MAIL + b"3\r\n"]
        assert {one.received for one in arrived} == {NOON}
        assert [one.size for one in arrived] == [len(raw) for raw in raws(arrived)]
        assert uids(dovecot, "mover", search="UNSEEN") == [1, 2, 3]
        source.confirm([arrived[0].key, arrived[2].key])
        assert uids(dovecot, "mover") == [2]
        assert raws(list(source.fetch())) == [MAIL + b"2\r\n"]
    assert len(uids(dovecot, "mover", "Processed", "SEEN")) == 2


def test_the_time_of_receipt_is_internaldate_in_utc(dovecot: Dovecot) -> None:
    there = timezone(timedelta(hours=-7))
    put(dovecot, "dates", MAIL, received=datetime(2024, 12, 6, 13, 0, 5, tzinfo=there))
    with mailbox(dovecot.port, "dates") as source:
        [one] = source.fetch()
    assert one.received == datetime(2024, 12, 6, 20, 0, 5, tzinfo=UTC)
    assert one.received.tzinfo is UTC


def test_fact_104_mail_somebody_has_read_is_taken_all_the_same_and_fetching_marks_nothing(
    dovecot: Dovecot,
) -> None:
    put(dovecot, "reader", MAIL, MAIL)
    with client(dovecot, "reader") as person:
        person.add_flags([1], ["\\Seen"])
    with mailbox(dovecot.port, "reader") as source:
        assert len(list(source.fetch())) == 2
    assert uids(dovecot, "reader", search="SEEN") == [1]


def test_fact_098_what_was_stored_and_not_confirmed_is_confirmed_and_not_yielded_again(
    dovecot: Dovecot,
) -> None:
    put(dovecot, "known", MAIL, MAIL + b"2\r\n")
    with mailbox(dovecot.port, "known") as source:
        stored = next(iter(source.fetch())).key
    with mailbox(dovecot.port, "known") as source:
        assert raws(list(source.fetch(known=lambda key: key == stored))) == [MAIL + b"2\r\n"]
    assert uids(dovecot, "known") == [2]


def test_without_move_a_message_is_copied_and_just_it_is_expunged(dovecot: Dovecot) -> None:
    put(dovecot, "uidplus", MAIL, MAIL, MAIL)
    with client(dovecot, "uidplus") as person:
        person.add_flags([3], ["\\Deleted"])
    with mailbox(dovecot.port, "uidplus") as source:
        keys = [one.key for one in source.fetch()]
        source.confirm(keys[:1])
    assert uids(dovecot, "uidplus") == [2, 3]
    assert len(uids(dovecot, "uidplus", "Processed")) == 1


def test_without_move_and_uidplus_messages_stay_as_seen_and_nothing_is_deleted(
    dovecot: Dovecot,
) -> None:
    put(dovecot, "plain", MAIL, MAIL)
    with client(dovecot, "plain") as person:
        person.add_flags([2], ["\\Deleted"])
    with mailbox(dovecot.port, "plain") as source:
        source.confirm([next(iter(source.fetch())).key])
    assert uids(dovecot, "plain") == [1, 2]
    assert uids(dovecot, "plain", search="SEEN") == [1]
    assert uids(dovecot, "plain", search="DELETED") == [2]


def test_with_no_folder_for_it_what_was_taken_in_stays_as_seen(dovecot: Dovecot) -> None:
    put(dovecot, "stays", MAIL)
    with mailbox(dovecot.port, "stays", processed="") as source:
        source.confirm([one.key for one in source.fetch()])
    assert uids(dovecot, "stays", search="SEEN") == [1]


@pytest.mark.parametrize("name", ["Spiele/Erledigt", "Geprüft & fertig"])
def test_fact_108_folders_have_any_name_and_depth(dovecot: Dovecot, name: str) -> None:
    user = f"folders{len(name)}"
    put(dovecot, user, MAIL)
    with mailbox(dovecot.port, user, processed=name) as source:
        source.confirm([one.key for one in source.fetch()])
    assert len(uids(dovecot, user, name.replace("/", "."))) == 1
    with mailbox(dovecot.port, user, folder=name.replace("/", "."), processed="Weg") as source:
        assert raws(list(source.fetch())) == [MAIL]


def test_a_message_beyond_the_size_limit_is_taken_by_its_beginning(dovecot: Dovecot) -> None:
    large = MAIL + b"x" * 300_000
    put(dovecot, "large", MAIL.ljust(1000, b"."), large)
    with mailbox(dovecot.port, "large", size_limit=1000) as source:
        fits, cut = source.fetch()
    assert (fits.whole, fits.size) == (True, 1000)
    assert (cut.whole, cut.size, cut.raw) == (False, len(large), large[:1000])
    with mailbox(dovecot.port, "large") as source:
        _, cut = source.fetch()
    assert (cut.whole, cut.raw) == (False, large[:65_536])


def test_fact_099_a_message_that_vanishes_between_search_and_fetch_is_no_error(
    dovecot: Dovecot,
) -> None:
    put(dovecot, "gone", MAIL, MAIL, MAIL + b"3\r\n")
    with mailbox(dovecot.port, "gone") as source:
        fetched = source.fetch()
        first = next(fetched)
        with client(dovecot, "gone") as person:
            person.add_flags([1, 2], ["\\Deleted"])
            person.expunge([1, 2])
        assert raws(list(fetched)) == [MAIL + b"3\r\n"]
        source.confirm([first.key])
        assert source.missed == {}
    assert uids(dovecot, "gone") == [3]


def test_fact_092_and_097_uids_given_anew_are_noticed_and_all_is_looked_at_again(
    dovecot: Dovecot, caplog: pytest.LogCaptureFixture
) -> None:
    put(dovecot, "anew", MAIL)
    with mailbox(dovecot.port, "anew") as source:
        assert source.cursor == Cursor()
        [before] = source.fetch()
        first = source.cursor
    assert (first.uidvalidity > 0, first.changes) == (True, 0)
    with mailbox(dovecot.port, "anew", cursor=first) as source:
        assert [one.key for one in source.fetch()] == [before.key]
        assert source.cursor == first
    assert not caplog.records
    with mailbox(dovecot.port, "anew", cursor=Cursor(first.uidvalidity - 1, 2)) as source:
        list(source.fetch())
        assert source.cursor == Cursor(first.uidvalidity, 3)
        source.confirm([f"{first.uidvalidity - 1}.1"])
    assert "has given all UIDs anew (for the 3. time)" in caplog.text
    assert uids(dovecot, "anew") == [1]


def test_a_folder_that_is_missing_is_made_and_that_is_said(
    dovecot: Dovecot, caplog: pytest.LogCaptureFixture
) -> None:
    with mailbox(dovecot.port, "maker", folder="Games") as source:
        assert list(source.fetch()) == []
    assert "maker, Games: the folder was missing and has been made" in caplog.text
    assert uids(dovecot, "maker", "Games") == []


def test_a_wrong_password_is_said_as_lasting(dovecot: Dovecot) -> None:
    server = Server("127.0.0.1", dovecot.port, "none", "ann", Secret("password", "wrong"))
    with pytest.raises(Unreachable, match=r"the log-in was refused: .*; mend user") as refused:
        list(open_source(ImapSettings(server)).fetch())
    assert refused.value.lasting
    assert "wrong" not in str(refused.value)


def test_a_password_may_hold_any_letters(dovecot: Dovecot) -> None:
    server = Server("127.0.0.1", dovecot.port, "none", "ann", Secret("password", "пароль"))
    with pytest.raises(Unreachable, match="AUTHENTICATIONFAILED"):
        list(open_source(ImapSettings(server)).fetch())


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_tls_is_used_where_the_certificate_is_trusted(
    dovecot: Dovecot, trusted: trustme.CA, tls: str
) -> None:
    assert trusted
    put(dovecot, f"with-{tls}", MAIL)
    port = dovecot.tls_port if tls == "tls" else dovecot.port
    with mailbox(port, f"with-{tls}", tls=tls) as source:
        assert raws(list(source.fetch())) == [MAIL]


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_an_untrusted_certificate_is_refused_before_any_password(
    dovecot: Dovecot, tls: str
) -> None:
    port = dovecot.tls_port if tls == "tls" else dovecot.port
    with (
        mailbox(port, "stranger", tls=tls) as source,
        pytest.raises(Unreachable, match="its certificate can't be trusted: ") as refused,
    ):
        list(source.fetch())
    assert refused.value.lasting
    assert not (dovecot.homes / "stranger").exists()


def test_a_certificate_of_another_name_is_refused(dovecot: Dovecot, trusted: trustme.CA) -> None:
    assert trusted
    server = Server("localhost", dovecot.tls_port, "tls", "ann", SECRET)
    with pytest.raises(Unreachable, match="certificate is not valid for 'localhost'"):
        list(open_source(ImapSettings(server)).fetch())


# What a Dovecot would never say.


def answer(talk: Talk, *lines: bytes, done: bytes = b"OK done") -> bytes:
    """Hear a command, say untagged lines, and end it; return the command."""
    tag, command = talk.hear().split(b" ", 1)
    while command == b"CAPABILITY":
        talk.say(b"* CAPABILITY IMAP4rev1 MOVE", tag + b" OK done")
        tag, command = talk.hear().split(b" ", 1)
    talk.say(*lines, tag + b" " + done)
    return command


def greet(talk: Talk, validity: bytes = b"7") -> None:
    """Let the program in, up to the folder."""
    talk.say(b"* OK ready")
    command = b""
    while not command.startswith(b"SELECT"):
        tag, command = talk.hear().split(b" ", 1)
        if command.startswith(b"CAPABILITY"):
            talk.say(b"* CAPABILITY IMAP4rev1 MOVE")
        elif command.startswith(b"SELECT"):
            talk.say(b"* 3 EXISTS", b"* OK [UIDVALIDITY " + validity + b"] UIDs valid")
        talk.say(tag + b" OK done")


def facts(uid: int, size: int = 5, date: bytes = b"06-Dec-2026 12:00:00 +0000") -> bytes:
    return b'* %d FETCH (UID %d RFC822.SIZE %d INTERNALDATE "%b")' % (uid, uid, size, date)


def text(uid: int, raw: bytes = b"hello") -> bytes:
    return b"* %d FETCH (UID %d BODY[] {%d}\r\n%b)" % (uid, uid, len(raw), raw)


def search(talk: Talk, *found: int) -> None:
    assert answer(talk, b"* SEARCH " + b" ".join(b"%d" % uid for uid in found)) == b"UID SEARCH ALL"


def give(talk: Talk, uid: int) -> None:
    assert b"FETCH %d (RFC822.SIZE INTERNALDATE)" % uid in answer(talk, facts(uid))
    assert b"FETCH %d (BODY.PEEK[])" % uid in answer(talk, text(uid))


def bye(talk: Talk) -> None:
    assert answer(talk, b"* BYE") == b"LOGOUT"


def one_of_three(second: Callable[[Talk], None]) -> Callable[[Talk], None]:
    """A server that has three messages and does something odd about the second."""

    def script(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3)
        give(talk, 1)
        second(talk)
        give(talk, 3)
        bye(talk)

    return script


def refuse_facts(talk: Talk) -> None:
    answer(talk, done=b"NO [SERVERBUG] cannot")


def refuse_text(talk: Talk) -> None:
    answer(talk, facts(2))
    answer(talk, done=b"NO cannot read it")


def no_text(talk: Talk) -> None:
    answer(talk, facts(2))
    answer(talk, b"* 2 FETCH (UID 2 BODY[] NIL)")


def only_flags(talk: Talk) -> None:
    answer(talk, facts(2))
    answer(talk, b"* 2 FETCH (UID 2 FLAGS (\\Seen))")


def garbage(talk: Talk) -> None:
    answer(talk, facts(2))
    answer(talk, b"* 2 FETCH (UID 2 BODY[] (((")


@pytest.mark.parametrize("second", [refuse_facts, refuse_text, no_text, only_flags, garbage])
def test_fact_102_a_message_that_cannot_be_had_is_named_and_the_others_are_taken(
    second: Callable[[Talk], None], caplog: pytest.LogCaptureFixture
) -> None:
    with scripted(one_of_three(second)) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.1", "7.3"]
        assert list(source.missed) == ["7.2"]
    assert "UID 2: the server" in caplog.text


@pytest.mark.parametrize("date", [b"yesterday", b"31-Feb-2026 12:00:00 +0000"])
def test_a_time_of_receipt_nobody_can_read_does_not_lose_the_message(date: bytes) -> None:
    def second(talk: Talk) -> None:
        answer(talk, facts(2, date=date))
        answer(talk, text(2))

    before = datetime.now(UTC).replace(microsecond=0)
    with scripted(one_of_three(second)) as port, mailbox(port) as source:
        _, odd, _ = source.fetch()
    assert odd.raw == b"hello"
    assert before <= odd.received <= datetime.now(UTC)


def test_fact_099_unasked_replies_about_other_messages_change_nothing() -> None:
    def second(talk: Talk) -> None:
        answer(talk, b"* 1 FETCH (UID 1 FLAGS (\\Seen))", b"* 4 EXISTS", facts(2), b"* 1 RECENT")
        answer(talk, text(2), b"* 3 FETCH (UID 3 FLAGS (\\Seen))")

    with scripted(one_of_three(second)) as port, mailbox(port) as source:
        assert [one.key for one in source.fetch()] == ["7.1", "7.2", "7.3"]


def test_fact_103_header_text_that_looks_like_protocol_is_only_text() -> None:
    raw = b"X-Spam-Flag: NO\r\n\r\n* BYE\r\nA001 NO BODY[] {3}\r\n)"

    def second(talk: Talk) -> None:
        answer(talk, facts(2, len(raw)))
        answer(talk, text(2, raw))

    with scripted(one_of_three(second)) as port, mailbox(port) as source:
        assert raws(list(source.fetch())) == [b"hello", raw, b"hello"]


def test_a_size_the_server_overstates_cuts_nothing() -> None:
    def second(talk: Talk) -> None:
        answer(talk, facts(2, 999_999))
        answer(talk, b"* 2 FETCH (UID 2 BODY[]<0> {5}\r\nhello)")

    with scripted(one_of_three(second)) as port, mailbox(port) as source:
        _, odd, _ = source.fetch()
    assert (odd.raw, odd.size, odd.whole) == (b"hello", 5, True)


def cut_off(talk: Talk) -> None:
    """Break the connection in the midst of the second message's text."""
    greet(talk)
    search(talk, 1, 2)
    give(talk, 1)
    answer(talk, facts(2))
    talk.hear()
    talk.raw(b"* 2 FETCH (UID 2 BODY[] {500}\r\nFrom: ann@exam")


def test_a_connection_cut_within_a_message_is_made_again_and_nothing_is_half_taken() -> None:
    def again(talk: Talk) -> None:
        greet(talk)
        give(talk, 2)
        bye(talk)

    with scripted(cut_off, again) as port, mailbox(port) as source:
        assert raws(list(source.fetch())) == [b"hello", b"hello"]


def test_fact_105_a_message_that_breaks_every_connection_does_not_keep_back_the_others() -> None:
    def second(talk: Talk) -> None:
        greet(talk)
        talk.hear()

    def third(talk: Talk) -> None:
        greet(talk)
        give(talk, 3)
        bye(talk)

    def first(talk: Talk) -> None:
        greet(talk)
        search(talk, 1, 2, 3)
        give(talk, 1)
        talk.hear()

    with scripted(first, second, third) as port, mailbox(port) as source:
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
        scripted(first, *[later] * 5) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="the connection broke twice") as lost,
    ):
        list(source.fetch())
    assert not lost.value.lasting


def test_a_folder_made_anew_while_it_is_read_ends_the_fetch() -> None:
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


def test_starttls_is_required_and_no_password_goes_out_without_it() -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        while line := talk.hear():
            heard.append(line)
            talk.say(b"* CAPABILITY IMAP4rev1", line.split(b" ")[0] + b" OK done")

    with (
        scripted(script) as port,
        mailbox(port, tls="starttls") as source,
        pytest.raises(Unreachable, match="STARTTLS") as lost,
    ):
        list(source.fetch())
    assert lost.value.lasting
    assert not any(b"secret" in line for line in heard)


@pytest.mark.parametrize(
    ("said", "lasting"),
    [(b"NO [AUTHENTICATIONFAILED] no", True), (b"NO [UNAVAILABLE] later", False)],
)
def test_fact_110_a_refused_log_in_says_whether_to_mend_it_and_that_oauth_may_be_wanted(
    said: bytes, lasting: bool
) -> None:
    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        while line := talk.hear():
            tag, command = line.split(b" ", 1)
            refused = command.startswith(b"LOGIN")
            talk.say(
                b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2", tag + b" " + (said if refused else b"OK x")
            )

    with (
        scripted(script) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="if it wants OAuth, give a token_command") as refused,
    ):
        list(source.fetch())
    assert refused.value.lasting is lasting


def test_a_token_command_logs_in_by_xoauth2(tmp_path: Path) -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        command = b""
        while not command.startswith(b"SELECT"):
            tag, command = talk.hear().split(b" ", 1)
            if command.startswith(b"AUTHENTICATE XOAUTH2"):
                talk.say(b"+ ")
                heard.append(talk.hear())
            talk.say(b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2", tag + b" OK done")
        search(talk)
        bye(talk)

    secret = Secret("token_command", "echo the-token", tmp_path)
    with scripted(script) as port:
        source = open_source(ImapSettings(Server("127.0.0.1", port, "none", "ann", secret)))
        assert list(source.fetch()) == []
        source.close()
    # user=ann^Aauth=Bearer the-token^A^A
    assert heard == [b"dXNlcj1hbm4BYXV0aD1CZWFyZXIgdGhlLXRva2VuAQE="]


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
        answer(talk, b'* LIST (\\Noselect) "/" ""')
        answer(talk, b'* LIST () "/" Processed')
        for done in (b"NO", b"OK", b"OK", b"OK", b"NO", b"OK", b"OK"):
            heard.append(answer(talk, done=done + b" said").split(b" ")[2])
        bye(talk)

    with (
        caplog.at_level(logging.WARNING),
        scripted(script) as port,
        mailbox(port) as source,
    ):
        source.confirm(["7.1", "7.2", "7.3"])
    assert heard == [b"1,2,3", b"1", b"1", b"2", b"2", b"3", b"3"]
    assert "UID 2 can't be put away: move failed: said" in caplog.text
