"""What a process stands on gives way: a full disk, a database locked or lost, a jumping clock."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from pbem import rounds, store
from pbem.config import Config
from pbem.faults import Away, Wrong
from pbem.store import Letter, Match, Turn, database
from tests.conftest import NOW, mail
from tests.faults import world
from tests.faults.world import Step
from tests.flow.rig import DAY, DEADLINE, HOUR, MINUTE, WEEK

FOLDERS = world.Folders()
YEAR = timedelta(days=365)
PIPED = "99@mail.example.org"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        if os.environ.get("PBEM_SERVICES") == "required":
            pytest.fail(f"no file system can be mounted: {mounted.stderr}")
        pytest.skip("no file system can be mounted (only root may)")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def told(house: Config) -> Sequence[Step]:
    """Return the story's steps for a house."""
    return world.story(world.gm_address(house))


def command(house: Config, *words: str, said: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run a command as cron or an MTA does."""
    config = str(house.folder / "pbem.toml")
    return subprocess.run(
        [sys.executable, "-m", "pbem", "--config", config, *words],
        input=said,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("free", [0, 28, 124])
def test_on_a_full_disk_nothing_is_lost_and_with_room_again_all_goes_on(
    small_disk: Path, tmp_path: Path, free: int
) -> None:
    house = FOLDERS.build(small_disk / "house")
    welcomes, mails, turn, *_ = told(house)
    world.tick(house, welcomes.now)()
    for step in (mails, turn):
        FOLDERS.lay(house, step)
    undisturbed = FOLDERS.copy(house, tmp_path / "undisturbed")
    for step in (mails, turn):
        world.tick(undisturbed, step.now)()
    filler = small_disk / "filler"
    filled = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize - free * 1024
    filler.write_bytes(bytes(filled))
    codes: list[int] = []
    for step in (mails, turn):
        clock = ("--clock", step.now.isoformat())
        done = command(house, *clock, "tick")
        assert done.returncode in (0, 75), done.stderr
        assert b"Traceback" not in done.stderr
        assert (b"room" in done.stderr or b"space" in done.stderr) == (done.returncode == 75)
        received = command(house, *clock, "receive", said=mail("HELP", number=99))
        codes.append(received.returncode)
        assert received.returncode in (0, 75)
        assert len(received.stderr.splitlines()) == 1
    assert free or codes == [75, 75]
    filler.unlink()
    for step in (mails, turn):
        world.tick(house, step.now)()
    found, wanted = world.account(house), world.account(undisturbed)
    for what, rows in wanted.items():
        # What the mail from the pipe has done beside the story.
        assert [row for row in found[what] if PIPED not in row] == rows, what
    piped = world.stored(house)[mail("HELP", number=99)]
    assert piped == (0 in codes)
    assert len(FOLDERS.left(house)) == len(FOLDERS.left(undisturbed)) + piped


def test_while_another_program_locks_the_database_all_is_put_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 20)
    house = FOLDERS.build(tmp_path / "house")
    _, mails, *_ = told(house)
    FOLDERS.lay(house, mails)
    with closing(sqlite3.connect(house.folder / "pbem.sqlite")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Away, match="locked; try again later"):
            world.tick(house, mails.now)()
        with pytest.raises(Away, match="locked"), world.using(house) as engine:
            store_one(engine, house, mails.now)
        assert FOLDERS.confirmed(house) == []
    world.tick(house, mails.now)()
    assert len(FOLDERS.confirmed(house)) == len(mails.mails)


def store_one(engine: object, house: Config, now: datetime) -> None:
    """Take in one mail as from a pipe."""
    from io import BytesIO

    rounds.receive(engine, house, BytesIO(mail("HELP")), "", now, now)  # type: ignore[arg-type]


def test_a_database_that_is_gone_is_named_and_no_mail_is_confirmed(tmp_path: Path) -> None:
    house = FOLDERS.build(tmp_path / "house")
    _, mails, *_ = told(house)
    FOLDERS.lay(house, mails)
    shutil.move(house.folder / "pbem.sqlite", tmp_path / "elsewhere")
    with pytest.raises(Wrong, match="no database there"):
        world.tick(house, mails.now)()
    assert command(house, "receive", said=mail("HELP")).returncode == 75
    assert not (house.folder / "pbem.sqlite").exists()
    shutil.move(tmp_path / "elsewhere", house.folder / "pbem.sqlite")
    world.tick(house, mails.now)()
    assert len(FOLDERS.confirmed(house)) == len(mails.mails)


def turns_of(house: Config) -> list[int]:
    """Return the numbers of the turns run."""
    with world.using(house) as engine, store.reading(engine) as session:
        return list(session.scalars(select(Turn.number).order_by(Turn.number)))


def test_a_clock_that_jumps_a_year_ahead_runs_nothing_and_right_again_all_goes_on(
    tmp_path: Path,
) -> None:
    house = FOLDERS.build(tmp_path / "house")
    welcomes, mails, turn, *_ = told(house)
    FOLDERS.lay(house, mails)
    undisturbed = FOLDERS.copy(house, tmp_path / "undisturbed")
    world.tick(house, welcomes.now + YEAR)()
    assert turns_of(house) == [0]
    for one in (house, undisturbed):
        world.tick(one, mails.now)()
        FOLDERS.lay(one, turn)
        for step in range(3):
            world.tick(one, turn.now + step * MINUTE)()
    assert turns_of(house) == turns_of(undisturbed) == [0, 1]
    # All letters that are wanted have left; the game master was told of the overdue match.
    found, wanted = (
        sorted(row[:6] for row in world.account(one)["letters"] if row[0] != "notice")
        for one in (house, undisturbed)
    )
    assert found == wanted


def test_letters_put_off_while_the_clock_was_ahead_leave_when_it_is_right_again(
    tmp_path: Path,
) -> None:
    house = FOLDERS.build(tmp_path / "house")
    out = house.folder / "mail" / "out"
    shutil.rmtree(out)
    out.write_text("no Maildir")
    with pytest.raises(Away):
        world.tick(house, NOW + YEAR)()
    with world.using(house) as engine, store.writing(engine) as session:
        # As after a temporary refusal at that time.
        for letter in session.scalars(select(Letter)):
            letter.due, letter.tries = NOW + YEAR + HOUR, 5
    out.unlink()
    world.tick(house, NOW + HOUR)()
    # Two welcomes, and what the game master was told of a match so long overdue.
    assert len(FOLDERS.left(house)) == 3


def test_a_clock_that_goes_back_runs_no_turn_twice_and_sends_nothing_again(tmp_path: Path) -> None:
    house = FOLDERS.build(tmp_path / "house")
    welcomes, mails, turn, *_ = told(house)
    for step in (welcomes, mails, turn):
        FOLDERS.lay(house, step)
        world.tick(house, step.now)()
    before, letters = world.account(house), FOLDERS.left(house)
    for now in (turn.now - WEEK, NOW - YEAR, turn.now - MINUTE, DEADLINE, turn.now):
        world.tick(house, now)()
    assert world.account(house) == before
    assert FOLDERS.left(house) == letters
    with world.using(house) as engine, store.reading(engine) as session:
        deadline = session.scalars(select(Match.deadline)).one()
    assert deadline is not None
    assert deadline > turn.now + DAY
