"""What became of each line of the sealed plans, said from the events of the turn they were for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pbem.game import Json
from pbem.games.offices.language import GRAMMAR, Defend, Gold, Good, Pass, Stay, Take
from pbem.games.offices.match import parted, subject
from pbem.games.offices.plans import Wish
from pbem.games.offices.position import PRICE, State
from pbem.games.offices.rows import Row, moved
from pbem.games.offices.storage import load
from pbem.orders import Problem
from pbem.usage import Order

Facts = Mapping[str, Any]


def became(record: Json, at: int) -> dict[str, dict[int, str]]:
    """Say of each lawful line of the turn at a place what became of it, by seat and line.

    The game master's seat is empty; of his lines the refused ones are in it too, for the record
    has no problems of his. Without the orders it is empty.
    """
    turn = record["turns"][at]
    if not at or not turn["orders"]:
        return {}
    before = load(record["turns"][at - 1]["state"], record["seats"], record["options"])
    ended = any(event["kind"] == "ended" for event in turn["events"])
    lawful: dict[str, list[Order]] = {}
    problems: list[Problem] = []
    for seat, text in turn["orders"].items():
        reading = GRAMMAR.read(text, gm=not seat)
        lawful[seat], unlawful = parted(before, seat or None, reading.orders)
        if not seat:
            problems = [*reading.problems, *unlawful]
    if ended:
        said = {seat: _ended(orders) for seat, orders in lawful.items()}
    else:
        said = _played(before, turn, {seat: of for seat, of in lawful.items() if seat})
        if "" in lawful:
            said[""] = _income(before, lawful[""])
    for problem in problems:
        said[""][problem.line] = f"refused: {problem.message}"
    return {seat: dict(sorted(lines.items())) for seat, lines in said.items()}


def _ended(orders: Sequence[Order]) -> dict[int, str]:
    return {order.line: "not carried out: the match was ended before" for order in orders}


def _income(before: State, orders: Sequence[Order]) -> dict[int, str]:
    gold = dict(before.gold)
    said: dict[int, str] = {}
    for order in orders:
        if isinstance(order, Gold):
            gold[order.seat] += order.change
            said[order.line] = f"{order.seat} has {gold[order.seat]} gold"
    return said


@dataclass
class _Sheet:
    """A seat's lines as the auction goes on: those used up, and what is to be said of each."""

    wishes: list[Wish]
    orders: Sequence[Order]
    used: set[int] = field(default_factory=set)
    said: dict[int, list[str]] = field(default_factory=dict)
    # The wish whose challenge is under way.
    trying: Order | None = None

    def say(self, order: Order, words: str) -> None:
        """Add what happened to a line; the same twice in a row is said once."""
        said = self.said.setdefault(order.line, [])
        if said[-1:] != [words]:
            said.append(words)

    def tried(self, line: str) -> tuple[list[Wish], Wish | None]:
        """Return the wishes passed over before one was done, and that one, if it is in the plan."""
        passed: list[Wish] = []
        for at, wish in enumerate(self.wishes):
            if at in self.used:
                continue
            if GRAMMAR.write(wish) == line:
                return passed, wish
            passed.append(wish)
        return [], None

    def use_up(self, wish: Wish) -> None:
        """Strike a wish out that is good for one offer only."""
        self.used |= {at for at, one in enumerate(self.wishes) if one is wish}

    def left(self) -> list[Wish]:
        """Return the wishes that are not used up."""
        return [wish for at, wish in enumerate(self.wishes) if at not in self.used]

    def defence(self, office: str) -> Defend | None:
        """Return the line that says how far the seat raises as holder of an office (rule 9)."""
        lines = [order for order in self.orders if isinstance(order, Defend)]
        named = [order for order in lines if order.office == office]
        fitting = named or [order for order in lines if order.office is None]
        return fitting[-1] if fitting else None


def _played(before: State, turn: Json, lawful: Mapping[str, list[Order]]) -> dict[str, Any]:
    """Go through what happened, and note at each line what it did."""
    sheets = {
        seat: _Sheet([order for order in orders if isinstance(order, Take | Stay)], orders)
        for seat, orders in lawful.items()
    }
    row = Row.of(before)
    events = turn["events"]
    stopped = any(event["kind"] == "asked" for event in events)
    for event, after in zip(events, [*events[1:], {"kind": ""}], strict=True):
        facts, why = event["facts"], after["facts"] if after["kind"] == "why" else None
        if event["kind"] in ("keeps", "takes", "offers") and why:
            _chosen(row, sheets.get(facts["seat"]), event, why)
        elif event["kind"] == "passes":
            _passed(sheets.get(facts["seat"]), facts, why)
        elif event["kind"] in ("conquers", "defends"):
            _won(sheets, event)
        elif event["kind"] == "good" and facts["seat"] in sheets:
            for order in sheets[facts["seat"]].orders:
                if isinstance(order, Good) and order.colour == facts["colour"]:
                    sheets[facts["seat"]].say(order, f"got one {facts['colour']} good")
        row = moved(row, event)
    return {seat: _told(sheet, stopped) for seat, sheet in sheets.items()}


def _chosen(row: Row, sheet: _Sheet | None, event: Json, why: Facts) -> None:
    """Note which wish was done, and why those before it were not (rules 9 and 10)."""
    if sheet is None:
        return
    facts = event["facts"]
    if why["cause"] == "passed":
        for order in sheet.orders:
            if isinstance(order, Pass):
                sheet.say(order, _did(event))
        return
    passed, wish = sheet.tried(why["line"]) if why["line"] else (sheet.left(), None)
    for one in passed:
        sheet.say(one, f"passed over: {_hindrance(row, facts['seat'], one)}")
    if wish is None:
        return
    if event["kind"] != "offers":
        sheet.say(wish, _did(event))
        return
    sheet.trying = wish
    if isinstance(wish, Take) and wish.gold is None:
        sheet.use_up(wish)


def _did(event: Json) -> str:
    """Say what an active seat did that needed nobody's answer."""
    office, facts = event["facts"]["office"], event["facts"]
    if event["kind"] == "keeps":
        return f"kept {office}"
    if facts["rule"] == "6":
        return f"took {office}, free of charge"
    return f"took {office}, which was free, for {facts['paid'] or 'nothing'}"


def _hindrance(row: Row, seat: str, wish: Wish) -> str:
    """Say why a wish could not be done as things stood."""
    if isinstance(wish, Stay):
        return "there was no office to keep"
    lying, gold = row.lying[wish.office], row.gold.get(seat, 0)
    held = row.holders[wish.office]
    needed = lying + 1 if held else PRICE
    state = f"held by {held}" if held else "free"
    have = f"with {gold} in hand" if gold < needed else f"above the limit of {wish.gold}"
    return f"{wish.office} was {state} and would have taken {needed}, {have}"


def _passed(sheet: _Sheet | None, facts: Facts, why: Facts | None) -> None:
    """Note of whoever passed how far his line had gone (rule 4)."""
    if sheet is None:
        return
    bid, office = facts["bid"], facts["office"]
    cause = {
        "limit": "its limit",
        "gold": "no more gold",
        "single": "one offer, no raise",
        "passed": "the answer was PASS",
    }.get(why["cause"] if why else "", "")
    if sheet.trying is not None:
        sheet.say(sheet.trying, f"lost {office} at {bid}: {cause or 'passed'}")
        sheet.trying = None
        return
    line = sheet.defence(office)
    if line is not None:
        sheet.say(line, f"gave {office} up at {bid}: {cause or 'passed'}")
    for order in sheet.orders:
        if isinstance(order, Pass):
            sheet.say(order, f"passed: {office} was given up at {bid}")


def _won(sheets: Mapping[str, _Sheet], event: Json) -> None:
    facts = event["facts"]
    sheet = sheets.get(facts["seat"])
    if sheet is None:
        return
    office, paid = facts["office"], facts["paid"]
    if event["kind"] == "conquers":
        if sheet.trying is not None:
            sheet.say(sheet.trying, f"took {office} from {facts['holder']} for {paid}")
        sheet.trying = None
        return
    line = sheet.defence(office)
    if line is not None:
        sheet.say(line, f"kept {office} against {facts['challenger']} for {paid}")


def _told(sheet: _Sheet, stopped: bool) -> dict[int, str]:
    """Say of every line what came of it, those that nothing happened to included."""
    found: dict[int, str] = {}
    for order in sheet.orders:
        said = list(sheet.said.get(order.line, ()))
        if order is sheet.trying:
            said.append("its challenge is under way")
        later = _replacing(sheet.orders, order)
        if later:
            said = [f"replaced by line {later}"]
        elif not said and stopped:
            said = ["not reached so far"]
        elif not said and isinstance(order, Take | Stay):
            said = ["never reached: another line was done"]
        elif not said and isinstance(order, Defend):
            said = ["not needed: no challenge came to it"]
        elif not said and isinstance(order, Good):
            said = ["no effect: another seat had the good to take"]
        elif not said:
            said = ["nothing more was chosen"]
        found[order.line] = "; then ".join([*filter(None, [found.get(order.line)]), *said])
    return found


def _replacing(orders: Sequence[Order], order: Order) -> int | None:
    """Return the line that takes the place of a `DEFEND` or `GOOD`; the last one does."""
    if not isinstance(order, Defend | Good):
        return None
    last = [one for one in orders if subject(one) == subject(order)][-1]
    return None if last is order else last.line
