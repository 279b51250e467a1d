"""Sending letters: each is given its words, sent, and marked, in the order they were queued."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from pbem import game as games
from pbem import identity, matches, schedule, store
from pbem.config import Config
from pbem.game import Event, Game
from pbem.post import Accepted, Refused, Sender
from pbem.store import Applicant, Letter, Match, Message, Seat, Turn

if TYPE_CHECKING:
    from pbem.reports import Envelope

# When a letter that could not be delivered is tried again: after so many minutes, then hourly.
RETRIES = (1, 5, 15, 60)
GIVE_UP = timedelta(days=5)

# The letters that show a turn; the others only need to know where the match stands.
_SHOW_A_TURN = ("welcome", "report", "over", "reminder")


@dataclass
class Sent:
    """What a round of sending came to: letters sent, dropped, put off, failed, with their whys."""

    sent: int = 0
    dropped: int = 0
    later: int = 0
    failed: int = 0
    whys: list[str] = field(default_factory=list)


def flush(engine: Engine, config: Config, sender: Sender, now: datetime) -> Sent:
    """Send the letters that are due, as many as a minute allows, one process at a time."""
    result = Sent()
    with store.alone(engine, "send") as ours:
        if not ours:
            return result
        for number in _queue(engine, config, now):
            _send_one(engine, config, sender, number, now, result)
    return result


def _queue(engine: Engine, config: Config, now: datetime) -> Iterator[int]:
    """Yield the numbers of the letters to send now."""
    with store.reading(engine) as session:
        just_sent = select(func.count()).where(
            Letter.status == "sent", Letter.sent > now - timedelta(minutes=1)
        )
        room = config.mail.per_minute - (session.scalar(just_sent) or 0)
        query = (
            select(Letter.id)
            .where(Letter.status == "queued", Letter.due <= now)
            .order_by(Letter.due, Letter.id)
            .limit(max(room, 0))
        )
        numbers = list(session.scalars(query))
    yield from numbers


def _send_one(
    engine: Engine, config: Config, sender: Sender, number: int, now: datetime, result: Sent
) -> None:
    # Words and pictures take long to import, and most ticks send nothing.
    from pbem.reports import TemplateFault

    with store.reading(engine) as session:
        letter = session.get_one(Letter, number)
        useless = _outlived(session, letter, now)
        raw, fault = b"", ""
        if not useless:
            try:
                raw = compose(session, config, letter, now)
            except TemplateFault as error:
                fault = str(error)
            # A letter that can't be written must not stop the others.
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
        envelope_from = _return_path(session, config, letter)
    if useless:
        _mark(engine, number, now, "dropped", useless)
        result.dropped += 1
    elif fault:
        _put_off(engine, letter, now, fault, result)
    else:
        done = sender.send(envelope_from, letter.recipient or config.game_master.address, raw)
        if isinstance(done, Accepted):
            _mark(engine, number, now, "sent", "")
            result.sent += 1
        elif isinstance(done, Refused):
            _mark(engine, number, now, "failed", done.why)
            result.failed += 1
            result.whys.append(f"letter {number} to {letter.recipient}: {done.why}")
        else:
            _put_off(engine, letter, now, done.why, result)


def _mark(engine: Engine, number: int, now: datetime, status: str, why: str) -> None:
    with store.writing(engine) as session:
        letter = session.get_one(Letter, number)
        letter.status, letter.why = status, why
        letter.tries += status != "dropped"
        letter.sent = now if status == "sent" else None


def _put_off(engine: Engine, letter: Letter, now: datetime, why: str, result: Sent) -> None:
    """Have a letter tried again later, or give it up after some days."""
    with store.writing(engine) as session:
        row = session.get_one(Letter, letter.id)
        wait = RETRIES[row.tries] if row.tries < len(RETRIES) else 60
        row.tries += 1
        row.why = why
        row.due = now + timedelta(minutes=wait)
        if now - row.created > GIVE_UP:
            row.status = "failed"
            result.failed += 1
        else:
            result.later += 1
    result.whys.append(f"letter {letter.id} to {letter.recipient}: {why}")


def _outlived(session: Session, letter: Letter, now: datetime) -> str:
    """Say why a letter is of no use any more; empty where it still is."""
    if letter.kind == "receipt" and letter.seat_id is not None:
        newer = select(Letter.id).where(
            Letter.seat_id == letter.seat_id, Letter.kind == "receipt", Letter.id > letter.id
        )
        if session.scalar(newer.limit(1)) is not None:
            return "overtaken by a newer receipt"
    if letter.seat_id is not None:
        seat = session.get_one(Seat, letter.seat_id)
        # Its token is the new player's, and what it tells may be none of the old one's business.
        if all(one.address != letter.recipient for one in seat.addresses):
            return "the address is the seat's no more"
    if letter.match_id is None or letter.turn is None:
        return ""
    match = session.get_one(Match, letter.match_id)
    if letter.kind in ("reminder", "deadline") and match.turn != letter.turn:
        return "the turn was run, or undone"
    if letter.kind == "reminder" and _is_past(match, now):
        return "the deadline is past"
    if letter.kind in _SHOW_A_TURN and store.turn_of(session, match, letter.turn) is None:
        return "its turn was undone"
    return ""


def _is_past(match: Match, now: datetime) -> bool:
    return match.deadline is not None and match.deadline <= now


def compose(session: Session, config: Config, letter: Letter, now: datetime) -> bytes:
    """Return a letter as the bytes of a message (RFC 5322), made from its facts.

    The same letter gives the same bytes at every try, but for how far away the deadline is.
    Raise `TemplateFault` where a template is broken.
    """
    from pbem.reports import mime, words

    seat = session.get(Seat, letter.seat_id) if letter.seat_id else None
    facts: dict[str, Any] = {"match": None, "game": None, "title": "pbem", "seat": None}
    if letter.match_id is not None:
        match = session.get_one(Match, letter.match_id)
        turn = store.turn_of(session, match, letter.turn)
        shown = letter.kind in _SHOW_A_TURN or bool(letter.facts.get("forecast"))
        facts = facts_of(session, config, match, turn, seat, now, shown=shown)
    facts |= {
        **letter.facts,
        "person": letter.person or config.game_master.name,
        "gm": not letter.recipient,
        "address": config.mail.address,
        "written": letter.created.isoformat(),
    }
    if letter.facts.get("forecast") and seat is not None:
        facts["forecast"] = _forecast(session, letter, seat)
    said = words(letter.kind, facts, config.templates_folder)
    return mime(said, _envelope(session, config, letter))


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
    facts: dict[str, Any] = {
        "match": match.name,
        "title": game.TITLE,
        "game": game.KEY,
        "seats": seats,
        "players": [{"seat": one.name, "person": one.person} for one in match.seats],
        "seat": seat.name if seat else None,
        "person": seat.person if seat else "",
        "options": match.options,
        "deadline": _deadline(match, turn, now),
        "address": config.mail.address,
        "written": now.isoformat(),
    }
    if seat and not config.mail.plus_addressing:
        facts["token_line"] = f"PASSWORD {matches.token(match, seat)}"
    if turn is None:
        return facts
    state = game.load(turn.state, seats, match.options)
    facts["due"] = seat is not None and seat.name in game.waiting(state)
    if shown:
        facts |= _shown(session, game, state, match, turn, seat)
    return facts


def _deadline(match: Match, turn: Turn | None, now: datetime) -> dict[str, str] | None:
    """Return the deadline a letter tells: its turn's, or the match's where it has moved since."""
    moment = turn.deadline if turn is not None and turn.number != match.turn else match.deadline
    if moment is None:
        return None
    told = schedule.told(moment, ZoneInfo(match.zone), now)
    weekday, month = schedule.WEEKDAYS[told.local.weekday()], schedule.MONTHS[told.local.month - 1]
    return {
        "day": f"{weekday} {told.local.day} {month} {told.local.year}",
        "time": f"{told.local:%H:%M}",
        "offset": told.offset,
        "zone": told.zone,
        "left": told.distance.removeprefix("in "),
        "utc": moment.isoformat(),
    }


def _shown(
    session: Session, game: Game, state: Any, match: Match, turn: Turn, seat: Seat | None
) -> dict[str, Any]:
    """Return what a letter shows of a turn: what the reader may know, and nothing else."""
    name = seat.name if seat else None
    over = state.phase == "over"
    events = [Event(one["kind"], one["facts"], one["seen_by"]) for one in turn.events]
    seen = [event for event in events if over or event.seen_by is None or name in event.seen_by]
    page = games.optional(game, "page")
    return {
        "turn": turn.number,
        "phase": state.phase,
        "view": game.view(state, name),
        "page": page(state, name, seen) if page else {},
        "events": seen,
        "notes": _notes(session, match, turn, name),
        "winners": list(game.winners(state)) if over else [],
        "seed": match.seed if over and match.settings.get("reveal") != "never" else None,
        "seed_hash": matches.seed_hash(match.seed),
    }


def _notes(session: Session, match: Match, turn: Turn, seat: str | None) -> list[str]:
    """Return sentences of the program's own about a turn.

    They tell who sent no orders, by whose standing sheet the reader's seat went, what of his was
    not carried out, and whether the game master has looked at sealed orders.
    """
    notes = [f"No orders came from {', '.join(turn.missing)}."] if turn.missing else []
    if seat in turn.missing and seat in turn.orders:
        notes.append("You sent none, so your standing orders were carried out.")
    for line, message in turn.problems.get(seat or "", ()):
        notes.append(f"Your line {line} was not carried out: {message}.")
    entries = select(store.Entry).where(
        store.Entry.match_id == match.id, store.Entry.what.in_(("looked", "previewed"))
    )
    looks = [one for one in session.scalars(entries) if one.facts["turn"] == turn.number - 1]
    looked = dict.fromkeys(one.facts["seat"] for one in looks if one.what == "looked")
    if looked:
        notes.append(f"The game master read the sealed orders of {', '.join(looked)}.")
    if any(one.what == "previewed" for one in looks):
        notes.append("The game master looked at what the turn would do before it was run.")
    return notes


def _forecast(session: Session, letter: Letter, seat: Seat) -> list[Event] | None:
    """Return what a seat's sheet would do if nobody else moved, where the game can tell."""
    match = seat.match
    game = games.named(match.game)
    forecast = games.optional(game, "forecast")
    turn = store.turn_of(session, match, letter.turn)
    sheet = session.scalar(
        select(store.Sheet).where(store.Sheet.message_id == letter.answers_id).limit(1)
    )
    if forecast is None or sheet is None or turn is None:
        return None
    state = game.load(turn.state, [one.name for one in match.seats], match.options)
    lawful, _ = game.check(state, seat.name, game.GRAMMAR.read(sheet.text).orders)
    return list(forecast(state, seat.name, lawful))


def _bearer(session: Session, letter: Letter) -> tuple[Match, Seat | Applicant | None] | None:
    """Return whose token a letter bears, and for which match: a seat's, an applicant's, or (no one)
    the game master's; `None` where it bears none."""
    match = session.get(Match, letter.match_id) if letter.match_id else None
    if match is None:
        return None
    if letter.seat_id is not None:
        return match, session.get_one(Seat, letter.seat_id)
    if letter.applicant_id is not None:
        return match, session.get_one(Applicant, letter.applicant_id)
    return None if letter.recipient else (match, None)


def _envelope(session: Session, config: Config, letter: Letter) -> "Envelope":
    from pbem.reports import Envelope

    mail = config.mail
    match = session.get(Match, letter.match_id) if letter.match_id else None
    bearer = _bearer(session, letter)
    reply_to, message_id = mail.address, f"<pbem.{letter.id}@{mail.host}>"
    if match and bearer:
        token = matches.token(*bearer)
        reply_to = identity.address(mail.address, match.name, token, mail.plus_addressing)
        message_id = identity.message_id(match.name, token, letter.id, mail.host)
    answered = session.get(Message, letter.answers_id) if letter.answers_id else None
    answered_id = answered.message_id if answered else None
    # All letters of a match hang on one root, which is itself never sent.
    root = f"<{match.name}.match@{mail.host}>" if match else None
    return Envelope(
        sender=(f"{config.game_master.name} ({match.name})" if match else "pbem", mail.address),
        recipient=(
            letter.person or config.game_master.name,
            letter.recipient or config.game_master.address,
        ),
        reply_to=reply_to,
        message_id=message_id,
        date=letter.created,
        list_id=f"{match.name if match else 'pbem'}.{mail.host}",
        auto="auto-replied" if letter.kind in ("receipt", "confirm") else "auto-generated",
        in_reply_to=answered_id or root,
        references=[one for one in (root, answered_id) if one],
    )


def _return_path(session: Session, config: Config, letter: Letter) -> str:
    """Return the envelope sender: a plus address with the token, so that a bounce says whose it
    is."""
    bearer = _bearer(session, letter)
    if bearer is None:
        return config.mail.address
    mailbox, plus = config.mail.address, config.mail.plus_addressing
    return identity.address(mailbox, bearer[0].name, matches.token(*bearer), plus)
