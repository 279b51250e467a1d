"""What a player may write: the two orders, their usage lines, and what is lawful of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pbem import game
from pbem.games.hexem import board
from pbem.games.hexem.state import State, most, waiting
from pbem.names import choose
from pbem.orders import Grammar, Problem
from pbem.usage import Kind, Order, Rule


@dataclass(frozen=True)
class Bid(Order):
    """So many armies bid for a country."""

    country: str
    armies: int


@dataclass(frozen=True)
class Muster(Order):
    """Hexes to muster at, in the order written."""

    hex: tuple[str, ...]


# A piece of a label fits the form too, so that the good labels beside it count.
_HEX = Kind(r"[a-z]{1,3}[0-9]{1,9}|[a-z]|[0-9]{1,9}", str.upper)

# The source of one of the games is Russian, and so may players be.
ALIASES = {
    "СТАВКА": "BID",
    "СТАВЛЮ": "BID",
    "СБОР": "MUSTER",
    "СОБРАТЬ": "MUSTER",
    "СОБИРАЮ": "MUSTER",
}

GRAMMAR = Grammar(
    rules=(
        Rule(
            "BID <country> <armies:int>",
            Bid,
            "bid armies for a country; a country you don't name is bid 0",
            chat=r"bid (?:you|them|him|her|us|farewell|welcome)\b[^0-9]*",
        ),
        Rule(
            "MUSTER <hex> [<hex> …]",
            Muster,
            "move all your armies from all neighbouring hexes into each hex, in this order",
            chat=r"muster (?:up|enough|some|the (?:courage|strength|will))\b[^0-9]*",
        ),
    ),
    kinds={"hex": _HEX},
    units=("armies", "army"),
    packaged={"hex": board.packaged_labels},
    lone="hex",
    aliases=ALIASES,
)


def check(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[Sequence[Order], Sequence[Problem]]:
    """Part one seat's orders into lawful ones and problems.

    A bid that a later lawful one for the same country replaces is in neither. A `MUSTER` line with
    a label that is no hex is in both, less that label.
    """
    bids: dict[str, Order] = {}
    musters: list[Order] = []
    problems: list[Problem] = []
    places = board.places(state.labels)
    limits = most(state) if state.phase == "countries" else {}
    refusal = _refusal(state, seat)
    for order in orders:
        if refusal:
            problems.append(Problem(order.line, refusal))
        elif isinstance(order, Bid) and state.phase == "countries":
            country, why = _bid(order, limits)
            if why:
                problems.append(Problem(order.line, why))
            else:
                # Taken out first, so that a bid stands where it was last written.
                bids.pop(country, None)
                bids[country] = replace(order, country=country)
        elif isinstance(order, Muster) and state.phase == "muster":
            good = tuple(label for label in order.hex if label in places)
            bad = tuple(label for label in order.hex if label not in places)
            problems.extend(Problem(order.line, _no_hex(state, label)) for label in bad)
            if good:
                musters.append(replace(order, hex=good) if bad else order)
        elif state.phase == "countries":
            problems.append(Problem(order.line, "countries are still bid for: the order is BID"))
        else:
            problems.append(Problem(order.line, "the countries are given out: the order is MUSTER"))
    return [*bids.values(), *musters], problems


def _refusal(state: State, seat: str | None) -> str:
    """Say why no order of this seat can be taken; empty where one can."""
    if seat is None:
        return "the game master has no orders of this game: players bid and muster"
    if state.phase == "over":
        return "the match is over, nothing moves any more"
    if seat not in waiting(state):
        return "you hold no hex any more and so have no armies to move; press is still welcome"
    return ""


def _bid(order: Bid, limits: dict[str, int]) -> tuple[str, str]:
    country, why = choose(order.country, limits, "country")
    if country is None:
        return "", why
    if order.armies < 0:
        return country, f"{order.armies} armies cannot be bid: 0 is the least"
    if order.armies > limits[country]:
        most_said = f"at most {limits[country]} can be bid for {country}"
        return country, f"{most_said}, for every hex keeps one army; {order.armies} counts as 0"
    return country, ""


def _no_hex(state: State, label: str) -> str:
    """Say of a label that it is no hex, and where it goes wrong."""
    if not (label[0].isalpha() and label[-1].isdigit()):
        return f"{label} is no hex: write row and column in one piece, like {state.labels[0]}"
    letters = label.rstrip("0123456789")
    short = letters + label[len(letters) :].lstrip("0")
    if short != label and short in board.places(state.labels):
        return f"{label} is no hex; did you mean {short}?"
    return f"{label} is no hex of this board and is not counted"


def read_board(value: object) -> str:
    """Read the option `board`: a packaged board's name, or the text of a board file."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ValueError(f"a packaged board's name or a board file is needed, not {value!r}")
    if value.strip() in board.PACKAGED:
        return value.strip()
    try:
        board.read(value)
    except ValueError as error:
        names = ", ".join(board.PACKAGED)
        raise ValueError(f"no packaged board ({names}), and no board file: {error}") from None
    return value


def read_share(value: object) -> float:
    """Read the option `share`: a part of all hexes, above 0 and below 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ValueError(f"a number above 0 and below 1 is needed, such as 0.5, not {value!r}")
    return float(value)


OPTIONS: Sequence[game.Option] = (
    game.Option(
        "board",
        None,
        read_board,
        "a packaged board (2 to 8, its countries), a board file or its text; "
        "unless given, the packaged one for the number of seats",
        file=True,
    ),
    game.Option("turns", None, game.whole(1), "the match is over once this turn has run"),
    game.Option(
        "share",
        None,
        read_share,
        "the match is over when a player ends a turn with more than this share of all hexes",
    ),
)
