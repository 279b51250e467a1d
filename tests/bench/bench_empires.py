"""How fast a round of Empires is resolved, beside the sorting of its bids in the same run.

Run it by itself: `python tests/bench/bench_empires.py`. It prints seconds, and asserts ratios only.
"""

import random
import time
from collections.abc import Callable

from pbem.games.empires.auction import Bids, resolve

KINDS = ("all different", "many ties", "all alike", "one after another", "a staircase")


def amount(kind: str, rng: random.Random, size: int, seat: int, empire: int) -> int:
    """Return one bid of a table of `size` by `size`."""
    match kind:
        case "all different":
            return rng.randint(1, size * size)
        case "many ties":
            return rng.randint(1, 3)
        case "all alike":
            return 5
        case "one after another":
            return 2 * size - empire
        case _:
            return 5 if empire <= seat else 0


def bids(kind: str, size: int) -> Bids:
    """Return `size` players' bids on as many empires."""
    rng = random.Random(kind)
    places = range(size)
    return {f"s{n}": {f"e{m}": amount(kind, rng, size, n, m) for m in places} for n in places}


def took(work: Callable[[], object], times: int = 1) -> float:
    """Return the seconds that one of several runs took, the quickest."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def floor(drawn: Bids) -> None:
    """Do what no resolving can do without: put each empire's bids in order."""
    rows: dict[str, list[tuple[int, str]]] = {}
    for seat, mine in drawn.items():
        for empire, amount in mine.items():
            rows.setdefault(empire, []).append((amount, seat))
    for row in rows.values():
        row.sort(reverse=True)


def measure(kind: str, size: int, times: int) -> tuple[float, float]:
    """Return the seconds that resolving takes, and that its floor takes."""
    drawn = bids(kind, size)
    return took(lambda: resolve(drawn, {}), times), took(lambda: floor(drawn), times)


def main() -> None:
    """Print a line for every kind and size; assert that the ratio to the floor hardly grows."""
    print(f"{'bids':>18} {'players':>8} {'resolved':>12} {'sorted':>12} {'ratio':>7}")
    for kind in KINDS:
        ratios = []
        for size, times in ((7, 200), (100, 5), (1000, 1)):
            resolved, least = measure(kind, size, times)
            ratios.append(resolved / least)
            print(
                f"{kind:>18} {size:>8} {resolved * 1000:>9.2f} ms {least * 1000:>9.2f} ms "
                f"{ratios[-1]:>7.1f}"
            )
        # A hundred times as many bids: anything that grows by their square would be far beyond.
        assert ratios[2] < 6 * ratios[1], f"{kind}: grows faster than the sorting of the bids"


if __name__ == "__main__":
    main()
