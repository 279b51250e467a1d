"""What letters tell of a turn, of one long gone, and of one that was never played."""

from email.message import EmailMessage

from sqlalchemy import Engine

from pbem import outbox, store
from pbem.config import Config
from pbem.marker import FORM_BEGIN
from tests.conftest import NOW, Post, begin, idle, mail
from tests.flow.rig import (
    DEADLINE,
    HOUR,
    WEEK,
    history,
    newest,
    opened,
    order,
    remind,
    run,
    said,
    seat_of,
    sheet,
    the_match,
    turn,
)

BOB = "bob@example.org"


def has_calendar(letter: EmailMessage) -> bool:
    return any(part.get_content_type() == "text/calendar" for part in letter.walk())


def test_a_reminder_does_not_tell_again_what_was_not_carried_out(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    sheet(engine, "Ann", "MUSTER A1", DEADLINE + HOUR)
    sheet(engine, "Bob", "MUSTER Z9", DEADLINE + HOUR)
    run(engine, DEADLINE + WEEK)
    assert turn(engine, 2).problems.keys() == {"Bob"}
    assert "was not carried out" in newest(engine, house, "report", DEADLINE + WEEK)[1]
    soon = DEADLINE + 2 * WEEK - HOUR
    assert remind(engine, soon) == 2
    assert "was not carried out" not in newest(engine, house, "reminder", soon)[1]


def test_who_sent_no_orders_is_named_as_in_a_sentence(engine: Engine, house: Config) -> None:
    begin(engine)
    run(engine, DEADLINE)
    run(engine, DEADLINE + WEEK)
    assert turn(engine, 1).missing == ["Ann", "Bob"]
    said = newest(engine, house, "report", DEADLINE + WEEK)[1]
    assert "- No orders came from Ann and Bob." in said


def test_report_of_a_turn_gone_is_a_copy_without_deadline_form_and_calendar(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    idle(engine, now=DEADLINE + HOUR)
    run(engine, DEADLINE + WEEK)
    at = DEADLINE + WEEK + HOUR
    for number, kind in enumerate(("welcome", "report")):
        post(mail(f"REPORT {number}", number=number), at)
        letter, text = newest(engine, house, kind, at)
        assert "A copy, as you asked for it" in text
        assert "Orders are due" not in text
        assert "Orders were due" not in text
        assert "nothing to decide" not in text
        assert FORM_BEGIN not in text
        assert not has_calendar(letter)
        assert letter["Subject"].startswith(f"[hexem1] Copy of turn {number}: ")


def test_report_of_the_last_turn_comes_as_it_came(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    first, said = newest(engine, house, "report", DEADLINE + HOUR)
    for number, asked in enumerate(("REPORT 1", "REPORT")):
        post(mail(asked, sender="bob@example.org", number=number), DEADLINE + HOUR)
        letter, text = newest(engine, house, "report", DEADLINE + HOUR)
        assert (letter["Subject"], text) == (first["Subject"], said)
        assert FORM_BEGIN in text
        assert has_calendar(letter)


def test_who_takes_over_hears_nothing_of_the_last_turn_that_was_said_to_another(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    sheet(engine, "Ann", "MUSTER Z9", DEADLINE + HOUR)
    post(mail("PRESS TO Ann\nBetween us.\nEND PRESS", sender=BOB), DEADLINE + HOUR)
    post(mail("PRESS TO ALL\nHello!\nEND PRESS", sender=BOB, number=2), DEADLINE + HOUR)
    ran = DEADLINE + WEEK
    assert run(engine, ran) == ["ran"]
    report = newest(engine, house, "report", ran, "Ann")[1]
    assert "Your line 1 was not carried out" in report
    assert "Between us." in report
    said(engine, "REPLACE Ann WITH Cleo cleo@example.org", ran)
    post(mail("REPORT 2", sender="cleo@example.org", number=3), ran + HOUR)
    for kind in ("welcome", "report"):
        told = newest(engine, house, kind, ran + HOUR, "Ann")[1]
        assert "- No orders came from Bob." in told
        assert "Your line" not in told
        assert "Between us." not in told
        assert ("Hello!" in told) == (kind == "report")
        assert ("Somebody else has played Ann so far" in told) == (kind == "welcome")
        assert ("orders for this turn were sent before you came" in told) == (kind == "welcome")
    # Of what he did himself he hears as anybody does, and so do the others of theirs.
    idle(engine, now=ran + HOUR)
    later = the_match(engine).deadline
    assert later is not None
    sheet(engine, "Ann", "MUSTER Z8", ran + 2 * HOUR)
    assert run(engine, later) == ["ran"]
    assert "Your line 1 was not carried out" in newest(engine, house, "report", later, "Ann")[1]
    post(mail("REPORT 2", sender=BOB, number=4), later + HOUR)
    assert "Between us." in newest(engine, house, "report", later + HOUR, "Bob")[1]


def test_standing_orders_of_who_had_the_seat_are_not_called_his_who_takes_it(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    sheet(engine, "Bob", "MUSTER A1", NOW, standing=True)
    run(engine, DEADLINE)
    sheet(engine, "Ann", "MUSTER A1", DEADLINE + HOUR)
    ran = DEADLINE + WEEK
    assert run(engine, ran) == ["ran"]
    assert "your standing orders" in newest(engine, house, "report", ran, "Bob")[1]
    said(engine, "REPLACE Bob WITH Cleo cleo@example.org", ran)
    told = newest(engine, house, "welcome", ran, "Bob")[1]
    assert "- No orders came from Bob." in told
    assert "your standing orders" not in told


def test_who_is_told_of_a_turn_hears_of_his_lines_in_their_order(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    with opened(engine) as (session, row):
        found = store.turn_of(session, row, 1)
        assert found is not None
        assert found.problems is not None
        found.problems = {"Ann": [[3, "no"], [1, "why?"]]}
    with store.reading(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        facts = outbox.facts_of(
            session, house, row, store.turn_of(session, row, 1), seat_of(row, "Ann"), DEADLINE
        )
    assert facts["notes"] == [
        "Your line 1 was not carried out: why?",
        "Your line 3 was not carried out: no.",
    ]


def test_who_sent_nothing_is_not_named_where_the_game_master_ended_the_phase(
    match: str, engine: Engine, house: Config
) -> None:
    order(engine, "END", NOW + HOUR)
    run(engine, NOW + 2 * HOUR)
    with store.reading(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        last = store.turn_of(session, row)
        assert last is not None
        facts = outbox.facts_of(session, house, row, last, seat_of(row, "Ann"), NOW + 2 * HOUR)
    assert facts["phase"] == "over"
    assert facts["notes"] == []
    assert last.missing == []
    assert history(engine, "no orders") == []
    text = newest(engine, house, "over", NOW + 2 * HOUR)[1]
    assert "The game master has ended the match" in text


def test_standing_orders_are_none_of_a_phase_that_the_game_master_ended(engine: Engine) -> None:
    begin(engine)
    sheet(engine, "Ann", "BID x 1", NOW + HOUR, standing=True)
    idle(engine)
    run(engine, DEADLINE)
    sheet(engine, "Bob", "MUSTER A1", DEADLINE + HOUR)
    order(engine, "END", DEADLINE + HOUR)
    assert run(engine, DEADLINE + 2 * HOUR) == ["ran"]
    assert turn(engine, 2).orders == {"Bob": "MUSTER A1", "": "END"}
