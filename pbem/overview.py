"""What a game master asks: what is due when, who is missing, what is stuck; what came and left."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Engine, LargeBinary, func, select
from sqlalchemy.orm import Session

from pbem import brakes, intake, matches, outbox, schedule, store, turns
from pbem import game as games
from pbem.config import Config
from pbem.faults import Wrong
from pbem.game import Json
from pbem.store import Letter, Mark, Match, Message, Seat, Turn

# A tick comes every minute; after so long without one, cron or the daemon has stopped.
LONGEST_SILENCE = timedelta(minutes=15)


def status(session: Session, now: datetime, match: str | None = None) -> Json:
    """Return how the matches stand, the next due first, how many letters wait or failed, since when
    the oldest that is due waits, and what is stuck, in sentences."""
    query = select(Match).order_by(
        Match.status == "over", Match.deadline.is_(None), Match.deadline, Match.id
    )
    if match is not None:
        query = query.where(Match.name == match)
    ticked = store.remembered(session, "tick", "time")
    count = {
        "queued": select(func.count()).where(Letter.status == "queued"),
        "failed": select(func.count()).where(Letter.status.in_(("failed", "bounced"))),
        "shunted": select(func.count()).where(Message.status == "shunted"),
    }
    waiting = select(func.min(Letter.created)).where(Letter.status == "queued", Letter.due <= now)
    faults = []
    oldest = ""
    try:
        moment = session.scalar(waiting)
        oldest = moment.isoformat() if moment else ""
    except store.StoreDamaged as error:
        faults.append(_told(session, error))
    found = [_status_of(session, one, now) for one in session.scalars(query)]
    letters = {name: session.scalar(counted) or 0 for name, counted in count.items()}
    return {
        "now": now.isoformat(),
        "matches": found,
        "letters": letters,
        "oldest_letter": oldest or None,
        "last_tick": ticked.isoformat() if ticked else None,
        "faults": faults,
        "stuck": [
            *faults,
            *_mailboxes(session),
            *_unsent(session),
            *_stuck(found, letters, ticked, now),
        ],
    }


def _told(session: Session, error: store.StoreDamaged) -> str:
    return str(store.damage.located(session.connection(), error))


def _check(row: Match | Seat | Message | Letter) -> None:
    """Raise `StoreDamaged` where a row has bytes for a number or a text, as SQLite takes them."""
    for column in row.__table__.columns:
        value = vars(row).get(column.key)
        if isinstance(value, bytes) and not isinstance(column.type, LargeBinary):
            why = f"{value!r:.40} is {'no number' if column.type.python_type is int else 'no text'}"
            name = f"{row.__tablename__}.{column.key}"
            raise store.StoreDamaged(
                store.Unreadable(name, why, value), f" (row {vars(row)['id']})"
            )


def _tellable(value: Any) -> Any:
    """Return a value, or some, with text for bytes, which no JSON can hold."""
    if isinstance(value, list):
        return [_tellable(one) for one in value]
    return f"{value!r:.40}" if isinstance(value, bytes) else value


def _status_of(session: Session, match: Match, now: datetime) -> Json:
    found: Json = {
        "match": match.name,
        "game": match.game,
        "state": match.status,
        "phase": match.phase,
        "turn": match.turn,
        "deadline": None,
        "zone": match.zone,
        "sent": [],
        "missing": [],
        "vacant": [seat.name for seat in match.seats if not seat.addresses],
        "ready": [seat.name for seat in match.seats if seat.ready],
        "open_seats": match.open_seats,
        "waits_until": None,
        "overdue": False,
        "tries": match.tries,
        "why": match.why,
        "fault": "",
    }
    # What can be read is told, up to what can't.
    try:
        schedule.parse_zone(match.zone)
        found["deadline"] = match.deadline.isoformat() if match.deadline else None
        found["waits_until"] = match.waits_until.isoformat() if match.waits_until else None
        found["overdue"] = match.status == "running" and brakes.is_overdue(match, now)
        if match.status in ("running", "held"):
            phase = matches.phase(session, match)
            found["sent"] = [seat.name for seat in match.seats if seat.name in phase.sheets]
            found["missing"] = list(phase.missing)
        store.damage.check(match)
    except ValueError as error:
        found["fault"] = str(error)
    except store.StoreDamaged as error:
        found["fault"] = _told(session, error)
    except TypeError as error:
        found["fault"] = f"{match.name} is damaged: {error}; `pbem doctor` names its row"
    try:
        _check(match)
        for seat in match.seats:
            _check(seat)
    except store.StoreDamaged as error:
        found["fault"] = _told(session, error)
    return {name: _tellable(value) for name, value in found.items()}


def is_failing(found: Json) -> bool:
    """Tell whether a match's turn fails, or is held for having failed.

    One that was tried once and left no word is most likely in some process's hand just now.
    """
    tries = found["tries"]
    # What can't be read is told as a fault.
    return isinstance(tries, int) and tries > (0 if found["why"] else 1)


def _mailboxes(session: Session) -> Iterator[str]:
    """Say which mailboxes could not be fetched when it was last tried."""
    names = select(Mark.name).where(Mark.name.startswith("source ")).order_by(Mark.name)
    for name in session.scalars(names):
        mark = store.mark(session, name)
        if mark.get("away"):
            last = mark.get("fetched", "never")
            yield f"{mark['away']} (last fetched: {last}); `pbem doctor` tries it"


def _unsent(session: Session) -> Iterator[str]:
    """Say which letters could not be written, or sent, when it was last tried."""
    query = select(Letter).where(Letter.status == "queued", Letter.why != "").order_by(Letter.id)
    letters = list(session.scalars(query))
    if letters:
        count = "1 letter" if len(letters) == 1 else f"{len(letters)} letters"
        remedy = "`pbem doctor` tries sender and templates"
        yield f"{count} could not be sent when last tried: {letters[0].why}; {remedy}"


def _stuck(
    found: list[Json], letters: Json, ticked: datetime | None, now: datetime
) -> Iterator[str]:
    """Say what doesn't go on by itself, and what would help."""
    for one in found:
        name = one["match"]
        if one["fault"]:
            held = f"; then `pbem gm {name} RELEASE`, as it is held"
            yield f"{one['fault']}{held if one['state'] == 'held' else ''}"
        elif one["state"] == "held":
            yield f"{name} is held: {one['why']}; `pbem gm {name} RELEASE` lets it go on"
        elif one["overdue"]:
            yield f"{name} is long overdue; `pbem resume {name} --yes` sets a new deadline"
        elif is_failing(one):
            why = one["why"] or "the process ended each time"
            times = "once" if one["tries"] == 1 else f"{one['tries']} times"
            yield f"{name}: its turn has failed {times}: {why}"
    if letters["failed"]:
        yield f"letters not delivered: {letters['failed']}; see `pbem letters --failed`"
    if letters["shunted"]:
        yield f"mails it failed on: {letters['shunted']}; see `pbem letters --shunted`"
    if any(one["state"] == "running" for one in found) and (
        ticked is None or now - ticked > LONGEST_SILENCE
    ):
        last = ticked.isoformat() if ticked else "never"
        yield f"the last tick was {last}; is cron or the daemon at work?"


class Piece(NamedTuple):
    """A mail that came or a letter that goes, as the post office lists it.

    Where it is damaged it has no time, and `why` says so.
    """

    id: str
    direction: str
    match: str | None
    seat: str | None
    kind: str
    status: str
    time: str
    why: str


def pieces(session: Session, *, failed: bool = False, shunted: bool = False) -> list[Piece]:
    """List what came and what left, by time: all of it, or what failed, or was shunted."""
    names = {match.id: match.name for match in session.scalars(select(Match))}
    seats = {seat.id: seat.name for seat in session.scalars(select(Seat))}
    came, left = select(Message), select(Letter)
    if failed or shunted:
        came = came.where(Message.status.in_(("shunted",) if shunted else ()))
        left = left.where(Letter.status.in_(("failed", "bounced") if failed else ()))
    found = []
    for one in (*session.scalars(came), *session.scalars(left)):
        is_mail = isinstance(one, Message)
        time, why = "", one.why
        try:
            _check(one)
            moment = one.received if isinstance(one, Message) else one.sent or one.created
            time = moment.isoformat()
        except store.StoreDamaged as error:
            why = _told(session, error)
        found.append(
            Piece(
                f"{'in' if is_mail else 'out'}{one.id}",
                "in" if is_mail else "out",
                _tellable(names.get(one.match_id or 0)),
                _tellable(seats.get(one.seat_id or 0)),
                "mail" if isinstance(one, Message) else _tellable(one.kind),
                _tellable(one.status),
                time,
                why,
            )
        )
    return sorted(found, key=lambda piece: (piece.time, piece.id))


def piece(session: Session, number: str) -> Message | Letter:
    """Return the mail or letter that `pbem letters` lists under a number; raise `Wrong`."""
    digits = number.removeprefix("in").removeprefix("out")
    found: Message | Letter | None = None
    if digits.isdecimal() and int(digits[:19]) < 2**31:
        is_mail = number.startswith("in")
        found = session.get(Message, int(digits)) if is_mail else session.get(Letter, int(digits))
    if found is None:
        raise Wrong(f"{number}: no such letter; `pbem letters` lists them as in12 and out7")
    return found


def raw(session: Session, config: Config, one: Message | Letter, now: datetime) -> bytes:
    """Return a mail as it came, or a letter as it leaves, in bytes."""
    return one.raw if isinstance(one, Message) else outbox.compose(session, config, one, now)


def text(raw: bytes) -> str:
    """Return the head and text of a mail as its reader sees them, decoded."""
    from pbem.message import fields, html, parts

    try:
        tree = parts.tree(raw)
        said = "\n".join(
            html.to_text(leaf.text()) if leaf.kind == "text/html" else leaf.text()
            for piece in tree.pieces
            if (leaf := piece.plain or piece.html) is not None
        )
    except parts.TooMuch as error:
        tree, said = parts.headed(raw), f"({error}; --raw prints it)"
    names = ("From", "To", "Subject", "Date", "Message-ID")
    head = [
        f"{name}: {fields.text(tree.fields[name.lower()][0])}"
        for name in names
        if name.lower() in tree.fields
    ]
    return "\n".join([*head, "", said.strip("\n")])


def retry(engine: Engine, config: Config, number: str, now: datetime) -> str:
    """Take a mail in again, or have a letter sent again at the next round; say what came of it."""
    with store.writing(engine) as session:
        one = piece(session, number)
        if isinstance(one, Message):
            taken = intake.retake(session, config, one, now)
            return f"{number}: {taken.status}{': ' if taken.why else ''}{taken.why}"
        if one.status == "sent":
            raise Wrong(f"{number} was sent already; nothing is done")
        one.status, one.due, one.tries, one.why = "queued", now, 0, ""
        one.created = now if now - one.created > outbox.GIVE_UP else one.created
        return f"{number}: queued"


def fault_of(match: Match, turn: Turn | None) -> str:
    """Say why the state that a turn left can't be read; nothing where it can be."""
    try:
        if turn is not None:
            matches.load_state(match, turn)
    except ValueError as error:
        return str(error)
    return ""


def view(match: Match, turn: Turn, seat: str | None) -> Json:
    """Return what a seat (`None`: the public) may know of a turn's state, as JSON."""
    game, state = matches.load_state(match, turn)
    return {
        **game.view(state, seat),
        "match": match.name,
        "seat": seat,
        "turn": turn.number,
    }


def shown(
    session: Session, config: Config, match: Match, turn: Turn, seat: str | None, now: datetime
) -> str:
    """Return the report of a turn as a seat (`None`: the public) may read it, as text."""
    from pbem.reports.letters import part

    row = session.scalar(select(Seat).where(Seat.match_id == match.id, Seat.name == seat))
    facts = outbox.facts_of(session, config, match, turn, row, now)
    return part("report.txt", facts, config.templates_folder)


def preview(session: Session, match: Match, now: datetime) -> Json:
    """Return what the turn would do now, storing nothing of it but that somebody looked."""
    if match.status == "over":
        raise Wrong(f"{match.name} is over; there is no turn to come")
    if match.status == "open":
        raise Wrong(f"{match.name} has not begun; {match.open_seats} seats are open")
    phase = matches.phase(session, match)
    done = turns.played(phase)
    store.record(session, match, now, "gm", "previewed", turn=match.turn)
    return {
        "match": match.name,
        "turn": match.turn + 1,
        "state": phase.game.dump(done.state),
        "problems": turns.refused(done),
        "waiting": list(phase.game.waiting(done.state)),
        "events": [games.event_json(event) for event in done.events],
    }


def previewed(session: Session, config: Config, match: Match, preview: Json, now: datetime) -> str:
    """Return what `preview` has found as text: whose lines are refused, who orders next, and
    the public's report."""
    turn = Turn(
        number=preview["turn"],
        state=preview["state"],
        events=preview["events"],
        orders={},
        problems=preview["problems"],
        missing=[],
        ran=now,
        deadline=None,
    )
    refused = [
        f"{seat or 'the game master'}, line {line}: {why}"
        for seat, problems in preview["problems"].items()
        for line, why in problems
    ]
    return "\n".join(
        [
            f"{match.name}: turn {preview['turn']} would lead to {preview['state']['phase']}",
            f"then waiting for: {', '.join(preview['waiting']) or 'nobody'}",
            *(["refused:", *refused] if refused else ["refused: nothing"]),
            "",
            shown(session, config, match, turn, None, now),
        ]
    )
