"""Boards made from a seed: countries of equal hexes and armies, with gaps, fair in neighbours."""

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

from pbem.games.hexem import board

MOST_COUNTRIES = 8
LEAST_HEXES = 3
MOST_HEXES = 100_000
_ATTEMPTS = 300
_ROW_HEIGHT = math.sqrt(3) / 2

# How the packaged boards were made: countries, hexes of each, armies on every hex, and the seed.
RECIPES = {
    "2": (2, 14, 3, "1350"),
    "3": (3, 13, 3, "677"),
    "4": (4, 12, 3, "508"),
    "5": (5, 12, 3, "898"),
    "6": (6, 12, 3, "321"),
    "7": (7, 11, 3, "652"),
    "8": (8, 12, 3, "594"),
}

Place = tuple[int, int]
Point = tuple[float, float]


class _Plan(NamedTuple):
    """Where countries begin and where lakes lie, in units of a country's radius."""

    starts: Sequence[Point]
    lakes: Sequence[Point] = ()


def make_board(countries: int, hexes: int = 12, armies: int = 3, seed: str = "1") -> str:
    """Make a board file: so many countries of so many hexes each, `armies` on every hex.

    Board and countries are connected, gaps lie among the hexes, and countries differ by at most
    one in how many countries they border on. The same seed makes the same board. Raise
    `ValueError`, with the remedy, where no such board can be.
    """
    if not 2 <= countries <= MOST_COUNTRIES:
        raise ValueError(f"{countries} countries: choose 2 to {MOST_COUNTRIES}")
    if hexes < LEAST_HEXES:
        raise ValueError(f"{hexes} hexes a country: choose at least {LEAST_HEXES}")
    if countries * hexes > MOST_HEXES:
        most = MOST_HEXES // countries
        raise ValueError(f"{hexes} hexes a country: choose at most {most} for {countries}")
    if not 1 <= armies < 10**9:
        raise ValueError(f"{armies} armies on every hex: choose at least 1")
    rng = Random(f"{countries} {hexes} {seed}")
    plans = _plans(countries)
    for attempt in range(_ATTEMPTS):
        grown = _grow(plans[attempt * len(plans) // _ATTEMPTS], hexes, rng)
        if grown and _is_fair(grown, countries):
            return board.write(_named(grown, countries, armies))
    raise ValueError(
        f"no fair board of {countries} countries with {hexes} hexes each was found: "
        "choose another seed, or more hexes"
    )


def _plans(countries: int) -> Sequence[_Plan]:
    """Return the layouts for a number of countries, the best first and a ring round a lake last."""
    ring = _Plan(_ring(countries, 0.92 / math.sin(math.pi / countries)), [(0.0, 0.0)])
    if countries in (4, 6, 8):
        # Two rows side by side, a lake wherever four countries would meet.
        long = countries // 2
        starts = [(1.75 * (x - (long - 1) / 2), 1.75 * y) for x in range(long) for y in (-0.5, 0.5)]
        lakes = [(1.75 * (x - long / 2), 0.0) for x in range(1, long)]
        return (_Plan(starts, lakes), ring)
    return (ring,)


def _ring(number: int, radius: float, turned: float = 0.0) -> list[Point]:
    angles = [turned + 2 * math.pi * at / number for at in range(number)]
    return [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]


def _grow(plan: _Plan, hexes: int, rng: Random) -> dict[Place, int] | None:
    """Grow all countries in turn from their starts, a hex at a time; `None` where one is shut in.

    A country takes the free place next to it that is nearest to its start, with some chance, so
    that countries are compact and press upon each other.
    """
    radius = math.sqrt(hexes * _ROW_HEIGHT / math.pi)
    angle = rng.random() * 2 * math.pi
    turn = (math.cos(angle), math.sin(angle))
    starts = [_turned(start, turn, radius) for start in plan.starts]
    gaps = _gaps([_turned(lake, turn, radius) for lake in plan.lakes], starts, radius, rng)
    owner: dict[Place, int] = {}
    fronts: list[list[tuple[float, Place]]] = [[(0.0, _place(start))] for start in starts]
    rough = min(radius, 3.0) * 0.5
    for _ in range(hexes):
        for country, front in enumerate(fronts):
            while front and (front[0][1] in owner or front[0][1] in gaps):
                heappop(front)
            if not front:
                return None
            _, taken = heappop(front)
            owner[taken] = country
            for near in board.around(*taken):
                if near not in owner and near not in gaps:
                    x, y = _point(near)
                    far = math.hypot(x - starts[country][0], y - starts[country][1])
                    # A slight pull to the middle of the board closes the seams between countries.
                    cost = far + 0.15 * math.hypot(x, y) + rng.random() * rough
                    heappush(front, (cost, near))
    return owner


def _gaps(
    lakes: Sequence[Point], starts: Sequence[Point], radius: float, rng: Random
) -> set[Place]:
    """Choose the places that stay empty: lakes, and scattered gaps that leave the starts free."""
    gaps: set[Place] = set()
    begun = {_place(start) for start in starts}
    size = max(0.6, radius * 0.3)
    for x, y in lakes:
        reach = math.ceil(size) + 1
        row, column = _place((x, y))
        for near in range(row - reach, row + reach + 1):
            for across in range(column - reach, column + reach + 1):
                px, py = _point((near, across))
                if math.hypot(px - x, py - y) <= size:
                    gaps.add((near, across))
        gaps.add((row, column))
    scattered: set[Place] = set()
    for x, y in starts:
        for _ in range(max(1, round(radius * radius / 8))):
            angle, far = rng.random() * 2 * math.pi, radius * math.sqrt(rng.uniform(0.2, 1.0))
            scattered.add(_place((x + far * math.cos(angle), y + far * math.sin(angle))))
    beside = {near for start in begun for near in board.around(*start)}
    return (gaps | (scattered - beside)) - begun


def _turned(point: Point, turn: Point, radius: float) -> Point:
    x, y = point
    return radius * (x * turn[0] - y * turn[1]), radius * (x * turn[1] + y * turn[0])


def _point(place: Place) -> Point:
    """Return the middle of a place, neighbours being 1 apart."""
    row, column = place
    return column + (row % 2) / 2, row * _ROW_HEIGHT


def _place(point: Point) -> Place:
    row = round(point[1] / _ROW_HEIGHT)
    return row, round(point[0] - (row % 2) / 2)


def _is_fair(owner: dict[Place, int], countries: int) -> bool:
    """Tell whether the board is connected, has gaps, and its countries are like in neighbours."""
    borders: set[tuple[int, int]] = set()
    gap = False
    for place, country in owner.items():
        for near in board.around(*place):
            other = owner.get(near)
            if other is None:
                gap = gap or sum(around in owner for around in board.around(*near)) >= 4
            elif other != country:
                borders.add((country, other))
    number = [sum(one == country for one, _ in borders) for country in range(countries)]
    reached, todo = {0}, [0]
    while todo:
        at = todo.pop()
        fresh = {other for one, other in borders if one == at} - reached
        reached |= fresh
        todo += fresh
    return gap and len(reached) == countries and max(number) - min(number) <= 1


def _named(owner: dict[Place, int], countries: int, armies: int) -> board.Board:
    """Label the places from A1 on, and name countries by letters in the order they are read."""
    top = min(row for row, _ in owner)
    # Where an odd row becomes the first, its half hex goes over to the other rows.
    moved = {
        (row - top, column - (1 if top % 2 and row % 2 == 0 else 0)): country
        for (row, column), country in owner.items()
    }
    left = min(column for _, column in moved) - 1
    cells = sorted((row, column - left, country) for (row, column), country in moved.items())
    letters = "abcdefghijklmnopqrstuvwxyz"[-countries:]
    order = list(dict.fromkeys(country for _, _, country in cells))
    return board.Board(
        tuple(board.label(row, column) for row, column, _ in cells),
        (armies,) * len(cells),
        tuple(letters[order.index(country)] for _, _, country in cells),
    )
