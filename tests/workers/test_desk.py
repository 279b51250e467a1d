"""Letters of a match are written one after the other by one process, which reads many at once."""

import email
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from pbem import outbox, store
from pbem.config import Config
from pbem.outbox import desk
from tests.conftest import NOW, begin
from tests.flow.rig import Office, opened, seat_of
from tests.workers.test_sharing import Interrupted, database, other, told

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


def test_matches_are_read_more_and_more_at_once_for_all_their_letters(
    engine: Engine, house: Config
) -> None:
    count = 1 + 2 + 4 + 8 + 8
    for number in range(count):
        begin(engine, f"m{number}")
    with said(engine) as statements:
        assert outbox.flush(engine, house, Office(), NOW).sent == 2 * count
    for words in (
        "FROM matches ",
        "FROM seats ",
        "JOIN addresses ",
        "FROM turns ",
        "FROM history ",
    ):
        asked = [one for one in statements if words in " ".join(one.split())]
        assert len(asked) == 5, asked


def test_of_letters_that_leave_slowly_one_match_is_claimed_at_a_time(
    engine: Engine, house: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        begin(engine, f"m{number}")
    claimed = []
    take = store.Claim.take

    def noted(claim: store.Claim, works: Iterable[str]) -> list[str]:
        claimed.append(len(list(works)))
        return take(claim, works)

    monkeypatch.setattr(store.Claim, "take", noted)
    monkeypatch.setattr(desk, "FRESH", -1)
    assert outbox.flush(engine, house, Office(), NOW).sent == 8
    assert claimed == [1] * 8 + [0]


def test_each_letter_more_of_a_match_costs_one_statement(engine: Engine, house: Config) -> None:
    begin(engine)
    outbox.flush(engine, house, Office(), NOW)
    costs = []
    for count in (1, 6):
        told(engine, "Ann", *map(str, range(count)))
        with said(engine) as statements:
            assert outbox.flush(engine, house, Office(), NOW).sent == count
        costs.append(len(statements))
    assert costs[1] - costs[0] == 5


def test_letters_of_a_match_that_another_is_at_come_last(
    engine: Engine, other: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Office(), NOW)
    told(engine, "Ann", "one", "two")
    begin(engine, "second")
    with ExitStack() as hand:
        marks = hand.enter_context(store.connected(other, single=True))
        claim = hand.enter_context(closing(store.Claim(marks)))
        with opened(engine) as (_, match):
            assert claim.take([f"send {match.id}"])
        office = Interrupted(hand.close)
        assert outbox.flush(engine, house, office, NOW).sent == 4
    matches = [email.message_from_bytes(raw)["List-Id"].partition(".")[0] for _, raw in office.sent]
    assert matches == ["<second", "<second", "<hexem1", "<hexem1"]


def test_who_has_lost_his_seat_while_a_slow_server_is_sent_to_gets_no_more(
    engine: Engine, house: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(engine)
    outbox.flush(engine, house, Office(), NOW)
    told(engine, "Ann", "one", "two")

    def move() -> None:
        with opened(engine, "hexem1") as (_session, row):
            seat_of(row, "Ann").addresses[0].address = "new@example.org"

    monkeypatch.setattr(desk, "FRESH", -1)
    office = Interrupted(move)
    sent = outbox.flush(engine, house, office, NOW)
    assert (sent.sent, sent.dropped) == (1, 1)
    assert [to for to, _ in office.sent] == ["ann@example.org"]
