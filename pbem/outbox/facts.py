"""What a letter tells of a match and a turn of it: what its reader may know, and nothing else."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import game as games
from pbem import matches, schedule
from pbem.config import Config
from pbem.faults import Damaged
from pbem.game import Event, Game
from pbem.outbox.rows import entries as entries_of
from pbem.outbox.rows import kept
from pbem.store import Entry, Match, Seat, Turn


def facts_of(
    session: Session,
    config: Config,
    match: Match,
    turn: Turn | None,
    seat: Seat | None,
    now: datetime,
    *,
    shown: bool = True,
) -> dict[str, Any]:
    """Return what a letter to a seat (`None`: the public) tells of a match and a turn of it."""
    game = games.named(match.game)
    seats = [one.name for one in match.seats]
    try:
        deadline = kept(
            session, ("deadline", turn.id if turn else None), lambda: _deadline(match, turn, now)
        )
    except Damaged:
        if shown:
            raise
        deadline = None
    facts: dict[str, Any] = {
        "match": match.name,
        "title": game.TITLE,
        "game": game.KEY,
        "seats": seats,
        "players": [{"seat": one.name, "person": one.person} for one in match.seats],
        "seat": seat.name if seat else None,
        "person": seat.person if seat else "",
        "options": match.options,
        "deadline": deadline,
        "address": config.mail.address,
        "written": now.isoformat(),
    }
    if seat and not config.mail.plus_addressing:
        facts["token_line"] = f"PASSWORD {matches.token(match, seat)}"
    if turn is None:
        return facts
    facts["due"] = False
    if seat is None and not shown:
        return facts
    try:
        loaded = kept(session, ("loaded", turn.id), lambda: _load(session, match, turn))
    except (ValueError, Damaged):
        # Who is told that something is wrong must get the letter: in such a match nobody can order.
        if shown:
            raise
        return facts
    facts["due"] = seat is not None and seat.name in loaded.waiting
    if shown:
        facts |= _shown(game, loaded, match, turn, seat)
    return facts


def _deadline(match: Match, turn: Turn | None, now: datetime) -> dict[str, str] | None:
    """Return the deadline a letter tells: its turn's, or the match's where it has moved since."""
    moment = turn.deadline if turn is not None and turn.number != match.turn else match.deadline
    if moment is None:
        return None
    told = schedule.told(moment, ZoneInfo(match.zone), now)
    return {
        "day": _day(told),
        "time": f"{told.local:%H:%M}",
        "offset": told.offset,
        "zone": told.zone,
        "left": told.distance.removeprefix("in "),
        "when": told.distance,
        "utc": moment.isoformat(),
    }


def received(written: str, match: Match) -> str:
    """Return when a mail came (ISO 8601) as its writer is told it, in the match's zone."""
    moment = datetime.fromisoformat(written)
    told = schedule.told(moment, ZoneInfo(match.zone), moment)
    return f"{_day(told)}, {told.local:%H:%M:%S} ({told.offset}, {told.zone})"


def _day(told: schedule.Told) -> str:
    weekday, month = schedule.WEEKDAYS[told.local.weekday()], schedule.MONTHS[told.local.month - 1]
    return f"{weekday} {told.local.day} {month} {told.local.year}"


class Loaded(NamedTuple):
    """A turn as it is the same for all readers: what they may see of it is still to be asked.

    `entries` are those of the history, from the phase that the turn ended, that a letter may tell;
    `passed_on` are the seats that somebody else has taken since; `orders_hash` is, of the last
    turn, the SHA-256 of all orders, as the match's record has it.
    """

    state: Any
    waiting: Sequence[str]
    events: list[Event]
    entries: list[Entry]
    passed_on: frozenset[str]
    orders_hash: str | None


def _load(session: Session, match: Match, turn: Turn) -> Loaded:
    game, state = matches.load_state(match, turn)
    entries = entries_of(session, match)
    # Who is back on the seat that was his last has played the turn himself.
    taken = [
        one
        for one in entries
        if one.what == "replaced" and one.time >= turn.ran and not one.facts.get("is_back")
    ]
    return Loaded(
        state,
        game.waiting(state),
        [Event(one["kind"], one["facts"], one["seen_by"]) for one in turn.events],
        [one for one in entries if one.facts.get("turn") == turn.number - 1],
        frozenset(one.facts["seat"] for one in taken),
        _orders_hash(session, match, turn) if state.phase == "over" else None,
    )


def _orders_hash(session: Session, match: Match, turn: Turn) -> str:
    earlier = (
        select(Turn.orders)
        .where(Turn.match_id == match.id, Turn.live.is_(True), Turn.number < turn.number)
        .order_by(Turn.number)
    )
    return games.digest([dict(one) for one in (*session.scalars(earlier), turn.orders)])


def _shown(
    game: Game, loaded: Loaded, match: Match, turn: Turn, seat: Seat | None
) -> dict[str, Any]:
    """Return what a letter shows of a turn: what the reader may know, and nothing else.

    Of a turn that somebody else has played on his seat nothing that was said to that person.
    """
    name = seat.name if seat else None
    is_own = name not in loaded.passed_on
    state = loaded.state
    over = state.phase == "over"
    is_open = over and match.settings.get("reveal") != "never"
    seen = [one for one in loaded.events if over or one.seen_by is None or name in one.seen_by]
    page = games.optional(game, "page")
    facts = {
        "turn": turn.number,
        "phase": state.phase,
        "view": game.view(state, name),
        "page": page(state, name, seen) if page else {},
        "events": seen,
        "notes": _notes(loaded.entries, turn, name, is_own),
        "winners": list(game.winners(state)) if over else [],
        "seed": match.seed if is_open else None,
        "seed_hash": matches.seed_hash(match.seed),
        "orders_hash": loaded.orders_hash if is_open else None,
        "press": _press(loaded.entries, name if is_own else None),
    }
    return facts if is_own else facts | {"inherited": True}


def _notes(entries: Sequence[Entry], turn: Turn, seat: str | None, is_own: bool) -> list[str]:
    """Return sentences of the program's own about a turn.

    They tell who sent no orders, whether the game master has looked at sealed orders and, where
    the reader played his seat himself, by which sheet it went and what was not carried out.
    """
    notes = [f"No orders came from {_listed(turn.missing)}."] if turn.missing else []
    if is_own and seat in turn.missing and seat in turn.orders:
        notes.append("You sent none, so your standing orders were carried out.")
    for line, message in sorted(turn.problems.get(seat or "", ())) if is_own else ():
        stop = "" if message.endswith("?") else "."
        notes.append(f"Your line {line} was not carried out: {message}{stop}")
    looked = dict.fromkeys(one.facts["seat"] for one in entries if one.what == "looked")
    if looked:
        notes.append(f"The game master read the sealed orders of {_listed(looked)}.")
    if any(one.what == "previewed" for one in entries):
        notes.append("The game master looked at what the turn would do before it was run.")
    if any(one.what == "exported" for one in entries):
        notes.append("The game master exported the match, sealed orders included.")
    return notes


def _listed(names: Iterable[str]) -> str:
    # What makes words of things takes long to import, and few turns need it.
    from pbem.reports.templates import listed

    return listed(names)


def _press(entries: Sequence[Entry], seat: str | None) -> list[dict[str, str]]:
    """Return the press of the phase that a turn ended, as far as a seat may read it."""
    return [
        {name: entry.facts[name] for name in ("by", "to", "text")}
        for entry in entries
        if entry.what == "press"
        and (entry.facts["seen_by"] is None or seat in entry.facts["seen_by"])
    ]
