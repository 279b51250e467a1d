"""Letters of a match are written one after the other by one process, which reads the match once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from pbem import outbox, store
from pbem.config import Config
from tests.conftest import NOW, begin
from tests.flow.rig import Office, opened, seat_of
from tests.workers.test_sharing import Interrupted, database, other, subjects

__all__ = ["database", "other"]


@contextmanager
def said(engine: Engine) -> Iterator[list[str]]:
    """Note what a database is asked."""
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine, "before_cursor_execute", note)


def test_a_match_is_read_once_for_all_its_letters(engine: Engine, house: Config) -> None:
    begin(engine, "one")
    begin(engine, "two")
    with said(engine) as statements:
        assert outbox.flush(engine, house, Office(), NOW).sent == 4
    for table in ("matches", "seats", "addresses", "history"):
        asked = [one for one in statements if f"FROM {table} " in " ".join(one.split())]
        assert len(asked) == 2, asked


def test_letters_of_a_match_that_another_is_at_come_last(
    engine: Engine, other: Engine, house: Config
) -> None:
    begin(engine, "second")
    outbox.flush(engine, house, Office(), NOW)
    for match, seat, about in (
        ("hexem1", "Ann", "one"),
        ("hexem1", "Bob", "two"),
        ("second", "Ann", "three"),
    ):
        with opened(engine, match) as (session, row):
            facts = {"about": about, "sentences": ["It is so."]}
            store.queue(session, "notice", facts, NOW, seat=seat_of(row, seat))
    second = Office()
    first = Interrupted(lambda: outbox.flush(other, house, second, NOW))
    outbox.flush(engine, house, first, NOW)
    assert subjects(first) == [("ann", "one")]
    assert subjects(second) == [("ann", "three"), ("bob", "two")]
