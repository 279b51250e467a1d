"""How long a tick takes that finds nothing to do, beside the imports it can't do without.

Run it by itself: `python tests/bench/bench_tick.py`. It prints absolute figures and asserts the
ratio: a tick is run every minute, so it may take no more than half as long again as the imports.
"""

import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 15
FLOOR = [sys.executable, "-c", "import sqlalchemy.orm, typer"]
TICK = [sys.executable, "-m", "pbem", "tick"]


def seconds(command: list[str], folder: str) -> float:
    """Return how long a process takes, from start to end."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Measure both in turn, so that what else the machine does meets both."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pbem", "init"], cwd=folder, check=True, capture_output=True
        )
        seconds(TICK, folder)
        pairs = [(seconds(FLOOR, folder), seconds(TICK, folder)) for _ in range(RUNS)]
    floor = statistics.median(pair[0] for pair in pairs)
    tick = statistics.median(pair[1] for pair in pairs)
    ratio = statistics.median(tick / floor for floor, tick in pairs)
    print(f"imports {floor:.3f} s, tick {tick:.3f} s, ratio {ratio:.2f}")
    assert ratio <= 1.5, ratio


if __name__ == "__main__":
    main()
