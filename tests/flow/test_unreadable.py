"""A match whose state can't be read harms itself alone, and its game master is told."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select, update

from pbem import matches, outbox, overview, rounds, store
from pbem.config import Config
from pbem.store import Letter, Match, Turn
from tests.conftest import NOW, begin
from tests.flow.rig import (
    DEADLINE,
    HOUR,
    MINUTE,
    WEEK,
    Office,
    letters,
    opened,
    refused,
    remind,
    run,
    said,
    told_gm,
)

NEAR = DEADLINE - HOUR
STATES: tuple[Any, ...] = ({}, [1], "x", 7, {"phase": "muster", "hexes": {"A1": 3}})


def damage(engine: Engine, state: object, name: str = "hexem1") -> None:
    """Put something else in the place of a match's last state."""
    with opened(engine, name) as (session, row):
        here = (Turn.match_id == row.id, Turn.number == row.turn)
        session.execute(update(Turn).where(*here).values(state=state))


@pytest.fixture(params=STATES, ids=str)
def two(request: pytest.FixtureRequest, engine: Engine) -> None:
    """Two matches: the first one's state can't be read."""
    begin(engine)
    begin(engine, "well")
    damage(engine, request.param)


@pytest.fixture
def flush(engine: Engine, house: Config) -> Callable[[], list[str]]:
    """Send all letters but the welcomes; return why some could not be."""

    def flush() -> list[str]:
        with store.writing(engine) as session:
            session.execute(update(Letter).where(Letter.kind == "welcome").values(status="sent"))
        return list(outbox.flush(engine, house, Office(), DEADLINE + HOUR).whys)

    return flush


@pytest.mark.usefixtures("two")
def test_a_state_that_cant_be_read_is_told_with_match_fault_and_remedy(engine: Engine) -> None:
    with opened(engine) as (session, row), pytest.raises(ValueError, match="hexem1") as caught:
        matches.phase(session, row)
    told = str(caught.value)
    assert told.startswith("hexem1: the state after turn 0 can't be read: ")
    assert told.endswith("; restore a backup")
    assert "\n" not in told


@pytest.mark.usefixtures("two")
def test_other_matches_are_reminded(engine: Engine) -> None:
    assert remind(engine, NEAR) == 2
    with store.reading(engine) as session:
        query = select(Letter.match_id).where(Letter.kind == "reminder").distinct()
        bad = select(Match.id).where(Match.name == "hexem1")
        assert list(session.scalars(query)) != list(session.scalars(bad))
    assert remind(engine, NEAR + MINUTE) == 0


@pytest.mark.parametrize("setting", ["soon", "", 5, [1], {"a": 1}])
def test_a_setting_that_cant_be_read_keeps_nobody_else_from_being_reminded(
    engine: Engine, setting: object
) -> None:
    begin(engine)
    begin(engine, "well")
    with opened(engine) as (_, row):
        row.settings = {**row.settings, "remind": setting}
        bad = row.id
    remind(engine, NEAR)
    seats = [one for one in letters(engine, "reminder") if one.match_id != bad]
    assert len(seats) == 2


@pytest.mark.usefixtures("two")
def test_a_tick_serves_the_others_and_holds_the_match(engine: Engine, house: Config) -> None:
    with opened(engine, "well") as (_, row):
        row.deadline = DEADLINE + WEEK
    done = [rounds.tick(engine, house, DEADLINE + number * MINUTE) for number in range(1, 5)]
    assert [[ran.outcome for ran in one.ran] for one in done] == [
        ["failed"],
        ["failed"],
        ["held"],
        [],
    ]
    assert [one.held for one in done] == [False, False, True, True]
    with store.reading(engine) as session:
        (stuck,) = [one for one in overview.status(session, DEADLINE)["stuck"] if "hexem1" in one]
    assert stuck.endswith("; restore a backup; then `pbem gm hexem1 RELEASE`, as it is held")
    assert told_gm(engine).count("hexem1 is held: its turn fails") == 1
    assert {one.status for one in letters(engine, "notice")} == {"sent"}
    with opened(engine, "well") as (_, row):
        welcomes = [one for one in letters(engine, "welcome") if one.match_id == row.id]
    assert [one.status for one in welcomes] == ["sent", "sent"]


@pytest.mark.usefixtures("two")
def test_a_match_that_its_game_master_holds_is_no_fault(engine: Engine, house: Config) -> None:
    said(engine, "HOLD", NOW, "well")
    assert not rounds.tick(engine, house, NOW).held


@pytest.mark.usefixtures("two")
def test_a_letter_to_a_seat_that_shows_no_turn_is_written(
    engine: Engine, flush: Callable[[], list[str]]
) -> None:
    said(engine, "SAY hello", NOW)
    assert flush() == []
    assert {one.status for one in letters(engine, "notice")} == {"sent"}


@pytest.mark.usefixtures("two")
def test_a_letter_that_shows_no_turn_knows_of_nothing_to_order(
    engine: Engine, house: Config
) -> None:
    due = {}
    for name in ("hexem1", "well"):
        with opened(engine, name) as (session, row):
            turn = store.turn_of(session, row)
            seats = [None, row.seats[0]]
            facts = [
                outbox.facts_of(session, house, row, turn, one, NOW, shown=False) for one in seats
            ]
            due[name] = [one["due"] for one in facts]
    assert due == {"hexem1": [False, False], "well": [False, True]}


@pytest.mark.usefixtures("two")
def test_status_shows_all_matches_and_says_which_cant_be_read(engine: Engine) -> None:
    with store.reading(engine) as session:
        found = overview.status(session, NOW)
    bad, well = found["matches"]
    assert (bad["match"], bad["sent"], bad["missing"]) == ("hexem1", [], [])
    assert bad["fault"].startswith("hexem1: the state after turn 0 can't be read: ")
    assert (well["missing"], well["fault"]) == (["Ann", "Bob"], "")
    assert bad["fault"] in found["stuck"]


@pytest.mark.usefixtures("two")
def test_the_game_masters_status_is_refused_in_one_line(engine: Engine) -> None:
    told = refused(engine, "STATUS", NOW)
    assert told.startswith("hexem1: the state after turn 0 can't be read: ")


def test_undo_mends_a_state_that_cant_be_read(engine: Engine) -> None:
    begin(engine)
    said(engine, "RUN NOW", NOW)
    assert run(engine, NOW) == ["ran"]
    damage(engine, [1])
    assert "; take it back with UNDO, or restore a backup" in refused(engine, "STATUS", NOW)
    said(engine, "UNDO", NOW)
    with opened(engine) as (session, row):
        assert matches.phase(session, row).missing == ("Ann", "Bob")
