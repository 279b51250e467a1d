"""What became of each order line of a turn, for the archive: groups, words, trades, the pot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pbem.game import Json
from pbem.games.alphabet.lots import facts_of, lots
from pbem.games.alphabet.sheet import GRAMMAR, Bid, Claim, Pot, Things, Trade, check
from pbem.games.alphabet.state import load
from pbem.usage import Order

Facts = Mapping[str, Any]


def became(record: Facts, number: int) -> dict[str, dict[int, str]]:
    """Say of each order line of a turn that was carried out, by seat and line, what became of it.

    What was refused is in the record itself, and in here only what else the line brought. Nothing
    is said while the orders are secret.
    """
    if not record["whole"] or number == 0:
        return {}
    turn = record["turns"][number]
    state = load(record["turns"][number - 1]["state"], record["seats"], record["options"])
    now = _Turn(turn, record["seats"])
    found: dict[str, dict[int, str]] = {}
    for seat in record["seats"]:
        reading = GRAMMAR.read(turn["orders"].get(seat, ""))
        lawful, unlawful = check(state, seat, reading.orders)
        wrong = {problem.line for problem in unlawful}
        said: dict[int, list[str]] = {}
        for order in reading.orders:
            if isinstance(order, Bid) and order not in lawful and order.line not in wrong:
                later = next(
                    o.line for o in lawful if isinstance(o, Bid) and o.group == order.group
                )
                said.setdefault(order.line, []).append(f"replaced by line {later}")
        formed: set[str] = set()
        for order in lawful:
            if isinstance(order, Claim):
                # A word in two lines is formed by the first.
                fresh = tuple(word for word in order.word if word not in formed)
                order = replace(order, word=fresh)
                formed.update(fresh)
            said.setdefault(order.line, []).extend(now.outcome(seat, order))
        found[seat] = {line: "; ".join(parts) for line, parts in sorted(said.items()) if parts}
    return found


@dataclass(frozen=True)
class _Turn:
    """What a turn brought, to look up what became of a line."""

    turn: Facts
    seats: Sequence[str]

    @cached_property
    def lots(self) -> Mapping[int, Json]:
        """The groups that were up for auction, by number."""
        return {lot["group"]: lot for lot in lots(self.turn, self.seats)}

    def outcome(self, seat: str, order: Order) -> Iterator[str]:
        """Say what a lawful line brought; nothing where the turn refused it whole."""
        if facts_of(self.turn, "ended"):
            yield "not carried out: the game master ended the match"
            return
        refused = {line for line, _ in self.turn["problems"].get(seat, ())}
        match order:
            case Claim(words):
                yield from self._claims(seat, words)
            case Bid(group, pounds) if order.line not in refused:
                yield self._bid(seat, group, pounds)
            case Pot(letter) if order.line not in refused:
                yield self._pot(seat, letter)
            case Trade(other, goods, price) if order.line not in refused:
                yield _traded(other, goods, price)

    def _claims(self, seat: str, words: Sequence[str]) -> Iterator[str]:
        for facts in facts_of(self.turn, "claim"):
            if facts["seat"] == seat and facts["word"] in words:
                letters, times = len(facts["word"]), facts["times"]
                yield f"{facts['word']}: {letters} × {times} = {facts['points']} points"

    def _bid(self, seat: str, group: int, pounds: int) -> str:
        lot = self.lots[group]
        others = _named([who for who in lot["tied"] if who != seat])
        if lot["kind"] == "held":
            if seat in lot["only"]:
                ahead = "it is gone" if lot["gone"] else f"held over for {_named(lot['only'])}"
                alike = _named([who for who in lot["only"] if who != seat])
                return f"tied with {alike} at £{pounds}, in points and letters too: {ahead}"
            if seat in lot["tied"]:
                return f"tied with {others} at £{pounds}, who came before by points or letters"
            return f"less than the £{lot['pounds']} of {_named(lot['tied'])}, who are tied"
        if seat == lot["seat"]:
            if lot["tied"]:
                why = "fewer points" if lot["by"] == "points" else "as few points, fewer letters"
                return f"won for £{pounds}, tied with {others}: {why}"
            if not lot["rivals"]:
                return f"won for £{pounds}, the only bid"
            return (
                f"won for £{pounds}, £{lot['above']} above {_named(lot['rivals'])}'s £{lot['next']}"
            )
        if seat in lot["tied"]:
            why = "fewer points" if lot["by"] == "points" else "as few points, fewer letters"
            return f"tied with {others} at £{pounds}; {lot['seat']} had {why}"
        return f"lost to {lot['seat']}'s £{lot['pounds']}"

    def _pot(self, seat: str, letter: str) -> str:
        got = next(f["letter"] for f in facts_of(self.turn, "share") if f["seat"] == seat)
        return (
            f"{letter} went into the pot and came back" if got == letter else f"{got} for {letter}"
        )


def _traded(other: str, goods: Things, price: Things) -> str:
    if not (price.letters or price.money):
        return f"{goods} went to {other} as a gift"
    if not (goods.letters or goods.money):
        return f"{price} came from {other} as a gift"
    return f"{goods} went to {other} for {price}"


def _named(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: A, B and C."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
