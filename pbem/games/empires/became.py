"""What became of each order line of a turn, for the archive: won, lost, tied, given up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pbem.game import Json
from pbem.games.empires.auction import references
from pbem.games.empires.orders import GRAMMAR, Bid, Pick, Prefer, Score, parted, subject
from pbem.games.empires.paid import bids_of, facts_of, paid
from pbem.games.empires.resolution import figures
from pbem.games.empires.stored import load
from pbem.usage import Order

Facts = Mapping[str, Any]


def became(record: Facts, number: int) -> dict[str, dict[int, str]]:
    """Say of each lawful order line of a turn, by seat and line, what became of it.

    The game master's seat is `""`; of his lines it is said too which are refused, and why. Nothing
    is said while the orders are secret.
    """
    if not record["whole"] or number == 0:
        return {}
    turns = record["turns"]
    state = load(turns[number - 1]["state"], record["seats"], record["options"])
    now = _Turn(turns[number - 1]["state"], turns[number], record["seats"])
    found: dict[str, dict[int, str]] = {}
    for seat, text in turns[number]["orders"].items():
        reading = GRAMMAR.read(text, gm=not seat)
        lawful, unlawful = parted(state, seat or None, reading.orders)
        said: dict[int, list[str]] = {}
        # What is refused of a player's lines is in the record itself.
        for line, why in () if seat else (*reading.problems, *unlawful):
            said.setdefault(line, []).append(f"refused: {why}")
        subjects = [subject(order) for order in lawful]
        for at, order in enumerate(lawful):
            is_replaced = subjects[at] in subjects[at + 1 :]
            later = lawful[subjects.index(subjects[at], at + 1)].line if is_replaced else None
            gone = f"replaced by line {later}" if later else now.outcome(seat, order)
            said.setdefault(order.line, []).append(gone)
        found[seat] = {line: "; ".join(parts) for line, parts in sorted(said.items())}
    return found


def _named(names: Sequence[str]) -> str:
    """Return names as a list in a sentence: A, B and C."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class _Turn:
    """What a turn brought, to look up what became of a line."""

    before: Facts
    turn: Facts
    seats: Sequence[str]

    @cached_property
    def bids(self) -> Mapping[str, Mapping[str, int]]:
        """The bids of the round, by seat."""
        return bids_of(self.turn) or {}

    @cached_property
    def claims(self) -> Mapping[str, Json]:
        """The claims of the turn with what was paid above the next bid, by empire."""
        return {claim["empire"]: claim for claim in paid(self.before, self.turn)}

    @cached_property
    def has(self) -> Mapping[str, str]:
        """The empire that each seat got in the turn."""
        return {claim["seat"]: empire for empire, claim in self.claims.items()}

    def about(self, kind: str, name: str, key: str = "empire") -> Facts:
        """Return the facts of the event of a kind about an empire (or seat); empty without one."""
        return next((facts for facts in facts_of(self.turn, kind) if facts[key] == name), {})

    def outcome(self, seat: str, order: Order) -> str:
        """Say what became of a lawful line that none replaced."""
        if facts_of(self.turn, "ended"):
            return "not carried out: the game master ended the match"
        match order:
            case Bid(empire, amount):
                return self._bid(seat, empire, amount)
            case Prefer():
                return self._prefer(seat)
            case Pick(empire):
                return f"{empire} for its strength, {self.claims[empire]['price']} (rule 5)"
            case Score(who, points):
                return f"{who} scores {points}"
        return ""

    def _bid(self, seat: str, empire: str, amount: int) -> str:
        mine, claim = self.has.get(seat), self.claims.get(empire)
        if amount == 0:
            return "no bid: 0 never claims (rule 1)"
        if mine == empire:
            return self._won(seat, empire)
        contest, blocked = self.about("contest", empire), self.about("blocked", empire)
        why = self.about("decided", empire)
        if contest and seat in contest["seats"]:
            return self._tied(seat, empire, contest)
        if contest and seat in self.about("alike", empire).get("lost", ()):
            return self._beaten(seat, empire, contest["seats"][0], contest["minimum"])
        if contest and amount < contest["minimum"]:
            return f"less than the {contest['minimum']} at which others contest it (rule 4)"
        if blocked and seat == blocked["seat"]:
            return "best, but gets nothing now: a contest is waited for (rule 4a)"
        if blocked and seat in blocked["others"]:
            ahead = f"{blocked['seat']}'s {blocked['amount']}"
            return f"not the best: {ahead} is, which waits for a contest (rule 4a)"
        if why and seat in why["tied"]:
            return self._beaten(seat, empire, why["seat"], amount)
        if why and claim and seat not in why["passed"] and amount < claim["price"]:
            return f"lost to {claim['seat']}'s {claim['price']}"
        return f"fell away: {seat} has {mine}" if mine else "brought nothing"

    def _won(self, seat: str, empire: str) -> str:
        claim, why = self.claims[empire], self.about("decided", empire)
        price, rivals = claim["price"], _named(claim["rivals"])
        if claim["by"] == "dice":
            return f"tied at {price // 2}; the dice gave it for twice that, {price} (rule 4c)"
        if claim["by"] != "bid":
            rule = "5a" if claim["by"] == "roll" else "5"
            return f"not by this bid, but for its strength, {price} (rule {rule})"
        if why["tied"]:
            lists = (references(self.bids[who], empire) for who in (seat, why["tied"][0]))
            return f"won at {price}, tied with {_named(why['tied'])}: {figures(*lists)} (rule 3)"
        if not rivals:
            said = "the last bid left for it" if why["passed"] else "the only bid for it"
        elif claim["above"]:
            said = f"{claim['above']} above {rivals}'s {claim['next']}"
        else:
            said = f"as much as {rivals} bid"
        said = f"won at {price}, {said}"
        for who in why["passed"]:
            said += f"; {who} bid {self.bids[who][empire]}, and has {self.has[who]} (rule 2)"
        return said

    def _tied(self, seat: str, empire: str, contest: Facts) -> str:
        others = _named([who for who in contest["seats"] if who != seat])
        said = f"tied with {others} at {contest['minimum']} in all bids"
        if self.turn["state"]["phase"] == "bid":
            return f"{said}: contested next, {contest['minimum']} or more (rule 4)"
        winner = self.claims[empire]["seat"] if empire in self.claims else "none of them"
        return f"{said}: the dice gave it to {winner} (rule 4c)"

    def _beaten(self, seat: str, empire: str, best: str, amount: int) -> str:
        lists = (references(self.bids[who], empire) for who in (best, seat))
        return f"tied with {best} at {amount}, and lost: {figures(*lists)} (rule 3)"

    def _prefer(self, seat: str) -> str:
        mine = self.has.get(seat, "")
        left = self.about("decided", mine).get("left", ())
        if left:
            return f"chose {mine} before {_named(left)} (rule 2a)"
        if self.about("chosen", seat, "seat").get("how") == "prefer":
            by = self.claims[mine]["by"]
            return f"chose {mine} (rule {'5a' if by == 'roll' else '5'})"
        if mine and self.claims[mine]["by"] == "dice":
            earlier = list(self.claims)[: list(self.claims).index(mine)]
            tied = [
                facts["empire"]
                for facts in facts_of(self.turn, "contest")
                if seat in facts["seats"] and 2 * facts["minimum"] == self.claims[mine]["price"]
            ]
            if len([empire for empire in tied if empire not in earlier]) > 1:
                return f"chose {mine} (rule 4c)"
        return "not needed: there was nothing to choose"
