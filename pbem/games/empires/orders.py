"""The orders of the game: their grammar, and what is lawful in which phase."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from pbem.games.empires.state import State
from pbem.names import choose
from pbem.orders import Grammar, Problem
from pbem.usage import Order, Rule


@dataclass(frozen=True)
class Bid(Order):
    """A sealed bid of whole VP on an empire; 0 takes an earlier one back."""

    empire: str
    amount: int


@dataclass(frozen=True)
class Prefer(Order):
    """A player's order of choice, the best first."""

    empire: tuple[str, ...]


@dataclass(frozen=True)
class Pick(Order):
    """The empire that the last player left takes for its strength (rule 5)."""

    empire: str


@dataclass(frozen=True)
class Score(Order):
    """The VP a seat made this epoch, as the game master has them."""

    seat: str
    points: int


# The source of one of the games is Russian, and so may players be.
ALIASES = {
    "СТАВКА": "BID",
    "СТАВЛЮ": "BID",
    "ПРЕДПОЧИТАЮ": "PREFER",
    "ВЫБИРАЮ": "PICK",
    "ОЧКИ": "SCORE",
}

GRAMMAR = Grammar(
    rules=(
        Rule(
            "BID <empire> <amount:int>",
            Bid,
            "a sealed bid in whole VP: 0, or at least the empire's minimum",
        ),
        Rule(
            "PREFER <empire>, <empire>, …",
            Prefer,
            "what you would rather have, wherever you have a choice",
        ),
        Rule("PICK <empire>", Pick, "the empire you take, when you are the last without one"),
        Rule(
            "SCORE <seat> <points:int>",
            Score,
            "the VP a seat made this epoch; may be negative",
            gm=True,
        ),
    ),
    units=("VP", "VPs", "points", "pts"),
    aliases=ALIASES,
)


def check(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[list[Order], list[Problem]]:
    """Part one seat's orders (`None`: the game master's) into lawful ones and problems.

    Of several bids for one empire, PREFER, PICK or SCORE of one seat the last lawful one counts;
    those it replaces are in neither list.
    """
    lawful, problems = parted(state, seat, orders)
    newest = {subject(order): at for at, order in enumerate(lawful)}
    return [one for at, one in enumerate(lawful) if newest[subject(one)] == at], problems


def subject(order: Order) -> tuple[type[Order], str]:
    """Return what an order is about: of lawful ones about the same the last counts."""
    match order:
        case Bid(name) | Score(name):
            return type(order), name
    return type(order), ""


def parted(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[list[Order], list[Problem]]:
    """Part orders as `check` does, with those in the first list that a later one replaces."""
    lawful: list[Order] = []
    problems: list[Problem] = []
    for order in orders:
        found = _untimely(state, seat, order) or _whole(state, seat, order)
        if isinstance(found, str):
            problems.append(Problem(order.line, found))
        else:
            lawful.append(found)
    return lawful, problems


_PHASE_OF = {Bid: ("bid",), Prefer: ("bid", "pick"), Pick: ("pick",), Score: ("score",)}
_NOW = {
    "bid": "a round of bids is due now",
    "pick": "the last player without an empire picks now",
    "score": "the game master enters the VP of the epoch now",
    "over": "the match is over",
}


def _untimely(state: State, seat: str | None, order: Order) -> str:
    """Say why an order can't come from this seat in this phase; empty where it can."""
    if state.phase not in _PHASE_OF.get(type(order), ()):
        return f"{_verb(order)} can't be carried out: {_NOW[state.phase]}"
    if (seat is None) != isinstance(order, Score):
        return f"{_verb(order)} is {'a player' if seat is None else 'the game master'}'s order"
    if seat is not None and seat in state.claims:
        return f"you have {state.claims[seat].empire}, and are done until the next epoch"
    return ""


def _whole(state: State, seat: str | None, order: Order) -> Order | str:
    """Return the order with its names made whole, or say why it is not lawful."""
    match order:
        case Bid(said):
            return _named(said, state.empires, "empire", lambda e: _bid(state, seat, order, e))
        case Prefer(wishes):
            names: list[str] = []
            for said in wishes:
                name, problem = _find(said, state.empires, "empire")
                if name is None:
                    return problem
                names.append(name)
            return replace(order, empire=tuple(dict.fromkeys(names)))
        case Pick(said):
            return _named(said, state.empires, "empire", lambda e: _pick(state, order, e))
        case Score(said):
            return _named(said, state.seats, "seat", lambda name: replace(order, seat=name))
    return f"{_verb(order)} is no order of this game"


def _verb(order: Order) -> str:
    return type(order).__name__.upper()


def _find(said: str, names: Collection[str], what: str) -> tuple[str | None, str]:
    # The whole name, written as it is, needs no search: a long sheet of bids has thousands.
    return (said, "") if said in names else choose(said, names, what)


def _named(
    said: str, names: Collection[str], what: str, then: Callable[[str], Order | str]
) -> Order | str:
    name, problem = _find(said, names, what)
    return problem if name is None else then(name)


def _bid(state: State, seat: str | None, order: Bid, empire: str) -> Order | str:
    """Apply 4b: open empires only, 0 or the minimum, a contested one for its contestants."""
    if order.amount < 0:
        return f"a bid can't be negative: {order.amount}"
    taken = state.holders.get(empire)
    if taken:
        return f"{empire} is taken: {taken} has it"
    least = state.least(seat, empire)
    if order.amount and least is None:
        who = " and ".join(state.contested[empire].seats)
        return f"{empire} is contested: only {who} may bid on it this round"
    if least is not None and 0 < order.amount < least:
        return f"{empire} takes 0 or at least {least} this round, not {order.amount}"
    return order if order.empire == empire else replace(order, empire=empire)


def _pick(state: State, order: Pick, empire: str) -> Order | str:
    taken = state.holders.get(empire)
    return f"{empire} is taken: {taken} has it" if taken else replace(order, empire=empire)
