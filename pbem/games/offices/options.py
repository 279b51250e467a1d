"""The options of the auction, each with the reader that validates what a game master gives."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pbem.game import Option, one_of, whole
from pbem.games.offices.language import COLOURS, OFFICES, writable
from pbem.names import choose
from pbem.typography import key

MOST_OFFICES = 99
MOST_GOLD = 10**9


def read_offices(value: Any) -> list[dict[str, Any]]:
    """Read offices: names in number order, or `{"name": …, "number": …}` each; return the latter.

    Raise `ValueError` where there are too few or too many, or two share a name or number.
    """
    if not isinstance(value, list):
        raise ValueError(f"a list of offices is needed, not {value!r}")
    if not 2 <= len(value) <= MOST_OFFICES:
        raise ValueError(f"2 to {MOST_OFFICES} offices are needed, not {len(value)}")
    offices = [_office(item, number) for number, item in enumerate(value, 1)]
    for what in ("name", "number"):
        seen: dict[Any, Any] = {}
        for office in offices:
            known = key(office["name"]) if what == "name" else office["number"]
            if known in seen:
                raise ValueError(f"two offices have the {what} {office[what]}")
            seen[known] = office
    return sorted(offices, key=lambda office: office["number"])


def _office(item: Any, number: int) -> dict[str, Any]:
    if isinstance(item, dict):
        unknown = sorted(set(item) - {"name", "number"})
        if unknown or not isinstance(item.get("name"), str):
            raise ValueError(f'an office is a name or {{"name": …, "number": …}}, not {item!r}')
        name, number = item["name"], whole(1, 999)(item.get("number", number))
    elif isinstance(item, str):
        name = item
    else:
        raise ValueError(f"an office's name is a text, not {item!r}")
    if name != name.strip() or not writable(name):
        raise ValueError(f"no order line could name the office {name!r}")
    return {"name": name, "number": number}


def read_start(value: Any) -> dict[str, Any]:
    """Read which seat begins on which office, by name or number; return it as given."""
    places = _by_seat(value, "an office's name or number")
    for seat, place in places.items():
        if isinstance(place, bool) or not isinstance(place, str | int):
            raise ValueError(f"{seat} needs an office's name or number, not {place!r}")
    return places


def read_gold(value: Any) -> int | dict[str, int]:
    """Read the gold to begin with: one number for all, or a number for each seat named."""
    if not isinstance(value, dict):
        return whole(0, MOST_GOLD)(value)
    return {seat: whole(0, MOST_GOLD)(amount) for seat, amount in value.items()}


def read_goods(value: Any) -> dict[str, list[str]]:
    """Read which colours a seat may have; seats that aren't named may have any."""
    found: dict[str, list[str]] = {}
    for seat, colours in _by_seat(value, "a list of colours").items():
        if not isinstance(colours, list):
            raise ValueError(f"{seat} needs a list of colours, not {colours!r}")
        found[seat] = [_colour(colour) for colour in colours]
    return found


def _colour(said: Any) -> str:
    name, problem = choose(said, COLOURS, "colour") if isinstance(said, str) else (None, "")
    if name is None:
        raise ValueError(problem or f"a colour is a text, not {said!r}")
    return name


def _by_seat(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} for each seat is needed, by seat, not {value!r}")
    return dict(value)


def _yes_or_no(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"true or false is needed, not {value!r}")


def read_by_seat(given: Mapping[str, Any], seats: tuple[str, ...], option: str) -> dict[str, Any]:
    """Return what an option says by seat, seats' names made whole; raise `ValueError` for others.

    Case and accents of a name don't matter, as everywhere else; beginnings don't do here.
    """
    by_key: dict[str, str] = {key(seat): seat for seat in seats}
    found: dict[str, Any] = {}
    for said, value in given.items():
        seat = said if said in seats else by_key.get(key(said))
        if seat is None:
            raise ValueError(f"option {option}: {said!r} is no seat; there are: {', '.join(seats)}")
        if seat in found:
            raise ValueError(f"option {option}: {seat} is named twice")
        found[seat] = value
    return found


def known_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that all may know: where gold is secret, not who begins with how much."""
    is_secret = not options.get("gold_open", True)
    return {name: one for name, one in options.items() if not (is_secret and name == "gold")}


_READ_ROUNDS: Callable[[Any], int] = whole(1, 999)

OPTIONS: Sequence[Option] = (
    Option(
        "offices",
        [{"name": name, "number": number} for number, name in enumerate(OFFICES, 1)],
        read_offices,
        'the offices in number order: names, or {"name": "Consul", "number": 5} each',
    ),
    Option(
        "start",
        {},
        read_start,
        'who begins on which office: {"Red": "Consul", "Blue": 2}; the others are dealt theirs',
    ),
    Option("gold", 10, read_gold, 'gold to begin with: a number, or by seat {"Red": 12}'),
    Option(
        "goods",
        {},
        read_goods,
        'the colours a seat may have as its good: {"Red": ["blue", "yellow"]}; default any',
    ),
    Option("gold_open", True, _yes_or_no, "whether all may see what gold each seat has"),
    Option("rounds", 1, _READ_ROUNDS, "rounds of the auction, an income phase between two"),
    Option(
        "decide",
        "plans",
        one_of("plans", "live"),
        "plans: all is sealed beforehand; live: a seat whose plan leaves a decision open is asked",
    ),
)
