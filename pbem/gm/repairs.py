"""The orders that mend a match: take turns back, order for a seat, change an option.

A repair never edits a state: turns are run again from stored orders and seed.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import deadlines, matches, schedule, settings, store
from pbem import game as games
from pbem.game import Json
from pbem.gm.clock import must_be_on, tell_all
from pbem.store import Entry, Letter, Match, Seat, Sheet, Turn

_SHOWS_A_TURN = ("report", "over", "reminder")


def undo(session: Session, match: Match, count: int, now: datetime) -> str:
    """Go back to before the last turns (UNDO); the orders sent for them stand again.

    What the turns used up is given back: absences that their deadlines waited for, sheets that were
    late for them and came to count for the next. The phase begins anew, with a deadline of its own
    and nobody ready for it.
    """
    if match.status == "open" or not 1 <= count <= match.turn:
        run = "1 turn" if match.turn == 1 else f"{match.turn} turns"
        raise ValueError(f"{match.name} has run {run}; {count} can't be taken back")
    back = match.turn - count
    _make_late_again(session, match, back)
    gone = select(Turn).where(Turn.match_id == match.id, Turn.live.is_(True), Turn.number > back)
    for turn in session.scalars(gone):
        turn.live = None
        if games.is_ended(turn.orders.get("", "")):
            _take_end_back(session, match, turn.number - 1)
    letters = select(Letter).where(
        Letter.match_id == match.id,
        Letter.status == "queued",
        Letter.kind.in_(_SHOWS_A_TURN),
        Letter.turn > back,
    )
    for letter in session.scalars(letters):
        letter.status, letter.why = "dropped", "its turn was undone"
    session.flush()
    match.turn = back
    if match.status == "over":
        match.status = "running"
    phase = matches.phase(session, match)
    match.phase = phase.state.phase
    used = deadlines.give_back(session, match, back)
    why_held = match.why if match.status == "held" and not match.tries else ""
    # Nothing is run by itself, though all orders are there: the game master may want to mend one.
    deadlines.begin_phase(session, match, now, phase.deciding)
    match.why = why_held
    for absence in used:
        absence.moved = True
    store.record(session, match, now, "gm", "undone", turns=count, back_to=back)
    what, it = ("the last turn", "it") if count == 1 else (f"the last {count} turns", "them")
    why = (
        f"The game master took back {what}: the match stands as it stood after turn {back}. "
        f"The orders sent for {it} stand again; a new sheet replaces yours."
    )
    if match.settings.get("early") == "ready":
        why += " Nobody is ready for it yet."
    # It is of no one turn: also who has it after the next was run must know why that came twice.
    facts = {"why": why, "undone": [back + 1, back + count], "needed": True}
    matches.tell(session, match, "deadline", facts, now)
    deadline = deadlines.shown(match, match.deadline)
    return f"{match.name} stands after turn {back}; the deadline is {deadline}."


def _make_late_again(session: Session, match: Match, back: int) -> None:
    """Have the sheets that missed a turn, and so came to count for the next, be late for it again.

    They are those that came while the turn which they count for now was not there: not yet, or no
    more, having been taken back before.
    """
    if match.settings.get("late") != "next":
        return
    ran = select(Turn.number, Turn.ran).where(Turn.match_id == match.id, Turn.number > back)
    came: list[tuple[int, datetime]] = [(number, moment) for number, moment in session.execute(ran)]
    undone = select(Entry).where(Entry.match_id == match.id, Entry.what == "undone")
    went = [(one.facts["back_to"], one.time) for one in session.scalars(undone)]
    query = select(Sheet).where(
        Sheet.match_id == match.id, Sheet.turn > back, Sheet.seat_id.is_not(None)
    )
    for sheet in session.scalars(query):
        at, received = sheet.turn, sheet.received
        stood = sum(number == at and moment < received for number, moment in came)
        stood -= sum(to < at and moment < received for to, moment in went)
        if stood <= 0:
            sheet.turn, sheet.late = at - 1, True


def _take_end_back(session: Session, match: Match, turn: int) -> None:
    """Withdraw END from the game master's lines for a turn: with the turn it is taken back."""
    query = select(Sheet).where(
        Sheet.match_id == match.id,
        Sheet.turn == turn,
        Sheet.seat_id.is_(None),
        Sheet.withdrawn.is_(False),
    )
    for sheet in session.scalars(query):
        sheet.withdrawn = games.is_ended(sheet.text)


def orders_for(
    session: Session, match: Match, seat: Seat, body: Sequence[str], now: datetime
) -> str:
    """File a sheet on a seat's behalf (ORDERS FOR); its player is told."""
    must_be_on(match)
    phase = matches.phase(session, match)
    text = "\n".join(body)
    reading = phase.game.GRAMMAR.read(text)
    lawful, unlawful = phase.game.check(phase.state, seat.name, reading.orders)
    problems = [f"line {one.line}: {one.message}" for one in (*reading.problems, *unlawful)]
    if not lawful:
        raise ValueError("; ".join(problems) or "there is no order in it")
    session.add(Sheet(match_id=match.id, seat_id=seat.id, turn=match.turn, text=text, received=now))
    matches.settle(session, match)
    store.record(session, match, now, "gm", "orders", turn=match.turn, seat=seat.name)
    written = [phase.game.GRAMMAR.write(one) for one in lawful]
    facts = {
        "about": f"The game master has ordered for {seat.name}",
        "sentences": ["This is your sheet now; a newer one of yours replaces it.", *written],
        "needed": True,
    }
    store.queue(session, "notice", facts, now, seat=seat)
    return "; ".join([f"{seat.name}: {', '.join(written)}", *problems])


def change(session: Session, match: Match, option: str, value: str, now: datetime) -> str:
    """Change a setting, an option, the schedule or the zone (SET); all are told."""
    if match.status == "over":
        raise ValueError(f"{match.name} is over; nothing was changed")
    known = {one.name: one for one in settings.SETTINGS if one.name != "seed"}
    if option == "schedule":
        _set_schedule(match, value)
    elif option == "zone":
        match.zone = schedule.parse_zone(value.strip()).key
    elif option in known:
        read = games.read_options([known[option]], {option: _value(value)}, "a match")
        match.settings = {**match.settings, **read}
    else:
        _set_game_option(session, match, option, value)
    store.record(session, match, now, "gm", "set", option=option, value=value)
    sentence = f"The game master set {option} to {value}."
    tell_all(session, match, now, f"{option} is now {value}"[:150], [sentence])
    session.flush()
    if match.status not in ("running", "held"):
        return sentence
    if option in ("schedule", "zone", "pause"):
        deciding = matches.phase(session, match).deciding
        deadline = deadlines.scheduled(session, match, now, deciding)
        if deadline != match.deadline:
            matches.move_deadline(session, match, deadline, now, "gm", sentence)
            return f"{sentence} The deadline is {deadlines.shown(match, deadline)}."
    matches.settle(session, match)
    return sentence


def _set_schedule(match: Match, value: str) -> None:
    new = schedule.parse(value)
    games.check_phases(games.named(match.game), [new.phase])
    kept = [text for text in match.schedules if schedule.parse(text).phase != new.phase]
    match.schedules = [*kept, value]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _set_game_option(session: Session, match: Match, option: str, value: str) -> None:
    """Change an option of the game, where every turn so far comes out the same with it.

    A match must be what its seed, options and orders give, so that anybody can replay it.
    """
    game = games.named(match.game)
    read = games.read_options(game.OPTIONS, {option: _value(value)}, game.KEY)
    options = {**match.options, option: read[option]}
    if match.status != "open":
        query = (
            select(Turn).where(Turn.match_id == match.id, Turn.live.is_(True)).order_by(Turn.number)
        )
        seats = [seat.name for seat in match.seats]
        for turn in session.scalars(query):
            events: list[Json] = []
            if turn.number == 0:
                state = game.setup(seats, options, games.chance(match.seed, 0, "setup"))
            else:
                texts: dict[str | None, str] = {seat: turn.orders.get(seat, "") for seat in seats}
                texts[None] = turn.orders.get("", "")
                played = games.play(game, state, texts, match.seed, turn.number)
                state, events = played.state, [games.event_json(one) for one in played.events]
            # What was to be seen of a turn, and by whom, must come out the same too.
            if [game.dump(state), json.loads(json.dumps(events))] != [turn.state, turn.events]:
                raise ValueError(f"{option} can't change any more: turn {turn.number} went by it")
    match.options = options
