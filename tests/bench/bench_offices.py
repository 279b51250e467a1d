"""How fast an auction of offices is played, beside one look at every line of its plans.

Run it by itself: `python tests/bench/bench_offices.py`. It prints milliseconds, and asserts
ratios only.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from pbem.games import offices
from pbem.games.offices.language import OFFICES, Defend, Take
from pbem.games.offices.position import State
from pbem.usage import Order

SEATS = ("Irene", "Basil", "Theo", "Zoe", "Leo")
KINDS = (
    "of all kinds",
    "nothing to be had",
    "single offers",
    "limits that climb",
    "defence only",
    "rich",
)


def line(kind: str, rng: Random, at: int) -> Order:
    """Return line `at` of a plan of a kind."""
    office = rng.choice(OFFICES)
    match kind:
        case "nothing to be had":
            return Take(office, 0)
        case "single offers":
            return Take(office)
        case "limits that climb":
            return Take(office, at)
        case "defence only":
            return Defend(office, at)
        case "rich":
            return Take(office, 10**9) if at % 2 else Defend(office, 10**9)
        case _:
            make = rng.choice((Take, Defend))
            return make(office, rng.randint(0, 99))


def plans(kind: str, size: int) -> Mapping[str | None, Sequence[Order]]:
    """Return a plan of `size` lines for each of five seats."""
    rng = Random(kind)
    return {seat: [line(kind, rng, at) for at in range(size)] for seat in SEATS}


def table() -> State:
    """Return a position in which five rich seats hold all five offices."""
    start = {"start": dict(zip(SEATS, OFFICES, strict=True)), "gold": 10**9}
    return offices.setup(SEATS, start, Random(1))


def took(work: Callable[[], object], times: int) -> float:
    """Return the seconds that one of several runs took, the quickest."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def floor(sent: Mapping[str | None, Sequence[Order]]) -> int:
    """Do what no auction can do without: look at every line once, at its office and its limit."""
    return sum(
        order.gold or 0
        for lines in sent.values()
        for order in lines
        if isinstance(order, Take | Defend) and order.office
    )


def main() -> None:
    """Print a line for every kind and size; assert that the ratio to the floor hardly grows."""
    print(f"{'plans':>18} {'lines':>8} {'auction':>12} {'one look':>12} {'ratio':>9}")
    for kind in KINDS:
        ratios = []
        for size, times in ((20, 100), (1000, 10), (20000, 2)):
            sent, start = plans(kind, size), table()
            played = took(partial(offices.adjudicate, start, sent, Random(1)), times)
            least = took(partial(floor, sent), times)
            ratios.append(played / least)
            print(
                f"{kind:>18} {size:>8} {played * 1000:>9.3f} ms {least * 1000:>9.3f} ms "
                f"{ratios[-1]:>9.1f}"
            )
        # Twenty times as many lines: what grows by their square would be far beyond this.
        assert ratios[2] < 4 * ratios[1], f"{kind}: grows faster than a look at each line"


if __name__ == "__main__":
    main()
