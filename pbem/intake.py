"""Taking mail in: each message stored, read, laid to its seat, its orders filed, answered.

Nothing here confirms a message to where it came from: that is done after the commit.
"""

import hashlib
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pbem import game as games
from pbem import identity, matches, store
from pbem.config import Config
from pbem.faults import Wrong
from pbem.game import Game, Json
from pbem.orders import MOST_LINES, Problem, Reading
from pbem.store import Address, Match, Message, Seat, Turn
from pbem.usage import Order

if TYPE_CHECKING:
    from pbem.message import Letter

# Receipts to one address in a day; beyond them the orders count, and nothing is answered.
MOST_RECEIPTS = 20
BATCH = 50

# What becomes of mail that is no letter of a person's, by what `message.read` found it to be.
_STATUS = {
    "auto": "ignored",
    "own": "ignored",
    "report": "ignored",
    "bounce": "bounced",
}


@dataclass(frozen=True, slots=True)
class Parcel:
    """One raw message as a source gave it: `key` names it there, `received` decides lateness.

    `size` counts the bytes of the whole message where `raw` is only its head.
    """

    raw: bytes
    received: datetime
    source: str
    key: str = ""
    recipient: str = ""
    size: int = 0


class Taken(NamedTuple):
    """What became of a message: its status in the store, and why."""

    status: str
    why: str = ""


class Whose(NamedTuple):
    """Whose a mail is: `sure` (its seat's, beyond doubt), `ask` (the seat's registered address is
    asked to confirm), `which` (several seats may be meant) or `nobody`."""

    verdict: Literal["sure", "ask", "which", "nobody"]
    seat: Seat | None = None
    why: str = ""


def take_in(
    engine: Engine, config: Config, parcels: Sequence[Parcel], now: datetime
) -> list[Taken]:
    """Take in some messages in one transaction, each in a savepoint of its own."""
    with store.writing(engine) as session:
        return [take(session, config, parcel, now) for parcel in parcels]


def take(session: Session, config: Config, parcel: Parcel, now: datetime) -> Taken:
    """Store one message and do what it asks; one that was taken in before does nothing.

    A message on which our own code fails is shunted with its traceback, and does nothing else.
    """
    # Reading mail takes long to import, and most ticks find none.
    from pbem.message import read

    is_head = parcel.size > len(parcel.raw)
    letter = read(
        parcel.raw,
        recipient=parcel.recipient,
        own=(config.mail.address,),
        size_limit=len(parcel.raw) - 1 if is_head else config.mail.size_limit,
    )
    key = _identity(letter, parcel.recipient)
    if session.scalar(select(Message.id).where(Message.identity == key)) is not None:
        return Taken("ignored", "a copy of an earlier mail")
    row = Message(
        identity=key,
        source=parcel.source,
        key=parcel.key,
        message_id=letter.message_id,
        sender=letter.sender,
        subject=letter.subject,
        recipient=parcel.recipient,
        received=parcel.received,
        stored=now,
        raw=parcel.raw[: config.mail.size_limit],
        status="stored",
    )
    session.add(row)
    session.flush()
    return _handled(session, config, row, letter, now)


def retake(session: Session, config: Config, row: Message, now: datetime) -> Taken:
    """Take a stored message in again, as of its receipt; raise `Wrong` where that would count it
    twice."""
    from pbem.message import read

    if row.status not in ("shunted", "rejected", "answered", "ignored"):
        raise Wrong(f"in{row.id} was taken in already: it is {row.status}; nothing is done")
    letter = read(
        row.raw,
        recipient=row.recipient,
        own=(config.mail.address,),
        size_limit=config.mail.size_limit,
    )
    return _handled(session, config, row, letter, now)


def _handled(
    session: Session, config: Config, row: Message, letter: "Letter", now: datetime
) -> Taken:
    try:
        with session.begin_nested():
            taken = _handle(session, config, row, letter, now)
    except DBAPIError:
        raise
    # Whatever a mail does to our code, it is kept, and the next one is taken in.
    except Exception:
        taken = Taken("shunted", traceback.format_exc())
    row.status, row.why = taken
    return taken


def is_known(engine: Engine, source: str, key: str) -> bool:
    """Tell whether a message of a source, by its key there, was taken in before."""
    with store.reading(engine) as session:
        query = select(Message.id).where(Message.source == source, Message.key == key)
        return session.scalar(query.limit(1)) is not None


def _identity(letter: "Letter", recipient: str) -> str:
    """Return what makes a message the same one: Message-ID, content, and the plus address."""
    plus = recipient.partition("@")[0].partition("+")[2].lower()
    parts = "\n".join((letter.message_id, letter.digest, plus))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()


def _handle(
    session: Session, config: Config, row: Message, letter: "Letter", now: datetime
) -> Taken:
    if letter.kind not in ("mail", "refused"):
        return Taken(_STATUS.get(letter.kind, "ignored"), letter.why)
    whose = _whose(session, letter)
    if whose.seat is None:
        return Taken("rejected", whose.why)
    seat = whose.seat
    row.match_id, row.seat_id = seat.match_id, seat.id
    if letter.kind == "refused":
        _answer(session, row, letter, seat, now, _plain_receipt(letter.why))
        return Taken("refused", letter.why)
    if whose.verdict == "which":
        _answer(session, row, letter, seat, now, _plain_receipt(whose.why))
        return Taken("answered", whose.why)
    if whose.verdict == "ask":
        facts = {
            "message": row.id,
            "sender": letter.sender,
            "sheet": _orders_in(seat.match, letter),
            "answers": _answers(row, letter),
        }
        store.queue(session, "confirm", facts, now, seat=seat, answers=row)
        return Taken("held", whose.why)
    held = _confirmed(session, letter, seat)
    if held is not None:
        taken = _confirm(session, config, held, seat, now)
        if not _orders_in(seat.match, letter):
            return Taken(taken.status, f"confirmed message {held.id}")
    return _file(session, row, letter, seat, now)


def _whose(session: Session, letter: "Letter") -> Whose:
    """Find the seat a mail is for, and whether it may speak for it (`mail.md`, Whose is it)."""
    sender = identity.folded(letter.sender)
    if not sender:
        return Whose("nobody", why="no sender, or several")
    known = list(
        session.scalars(
            select(Seat)
            .join(Address)
            .join(Match, Seat.match_id == Match.id)
            .where(Address.folded == sender)
            .order_by(Match.status != "running", Match.id.desc(), Seat.position)
        )
    )
    for claim in identity.claims(letter.to, letter.references, letter.text):
        proven = _proven(session, claim, known)
        if proven is None:
            continue
        if any(seat.id == proven.id for seat in known):
            return Whose("sure", proven)
        return Whose("ask", proven, "a valid token from an address that is not the player's")
    if not known:
        return Whose("nobody", why="the sender is nobody's registered address")
    named = [seat for seat in known if seat.match.name == letter.tag]
    meant = named or [seat for seat in known if seat.match.status in ("running", "held")] or known
    if len(meant) > 1:
        matches = ", ".join(dict.fromkeys(seat.match.name for seat in meant))
        why = f"it does not say which seat it is for ({matches}); answer that match's last letter"
        return Whose("which", meant[0], why)
    seat = meant[0]
    if seat.match.settings.get("trust") == "address":
        return Whose("sure", seat)
    return Whose("ask", seat, "a known address without the token of a letter of ours")


def _proven(session: Session, claim: identity.Claim, known: Sequence[Seat]) -> Seat | None:
    """Return the seat whose token a claim bears, compared in constant time."""
    seats: Iterable[Seat] = known
    if claim.match is not None:
        match = store.match_named(session, claim.match)
        seats = match.seats if match else ()
    found = None
    for seat in seats:
        if identity.is_token(claim.token, identity.token(seat.match.name, seat.name, seat.key)):
            found = seat
    return found


def _confirmed(session: Session, letter: "Letter", seat: Seat) -> Message | None:
    """Return the held message that a mail confirms, being a reply to our question about it."""
    for reference in letter.references:
        number = identity.letter_number(reference)
        asked = session.get(store.Letter, number) if number is not None else None
        if asked and asked.kind == "confirm" and asked.seat_id == seat.id:
            held = session.get(Message, asked.facts["message"])
            if held is not None and held.status == "held":
                return held
    return None


def _confirm(session: Session, config: Config, held: Message, seat: Seat, now: datetime) -> Taken:
    """Take a held message as the seat's, as of its receipt; its sender's address is added."""
    from pbem.message import read

    letter = read(held.raw, recipient=held.recipient, size_limit=config.mail.size_limit)
    sender = identity.folded(letter.sender)
    if all(address.folded != sender for address in seat.addresses):
        seat.addresses.append(Address(address=letter.sender, folded=sender))
        store.record(session, seat.match, now, seat.name, "address", added=letter.sender)
    taken = _file(session, held, letter, seat, now)
    held.status, held.why = taken
    return taken


def _orders_in(match: Match, letter: "Letter") -> list[str]:
    grammar = games.named(match.game).GRAMMAR
    return [grammar.write(order) for order in grammar.read(letter.text).orders[:MOST_LINES]]


def _file(session: Session, row: Message, letter: "Letter", seat: Seat, now: datetime) -> Taken:
    """Read a seat's mail for orders, file them as its sheet, and queue the receipt."""
    match = seat.match
    game = games.named(match.game)
    turn = store.turn_of(session, match)
    if turn is None or match.status not in ("running", "held"):
        why = f"{match.name} takes no orders now: it is {match.status}"
        _answer(session, row, letter, seat, now, _plain_receipt(why))
        return Taken("answered", why)
    reading = game.GRAMMAR.read(letter.text)
    if sum(1 for line in reading.lines if line.order or line.problem) > MOST_LINES:
        why = f"a sheet has at most {MOST_LINES} order lines; nothing of it was taken"
        _answer(session, row, letter, seat, now, _plain_receipt(why))
        return Taken("refused", why)
    state = _state(session, game, match, turn)
    lawful, unlawful = game.check(state, seat.name, reading.orders)
    problems = [*reading.problems, *unlawful]
    came = matches.arrival(session, match, seat, row.received)
    if lawful:
        came = matches.file(session, match, seat, letter.text, row.received, message=row)
    late = came.verdict != "in time"
    filed = bool(lawful) and came.turn is not None
    if filed:
        store.record(session, match, now, seat.name, "orders", turn=came.turn)
    receipt = {
        "outcome": _outcome(filed, problems),
        "lines": _echo(game, reading, lawful, problems),
        "late": late,
        "turn": match.turn,
        "sheet": [game.GRAMMAR.write(order) for order in lawful] if filed else None,
        "forecast": filed and not late,
        "why": came.why or ("" if lawful or problems else _nothing_found(letter)),
    }
    _answer(session, row, letter, seat, now, receipt)
    if late:
        return Taken("late", came.why)
    return Taken("filed" if filed else "answered", "" if filed else "no lawful order in it")


def _state(session: Session, game: Game, match: Match, turn: Turn) -> Any:
    """Load a turn's state, once for all messages of a transaction."""
    states: dict[int, Any] = session.info.setdefault("states", {})
    if turn.id not in states:
        states[turn.id] = game.load(turn.state, [seat.name for seat in match.seats], match.options)
    return states[turn.id]


def _outcome(filed: bool, problems: Sequence[Problem]) -> str:
    if not filed:
        return "nothing taken"
    return "accepted, with questions" if problems else "accepted"


def _echo(
    game: Game, reading: Reading, lawful: Sequence[Order], problems: Sequence[Problem]
) -> list[Json]:
    """Return, line by line, what was understood and what was not and why."""
    understood: dict[int, list[str]] = {}
    for order in lawful:
        understood.setdefault(order.line, []).append(game.GRAMMAR.write(order))
    wrong: dict[int, list[str]] = {}
    for problem in problems:
        wrong.setdefault(problem.line, []).append(problem.message)
    texts: dict[int, str] = {}
    for line in reading.lines:
        if line.order or line.problem:
            texts[line.number] = (
                f"{texts[line.number]}; {line.text}" if line.number in texts else line.text
            )
    return [
        {
            "number": number,
            "text": text,
            "understood": "; ".join(understood.get(number, ())) or None,
            "problem": "; ".join(wrong.get(number, ())) or None,
        }
        for number, text in sorted(texts.items())
    ]


def _nothing_found(letter: "Letter") -> str:
    if letter.quoted:
        return "your own words hold no order; what they quote is not taken for orders"
    return "your mail holds no order"


def _plain_receipt(why: str) -> Json:
    return {
        "outcome": "nothing taken",
        "lines": [],
        "late": False,
        "sheet": None,
        "forecast": False,
        "why": why,
    }


def _answer(
    session: Session, row: Message, letter: "Letter", seat: Seat, now: datetime, receipt: Json
) -> None:
    """Queue a receipt, unless the mail wants none or its player had enough of them today."""
    if not letter.auto_reply:
        return
    recent = select(func.count()).where(
        store.Letter.recipient == seat.addresses[0].address,
        store.Letter.kind == "receipt",
        store.Letter.created > now - timedelta(days=1),
    )
    if (session.scalar(recent) or 0) >= MOST_RECEIPTS:
        return
    facts = {**receipt, "number": row.id, "answers": _answers(row, letter)}
    store.queue(session, "receipt", facts, now, seat=seat, answers=row)


def _answers(row: Message, letter: "Letter") -> Json:
    return {
        "subject": letter.subject,
        "date": letter.date,
        "message_id": letter.message_id,
        "received": row.received.isoformat(),
    }
