"""What is no order: loops between programs, vacations, bounces, and the limits on answers."""

import email
import shutil
from datetime import datetime
from pathlib import Path
from typing import Literal

import pytest
from sqlalchemy import Engine, select

from pbem import config, identity, intake, making, matches, outbox, store
from pbem.config import Config
from pbem.intake import answers, receipts
from pbem.post import Refused, Sent
from pbem.store import Address, Letter
from tests.conftest import BOARD, NOW, Post, begin, mail
from tests.flow.rig import DAY, HOUR, MINUTE, Office, letters, opened, seat_of, the_match, told_gm

AT = NOW + HOUR


class Installation:
    """One installation of this program, at an address; the other's address is its player's."""

    def __init__(self, folder: Path, empty: Path, address: str, player: str) -> None:
        folder.mkdir()
        text = config.TEXT.replace("game@example.org", address)
        (folder / "pbem.toml").write_text(text, "utf-8")
        shutil.copy(empty, folder)
        self.config = config.load(folder / "pbem.toml")
        self.engine = store.open(self.config.database_url)
        players = (making.Player("Ann", (player,)), making.Player("Bob", ("bob@example.org",)))
        options = {"trust": "address", "board": BOARD}
        with store.writing(self.engine) as session:
            making.begin(session, making.Plan("hexem", "m", players, options), NOW)

    def sent(self, now: datetime) -> list[bytes]:
        """Send what is queued, and return what goes to the player."""
        office = Office()
        outbox.flush(self.engine, self.config, office, now)
        return [raw for to, raw in office.sent if not to.startswith("bob")]

    def take(self, raw: bytes, now: datetime) -> None:
        """Take in a mail."""
        intake.take_in(self.engine, self.config, [intake.Parcel(raw, now, "pipe")], now)


# What careless programs on the way drop, or don't write.
MARKS = ("Auto-Submitted", "X-Auto-Response-Suppress", "List-Id", "Precedence")


def bare(raw: bytes) -> bytes:
    """A mail without the marks that say that a program wrote it."""
    made = email.message_from_bytes(raw)
    for mark in MARKS:
        del made[mark]
    return made.as_bytes()


@pytest.mark.parametrize("keeps_marks", [True, False])
def test_a_loop_between_two_installations_ends_within_two_letters(
    tmp_path: Path, empty_database: Path, keeps_marks: bool
) -> None:
    here = Installation(tmp_path / "a", empty_database, "game@a.example", "game@b.example")
    there = Installation(tmp_path / "b", empty_database, "game@b.example", "game@a.example")
    there.sent(NOW)
    under_way = here.sent(NOW)
    assert len(under_way) == 1
    answers = 0
    for minute in range(1, 20):
        now = NOW + minute * MINUTE
        receiver = there if minute % 2 else here
        for raw in under_way:
            receiver.take(raw if keeps_marks else bare(raw), now)
        under_way = receiver.sent(now)
        answers += len(under_way)
    assert under_way == []
    assert answers <= (0 if keeps_marks else 2)


def away(raw: bytes, number: int, marked: bool, quotes: bool) -> bytes:
    """What a vacation responder answers to a letter."""
    asked = email.message_from_bytes(raw)
    words = "I am away until Monday and read no mail."
    if quotes:
        plain = next(p for p in asked.walk() if p.get_content_type() == "text/plain")
        said = plain.get_payload(decode=True).decode()  # type: ignore[union-attr]
        words += f"\n\n----- Original Message -----\n{said}"
    fields = {"Auto_Submitted": "auto-replied"} if marked else {}
    return mail(
        words,
        to=str(asked["Reply-To"]),
        subject=f"Re: {number} {asked['Subject']}",
        number=number,
        In_Reply_To=str(asked["Message-ID"]),
        **fields,
    )


@pytest.mark.parametrize("quotes", [True, False])
@pytest.mark.parametrize("marked", [True, False])
def test_78_a_loop_with_a_vacation_responder_ends_within_two_letters(
    match: str, engine: Engine, house: Config, post: Post, marked: bool, quotes: bool
) -> None:
    office = Office()
    outbox.flush(engine, house, office, NOW)
    answered = 0
    for number in range(20):
        under_way = [raw for to, raw in office.sent if to == "ann@example.org"]
        office.sent.clear()
        now = AT + number * MINUTE
        for raw in under_way:
            post(away(raw, 1000 + number, marked, quotes), now)
        outbox.flush(engine, house, office, now)
        answered += len(office.sent)
    assert office.sent == []
    assert answered <= (0 if marked else 2)


def test_78_an_unmarked_vacation_does_not_confirm_a_thief_s_orders(
    engine: Engine, house: Config, post: Post
) -> None:
    begin(engine, trust="token")
    office = Office()
    outbox.flush(engine, house, office, NOW)
    to = str(email.message_from_bytes(office.sent[0][1])["Reply-To"])
    assert post(mail("BID x 9", sender="thief@example.com", to=to)).status == "held"
    office.sent.clear()
    outbox.flush(engine, house, office, AT)
    ((_, raw),) = office.sent
    post(away(raw, 50, False, True))
    with store.reading(engine) as session:
        assert session.scalars(select(store.Sheet)).all() == []


def test_a_player_who_tries_again_in_other_words_is_answered_twice_then_by_hand(
    match: str, engine: Engine, post: Post
) -> None:
    for number, words in enumerate(("two on x please", "well: x two", "or what?", "hm")):
        post(mail(words, number=number))
    assert len(letters(engine, "receipt")) == receipts.MOST_EMPTY
    # What looks like an order is always answered.
    post(mail("BIDD x 2", number=9))
    post(mail("BID x 2", number=10))
    assert len(letters(engine, "receipt")) == receipts.MOST_EMPTY + 2
    post(mail("and tomorrow?", number=11), AT + DAY + HOUR)
    assert len(letters(engine, "receipt")) == receipts.MOST_EMPTY + 3


def test_the_same_words_with_nothing_in_them_are_answered_once_a_day(
    match: str, engine: Engine, post: Post
) -> None:
    for number in range(3):
        post(mail("I am away until Monday.", number=number))
    assert len(letters(engine, "receipt")) == 1
    post(mail("I am away until Monday.", number=9), AT + DAY + HOUR)
    assert len(letters(engine, "receipt")) == 2


def test_after_twenty_receipts_in_a_day_one_notice_then_silence_until_the_next(
    match: str, engine: Engine, post: Post
) -> None:
    for number in range(30):
        post(mail("BID x 1", number=number))
    assert len(letters(engine, "receipt")) == receipts.MOST_RECEIPTS
    (notice,) = letters(engine, "notice", to="Ann")
    assert notice.facts["about"] == "No more receipts today"
    post(mail("BID x 2", number=99), AT + DAY + HOUR)
    assert len(letters(engine, "receipt")) == receipts.MOST_RECEIPTS + 1


def test_the_limit_counts_within_a_batch_too(match: str, engine: Engine, house: Config) -> None:
    parcels = [intake.Parcel(mail("BID x 1", number=n), AT, "pipe") for n in range(30)]
    intake.take_in(engine, house, parcels, AT)
    assert len(letters(engine, "receipt")) == receipts.MOST_RECEIPTS
    assert len(letters(engine, "notice", to="Ann")) == 1


def test_80_a_match_s_answers_of_an_hour_are_bounded(
    match: str, engine: Engine, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "MOST_OF_MATCH", 3)
    for number, sender in enumerate(("ann@example.org", "bob@example.org") * 3):
        post(mail("BID x 1", number=number, sender=sender))
    assert len(letters(engine, "receipt")) == 3
    post(mail("BID x 2", number=99), AT + 2 * HOUR)
    assert len(letters(engine, "receipt")) == 4


def test_82_a_machine_s_address_gets_no_answer_though_its_orders_count(
    engine: Engine, post: Post
) -> None:
    begin(engine)
    with opened(engine) as (session, row):
        sender = "no-reply@example.org"
        seat_of(row, "Ann").addresses.append(Address(address=sender, folded=sender))
        session.flush()
    assert post(mail("BID x 2", sender="no-reply@example.org")).status == "filed"
    assert letters(engine, "receipt") == []


def bounce(recipient: str, to: str, message_id: str, number: int, action: str = "failed") -> bytes:
    """A delivery report (RFC 3464) about a letter of ours."""
    status = "5.1.1" if action == "failed" else "4.4.1"
    return (
        f"Return-Path: <>\nFrom: MAILER-DAEMON@mx.example.net\nTo: {to}\n"
        f"Subject: Undelivered Mail {number}\nMessage-ID: <b{number}@mx.example.net>\n"
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\n\n'
        "--b\nContent-Type: text/plain\n\nIt did not arrive.\n"
        "--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.net\n\n"
        f"Final-Recipient: rfc822; {recipient}\nAction: {action}\nStatus: {status}\n\n"
        f"--b\nContent-Type: message/rfc822\n\nMessage-ID: <{message_id}>\nSubject: x\n\nx\n--b--\n"
    ).encode()


def _letter(engine: Engine, kind: str = "welcome", seat: str = "Ann") -> tuple[int, str, str]:
    """The number of a letter, the address a bounce of it comes to, and its Message-ID."""
    row = the_match(engine)
    token = matches.token(row, seat_of(row, seat))
    (letter, *_) = letters(engine, kind, to=seat)
    to = identity.address("game@example.org", "hexem1", token, True)
    return letter.id, to, identity.message_id("hexem1", token, letter.id, "example.org").strip("<>")


def _bounces(engine: Engine, seat: str = "Ann") -> list[int]:
    return [one.bounces for one in seat_of(the_match(engine), seat).addresses]


def test_a_bounced_letter_is_marked_and_counts_against_its_address(
    match: str, engine: Engine, post: Post
) -> None:
    number, to, message_id = _letter(engine)
    assert post(bounce("ann@example.org", to, message_id, 1)).status == "bounced"
    with store.reading(engine) as session:
        assert session.get_one(Letter, number).status == "bounced"
    assert _bounces(engine) == [1]
    # The same letter bounces once, whoever reports it again.
    post(bounce("ann@example.org", to, message_id, 2))
    assert _bounces(engine) == [1]


def test_84_the_token_says_whose_address_failed(match: str, engine: Engine, post: Post) -> None:
    _, to, message_id = _letter(engine, seat="Bob")
    post(bounce("ann@example.org", to, message_id, 1))
    assert _bounces(engine, "Ann") == [0]
    assert _bounces(engine, "Bob") == [0, 0]


def test_a_forged_bounce_counts_for_nothing(match: str, engine: Engine, post: Post) -> None:
    to = f"game+hexem1.{'a' * 16}@example.org"
    assert post(bounce("ann@example.org", to, f"hexem1.{'a' * 16}.1@example.org", 1)).status
    assert _bounces(engine) == [0]
    assert {one.status for one in letters(engine)} == {"queued"}


def test_87_a_letter_that_is_only_delayed_counts_for_nothing(
    match: str, engine: Engine, post: Post
) -> None:
    _, to, message_id = _letter(engine)
    assert post(bounce("ann@example.org", to, message_id, 1, "delayed")).status == "ignored"
    assert _bounces(engine) == [0]


def test_after_three_bounces_the_game_master_is_told_once(
    match: str, engine: Engine, post: Post
) -> None:
    _, to, _ = _letter(engine)
    for number in range(6):
        post(bounce("ann@example.org", to, "unknown@example.org", number))
        assert len(told_gm(engine)) == (number >= 2)
    assert told_gm(engine) == ["Letters to Ann come back"]


def test_mail_from_an_address_forgets_its_bounces(match: str, engine: Engine, post: Post) -> None:
    _, to, _ = _letter(engine)
    post(bounce("ann@example.org", to, "unknown@example.org", 1))
    assert _bounces(engine) == [1]
    post(mail("BID x 2"))
    assert _bounces(engine) == [0]


class Refusing(Office):
    """A way out that refuses every letter for good, for its recipient's or another's sake."""

    def __init__(self, part: Literal["sender", "recipient", "content"]) -> None:
        super().__init__()
        self.part = part

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Sent:  # type: ignore[override]
        """Refuse a letter."""
        super().send(envelope_from, recipient, raw)
        return Refused("550 not here", self.part)


def test_a_letter_refused_for_good_is_a_bounce(match: str, engine: Engine, house: Config) -> None:
    outbox.flush(engine, house, Refusing("recipient"), NOW)
    assert _bounces(engine) == [1]
    assert _bounces(engine, "Bob") == [1, 0]


def test_a_letter_refused_for_what_it_holds_is_no_fault_of_the_address(
    match: str, engine: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Refusing("content"), NOW)
    assert _bounces(engine) == [0]
    assert told_gm(engine) == [
        "A letter to Ann could not be sent",
        "A letter to Bob could not be sent",
    ]


def test_questions_one_a_minute_bring_twenty_answers_and_one_notice(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    office = Office()
    outbox.flush(engine, house, office, NOW)
    office.sent.clear()
    for number in range(26):
        now = AT + number * MINUTE
        post(mail(("STATUS", "HELP", "REPORT")[number % 3], number=number), now)
        outbox.flush(engine, house, office, now)
    subjects = [str(email.message_from_bytes(raw)["Subject"]) for _, raw in office.sent]
    assert sum("Receipt" in one for one in subjects) == receipts.MOST_RECEIPTS
    assert sum("No more receipts" in one for one in subjects) == 1


def test_a_report_is_sent_again_so_often_in_a_day_and_no_more(
    match: str, engine: Engine, post: Post
) -> None:
    for number in range(answers.MOST_REPORTS + 3):
        post(mail("REPORT", number=number))
    assert len(letters(engine, "welcome", to="Ann")) == 1 + answers.MOST_REPORTS
    assert "tomorrow" in letters(engine, "receipt")[-1].facts["lines"][0]["problem"]
    post(mail("REPORT", number=99), AT + DAY + HOUR)
    assert len(letters(engine, "welcome", to="Ann")) == 2 + answers.MOST_REPORTS


def test_the_status_says_whether_a_mail_without_an_order_was_answered(
    match: str, engine: Engine, post: Post
) -> None:
    words = ("hello Gia", "Thank you!", "hello Gia", "And you?")
    taken = [post(mail(one, number=number)) for number, one in enumerate(words)]
    assert [one.status for one in taken] == ["answered", "answered", "ignored", "ignored"]
    assert "not answered" in taken[2].why
    assert len(letters(engine, "receipt")) == receipts.MOST_EMPTY


def test_the_status_says_whether_a_question_was_answered(
    match: str, engine: Engine, post: Post
) -> None:
    taken = [post(mail("STATUS", number=n)) for n in range(receipts.MOST_RECEIPTS + 2)]
    assert [one.status for one in taken[-3:]] == ["answered", "ignored", "ignored"]
    assert taken[-1].why == receipts.SILENT
