"""The sheet: which empires each epoch has and how strong they are, packaged or a game master's."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from pbem import typography
from pbem.game import Json
from pbem.usage import KINDS


class Epoch(NamedTuple):
    """One epoch: its name and its empires with their strength (SP), in sheet order.

    `seventh` holds what is added for a match of seven seats.
    """

    name: str
    empires: Mapping[str, int]
    seventh: Mapping[str, int]

    def for_seats(self, seats: int) -> dict[str, int]:
        """Return the empires, with their strength, that a match of so many seats plays with."""
        return {**self.empires, **(self.seventh if seats >= 7 else {})}


def read_sheet(value: Any) -> list[Json] | None:
    """Read a sheet given as TOML text or as a list; `None` stays for the packaged one.

    Return the list of `{"name", "empires", "seventh"}`. Raise `ValueError` naming the fault.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = tomllib.loads(value)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"the sheet is no TOML: {error}") from None
    if isinstance(value, Mapping):
        value = value.get("epoch")
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ValueError("a sheet is a list of epochs: [[epoch]] name, empires")
    return [_read_epoch(number, epoch) for number, epoch in enumerate(value, 1)]


def epochs(sheet: Sequence[Mapping[str, Any]] | None) -> tuple[Epoch, ...]:
    """Return the epochs of a sheet that `read_sheet` gave, the packaged ones for `None`."""
    if sheet is None:
        return _packaged()
    return tuple(Epoch(one["name"], one["empires"], one["seventh"]) for one in sheet)


@cache
def _packaged() -> tuple[Epoch, ...]:
    sheet = read_sheet((files(__package__) / "sheet.toml").read_text(encoding="utf-8"))
    assert sheet is not None
    return epochs(sheet)


def read_empires(value: Any, where: str) -> dict[str, int]:
    """Read empires with their strength; raise `ValueError` for a name or a number that can't be.

    A name must be one that an order line can say: a comma would part it in PREFER, and a word of
    digits would be taken for the amount of a bid.
    """
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{where}: empires with their strength are needed, as in Egypt = 5")
    keys: dict[str, str] = {}
    for name, strength in value.items():
        if not isinstance(name, str) or not re.fullmatch(KINDS["text"].pattern, name):
            raise ValueError(f"{where}: {name!r} can't be an empire's name")
        if re.search(r"[,;>\n]", name) or any(word.isdigit() for word in name.split()):
            raise ValueError(f"{where}: {name!r} can't be said in an order (no , ; > or number)")
        if isinstance(strength, bool) or not isinstance(strength, int) or strength < 1:
            raise ValueError(f"{where}: the strength of {name} is a whole number from 1")
        twin = keys.setdefault(typography.key(name), name)
        if twin != name:
            raise ValueError(f"{where}: {twin!r} and {name!r} read alike")
    return dict(value)


def _read_epoch(number: int, epoch: Any) -> Json:
    where = f"epoch {number} of the sheet"
    if not isinstance(epoch, Mapping):
        raise ValueError(f"{where} is no table with name and empires")
    unknown = [key for key in epoch if key not in ("name", "empires", "seventh")]
    if unknown:
        raise ValueError(f"{where} has {unknown[0]!r}; known are name, empires, seventh")
    name = epoch.get("name", str(number))
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{where}: its name is a text")
    empires = read_empires(epoch.get("empires"), where)
    seventh = dict(epoch.get("seventh") or {})
    read_empires({**empires, **seventh}, where)
    if set(empires) & set(seventh):
        raise ValueError(f"{where}: {min(set(empires) & set(seventh))} is in it twice")
    return {"name": name, "empires": empires, "seventh": seventh}
