"""A turn at its deadline: run once, in one transaction, with the sheets that count."""

import re
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, select, update
from sqlalchemy.orm import Session

from pbem import brakes, making, overview, store, turns
from pbem.matches import Phase
from pbem.store import Entry, Letter, Match, Turn
from tests.conftest import BOARD, NOW, Post, begin, idle, mail

# Sunday 20:00 in Berlin, in winter.
DEADLINE = datetime(2026, 12, 6, 19, 0, tzinfo=UTC)
AFTER = DEADLINE + timedelta(minutes=1)


def _match(engine: Engine, name: str = "hexem1") -> Match:
    with store.reading(engine) as session:
        row = store.match_named(session, name)
        assert row is not None
        return row


def _state(engine: Engine, number: int) -> dict[str, object]:
    with store.reading(engine) as session:
        row = store.match_named(session, "hexem1")
        assert row is not None
        turn = store.turn_of(session, row, number)
        assert turn is not None
        return turn.state


def test_a_new_match_has_a_state_a_deadline_and_a_welcome_a_seat(
    match: str, engine: Engine
) -> None:
    row = _match(engine)
    assert (row.status, row.phase, row.turn, row.deadline) == ("running", "countries", 0, DEADLINE)
    with store.reading(engine) as session:
        letters = session.scalars(select(Letter).order_by(Letter.id)).all()
        assert [(one.kind, one.recipient) for one in letters] == [
            ("welcome", "ann@example.org"),
            ("welcome", "bob@example.org"),
        ]


def test_nothing_runs_before_the_deadline(match: str, engine: Engine) -> None:
    assert turns.run_due(engine, DEADLINE - timedelta(seconds=1), NOW) == []
    assert _match(engine).turn == 0


def test_a_turn_runs_at_its_deadline_with_the_newest_sheets(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2", number=1))
    post(mail("BID y 2", number=2, sender="bob@example.org"))
    post(mail("BID x 3", number=3), NOW + timedelta(hours=2))
    assert turns.run_due(engine, AFTER, AFTER) == [turns.Ran("hexem1", "ran")]
    row = _match(engine)
    assert (row.turn, row.phase) == (1, "muster")
    assert row.deadline == DEADLINE + timedelta(days=7)
    hexes = _state(engine, 1)["hexes"]
    assert isinstance(hexes, dict)
    assert sum(one["armies"] for one in hexes.values() if one["owner"] == "Ann") == 9 - 3
    with store.reading(engine) as session:
        kept = session.scalars(select(Turn.orders).where(Turn.number == 1)).one()
        assert {seat: text.strip() for seat, text in kept.items()} == {
            "Ann": "BID x 3",
            "Bob": "BID y 2",
        }


def test_a_turn_runs_once_however_often_it_is_asked_for(match: str, engine: Engine) -> None:
    idle(engine)
    assert len(turns.run_due(engine, AFTER, AFTER)) == 1
    assert turns.run_due(engine, AFTER, AFTER) == []
    with store.reading(engine) as session:
        reports = select(func.count()).where(Letter.kind == "report")
        assert session.scalar(reports) == 2


def test_the_same_seed_and_orders_give_the_same_match(engine: Engine, post: Post) -> None:
    begin(engine, "hexem1", seed="one seed")
    begin(engine, "hexem2", seed="one seed")
    idle(engine, "hexem1")
    idle(engine, "hexem2")
    turns.run_due(engine, AFTER, AFTER)
    with store.reading(engine) as session:
        states = session.scalars(select(Turn.state).where(Turn.number == 1)).all()
        assert states[0] == states[1]


def test_who_sent_no_orders_is_in_the_history(match: str, engine: Engine, post: Post) -> None:
    idle(engine)
    turns.run_due(engine, AFTER, AFTER)
    post(mail("MUSTER A1"), AFTER + timedelta(hours=1))
    week = AFTER + timedelta(days=7)
    assert turns.run_due(engine, week, week) == [turns.Ran("hexem1", "ran")]
    with store.reading(engine) as session:
        missing = session.scalars(select(Entry.who).where(Entry.what == "no orders")).all()
        assert missing == ["Bob"]


def test_brake_a_mailbox_not_fetched_since_the_deadline_puts_the_turn_off(
    match: str, engine: Engine
) -> None:
    idle(engine)
    for fetched in (None, DEADLINE - timedelta(seconds=1)):
        (ran,) = turns.run_due(engine, AFTER, fetched)
        assert ran.outcome == "put off"
    assert _match(engine).turn == 0
    assert turns.run_due(engine, AFTER, DEADLINE)[0].outcome == "ran"


def test_brake_a_deadline_late_by_more_than_its_phase_waits_for_resume(
    match: str, engine: Engine
) -> None:
    idle(engine)
    phase = DEADLINE - NOW
    late = DEADLINE + phase + timedelta(seconds=1)
    (ran,) = turns.run_due(engine, late, late)
    assert ran.outcome == "overdue"
    assert "pbem resume hexem1" in ran.why
    with store.writing(engine) as session:
        row = store.match_named(session, "hexem1", lock=True)
        assert row is not None
        new = brakes.resume(session, row, late)
    assert new is not None
    assert new > late
    assert turns.run_due(engine, new, new)[0].outcome == "ran"


def test_a_deadline_late_by_less_than_its_phase_runs(match: str, engine: Engine) -> None:
    idle(engine)
    late = DEADLINE + (DEADLINE - NOW)
    assert turns.run_due(engine, late, late)[0].outcome == "ran"


def test_a_failing_turn_is_tried_three_times_then_held_and_others_go_on(
    match: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    begin(engine, "hexem2")
    idle(engine, "hexem1")
    idle(engine, "hexem2")
    honest = hexem.adjudicate

    def broken(state: object, orders: object, rng: object) -> object:
        if len(failed) < 3:
            failed.append(state)
            raise ZeroDivisionError("in the rules")
        return honest(state, orders, rng)

    failed: list[object] = []
    monkeypatch.setattr(hexem, "adjudicate", broken)
    outcomes = [
        [(ran.match, ran.outcome) for ran in turns.run_due(engine, AFTER, AFTER)],
        [(ran.match, ran.outcome) for ran in turns.run_due(engine, AFTER, AFTER)],
    ]
    assert outcomes == [
        [("hexem1", "failed"), ("hexem2", "failed")],
        [("hexem1", "failed"), ("hexem2", "ran")],
    ]
    failed.clear()
    failed.append(None)
    assert turns.run_due(engine, AFTER, AFTER)[0].outcome == "held"
    row = _match(engine)
    assert (row.status, row.turn) == ("held", 0)
    assert "in the rules" in row.why
    assert turns.run_due(engine, AFTER, AFTER) == []


def test_a_state_that_cannot_be_read_is_a_turn_that_fails_and_others_go_on(
    match: str, engine: Engine
) -> None:
    begin(engine, "hexem2")
    idle(engine, "hexem2")
    with store.writing(engine) as session:
        session.execute(update(Turn).where(Turn.match_id == 1).values(state={"phase": "none"}))
    assert [(ran.match, ran.outcome) for ran in turns.run_due(engine, AFTER, AFTER)] == [
        ("hexem1", "failed"),
        ("hexem2", "ran"),
    ]
    assert "phase is 'none'" in _match(engine).why


def test_a_turn_that_waits_counts_as_no_try(match: str, engine: Engine) -> None:
    assert turns.run_due(engine, AFTER, AFTER)[0].outcome == "waiting"
    assert _match(engine).tries == 0


def test_a_turn_that_ends_the_process_each_time_is_counted_then_held(
    match: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    idle(engine)
    monkeypatch.setattr(hexem, "adjudicate", lambda *_: sys.exit("killed"))
    for tries in range(1, turns.MOST_TRIES + 1):
        with pytest.raises(SystemExit):
            turns.run_due(engine, AFTER, AFTER)
        assert _match(engine).tries == tries
    assert turns.run_due(engine, AFTER, AFTER)[0].outcome == "held"
    row = _match(engine)
    assert (row.status, row.turn, row.tries) == ("held", 0, turns.MOST_TRIES)
    assert "the process ended each time" in row.why


@pytest.mark.parametrize("by_force", [False, True])
def test_one_turn_that_ends_the_process_is_held_and_those_counted_with_it_are_run(
    by_force: bool, match: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["hexem1", *(f"hexem{number}" for number in range(2, turns.TOGETHER + 3))]
    for name in names:
        if name != match:
            begin(engine, name)
        idle(engine, name)
    advance = turns.advance

    def deadly(session: Session, phase: Phase, now: datetime) -> None:
        if phase.match.name == "hexem2":
            sys.exit("killed")
        advance(session, phase, now)

    monkeypatch.setattr(turns, "advance", deadly)
    # On PostgreSQL the first time tells nothing of who it was, of those claimed together.
    together = engine.dialect.name == "postgresql"
    left = turns._CLAIMED if by_force and together else 0
    for tries in (turns._CLAIMED, 1, 2, 3) if together else (1, 2, 3):
        with pytest.raises(SystemExit):
            turns.run_due(engine, AFTER, AFTER)
        if left and tries == turns._CLAIMED:
            # Who is killed gives nothing back.
            waiting = update(Match).where(Match.turn == 0, Match.name != "hexem2")
            with store.writing(engine) as session:
                session.execute(waiting.values(tries=left))
        assert [_match(engine, name).tries for name in names[1:]] == [tries] + [left] * (
            len(names) - 2
        )
        assert [_match(engine, name).turn for name in names] == [1] + [0] * (len(names) - 1)
    ran = turns.run_due(engine, AFTER, AFTER)
    assert [(one.match, one.outcome) for one in ran] == [
        ("hexem2", "held"),
        *((name, "ran") for name in names[2:]),
    ]
    assert {_match(engine, name).tries for name in names[2:]} == {0}


@pytest.mark.parametrize(
    "ordered", [{"status": "held"}, {"deadline": AFTER + timedelta(days=1)}, {"turn": 1}]
)
def test_what_comes_between_seeing_a_turn_and_trying_it_is_heeded_and_counts_as_no_try(
    ordered: dict[str, Any], match: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle(engine)
    due = turns.due

    def late(session: Session, now: datetime) -> list[Match]:
        found = due(session, now)
        with store.writing(engine) as other:
            other.execute(update(Match).values(**ordered))
        return found

    monkeypatch.setattr(turns, "due", late)
    assert turns.run_due(engine, AFTER, AFTER) == []
    row = _match(engine)
    assert row.tries == 0
    assert {name: getattr(row, name) for name in ordered} == ordered


def test_a_turn_asks_for_what_it_needs_once_and_writes_it_once(match: str, engine: Engine) -> None:
    idle(engine)
    said: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    turns.run_due(engine, AFTER, AFTER)
    event.remove(engine, "before_cursor_execute", note)
    # What is claimed on PostgreSQL stands in no table.
    found = (re.search(r"\b(?:FROM|INTO|UPDATE)\s+(?!unnest)\w+", one) for one in said)
    assert Counter(" ".join(one[0].split()) for one in found if one) == {
        # It is found to be due, then run; its try is counted in between.
        "FROM matches": 2,
        "UPDATE matches": 2,
        "FROM turns": 1,
        "FROM seats": 1,
        "FROM sheets": 1,
        "INTO turns": 1,
        "INTO history": 1,
        "INTO letters": 1,
    }


def test_run_now_runs_before_the_deadline(match: str, engine: Engine) -> None:
    ran = turns.run(
        engine, "hexem1", NOW + timedelta(hours=1), NOW + timedelta(hours=1), early=True
    )
    assert ran == turns.Ran("hexem1", "ran")


def test_the_last_turn_ends_the_match_and_each_seat_is_told(engine: Engine) -> None:
    begin(engine, turns=1)
    idle(engine)
    turns.run_due(engine, AFTER, AFTER)
    idle(engine, now=AFTER)
    week = AFTER + timedelta(days=7)
    turns.run_due(engine, week, week)
    row = _match(engine)
    assert (row.status, row.phase, row.deadline) == ("over", "over", None)
    with store.reading(engine) as session:
        kinds = session.scalars(select(Letter.kind).order_by(Letter.id)).all()
        assert kinds == ["welcome"] * 2 + ["report"] * 2 + ["over"] * 2
        over = session.scalars(select(Entry).where(Entry.what == "over")).one()
        assert set(over.facts["winners"]) <= {"Ann", "Bob"}


def test_a_preview_stores_nothing_but_that_somebody_looked(
    match: str, engine: Engine, post: Post
) -> None:
    post(mail("BID x 2"))
    with store.writing(engine) as session:
        row = store.match_named(session, "hexem1")
        assert row is not None
        seen = overview.preview(session, row, NOW)
    assert seen["state"]["phase"] == "muster"
    assert _match(engine).turn == 0
    with store.reading(engine) as session:
        assert session.scalars(select(Entry.what).order_by(Entry.id.desc())).first() == "previewed"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "chess"}, "no game is called 'chess'; there are: .*hexem"),
        ({"zone": "Europe/Berlln"}, "no time zone is called 'Europe/Berlln'; did you mean"),
        ({"schedules": ("weekly Funday",)}, "schedule 'weekly Funday'"),
        ({"options": {"bord": "x"}}, "hexem has no option 'bord'; there are: board"),
        ({"options": {"board": "x3 ?"}}, "option board"),
        ({"options": {"board": BOARD, "turns": "many"}}, "option turns"),
        ({"options": {"trust": "blind"}}, "option trust: 'blind' is none of"),
        ({"match": "hexem1"}, "a match hexem1 is there already"),
        ({"players": ()}, "seats"),
    ],
)
def test_a_match_that_cannot_be_made_says_why_and_leaves_nothing(
    match: str, engine: Engine, change: dict[str, object], message: str
) -> None:
    players = (making.Player("Ann", ("a@example.org",)), making.Player("Bob", ("b@example.org",)))
    asked = {"game": "hexem", "match": "other", "players": players, "options": {}, **change}
    with pytest.raises(ValueError, match=message), store.writing(engine) as session:
        making.begin(session, making.Plan(**asked), NOW)  # type: ignore[arg-type]
    with store.reading(engine) as session:
        assert session.scalars(select(Match.name)).all() == ["hexem1"]
