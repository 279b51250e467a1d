"""UNDO and running again: byte-identical states and events, and letters that are alike."""

import json
import re
from datetime import datetime

import pytest
from sqlalchemy import Engine, select

from pbem import game as games
from pbem import making, matches, outbox, store
from pbem.config import Config
from pbem.store import Letter, Turn
from tests.conftest import NOW, begin, idle
from tests.flow.rig import (
    DEADLINE,
    HOUR,
    MINUTE,
    WEEK,
    history,
    letters,
    newest,
    opened,
    order,
    refused,
    run,
    said,
    sheet,
    the_match,
    turn,
)

AFTER = DEADLINE + MINUTE
PEOPLE = ("Ann", "Bob", "Cleo")


def _play(engine: Engine, key: str, phases: int, at: datetime = NOW) -> datetime:
    """Play phases with scripted players, each run by the game master; returns the time."""
    plan = making.Plan(
        game=key,
        match="match1",
        players=tuple(making.Player(one, (f"{one.lower()}@example.org",)) for one in PEOPLE),
        options={"seed": "a secret", **({"rounds": 4} if key == "offices" else {})},
        schedules=("weekly Sun 20:00",),
    )
    with store.writing(engine) as session:
        making.begin(session, plan, at)
    for _ in range(phases):
        at += HOUR
        _order(engine, key, at)
        at += HOUR
        said(engine, "RUN NOW", at, "match1")
        assert run(engine, at) == ["ran"]
    return at


def _order(engine: Engine, key: str, at: datetime) -> None:
    game = games.named(key)
    with opened(engine, "match1") as (session, row):
        phase = matches.phase(session, row)
        rng = games.chance("players", row.turn, "bots")
        bot, gm_bot = games.optional(game, "bot"), games.optional(game, "gm_bot")
        for seat in row.seats:
            if seat.name in phase.waiting:
                text = bot(phase.state, seat.name, rng)
                matches.file(session, row, seat, text, at)
        lines = gm_bot(phase.state, rng) if gm_bot else ""
    if lines:
        assert not any(done.refused for done in order(engine, lines, at, "match1"))


def _bytes(engine: Engine, numbers: range) -> list[str]:
    """States, events, orders and what was refused, as stored."""
    return [
        json.dumps([one.phase, one.state, one.events, one.orders, one.problems, one.missing])
        for one in (turn(engine, number, "match1") for number in numbers)
    ]


def _reports(engine: Engine, house: Config, after: int, at: datetime) -> list[bytes]:
    """The reports queued since a letter, as they leave."""
    with store.reading(engine) as session:
        query = select(Letter).where(
            Letter.id > after, Letter.kind.in_(("report", "over")), Letter.status == "queued"
        )
        return [
            outbox.compose(session, house, one, at)
            for one in session.scalars(query.order_by(Letter.id))
        ]


def _newest(engine: Engine) -> int:
    return letters(engine)[-1].id


@pytest.mark.parametrize("key", sorted(games.installed()))
def test_undo_three_turns_and_run_again_gives_byte_identical_states_and_events(
    engine: Engine, key: str
) -> None:
    at = _play(engine, key, 5)
    assert the_match(engine, "match1").turn == 5
    before = _bytes(engine, range(3, 6))
    told = said(engine, "UNDO 3", at + HOUR, "match1")
    assert "match1 stands after turn 2" in told
    assert the_match(engine, "match1").turn == 2
    for _ in range(3):
        at += 2 * HOUR
        said(engine, "RUN NOW", at, "match1")
        assert run(engine, at) == ["ran"]
    assert _bytes(engine, range(3, 6)) == before


def test_under_the_same_clock_the_reports_are_alike_to_the_byte_but_for_message_ids(
    engine: Engine, house: Config
) -> None:
    begin(engine)
    idle(engine)
    sheet(engine, "Ann", "BID x 2", NOW)
    mark = _newest(engine)
    run(engine, AFTER)
    first = _reports(engine, house, mark, AFTER)
    deadline = the_match(engine).deadline
    mark = _newest(engine)
    said(engine, "UNDO", AFTER)
    said(engine, "RUN NOW", AFTER)
    run(engine, AFTER)
    again = _reports(engine, house, mark, AFTER)
    assert the_match(engine).deadline == deadline
    assert len(first) == len(again) == 2
    assert first != again
    for one, other in zip(first, again, strict=True):
        assert _without_ids(one) == _without_ids(other)


def _without_ids(raw: bytes) -> bytes:
    """A letter without its Message-ID, and without the boundaries that are made from it."""
    raw = re.sub(rb"(?m)^Message-ID: .*$", b"", raw)
    return re.sub(rb"=_[0-9a-f]{32}", b"", raw)


def test_undo_the_orders_stand_again_and_a_new_sheet_replaces_one(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    sheet(engine, "Ann", "BID x 2", NOW)
    run(engine, AFTER)
    said(engine, "UNDO 1", AFTER + HOUR)
    # Nothing is run by itself, though all orders are there.
    assert run(engine, AFTER + HOUR) == []
    sheet(engine, "Bob", "BID y 1", AFTER + HOUR)
    said(engine, "RUN NOW", AFTER + HOUR)
    run(engine, AFTER + HOUR)
    assert turn(engine, 1).orders == {"Ann": "BID x 2", "Bob": "BID y 1"}


def test_undo_does_not_run_at_once_where_turns_are_run_when_all_are_in(engine: Engine) -> None:
    begin(engine, early="all-in")
    idle(engine)
    assert run(engine, NOW + HOUR) == ["ran"]
    said(engine, "UNDO", NOW + 2 * HOUR)
    assert run(engine, NOW + 2 * HOUR) == []


def test_undo_all_are_told_and_reports_not_yet_sent_are_dropped(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    run(engine, AFTER)
    said(engine, "UNDO", AFTER + MINUTE)
    assert {one.status for one in letters(engine, "report")} == {"dropped"}
    whys = [one.facts["why"] for one in letters(engine, "deadline")]
    assert len(whys) == 2
    assert whys[0] == (
        "The game master took back the last turn: the match stands as it stood after turn 0. "
        "The orders sent for it stand again; a new sheet replaces yours."
    )
    assert history(engine, "undone")[0].facts == {"turns": 1, "back_to": 0}


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "Turn 4 was taken back"),
        (2, "Turns 3 and 4 were taken back"),
        (4, "Turns 1 to 4 were taken back"),
    ],
)
def test_undo_is_told_by_the_turns_that_were_taken_back(
    engine: Engine, house: Config, count: int, told: str
) -> None:
    at = _play(engine, "hexem", 4)
    said(engine, f"UNDO {count}", at, "match1")
    letter, text = newest(engine, house, "deadline", at)
    assert letter["Subject"] == f"[match1] {told}"
    html = letter.get_body(("html",))
    assert html is not None
    # A new deadline stands below, for those who have something to decide.
    for body in (text, " ".join(html.get_content().split())):
        assert f"{told}." in body
        assert "The deadline" not in body
        assert "Orders are due" in body


def test_undo_brings_an_ended_match_back_and_takes_back_the_end(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    said(engine, "END", NOW + HOUR)
    run(engine, NOW + HOUR)
    assert the_match(engine).status == "over"
    said(engine, "UNDO", NOW + 2 * HOUR)
    row = the_match(engine)
    assert (row.status, row.phase, row.deadline) == ("running", "countries", DEADLINE)
    assert run(engine, AFTER) == ["ran"]
    assert the_match(engine).phase == "muster"


def test_undo_what_was_undone_is_kept_and_counts_no_more(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    run(engine, AFTER)
    said(engine, "UNDO", AFTER + HOUR)
    said(engine, "RUN NOW", AFTER + HOUR)
    run(engine, AFTER + HOUR)
    with store.reading(engine) as session:
        kept = session.scalars(select(Turn).order_by(Turn.id)).all()
        assert [(one.number, one.live) for one in kept] == [(0, True), (1, None), (1, True)]


def test_undo_more_turns_than_were_run_is_refused(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    run(engine, AFTER)
    assert "hexem1 has run 1 turn; 2 can't be taken back" in refused(engine, "UNDO 2", AFTER)
    assert "0 can't be taken back" in refused(engine, "UNDO 0", AFTER)
    assert the_match(engine).turn == 1


def test_undo_orders_sent_for_the_turn_after_stand_when_it_comes_again(engine: Engine) -> None:
    begin(engine)
    idle(engine)
    run(engine, AFTER)
    sheet(engine, "Ann", "MUSTER A1", AFTER + HOUR)
    said(engine, "UNDO", AFTER + 2 * HOUR)
    said(engine, "RUN NOW", AFTER + 2 * HOUR)
    run(engine, AFTER + 2 * HOUR)
    sheet(engine, "Bob", "", AFTER + 3 * HOUR)
    run(engine, DEADLINE + WEEK)
    assert turn(engine, 2).orders["Ann"] == "MUSTER A1"


def test_undo_standing_orders_given_later_do_not_change_a_turn_before_them(
    engine: Engine,
) -> None:
    begin(engine)
    idle(engine)
    run(engine, AFTER)
    sheet(engine, "Ann", "", AFTER)
    run(engine, AFTER + WEEK)
    sheet(engine, "Ann", "", AFTER + WEEK)
    sheet(engine, "Bob", "MUSTER A1", AFTER + WEEK, standing=True)
    run(engine, AFTER + 2 * WEEK)
    assert turn(engine, 2).orders == {"Ann": ""}
    at = AFTER + 2 * WEEK + HOUR
    said(engine, "UNDO 2", at)
    said(engine, "RUN NOW", at)
    run(engine, at)
    assert turn(engine, 2).orders == {"Ann": ""}
