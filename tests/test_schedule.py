"""Schedules, durations, pauses and deadlines as letters tell them (life.md, Deadlines)."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import schedule
from pbem.schedule import After, Every, Schedule, Weekly, next_deadline, parse, parse_all

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
EVERY_DAY = tuple(range(7))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def deadline(text: str, now: str, zone: ZoneInfo = BERLIN, *pauses: str) -> str:
    """Return the next deadline as the wall clock of the zone shows it."""
    spans = [schedule.parse_pause(pause) for pause in pauses]
    moment = next_deadline(parse_all([text]), "muster", utc(now), zone, spans)
    assert moment is not None
    assert moment.tzinfo is UTC
    return moment.astimezone(zone).isoformat(" ")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("weekly Sun 20:00", Schedule("", Weekly((6,), time(20)))),
        ("Weekly sunday  8:05", Schedule("", Weekly((6,), time(8, 5)))),
        ("weekly Thu, Mon 20:00", Schedule("", Weekly((0, 3), time(20)))),
        ("every 3 days 20:00", Schedule("", Every(3, time(20)))),
        ("every 1 day 00:00", Schedule("", Every(1, time(0)))),
        ("after 48h", Schedule("", After(0, timedelta(hours=48)))),
        ("after 1w 12h", Schedule("", After(7, timedelta(hours=12)))),
        ("daily 07:30", Schedule("", Weekly(EVERY_DAY, time(7, 30)))),
        ("score: after 48h", Schedule("score", After(0, timedelta(hours=48)))),
        ("Decision:daily 20:00", Schedule("decision", Weekly(EVERY_DAY, time(20)))),
    ],
)
def test_a_schedule_is_read_as_written(text: str, meant: Schedule) -> None:
    assert parse(text) == meant


@pytest.mark.parametrize("text", ["daily", "weekly Sun", "every 2 days"])
def test_a_schedule_without_a_time_of_day_means_20_00(text: str) -> None:
    assert parse(text) == parse(f"{text} 20:00")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "that is no schedule; write 'weekly"),
        ("weekly", "that is no schedule; write 'weekly"),
        ("fortnightly Sun 20:00", "that is no schedule; write 'weekly"),
        ("after", "that is no schedule; write 'weekly"),
        ("every 3 weeks 20:00", "that is no schedule; write 'weekly"),
        ("weekly 20:00", "no weekday is named; write one, as in 'weekly Sun 20:00'"),
        ("weekly Sum 20:00", "'Sum' is no weekday; write one of Mon, Tue"),
        ("weekly Su 20:00", "'Su' is no weekday; write one of Mon, Tue"),
        ("weekly Sun 24:00", "'24:00' is no time of day; write it from 00:00 to 23:59"),
        ("daily 20:60", "'20:60' is no time of day; write"),
        ("daily 20:00 sharp", "'20:00 sharp' is no time of day; write"),
        ("every 0 days 20:00", "'0' is no number of days from 1 to 999; mend"),
        ("every x days 20:00", "'x' is no number of days from 1 to 999; mend"),
        ("after soon", "'soon' is no duration; write it as in 90m, 48h, 2d or 1w"),
        ("after -2h", "'-2h' is no duration; write"),
        ("after 0", "a phase must last longer than nothing; write"),
        ("after 999999999w", "'999999999w' is longer than ten years; write a shorter"),
        ("score: monthly", "that is no schedule; write 'weekly"),
    ],
)
def test_a_faulty_schedule_is_refused_in_a_line_with_fault_place_and_remedy(
    text: str, fault: str
) -> None:
    with pytest.raises(ValueError) as refused:
        parse(text)
    assert str(refused.value).startswith(f"schedule {text!r}: {fault}")
    assert "\n" not in str(refused.value)


def test_a_schedule_of_its_own_phase_beats_the_one_for_all() -> None:
    both = parse_all(["weekly Sun 20:00", "score: after 48h"])
    now = utc("2026-11-30T10:00:00")
    assert next_deadline(both, "score", now, BERLIN) == utc("2026-12-02T10:00:00")
    assert next_deadline(both, "bid", now, BERLIN) == utc("2026-12-06T19:00:00")


def test_a_phase_without_a_schedule_has_no_deadline() -> None:
    assert next_deadline(parse_all([]), "bid", utc("2026-11-30T10:00:00"), BERLIN) is None
    scores = parse_all(["score: daily"])
    assert next_deadline(scores, "bid", utc("2026-11-30T10:00:00"), BERLIN) is None


@pytest.mark.parametrize("texts", [["daily", "after 48h"], ["score: daily", "SCORE: after 2h"]])
def test_two_schedules_for_the_same_phase_are_refused(texts: list[str]) -> None:
    with pytest.raises(ValueError, match=r"it is the second one for .*; leave one out"):
        parse_all(texts)


@pytest.mark.parametrize(
    ("text", "now", "then"),
    [
        # 30 November 2026 is a Monday.
        ("weekly Sun 20:00", "2026-11-30T10:00:00", "2026-12-06 20:00:00+01:00"),
        ("weekly Mon 20:00", "2026-11-30T10:00:00", "2026-11-30 20:00:00+01:00"),
        ("weekly Mon 20:00", "2026-11-30T18:59:59", "2026-11-30 20:00:00+01:00"),
        ("weekly Mon 20:00", "2026-11-30T19:00:00", "2026-12-07 20:00:00+01:00"),
        ("weekly Mon 20:00", "2026-11-30T19:00:00.900000", "2026-12-07 20:00:00+01:00"),
        ("weekly Mon Thu 20:00", "2026-11-30T19:00:00", "2026-12-03 20:00:00+01:00"),
        ("daily 20:00", "2026-11-30T18:00:00", "2026-11-30 20:00:00+01:00"),
        ("daily 20:00", "2026-11-30T19:00:00", "2026-12-01 20:00:00+01:00"),
        # Shortly before midnight UTC it is the next date in Berlin.
        ("daily 00:30", "2026-11-30T23:10:00", "2026-12-01 00:30:00+01:00"),
        ("every 3 days 20:00", "2026-11-30T10:00:00", "2026-12-03 20:00:00+01:00"),
        ("every 3 days 20:00", "2026-11-30T22:59:59", "2026-12-03 20:00:00+01:00"),
        ("every 3 days 20:00", "2026-11-30T23:00:00", "2026-12-04 20:00:00+01:00"),
        ("after 48h", "2026-11-30T10:20:30.999", "2026-12-02 11:20:30+01:00"),
        ("after 90m", "2026-11-30T10:00:00", "2026-11-30 12:30:00+01:00"),
    ],
)
def test_the_next_deadline_is_the_first_its_schedule_gives_after_now(
    text: str, now: str, then: str
) -> None:
    assert deadline(text, now) == then


@pytest.mark.parametrize(
    ("text", "now", "then"),
    [
        # In Berlin the clock goes back on 25 October 2026 and forward on 28 March 2027.
        ("weekly Sun 20:00", "2026-10-18T18:00:00", "2026-10-25 20:00:00+01:00"),
        ("weekly Sun 20:00", "2027-03-21T19:00:00", "2027-03-28 20:00:00+02:00"),
        ("every 2 days 20:00", "2026-10-24T18:00:00", "2026-10-26 20:00:00+01:00"),
        ("after 1w", "2026-10-18T18:00:00", "2026-10-25 20:00:00+01:00"),
        ("after 2d", "2026-10-24T10:00:00", "2026-10-26 12:00:00+01:00"),
        ("after 48h", "2026-10-24T10:00:00", "2026-10-26 11:00:00+01:00"),
    ],
)
def test_days_keep_the_wall_clock_over_daylight_saving_and_hours_pass(
    text: str, now: str, then: str
) -> None:
    assert deadline(text, now) == then


@pytest.mark.parametrize(
    ("text", "now", "zone", "then"),
    [
        ("daily 02:00", "2027-03-27T12:00:00", BERLIN, "2027-03-28 03:00:00+02:00"),
        ("daily 02:30", "2027-03-27T12:00:00", BERLIN, "2027-03-28 03:00:00+02:00"),
        ("daily 02:59", "2027-03-27T12:00:00", BERLIN, "2027-03-28 03:00:00+02:00"),
        ("daily 03:00", "2027-03-27T12:00:00", BERLIN, "2027-03-28 03:00:00+02:00"),
        ("daily 02:30", "2026-03-07T12:00:00", NEW_YORK, "2026-03-08 03:00:00-04:00"),
        # Lord Howe's clock moves by half an hour, Beirut's at midnight.
        ("daily 02:10", "2026-10-03T12:00:00", ZoneInfo("Australia/Lord_Howe"),
         "2026-10-04 02:30:00+11:00"),
        ("daily 00:30", "2026-03-28T12:00:00", ZoneInfo("Asia/Beirut"),
         "2026-03-29 01:00:00+03:00"),
    ],
)  # fmt: skip
def test_a_time_that_the_clock_skips_means_the_first_moment_after_the_gap(
    text: str, now: str, zone: ZoneInfo, then: str
) -> None:
    assert deadline(text, now, zone) == then


def test_a_time_that_the_clock_shows_twice_means_the_first() -> None:
    assert deadline("daily 02:30", "2026-10-24T12:00:00") == "2026-10-25 02:30:00+02:00"
    # Between the two the first is past: the next one is tomorrow's.
    assert deadline("daily 02:30", "2026-10-25T00:30:00") == "2026-10-26 02:30:00+01:00"


def test_a_date_that_a_zone_skips_whole_is_passed_over() -> None:
    apia = ZoneInfo("Pacific/Apia")
    assert deadline("every 1 days 20:00", "2011-12-30T06:00:00", apia) == (
        "2011-12-31 00:00:00+14:00"
    )


@pytest.mark.parametrize(
    ("text", "now", "pauses", "then"),
    [
        ("weekly Sun 20:00", "2026-12-14T10:00:00", ("2026-12-20",), "2026-12-27 20:00:00+01:00"),
        ("weekly Sun 20:00", "2026-12-14T10:00:00", ("2026-12-20", "2026-12-24..2027-01-02"),
         "2027-01-03 20:00:00+01:00"),
        ("every 3 days 20:00", "2026-12-22T10:00:00", ("2026-12-24..2027-01-02",),
         "2027-01-03 20:00:00+01:00"),
        ("every 1 days 20:00", "2026-12-24T10:00:00", ("2026-12-24",), "2026-12-25 20:00:00+01:00"),
        ("after 48h", "2026-12-22T10:00:00", ("2026-12-24..2027-01-02",),
         "2027-01-03 11:00:00+01:00"),
        # What counts is the date on the wall: 23:30 UTC is the next day's there.
        ("after 1h", "2026-12-23T22:30:00", ("2026-12-24",), "2026-12-25 00:30:00+01:00"),
        ("after 1h", "2026-12-23T21:30:00", ("2026-12-24",), "2026-12-23 23:30:00+01:00"),
    ],
)  # fmt: skip
def test_a_deadline_is_never_on_a_date_in_pause(
    text: str, now: str, pauses: tuple[str, ...], then: str
) -> None:
    assert deadline(text, now, BERLIN, *pauses) == then


def test_a_pause_without_end_is_refused() -> None:
    for text in ("weekly Sun 20:00", "every 3 days", "after 48h"):
        with pytest.raises(ValueError, match=r"no date for a deadline .*; take one out"):
            deadline(text, "2026-12-14T10:00:00", BERLIN, "2026-01-01..9999-12-31")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Christmas", "that is no date; write 2026-12-24 or"),
        ("2026-12-24..", "that is no date; write 2026-12-24 or"),
        ("2026-02-30", "that is no date; write 2026-12-24 or"),
        ("2027-01-02..2026-12-24", "it ends before it begins; put the earlier date first"),
    ],
)
def test_a_faulty_pause_is_refused_with_a_remedy(text: str, fault: str) -> None:
    with pytest.raises(ValueError) as refused:
        schedule.parse_pause(text)
    assert str(refused.value).startswith(f"pause {text!r}: {fault}")


@settings(deadline=None)
@given(
    st.sampled_from(["weekly Sun 02:30", "daily 00:15", "every 2 days", "after 36h", "after 3d"]),
    st.integers(0, 15 * 366 * 86_400_000_000).map(
        lambda passed: utc("2020-01-01T00:00:00") + timedelta(microseconds=passed)
    ),
    st.sampled_from(["Europe/Berlin", "America/Sao_Paulo", "Africa/Casablanca", "Pacific/Apia"]),
    st.integers(1, 20),
)
def test_every_deadline_is_later_than_now_in_whole_seconds_and_on_no_paused_date(
    text: str, now: datetime, zone: str, days: int
) -> None:
    place = ZoneInfo(zone)
    today = now.astimezone(place).date()
    pause = schedule.Pause(today, today + timedelta(days=days))
    moment = next_deadline(parse_all([text]), "bid", now, place, [pause])
    assert moment is not None
    assert moment > now
    assert moment.microsecond == 0
    assert moment.astimezone(place).date() > pause.last


@pytest.mark.parametrize(
    ("text", "hours"),
    [("48h", 48), ("90m", 1.5), ("2d", 48), ("1w", 168), ("1d 12h", 36), ("2 Days", 48),
     ("36 hours", 36), ("30 minutes", 0.5), ("1d12h", 36), ("0", 0), (" 2h ", 2), ("1800s", 0.5)],
)  # fmt: skip
def test_a_duration_is_read_in_units_or_words(text: str, hours: float) -> None:
    assert schedule.parse_duration(text) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "48", "h", "-2h", "1.5h", "2h later", "1y", "9" * 400 + "h"])
def test_what_is_no_duration_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration; write it as in 90m, 48h, 2d or 1w"):
        schedule.parse_duration(text)


def test_a_duration_beyond_ten_years_is_refused() -> None:
    assert schedule.parse_duration("3660d") == timedelta(days=3660)
    with pytest.raises(ValueError, match="longer than ten years; write a shorter duration"):
        schedule.parse_duration("3660d 1s")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-12-06T20:00+01:00", "2026-12-06T19:00:00"),
        ("2026-12-06T20:00:00Z", "2026-12-06T20:00:00"),
        ("2026-12-06t20:00:00z", "2026-12-06T20:00:00"),
        ("2026-12-06 20:00 -05:00", "2026-12-07T01:00:00"),
        ("2026-12-06T20:00", "2026-12-06T19:00:00"),
        (" 2026-07-06 20:00 ", "2026-07-06T18:00:00"),
        ("2026-12-06T20:00:30.999+01:00", "2026-12-06T19:00:30"),
        ("2026-12-06T20:00:30.999", "2026-12-06T19:00:30"),
        # In the gap, and in the hour that comes twice.
        ("2027-03-28T02:30", "2027-03-28T01:00:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30:00"),
        ("2026-10-25T02:30+01:00", "2026-10-25T01:30:00"),
    ],
)
def test_a_time_is_iso_8601_and_without_offset_in_the_zone(text: str, moment: str) -> None:
    read = schedule.parse_time(text, BERLIN)
    assert (read, read.tzinfo) == (utc(moment), UTC)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "'' is no time; write it as 2026-12-06T20:00+01:00, or"),
        ("tomorrow", "'tomorrow' is no time; write"),
        ("2026-13-06T20:00", "'2026-13-06T20:00' is no time; write"),
        ("2026-12-06", "'2026-12-06' has no time of day; write"),
        ("0001-01-01T00:00+14:00", "'0001-01-01T00:00+14:00' is in no year from 1970 to 2199"),
        ("9999-12-31T23:59", "'9999-12-31T23:59' is in no year from 1970 to 2199"),
    ],
)
def test_what_is_no_time_is_refused_with_a_remedy_that_names_the_zone(
    text: str, fault: str
) -> None:
    with pytest.raises(ValueError) as refused:
        schedule.parse_time(text, BERLIN)
    assert str(refused.value).startswith(fault)
    assert str(refused.value).endswith("for the time in Europe/Berlin")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("Berlin", "did you mean Europe/Berlin?"),
        ("new york", "did you mean America/New_York?"),
        ("Eurpoe/Berlin", "did you mean Europe/Berlin"),
        ("", "write it as in Europe/Berlin"),
        ("Europe", "write it as in Europe/Berlin"),
        ("../etc/passwd", "write it as in Europe/Berlin"),
        ("/etc/localtime", "write it as in Europe/Berlin"),
        ("localtime", "write it as in Europe/Berlin"),
        ("x\0y", "write it as in Europe/Berlin"),
        ("Middle-earth", "write it as in Europe/Berlin"),
        ("\udcff", "write it as in Europe/Berlin"),
    ],
)
def test_an_unknown_zone_is_refused_and_a_near_one_suggested(name: str, remedy: str) -> None:
    with pytest.raises(ValueError) as refused:
        schedule.parse_zone(name)
    assert str(refused.value).startswith(f"no time zone is called {name!r}; {remedy}")


def test_a_known_zone_is_found() -> None:
    assert schedule.parse_zone("Europe/Berlin") == BERLIN


@pytest.mark.parametrize(
    ("zone", "now", "words"),
    [
        ("Europe/Berlin", "2026-12-01T15:59:30",
         "Sunday 6 December 2026, 20:00 (UTC+01:00, Europe/Berlin), in 5 days 3 hours"),
        ("America/St_Johns", "2026-12-06T17:48:00",
         "Sunday 6 December 2026, 15:30 (UTC-03:30, America/St_Johns), in 1 hour 12 minutes"),
        ("Asia/Tokyo", "2026-12-05T18:30:00",
         "Monday 7 December 2026, 04:00 (UTC+09:00, Asia/Tokyo), in 1 day"),
        ("UTC", "2026-12-06T18:58:59",
         "Sunday 6 December 2026, 19:00 (UTC+00:00, UTC), in 1 minute"),
        ("UTC", "2026-12-06T18:59:01",
         "Sunday 6 December 2026, 19:00 (UTC+00:00, UTC), in less than a minute"),
        ("UTC", "2026-12-06T19:00:59",
         "Sunday 6 December 2026, 19:00 (UTC+00:00, UTC), just now"),
        ("UTC", "2026-12-08T19:00:00",
         "Sunday 6 December 2026, 19:00 (UTC+00:00, UTC), 2 days ago"),
    ],
)  # fmt: skip
def test_a_letter_tells_the_deadline_in_the_readers_zone_with_offset_and_distance(
    zone: str, now: str, words: str
) -> None:
    told = schedule.told(utc("2026-12-06T19:00:00"), ZoneInfo(zone), utc(now))
    assert str(told) == words


def test_a_deadline_is_told_in_parts_for_templates() -> None:
    told = schedule.told(utc("2026-07-01T18:00:05"), BERLIN, utc("2026-06-29T15:30:00"))
    assert told.local == datetime(2026, 7, 1, 20, 0, 5, tzinfo=BERLIN)
    assert (told.offset, told.zone, told.past) == ("UTC+02:00", "Europe/Berlin", False)
    assert (told.days, told.hours, told.minutes) == (2, 2, 30)
    assert "20:00:05" in str(told)


@pytest.mark.parametrize(
    ("text", "now", "due"),
    [
        # A minute after its time a weekly phase begins: the next one is due in a week.
        ("weekly Sun 20:00", "2026-12-06T20:01", "2026-12-13T20:00"),
        # Six days late: a day would be no phase, so it is the Sunday after.
        ("weekly Sun 20:00", "2026-12-12T20:01", "2026-12-20T20:00"),
        # Half of the usual time is enough.
        ("weekly Sun 20:00", "2026-12-10T08:00", "2026-12-13T20:00"),
        ("weekly Sun 20:00", "2026-12-10T08:01", "2026-12-20T20:00"),
        ("daily 20:00", "2026-12-06T10:00", "2026-12-07T20:00"),
        ("daily 20:00", "2026-12-06T07:59", "2026-12-06T20:00"),
        ("every 3 days 20:00", "2026-12-06T23:59", "2026-12-09T20:00"),
        ("after 48h", "2026-12-06T10:00", "2026-12-08T10:00"),
    ],
)
def test_a_turn_run_late_or_early_leaves_half_of_a_usual_phase(
    text: str, now: str, due: str
) -> None:
    schedules = schedule.parse_all([text])
    found = schedule.fair_deadline(schedules, "muster", utc(now), ZoneInfo("UTC"))
    assert found == utc(due)


def test_without_a_schedule_no_deadline_is_fair() -> None:
    assert schedule.fair_deadline({}, "muster", datetime(2026, 1, 1, tzinfo=UTC), BERLIN) is None


def test_a_deadline_moved_behind_an_absence_keeps_its_time_of_day_and_the_pauses() -> None:
    deadline = schedule.parse_time("2027-03-26T20:00", BERLIN)
    pause = [schedule.parse_pause("2027-03-29..2027-03-30")]
    moved = schedule.day_after(deadline, date(2027, 3, 28), BERLIN, pause)
    assert moved == schedule.parse_time("2027-03-31T20:00", BERLIN)
    assert moved - deadline == timedelta(days=5) - timedelta(hours=1)
