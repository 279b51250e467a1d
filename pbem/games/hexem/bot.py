"""A scripted player for demonstrations and tests: grows, gathers, and strikes at three to one."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from pbem.games.hexem import board
from pbem.games.hexem.state import NOBODY, State, most

_MOST_MUSTERS = 5


def bot(state: State, seat: str, rng: Random) -> str:
    """Write plausible orders for a seat, from what everybody may see."""
    if state.phase == "countries":
        limits = most(state)
        wanted = rng.sample(sorted(limits), min(3, len(limits)))
        return "\n".join(f"BID {name} {rng.randint(0, limits[name] // 4)}" for name in wanted)
    me = state.seats.index(seat)
    if state.phase != "muster" or me not in state.owners:
        return ""
    field = _Field(me, board.neighbours(state.labels), list(state.owners), list(state.armies))
    chosen = _strikes(field, rng.randint(2, _MOST_MUSTERS)) or _way_to_the_front(field, rng)
    return f"MUSTER {' '.join(state.labels[at] for at in chosen)}" if chosen else ""


class _Field(NamedTuple):
    """A board to think a turn through on, muster by muster."""

    me: int
    near: Sequence[Sequence[int]]
    owners: list[int]
    armies: list[int]


def _gathered(field: _Field, at: int) -> int:
    """Count the armies that a muster there would bring."""
    me, _, owners, armies = field
    return sum(armies[near] for near in field.near[at] if owners[near] == me)


def _strikes(field: _Field, most_strikes: int) -> list[int]:
    """Return hexes to take one after the other, as long as one muster takes the next."""
    chosen: list[int] = []
    while len(chosen) < most_strikes:
        target = _best_target(field)
        if target is None:
            break
        arriving = _gathered(field, target)
        for near in field.near[target]:
            if field.owners[near] == field.me:
                field.armies[near] = 0
        field.owners[target], field.armies[target] = field.me, arriving
        chosen.append(target)
    return chosen


def _best_target(field: _Field) -> int | None:
    """Return a hex that one muster takes now: players before neutrals, the strongest first."""
    found: list[tuple[float, int]] = []
    for at, owner in enumerate(field.owners):
        if owner != field.me:
            gathered = _gathered(field, at)
            if gathered and gathered >= 3 * field.armies[at]:
                # No more than is needed: a great army spent on a small hex leaves others bare.
                worth = (0 if owner == NOBODY else 3) + field.armies[at] - 0.05 * gathered
                found.append((worth, at))
    return max(found)[1] if found else None


def _way_to_the_front(field: _Field, rng: Random) -> list[int]:
    """Return a way from a strong hex inland to the front, its armies growing on the way."""
    me, near, owners, armies = field
    mine = [at for at, owner in enumerate(owners) if owner == me]
    front = [at for at in mine if any(owners[other] != me for other in near[at])]
    step_of: dict[int, int | None] = dict.fromkeys(front)
    todo = list(front)
    for at in todo:
        for other in near[at]:
            if owners[other] == me and other not in step_of:
                step_of[other] = at
                todo.append(other)
    inland = [at for at in mine if step_of.get(at) is not None]
    # Now and then elsewhere, or two players whose stacks face each other would stand for ever.
    if not inland or rng.random() < 0.3:
        mine = rng.sample(mine, min(3, len(mine)))
        best = max(mine, key=lambda at: _gathered(field, at) + armies[at])
        return [best] if _gathered(field, best) else []
    step = step_of[max(inland, key=lambda at: armies[at])]
    way: list[int] = []
    while step is not None and len(way) < _MOST_MUSTERS:
        way.append(step)
        step = step_of[step]
    return way
