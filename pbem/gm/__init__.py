"""The game master's orders, by mail or command: each is carried out, written down, and told.

Orders of the game (SCORE, GOLD) are filed for the turn to come. RUN NOW and END mark the match to
be run; `turns` does that, after the mailboxes were fetched. Repairs never edit a state: UNDO takes
turns back, and they are run again from stored orders and seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from pbem import commands, deadlines, identity, matches, names, players, store, typography
from pbem import game as games
from pbem.game import Game
from pbem.gm import clock, repairs
from pbem.orders import Grammar, Problem
from pbem.store import Match, Seat
from pbem.usage import Order, Rule


class Done(NamedTuple):
    """What became of one order of the game master's; where it was refused, `said` tells why."""

    line: int
    text: str
    said: str
    refused: bool = False


@dataclass(frozen=True)
class EndHere(Order):
    """END without a name, where only one match can be meant."""


# On the command line the match is named already; in a mail END alone may close a fence.
_END_HERE = Grammar((Rule("END", EndHere, "End the match", gm=True),))


def obey(
    session: Session,
    match: Match,
    text: str,
    now: datetime,
    *,
    by_mail: bool = False,
    mailbox: str = "",
) -> list[Done]:
    """Carry out the game master's lines one after the other; say what became of each.

    A line that can't be carried out is refused and leaves everything as it was; the others count.
    No seat is given the `mailbox`, the program's own address.
    """
    game = games.named(match.game)
    grammar = game.GRAMMAR | commands.GAME_MASTER
    if not by_mail:
        grammar |= _END_HERE
    done: list[Done] = []
    general = {rule.make for rule in (*commands.GAME_MASTER.rules, *_END_HERE.rules)}
    waiting: list[Order] = []
    texts: dict[int, str] = {}
    for line in grammar.read(text, gm=True).lines:
        texts[line.number] = line.text
        if line.problem is not None:
            done.append(Done(line.number, line.text, line.problem.message, refused=True))
        elif line.order is not None and type(line.order) not in general:
            waiting.append(line.order)
        elif line.order is not None:
            done += _file(session, match, game, waiting, now, texts)
            waiting = []
            order = line.order
            if isinstance(order, commands.Say):
                order = replace(order, message=_verbatim(text, order.line, order.message))
            done.append(_one(session, match, order, line.text, now, mailbox))
    return [*done, *_file(session, match, game, waiting, now, texts)]


def _verbatim(text: str, line: int, message: str) -> str:
    """Return a message with the marks at its end that no order has: it goes to people."""
    _, found, end = typography.lines(text)[line - 1].partition(message)
    marks = end.strip()
    return message + marks if found and not any(c.isalnum() or c == ";" for c in marks) else message


def _one(
    session: Session, match: Match, order: Order, text: str, now: datetime, mailbox: str
) -> Done:
    given = order.address if isinstance(order, commands.Replace | commands.SetAddress) else ""
    if mailbox and given and identity.is_mailbox(given, mailbox):
        why = "that address is the program's own; name the player's"
        return Done(order.line, text, why, refused=True)
    try:
        with session.begin_nested():
            return Done(order.line, text, _carry_out(session, match, order, now))
    except ValueError as error:
        return Done(order.line, text, str(error), refused=True)


def _carry_out(session: Session, match: Match, order: Order, now: datetime) -> str:
    """Carry out one order that isn't the game's; raise `ValueError` where it can't be."""
    match order:
        case commands.Deadline(time):
            return clock.set_deadline(session, match, time, now)
        case commands.Extend(duration):
            return clock.extend(session, match, duration, now)
        case commands.Hold():
            return clock.hold(session, match, now)
        case commands.Release():
            return clock.release(session, match, now)
        case commands.RunNow(phase, turn):
            return clock.run_now(session, match, phase, turn, now)
        case commands.Undo(turns):
            return repairs.undo(session, match, 1 if turns is None else turns, now)
        case commands.Replace(said, name, address):
            return players.replace(session, seat_named(match, said), name, [address], now)
        case commands.Drop(said):
            return players.drop(session, seat_named(match, said), now, "gm")
        case commands.SetAddress(said, address):
            return players.set_address(session, seat_named(match, said), address, now)
        case commands.OrdersFor(said, body):
            return repairs.orders_for(session, match, seat_named(match, said), body, now)
        case commands.SetOption(option, value):
            return repairs.change(session, match, option, value, now)
        case commands.Say(message):
            store.record(session, match, now, "gm", "said", text=message)
            clock.tell_all(session, match, now, "The game master says", [message])
            return "Said to all."
        case commands.MatchStatus():
            return _status(session, match)
        case commands.End(name) if name != match.name:
            raise ValueError(f"this is about {match.name}, not {name}; nothing was ended")
        case commands.End() | EndHere():
            return clock.finish(session, match, now)
    raise ValueError("that order is not carried out here")


def seat_named(match: Match, said: str) -> Seat:
    """Return the seat that is meant; raise `ValueError` where none is, or two may be."""
    name, problem = names.choose(said, [seat.name for seat in match.seats], "seat")
    if name is None:
        raise ValueError(problem)
    return next(seat for seat in match.seats if seat.name == name)


def _file(
    session: Session,
    match: Match,
    game: Game,
    wanted: Sequence[Order],
    now: datetime,
    texts: dict[int, str],
) -> list[Done]:
    """File orders of the game for the phase to come, after those filed before."""
    if not wanted:
        return []
    try:
        phase = matches.phase(session, match)
    except ValueError as error:
        return [Done(one.line, texts[one.line], str(error), refused=True) for one in wanted]
    filed = game.GRAMMAR.read(store.gm_orders(session, match), gm=True).orders
    # What was filed before stands on no line of these: no problem of theirs is laid to it.
    earlier = [replace(order, line=0) for order in filed]
    lawful, unlawful = game.check(phase.state, None, [*earlier, *wanted])
    problems: dict[int, Problem] = {problem.line: problem for problem in unlawful}
    taken = [one for one in lawful if one.line]
    if taken:
        clock.file_gm(session, match, "\n".join(map(game.GRAMMAR.write, lawful)), now)
        store.record(session, match, now, "gm", "orders", turn=match.turn)
        matches.settle(session, match)
    return [
        Done(one.line, texts[one.line], problems[one.line].message, refused=True)
        if one.line in problems
        else Done(one.line, texts[one.line], "Filed for the turn to come.")
        for one in wanted
    ]


def _status(session: Session, match: Match) -> str:
    if match.status == "open":
        return f"{match.name} is open: {match.open_seats} seats to be joined."
    phase = matches.phase(session, match)
    parts = [
        f"{match.name} is {match.status}, {match.phase} {match.turn}",
        f"deadline {deadlines.shown(match, match.deadline)}",
        f"sent: {', '.join(phase.sheets) or 'nobody'}",
        f"missing: {', '.join(phase.missing) or 'nobody'}",
    ]
    vacant = [seat.name for seat in match.seats if not seat.addresses]
    if vacant:
        parts.append(f"vacant: {', '.join(vacant)}")
    standby = [f"{one.person} {one.address}" for one in players.waiting(session, match)]
    if standby:
        parts.append(f"standing by: {', '.join(standby)}")
    return "; ".join(parts) + "."


def peek(session: Session, match: Match, seat: Seat, now: datetime) -> str | None:
    """Return the sealed orders of a seat (`None`: it has sent none), and write down who looked."""
    sheet = matches.phase(session, match).sheets.get(seat.name)
    store.record(session, match, now, "gm", "looked", seat=seat.name, turn=match.turn)
    return None if sheet is None else sheet.text


def order_lines(game: str, text: str) -> str:
    """Return the lines of a sheet that are orders, or look like some; of none it is said."""
    read = games.named(game).GRAMMAR.read(text).lines
    lines = {line.number: line.text for line in read if line.order or line.problem}
    return "\n".join(lines.values()) or "NO ORDERS"
