"""A match's clock: grace, early turns, brakes, reminders, silence, absence, daylight saving."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from pbem import brakes, making, players, store, turns
from pbem.turns import Ran
from tests.conftest import BOARD, NOW, begin, idle
from tests.flow.rig import (
    DAY,
    DEADLINE,
    HOUR,
    MINUTE,
    WEEK,
    do,
    history,
    letters,
    opened,
    order,
    remind,
    run,
    said,
    seat_of,
    sheet,
    the_match,
    told_gm,
    turn,
)

AFTER = DEADLINE + MINUTE


def _second_turn(engine: Engine, **options: object) -> None:
    """A match whose first turn was run with the orders of both."""
    begin(engine, **options)
    idle(engine)
    assert run(engine, AFTER) == ["ran"]


def test_the_first_turn_is_put_off_one_phase_once_for_a_missing_seat(
    match: str, engine: Engine
) -> None:
    sheet(engine, "Ann", "BID x 2", NOW)
    (ran,) = turns.run_due(engine, AFTER, AFTER)
    assert ran == Ran("hexem1", "waiting", "no orders yet from Bob")
    assert the_match(engine).deadline == DEADLINE + WEEK
    assert [one.facts["why"] for one in letters(engine, "deadline", to="Bob")] == [
        "No orders came from Bob, and this is the first turn: it is put off, once."
    ]
    (asked,) = letters(engine, "notice", to="")
    assert asked.facts["about"] == "The first turn of hexem1 waits for Bob"
    assert "RUN NOW countries 0" in asked.facts["remedies"]
    assert "DROP Bob" in asked.facts["remedies"]
    # Without an answer it then runs.
    assert run(engine, AFTER + WEEK) == ["ran"]
    assert turn(engine, 1).orders == {"Ann": "BID x 2"}
    assert turn(engine, 1).missing == ["Bob"]


def test_the_first_turn_runs_past_a_missing_seat_where_the_game_master_says_so(
    match: str, engine: Engine
) -> None:
    run(engine, AFTER)
    said(engine, "RUN NOW countries 0", AFTER + HOUR)
    assert run(engine, AFTER + HOUR) == ["ran"]


def test_the_first_turn_is_not_put_off_for_who_is_a_minute_late(match: str, engine: Engine) -> None:
    sheet(engine, "Ann", "BID x 2", NOW)
    assert sheet(engine, "Bob", "BID y 2", DEADLINE + timedelta(seconds=20)) == "late"
    assert run(engine, AFTER) == ["ran"]
    assert set(turn(engine, 1).orders) == {"Ann", "Bob"}


def test_a_sheet_a_second_late_counts_once_the_deadline_is_moved(engine: Engine) -> None:
    _second_turn(engine)
    due = DEADLINE + WEEK
    assert sheet(engine, "Ann", "MUSTER A1", due + timedelta(seconds=1)) == "late"
    said(engine, "EXTEND 1d", due + MINUTE)
    assert run(engine, due + DAY + MINUTE) == ["ran"]
    assert turn(engine, 2).orders == {"Ann": "MUSTER A1"}


def test_late_answer_has_a_late_sheet_count_for_no_turn(engine: Engine) -> None:
    _second_turn(engine)
    due = DEADLINE + WEEK
    sheet(engine, "Ann", "MUSTER A1", due - HOUR)
    sheet(engine, "Bob", "MUSTER A2", due + timedelta(seconds=1))
    run(engine, due + MINUTE)
    assert turn(engine, 2).missing == ["Bob"]
    with opened(engine) as (session, row):
        assert store.newest_sheets(session, row) == {}


def test_a_sheet_in_the_deadlines_second_is_in_time_and_a_second_later_is_not(
    engine: Engine,
) -> None:
    _second_turn(engine)
    due = DEADLINE + WEEK
    assert sheet(engine, "Ann", "MUSTER A1", due) == "in time"
    assert sheet(engine, "Ann", "MUSTER A2", due + timedelta(seconds=1)) == "late"
    sheet(engine, "Bob", "", due)
    run(engine, due + MINUTE)
    assert turn(engine, 2).orders["Ann"] == "MUSTER A1"


def test_grace_waits_for_who_is_missing_and_locks_the_others(engine: Engine) -> None:
    _second_turn(engine, grace="6h")
    due = DEADLINE + WEEK
    sheet(engine, "Ann", "MUSTER A1", due - HOUR)
    assert turns.run_due(engine, due + MINUTE, due + MINUTE) == [
        Ran("hexem1", "waiting", "no orders yet from Bob")
    ]
    # The match is not looked at again before the time is up, and nothing is said twice.
    assert run(engine, due + HOUR) == []
    assert sheet(engine, "Ann", "MUSTER A2", due + HOUR) == "locked"
    assert sheet(engine, "Bob", "MUSTER C1", due + 2 * HOUR) == "in time"
    assert sheet(engine, "Bob", "MUSTER C2", due + 2 * HOUR + MINUTE) == "locked"
    # With the last one in, it runs at the next tick.
    assert run(engine, due + 2 * HOUR + MINUTE) == ["ran"]
    assert turn(engine, 2).orders == {"Ann": "MUSTER A1", "Bob": "MUSTER C1"}


def test_grace_ends(engine: Engine) -> None:
    _second_turn(engine, grace="6h")
    due = DEADLINE + WEEK
    sheet(engine, "Ann", "MUSTER A1", due - HOUR)
    run(engine, due + MINUTE)
    assert run(engine, due + 6 * HOUR) == ["ran"]
    assert turn(engine, 2).missing == ["Bob"]


def test_a_sheet_in_grace_counts_though_it_is_fetched_with_the_turn(engine: Engine) -> None:
    _second_turn(engine, grace="6h")
    due = DEADLINE + WEEK
    sheet(engine, "Ann", "MUSTER A1", due - HOUR)
    assert sheet(engine, "Bob", "MUSTER C1", due + timedelta(seconds=30)) == "in time"
    assert run(engine, due + MINUTE) == ["ran"]


def test_brake_more_than_half_of_last_turns_senders_missing_waits_a_day_and_asks_once(
    engine: Engine,
) -> None:
    _second_turn(engine)
    due = DEADLINE + WEEK
    assert run(engine, due + MINUTE) == ["waiting"]
    assert told_gm(engine) == ["hexem1 waits for most of its players"]
    assert run(engine, due + HOUR) == []
    assert sheet(engine, "Ann", "MUSTER A1", due + 2 * HOUR) == "in time"
    assert run(engine, due + 2 * HOUR) == []
    assert run(engine, due + DAY) == ["ran"]
    assert turn(engine, 2).missing == ["Bob"]
    assert len(told_gm(engine)) == 1


def test_what_a_match_was_meant_to_wait_does_not_make_it_overdue(engine: Engine) -> None:
    begin(engine)
    said(engine, "SET schedule after 12h", NOW)
    idle(engine)
    first = NOW + 12 * HOUR
    assert run(engine, first) == ["ran"]
    assert run(engine, first + 12 * HOUR + MINUTE) == ["waiting"]
    assert run(engine, first + 36 * HOUR + MINUTE) == ["ran"]


def test_half_of_last_turns_senders_missing_is_not_more_than_half(engine: Engine) -> None:
    _second_turn(engine)
    sheet(engine, "Ann", "MUSTER A1", AFTER)
    assert run(engine, AFTER + WEEK) == ["ran"]


def test_early_all_in_runs_once_all_orders_are_there(engine: Engine) -> None:
    begin(engine, early="all-in")
    sheet(engine, "Ann", "BID x 1", NOW)
    assert run(engine, NOW + HOUR) == []
    sheet(engine, "Bob", "", NOW + HOUR)
    assert run(engine, NOW + HOUR) == ["ran"]


def test_early_ready_runs_once_all_have_said_so_and_not_where_one_takes_it_back(
    engine: Engine,
) -> None:
    begin(engine, early="ready")
    idle(engine)
    do(engine, "Ann", players.ready, True)
    assert run(engine, NOW + HOUR) == []
    do(engine, "Bob", players.ready, True)
    do(engine, "Ann", players.ready, False)
    assert run(engine, NOW + HOUR) == []
    do(engine, "Ann", players.ready, True)
    assert run(engine, NOW + HOUR) == ["ran"]
    # In the next phase nobody is ready yet.
    assert not any(seat.ready for seat in the_match(engine).seats)
    assert run(engine, NOW + 2 * HOUR) == []


def test_early_never_runs_at_the_deadline_only(match: str, engine: Engine) -> None:
    idle(engine)
    do(engine, "Ann", players.ready, True)
    assert "waits for its deadline" in do(engine, "Bob", players.ready, True)
    assert run(engine, NOW + HOUR) == []


def test_a_turn_run_early_makes_no_phase_shorter_than_half_its_length(engine: Engine) -> None:
    begin(engine, early="all-in")
    friday = DEADLINE - 2 * DAY
    sheet(engine, "Ann", "BID x 1", friday)
    sheet(engine, "Bob", "BID y 1", friday)
    run(engine, friday)
    assert the_match(engine).deadline == DEADLINE + WEEK


def test_reminder_one_a_deadline_to_who_is_missing_24_hours_before(
    match: str, engine: Engine
) -> None:
    sheet(engine, "Ann", "BID x 1", NOW)
    assert remind(engine, DEADLINE - DAY - MINUTE) == 0
    assert remind(engine, DEADLINE - DAY) == 1
    assert remind(engine, DEADLINE - HOUR) == 0
    (reminder,) = letters(engine, "reminder")
    assert reminder.recipient == "bob@example.org"
    # Again only where the deadline has moved.
    said(engine, "EXTEND 2d", DEADLINE - HOUR)
    assert remind(engine, DEADLINE - HOUR) == 0
    assert remind(engine, DEADLINE + DAY) == 1


def test_reminder_none_where_the_whole_phase_is_shorter_or_remind_is_0(engine: Engine) -> None:
    begin(engine, remind="0")
    begin(engine, "hexem2", remind="8d")
    assert remind(engine, DEADLINE - HOUR) == 0


def test_reminder_none_to_who_has_standing_orders(engine: Engine) -> None:
    begin(engine)
    sheet(engine, "Ann", "BID x 1", NOW)
    sheet(engine, "Bob", "BID y 1", NOW, standing=True)
    run(engine, AFTER)
    assert remind(engine, DEADLINE + WEEK - HOUR) == 1
    assert letters(engine, "reminder")[0].recipient == "ann@example.org"


def test_standing_orders_are_carried_out_where_none_come_and_the_report_says_so(
    engine: Engine,
) -> None:
    begin(engine)
    sheet(engine, "Ann", "BID x 1", NOW)
    sheet(engine, "Bob", "MUSTER A1", NOW, standing=True)
    run(engine, AFTER)
    sheet(engine, "Ann", "MUSTER A2", AFTER)
    run(engine, AFTER + WEEK)
    second = turn(engine, 2)
    assert second.orders == {"Ann": "MUSTER A2", "Bob": "MUSTER A1"}
    assert second.missing == ["Bob"]
    # A sheet of his own replaces them for that turn only.
    sheet(engine, "Ann", "", AFTER + WEEK)
    sheet(engine, "Bob", "MUSTER C1", AFTER + WEEK)
    run(engine, AFTER + 2 * WEEK)
    assert turn(engine, 3).orders["Bob"] == "MUSTER C1"
    sheet(engine, "Ann", "", AFTER + 2 * WEEK)
    run(engine, AFTER + 3 * WEEK)
    assert turn(engine, 4).orders["Bob"] == "MUSTER A1"


def test_cancel_withdraws_the_sheet_and_the_standing_one(engine: Engine) -> None:
    begin(engine)
    sheet(engine, "Bob", "BID y 1", NOW, standing=True)
    sheet(engine, "Ann", "BID x 1", NOW)
    run(engine, AFTER)
    sheet(engine, "Bob", "MUSTER C1", AFTER)
    assert do(engine, "Bob", players.cancel, AFTER + HOUR) == "Your orders are withdrawn."
    assert "no orders to withdraw" in do(engine, "Bob", players.cancel, AFTER + HOUR)
    sheet(engine, "Ann", "", AFTER)
    run(engine, AFTER + WEEK)
    assert set(turn(engine, 2).orders) == {"Ann"}


def test_no_orders_is_a_sheet_and_its_seat_is_not_missing(match: str, engine: Engine) -> None:
    sheet(engine, "Ann", "BID x 1", NOW)
    do(engine, "Bob", players.no_orders, NOW)
    assert run(engine, AFTER) == ["ran"]
    assert turn(engine, 1).missing == []


def test_nmr_limit_the_game_master_is_told_once_with_whom_to_ask(engine: Engine) -> None:
    _second_turn(engine)
    with opened(engine) as (session, row):
        applicant = players.apply(session, row, "Cleo", "cleo@example.org", AFTER)
        assert applicant is not None
        players.join(session, applicant, AFTER)
    for week in range(1, 5):
        sheet(engine, "Ann", "", AFTER + (week - 1) * WEEK)
        assert run(engine, AFTER + week * WEEK) == ["ran"]
    notices = [one for one in letters(engine, "notice", to="") if "Bob" in one.facts["about"]]
    assert [one.facts["about"] for one in notices] == ["Bob has sent no orders 2 times"]
    assert notices[0].facts["remedies"][0] == "REPLACE Bob WITH Cleo cleo@example.org"


def test_a_turn_in_which_orders_came_ends_the_row_of_missed_ones(engine: Engine) -> None:
    _second_turn(engine)
    for week, bob in enumerate((False, True, False), 1):
        sheet(engine, "Ann", "", AFTER + (week - 1) * WEEK)
        if bob:
            sheet(engine, "Bob", "", AFTER + (week - 1) * WEEK)
        run(engine, AFTER + week * WEEK)
    assert told_gm(engine) == []


def test_absence_moves_the_deadline_once_within_the_days_granted(engine: Engine) -> None:
    _second_turn(engine, absences=10)
    due = DEADLINE + WEEK
    told = do(engine, "Bob", players.absent, "2026-12-10", "2026-12-15", AFTER)
    assert "the deadline is moved" in told
    assert the_match(engine).deadline == datetime(2026, 12, 16, 19, 0, tzinfo=UTC)
    assert letters(engine, "deadline", to="Ann")[0].facts["why"] == "Bob is away until 2026-12-15."
    # What is beyond his days moves nothing, and leaves him to his standing orders.
    told = do(engine, "Bob", players.absent, "2026-12-16", "2026-12-20", AFTER)
    assert "4 of 10 days of absence are left" in told
    sheet(engine, "Ann", "", due)
    assert run(engine, datetime(2026, 12, 16, 19, 1, tzinfo=UTC)) == ["ran"]


def test_absence_in_a_later_phase_moves_its_deadline_when_that_begins(engine: Engine) -> None:
    begin(engine, absences=3)
    idle(engine)
    do(engine, "Bob", players.absent, "2026-12-12", "2026-12-14", NOW)
    assert the_match(engine).deadline == DEADLINE
    run(engine, AFTER)
    assert the_match(engine).deadline == datetime(2026, 12, 15, 19, 0, tzinfo=UTC)


def test_absence_moves_one_deadline_only(engine: Engine) -> None:
    begin(engine, absences=7)
    idle(engine)
    do(engine, "Bob", players.absent, "2026-12-10", "2026-12-16", NOW)
    run(engine, AFTER)
    assert the_match(engine).deadline == datetime(2026, 12, 17, 19, 0, tzinfo=UTC)
    said(engine, "RUN NOW", AFTER + HOUR)
    run(engine, AFTER + HOUR)
    assert the_match(engine).deadline == DEADLINE + WEEK


def test_absence_not_granted_delays_nothing_and_leaves_the_seat_to_its_standing_orders(
    engine: Engine,
) -> None:
    _second_turn(engine, grace="6h")
    do(engine, "Bob", players.absent, "2026-12-10", "2026-12-20", AFTER)
    due = DEADLINE + WEEK
    assert the_match(engine).deadline == due
    assert remind(engine, due - HOUR) == 1
    sheet(engine, "Ann", "", AFTER)
    assert run(engine, due + MINUTE) == ["ran"]
    assert turn(engine, 2).missing == ["Bob"]


def test_absences_to_come_are_so_many_at_the_most_for_a_seat(match: str, engine: Engine) -> None:
    days = [NOW.date() + timedelta(days=2 * number) for number in range(players.MOST_ABSENCES + 1)]
    for day in days[:-1]:
        assert "Noted" in do(engine, "Bob", players.absent, str(day), str(day), NOW)
    last = str(days[-1])
    why = (
        f"you have declared {players.MOST_ABSENCES} absences to come, the most a seat may have; "
        "nothing was noted"
    )
    with pytest.raises(ValueError, match=why):
        do(engine, "Bob", players.absent, last, last, NOW)
    assert "Noted" in do(engine, "Ann", players.absent, last, last, NOW)
    # One that is over counts no more.
    assert "Noted" in do(engine, "Bob", players.absent, last, last, NOW + DAY)
    with opened(engine) as (_, row):
        assert len(seat_of(row, "Bob").absences) == players.MOST_ABSENCES + 1


def test_absences_that_overlap_are_refused(match: str, engine: Engine) -> None:
    do(engine, "Bob", players.absent, "2026-12-10", "2026-12-12", NOW)
    for first, last in (("2026-12-12", "2026-12-20"), ("2026-12-01", "2026-12-31")):
        with pytest.raises(ValueError, match="declared before; nothing was noted"):
            do(engine, "Bob", players.absent, first, last, NOW)


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ("tomorrow", "2026-12-20", "that is no date"),
        ("2026-12-20", "2026-12-10", "it ends before it begins"),
        ("2026-11-01", "2026-11-10", "2026-11-10 is past"),
        ("2026-12-20", "9999-12-31", "9999-12-31 is more than ten years ahead"),
    ],
)
def test_absence_with_wrong_dates_is_refused(
    match: str, engine: Engine, start: str, end: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        do(engine, "Bob", players.absent, start, end, NOW)


def test_pause_no_deadline_falls_on_its_dates(engine: Engine) -> None:
    begin(engine, pause=["2026-12-13..2026-12-27"])
    idle(engine)
    run(engine, AFTER)
    assert the_match(engine).deadline == DEADLINE + 4 * WEEK


@pytest.mark.parametrize(
    ("zone", "begun", "first", "second"),
    [
        ("Europe/Berlin", "2027-03-16", "2027-03-21T19:00", "2027-03-28T18:00"),
        ("America/New_York", "2027-03-02", "2027-03-08T01:00", "2027-03-15T00:00"),
        ("Europe/Berlin", "2026-10-13", "2026-10-18T18:00", "2026-10-25T19:00"),
        ("America/New_York", "2026-10-20", "2026-10-26T00:00", "2026-11-02T01:00"),
    ],
)
def test_deadlines_keep_the_wall_clock_over_a_change_of_the_clocks(
    engine: Engine, zone: str, begun: str, first: str, second: str
) -> None:
    start = datetime.fromisoformat(f"{begun}T12:00+00:00")
    plan = making.Plan(
        game="hexem",
        match="hexem1",
        players=(
            making.Player("Ann", ("a@example.org",)),
            making.Player("Bob", ("b@example.org",)),
        ),
        options={"board": BOARD},
        schedules=("weekly Sun 20:00",),
        zone=zone,
    )
    with store.writing(engine) as session:
        making.begin(session, plan, start)
    due = the_match(engine).deadline
    assert due == datetime.fromisoformat(f"{first}+00:00")
    idle(engine, now=start)
    run(engine, due)
    later = the_match(engine).deadline
    assert later == datetime.fromisoformat(f"{second}+00:00")
    assert later.astimezone(ZoneInfo(zone)).hour == 20


@pytest.mark.parametrize(
    ("time", "utc", "odd"),
    [
        ("2027-03-28T02:30", "2027-03-28T01:00+00:00", "skip that time: 03:00 is meant"),
        ("2027-10-31T02:30", "2027-10-31T00:30+00:00", "show that time twice: the first"),
        ("2027-03-28T03:30", "2027-03-28T01:30+00:00", ""),
    ],
)
def test_a_time_that_the_clock_skips_or_shows_twice_is_told_and_decided(
    match: str, engine: Engine, time: str, utc: str, odd: str
) -> None:
    told = said(engine, f"DEADLINE {time}", NOW)
    assert odd in told
    assert ("clocks of" in told) == bool(odd)
    assert the_match(engine).deadline == datetime.fromisoformat(utc)


def test_off_for_less_than_a_phase_it_runs_once_with_a_deadline_that_makes_sense(
    engine: Engine,
) -> None:
    _second_turn(engine)
    sheet(engine, "Ann", "", AFTER)
    sheet(engine, "Bob", "", AFTER)
    saturday = DEADLINE + WEEK + 6 * DAY
    assert run(engine, saturday) == ["ran"]
    # The next Sunday is tomorrow: that would be no phase.
    assert the_match(engine).deadline == DEADLINE + 3 * WEEK
    assert run(engine, saturday + MINUTE) == []


def test_off_for_more_than_a_phase_it_waits_for_resume_and_runs_no_turns_in_a_row(
    engine: Engine,
) -> None:
    _second_turn(engine)
    idle(engine, now=AFTER)
    back = DEADLINE + 5 * WEEK + DAY
    assert run(engine, back) == ["overdue"]
    assert run(engine, back + MINUTE) == ["overdue"]
    assert told_gm(engine) == ["A match waits for a new deadline"]
    with opened(engine) as (session, row):
        assert brakes.overdue(session, back) == ["hexem1"]
        deadline = brakes.resume(session, row, back)
    assert deadline == DEADLINE + 6 * WEEK
    assert run(engine, back + 2 * MINUTE) == []
    assert run(engine, DEADLINE + 6 * WEEK) == ["ran"]
    assert the_match(engine).turn == 2


def test_after_resume_an_outage_is_measured_by_the_phase_that_began_with_it(
    engine: Engine,
) -> None:
    _second_turn(engine)
    idle(engine, now=AFTER)
    back = DEADLINE + 5 * WEEK + DAY
    with opened(engine) as (session, row):
        assert brakes.resume(session, row, back) == DEADLINE + 6 * WEEK
    assert run(engine, DEADLINE + 6 * WEEK + 6 * DAY + MINUTE) == ["overdue"]


def test_a_schedule_that_is_changed_never_makes_a_past_date_due(match: str, engine: Engine) -> None:
    idle(engine)
    thursday = NOW + 2 * DAY
    told = said(engine, "SET schedule weekly Wed 20:00", thursday)
    assert the_match(engine).deadline == datetime(2026, 12, 9, 19, 0, tzinfo=UTC)
    assert "The deadline is Wed 2026-12-09 20:00" in told
    assert run(engine, thursday + MINUTE) == []
    assert letters(engine, "deadline", to="Ann")


def test_a_turn_that_fails_is_held_and_the_game_master_is_told(
    match: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    def broken(*_: object) -> object:
        raise ZeroDivisionError("in the rules")

    idle(engine)
    with monkeypatch.context() as patched:
        patched.setattr(hexem, "adjudicate", broken)
        assert [*run(engine, AFTER), *run(engine, AFTER), *run(engine, AFTER)] == [
            "failed",
            "failed",
            "held",
        ]
    assert told_gm(engine) == ["hexem1 is held: its turn fails"]
    assert [one.facts["why"] for one in history(engine, "held")] == [
        "ZeroDivisionError: in the rules"
    ]
    order(engine, "RELEASE", AFTER + HOUR)
    assert run(engine, DEADLINE + WEEK) == ["ran"]


def test_where_a_deadline_is_moved_tries_that_failed_count_no_more(
    match: str, engine: Engine
) -> None:
    with opened(engine) as (_, row):
        row.tries, row.why = 1, "KeyError: 'x'"
    said(engine, "EXTEND 1d", NOW)
    row = the_match(engine)
    assert (row.tries, row.why) == (0, "")
