"""The state of a match between two turns, its JSON, and what of it each seat may know."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pbem.game import Json
from pbem.games.alphabet import words as word_lists

ROUNDS = 6
LAST_TURN = ROUNDS + 1
FIRST_MONEY = 100
INCOME = 50
PHASES = ("play", "last", "over")

Value = TypeVar("Value")


@dataclass(frozen=True)
class Group:
    """A group of letters on offer; `only` names the seats it is held over for, in seat order."""

    letters: str
    only: tuple[str, ...] | None = None


@dataclass(frozen=True)
class State:
    """A match between two turns: `round` is the one about to be played, money before its income.

    Hands and the bag are letters in alphabetical order, groups stand in the order of their
    numbers; every mapping by seat has every seat, in seat order. With `secret` a seat knows its
    own letters and money only.
    """

    phase: str
    round: int
    seats: tuple[str, ...]
    words: tuple[str, ...]
    money: Mapping[str, int]
    hands: Mapping[str, str]
    points: Mapping[str, int]
    claimed: Mapping[str, tuple[str, ...]]
    groups: Mapping[int, Group]
    bag: str
    secret: bool = False


def multiplier(number: int) -> int:
    """Return what a letter of a word claimed in the turn of that round counts (rule 3)."""
    return 12 - number


def winners(state: State) -> list[str]:
    """Name the seats with the most points, in seat order."""
    most = max(state.points.values())
    return [seat for seat in state.seats if state.points[seat] == most]


def dump(state: State) -> Json:
    """Return the state as JSON, complete enough to go on from."""
    data: Json = {
        "phase": state.phase,
        "round": state.round,
        "words": list(state.words),
        "money": dict(state.money),
        "hands": dict(state.hands),
        "points": dict(state.points),
        "claimed": {seat: list(found) for seat, found in state.claimed.items()},
        "groups": {
            str(number): {
                "letters": group.letters,
                "only": list(group.only) if group.only else None,
            }
            for number, group in state.groups.items()
        },
        "bag": state.bag,
    }
    if state.phase == "over":
        data["winners"] = winners(state)
    return data


def view(state: State, seat: str | None) -> Json:
    """Return the state less what the seat (`None`: the public) may not know.

    Nobody looks into the bag. With secret hands, until the match is over, only a seat's own
    letters and money are left in.
    """
    seen = dump(state)
    del seen["bag"]
    if state.secret and state.phase != "over":
        seen["money"] = {name: have for name, have in state.money.items() if name == seat}
        seen["hands"] = {name: hand for name, hand in state.hands.items() if name == seat}
    return seen


def load(data: Json, seats: Sequence[str], options: Mapping[str, Any]) -> State:
    """Read what `dump` wrote, or a state by hand, whose missing parts are as at the set-up.

    Raise `ValueError` naming the part that is wrong.
    """
    if not isinstance(data, dict):
        raise ValueError(f"a state is a JSON object, not {data!r}")
    phase = data.get("phase")
    if phase not in PHASES:
        raise ValueError(f"phase is one of {', '.join(PHASES)}, not {phase!r}")
    number = data.get("round", 1 if phase == "play" else LAST_TURN)
    least, most = {"play": (1, ROUNDS), "last": (LAST_TURN, LAST_TURN), "over": (1, LAST_TURN)}[
        phase
    ]
    if not _is_whole(number) or not least <= number <= most:
        raise ValueError(
            f"round in phase {phase} is a number from {least} to {most}, not {number!r}"
        )
    listed = data.get("words")
    if listed is None:
        listed = word_lists.of_option(options.get("words", word_lists.DEFAULT_LIST))
    else:
        listed = _words(listed, "words")
    bag = data.get("bag")
    return State(
        phase=phase,
        round=number,
        seats=tuple(seats),
        words=listed,
        money=_by_seat(data, "money", seats, FIRST_MONEY, _amount),
        hands=_by_seat(data, "hands", seats, "", _letters),
        points=_by_seat(data, "points", seats, 0, _amount),
        claimed=_by_seat(data, "claimed", seats, (), _words),
        groups=_groups(data.get("groups", {}), seats),
        bag=word_lists.FULL_BAG if bag is None else _letters(bag, "bag"),
        secret=options.get("hands", "open") == "secret",
    )


def _by_seat(
    data: Json, key: str, seats: Sequence[str], missing: Value, read: Callable[[Any, str], Value]
) -> dict[str, Value]:
    given = data.get(key) or {}
    if not isinstance(given, dict):
        raise ValueError(f"{key} gives a value for each seat, not {given!r}")
    _known(given, seats, key)
    return {
        seat: read(given[seat], f"{key} of {seat}") if seat in given else missing for seat in seats
    }


def _groups(given: Any, seats: Sequence[str]) -> dict[int, Group]:
    if not isinstance(given, dict):
        raise ValueError(f"groups are given by number, not {given!r}")
    found = {}
    for name, group in given.items():
        if not re.fullmatch("[1-9][0-9]{0,8}", name):
            raise ValueError(f"a group has a number from 1, not {name!r}")
        if not isinstance(group, dict) or not group.get("letters"):
            raise ValueError(f"group {name} needs letters, as in {{'letters': 'ADEHKS'}}")
        letters, only = _letters(group["letters"], f"letters of group {name}"), group.get("only")
        if only is not None:
            if not isinstance(only, list) or not only:
                raise ValueError(f"only of group {name} is null or a list of seats, not {only!r}")
            _known(only, seats, f"only of group {name}")
            only = tuple(seat for seat in seats if seat in only)
        found[int(name)] = Group(letters, only)
    return dict(sorted(found.items()))


def _known(given: Any, seats: Sequence[str], key: str) -> None:
    for seat in given:
        if seat not in seats:
            raise ValueError(f"{key} names {seat!r}, who has no seat: {', '.join(seats)}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _amount(value: Any, key: str) -> int:
    if not _is_whole(value) or value < 0:
        raise ValueError(f"{key} is a whole number from 0, not {value!r}")
    return int(value)


def _letters(value: Any, key: str) -> str:
    if not isinstance(value, str) or not re.fullmatch("[A-Za-z]*", value):
        raise ValueError(f"{key} is a text of letters A to Z, not {value!r}")
    return "".join(sorted(value.upper()))


def _words(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or (not value and key == "words"):
        raise ValueError(f"{key} is a list of words, not {value!r}")
    for word in value:
        if not isinstance(word, str) or not re.fullmatch("[A-Za-z]+", word):
            raise ValueError(f"{key} holds {word!r}, which is no word in letters A to Z")
    return tuple(word.upper() for word in value)
