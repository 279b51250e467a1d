"""What a player may do besides ordering: be ready, be away, withdraw, leave, join, take a seat.

Each function carries out one command for a seat, tells whom it concerns, and returns the sentence
that answers it; one that can't be done raises `ValueError` with a sentence for its sender. A mail's
commands are carried out where it is taken in, in the mail's own savepoint; the game master's orders
about seats call the same functions.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from pbem import deadlines, identity, matches, schedule, store, typography
from pbem import game as games
from pbem.game import Game
from pbem.store import Absence, Address, Applicant, Letter, Match, Message, Seat, Sheet, Tenure

MOST_JOINING = 20
LONGEST_NAME = 40
RESERVED = ("all", "gm", "anonymous", "nothing", "nobody", "orders", "end orders", "end press")

# What holds a line or a list of names together can't stand in a name.
_SIGNS = ',;"<>&+'


def fault_of_name(name: str, others: Iterable[str], game: Game) -> str:
    """Say why a seat can't have a name in a match of a game beside others; empty where it can."""
    # All that may be ordered takes long to import, and most ticks hear no name.
    from pbem import commands

    grammar = game.GRAMMAR | commands.PLAYER | commands.GAME_MASTER
    if len(name) > LONGEST_NAME or not name.isprintable():
        return f"a name has at most {LONGEST_NAME} plain characters"
    if name.casefold() in RESERVED or name.upper() in grammar.verbs or grammar.read(name).orders:
        return "that name means something else; choose another"
    if any(sign in name for sign in _SIGNS) or not any(c.isalpha() for c in name.split()[0]):
        return f"begin the name with a word that has a letter in it, and use none of {_SIGNS}"
    for other in others:
        if _alike(name) == _alike(other):
            return (
                f"two seats have that name, or one that reads like it ({other}); make them differ"
            )
    return ""


def _alike(name: str) -> str:
    return typography.key(typography.look_alike(name))


def ready(session: Session, seat: Seat, is_ready: bool) -> str:
    """Note that a seat is ready for the turn to be run (READY), or isn't (NOT READY)."""
    match = seat.match
    seat.ready = is_ready
    matches.settle(session, match)
    if not is_ready:
        return "You are not ready; the turn waits for you up to its deadline."
    if match.settings.get("early") != "ready":
        return "You are ready; this match still waits for its deadline."
    sent = seat.name in matches.phase(session, match).sheets
    told = "" if sent else " You have sent no orders: NO ORDERS says that you mean it."
    return f"You are ready; once all are, the turn is run.{told}"


def no_orders(
    session: Session, seat: Seat, received: datetime, message: Message | None = None
) -> str:
    """File a deliberate empty sheet (NO ORDERS)."""
    came = matches.file(session, seat.match, seat, "", received, message=message)
    if came.verdict != "in time":
        raise ValueError(came.why)
    return "You order nothing this turn; that counts as your sheet."


def cancel(session: Session, seat: Seat, received: datetime) -> str:
    """Withdraw a seat's sheets for the phase to come, and its standing one (CANCEL)."""
    match = seat.match
    came = matches.arrival(session, match, seat, received)
    if came.verdict != "in time":
        raise ValueError(came.why)
    query = select(Sheet).where(
        Sheet.seat_id == seat.id,
        Sheet.withdrawn.is_(False),
        (Sheet.turn == match.turn) | (Sheet.standing & (Sheet.turn < match.turn)),
    )
    found = list(session.scalars(query))
    for sheet in found:
        # What a turn that was run went by stays as it was, for UNDO; it only stands no longer.
        if sheet.turn == match.turn:
            sheet.withdrawn = True
        else:
            sheet.standing = False
    matches.settle(session, match)
    return "Your orders are withdrawn." if found else "There were no orders to withdraw."


def absent(session: Session, seat: Seat, start: str, end: str, now: datetime) -> str:
    """Note that a seat's player is away (ABSENT FROM <date> TO <date>, both in ISO 8601).

    Within the days that the match grants each player, a deadline in that time is moved behind it,
    once; else the seat falls to its standing orders.
    """
    match = seat.match
    span = schedule.parse_pause(f"{start.strip()}..{end.strip()}")
    zone = deadlines.zone_of(match)
    if span.last < now.astimezone(zone).date():
        raise ValueError(f"{span.last} is past; nothing was noted")
    if any(one.first <= span.last and span.first <= one.last for one in seat.absences):
        raise ValueError("some of these days were declared before; nothing was noted")
    used = sum(_days(one.first, one.last) for one in seat.absences if one.granted)
    limit = match.settings.get("absences", 0)
    granted = used + _days(span.first, span.last) <= limit
    absence = Absence(first=span.first, last=span.last, granted=granted, declared=now)
    seat.absences.append(absence)
    store.record(
        session, match, now, seat.name, "absent", first=str(span.first), last=str(span.last)
    )
    session.flush()
    if not granted:
        left = max(0, limit - used)
        return (
            f"Noted. No deadline moves for it ({left} of {limit} days of absence are left to you); "
            "your standing orders count, if you leave some."
        )
    deadline = match.deadline
    if deadline is None or not span.first <= deadline.astimezone(zone).date() <= span.last:
        return "Noted. A deadline that falls into that time is moved behind it, once."
    absence.moved = True
    moved = schedule.day_after(deadline, span.last, zone, deadlines.pauses(match))
    why = f"{seat.name} is away until {span.last}."
    matches.move_deadline(session, match, moved, now, seat.name, why)
    return "Noted; the deadline is moved behind it."


def _days(first: date, last: date) -> int:
    return (last - first).days + 1


def replace(
    session: Session, seat: Seat, person: str, addresses: Sequence[str], now: datetime
) -> str:
    """Give a seat to another person: he is mailed what he needs, and gets a full phase.

    Tokens and standing orders of who had it before die; he inherits no missed turns. Who retakes a
    seat of his own moves no deadline.
    """
    match = seat.match
    if match.status == "over":
        raise ValueError(f"{match.name} is over; nobody takes a seat any more")
    folded = [identity.folded(address) for address in addresses]
    own = any(
        set(folded) & set(tenure.addresses)
        for tenure in session.scalars(select(Tenure).where(Tenure.seat_id == seat.id))
    )
    _leave(session, seat, now)
    take(session, seat, person, addresses, now)
    session.flush()
    store.record(session, match, now, "gm", "replaced", seat=seat.name, person=person)
    if match.status == "open":
        facts = {
            "about": f"You have a seat in {match.name}",
            "sentences": [f"You play {seat.name}."],
        }
        store.queue(session, "notice", facts, now, seat=seat)
    else:
        store.queue(session, "welcome", {"takes_over": True}, now, seat=seat, turn=match.turn)
    _tell_others(session, seat, now, f"{person} plays {seat.name} from now on.")
    matches.settle(session, match)
    deadline, full = match.deadline, deadlines.scheduled(session, match, now)
    if own or deadline is None or full is None or match.status != "running" or full <= deadline:
        return f"{person} has the seat {seat.name}."
    why = f"{person} takes over {seat.name} and gets a full phase to find the way."
    matches.move_deadline(session, match, full, now, "program", why)
    return f"{person} has the seat {seat.name}; the deadline is moved, for a full phase."


def take(
    session: Session, seat: Seat, person: str, addresses: Sequence[str], now: datetime
) -> None:
    """Put a person onto a seat that is vacant, with a fresh key; nobody is told."""
    seat.person, seat.key, seat.ready = person, identity.new_key(), False
    seat.mail, seat.language = "ALL", ""
    whole = {identity.folded(address): address for address in addresses}
    seat.addresses = [Address(address=said, folded=folded) for folded, said in whole.items()]
    session.add(seat)
    session.flush()
    session.add(
        Tenure(
            seat_id=seat.id,
            person=person,
            addresses=list(whole),
            from_turn=seat.match.turn,
            began=now,
        )
    )


def _leave(session: Session, seat: Seat, now: datetime) -> None:
    """End a person's time on a seat: addresses, key and standing orders go with him."""
    query = select(Tenure).where(Tenure.seat_id == seat.id, Tenure.ended.is_(None))
    for tenure in session.scalars(query):
        tenure.ended = now
    kept = select(Sheet).where(Sheet.seat_id == seat.id, Sheet.standing)
    for sheet in session.scalars(kept):
        sheet.standing = False
    seat.addresses.clear()
    seat.absences.clear()
    seat.ready = False
    _change_key(session, seat)
    session.flush()


def drop(session: Session, seat: Seat, now: datetime, who: str) -> str:
    """Take the player off a seat (DROP, RESIGN); the seat stays in the game, and is vacant.

    The game master is told whom he could ask. In a match that has not begun the seat is open again.
    """
    match, person = seat.match, seat.person
    # Of a match that came from another database no address is known, but who had which seat.
    is_had = select(Tenure.id).where(Tenure.seat_id == seat.id, Tenure.ended.is_(None)).limit(1)
    if not seat.addresses and session.scalar(is_had) is None:
        raise ValueError(f"{seat.name} is vacant already")
    what = "resigned" if who == seat.name else "dropped"
    sentence = f"{person} has left the match."
    facts = {"about": f"You have left {match.name}", "sentences": ["No more letters will come."]}
    farewell = store.queue(session, "notice", facts, now, seat=seat)
    if farewell is not None:
        # It bears no token: the seat is somebody else's by the time it leaves.
        farewell.seat_id = None
    _tell_others(session, seat, now, sentence)
    store.record(session, match, now, who, what, seat=seat.name, person=person)
    if match.status == "open":
        _reopen(session, match, seat)
        return sentence
    _leave(session, seat, now)
    matches.tell_gm(
        session,
        match,
        now,
        f"The seat {seat.name} is vacant",
        [f"{person} {'has' if what == 'resigned' else 'was'} {what}. {_vacant(match)}"],
        [
            *(
                f"REPLACE {seat.name} WITH {one.person} {one.address}"
                for one in waiting(session, match)
            ),
            f"REPLACE {seat.name} WITH <name> <address>",
        ],
    )
    matches.settle(session, match)
    return sentence


def _vacant(match: Match) -> str:
    return f"{match.name} waits for no orders of the seat until somebody takes it."


def _reopen(session: Session, match: Match, seat: Seat) -> None:
    """Open a seat of a match that has not begun again; nothing of who had it stays."""
    for tenure in session.scalars(select(Tenure).where(Tenure.seat_id == seat.id)):
        session.delete(tenure)
    for letter in session.scalars(select(store.Letter).where(store.Letter.seat_id == seat.id)):
        letter.seat_id = None
    for message in session.scalars(select(Message).where(Message.seat_id == seat.id)):
        message.seat_id = None
    session.flush()
    match.seats.remove(seat)
    match.open_seats += 1
    session.flush()
    for position, other in enumerate(match.seats):
        other.position = position
        session.flush()


def _change_key(session: Session, seat: Seat) -> None:
    """Have all tokens of a seat's letters die.

    A question whether an address is meant, if it has not left yet, must not leave with a new one.
    """
    seat.key = identity.new_key()
    session.execute(
        update(Letter)
        .where(Letter.seat_id == seat.id, Letter.status == "queued", Letter.kind == "address")
        .values(status="dropped", why="the seat has another address, or another player")
    )


def set_address(session: Session, seat: Seat, address: str, now: datetime) -> str:
    """Have a seat's mail sent to another address, and taken from no other; old tokens die.

    What waits to be sent goes to the same player, and so to his new address.
    """
    before = [one.address for one in seat.addresses]
    session.execute(
        update(Letter)
        .where(Letter.seat_id == seat.id, Letter.status == "queued", Letter.recipient.in_(before))
        .where(Letter.kind != "address")
        .values(recipient=address)
    )
    seat.addresses.clear()
    session.flush()
    seat.addresses.append(Address(address=address, folded=identity.folded(address)))
    _change_key(session, seat)
    session.flush()
    store.record(session, seat.match, now, "gm", "address", seat=seat.name, address=address)
    facts = {
        "about": f"Your address in {seat.match.name} is now {address}",
        "sentences": [
            "Orders count from this address only; letters come to it.",
            "Answer this letter, or any later one: what older letters bear is of no use any more.",
        ],
    }
    store.queue(session, "notice", facts, now, seat=seat)
    return f"Mail of {seat.name} goes to {address}."


def waiting(session: Session, match: Match) -> list[Applicant]:
    """Return who waits for a seat of a match, the first to confirm first."""
    query = (
        select(Applicant)
        .where(Applicant.match_id == match.id, Applicant.status == "waiting")
        .order_by(Applicant.confirmed, Applicant.id)
    )
    return list(session.scalars(query))


def apply(
    session: Session, match: Match, person: str, address: str, now: datetime
) -> Applicant | None:
    """Ask an address from which JOIN came whether it is meant; `None` where nobody is asked.

    That is where the match is over, where the address has a seat or waits already, or where it was
    asked within a day, or the match has asked `MOST_JOINING` addresses within one.
    """
    folded = identity.folded(address)
    if match.status == "over" or any(
        one.folded == folded for seat in match.seats for one in seat.addresses
    ):
        return None
    day = now - timedelta(days=1)
    asked = select(func.count()).where(Applicant.match_id == match.id, Applicant.asked > day)
    earlier = session.scalar(
        select(Applicant).where(Applicant.match_id == match.id, Applicant.folded == folded)
    )
    if earlier is not None and (earlier.status == "waiting" or earlier.asked > day):
        return None
    if (session.scalar(asked) or 0) >= MOST_JOINING:
        return None
    applicant = earlier or Applicant(
        match_id=match.id, address=address, folded=folded, key=identity.new_key()
    )
    applicant.person, applicant.status, applicant.asked = person, "asked", now
    session.add(applicant)
    session.flush()
    store.queue_apart(session, "join", {}, now, match=match, applicant=applicant)
    return applicant


def join(session: Session, applicant: Applicant, now: datetime) -> str:
    """Give an applicant who has confirmed a seat that is open, or a place on the waiting list.

    With its last open seat taken the match begins. In one that has begun the game master is told
    that somebody stands by.
    """
    match = session.get_one(Match, applicant.match_id, with_for_update={"key_share": True})
    if applicant.status != "asked" or match.status == "over":
        raise ValueError(f"there is nothing to confirm for {match.name}")
    applicant.status, applicant.confirmed = "waiting", now
    if match.status == "open":
        return _seat_applicant(session, match, applicant, now)
    vacant = [seat.name for seat in match.seats if not seat.addresses]
    matches.tell_gm(
        session,
        match,
        now,
        f"{applicant.person} stands by",
        [f"{applicant.person} would take a seat. Vacant: {', '.join(vacant) or 'none'}."],
        [f"REPLACE {seat} WITH {applicant.person} {applicant.address}" for seat in vacant],
    )
    return f"You are on the list of {match.name}, for when a seat falls vacant."


def _seat_applicant(session: Session, match: Match, applicant: Applicant, now: datetime) -> str:
    name = _free_name(match, applicant.person)
    seat = Seat(position=len(match.seats), name=name, match=match)
    take(session, seat, applicant.person, [applicant.address], now)
    applicant.status = "seated"
    match.open_seats -= 1
    store.record(session, match, now, name, "joined")
    if match.open_seats == 0:
        matches.set_up(session, match, now)
        return f"You play {name} in {match.name}, and the match begins."
    sentence = (
        f"You play {name} in {match.name}. It begins when all seats are taken; open: "
        f"{match.open_seats}."
    )
    facts = {"about": f"You have a seat in {match.name}", "sentences": [sentence]}
    store.queue(session, "notice", facts, now, seat=seat)
    return sentence


def _free_name(match: Match, person: str) -> str:
    """Return a seat name made of a person's that no other seat of the match has."""
    plain = "".join(c if c.isprintable() and c not in _SIGNS else " " for c in person)
    own = " ".join(plain.split())[: LONGEST_NAME - 3].strip()
    taken, game = [seat.name for seat in match.seats], games.named(match.game)
    numbers = ("", *(f" {number}" for number in range(2, len(taken) + 3)))
    names = (base + number for base in (own, "Player") if base for number in numbers)
    return next(name for name in names if not fault_of_name(name, taken, game))


def _tell_others(session: Session, seat: Seat, now: datetime, sentence: str) -> None:
    facts = {"about": sentence.rstrip("."), "sentences": [sentence]}
    for other in seat.match.seats:
        if other is not seat:
            store.queue(session, "notice", facts, now, seat=other)
