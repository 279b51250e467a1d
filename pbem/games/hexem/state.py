"""The position of a Hexem match, and its JSON form."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pbem import last
from pbem.game import Json
from pbem.games.hexem import board

PHASES = ("countries", "muster", "over")
NOBODY = -1


@dataclass(frozen=True)
class State:
    """Who holds which hex with how many armies; all tuples of hexes are in board order.

    `owners` holds places in `seats`, `NOBODY` for a neutral hex. `turn` is the turn that comes
    next. `turns` and `share` are the options that end a match, `None` where they are off.
    """

    phase: str
    turn: int
    seats: tuple[str, ...]
    labels: tuple[str, ...]
    owners: tuple[int, ...]
    armies: tuple[int, ...]
    countries: tuple[str | None, ...]
    turns: int | None = None
    share: float | None = None


def hexes(state: State) -> dict[str, int]:
    """Count the hexes of every seat, in seat order."""
    counted = Counter(state.owners)
    return {seat: counted[at] for at, seat in enumerate(state.seats)}


def armies(state: State) -> dict[str, int]:
    """Count the armies of every seat, in seat order."""
    counted = [0] * (len(state.seats) + 1)
    for owner, number in zip(state.owners, state.armies, strict=True):
        counted[owner] += number
    return dict(zip(state.seats, counted, strict=False))


def most(state: State) -> dict[str, int]:
    """Return for each country the most that may be bid on it, in board order."""
    limit = dict.fromkeys(board.countries(state.countries), 0)
    for country, number in zip(state.countries, state.armies, strict=True):
        if country is not None:
            limit[country] += number - 1
    return {country: max(0, number) for country, number in limit.items()}


def waiting(state: State) -> Sequence[str]:
    """Name the seats that may send orders: all in `countries`, then those who hold a hex."""
    if state.phase == "countries":
        return state.seats
    if state.phase == "muster":
        return tuple(seat for seat, number in hexes(state).items() if number)
    return ()


def winners(state: State) -> Sequence[str]:
    """Name who has most hexes, then most armies; a tie in both is shared."""
    held, strength = hexes(state), armies(state)
    best = max((held[seat], strength[seat]) for seat in state.seats)
    return tuple(s for s in state.seats if (held[s], strength[s]) == best and held[s])


def view(state: State, seat: str | None) -> Json:  # noqa: ARG001 - everybody sees everything
    """Return the state as anybody may know it: Hexem has no secrets but orders not yet run."""
    return _seen(state)


@last.kept
def _seen(state: State) -> Json:
    return dump(state)


def dump(state: State) -> Json:
    """Return the state as JSON, hexes in board order; `winners` once it is over."""
    names: tuple[str | None, ...] = (*state.seats, None)
    shown: dict[str, Json] = {}
    for label, owner, number, country in zip(
        state.labels, state.owners, state.armies, state.countries, strict=True
    ):
        shown[label] = {"owner": names[owner], "armies": number}
        if country is not None:
            shown[label]["country"] = country
    data: Json = {"phase": state.phase, "turn": state.turn, "hexes": shown}
    if state.phase == "over":
        data["winners"] = list(winners(state))
    return data


def load(data: Json, seats: Sequence[str], options: Mapping[str, Any]) -> State:
    """Read what `dump` wrote, or a state by hand; raise `ValueError` naming the wrong part."""
    phase, turn, shown = data.get("phase"), data.get("turn", 0), data.get("hexes")
    if phase not in PHASES:
        raise ValueError(f"phase is {phase!r}; it is one of: {', '.join(PHASES)}")
    if not _is_whole(turn):
        raise ValueError(f"turn is {turn!r}; a whole number from 0 is needed")
    if not isinstance(shown, Mapping) or not shown:
        raise ValueError("hexes is missing or empty: it has an entry like A1 for every hex")
    labels = board.ordered(tuple(shown))
    number = {seat: at for at, seat in enumerate(seats)} | {None: NOBODY}
    for label in labels:
        _check_hex(label, shown[label], number)
    state = State(
        phase,
        turn,
        tuple(seats),
        labels,
        tuple(number[shown[label].get("owner")] for label in labels),
        tuple(shown[label]["armies"] for label in labels),
        tuple(shown[label].get("country") for label in labels),
        options.get("turns"),
        options.get("share"),
    )
    if phase == "countries":
        check_countries(state)
    return state


def check_countries(state: State) -> None:
    """Raise `ValueError` unless there is a country for every seat and no hex is owned yet."""
    there = len(board.countries(state.countries))
    if there < len(state.seats):
        raise ValueError(
            f"{len(state.seats)} seats need as many countries, the board has {there}: "
            "take a board with more, or fewer seats"
        )
    for label, owner in zip(state.labels, state.owners, strict=True):
        if owner != NOBODY:
            raise ValueError(f"{label} has an owner, but in phase countries no hex has one yet")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_hex(label: str, entry: Any, number: Mapping[str | None, int]) -> None:
    if not isinstance(entry, Mapping):
        raise ValueError(f'{label} is {entry!r}; it is written like {{"owner": null, "armies": 2}}')
    owner, strength, country = entry.get("owner"), entry.get("armies"), entry.get("country")
    if not _is_whole(strength):
        raise ValueError(f"{label} has {strength!r} armies; a whole number from 0 is needed")
    if not (owner is None or isinstance(owner, str)) or owner not in number:
        seats = ", ".join(seat for seat in number if seat is not None)
        raise ValueError(f"{label} belongs to {owner!r}, who has no seat; seats are: {seats}")
    if country is not None and (not isinstance(country, str) or not country):
        raise ValueError(f"{label} lies in country {country!r}; a name is needed")
