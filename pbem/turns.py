"""Matches and their turns: one is made, those due are run, each turn in one transaction."""

import hashlib
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Engine, or_, select
from sqlalchemy.orm import Session

from pbem import game as games
from pbem import identity, schedule, settings, store
from pbem.faults import Away, Wrong
from pbem.game import Game, Json, Played
from pbem.store import Address, Match, Seat, Turn

# How often a failing turn is tried before its match is held.
MOST_TRIES = 3


@dataclass(frozen=True, slots=True)
class Player:
    """Who takes a seat: the seat's name and the addresses its player writes from."""

    seat: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A match to be made, as the game master asked for it, not yet checked."""

    game: str
    match: str
    players: tuple[Player, ...]
    options: Mapping[str, Any]
    schedules: tuple[str, ...] = ()
    zone: str = "UTC"


class Ran(NamedTuple):
    """What became of a match that was due: `outcome` is ran, put off, failed, or held."""

    match: str
    outcome: str
    why: str = ""


def begin(session: Session, plan: Plan, now: datetime) -> Match:
    """Make a match and queue a welcome to each seat.

    Raise `ValueError` naming what can't be: an unknown game, option, zone or schedule, a name that
    is taken, seats the game can't do with.
    """
    game = games.named(plan.game)
    if store.match_named(session, plan.match):
        raise ValueError(f"a match {plan.match} is there already; choose another name")
    names = {option.name for option in settings.SETTINGS}
    ours = {name: value for name, value in plan.options.items() if name in names}
    kept = games.read_options(settings.SETTINGS, ours, "a match")
    theirs = {name: value for name, value in plan.options.items() if name not in names}
    options = games.read_options(game.OPTIONS, theirs, game.KEY)
    schedule.parse_zone(plan.zone)
    schedule.parse_all(plan.schedules)
    seats = [player.seat for player in plan.players]
    seed = kept.pop("seed") or settings.new_seed()
    state = game.setup(seats, options, games.chance(seed, 0, "setup"))
    match = Match(
        name=plan.match,
        game=game.KEY,
        status="running",
        options=options,
        settings=kept,
        schedules=list(plan.schedules),
        zone=plan.zone,
        seed=seed,
        phase=state.phase,
        turn=0,
        began=now,
        key=identity.new_key(),
        created=now,
        seats=[_seat(position, player) for position, player in enumerate(plan.players)],
    )
    match.deadline = deadline_after(match, now, games.deciding(game, state))
    session.add(match)
    session.flush()
    session.add(
        Turn(
            match_id=match.id,
            number=0,
            phase="setup",
            state=game.dump(state),
            events=[],
            orders={},
            problems={},
            missing=[],
            ran=now,
            deadline=match.deadline,
        )
    )
    store.record(session, match, now, "gm", "begun", seed_hash=seed_hash(seed))
    for seat in match.seats:
        store.queue(session, "welcome", {}, now, seat=seat, turn=0)
    return match


def _seat(position: int, player: Player) -> Seat:
    addresses = {identity.folded(address): address for address in player.addresses}
    return Seat(
        position=position,
        name=player.seat,
        person=player.seat,
        key=identity.new_key(),
        addresses=[Address(address=whole, folded=folded) for folded, whole in addresses.items()],
    )


def seed_hash(seed: str) -> str:
    """Return what is published of a secret seed: its SHA-256."""
    return hashlib.sha256(seed.encode()).hexdigest()


def deadline_after(match: Match, now: datetime, deciding: Sequence[str] = ()) -> datetime | None:
    """Return the deadline of the match's phase if it begins now; `None` without a schedule.

    Where single seats are asked to decide, the schedule for `decision` is meant.
    """
    return schedule.next_deadline(
        schedule.parse_all(match.schedules),
        "decision" if deciding else match.phase,
        now,
        schedule.parse_zone(match.zone),
        [schedule.parse_pause(text) for text in match.settings.get("pause", ())],
    )


def due(session: Session, now: datetime) -> list[str]:
    """Name the running matches whose deadline has come, the longest due first."""
    query = (
        select(Match.name)
        .where(Match.status == "running", or_(Match.deadline <= now, Match.early))
        .order_by(Match.deadline, Match.id)
    )
    return list(session.scalars(query))


def run_due(engine: Engine, now: datetime, fetched: datetime | None) -> list[Ran]:
    """Run what is due, each match in a transaction of its own and at most one turn of each.

    `fetched` is when the last mailbox was taken in (`None`: one could not be): a turn whose
    deadline is later is put off. A turn that fails leaves its match as it was.
    """
    with store.reading(engine) as session:
        names = due(session, now)
    return [ran for name in names if (ran := run(engine, name, now, fetched))]


def run(
    engine: Engine, name: str, now: datetime, fetched: datetime | None, *, early: bool = False
) -> Ran | None:
    """Run the phase a match is in, if it is due or `early`; `None` where there is nothing to do.

    The counter of tries is committed before the try, so that a turn that kills the process is
    counted too.
    """
    with store.writing(engine) as session:
        match = _runnable(session, name, now, early)
        if match is None:
            return None
        early = early or match.early
        wanted = now if early or match.deadline is None else match.deadline
        if fetched is None or fetched < wanted:
            return Ran(name, "put off", "a mailbox could not be fetched since the deadline")
        if not early and _is_stale(session, match, now):
            return Ran(name, "put off", f"long overdue: `pbem resume {name}` sets a new deadline")
        if match.tries >= MOST_TRIES:
            match.status = "held"
            store.record(session, match, now, "program", "held", why=match.why)
            return Ran(name, "held", match.why)
        match.tries += 1
        turn = match.turn
    try:
        with store.writing(engine) as session:
            match = _runnable(session, name, now, early)
            # Another process may have run it between the two transactions.
            if match is None or match.turn != turn:
                return None
            advance(session, match, now)
    except (Away, Wrong):
        raise
    # A game that fails must not stop the other matches; what it said is kept.
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        return _failed(engine, name, now, turn, why, traceback.format_exc())
    return Ran(name, "ran")


def _runnable(session: Session, name: str, now: datetime, early: bool) -> Match | None:
    match = store.match_named(session, name, lock=True)
    if match is None or match.status != "running":
        return None
    is_due = match.early or (match.deadline is not None and match.deadline <= now)
    return match if early or is_due else None


def _is_stale(session: Session, match: Match, now: datetime) -> bool:
    """Tell whether a deadline is found later than by the length of its own phase (`life.md`)."""
    turn = store.turn_of(session, match)
    if turn is None or match.deadline is None:
        return False
    return now - match.deadline > match.deadline - turn.ran


def _failed(
    engine: Engine, name: str, now: datetime, turn: int, why: str, trace: str
) -> Ran | None:
    with store.writing(engine) as session:
        match = store.match_named(session, name, lock=True)
        if match is None or match.turn != turn:
            return None
        match.why = why
        held = match.tries >= MOST_TRIES
        if held:
            match.status = "held"
        store.record(
            session, match, now, "program", "held" if held else "failed", why=why, trace=trace
        )
    return Ran(name, "held" if held else "failed", why)


def load_state(match: Match, turn: Turn) -> tuple[Game, Any]:
    """Return a match's game and the state a turn left."""
    game = games.named(match.game)
    seats = [seat.name for seat in match.seats]
    return game, game.load(turn.state, seats, match.options)


def played(session: Session, match: Match) -> tuple[Game, Played, Mapping[str, str]]:
    """Play the phase a match is in with the sheets that count now; nothing is stored.

    Returns the game, what came of it, and the order texts by seat (`""` the game master's).
    """
    turn = store.turn_of(session, match)
    if turn is None:
        raise ValueError(f"{match.name} has no turn {match.turn}; the database is damaged")
    game, state = load_state(match, turn)
    sheets = store.newest_sheets(session, match)
    orders = {seat.name: sheets[seat.id].text for seat in match.seats if seat.id in sheets}
    texts: dict[str | None, str] = {seat.name: orders.get(seat.name, "") for seat in match.seats}
    texts[None] = sheets[None].text if None in sheets else ""
    if texts[None]:
        orders[""] = texts[None]
    return game, games.play(game, state, texts, match.seed, match.turn + 1), orders


def advance(session: Session, match: Match, now: datetime) -> Turn:
    """Run the phase a match is in: new turn, events, next deadline, a report to each seat."""
    before = match.phase
    waiting = _waiting(session, match)
    game, done, orders = played(session, match)
    missing = [seat for seat in waiting if seat not in orders]
    match.turn += 1
    match.phase = done.state.phase
    match.tries, match.why, match.early = 0, "", False
    over = match.phase == "over"
    match.status = "over" if over else "running"
    decision = games.deciding(game, done.state)
    match.deadline = None if over else deadline_after(match, now, decision)
    turn = Turn(
        match_id=match.id,
        number=match.turn,
        phase=before,
        state=game.dump(done.state),
        events=[_event(event) for event in done.events],
        orders=dict(orders),
        problems=_problems(done),
        missing=missing,
        ran=now,
        deadline=match.deadline,
    )
    session.add(turn)
    store.record(session, match, now, "program", "run", turn=match.turn, phase=before)
    for seat in missing:
        store.record(session, match, now, seat, "no orders", turn=match.turn)
    for seat_row in match.seats:
        facts = {"missing": missing}
        kind = "over" if over else "report"
        store.queue(session, kind, facts, now, seat=seat_row, turn=match.turn)
    if over:
        store.record(session, match, now, "program", "over", winners=list(game.winners(done.state)))
    return turn


def preview(session: Session, match: Match, now: datetime) -> Json:
    """Return what the turn would do now, storing nothing of it but that somebody looked."""
    if match.status == "over":
        raise Wrong(f"{match.name} is over; there is no turn to come")
    game, done, _ = played(session, match)
    store.record(session, match, now, "gm", "previewed", turn=match.turn)
    return {
        "match": match.name,
        "turn": match.turn + 1,
        "state": game.dump(done.state),
        "problems": _problems(done),
        "waiting": list(game.waiting(done.state)),
        "events": [_event(event) for event in done.events],
    }


def _waiting(session: Session, match: Match) -> Sequence[str]:
    turn = store.turn_of(session, match)
    if turn is None:
        return ()
    game, state = load_state(match, turn)
    return game.waiting(state)


def _event(event: games.Event) -> Json:
    seen_by = None if event.seen_by is None else list(event.seen_by)
    return {"kind": event.kind, "facts": dict(event.facts), "seen_by": seen_by}


def _problems(done: Played) -> dict[str, list[list[Any]]]:
    return {
        seat: [[problem.line, problem.message] for problem in problems]
        for seat, problems in done.problems.items()
        if seat is not None and problems
    }


def proposed(session: Session, match: Match, now: datetime) -> datetime | None:
    """Return the deadline that the match's schedule gives if its phase begins now."""
    turn = store.turn_of(session, match)
    return deadline_after(match, now, games.deciding(*load_state(match, turn)) if turn else ())


def resume(session: Session, match: Match, now: datetime) -> datetime | None:
    """Set the deadline that the match's schedule gives from now on; return it."""
    match.deadline = proposed(session, match, now)
    told = None if match.deadline is None else match.deadline.isoformat()
    store.record(session, match, now, "gm", "resumed", deadline=told)
    for seat in match.seats:
        facts = {"why": "The game master resumed the match after an outage."}
        store.queue(session, "deadline", facts, now, seat=seat, turn=match.turn)
    return match.deadline
