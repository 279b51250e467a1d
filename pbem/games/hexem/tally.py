"""What a war comes to in numbers: who took what from whom, and how long the fronts are."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pbem.game import Json
from pbem.games.hexem import board

# Who gained, and who lost it to him; `None` is a neutral hex.
Pair = tuple[str | None, str | None]


class Losses(NamedTuple):
    """Hexes taken and armies killed, by who did it and whose they were."""

    hexes: Counter[Pair]
    armies: Counter[Pair]


def losses(musters: Iterable[Mapping[str, Any]]) -> Losses:
    """Count from the facts of musters who lost what to whom (rule 4).

    Attackers who die in vain are lost to the holder of the hex they came for.
    """
    hexes: Counter[Pair] = Counter()
    killed: Counter[Pair] = Counter()
    for fact in musters:
        seat, owner = fact["seat"], fact["owner"]
        if fact["result"] == "won":
            hexes[seat, owner] += 1
            killed[seat, owner] += fact["defenders"]
        elif fact["result"] == "lost":
            killed[owner, seat] += fact["armies"]
    return Losses(hexes, killed)


def matrix(lost: Losses, seats: Sequence[str]) -> Json:
    """Lay losses out, a row for each who gained, a column for each who lost, neutral hexes last.

    A cell has `hexes`, `armies`, `same` (nobody loses to himself) and `heat`, its part of the
    largest number of armies, 0 to 1. Neutral hexes are left out where they had no part.
    """
    pairs = [pair for counted in lost for pair, number in counted.items() if number]
    names = [*seats, *([None] if any(None in pair for pair in pairs) else [])]
    top = max(lost.armies.values(), default=0)

    def cell(by: str | None, of: str | None) -> Json:
        armies = lost.armies[by, of]
        heat = round(armies / top, 2) if top else 0
        return {"hexes": lost.hexes[by, of], "armies": armies, "same": by == of, "heat": heat}

    def total(cells: Iterable[Json]) -> Json:
        cells = list(cells)
        return {key: sum(one[key] for one in cells) for key in ("hexes", "armies")}

    table = [[cell(by, of) for of in names] for by in names]
    rows = zip(names, table, strict=True)
    return {
        "names": names,
        "rows": [{"by": by, "cells": cells, "total": total(cells)} for by, cells in rows],
        "totals": [total(column) for column in zip(*table, strict=True)],
        "any": bool(pairs),
    }


def borders(labels: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return every pair of hexes that share a side, by their places in board order."""
    near = board.neighbours(labels)
    return [(at, other) for at in range(len(labels)) for other in near[at] if at < other]


def fronts(
    sides: Iterable[tuple[int, int]], owners: Sequence[str | None]
) -> Counter[tuple[str, str]]:
    """Count the sides of hexes that each two seats share; each pair stands in the order of names.

    Neutral hexes make no front.
    """
    found: Counter[tuple[str, str]] = Counter()
    for at, other in sides:
        one, two = owners[at], owners[other]
        if one != two and one is not None and two is not None:
            found[(one, two) if one < two else (two, one)] += 1
    return found
