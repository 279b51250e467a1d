"""Turns: those due are run, each in one transaction.

What hinders a turn is told as it is found: the game master by a letter, once, and who called by
the outcome. The turns that the game master asks for, by mail or command, are marked in the match's
row and run here like those that are due.
"""

import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, bindparam, or_, select, update
from sqlalchemy.orm import Session, load_only

from pbem import brakes, deadlines, matches, players, store
from pbem import game as games
from pbem.brakes import Brake
from pbem.faults import Away, Damaged
from pbem.game import Played
from pbem.matches import Phase
from pbem.store import Match, Sheet

# How often a failing turn is tried before its match is held.
MOST_TRIES = 3

_SEEN = select(Match).options(
    load_only(Match.name, Match.turn, Match.tries, Match.deadline, Match.began),
    load_only(Match.waits_until, Match.early, Match.run_now),
)
_TRIED = select(Match.id).where(
    Match.id == bindparam("match"),
    Match.turn == bindparam("at"),
    Match.tries == bindparam("before"),
    Match.status == "running",
    Match.tries < MOST_TRIES,
)
# By whether a row that somebody has locked is waited for.
_COUNT = {
    wait: update(Match)
    .where(
        Match.id == _TRIED.with_for_update(key_share=True, skip_locked=not wait).scalar_subquery()
    )
    .values(tries=Match.tries + 1)
    for wait in (False, True)
}
# What becomes of a match that somebody else has in hand.
_TAKEN = "taken"


class Ran(NamedTuple):
    """What became of a match that was due.

    `outcome` is ran, failed, held, or what a `Brake` says. `news` tells whether it was found now;
    else the game master knows it already.
    """

    match: str
    outcome: str
    why: str = ""
    news: bool = True


def due(session: Session, now: datetime) -> list[Match]:
    """Return the running matches that are to be run, or looked at, the longest due first.

    No more is read of them than tells whether anything hinders them. One whose dates can't be read
    is due: its turn fails, and that is told.
    """
    query = _SEEN.where(
        Match.status == "running",
        or_(Match.deadline <= now, Match.deadline > store.LATEST, Match.early, Match.run_now),
        or_(
            Match.waits_until.is_(None),
            Match.waits_until <= now,
            Match.waits_until > store.LATEST,
            Match.early,
            Match.run_now,
        ),
    )
    return list(session.scalars(query.order_by(Match.deadline, Match.id)))


def run_due(
    engine: Engine, now: datetime, fetched: datetime | None, away: Sequence[str] = ()
) -> list[Ran]:
    """Run what is due, each match in a transaction of its own and at most one turn of each.

    `fetched` is when the last mailbox was taken in (`None`: one never was): a turn whose deadline
    is later is put off; `away` says why, of those that can't be reached. A turn that fails leaves
    its match as it was.
    """
    with store.reading(engine) as session:
        seen = due(session, now)
    if not seen:
        return []
    with _counting(engine) as counts, store.connected(engine) as writes:
        found = [_run(writes, counts, match, now, fetched, away, wait=False) for match in seen]
        taken = {one.match for one in found if one and one.outcome == _TAKEN}
        if taken:
            # Who had one in hand may only have looked at it, knowing of no fetch. What he has even
            # now is left to the next tick: a forgotten transaction must not hold up all the rest.
            with store.reading(engine) as session:
                again = [match for match in due(session, now) if match.name in taken]
            found += [_run(writes, counts, one, now, fetched, away, wait=False) for one in again]
    return [one for one in found if one and one.outcome != _TAKEN]


def run(
    engine: Engine,
    name: str,
    now: datetime,
    fetched: datetime | None,
    *,
    early: bool = False,
    away: Sequence[str] = (),
) -> Ran | None:
    """Run the phase a match is in, if it is due or `early`; `None` where there is nothing to do.

    Another process that runs it is waited for, and then nothing is left to do; what two were about
    to try at once is left to the next tick.
    """
    with store.reading(engine) as session:
        seen = session.scalar(_SEEN.where(Match.name == name))
    if seen is None:
        return None
    with _counting(engine) as counts:
        ran = _run(engine, counts, seen, now, fetched, away, wait=True, early=early)
    return None if ran and ran.outcome == _TAKEN else ran


def _counting(engine: Engine) -> AbstractContextManager[Connection]:
    """Open a connection to count tries by; a power cut is no fault of a turn."""
    return store.connected(engine, single=True, passing=True)


def _run(
    place: Engine | Connection,
    counts: Connection,
    seen: Match,
    now: datetime,
    fetched: datetime | None,
    away: Sequence[str],
    *,
    wait: bool,
    early: bool = False,
) -> Ran | None:
    """Run a match if its turn is still the one that was `seen`.

    Another process that has it in hand is waited for, or (without `wait`) left to it. The count of
    tries is committed before the try, so that a turn that kills the process is counted too.
    """
    name, turn = seen.name, seen.turn
    hindered = brakes.is_hindered(seen, now, fetched, _is_early(seen, early))
    counted = False
    try:
        with store.writing(place) as session:
            # On PostgreSQL nobody else counts a try meanwhile.
            if not store.hold(session, f"turn {name}", wait=wait):
                return Ran(name, _TAKEN)
            if not hindered:
                given = {"match": seen.id, "at": turn, "before": seen.tries}
                counted = counts.execute(_COUNT[wait], given).rowcount > 0
            match = store.match_named(session, name, lock=True, wait=wait or counted)
            if match is None and not wait:
                return Ran(name, _TAKEN)
            # Another process may have run it since it was seen.
            if match is None or match.turn != turn:
                return None
            if counted and match.tries != seen.tries + 1:
                # Two have counted their try before either began with it.
                _uncount(match)
                return Ran(name, _TAKEN)
            found = _found(session, match, now, fetched, away, early, counted)
            if isinstance(found, Phase):
                advance(session, found, now)
                return Ran(name, "ran")
            if counted:
                _uncount(match)
            return found
    except Away:
        if counted:
            # If the database can be reached again.
            with suppress(Away), store.writing(place) as session:
                match = store.match_named(session, name, lock=True)
                if match is not None and match.turn == turn:
                    _uncount(match)
        raise
    # A game that fails must not stop the other matches; what it said is kept.
    except Exception as error:
        why = str(error) if isinstance(error, Damaged) else f"{type(error).__name__}: {error}"
        try:
            return _failed(place, name, now, turn, why, traceback.format_exc())
        except Away:
            raise
        # Where its rows can't be read, nothing is noted in them.
        except Exception:
            return Ran(name, "failed", why)


def _found(
    session: Session,
    match: Match,
    now: datetime,
    fetched: datetime | None,
    away: Sequence[str],
    early: bool,
    counted: bool,
) -> Phase | Ran | None:
    """Return the phase to be run, or what keeps it from being run; `None` where it isn't due.

    What hindered it when it was seen, and does no more, is left to the next tick.
    """
    early = _is_early(match, early)
    is_past = match.deadline is not None and match.deadline <= now
    if match.status != "running" or not (is_past or early):
        return None
    found: Brake | Phase | None = brakes.braked(session, match, now, fetched, early, away)
    if found is None and counted:
        found = matches.phase(session, match) if early else brakes.waits(session, match, now)
    if isinstance(found, Brake):
        return Ran(match.name, *found)
    if found is not None or match.tries < MOST_TRIES:
        return found
    why = match.why or "the process ended each time as it ran the turn"
    _hold(session, match, now, why)
    return Ran(match.name, "held", why)


def _uncount(match: Match) -> None:
    """Take back the count of a try: the turn waits, or it failed for the database's sake."""
    # One that is held meanwhile keeps it, to tell that a fault holds it.
    if match.status == "running":
        match.tries = max(match.tries - 1, 0)


def _is_early(match: Match, early: bool) -> bool:
    """Tell whether a match is to be run whatever its deadline, or waits for no one."""
    return early or match.early or match.run_now


def _hold(session: Session, match: Match, now: datetime, why: str, **facts: Any) -> None:
    match.status, match.why = "held", why
    store.record(session, match, now, "program", "held", why=why, **facts)
    matches.tell_gm(
        session,
        match,
        now,
        f"{match.name} is held: its turn fails",
        [f"The turn was tried {MOST_TRIES} times. The last time it ended with: {why}"],
        ["RELEASE, once the fault is mended", "UNDO", f"pbem run --match {match.name} --dry-run"],
    )


def _failed(
    place: Engine | Connection, name: str, now: datetime, turn: int, why: str, trace: str
) -> Ran | None:
    with store.writing(place) as session:
        match = store.match_named(session, name, lock=True)
        # Another process may have tried it since, and failed too.
        if match is None or match.turn != turn or match.status != "running":
            return None
        match.why = why
        held = match.tries >= MOST_TRIES
        if held:
            _hold(session, match, now, why, trace=trace)
        else:
            store.record(session, match, now, "program", "failed", why=why, trace=trace)
    return Ran(name, "held" if held else "failed", why)


def played(phase: Phase) -> Played:
    """Play the phase a match is in with the sheets that count now; nothing is stored."""
    match, orders = phase.match, phase.orders
    texts: dict[str | None, str] = {seat.name: orders.get(seat.name, "") for seat in match.seats}
    texts[None] = orders.get("", "")
    return games.play(phase.game, phase.state, texts, match.seed, match.turn + 1)


def advance(session: Session, phase: Phase, now: datetime) -> None:
    """Run the phase a match is in: new turn, events, next deadline, a report to each seat."""
    match, before = phase.match, phase.match.phase
    if games.is_ended(phase.orders.get("", "")):
        # Of a phase that the game master ended nobody's orders were wanted.
        phase = replace(phase, waiting=())
    done = played(phase)
    match.turn += 1
    match.phase = done.state.phase
    over = match.phase == "over"
    match.status = "over" if over else "running"
    deadlines.begin_phase(session, match, now, games.deciding(phase.game, done.state))
    if over:
        match.deadline = None
    store.add_turn(
        session,
        match,
        phase=before,
        state=phase.game.dump(done.state),
        events=[games.event_json(event) for event in done.events],
        orders=phase.orders,
        problems=refused(done),
        missing=list(phase.missing),
        ran=now,
    )
    store.record(session, match, now, "program", "run", turn=match.turn, phase=before)
    for seat in phase.missing:
        store.record(session, match, now, seat, "no orders", turn=match.turn)
    _bring_late(session, match)
    kind, facts = "over" if over else "report", {"missing": list(phase.missing)}
    matches.tell(session, match, kind, facts, now, turn=match.turn)
    if over:
        winners = list(phase.game.winners(done.state))
        store.record(session, match, now, "program", "over", winners=winners)
    else:
        _tell_of_silence(session, match, phase, now)
        _ask_gm(session, match, phase.game, done.state, now)


def _ask_gm(session: Session, match: Match, game: games.Game, state: Any, now: datetime) -> None:
    """Tell the game master that a phase is his, with the lines that he is to fill in."""
    asks = games.optional(game, "asks")
    said, lines = asks(state) if asks else ("", ())
    if lines:
        about = f"{match.name} waits for what you enter"
        matches.tell_gm(session, match, now, about, [said], [*lines, matches.run_line(match)])


def _bring_late(session: Session, match: Match) -> None:
    """Have the sheets that missed the phase just run count for the new one (`late = "next"`)."""
    if match.settings.get("late") == "next" and match.status == "running":
        query = select(Sheet).where(
            Sheet.match_id == match.id, Sheet.turn == match.turn - 1, Sheet.late
        )
        for sheet in session.scalars(query):
            sheet.turn, sheet.late = match.turn, False
    matches.settle(session, match)


def _tell_of_silence(session: Session, match: Match, phase: Phase, now: datetime) -> None:
    """Tell the game master of the seats that have now missed as many turns as `nmr_limit` says."""
    limit = match.settings.get("nmr_limit", 2)
    silent = [seat for seat in match.seats if seat.name in phase.missing and seat.addresses]
    missed = brakes.missed(session, match, silent) if limit and silent else {}
    for seat, count in missed.items():
        if count != limit:
            continue
        store.record(session, match, now, seat.name, "silent", turns=count)
        standby = [
            f"REPLACE {seat.name} WITH {one.person} {one.address}"
            for one in players.waiting(session, match)
        ]
        matches.tell_gm(
            session,
            match,
            now,
            f"{seat.name} has sent no orders {count} times",
            [f"No orders came from {seat.name} in the last {count} turns of {match.name}."],
            [*standby, f"REPLACE {seat.name} WITH <name> <address>", f"DROP {seat.name}"],
        )


def refused(done: Played) -> dict[str, list[list[Any]]]:
    """Return the lines that a turn did not carry out, by seat: the number of each, and why."""
    return {
        seat: [[problem.line, problem.message] for problem in problems]
        for seat, problems in done.problems.items()
        if seat is not None and problems
    }
