"""One order mail from door to receipt: whose it is, what is filed, what is answered."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, select

from pbem import identity, intake, store, turns
from pbem.config import Config
from pbem.store import Letter, Message, Seat, Sheet
from tests.conftest import NOW, Post, begin, idle, mail


def _letters(engine: Engine, kind: str) -> list[Letter]:
    with store.reading(engine) as session:
        query = select(Letter).where(Letter.kind == kind).order_by(Letter.id)
        return list(session.scalars(query))


def _sheets(engine: Engine) -> list[str]:
    """The sheets that count, or may come to; a late one is kept and doesn't."""
    with store.reading(engine) as session:
        query = select(Sheet).where(Sheet.late.is_(False)).order_by(Sheet.id)
        return [sheet.text.strip() for sheet in session.scalars(query)]


def _token(engine: Engine, seat: str = "Ann", match: str = "hexem1") -> str:
    with store.reading(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        found = session.scalars(select(Seat).where(Seat.match_id == row.id, Seat.name == seat))
        return identity.token(match, seat, found.one().key)


def test_an_order_mail_is_stored_filed_and_answered(match: str, engine: Engine, post: Post) -> None:
    raw = mail("BID x 2")
    assert post(raw) == intake.Taken("filed")
    assert _sheets(engine) == ["BID x 2"]
    with store.reading(engine) as session:
        row = session.scalars(select(Message)).one()
        assert (row.status, row.raw, row.sender) == ("filed", raw, "ann@example.org")
    (receipt,) = _letters(engine, "receipt")
    assert receipt.recipient == "ann@example.org"
    assert receipt.facts["outcome"] == "accepted"
    (line,) = receipt.facts["lines"]
    assert (line["number"], line["text"], line["understood"]) == (1, "BID x 2", "BID x 2")
    assert not (line["problem"] or line["too_late"] or line["replaced"])
    assert receipt.facts["sheet"] == ["BID x 2"]


def test_fact_094_a_second_taking_in_does_nothing(match: str, engine: Engine, post: Post) -> None:
    post(mail("BID x 2"))
    again = post(b"Received: by another.example.org\n" + mail("BID x 2"))
    assert again.status == "ignored"
    assert len(_sheets(engine)) == 1
    assert len(_letters(engine, "receipt")) == 1


def test_the_same_message_id_with_other_content_is_another_mail(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2"))
    post(mail("BID x 3"))
    assert _sheets(engine) == ["BID x 2", "BID x 3"]


def test_the_newest_sheet_replaces_the_earlier_one_as_a_whole(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2\nBID y 3", number=1))
    post(mail("BID y 1", number=2), NOW + timedelta(hours=2))
    with store.reading(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        counting = store.newest_sheets(session, row)
        assert [sheet.text.strip() for sheet in counting.values()] == ["BID y 1"]


def test_a_mail_of_faulty_lines_changes_nothing_and_says_so(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2", number=1))
    assert post(mail("BID q 2\nBIDD x 1", number=2)).status == "answered"
    assert _sheets(engine) == ["BID x 2"]
    receipt = _letters(engine, "receipt")[-1]
    assert receipt.facts["outcome"] == "nothing taken"
    problems = [line["problem"] for line in receipt.facts["lines"]]
    assert "q" in problems[0]
    assert "did you mean BID" in problems[1]


def test_a_good_and_a_bad_line_are_accepted_with_questions(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("Hello Gia,\nBID x 2\nBID y 99\nBye"))
    receipt = _letters(engine, "receipt")[-1]
    assert receipt.facts["outcome"] == "accepted, with questions"
    assert [line["number"] for line in receipt.facts["lines"]] == [2, 3]
    assert receipt.facts["sheet"] == ["BID x 2"]


def test_a_mail_without_orders_is_answered_and_changes_nothing(
    match: str, engine: Engine, post: Post
) -> None:
    assert post(mail("What a lovely board.")).status == "answered"
    assert _sheets(engine) == []
    assert _letters(engine, "receipt")[0].facts["why"] == "your mail holds no order"


def test_a_stranger_gets_no_answer(match: str, engine: Engine, post: Post) -> None:
    taken = post(mail("BID x 2", sender="Mallory <mallory@example.com>"))
    assert taken.status == "rejected"
    assert _sheets(engine) == []
    assert _letters(engine, "receipt") + _letters(engine, "confirm") == []


def test_a_display_name_proves_nothing(match: str, engine: Engine, post: Post) -> None:
    sender = '"ann@example.org" <mallory@example.com>'
    assert post(mail("BID x 2", sender=sender)).status == "rejected"


def test_automatic_mail_is_never_answered(match: str, engine: Engine, post: Post) -> None:
    raw = mail("BID x 2\nI am away.", Auto_Submitted="auto-replied")
    assert post(raw).status == "ignored"
    assert _sheets(engine) == []
    assert _letters(engine, "receipt") == []


def test_our_own_mail_coming_back_is_ignored(match: str, engine: Engine, post: Post) -> None:
    assert post(mail("BID x 2", sender="game@example.org")).status == "ignored"


def test_trust_token_takes_a_reply_at_once(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    to = f"game+hexem1.{_token(engine)}@example.org"
    assert post(mail("BID x 2", to=to)).status == "filed"


def test_trust_token_finds_the_token_in_what_is_answered(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    reference = identity.message_id("hexem1", _token(engine), 1, "example.org")
    assert post(mail("BID x 2", In_Reply_To=reference, subject="no tag")).status == "filed"


def test_trust_token_takes_a_password_line(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    assert post(mail(f"PASSWORD {_token(engine)}\nBID x 2")).status == "filed"


def test_trust_token_asks_where_a_known_address_shows_none(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    assert post(mail("BID x 2")).status == "held"
    assert _sheets(engine) == []
    (asked,) = _letters(engine, "confirm")
    assert asked.recipient == "ann@example.org"


def test_a_token_from_another_address_is_held_and_counts_once_confirmed(
    engine: Engine, post: Post
) -> None:
    begin(engine, trust="token")
    token = _token(engine)
    to = f"game+hexem1.{token}@example.org"
    assert post(mail("BID x 2", sender="ann@phone.example.org", to=to)).status == "held"
    (asked,) = _letters(engine, "confirm")
    assert asked.recipient == "ann@example.org"

    question = identity.message_id("hexem1", token, asked.id, "example.org")
    later = NOW + timedelta(hours=3)
    post(mail("Yes, that was me.", number=2, to=to, In_Reply_To=question), later)
    with store.reading(engine) as session:
        sheet = session.scalars(select(Sheet)).one()
        # It counts as of its receipt, not of the confirmation.
        assert sheet.received == NOW + timedelta(hours=1)
        seat = session.get_one(Seat, sheet.seat_id)
        assert [one.address for one in seat.addresses] == [
            "ann@example.org",
            "ann@phone.example.org",
        ]
    # From then on the address is hers.
    assert post(mail("BID x 3", number=3, sender="ann@phone.example.org", to=to)).status == "filed"


def test_the_unknown_address_cannot_confirm_itself(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    token = _token(engine)
    to = f"game+hexem1.{token}@example.org"
    post(mail("BID x 2", sender="thief@example.com", to=to))
    (asked,) = _letters(engine, "confirm")
    question = identity.message_id("hexem1", token, asked.id, "example.org")
    thief = mail("yes", number=2, sender="thief@example.com", to=to, In_Reply_To=question)
    assert post(thief).status == "rejected"
    assert len(_letters(engine, "confirm")) == 1
    assert _sheets(engine) == []


def test_a_wrong_token_proves_nothing(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    to = f"game+hexem1.{'a' * 16}@example.org"
    assert post(mail("BID x 2", to=to)).status == "held"
    assert post(mail("BID x 2", to=to, sender="thief@example.com")).status == "rejected"


def test_anothers_token_does_not_order_for_him(engine: Engine, post: Post) -> None:
    begin(engine, trust="token")
    to = f"game+hexem1.{_token(engine, 'Bob')}@example.org"
    assert post(mail("BID x 2", to=to)).status == "held"
    (asked,) = _letters(engine, "confirm")
    assert asked.recipient == "bob@example.org"


def test_a_player_in_two_matches_is_asked_which(match: str, engine: Engine, post: Post) -> None:
    begin(engine, "hexem2")
    taken = post(mail("BID x 2", subject="orders"))
    assert taken.status == "answered"
    assert "hexem1" in taken.why
    assert "hexem2" in taken.why
    assert _sheets(engine) == []
    assert post(mail("BID x 2", subject="Re: [hexem2] orders", number=2)).status == "filed"


def test_a_second_address_of_a_seat_is_as_good(match: str, engine: Engine, post: Post) -> None:
    assert post(mail("BID y 1", sender="BOB@Work.example.org")).status == "filed"


def test_received_in_the_deadlines_second_is_in_time_a_second_later_is_late(
    match: str, engine: Engine, post: Post
) -> None:
    with store.reading(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        deadline = row.deadline
        assert deadline is not None
    assert post(mail("BID x 2", number=1), deadline).status == "filed"
    late = post(mail("BID x 1", number=2), deadline + timedelta(seconds=1))
    assert late.status == "late"
    assert _sheets(engine) == ["BID x 2"]
    receipt = _letters(engine, "receipt")[-1]
    assert receipt.facts["late"] is True
    assert receipt.facts["outcome"] == "nothing taken"
    assert receipt.facts["why"] == "received after the deadline"
    (line,) = receipt.facts["lines"]
    assert (line["understood"], line["too_late"], line["problem"]) == (None, "BID x 1", None)


def test_late_next_has_a_late_sheet_count_for_the_next_turn(engine: Engine, post: Post) -> None:
    begin(engine, late="next")
    idle(engine)
    deadline = datetime(2026, 12, 6, 19, 0, tzinfo=UTC)
    assert post(mail("BID x 2"), deadline + timedelta(seconds=1)).status == "late"
    facts = _letters(engine, "receipt")[-1].facts
    assert facts["why"] == "received after the deadline; your orders count for the next turn"
    assert [one["understood"] for one in facts["lines"]] == ["BID x 2"]
    after = deadline + timedelta(minutes=1)
    assert turns.run_due(engine, after, after)[0].outcome == "ran"
    with store.reading(engine) as session:
        row = store.match_named(session, "hexem1")
        assert row is not None
        counting = store.newest_sheets(session, row)
        assert [sheet.text.strip() for sheet in counting.values()] == ["BID x 2"]
        turn = store.turn_of(session, row)
        assert turn is not None
        assert turn.orders == {"Ann": "", "Bob": ""}


def test_a_sheet_of_more_than_a_thousand_lines_is_refused_whole(
    match: str, engine: Engine, post: Post
) -> None:
    assert post(mail("BID x 1\n" * 1001)).status == "refused"
    assert _sheets(engine) == []
    assert "at most 1000" in _letters(engine, "receipt")[0].facts["why"]
    assert post(mail("BID x 1\n" * 1000, number=2)).status == "filed"


def test_at_most_twenty_receipts_a_day_go_to_one_address(
    match: str, engine: Engine, post: Post
) -> None:
    for number in range(25):
        post(mail(f"BID x {number % 3}", number=number))
    assert len(_letters(engine, "receipt")) == intake.MOST_RECEIPTS
    assert len(_sheets(engine)) == 25
    post(mail("BID x 1", number=99), NOW + timedelta(days=2))
    assert len(_letters(engine, "receipt")) == intake.MOST_RECEIPTS + 1


def test_a_mail_that_makes_our_code_fail_is_shunted_and_the_next_goes_on(
    match: str, engine: Engine, house: Config, monkeypatch_check: Callable[[], None]
) -> None:
    monkeypatch_check()
    parcels = [
        intake.Parcel(mail("BID x 2", number=1), NOW, "pipe"),
        intake.Parcel(mail("no orders here", number=2), NOW, "pipe"),
    ]
    first, second = intake.take_in(engine, house, parcels, NOW)
    assert first.status == "shunted"
    assert "ZeroDivisionError" in first.why
    assert second.status == "answered"
    with store.reading(engine) as session:
        assert session.scalars(select(Message.raw)).first() == parcels[0].raw
    assert _sheets(engine) == []


def test_receipts_tell_the_mail_they_answer(match: str, engine: Engine, post: Post) -> None:
    post(mail("BID x 2", subject="[hexem1] orders at last"))
    answers = _letters(engine, "receipt")[0].facts["answers"]
    assert answers["subject"] == "[hexem1] orders at last"
    assert answers["message_id"] == "1@mail.example.org"
    assert answers["received"] == (NOW + timedelta(hours=1)).isoformat()
