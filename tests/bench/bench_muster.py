"""How many musters a second, beside a bare loop over lists.

Run it: `python tests/bench/bench_muster.py`. Figures are printed, in
processor time; only ratios between them are asserted.
"""

import gc
from collections.abc import Callable
from functools import partial
from random import Random
from time import process_time

from pbem.games import hexem
from pbem.games.hexem import board
from pbem.games.hexem.grammar import Muster
from pbem.games.hexem.state import State

SEATS = tuple("ABCDEFGH")


def war(side: int, musters: int) -> tuple[State, dict[str | None, list[Muster]]]:
    """Return a board of side × side hexes and so many musters on it, already read and checked."""
    chance = Random(1)
    labels = tuple(board.label(row, column) for row in range(side) for column in range(1, side + 1))
    owners = tuple(chance.randrange(len(SEATS)) for _ in labels)
    armies = tuple(chance.randint(1, 9) for _ in labels)
    state = State("muster", 1, SEATS, labels, owners, armies, (None,) * len(labels))
    each = musters // len(SEATS)
    orders: dict[str | None, list[Muster]] = {
        seat: [Muster(tuple(chance.choices(labels, k=each)))] for seat in SEATS
    }
    return state, orders


def floor(musters: int) -> None:
    """Touch six entries of a list and append one tuple, so many times."""
    entries = [0] * 10_000
    done = []
    for at in range(musters):
        here = at % 9_990
        total = 0
        for near in range(here, here + 6):
            total += entries[near]
            entries[near] = 0
        entries[here] = total
        done.append((at, here, total))


def seconds(run: Callable[[], object]) -> float:
    """Return the shortest time of five runs, in seconds of the processor."""
    best = float("inf")
    for _ in range(5):
        gc.collect()
        start = process_time()
        run()
        best = min(best, process_time() - start)
    return best


def main() -> None:
    """Print the figures, and assert that cost is linear and near the floor."""
    bare = seconds(lambda: floor(100_000)) / 100_000
    print(f"bare loop:                            {1 / bare:12,.0f} a second")
    cost = {}
    for side, musters in ((10, 100_000), (100, 50_000), (100, 100_000), (100, 200_000)):
        state, orders = war(side, musters)
        hexem.adjudicate(state, orders, Random(2))
        spent = seconds(partial(hexem.adjudicate, state, orders, Random(2)))
        cost[side, musters] = spent / musters
        print(f"{side * side:6} hexes, {musters:7} musters: {musters / spent:12,.0f} a second")
    assert cost[100, 100_000] < 12 * bare, "far slower than a bare loop"
    assert cost[100, 200_000] < 2 * cost[100, 50_000], "not linear in musters"
    assert cost[100, 100_000] < 3 * cost[10, 100_000], "not independent of the board's size"


if __name__ == "__main__":
    main()
