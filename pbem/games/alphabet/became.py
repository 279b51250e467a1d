"""What became of each order line of a turn, for the archive: groups, words, trades, the pot."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
            # Bids for as much are equal, wherever they stand.
            stands = any(order is one for one in lawful)
            if isinstance(order, Bid) and not stands and order.line not in wrong:
                later = next(
                    o.line for o in lawful if isinstance(o, Bid) and o.group == order.group
                )
                said.setdefault(order.line, []).append(f"replaced by line {later}")
        for line, what in now.outcomes(seat, lawful):
            said.setdefault(line, []).append(what)
        found[seat] = {line: "; ".join(parts) for line, parts in sorted(said.items())}
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

    def outcomes(self, seat: str, orders: Sequence[Order]) -> Iterator[tuple[int, str]]:
        """Say what a seat's lawful orders brought, by line; nothing of what the turn refused.

        Whether one was carried out the events tell: a line may hold several orders, and the fault
        of one is no other's.
        """
        if facts_of(self.turn, "ended"):
            for order in orders:
                yield order.line, "not carried out: the game master ended the match"
            return
        claims = {f["word"]: f for f in facts_of(self.turn, "claim") if f["seat"] == seat}
        pot = [f for f in facts_of(self.turn, "share") if f["seat"] == seat]
        mine = [f for f in facts_of(self.turn, "trade") if seat in f["seats"]]
        done = Counter(_deal(facts, seat) for facts in mine)
        for order in orders:
            match order:
                case Claim(words):
                    # A word in two lines is formed by the first; so with letters and trades.
                    for facts in [claims.pop(word) for word in words if word in claims]:
                        times = f"{len(facts['word'])} × {facts['times']}"
                        yield order.line, f"{facts['word']}: {times} = {facts['points']} points"
                case Bid(group, pounds):
                    if any(bid["seat"] == seat for bid in self.lots[group]["bids"]):
                        yield order.line, self._bid(seat, group, pounds)
                case Pot(letter):
                    if pot and pot[0]["put_in"] == letter:
                        yield order.line, _shared(letter, pot.pop()["letter"])
                case Trade(other, goods, price):
                    deal = (other, str(goods), str(price))
                    if done[deal]:
                        done[deal] -= 1
                        yield order.line, _traded(other, goods, price)

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


def _deal(facts: Facts, seat: str) -> tuple[str, str, str]:
    """Return a trade as a seat in it wrote it: with whom, what it gives, what it gets."""
    first, second = facts["seats"]
    gives, gets = facts["gives"]["text"], facts["gets"]["text"]
    return (second, gives, gets) if seat == first else (first, gets, gives)


def _shared(put_in: str, got: str) -> str:
    if put_in == got:
        return f"{put_in} went into the pot and came back"
    return f"{put_in} went into the pot, and {got} came out of it"


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
