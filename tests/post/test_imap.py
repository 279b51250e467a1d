"""IMAP folders as mailboxes, on a real Dovecot."""

import logging
import re
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import trustme
from imapclient import IMAPClient  # type: ignore[import-untyped]
from sqlalchemy import Engine, select

from pbem import rounds, store
from pbem.config import Config
from pbem.post import Cursor, Unreachable, open_source
from pbem.post.settings import ImapSettings, Secret, Server
from pbem.store import Message
from tests.conftest import NOW, mail
from tests.post.imap_talk import SECRET, mailbox, raws
from tests.post.servers import Dovecot

MAIL = b"From: ann@example.org\r\nSubject: orders\r\n\r\nMUSTER A1\r\n"
NOON = datetime(2024, 12, 6, 12, 0, tzinfo=UTC)


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
        assert raws(list(source.fetch(known=lambda _: {stored}))) == [MAIL + b"2\r\n"]
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

        def known(keys: Sequence[str]) -> Container[str]:
            """Come between the search and the fetch."""
            with client(dovecot, "gone") as person:
                person.add_flags([1, 2], ["\\Deleted"])
                person.expunge([1, 2])
            return ()

        [third] = source.fetch(known)
        assert third.raw == MAIL + b"3\r\n"
        source.confirm([third.key.replace(".3", ".1")])
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
    with caplog.at_level(logging.INFO), mailbox(dovecot.port, "maker", folder="Games") as source:
        assert list(source.fetch()) == []
    assert "maker, Games: the folder Games was missing and has been made" in caplog.text
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


def test_fact_106_a_folder_that_may_only_be_read_is_said_as_lasting_by_a_dovecot(
    dovecot: Dovecot,
) -> None:
    with (
        mailbox(dovecot.port, "guest") as source,
        pytest.raises(Unreachable, match="the folder may only be read; give") as refused,
    ):
        list(source.fetch())
    assert refused.value.lasting


def test_fact_107_a_folder_to_fetch_from_is_named_with_slashes_whatever_the_server_has(
    dovecot: Dovecot,
) -> None:
    name = "Spiele/Geprüft & gut/日本"
    with mailbox(dovecot.port, "nested", folder=name) as source:
        assert list(source.fetch()) == []
    with client(dovecot, "nested") as person:
        person.append(name.replace("/", "."), MAIL, msg_time=NOON)
    with mailbox(dovecot.port, "nested", folder=name, processed="Weg/Getan") as source:
        [one] = source.fetch()
        source.confirm([one.key])
        assert list(source.fetch()) == []
    assert len(uids(dovecot, "nested", "Weg.Getan")) == 1


def test_a_folder_for_processed_mail_that_is_taken_away_is_made_again(dovecot: Dovecot) -> None:
    put(dovecot, "taken", MAIL, MAIL + b"2\r\n")
    with mailbox(dovecot.port, "taken") as source:
        one, two = source.fetch()
        source.confirm([one.key])
        with client(dovecot, "taken") as person:
            person.delete_folder("Processed")
        source.confirm([two.key])
    assert len(uids(dovecot, "taken", "Processed")) == 1
    assert uids(dovecot, "taken") == []


def test_fact_097_uids_given_anew_take_nothing_in_twice(
    dovecot: Dovecot, engine: Engine, house: Config, match: str
) -> None:
    put(dovecot, "renumbered", mail("BID x 2").replace(b"\n", b"\r\n"), MAIL)
    table = {"kind": "imap", "host": "127.0.0.1", "port": dovecot.port, "tls": "none"}
    stays = {**table, "user": "renumbered", "password": "secret", "processed": ""}
    setup = replace(house, sources=(stays,))
    assert rounds.fetch(engine, setup, NOW).count == 2
    assert rounds.fetch(engine, setup, NOW).count == 0
    # As when a mailbox is put back from a backup.
    place = dovecot.homes / "renumbered" / "Maildir"
    for file in place.glob("dovecot.index*"):
        file.unlink()
    numbers = place / "dovecot-uidlist"
    numbers.write_text(re.sub(r"\bV\d+", "V1234567890", numbers.read_text(), count=1))
    source = rounds.opened(engine, setup, 1)
    assert rounds.fetch_from(engine, setup, 1, NOW, source).became == {"ignored": 2}
    # And as long as they lie there they are not read again.
    assert rounds.fetch_from(engine, setup, 1, NOW, source).became == {}
    source.close()
    with store.reading(engine) as session:
        assert len(session.scalars(select(Message.id)).all()) == 2
        marked = store.mark(session, "source 1")
    assert (marked["uidvalidity"], marked["changes"]) == (1234567890, 1)
