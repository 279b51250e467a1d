"""Where two JSON values differ, and how the first difference of a match is told."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pbem.archive.form import shown

NOTHING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a match first differs from what its seed, its orders and the rest of it give.

    `turn` is `None` where it is in no turn; `place` is a path such as `state.hexes.A1.armies`.
    `what` says which was changed, as far as can be told: seed, state, event, refused, order, turn,
    missing, history, player, match or file; `why` says in a sentence what shows it.
    """

    turn: int | None
    place: str
    replayed: str
    found: str
    what: str
    why: str

    def __str__(self) -> str:
        where = self.place if self.turn is None else f"turn {self.turn}, {self.place}"
        return f"{where}: {self.replayed} is due, {self.found} in the file; {self.why}"


def differing(due: Any, found: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Yield where two JSON values differ: a path, what is due there, and what was found."""
    if isinstance(due, dict) and isinstance(found, dict):
        for key in [*due, *(key for key in found if key not in due)]:
            inner = f"{place}.{key}" if place else key
            yield from differing(due.get(key, NOTHING), found.get(key, NOTHING), inner)
    elif isinstance(due, list) and isinstance(found, list) and len(due) == len(found):
        for at, (one, other) in enumerate(zip(due, found, strict=True)):
            yield from differing(one, other, f"{place}[{at}]")
    elif type(due) is not type(found) or due != found:
        yield place, said(due), said(found)


def said(value: Any) -> str:
    """Return a JSON value as a difference tells it, cut short."""
    if value is NOTHING:
        return "nothing"
    return f"a list of {len(value)}" if isinstance(value, list) else shown(value)
