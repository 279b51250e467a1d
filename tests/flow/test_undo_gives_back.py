"""UNDO: a turn taken back leaves every row as it was before the turn, what it used up included."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select

from pbem import game as games
from pbem import making, matches, players, store
from pbem.store import Absence
from pbem.store.tables import Base
from tests.conftest import NOW, begin, idle
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
    run,
    said,
    sheet,
    the_match,
    turn,
)

AFTER = DEADLINE + MINUTE
PEOPLE = ("Ann", "Bob", "Cleo")
# What tells of what was, or goes by the clock: a phase that begins anew has a deadline to come,
# and is not run at once because somebody was ready for it.
TELLS = ("history", "letters", "marks", "turns")
CLOCK = ("deadline", "began", "reminded", "alarm", "early")


def _rows(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """All rows of the database, by table, less what tells of the past or goes by the clock."""
    kept: dict[str, list[dict[str, Any]]] = {}
    with store.reading(engine) as session:
        for table in Base.metadata.sorted_tables:
            rows = session.execute(select(table).order_by(*table.primary_key)).mappings()
            found = [dict(row) for row in rows]
            if table.name == "turns":
                found = [row for row in found if row["live"]]
            elif table.name in TELLS:
                continue
            passing = CLOCK if table.name == "matches" else ("ready",)
            kept[table.name] = [
                {name: value for name, value in row.items() if name not in passing} for row in found
            ]
    return kept


def _begin(engine: Engine, key: str, **options: object) -> None:
    if key == "offices":
        options["rounds"] = 4
    plan = making.Plan(
        game=key,
        match="match1",
        players=tuple(making.Player(one, (f"{one.lower()}@example.org",)) for one in PEOPLE),
        options={"seed": "a secret", "absences": 20, "late": "next", "early": "ready", **options},
        schedules=("weekly Sun 20:00",),
        zone="Europe/Berlin",
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)


def _orders(engine: Engine, seat: str) -> str:
    """What a scripted player would order; nothing where the seat has nothing to decide."""
    with opened(engine, "match1") as (session, row):
        phase = matches.phase(session, row)
        bot = games.optional(phase.game, "bot")
        if seat not in phase.waiting:
            return ""
        return str(bot(phase.state, seat, games.chance("players", row.turn, seat)))


@pytest.mark.parametrize("key", sorted(games.installed()))
def test_undo_leaves_every_row_as_it_was_before_the_turn(engine: Engine, key: str) -> None:
    """With absences used and not, a standing sheet, a late one, READY, the first turn put off."""
    _begin(engine, key)
    sheet(engine, "Ann", _orders(engine, "Ann"), NOW, match="match1")
    sheet(engine, "Bob", _orders(engine, "Bob"), NOW, match="match1", standing=True)
    assert run(engine, AFTER) == ["waiting"]
    assert the_match(engine, "match1").put_off
    second = DEADLINE + WEEK
    for first, last in (("2026-12-19", "2026-12-22"), ("2027-01-02", "2027-01-04")):
        do(engine, "Bob", players.absent, first, last, AFTER, match="match1")
    do(engine, "Cleo", players.absent, "2026-12-23", "2026-12-24", AFTER, match="match1")
    sheet(engine, "Cleo", _orders(engine, "Cleo"), second - HOUR, match="match1")
    for seat in ("Ann", "Bob"):
        do(engine, seat, players.ready, True, match="match1")
    late = sheet(engine, "Ann", _orders(engine, "Ann"), second + MINUTE, match="match1")
    assert late == "late"
    before = _rows(engine)
    at = second + 2 * MINUTE
    assert run(engine, at) == ["ran"]
    # Behind Bob's days there are Cleo's, and behind those is the deadline.
    deadline = the_match(engine, "match1").deadline
    assert deadline == datetime(2026, 12, 25, 19, 0, tzinfo=UTC)
    assert _rows(engine) != before
    said(engine, "UNDO", at + HOUR, "match1")
    after = _rows(engine)
    # The phase that begins anew has a deadline of its own, which falls into the same days.
    for row in (*before["absences"][:1], *before["absences"][2:]):
        row["moved"] = True
    assert after == before
    stands = the_match(engine, "match1")
    assert stands.deadline == deadline
    assert not any(seat.ready for seat in stands.seats)
    assert run(engine, at + HOUR) == []


@pytest.mark.parametrize("key", sorted(games.installed()))
def test_undo_two_turns_and_run_them_again_uses_the_same_absences_and_late_sheets(
    engine: Engine, key: str
) -> None:
    _begin(engine, key, early="never")
    for seat in PEOPLE:
        sheet(engine, seat, _orders(engine, seat), NOW, match="match1", standing=seat != "Ann")
    do(engine, "Bob", players.absent, "2026-12-20", "2026-12-21", NOW, match="match1")
    sheet(engine, "Ann", "", DEADLINE + MINUTE, match="match1")
    at = AFTER
    ends = []
    for _ in range(2):
        assert run(engine, at) == ["ran"]
        deadline = the_match(engine, "match1").deadline
        assert deadline is not None
        ends.append(deadline)
        at = deadline + MINUTE
    played = [turn(engine, number, "match1") for number in (1, 2)]
    rows = _rows(engine)
    said(engine, "UNDO 2", AFTER, "match1")
    assert _moved(engine) == []
    said(engine, "RUN NOW", AFTER, "match1")
    assert run(engine, AFTER) == ["ran"]
    at = ends[0] + MINUTE
    assert run(engine, at) == ["ran"]
    assert _moved(engine) == ["2026-12-20"]
    again = [turn(engine, number, "match1") for number in (1, 2)]
    assert [(one.state, one.orders) for one in again] == [(one.state, one.orders) for one in played]
    assert the_match(engine, "match1").deadline == ends[1]
    assert {**_rows(engine), "turns": []} == {**rows, "turns": []}


def _moved(engine: Engine) -> list[str]:
    """The first days of the absences that have moved a deadline."""
    with store.reading(engine) as session:
        query = select(Absence).where(Absence.moved).order_by(Absence.first)
        return [str(one.first) for one in session.scalars(query)]


def _absent_at_the_second_deadline(engine: Engine) -> None:
    """Bob is away when the second phase would end; the first has been run."""
    begin(engine, absences=7)
    idle(engine)
    do(engine, "Bob", players.absent, "2026-12-12", "2026-12-14", NOW)
    run(engine, AFTER)
    assert the_match(engine).deadline == datetime(2026, 12, 15, 19, 0, tzinfo=UTC)
    assert _moved(engine) == ["2026-12-12"]


def test_undo_gives_an_absence_back_that_the_deadline_of_the_turn_used_up(engine: Engine) -> None:
    _absent_at_the_second_deadline(engine)
    # His days are near: the first phase, which begins anew, ends within them too.
    said(engine, "UNDO", AFTER + 3 * DAY)
    assert the_match(engine).deadline == datetime(2026, 12, 15, 19, 0, tzinfo=UTC)
    said(engine, "DEADLINE 2026-12-11 12:00", AFTER + 3 * DAY)
    run(engine, datetime(2026, 12, 11, 11, 1, tzinfo=UTC))
    # It has moved one deadline, and moves no other.
    assert the_match(engine).deadline == DEADLINE + 2 * WEEK


def test_undo_an_absence_given_back_moves_the_deadline_again(engine: Engine) -> None:
    begin(engine, absences=7)
    idle(engine)
    do(engine, "Bob", players.absent, "2026-12-19", "2026-12-21", NOW)
    for number, at in ((0, AFTER), (1, AFTER + WEEK), (0, AFTER + 8 * DAY)):
        for seat in ("Ann", "Bob"):
            sheet(engine, seat, "", at - HOUR)
        said(engine, "RUN NOW", at)
        assert run(engine, at) == ["ran"]
        if number:
            assert _moved(engine) == ["2026-12-19"]
            said(engine, "UNDO 2", AFTER + 7 * DAY + HOUR)
            said(engine, "DEADLINE 2026-12-15 12:00", AFTER + 7 * DAY + HOUR)
    facts = [one.facts for one in history(engine, "away")]
    assert [one["turn"] for one in facts] == [2, 0]


def test_undo_an_absence_that_an_earlier_deadline_used_stays_used(engine: Engine) -> None:
    _absent_at_the_second_deadline(engine)
    at = datetime(2026, 12, 15, 19, 1, tzinfo=UTC)
    for seat in ("Ann", "Bob"):
        sheet(engine, seat, "", at - HOUR)
    run(engine, at)
    said(engine, "UNDO", at + HOUR)
    assert _moved(engine) == ["2026-12-12"]


def test_undo_the_deadline_it_sets_is_behind_an_absence_that_the_phase_waited_for(
    engine: Engine,
) -> None:
    _absent_at_the_second_deadline(engine)
    at = datetime(2026, 12, 8, 12, 0, tzinfo=UTC)
    for seat in ("Ann", "Bob"):
        sheet(engine, seat, "", at)
    said(engine, "RUN NOW", at)
    run(engine, at)
    said(engine, "UNDO", at + HOUR)
    assert the_match(engine).deadline == datetime(2026, 12, 15, 19, 0, tzinfo=UTC)
    assert _moved(engine) == ["2026-12-12"]


def test_a_deadline_that_is_set_anew_heeds_the_absence_that_its_phase_has_waited_for(
    engine: Engine,
) -> None:
    _absent_at_the_second_deadline(engine)
    # Monday is the second of Bob's three days.
    said(engine, "SET schedule weekly Mon 20:00", datetime(2026, 12, 10, 12, 0, tzinfo=UTC))
    assert the_match(engine).deadline == datetime(2026, 12, 15, 19, 0, tzinfo=UTC)
    for seat in ("Ann", "Bob"):
        sheet(engine, seat, "", AFTER + DAY)
    at = datetime(2026, 12, 10, 13, 0, tzinfo=UTC)
    said(engine, "RUN NOW", at)
    run(engine, at)
    # It was that phase's, and is no other's.
    said(engine, "SET schedule weekly Mon 21:00", at)
    assert the_match(engine).deadline == datetime(2026, 12, 14, 20, 0, tzinfo=UTC)


def test_undo_where_all_are_ready_says_that_they_are_no_more(engine: Engine) -> None:
    begin(engine, early="ready")
    idle(engine)
    for seat in ("Ann", "Bob"):
        do(engine, seat, players.ready, True)
    assert run(engine, NOW + HOUR) == ["ran"]
    said(engine, "UNDO", NOW + 2 * HOUR)
    whys = {one.facts["why"] for one in letters(engine, "deadline")}
    assert whys == {
        "The game master took back the last turn: the match stands as it stood after turn 0. The "
        "orders sent for it stand again; a new sheet replaces yours. Nobody is ready for it yet."
    }


def test_undo_gives_an_absence_back_that_was_declared_after_the_turn(engine: Engine) -> None:
    begin(engine, absences=7)
    idle(engine)
    run(engine, AFTER)
    do(engine, "Bob", players.absent, "2026-12-13", "2026-12-14", AFTER)
    said(engine, "UNDO", AFTER + HOUR)
    # The phase before is over at that time too.
    assert the_match(engine).deadline == datetime(2026, 12, 15, 19, 0, tzinfo=UTC)
    assert [one.facts["turn"] for one in history(engine, "away")] == [1, 0]


def test_undo_a_late_sheet_counts_for_the_next_turn_again_or_where_the_deadline_is_moved(
    engine: Engine,
) -> None:
    begin(engine, late="next")
    idle(engine)
    assert sheet(engine, "Ann", "BID x 2", DEADLINE + MINUTE / 2) == "late"
    run(engine, AFTER)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == "BID x 2"
    said(engine, "UNDO", AFTER)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == ""
    said(engine, "RUN NOW", AFTER)
    run(engine, AFTER)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == "BID x 2"
    said(engine, "UNDO", AFTER)
    said(engine, "EXTEND 1d", AFTER)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == "BID x 2"


def test_undo_a_sheet_sent_for_the_turn_after_stays_one_for_it(engine: Engine) -> None:
    begin(engine, late="next")
    idle(engine)
    run(engine, AFTER)
    sheet(engine, "Ann", "MUSTER A1", AFTER + timedelta(seconds=1))
    said(engine, "UNDO", AFTER + HOUR)
    said(engine, "EXTEND 1d", AFTER + HOUR)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == ""


def test_undo_a_sheet_sent_for_a_turn_that_was_taken_back_before_stays_one_for_it(
    engine: Engine,
) -> None:
    begin(engine, late="next")
    idle(engine)
    run(engine, AFTER)
    sheet(engine, "Ann", "MUSTER A1", AFTER + HOUR)
    for at in (AFTER + 2 * HOUR, AFTER + 3 * HOUR):
        said(engine, "UNDO", at)
        sheet(engine, "Bob", "BID y 1", at + MINUTE)
        said(engine, "RUN NOW", at + MINUTE)
        run(engine, at + MINUTE)
    said(engine, "UNDO", AFTER + 4 * HOUR)
    said(engine, "EXTEND 1d", AFTER + 4 * HOUR)
    with opened(engine) as (session, row):
        sheets = matches.phase(session, row).sheets
        assert [sheets[seat].text for seat in ("Ann", "Bob")] == ["", "BID y 1"]


def test_undo_a_sheet_late_for_a_turn_that_was_run_again_is_late_for_it_again(
    engine: Engine,
) -> None:
    begin(engine, late="next")
    idle(engine)
    run(engine, AFTER)
    said(engine, "UNDO", AFTER + HOUR)
    said(engine, "DEADLINE 2026-12-07 12:00", AFTER + HOUR)
    due = datetime(2026, 12, 7, 11, 0, tzinfo=UTC)
    assert sheet(engine, "Ann", "BID x 2", due + MINUTE) == "late"
    run(engine, due + MINUTE)
    said(engine, "UNDO", due + HOUR)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == ""
    said(engine, "EXTEND 1d", due + HOUR)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text == "BID x 2"


def test_undo_a_held_match_says_still_why_it_is_held(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    run(engine, AFTER)
    said(engine, "HOLD", AFTER + HOUR)
    said(engine, "UNDO", AFTER + 2 * HOUR)
    row = the_match(engine)
    assert (row.status, row.why) == ("held", "by the game master")
