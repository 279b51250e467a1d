"""What of a mail is read for orders, what is asked back, and what the receipt says of each line."""

import email
from email import policy

import pytest
from sqlalchemy import Engine, select

from pbem import intake, outbox, store
from pbem.config import Config
from pbem.identity import folded
from pbem.store import Address, Sheet
from tests.conftest import NOW, Post, begin, idle, mail
from tests.flow.rig import DEADLINE, HOUR, WEEK, letters, opened, run, seat_of, turn


def sheets(engine: Engine) -> list[str]:
    """The texts of all sheets, without the blank lines that keep the others in their places."""
    with store.reading(engine) as session:
        found = session.scalars(select(Sheet).order_by(Sheet.id))
        return ["\n".join(filter(None, one.text.split("\n"))) for one in found]


def last_receipt(engine: Engine) -> dict[str, object]:
    """The facts of the newest receipt."""
    return letters(engine, "receipt")[-1].facts


def parts(*pieces: tuple[str, str], kind: str = "alternative", subject: str = "orders") -> bytes:
    """Write a mail of several parts, each a Content-Type (with more fields) and a text."""
    body = "".join(f"--b\nContent-Type: {head}\n\n{text}\n" for head, text in pieces)
    head = mail("", subject=f"[hexem1] {subject}").decode().rstrip("\n")
    return f'{head}\nContent-Type: multipart/{kind}; boundary="b"\n\n{body}--b--\n'.encode()


def test_html_is_read_where_the_plain_text_holds_no_order(
    match: str, engine: Engine, post: Post
) -> None:
    plain = "Your mail program cannot show this message."
    raw = parts(("text/plain", plain), ("text/html", "<p>Hello</p><p>BID x 2</p>"))
    assert post(raw).status == "filed"
    assert sheets(engine) == ["BID x 2"]


def test_html_is_not_read_where_the_plain_text_holds_an_order(
    match: str, engine: Engine, post: Post
) -> None:
    post(parts(("text/plain", "BID x 2"), ("text/html", "<p>BID x 3</p>")))
    assert sheets(engine) == ["BID x 2"]


def test_an_attached_text_is_read_where_the_mail_holds_no_order(
    match: str, engine: Engine, post: Post
) -> None:
    attached = 'text/plain; name="orders.txt"\nContent-Disposition: attachment'
    raw = parts(("text/plain", "See my file, Gia."), (attached, "BID x 2"), kind="mixed")
    assert post(raw).status == "filed"
    assert sheets(engine) == ["BID x 2"]


def test_the_subject_is_read_last(match: str, engine: Engine, post: Post) -> None:
    assert post(mail("", subject="[hexem1] BID x 2")).status == "filed"
    assert sheets(engine) == ["BID x 2"]


def test_an_order_in_the_subject_that_was_not_read_is_mentioned(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID y 1", subject="[hexem1] BID x 2"))
    assert sheets(engine) == ["BID y 1"]
    assert last_receipt(engine)["notes"] == ["Your subject was not read for orders (BID x 2)."]


def test_the_subject_of_a_reply_is_an_old_one(match: str, engine: Engine, post: Post) -> None:
    post(mail("BID y 1", subject="Re: [hexem1] BID x 2"))
    assert last_receipt(engine)["notes"] == []


def test_where_only_what_is_quoted_holds_orders_nothing_is_done_and_the_receipt_asks(
    match: str, engine: Engine, post: Post
) -> None:
    quoted = "Sounds good.\n\nOn Tue, 1 Dec 2026 at 13:00, Gia <game@example.org> wrote:\n> BID x 2"
    assert post(mail(quoted)).status == "answered"
    assert sheets(engine) == []
    why = last_receipt(engine)["why"]
    assert isinstance(why, str)
    assert "BID x 2" in why
    assert "Is it meant?" in why


def test_a_quoted_report_of_ours_is_not_asked_about(match: str, engine: Engine, post: Post) -> None:
    from pbem.marker import MARKER

    post(mail(f"Thanks!\n\n{MARKER}\n\nHexem, match hexem1\n\nNothing happened."))
    assert "Is it meant?" not in str(last_receipt(engine)["why"])


def test_a_mail_of_faulty_lines_changes_nothing_and_keeps_the_earlier_sheet(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2", number=1))
    assert post(mail("BID x lots\nBID nowhere 1", number=2)).status == "answered"
    assert sheets(engine) == ["BID x 2"]
    receipt = last_receipt(engine)
    assert receipt["outcome"] == "nothing taken"
    assert receipt["sheet"] is None


def test_a_line_that_a_later_one_replaces_is_told_so(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2\nBID y lots\nBID x 3\nREADY"))
    lines = last_receipt(engine)["lines"]
    assert isinstance(lines, list)
    assert [one["number"] for one in lines if one["replaced"]] == [1]


def test_lines_are_told_by_their_numbers_in_the_mail_also_at_the_turn(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("Hello Gia,\n\nBID x 2\nBID y lots\n\nBye"))
    lines = last_receipt(engine)["lines"]
    assert isinstance(lines, list)
    assert [(one["number"], one["understood"]) for one in lines] == [(3, "BID x 2"), (4, None)]
    post(mail("NO ORDERS", sender="bob@example.org", number=2))
    run(engine, DEADLINE)
    problems = turn(engine, 1).problems
    assert [line for line, _ in problems["Ann"]] == [4]


def test_the_lines_of_a_block_of_press_are_never_orders(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2\nPRESS TO Bob\nYou should\nBID y 3\nEND PRESS"))
    assert sheets(engine) == ["BID x 2"]
    post(mail("NO ORDERS", sender="bob@example.org", number=2))
    run(engine, DEADLINE)
    assert "BID y" not in turn(engine, 1).orders["Ann"]


def test_the_lines_below_press_that_never_ends_are_not_orders(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2\nPRESS TO Bob\nYou should\nBID y 3"))
    assert [text.split("\n")[0] for text in sheets(engine)] == ["BID x 2"]
    assert "BID y" not in sheets(engine)[0]
    assert letters(engine, "press") == []


def test_a_command_and_an_order_on_one_line_are_both_taken(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("READY; BID x 2"))
    assert sheets(engine) == ["BID x 2"]


def test_only_what_is_fenced_counts(match: str, engine: Engine, post: Post) -> None:
    post(mail("BID y 3\nORDERS\nBID x 2\nEND\nBID y 1"))
    assert sheets(engine) == ["BID x 2"]


def test_a_password_is_not_repeated_in_the_receipt(match: str, engine: Engine, post: Post) -> None:
    post(mail(f"PASSWORD {'a' * 16}\nBID x 2"))
    assert "aaaa" not in str(last_receipt(engine))


def test_orders_for_a_match_that_is_over_are_answered(engine: Engine, post: Post) -> None:
    begin(engine, turns=1)
    for at in (DEADLINE, DEADLINE + WEEK):
        idle(engine, now=at - HOUR)
        run(engine, at)
    assert post(mail("BID x 2"), DEADLINE + WEEK + HOUR).status == "answered"
    lines = last_receipt(engine)["lines"]
    assert isinstance(lines, list)
    assert "takes no orders now: it is over" in lines[0]["problem"]


def test_a_replayed_mail_of_an_earlier_turn_does_nothing(
    match: str, engine: Engine, post: Post
) -> None:
    raw = mail("BID x 2", number=1)
    post(raw)
    post(mail("BID y 1", sender="bob@example.org", number=2))
    run(engine, DEADLINE)
    later = DEADLINE + HOUR
    # As it was, and as somebody would send it to pass for a new one.
    assert post(raw, later).status == "ignored"
    again = post(mail("BID x 2", number=77), later)
    assert again == intake.Taken("ignored", "it repeats a mail of an earlier turn")
    assert len(sheets(engine)) == 2


def test_the_same_orders_written_anew_in_a_later_turn_are_no_replay(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("READY", number=1))
    idle(engine)
    run(engine, DEADLINE)
    anew = mail("READY", number=2).replace(b"01 Dec 2026", b"07 Dec 2026")
    assert post(anew, DEADLINE + HOUR).status == "answered"
    assert len(letters(engine, "receipt")) == 2


def test_mails_without_date_and_message_id_count_anew_each_day(
    match: str, engine: Engine, post: Post
) -> None:
    raw = b"From: ann@example.org\nTo: game@example.org\nSubject: [hexem1]\n\nBID x 2\n"
    assert post(raw).status == "filed"
    assert post(raw).status == "ignored"
    assert post(raw, NOW + 25 * HOUR).status == "filed"


@pytest.mark.parametrize("size", [1001, 100_000])
def test_a_sheet_of_too_many_lines_is_refused_in_one_sentence(
    match: str, engine: Engine, post: Post, size: int
) -> None:
    assert post(mail("BID x 1\n" * size)).status == "refused"
    assert sheets(engine) == []


def test_a_stored_message_is_taken_in_again(
    match: str, engine: Engine, house: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    def broken(*_: object) -> object:
        raise ZeroDivisionError("by a fault")

    honest = hexem.check
    monkeypatch.setattr(hexem, "check", broken)
    parcel = intake.Parcel(mail("BID x 2"), NOW, "pipe")
    assert intake.take_in(engine, house, [parcel], NOW)[0].status == "shunted"
    monkeypatch.setattr(hexem, "check", honest)
    with store.writing(engine) as session:
        row = session.scalars(select(store.Message)).one()
        assert intake.retake(session, house, row, NOW + HOUR).status == "filed"
        assert row.status == "filed"
    assert sheets(engine) == ["BID x 2"]
    with store.reading(engine) as session:
        # It counts as of its receipt.
        assert session.scalars(select(Sheet.received)).one() == NOW


def test_a_filed_message_is_not_taken_in_twice(match: str, engine: Engine, house: Config) -> None:
    from pbem.faults import Wrong

    intake.take_in(engine, house, [intake.Parcel(mail("BID x 2"), NOW, "pipe")], NOW)
    with store.writing(engine) as session, pytest.raises(Wrong, match="is filed"):
        intake.retake(session, house, session.scalars(select(store.Message)).one(), NOW)
    assert sheets(engine) == ["BID x 2"]


def test_the_game_master_is_told_once_of_a_fault_however_many_mails_meet_it(
    match: str, engine: Engine, house: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    def broken(*_: object) -> object:
        raise ZeroDivisionError("by a fault")

    monkeypatch.setattr(hexem, "check", broken)
    parcels = [intake.Parcel(mail("BID x 2", number=n), NOW, "pipe") for n in range(5)]
    assert {one.status for one in intake.take_in(engine, house, parcels, NOW)} == {"shunted"}
    (notice,) = letters(engine, "notice")
    assert "ZeroDivisionError: by a fault" in notice.facts["sentences"][0]
    assert notice.recipient == ""


def test_a_message_whose_handling_fails_half_way_leaves_nothing_behind(
    match: str, engine: Engine, house: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.intake import receipts

    def broken(*_: object) -> None:
        raise ZeroDivisionError("after the sheet was filed")

    good = intake.Parcel(mail("BID x 1", number=1), NOW, "pipe")
    bad = intake.Parcel(mail("READY\nBID x 2", number=2), NOW, "pipe")
    honest = receipts.answer
    calls: list[object] = []

    def second_fails(*asked: object) -> None:
        calls.append(asked)
        (broken if len(calls) == 2 else honest)(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(receipts, "answer", second_fails)
    taken = intake.take_in(engine, house, [good, bad], NOW)
    assert [one.status for one in taken] == ["filed", "shunted"]
    assert sheets(engine) == ["BID x 1"]
    with store.reading(engine) as session:
        assert not any(session.scalars(select(store.Seat.ready)))
        assert session.scalars(select(store.Message.status)).all() == ["filed", "shunted"]


def problems(engine: Engine) -> list[str]:
    """What the newest receipt says is wrong, line by line."""
    lines = letters(engine, "receipt")[-1].facts["lines"]
    return [f"{line['number']} {line['problem']}" for line in lines if line["problem"]]


@pytest.mark.parametrize("heading", ["ORDERS FOR Bob", "Orders for bob:"])
@pytest.mark.parametrize("closing", ["\nEND ORDERS", ""])
def test_orders_for_another_seat_are_the_game_master_s_and_not_one_s_own(
    match: str, engine: Engine, post: Post, heading: str, closing: str
) -> None:
    assert post(mail(f"{heading}\nBID y 1{closing}")).status == "answered"
    assert sheets(engine) == []
    assert problems(engine) == ["1 ORDERS FOR is the game master's order"]
    post(mail(f"BID x 2\n{heading}\nBID y 1{closing}", number=2))
    assert sheets(engine)[0].startswith("BID x 2")
    assert "y 1" not in sheets(engine)[0]


@pytest.mark.parametrize("heading", ["Orders for turn 1:", "ORDERS FOR Ann", "Orders for me"])
def test_a_heading_over_one_s_own_orders_is_let_be(
    match: str, engine: Engine, post: Post, heading: str
) -> None:
    assert post(mail(f"{heading}\nBID x 2")).status == "filed"
    assert last_receipt(engine)["outcome"] == "accepted"


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("UNDO", "UNDO"),
        ("undo 2", "UNDO"),
        ("DEADLINE 2026-12-08 20:00", "DEADLINE"),
        ("EXTEND 2 days", "EXTEND"),
        ("RUN NOW", "RUN"),
        ("HOLD", "HOLD"),
        ("SAY hello", "SAY"),
        ("END hexem1", "END"),
        ("ADDRESS Bob bob@example.com", "ADDRESS"),
        ("REPLACE Bob WITH Cy cy@example.org", "REPLACE"),
    ],
)
def test_a_game_master_s_line_in_a_player_s_mail_is_a_problem(
    match: str, engine: Engine, post: Post, line: str, verb: str
) -> None:
    post(mail(f"BID x 2\n{line}"))
    assert sheets(engine)[0].startswith("BID x 2")
    assert problems(engine) == [f"2 {verb} is the game master's order"]


@pytest.mark.parametrize(
    "chat", ["Hold on a minute.", "Say hello to Gia!", "End of orders", "set sail"]
)
def test_everyday_words_are_no_orders_of_the_game_master(
    match: str, engine: Engine, post: Post, chat: str
) -> None:
    post(mail(f"BID x 2\n{chat}"))
    assert last_receipt(engine)["outcome"] == "accepted"


def test_what_press_quotes_is_no_order_of_the_game_master(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("PRESS TO Bob\nORDERS FOR Bob\nUNDO\nEND PRESS\nBID x 2"))
    assert sheets(engine) == ["BID x 2"]
    assert last_receipt(engine)["outcome"] == "accepted"
    assert letters(engine, "press")[0].facts["press"][0]["text"] == "ORDERS FOR Bob\nUNDO"


def test_a_game_master_who_plays_is_told_which_letter_to_answer(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    with opened(engine) as (session, row):
        sender = house.game_master.address
        seat_of(row, "Ann").addresses.append(Address(address=sender, folded=folded(sender)))
        session.flush()
    post(mail("UNDO", sender=house.game_master.address))
    assert problems(engine) == [
        "1 UNDO is the game master's order; answer a letter to you as game master with it"
    ]


def test_what_a_receipt_repeats_is_shortened(match: str, engine: Engine, post: Post) -> None:
    post(mail(f"BID {'x' * 3000} 2", subject=f"[hexem1] {'y' * 3000}"))
    receipt = last_receipt(engine)
    (line,) = letters(engine, "receipt")[-1].facts["lines"]
    assert line["text"] == f"BID {'x' * 195}…"
    assert len(line["problem"]) <= 500
    assert len(str(receipt["answers"])) < 1000


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("BID q 2\nPRESS TO Bob\nhello\nEND PRESS", "no order taken, press sent"),
        ("BID q 2\nSTATUS", "no order taken, the rest accepted"),
        ("BID q 2\nSTATUS\nPRESS TO Bob\nhi\nEND PRESS", "no order taken, the rest accepted"),
        ("BID x 2\nPRESS TO q\nhello\nEND PRESS", "accepted, with questions"),
        ("STATUS\nPRESS TO q\nhello\nEND PRESS", "accepted, with questions"),
        ("PRESS TO Bob\nhello\nEND PRESS", "accepted"),
        ("PASSWORD AAAAAAAAAAAAAAAA\nBID q 2", "nothing taken"),
    ],
)
def test_the_subject_says_what_happened_where_no_order_counts(
    match: str, engine: Engine, post: Post, text: str, outcome: str
) -> None:
    post(mail(text))
    assert last_receipt(engine)["outcome"] == outcome


def test_a_receipt_tells_when_the_mail_came_in_the_match_s_zone(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    post(mail("BID x 2"))
    (receipt,) = letters(engine, "receipt")
    with store.reading(engine) as session:
        raw = outbox.compose(session, house, session.get_one(store.Letter, receipt.id), NOW + HOUR)
    text = email.message_from_bytes(raw, policy=policy.default).get_body(("plain",))
    assert text is not None
    said = " ".join(text.get_content().split())
    assert "Received: Tuesday 1 December 2026, 14:00:00 (UTC+01:00, Europe/Berlin)" in said
    assert "T13:00" not in said
