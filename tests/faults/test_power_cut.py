"""The power fails: of what SQLite was writing there is only the beginning on the disk.

A tick is run once, its write-ahead log never folded into the database; beside each thing that it
did to the world outside (a mail confirmed, a letter laid down) is noted how long the log was then.
The log cut at any byte, with what had happened outside by then, is what a power cut leaves: with
`synchronous = FULL` all that a commit wrote is on the disk before the next thing is done.
(https://www.sqlite.org/fileformat2.html, section 4.)
"""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from sqlalchemy import text

from pbem.config import Config
from tests.faults import crashes, world
from tests.faults.world import Account, Step

FOLDERS = world.Folders()

# A log's header, and what a frame has before its page (SQLite file format, 4.1).
HEADER, FRAME = 32, 24


class Deed(NamedTuple):
    """A file of the post office renamed, and how many bytes the log had then: its last commit."""

    log: int
    source: Path
    target: Path


class Cut(NamedTuple):
    """A tick that is over but for its log, and what it comes to undisturbed."""

    step: Step
    house: Config
    deeds: list[Deed]
    commits: list[int]
    after: Account
    letters: int


def wal(house: Config) -> Path:
    """Return a house's write-ahead log."""
    return house.folder / "pbem.sqlite-wal"


@pytest.fixture(scope="module", params=["mails", "turn", "game master"])
def cut(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cut:
    """A step of the story, run in a process that then vanishes."""
    folder = tmp_path_factory.mktemp("power")
    house = FOLDERS.build(folder / "house")
    for step in world.story(world.gm_address(house)):
        FOLDERS.lay(house, step)
        if step.name == request.param:
            break
        world.tick(house, step.now)()
    undisturbed = FOLDERS.copy(house, folder / "undisturbed")
    world.tick(undisturbed, step.now)()
    noted = folder / "deeds"

    def note(when: str, name: str, given: tuple[Any, ...]) -> None:
        if when == "after" and name in ("rename", "do_commit"):
            paths = given if name == "rename" else ()
            with noted.open("a") as file:
                print(wal(house).stat().st_size, *paths, sep="\t", file=file)

    def work() -> None:
        crashes.watch(note)
        with world.using(house) as engine, engine.connect():
            # A connection that is open keeps the log from being folded in at the end.
            world.tick(house, step.now)()
            os.kill(os.getpid(), signal.SIGKILL)

    assert crashes.fork(work, folder / "log", lambda: None) == -signal.SIGKILL
    marks = [line.split("\t") for line in noted.read_text().splitlines()]
    return Cut(
        step,
        house,
        [Deed(int(log), Path(paths[0]), Path(paths[1])) for log, *paths in marks if paths],
        [int(log) for log, *paths in marks if not paths],
        world.account(undisturbed),
        len(FOLDERS.left(undisturbed)),
    )


def places(cut: Cut) -> Iterator[int]:
    """Yield where to cut: at ends of frames, a byte to either side, and anywhere."""
    size = wal(cut.house).stat().st_size
    with world.using(cut.house) as engine, engine.connect() as connection:
        page = connection.scalar(text("PRAGMA page_size"))
    assert (size - HEADER) % (FRAME + page) == 0
    ends = range(HEADER, size + 1, FRAME + page)
    rng = Random(cut.step.name)
    found = {0, HEADER - 1, size, *ends, *(end + 1 for end in ends), *(end - 1 for end in ends)}
    found |= {rng.randrange(size) for _ in range(len(ends))}
    ordered = sorted(place for place in found if 0 <= place <= size)
    budget = crashes.budget(5)
    for number in crashes.spread(len(ordered), budget and budget * 3):
        yield ordered[number]


def test_cut_anywhere_the_log_leaves_a_sound_database_and_nothing_confirmed_is_lost(
    cut: Cut, tmp_path: Path
) -> None:
    assert len(cut.deeds) > 3
    assert [deed.log for deed in cut.deeds] == sorted(deed.log for deed in cut.deeds)
    # Opened for the first time, the log would be folded in: copies are made of the files alone.
    kept = {path.name: path.read_bytes() for path in cut.house.folder.glob("pbem.sqlite*")}
    for place in places(cut):
        done = [deed for deed in cut.deeds if deed.log <= place]
        last = max([0, *(log for log in cut.commits if log <= place)])
        # What followed upon the last commit had happened when the power failed, or not yet.
        for outside in (done, [deed for deed in done if deed.log < last]):
            folder = tmp_path / f"{place}-{len(outside)}"
            if folder.exists():
                continue
            house = FOLDERS.copy(cut.house, folder)
            for path in folder.glob("pbem.sqlite*"):
                path.unlink()
            (folder / "pbem.sqlite").write_bytes(kept["pbem.sqlite"])
            wal(house).write_bytes(kept["pbem.sqlite-wal"][:place])
            for deed in reversed(cut.deeds[len(outside) :]):
                source, target = (
                    folder / path.relative_to(cut.house.folder)
                    for path in (deed.source, deed.target)
                )
                shutil.move(target, source)
            check_restarted(house, cut, place)


def check_restarted(house: Config, cut: Cut, place: int) -> None:
    """Start a house again, and hold what it comes to against what it comes to undisturbed."""
    with world.using(house) as engine, engine.connect() as connection:
        assert connection.scalar(text("PRAGMA integrity_check")) == "ok", place
        assert connection.execute(text("PRAGMA foreign_key_check")).all() == [], place
    stored = world.stored(house)
    assert all(stored[raw] for raw in FOLDERS.confirmed(house)), place
    world.tick(house, cut.step.now)()
    account = world.account(house)
    for what, rows in cut.after.items():
        assert account[what] == rows, f"cut at {place}: {what}"
    letters = FOLDERS.left(house)
    assert len(letters) == cut.letters, place
    assert sum(len(copies) - 1 for copies in letters.values()) <= 1, place
