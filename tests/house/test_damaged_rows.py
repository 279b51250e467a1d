"""What a SQLite database that somebody has written into by hand may hold."""

import pytest
from sqlalchemy import Engine, text

from pbem import outbox, rounds
from pbem.config import Config
from tests.conftest import NOW, begin, idle
from tests.flow.rig import DEADLINE, MINUTE, Office

_ABSENCE = (
    "INSERT INTO absences (seat_id, first, last, granted, moved, declared) "
    "VALUES (1, 'soon', '2026-12-01', 1, 0, '2026-12-01 00:00:00')"
)


@pytest.mark.parametrize(
    "damage", ["UPDATE matches SET settings = '{' WHERE name = 'broken'", _ABSENCE]
)
def test_a_row_that_cannot_be_read_stops_only_its_own_match(
    engine: Engine, house: Config, damage: str
) -> None:
    begin(engine, "broken")
    begin(engine, "sound")
    for name in ("broken", "sound"):
        idle(engine, name)
    with engine.connect() as connection:
        connection.execute(text(damage))
        connection.commit()
    result = outbox.flush(engine, house, Office(), NOW)
    assert (result.sent, result.later) == (2, 2)
    assert all("it can't be read: " in why for why in result.whys)
    ran = rounds.tick(engine, house, DEADLINE + MINUTE).ran
    assert {one.match: one.outcome for one in ran} == {"broken": "failed", "sound": "ran"}
