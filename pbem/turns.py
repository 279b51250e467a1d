"""Turns: those due are run, each in one transaction.

What hinders a turn is told as it is found: the game master by a letter, once, and who called by
the outcome. The turns that the game master asks for, by mail or command, are marked in the match's
row and run here like those that are due.
"""

import itertools
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, and_, bindparam, case, or_, select, tuple_, update
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
_SEEN_TURNS = tuple_(Match.id, Match.turn).in_(bindparam("turns", expanding=True))
_COUNTED = select(Match.id).where(_SEEN_TURNS, Match.status == "running")
_UNTRIED = _COUNTED.where(Match.tries == bindparam("before"), Match.tries < MOST_TRIES)
# By whether a row that somebody has locked is waited for.
_COUNT = {
    wait: update(Match)
    .where(Match.id.in_(_UNTRIED.with_for_update(key_share=True, skip_locked=not wait)))
    .values(tries=bindparam("after"))
    .returning(Match.id)
    for wait in (False, True)
}
_AFTER = bindparam("after", type_=Match.tries.type)
# Others may have counted on top of a try of ours.
_IS_OURS = or_(Match.tries == _AFTER, and_(_AFTER > 0, Match.tries > _AFTER))
_GIVE_BACK = (
    update(Match)
    .where(Match.id.in_(_COUNTED.where(_IS_OURS).with_for_update(key_share=True, skip_locked=True)))
    .values(tries=case((Match.tries < 0, 0), else_=Match.tries - 1))
)
# So many matches are claimed at once, if none of them was tried before.
TOGETHER = 10
# What the count of tries is of those that were claimed together, and maybe not yet begun.
_CLAIMED = -1
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


class _How(NamedTuple):
    """How turns are run: by which clock, mailboxes fetched and away as `run_due` has them.

    With `early` whatever the deadline; with `wait` what somebody else has in hand is waited for,
    else it is left to him.
    """

    now: datetime
    fetched: datetime | None
    away: Sequence[str]
    early: bool = False
    wait: bool = False


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
    how = _How(now, fetched, away)
    with _counting(engine) as counts, store.connected(engine) as writes:
        found = _try_all(writes, counts, seen, how)
        names = {one.match for one in found if one and one.outcome == _TAKEN}
        taken = {(match.name, match.turn) for match in seen if match.name in names}
        if taken:
            # Who had one in hand may only have looked at it, knowing of no fetch. What he has even
            # now is left to the next tick: a forgotten transaction must not hold up all the rest.
            with store.reading(engine) as session:
                again = [match for match in due(session, now) if (match.name, match.turn) in taken]
            found += _try_all(writes, counts, again, how)
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
    with store.writing(engine) as session, _counting(engine) as counts:
        store.hold(session, _work(name), wait=True)
        how = _How(now, fetched, away, early=early, wait=True)
        (ran,) = _try(engine, counts, (seen,), how)
    return None if ran and ran.outcome == _TAKEN else ran


def _counting(engine: Engine) -> AbstractContextManager[Connection]:
    """Open a connection to count tries by; a power cut is no fault of a turn."""
    return store.connected(engine, single=True, passing=True)


def _try_all(
    place: Connection, counts: Connection, seen: Sequence[Match], how: _How
) -> list[Ran | None]:
    """Run matches in the order given.

    Those never tried are claimed some at a time. One that was tried, or claimed with others by a
    process that ended, may be what ended it, and is tried by itself. On SQLite, where nothing is
    claimed, all are.
    """
    found: list[Ran | None] = []
    most = 1 if counts.dialect.name == "sqlite" else TOGETHER
    with closing(store.Claim(counts)) as claim:
        for untried, some in itertools.groupby(seen, lambda match: match.tries == 0):
            coming = list(some)
            while coming:
                size = most if untried else 1
                works = {_work(match.name): match for match in coming[:size]}
                ours = [works.pop(work) for work in claim.take(works)]
                found += [Ran(match.name, _TAKEN) for match in works.values()]
                found += _try(place, counts, ours, how) if ours else []
                del coming[:size]
    return found


def _work(name: str) -> str:
    """Return what the run of a match's turn is called, which one process does at a time."""
    return f"turn {name}"


def _try(
    place: Engine | Connection, counts: Connection, seen: Sequence[Match], how: _How
) -> list[Ran | None]:
    """Run matches that were tried as often, if their turns are still those that were `seen`.

    The count of tries is committed before the first, so that a turn that kills the process is
    counted too; what was not tried after all is given back. Of several it is only noted that they
    are claimed: so nobody's try is counted that was never made.
    """
    before = seen[0].tries
    after = _CLAIMED if len(seen) > 1 else _one_more(before)
    free = {
        match.id: match.turn
        for match in seen
        if after <= MOST_TRIES and not _is_hindered(match, how)
    }
    counted: set[int] = set()
    if free:
        given = {"turns": list(free.items()), "before": before, "after": after}
        counted = set(counts.scalars(_COUNT[how.wait], given))
    left, found = set(counted), list[Ran | None]()
    try:
        for match in seen:
            if match.id in free and match.id not in counted:
                found.append(Ran(match.name, _TAKEN))
                continue
            left.discard(match.id)
            try:
                ran = _run(place, match, how, after if match.id in counted else None)
            except Away:
                left |= counted & {match.id}
                raise
            if ran is not None and ran.outcome == _TAKEN:
                left |= counted & {match.id}
            found.append(ran)
    finally:
        if left:
            # If the database can be reached again.
            with suppress(Away), store.connected(place.engine, single=True) as connection:
                turns = [(number, free[number]) for number in left]
                connection.execute(_GIVE_BACK, {"turns": turns, "after": after})
    return found


def _one_more(tries: int) -> int:
    """Return the count of tries with one more; too many where it can't be read."""
    return max(tries, 0) + 1 if isinstance(tries, int) else MOST_TRIES + 1


def _is_hindered(match: Match, how: _How) -> bool:
    return brakes.is_hindered(match, how.now, how.fetched, _is_early(match, how.early))


def _run(place: Engine | Connection, seen: Match, how: _How, count: int | None) -> Ran | None:
    """Run a match if its turn is that `seen`; `count` is that of its tries with this one (`None`:
    it is not to be tried, for it is hindered or was tried too often)."""
    name, turn, now = seen.name, seen.turn, how.now
    try:
        with store.writing(place) as session:
            match = store.match_named(session, name, lock=True, wait=how.wait)
            if match is None and not how.wait:
                return Ran(name, _TAKEN)
            # Another process may have run it since it was seen.
            if match is None or match.turn != turn:
                return None
            # Who has counted a try since is about to make it; one before may be given back by now.
            if count is not None and match.tries not in (seen.tries, count):
                return Ran(name, _TAKEN)
            found = _found(session, match, how, counted=count is not None)
            if isinstance(found, Phase):
                advance(session, found, now)
                return Ran(name, "ran")
            if count is not None and match.status == "running":
                # One that is held meanwhile keeps it, to tell that a fault holds it.
                match.tries = max(match.tries - 1, 0)
            return found
    except Away:
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


def _found(session: Session, match: Match, how: _How, counted: bool) -> Phase | Ran | None:
    """Return the phase to be run, or what keeps it from being run; `None` where it isn't due.

    What hindered it when it was seen, and does no more, is left to the next tick.
    """
    now, early = how.now, _is_early(match, how.early)
    is_past = match.deadline is not None and match.deadline <= now
    if match.status != "running" or not (is_past or early):
        return None
    found: Brake | Phase | None = brakes.braked(session, match, now, how.fetched, early, how.away)
    if found is None and counted:
        found = matches.phase(session, match) if early else brakes.waits(session, match, now)
    if isinstance(found, Brake):
        return Ran(match.name, *found)
    if found is not None or match.tries < MOST_TRIES:
        return found
    why = match.why or "the process ended each time as it ran the turn"
    _hold(session, match, now, why)
    return Ran(match.name, "held", why)


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
        if match.tries == _CLAIMED:
            match.tries = 1
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
