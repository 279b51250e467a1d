"""What became of each order line of a turn: said from the events, as the archive shows it."""

from collections.abc import Iterator, Mapping
from typing import Any

from pbem.game import Json
from pbem.games.hexem.grammar import GRAMMAR, Bid, Muster
from pbem.names import choose

_Said = dict[int, list[str]]


def became(turn: Json) -> dict[str, dict[int, str]]:
    """Say of each order line of each seat what became of it, by seat and 1-based line.

    A line that was refused is left out, for the record has its problem; of one refused in part it
    is said what was carried out.
    """
    return {seat: _of_seat(turn, seat, text) for seat, text in turn["orders"].items()}


def _of_seat(turn: Json, seat: str, text: str) -> dict[int, str]:
    reading = GRAMMAR.read(text, gm=not seat)
    said: _Said = {}
    if any(event["kind"] == "ended" for event in turn["events"]):
        refused = {line for line, _ in turn["problems"].get(seat, ())}
        for line in {order.line for order in reading.orders} - refused:
            said[line] = ["not carried out: the match was ended before"]
    elif turn["phase"] == "countries":
        _bids(turn, seat, [order for order in reading.orders if isinstance(order, Bid)], said)
    else:
        musters = [order for order in reading.orders if isinstance(order, Muster)]
        _musters(turn, seat, musters, said)
    return {line: "; ".join(parts) for line, parts in sorted(said.items())}


def _musters(turn: Json, seat: str, orders: list[Muster], said: _Said) -> None:
    labels = turn["state"]["hexes"]
    done = iter(_facts(turn, "muster", seat))
    for order in orders:
        for label in order.hex:
            fact = next(done, None) if label in labels else None
            if fact is not None:
                said.setdefault(order.line, []).append(_mustered(fact))


def _facts(turn: Json, kind: str, seat: str) -> Iterator[Mapping[str, Any]]:
    for event in turn["events"]:
        if event["kind"] == kind and event["facts"]["seat"] == seat:
            yield event["facts"]


def _mustered(fact: Mapping[str, Any]) -> str:
    """Say in a few words what a muster did (rule 4)."""
    label, armies, against = fact["hex"], fact["armies"], fact["defenders"]
    match fact["result"]:
        case "won":
            # No number follows a name at once: names may run from the right.
            whose = fact["owner"] or "the neutrals"
            return f"took {label} from {whose} with {armies} against {against or 'none'}"
        case "lost":
            whose = f"of {fact['owner']}" if fact["owner"] else "neutral"
            return f"lost {armies} at {label} against {against} {whose}"
        case "join":
            return f"brought {armies} to {label}, {armies + against} in all"
    return f"no effect: no armies stood next to {label}"


def _bids(turn: Json, seat: str, orders: list[Bid], said: _Said) -> None:
    """Say who got the country of each bid, and for what (rules 1 and 2)."""
    given = [event["facts"] for event in turn["events"] if event["kind"] == "country"]
    own = next((at for at, fact in enumerate(given) if fact["seat"] == seat), len(given))
    refused = {line for line, _ in turn["problems"].get(seat, ())}
    names = {one.get("country") for one in turn["state"]["hexes"].values()} - {None}
    named = [(order, choose(order.country, sorted(names), "country")[0]) for order in orders]
    lawful = [(order, name) for order, name in named if name and order.line not in refused]
    for order, name in lawful:
        later = [other.line for other, of in lawful if of == name and other.line > order.line]
        at = next((at for at, fact in enumerate(given) if fact["country"] == name), len(given))
        if later:
            words = f"replaced by line {later[-1]}"
        elif at == own < len(given):
            words = _got(given[at])
        elif own < at:
            words = f"not needed: got {given[own]['country']} before"
        elif at < len(given):
            words = f"{name} went to {given[at]['seat']} for {given[at]['price'] or 'nothing'}"
        else:
            words = f"{name} stayed neutral"
        said.setdefault(order.line, []).append(words)


def _got(fact: Mapping[str, Any]) -> str:
    seat, country = fact["seat"], fact["country"]
    # Of equal bids for different countries by different seats dice said only which was looked at
    # first.
    rivals = [one for one in fact["dice"] if one[0] == seat or one[1] == country][1:]
    by_dice = ", by dice" if rivals or fact["dealt_from"] else ""
    return f"got {country} for {fact['price'] or 'nothing'}{by_dice}"
