"""The game master's orders: carried out or refused, written down, told to whom it concerns."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, inspect, select

from pbem import identity, making, matches, outbox, overview, rounds, store, turns
from pbem.config import Config
from pbem.game import Json
from pbem.store import Letter, Match, Message
from tests.conftest import NOW, Post, begin, idle, mail
from tests.flow.rig import (
    DAY,
    DEADLINE,
    HOUR,
    MINUTE,
    WEEK,
    history,
    letters,
    opened,
    order,
    refused,
    run,
    said,
    seat_of,
    sheet,
    the_match,
    told_gm,
    turn,
)
from tests.flow.test_rounds import lay, sent

AFTER = DEADLINE + MINUTE


def test_deadline_moves_it_and_all_are_told_why(match: str, engine: Engine) -> None:
    told = said(engine, "DEADLINE 2026-12-08 18:00", NOW)
    assert told == "The deadline is Tue 2026-12-08 18:00 +0100 (Europe/Berlin)."
    assert the_match(engine).deadline == datetime(2026, 12, 8, 17, 0, tzinfo=UTC)
    assert [one.person for one in letters(engine, "deadline")] == ["Ann", "Bob"]
    (entry,) = history(engine, "deadline")
    assert (entry.who, entry.facts["deadline"]) == ("gm", "2026-12-08T17:00:00+00:00")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DEADLINE 2026-11-30T20:00+01:00", "is past; name a time to come, or RUN NOW"),
        ("DEADLINE soon", "'soon' is no time"),
        ("DEADLINE 2026-12-08", "has no time of day"),
        ("EXTEND a while", "is no duration"),
        ("EXTEND 0", "is no time at all"),
        ("RELEASE", "hexem1 is running; only a held match is released"),
        ("UNDO", "hexem1 has run 0 turns; 1 can't be taken back"),
        ("DROP Zoe", "no seat is called Zoe; there are: Ann, Bob"),
        ("REPLACE Zoe WITH Cleo cleo@example.org", "no seat is called Zoe"),
        ("ADDRESS Zoe z@example.org", "no seat is called Zoe"),
        ("RUN NOW muster 0", "the phase to come is countries 0, not muster 0"),
        ("RUN NOW countries 3", "the phase to come is countries 0, not countries 3"),
        ("SET early sometimes", "option early: 'sometimes' is none of"),
        ("SET seed 1", "hexem has no option 'seed'"),
        ("SET schedule whenever", "schedule 'whenever': that is no schedule"),
        ("SET schedule muser: daily", "no phase 'muser'; there are: countries, muster"),
        ("SET zone Mars/Phobos", "no time zone is called 'Mars/Phobos'"),
        ("SET turns many", "option turns"),
        ("END hexem2", "this is about hexem1, not hexem2"),
        ("EXTEN 2d", "did you mean EXTEND 2d?"),
        ("ORDERS FOR Ann\nBID q 2\nEND ORDERS", "no country is called q"),
        ("ORDERS FOR Ann\nhello\nEND ORDERS", "there is no order in it"),
        ("ORDERS FOR Ann\nBID x 2", "END ORDERS is missing"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason_and_changes_nothing(
    match: str, engine: Engine, text: str, why: str
) -> None:
    before = _standing(engine)
    assert why in refused(engine, text, NOW)
    assert _standing(engine) == before
    assert letters(engine, "notice", "deadline") == []


def _standing(engine: Engine) -> Json:
    match = the_match(engine)
    row = {column.key: getattr(match, column.key) for column in inspect(Match).columns}
    people = [(seat.name, seat.person, seat.key, len(seat.addresses)) for seat in match.seats]
    return {**row, "people": people}


def test_extend_keeps_the_wall_clock_for_days_and_counts_hours_as_they_pass(
    engine: Engine,
) -> None:
    begin(engine, now=datetime(2027, 3, 24, tzinfo=UTC))
    march = datetime(2027, 3, 24, 12, tzinfo=UTC)
    said(engine, "DEADLINE 2027-03-27 20:00", march)
    said(engine, "EXTEND 1d", march)
    assert the_match(engine).deadline == datetime(2027, 3, 28, 18, tzinfo=UTC)
    said(engine, "DEADLINE 2027-03-27 20:00", march)
    said(engine, "EXTEND 24h", march)
    assert the_match(engine).deadline == datetime(2027, 3, 28, 19, tzinfo=UTC)


def test_hold_stops_the_clock_and_release_lets_it_run_again(match: str, engine: Engine) -> None:
    idle(engine)
    said(engine, "HOLD", NOW)
    assert run(engine, AFTER) == []
    # While the clock stands still nothing is late.
    assert sheet(engine, "Ann", "BID x 2", AFTER) == "in time"
    told = said(engine, "RELEASE", AFTER + DAY)
    assert "hexem1 goes on" in told
    assert the_match(engine).deadline == DEADLINE + WEEK
    assert run(engine, AFTER + DAY) == []
    assert run(engine, AFTER + WEEK) == ["ran"]
    assert turn(engine, 1).orders["Ann"] == "BID x 2"


def test_a_release_before_the_deadline_leaves_it_as_it_was(match: str, engine: Engine) -> None:
    said(engine, "HOLD", NOW)
    said(engine, "RELEASE", NOW + HOUR)
    assert the_match(engine).deadline == DEADLINE


def test_run_now_names_the_phase_it_means_and_does_nothing_where_that_was_run(
    match: str, engine: Engine
) -> None:
    idle(engine)
    said(engine, "RUN NOW countries 0", NOW + HOUR)
    assert run(engine, NOW + HOUR) == ["ran"]
    assert said(engine, "RUN NOW countries 0", NOW + 2 * HOUR) == (
        "countries 0 has been run; nothing is done."
    )
    assert run(engine, NOW + 2 * HOUR) == []


def test_run_now_waits_until_the_mailboxes_are_fetched(match: str, engine: Engine) -> None:
    said(engine, "RUN NOW", NOW + HOUR)
    assert run(engine, NOW + HOUR, fetched=NOW) == ["put off"]
    assert run(engine, NOW + HOUR + MINUTE) == ["ran"]


def test_orders_for_a_seat_are_its_sheet_and_its_player_is_told(match: str, engine: Engine) -> None:
    sheet(engine, "Ann", "BID y 1", NOW)
    told = said(engine, "ORDERS FOR ann\nBID x 2\nBID q 1\nEND ORDERS", NOW + HOUR)
    assert told.startswith("Ann: BID x 2; line 2: no country is called q")
    (notice,) = letters(engine, "notice", to="Ann")
    assert notice.facts["sentences"][-1] == "BID x 2"
    said(engine, "RUN NOW", NOW + HOUR)
    run(engine, NOW + HOUR)
    assert turn(engine, 1).orders == {"Ann": "BID x 2\nBID q 1"}
    assert history(engine, "orders")[-1].facts == {"turn": 0, "seat": "Ann"}


def test_set_changes_a_setting_and_all_are_told(match: str, engine: Engine) -> None:
    said(engine, "SET grace 6h", NOW)
    said(engine, "SET absences 4", NOW)
    settings = the_match(engine).settings
    assert (settings["grace"], settings["absences"]) == ("6h", 4)
    assert [one.facts["about"] for one in letters(engine, "notice", to="Bob")] == [
        "grace is now 6h",
        "absences is now 4",
    ]


def test_set_pause_moves_a_deadline_that_falls_into_it(match: str, engine: Engine) -> None:
    said(engine, 'SET pause ["2026-12-06..2026-12-12"]', NOW)
    assert the_match(engine).deadline == DEADLINE + WEEK


def test_set_changes_an_option_of_the_game_where_all_turns_come_out_the_same(
    match: str, engine: Engine
) -> None:
    idle(engine)
    run(engine, AFTER)
    said(engine, "SET turns 1", AFTER)
    assert the_match(engine).options["turns"] == 1
    idle(engine, now=AFTER)
    run(engine, AFTER + WEEK)
    assert the_match(engine).status == "over"


def test_set_leaves_an_option_by_which_a_turn_went(match: str, engine: Engine) -> None:
    why = refused(engine, 'SET board "x3 x3 y3\\n . . .\\ny3 x3 y3\\n"', NOW)
    assert "board can't change any more: turn 0 went by it" in why


def test_say_goes_to_all_and_stands_in_the_history(match: str, engine: Engine) -> None:
    said(engine, "SAY Merry Christmas, all!", NOW)
    notices = letters(engine, "notice")
    assert [one.facts["sentences"] for one in notices] == [["Merry Christmas, all!"]] * 2
    assert history(engine, "said")[0].facts == {"text": "Merry Christmas, all!"}


def test_end_ends_the_match_without_running_the_phase(match: str, engine: Engine) -> None:
    sheet(engine, "Ann", "BID x 2", NOW)
    before = turn(engine, 0).state
    said(engine, "END", NOW + HOUR)
    assert run(engine, NOW + HOUR) == ["ran"]
    row = the_match(engine)
    assert (row.status, row.phase, row.deadline) == ("over", "over", None)
    assert {**turn(engine, 1).state, "phase": 0, "winners": 0} == {
        **before,
        "phase": 0,
        "winners": 0,
    }
    assert len(letters(engine, "over")) == 2
    assert "hexem1 is over" in refused(engine, "END", NOW + 2 * HOUR)


def test_end_closes_a_fence_and_is_then_no_order(match: str, engine: Engine) -> None:
    done = order(engine, "ORDERS\nSAY one\nEND\nSAY two", NOW)
    assert [one.text for one in done] == ["SAY one"]
    assert the_match(engine).status == "running"


def test_end_of_a_held_match_is_carried_out(match: str, engine: Engine) -> None:
    said(engine, "HOLD", NOW)
    said(engine, "END hexem1", NOW + HOUR)
    assert run(engine, NOW + HOUR) == ["ran"]
    assert the_match(engine).status == "over"


def test_status_says_who_is_missing(match: str, engine: Engine) -> None:
    sheet(engine, "Ann", "BID x 2", NOW)
    told = said(engine, "STATUS", NOW)
    assert "countries 0" in told
    assert "sent: Ann; missing: Bob" in told


def test_several_lines_are_carried_out_one_after_the_other_and_one_refused_leaves_the_rest(
    match: str, engine: Engine
) -> None:
    done = order(engine, "Hello machine,\nSAY one\nEXTEND soon\n- SAY two!\n", NOW)
    assert [(one.line, one.refused) for one in done] == [(2, False), (3, True), (4, False)]
    assert [one.facts["text"] for one in history(engine, "said")] == ["one", "two!"]


def _empires(engine: Engine) -> None:
    people = ("Ann", "Bob", "Cleo")
    plan = making.Plan(
        game="empires",
        match="empires1",
        players=tuple(making.Player(one, (f"{one.lower()}@example.org",)) for one in people),
        options={"trust": "address", "seed": "secret"},
        schedules=("weekly Sun 20:00",),
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)


def test_orders_of_the_game_are_filed_for_the_turn_and_add_to_those_before(
    engine: Engine,
) -> None:
    _empires(engine)
    at = NOW
    for _ in range(20):
        if the_match(engine, "empires1").phase == "score":
            break
        idle(engine, "empires1", at)
        at += HOUR
        said(engine, "RUN NOW", at, "empires1")
        run(engine, at)
    assert the_match(engine, "empires1").phase == "score"
    asked = letters(engine, "notice", to="")[-1].facts
    assert asked["about"] == "empires1 waits for what you enter"
    assert asked["remedies"][:3] == ["SCORE Ann __", "SCORE Bob __", "SCORE Cleo __"]
    done = order(engine, "SCORE Ann 5\nSCORE Zoe 1", at, "empires1")
    assert [one.refused for one in done] == [False, True]
    order(engine, "SCORE Bob 3\nSCORE Ann 6", at, "empires1")
    assert not the_match(engine, "empires1").early
    order(engine, "SCORE Cleo 0", at, "empires1")
    # All have theirs, so nothing more is waited for.
    assert the_match(engine, "empires1").early
    number = the_match(engine, "empires1").turn
    before = turn(engine, number, "empires1").state["vp"]
    run(engine, at)
    after = turn(engine, number + 1, "empires1").state["vp"]
    assert {seat: after[seat] - before[seat] for seat in after} == {"Ann": 6, "Bob": 3, "Cleo": 0}


def test_a_look_at_sealed_orders_is_written_down_and_said_in_the_next_report(
    match: str, engine: Engine, house: Config
) -> None:
    from pbem import gm

    sheet(engine, "Ann", "BID x 2", NOW)
    sheet(engine, "Bob", "BID y 2", NOW)
    with opened(engine) as (session, row):
        assert gm.peek(session, row, seat_of(row, "Ann"), NOW) == "BID x 2"
    with opened(engine) as (session, row):
        overview.preview(session, row, NOW)
    run(engine, AFTER)
    with store.reading(engine) as session:
        report = session.scalars(select(Letter).where(Letter.kind == "report")).first()
        assert report is not None
        text = outbox.compose(session, house, report, AFTER).decode()
    assert "The game master read the sealed orders of Ann." in text
    assert "The game master looked at what the turn would do" in text


def _mail_of_the_game_master(engine: Engine, text: str, number: int = 1) -> None:
    """Store a mail as intake does where it has found it to be the game master's."""
    raw = mail(text, sender="Gia <gia@example.org>", number=number)
    with opened(engine) as (session, row):
        session.add(
            Message(
                identity=f"gm{number}",
                source="pipe",
                key="",
                message_id=f"{number}@mail.example.org",
                sender="gia@example.org",
                subject="orders",
                recipient="",
                received=NOW,
                stored=NOW,
                raw=raw,
                status="gm",
                match_id=row.id,
            )
        )


def test_a_mail_of_the_game_masters_is_carried_out_once_and_answered(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    _mail_of_the_game_master(engine, "SAY hello\nRUN NOW countries 0\nHOLD it\n")
    ran = rounds.tick(engine, house, NOW + HOUR).ran
    assert ran == [turns.Ran("hexem1", "ran")]
    (answer,) = letters(engine, "notice", to="")
    assert answer.facts["about"] == "1 of your orders refused"
    assert answer.facts["sentences"][0] == "SAY hello: Said to all."
    assert len(history(engine, "said")) == 1
    rounds.tick(engine, house, NOW + 2 * HOUR)
    assert len(history(engine, "said")) == 1
    with store.reading(engine) as session:
        assert session.scalars(select(Message.status)).all() == ["filed"]


def test_by_mail_end_alone_is_never_an_order(match: str, engine: Engine, house: Config) -> None:
    _mail_of_the_game_master(engine, "SAY hello\nEND\n")
    rounds.tick(engine, house, NOW + HOUR)
    assert the_match(engine).status == "running"
    _mail_of_the_game_master(engine, "END hexem1\n", 2)
    rounds.tick(engine, house, NOW + 2 * HOUR)
    assert the_match(engine).status == "over"


def test_a_mailbox_that_is_down_is_told_to_the_game_master_once(match: str, engine: Engine) -> None:
    for minute in (1, 2):
        now = DEADLINE + minute * MINUTE
        turns.run_due(engine, now, None, ["imap mail.example.org: it doesn't answer"])
    assert told_gm(engine) == ["A turn is put off"]
    assert "it doesn't answer" in letters(engine, "notice", to="")[0].facts["sentences"][1]


def test_letters_to_the_game_master_bear_his_token_and_no_other_letter_does(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    said(engine, "HOLD", NOW)
    with opened(engine) as (session, row):
        matches.tell_gm(session, row, NOW, "A word", ["Something is up."])
        token = matches.token(row, None)
    with store.reading(engine) as session:
        for letter in session.scalars(select(Letter)):
            raw = outbox.compose(session, house, letter, NOW).decode()
            assert (token in raw) == (letter.recipient == "")
            if letter.recipient == "":
                assert 'To: "Gia" <gia@example.org>' in raw


def test_the_game_master_answers_a_letter_from_his_own_client(
    match: str, engine: Engine, house: Config
) -> None:
    sheet(engine, "Ann", "BID x 2", NOW)
    rounds.tick(engine, house, AFTER)
    asked = next(one for one in sent(house) if one["To"] == '"Gia" <gia@example.org>')
    text = asked.get_payload()[0].get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert "- RUN NOW countries 0" in text
    assert "Answer this letter with a game master's orders" in text
    quoted = "".join(f"> {line}\n" for line in text.splitlines())
    raw = mail(
        f"SAY Bob is on holiday, I am told.\nEXTEND 1d\n\nGia\n\nGia wrote:\n{quoted}",
        sender="Gia <gia@example.org>",
        to=asked["Reply-To"],
        subject=f"Re: {asked['Subject']}",
        In_Reply_To=asked["Message-ID"],
    )
    lay(house, raw, AFTER + HOUR)
    rounds.tick(engine, house, AFTER + HOUR)
    assert the_match(engine).deadline == DEADLINE + WEEK + DAY
    # What he quotes is not carried out.
    assert the_match(engine).turn == 0
    answer = sent(house)[-1]
    assert (answer["To"], answer["In-Reply-To"]) == (asked["To"], "<1@mail.example.org>")
    assert answer["Subject"] == "[hexem1] Your orders are carried out"


def test_orders_in_the_game_masters_name_without_his_token_do_nothing(
    match: str, engine: Engine, post: Post
) -> None:
    to_ann = identity.token("hexem1", "Ann", seat_of(the_match(engine), "Ann").key)
    with opened(engine) as (_, row):
        token = matches.token(row, None)
    forged = (
        mail("END hexem1", sender="Gia <gia@example.org>", number=1),
        mail(
            "END hexem1",
            sender="Gia <gia@example.org>",
            to=f"game+hexem1.{to_ann}@example.org",
            number=2,
        ),
        mail("END hexem1", to=f"game+hexem1.{token}@example.org", number=3),
    )
    for raw in forged:
        assert post(raw).status != "gm"
    assert the_match(engine).status == "running"
    assert not the_match(engine).run_now
