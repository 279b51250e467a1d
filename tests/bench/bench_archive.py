"""How long the archive of a long match takes to build, and how long one in which nothing changed.

Run it by itself: `python tests/bench/bench_archive.py`. A match of Hexem, a hundred turns of seven
players, is imported into a fresh database and built by the command, as a game master would. Beside
it stand floors measured in the same run: writing all the reports that its players were sent, and
the imports that no command can do without. It prints seconds of CPU time, so that other work on the
machine doesn't count, and asserts the ratios.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from pbem.archive import exported, published, telling
from tests.archive import played
from tests.games import matches

TURNS, SEATS = 100, matches.SEATS[:7]
PBEM = [sys.executable, "-m", "pbem"]
IMPORTS = [sys.executable, "-c", "import sqlalchemy.orm, typer"]
RUNS = 5


def cpu(work: Callable[[], object]) -> float:
    """Return the seconds of CPU time that some work takes, its child processes included."""
    begun = sum(os.times()[:4])
    work()
    return sum(os.times()[:4]) - begun


def command(folder: Path, *arguments: str) -> Callable[[], object]:
    """Return what runs a command of ours in a folder."""
    return lambda: subprocess.run([*PBEM, *arguments], cwd=folder, check=True, capture_output=True)


def main() -> None:
    """Build the match, build it again, and measure both."""
    record = published(played.record("hexem", 0, TURNS - 1, "long1", SEATS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command(folder, "init")()
        (folder / "match.json").write_text(exported.written(record), "utf-8")
        command(folder, "import", "match.json", "--unverified")()
        build = command(folder, "archive", "--out", "site")
        begun = time.perf_counter()
        first = cpu(build)
        wall = time.perf_counter() - begun
        again = min(cpu(build) for _ in range(RUNS))
        imports = min(
            cpu(lambda: subprocess.run(IMPORTS, cwd=folder, check=True)) for _ in range(RUNS)
        )
        pages = sorted((path.stat().st_size, path.name) for path in folder.rglob("*.html"))
        every = sum(path.stat().st_size for path in (folder / "site").rglob("*"))
    floor = cpu(
        lambda: [
            telling.report_of(record, turn, seat)
            for turn in record["turns"]
            for seat in record["seats"]
        ]
    )
    print(f"{len(record['turns']) - 1} turns, {len(SEATS)} players, {len(pages)} pages")
    print(f"reports alone {floor:.2f} s, archive {first:.2f} s ({wall:.2f} s by the clock)")
    print(f"imports alone {imports:.2f} s, archive with nothing changed {again:.2f} s")
    print(f"largest page {pages[-1][1]}: {pages[-1][0] / 1000:.0f} kB; all {every / 1e6:.1f} MB")
    assert first / floor < 4, first / floor
    assert again / imports < 1.7, again / imports
    assert pages[-1][0] < 300_000, pages[-1]


if __name__ == "__main__":
    main()
