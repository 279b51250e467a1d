"""Players' own commands carried out, one at a time; what each came to, for the receipt."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import func, select, update

from pbem import addresses, commands, identity, matches, players, store
from pbem.game import Json
from pbem.intake import press
from pbem.intake.lookup import Lookup
from pbem.intake.values import Mail
from pbem.store import Letter, Message, Seat
from pbem.usage import Order

if TYPE_CHECKING:
    from pbem.message import Letter as Read

# New addresses a seat may ask for in a day: each is sent a letter.
MOST_ADDRESSES = 3
# Reports a seat is sent again in a day, because it asked.
MOST_REPORTS = 10

_QUESTIONS: Mapping[type[Order], str] = {
    commands.MySheet: "ORDERS?",
    commands.Status: "STATUS",
    commands.Help: "HELP",
    commands.Rules: "RULES",
}
_ABOUT_SHEET = (commands.NoOrders, commands.Cancel, commands.Standing)
_HARMLESS = (*_QUESTIONS, commands.Report, commands.Password)


class Done(NamedTuple):
    """What became of a command: a sentence for its sender, or why not, or what he asked for."""

    order: Order
    said: str = ""
    problem: str = ""
    asked: str = ""


class Asking(NamedTuple):
    """A command and whose it is."""

    lookup: Lookup
    mail: Mail
    letter: "Read"
    seat: Seat


def is_harmless(order: Order) -> bool:
    """Tell whether a command is a question, which never changes anything."""
    return isinstance(order, _HARMLESS)


def sheet_after(lookup: Lookup, seat: Seat, done: Iterable[Done]) -> list[str] | None:
    """Return the lines of a seat's sheet as commands left it; `None` where none was about it."""
    if not any(one.said and isinstance(one.order, _ABOUT_SHEET) for one in done):
        return None
    return matches.phase(lookup.session, seat.match).lawful_lines(seat.name)


def do(asking: Asking, order: Order) -> Done:
    """Carry out one command; one that can't be done says why in a sentence."""
    if type(order) in _QUESTIONS:
        return Done(order, asked=_QUESTIONS[type(order)])
    try:
        return Done(order, said=_DO[type(order)](asking, order))
    except ValueError as error:
        return Done(order, problem=str(error))


def _ready(asking: Asking, order: Order) -> str:
    _running(asking)
    is_ready = isinstance(order, commands.Ready)
    return players.ready(asking.lookup.session, asking.seat, is_ready)


def _no_orders(asking: Asking, order: commands.NoOrders) -> str:
    del order
    _running(asking)
    session = asking.lookup.session
    message = session.get(Message, asking.mail.id)
    return players.no_orders(session, asking.seat, asking.mail.received, message)


def _cancel(asking: Asking, order: commands.Cancel) -> str:
    del order
    _running(asking)
    return players.cancel(asking.lookup.session, asking.seat, asking.mail.received)


def _standing(asking: Asking, order: commands.Standing) -> str:
    """Keep the sheet that stands for later turns: the mail brought none of its own."""
    del order
    _running(asking)
    sheets = store.newest_sheets(asking.lookup.session, asking.seat.match)
    sheet = sheets.get(asking.seat.id)
    if sheet is None:
        raise ValueError("you have no orders yet that could stand; write them below STANDING")
    sheet.standing = True
    return "Your orders stand: they also count in later turns for which none come."


def _running(asking: Asking) -> None:
    match = asking.seat.match
    if match.status not in ("running", "held"):
        raise ValueError(f"{match.name} takes no orders now: it is {match.status}")


def _report(asking: Asking, order: commands.Report) -> str:
    lookup, seat = asking.lookup, asking.seat
    turn = store.turn_of(lookup.session, seat.match, order.turn)
    if turn is None:
        asked = f"turn {order.turn}" if order.turn is not None else seat.match.name
        raise ValueError(f"there is no report of {asked} yet")
    again = (
        select(Letter.facts)
        .where(Letter.seat_id == seat.id, Letter.kind.in_(("report", "welcome", "over")))
        .where(Letter.created > lookup.now - timedelta(days=1))
    )
    asked_again = [one for one in lookup.session.scalars(again) if one.get("asked")]
    if len(asked_again) >= MOST_REPORTS:
        raise ValueError(f"{MOST_REPORTS} reports were sent again within a day; ask tomorrow")
    last = seat.match.status == "over" and turn.number == seat.match.turn
    kind = "over" if last else "report" if turn.number else "welcome"
    facts: Json = {"missing": list(turn.missing), "asked": ["REPORT"]}
    if turn.number != seat.match.turn:
        # Of a turn long gone nothing is due any more: no deadline, no order form.
        facts |= {"copy": True, "deadline": None, "due": False}
    store.queue(lookup.session, kind, facts, lookup.now, seat=seat, turn=turn.number)
    return f"The report of turn {turn.number} comes as a letter of its own."


def _absent(asking: Asking, order: commands.Absent) -> str:
    session, now = asking.lookup.session, asking.lookup.now
    return players.absent(session, asking.seat, order.start, order.end, now)


def _press(asking: Asking, order: commands.Press | commands.AnonymousPress) -> str:
    anonymous = isinstance(order, commands.AnonymousPress)
    text = "\n".join(order.body).strip()
    return press.send(asking.lookup, asking.mail, asking.seat, order.to, text, anonymous)


def _address(asking: Asking, order: commands.NewAddress) -> str:
    """Ask a new address once whether it is its player's; it counts when it has said yes."""
    from pbem.message import is_own

    lookup, seat = asking.lookup, asking.seat
    if fault := addresses.fault_of(order.address):
        raise ValueError(f"{order.address}: {fault}")
    folded = identity.folded(order.address)
    if is_own(folded, identity.own_addresses(lookup.config.mail.address)):
        raise ValueError("that address is the program's own")
    if seat.addresses and seat.addresses[0].folded == folded:
        return "Your mail goes to that address already."
    day = lookup.now - timedelta(days=1)
    asked = select(func.count()).where(
        Letter.seat_id == seat.id, Letter.kind == "address", Letter.created > day
    )
    if lookup.session.scalar(asked.where(Letter.recipient == order.address)):
        raise ValueError("that address was asked within a day; answer the letter there")
    if (lookup.session.scalar(asked) or 0) >= MOST_ADDRESSES:
        raise ValueError(f"{MOST_ADDRESSES} addresses were asked within a day; try tomorrow")
    letter = Letter(
        match_id=seat.match_id,
        seat_id=seat.id,
        kind="address",
        recipient=order.address,
        person=seat.person,
        facts={},
        created=lookup.now,
        due=lookup.now,
    )
    lookup.session.add(letter)
    return f"{order.address} is asked; answer the letter there, and your mail goes to it."


def _language(asking: Asking, order: commands.Language) -> str:
    asking.seat.language = order.language[:16]
    return f"Noted: {order.language}. As yet all letters are in English."


def _mail(asking: Asking, order: commands.Mail) -> str:
    lookup, seat = asking.lookup, asking.seat
    if seat.mail == "DIGEST" != order.choice:
        # What waits for a digest waits no more; what is tried again later is tried now.
        lookup.session.execute(
            update(Letter)
            .where(Letter.seat_id == seat.id, Letter.status == "queued", Letter.due > lookup.now)
            .values(due=lookup.now)
        )
    seat.mail = order.choice
    return {
        "ALL": "You get every letter.",
        "REPORTS": "You get reports, and letters that you can't do without; no receipts or press.",
        "DIGEST": "You get one letter a day that holds the others, or one before the deadline; "
        "reports, reminders and news of the deadline come at once.",
        "NONE": "You get no letters, but such as you can't do without. Your orders count all the "
        "same.",
    }[order.choice]


def _resign(asking: Asking, order: commands.Resign) -> str:
    del order
    lookup, seat = asking.lookup, asking.seat
    said = players.drop(lookup.session, seat, lookup.now, seat.name)
    lookup.forget()
    return said


def _join(asking: Asking, order: commands.Join) -> str:
    lookup, letter = asking.lookup, asking.letter
    match = lookup.match(order.match)
    person = letter.name or asking.seat.person
    if match is None or not players.apply(lookup.session, match, person, letter.sender, lookup.now):
        raise ValueError(f"{order.match} has no place for you, or asked you within a day")
    return f"A letter asks you whether you mean to join {order.match}; answer it with YES."


def _password(asking: Asking, order: commands.Password) -> str:
    del asking, order
    return ""


_DO: Mapping[type[Order], Callable[[Asking, Any], str]] = {
    commands.Ready: _ready,
    commands.NotReady: _ready,
    commands.NoOrders: _no_orders,
    commands.Cancel: _cancel,
    commands.Standing: _standing,
    commands.Report: _report,
    commands.Absent: _absent,
    commands.Press: _press,
    commands.AnonymousPress: _press,
    commands.NewAddress: _address,
    commands.Language: _language,
    commands.Mail: _mail,
    commands.Resign: _resign,
    commands.Join: _join,
    commands.Password: _password,
}
