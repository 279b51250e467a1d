"""A player's mail read for orders and commands: its sheet filed, its commands done, its receipt."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from pbem import commands, identity, matches
from pbem import game as games
from pbem.game import Game, Json
from pbem.intake import answers, gm_lines, receipts
from pbem.intake.answers import Done
from pbem.intake.lookup import Lookup
from pbem.intake.opening import read
from pbem.intake.values import Mail, Taken
from pbem.marker import MARKER
from pbem.matches import Arrival
from pbem.orders import LONGEST_LINE, MOST_LINES, Grammar, Problem, Reading
from pbem.store import Entry, Match, Message, Seat, Sheet, Turn
from pbem.usage import Order

if TYPE_CHECKING:
    from pbem.message import Letter

_GENERAL = frozenset(rule.make for rule in commands.PLAYER.rules)
_TAGS = re.compile(r"\[[^\[\]]{0,80}\]")
_QUOTE_MARKS = re.compile(r"^[>| ]+", re.MULTILINE)

# Lines of press that a letter repeats to its writer.
MOST_SHOWN = 40

_INSERT_SHEET = insert(Sheet)
_INSERT_ENTRY = insert(Entry)


@dataclass(frozen=True, slots=True)
class Said:
    """What a mail's own words hold: the lines as read, orders of the game, general commands."""

    grammar: Grammar
    letter: "Letter"
    reading: Reading
    orders: Sequence[Order]
    commands: Sequence[Order]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it that asks for an answer."""
        return not self.orders and not self.commands and not self.reading.problems


@dataclass(frozen=True, slots=True)
class Filing:
    """What became of a mail's orders: the lawful ones, what is wrong, when they came."""

    lawful: Sequence[Order] = ()
    problems: Sequence[Problem] = ()
    came: Arrival | None = None

    @property
    def is_filed(self) -> bool:
        """Whether they count, for the phase to come or a later one."""
        return bool(self.lawful) and self.came is not None and self.came.turn is not None


@cache
def _grammar(key: str) -> Grammar:
    return games.named(key).GRAMMAR | commands.PLAYER


def said_in(lookup: Lookup, mail: Mail, letter: "Letter", seat: Seat) -> Said:
    """Read a mail for orders; where its words hold none of the game's, look further in it.

    The HTML, a text file and the subject are looked into then (`mail.md`).
    """
    said = _said(lookup, letter, seat)
    if said.orders or said.reading.problems:
        return said

    def holds(text: str) -> bool:
        return bool(_orders_in(text, seat.match))

    again = read(lookup.config, mail.raw, takes=holds)
    if again.text == letter.text:
        return said
    further = _said(lookup, again, seat)
    return further if further.orders else said


def _said(lookup: Lookup, letter: "Letter", seat: Seat) -> Said:
    grammar = _grammar(seat.match.game)
    reading = grammar.read(letter.text)
    own = gm_lines.without_blocks(letter.text, reading, seat)
    if own != letter.text:
        reading = grammar.read(own)
    is_gm = identity.folded(letter.sender) == identity.folded(lookup.config.game_master.address)
    hint = "; answer a letter to you as game master with it" if is_gm else ""
    of_game = games.named(seat.match.game).GRAMMAR.verbs
    reading = gm_lines.marked(reading, letter.text, seat, of_game, hint)
    orders = [order for order in reading.orders if type(order) not in _GENERAL]
    general = [order for order in reading.orders if type(order) in _GENERAL]
    return Said(grammar, letter, reading, orders, general)


def _orders_in(text: str, match: Match) -> list[Order]:
    read = _grammar(match.game).read(text).orders
    return [order for order in read if type(order) not in _GENERAL]


def asked_in(lookup: Lookup, mail: Mail, letter: "Letter", seat: Seat) -> list[str]:
    """Return what a mail would change, line by line: its orders, and commands but questions."""
    said = said_in(lookup, mail, letter, seat)
    write = said.grammar.write
    asked = [order for order in said.commands if not answers.is_harmless(order)]
    shown = [line for order in (*said.orders, *asked) for line in _whole(write(order), order)]
    return shown[:MOST_LINES]


def _whole(first: str, order: Order) -> list[str]:
    """Return an order as written, with its block of lines, shortened where that is long."""
    if not isinstance(order, commands.Press | commands.AnonymousPress):
        return [receipts.shortened(first)]
    body = [receipts.shortened(line) for line in "\n".join(order.body).strip().split("\n")]
    more = [f"… ({len(body) - MOST_SHOWN} more lines)"] if len(body) > MOST_SHOWN else []
    return [receipts.shortened(first), *body[:MOST_SHOWN], *more, "END PRESS"]


def is_for_gm(text: str, match: Match) -> bool:
    """Tell whether a game master's words hold anything like an order."""
    reading = (games.named(match.game).GRAMMAR | commands.GAME_MASTER).read(text, gm=True)
    return bool(reading.orders or reading.problems)


def take(lookup: Lookup, mail: Mail, letter: "Letter", seat: Seat) -> Taken:
    """Carry out what a seat's mail asks for, and answer it line by line."""
    turn = lookup.turn(seat.match)
    if turn is not None and receipts.is_replay(lookup, letter, seat, turn.ran):
        return Taken("ignored", "it repeats a mail of an earlier turn")
    _reach(letter, seat)
    said = said_in(lookup, mail, letter, seat)
    if said.is_empty and _is_as_sent(letter):
        return Taken("ignored", "a program's letter as it was sent, with nothing written above it")
    if said.is_empty:
        return _answer_empty(lookup, mail, said.letter, seat)
    if sum(1 for line in said.reading.lines if line.order or line.problem) > MOST_LINES:
        why = f"a sheet has at most {MOST_LINES} order lines; nothing of it was taken"
        return receipts.refuse(lookup, mail, letter, seat, why)._replace(status="refused")
    asking = answers.Asking(lookup, mail, said.letter, seat)
    # Withdrawn is what came before this mail; all else is heard once its sheet is filed.
    above = [
        one
        for one in said.commands
        if _is_cancel(one) and all(one.line < order.line for order in said.orders)
    ]
    done = [answers.do(asking, order) for order in above]
    filing = _file(lookup, mail, said, seat)
    if filing.lawful:
        told = "Orders that came before are withdrawn; those of this mail count."
        done = [one._replace(said=told) if one.said else one for one in done]
    for order in said.commands:
        if isinstance(order, commands.Standing) and filing.lawful:
            done.append(Done(order, said="These orders stand: they also count in later turns."))
        elif isinstance(order, commands.NoOrders) and filing.lawful:
            done.append(Done(order, problem="there are orders in the same mail; these count"))
        elif _is_cancel(order) and order not in above and filing.lawful:
            why = "there are orders above it; these count. To withdraw them, send CANCEL alone"
            done.append(Done(order, problem=why))
        elif order not in above:
            done.append(answers.do(asking, order))
    is_answered = _answer(lookup, mail, said, seat, filing, done)
    if filing.came is not None and filing.came.verdict != "in time":
        return Taken("late", filing.came.why)
    if filing.is_filed or any(
        isinstance(one.order, commands.NoOrders) and one.said for one in done
    ):
        return Taken("filed")
    why = "" if done else "no lawful order in it"
    if is_answered:
        return Taken("answered", why)
    # What it asked for was done all the same.
    changed = any(one.said for one in done)
    return Taken("answered" if changed else "ignored", receipts.SILENT)


def _is_as_sent(letter: "Letter") -> bool:
    """Tell whether a mail is a letter of a program like ours: its marker on top, nothing above it.

    Then its words are the blanks of an order form, or the subject, where the letter has no form.
    """
    if not letter.quoted.lstrip().startswith(MARKER):
        return False
    lines = [line for line in letter.text.split("\n") if line.strip() and "__" not in line]
    return not lines or letter.text.strip() in letter.subject


def _is_cancel(order: Order) -> bool:
    return isinstance(order, commands.Cancel)


def _reach(letter: "Letter", seat: Seat) -> None:
    """Note that mail comes from an address: letters that came back from it before don't matter."""
    for address in seat.addresses:
        if address.bounces and address.folded == identity.folded(letter.sender):
            address.bounces = 0


def _file(lookup: Lookup, mail: Mail, said: Said, seat: Seat) -> Filing:
    """Check a mail's orders, and file its lines as the seat's sheet if one of them is lawful."""
    match = seat.match
    turn = lookup.turn(match)
    if not said.orders:
        return Filing(problems=said.reading.problems)
    if turn is None or match.status not in ("running", "held"):
        why = f"{match.name} takes no orders now: it is {match.status}"
        return Filing(problems=[Problem(order.line, why) for order in said.orders])
    game, state = lookup.state(match, turn)
    lawful, unlawful = game.check(state, seat.name, said.orders)
    problems = [*said.reading.problems, *unlawful]
    if not lawful:
        return Filing(problems=problems, came=_arrival(lookup, mail, seat, turn))
    standing = any(isinstance(order, commands.Standing) for order in said.commands)
    text = _sheet_text(said)
    came = _arrival(lookup, mail, seat, turn)
    if came.verdict == "in time":
        _insert(lookup, mail, seat, text, standing)
        if _may_run_early(match, game, state):
            matches.settle(lookup.session, match)
    else:
        message = lookup.session.get(Message, mail.id)
        came = matches.file(
            lookup.session, match, seat, text, mail.received, message=message, standing=standing
        )
    return Filing(lawful, problems, came)


def _arrival(lookup: Lookup, mail: Mail, seat: Seat, turn: Turn) -> Arrival:
    """Tell whether a mail is in time; nearly every one is, which is seen without a query."""
    match, received = seat.match, mail.received
    if turn.ran <= received and (match.deadline is None or received <= match.deadline):
        return Arrival("in time", match.turn)
    return matches.arrival(lookup.session, match, seat, received)


def _may_run_early(match: Match, game: Game, state: Any) -> bool:
    early = match.settings.get("early", "never") != "never"
    return early or match.waits_until is not None or bool(games.deciding(game, state))


def _insert(lookup: Lookup, mail: Mail, seat: Seat, text: str, standing: bool) -> None:
    # As `matches.file` does, but without the unit of work: nearly every mail leads here.
    match = seat.match
    sheet = {
        "match_id": match.id,
        "seat_id": seat.id,
        "turn": match.turn,
        "text": text,
        "received": mail.received,
        "message_id": mail.id,
        "late": False,
        "standing": standing,
        "withdrawn": False,
    }
    entry = {
        "match_id": match.id,
        "time": lookup.now,
        "who": seat.name,
        "what": "orders",
        "facts": {"turn": match.turn},
    }
    lookup.put_off(_INSERT_SHEET, sheet)
    lookup.put_off(_INSERT_ENTRY, entry)


def _sheet_text(said: Said) -> str:
    """Return the lines of a mail that are orders of the game, or were meant to be, in their places.

    Of a block of press nothing is kept, or its lines might be orders when they are read again.
    """
    kept: dict[int, list[str]] = {}
    for line in said.reading.lines:
        if line.problem is None and (line.order is None or type(line.order) in _GENERAL):
            continue
        if len(line.text) <= LONGEST_LINE:
            kept.setdefault(line.number, []).append(line.text)
    return "\n".join("; ".join(kept.get(at, ())) for at in range(1, max(kept, default=0) + 1))


def _answer(
    lookup: Lookup,
    mail: Mail,
    said: Said,
    seat: Seat,
    filing: Filing,
    done: Sequence[Done],
) -> bool:
    """Queue the receipt of a mail that holds orders or commands; tell whether he is answered."""
    if any(isinstance(one.order, commands.Resign) and one.said for one in done):
        # He has left, and was told so.
        return True
    write = games.named(seat.match.game).GRAMMAR.write
    filed = [write(order) for order in filing.lawful]
    came = filing.came
    late = came is not None and came.verdict != "in time"
    good = filing.is_filed or any(not one.problem and not _is_token(one) for one in done)
    bad = bool(filing.problems) or any(one.problem for one in done) or late
    receipt: Json = {
        "outcome": _outcome(filing, done, good, bad),
        "lines": _echo(said, filing, done),
        "late": late,
        "turn": seat.match.turn,
        "sheet": filed if filing.is_filed else answers.sheet_after(lookup, seat, done),
        "forecast": filing.is_filed and not late,
        "why": _why_late(filing) if late else "",
    }
    receipt["notes"] = [one.said for one in done if one.said]
    if filing.lawful:
        receipt["notes"] += _of_subject(said, seat.match)
    asked = list(dict.fromkeys(one.asked for one in done if one.asked))
    if asked:
        receipt["asked"] = asked
    return receipts.answer(lookup, mail, said.letter, seat, receipt)


def _why_late(filing: Filing) -> str:
    """Say why orders are late, and where they count all the same, for what."""
    why = filing.came.why if filing.came is not None else ""
    return f"{why}; your orders count for the next turn" if filing.is_filed else why


def _outcome(filing: Filing, done: Sequence[Done], good: bool, bad: bool) -> str:
    """Return how a mail went, in the words of a receipt's subject."""
    if not good:
        return "nothing taken"
    if filing.is_filed or not (filing.problems or filing.lawful):
        return "accepted, with questions" if bad else "accepted"
    # He meant orders, and none counts; what else he asked for was done.
    went = [one for one in done if not one.problem and not _is_token(one)]
    is_press = all(isinstance(one.order, commands.Press | commands.AnonymousPress) for one in went)
    return f"no order taken, {'press sent' if is_press else 'the rest accepted'}"


def _is_token(one: Done) -> bool:
    return isinstance(one.order, commands.Password)


def _of_subject(said: Said, match: Match) -> list[str]:
    """Say that an order in the subject was not read, where there are others in the mail."""
    subject = _TAGS.sub(" ", said.letter.subject).strip()
    if not subject or subject in said.letter.text:
        return []
    if subject.split()[0].upper() not in said.grammar.verbs:
        return []
    found = _orders_in(subject, match)
    write = games.named(match.game).GRAMMAR.write
    return [f"Your subject was not read for orders ({write(found[0])})."] if found else []


def _echo(said: Said, filing: Filing, done: Sequence[Done]) -> list[Json]:
    """Return, line by line, what was understood and what was not and why."""
    write = said.grammar.write
    understood: dict[int, list[str]] = {}
    too_late: dict[int, list[str]] = {}
    wrong: dict[int, list[str]] = {}
    for order in filing.lawful:
        of = understood if filing.is_filed else too_late
        of.setdefault(order.line, []).append(write(order))
    for problem in filing.problems:
        wrong.setdefault(problem.line, []).append(problem.message)
    for one in done:
        if one.problem:
            wrong.setdefault(one.order.line, []).append(one.problem)
        else:
            understood.setdefault(one.order.line, []).append(write(one.order))
    texts: dict[int, str] = {}
    for line in said.reading.lines:
        # A token is not repeated in a letter.
        if (line.order or line.problem) and not isinstance(line.order, commands.Password):
            earlier = f"{texts[line.number]}; " if line.number in texts else ""
            texts[line.number] = earlier + receipts.shortened(line.text)
    return [
        {
            "number": number,
            "text": text,
            "understood": receipts.shortened("; ".join(understood.get(number, ()))) or None,
            "too_late": receipts.shortened("; ".join(too_late.get(number, ()))) or None,
            "problem": receipts.shortened("; ".join(wrong.get(number, ())), 500) or None,
            # A lawful line that a game leaves out is one that its writer wrote anew further down.
            "replaced": not (number in understood or number in too_late or number in wrong),
        }
        for number, text in sorted(texts.items())
    ]


def _answer_empty(lookup: Lookup, mail: Mail, letter: "Letter", seat: Seat) -> Taken:
    """Answer a mail that holds nothing by what may be the matter, unless in a circle."""
    quoted = _orders_in(_QUOTE_MARKS.sub("", letter.quoted), seat.match) if letter.quoted else []
    if quoted:
        write = _grammar(seat.match.game).write
        shown = "; ".join(write(order) for order in quoted[:3])
        why = (
            f"your own words hold no order, but what you quote does ({shown}). Is it meant? Then "
            "write it above what you quote; nothing was carried out"
        )
    elif letter.quoted:
        why = "your own words hold no order; what they quote is not taken for orders"
    else:
        why = letter.why or "your mail holds no order"
    return receipts.refuse(lookup, mail, letter, seat, why)
