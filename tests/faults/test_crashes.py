"""A process killed at any moment: started again it loses nothing and doubles nothing.

The one duplicate there can be is a letter that left just before, under the same Message-ID.
`PBEM_CRASHES=1000` makes so many crashes, `PBEM_CRASHES=all` one at every point there is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from pbem.config import Config
from tests.databases import Postgres
from tests.faults import crashes, world
from tests.faults.world import Account, Outside, Step
from tests.post.servers import Dovecot, smtp_server

NAMES = ("welcomes", "mails", "turn", "game master", "undo")


class Chapter(NamedTuple):
    """A step of the story: the house before it, mails laid, and what it comes to undisturbed.

    `letters` counts those that have left, as far as the outside remembers them.
    """

    outside: Outside
    step: Step
    before: Config
    after: Account
    letters: int
    points: Sequence[str]


@pytest.fixture(scope="module", params=["folders", "servers", "postgresql"])
def outside(request: pytest.FixtureRequest) -> Iterator[Outside]:
    """Maildirs; a real IMAP server and an SMTP server; Maildirs beside a real PostgreSQL."""
    if request.param == "folders":
        yield world.Folders()
        return
    if request.param == "postgresql":
        postgres: Postgres = request.getfixturevalue("postgres")
        with postgres.fresh() as empty:
            yield world.Shared(postgres, empty)
        return
    dovecot: Dovecot = request.getfixturevalue("dovecot")
    with smtp_server() as smtp:
        yield world.Servers(dovecot, smtp)


@pytest.fixture(scope="module")
def chapters(outside: Outside, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Chapter]:
    """The story told once without a fault."""
    folder = tmp_path_factory.mktemp("story")
    house = outside.build(folder / "house")
    found = {}
    for step in world.story(world.gm_address(house)):
        outside.lay(house, step)
        before = outside.copy(house, folder / f"before {step.name}")
        points = crashes.points_of(world.tick(house, step.now), folder / "log")
        after, letters = world.account(house), len(outside.left(house))
        found[step.name] = Chapter(outside, step, before, after, letters, points)
    assert tuple(found) == NAMES
    return found


def test_the_story_has_all_that_can_happen_in_it(chapters: dict[str, Chapter]) -> None:
    last = chapters["undo"].after
    assert {status for _, status, _ in last["messages"]} == {
        "answered",
        "filed",
        "ignored",
        "late",
        "rejected",
    }
    assert [row[1:3] for row in last["turns"]] == [[0, True], [1, True], [2, False]]
    assert {row[0] for row in last["letters"]} >= {
        "welcome",
        "receipt",
        "press",
        "report",
        "notice",
    }
    assert all(len(chapter.points) > 8 for chapter in chapters.values())


@pytest.mark.parametrize(("name", "share"), list(zip(NAMES, (1, 6, 4, 4, 3), strict=True)))
def test_killed_at_each_point_and_started_again_it_comes_to_the_same(
    chapters: dict[str, Chapter], name: str, share: int, tmp_path: Path
) -> None:
    chapter = chapters[name]
    outside = chapter.outside
    for point in crashes.spread(len(chapter.points), crashes.budget(share)):
        house = outside.copy(chapter.before, tmp_path / str(point))
        work = world.tick(house, chapter.step.now)
        place = f"killed {chapter.points[point]}"
        assert crashes.killed_at(work, point, tmp_path / "log"), place
        kept = world.stored(house)
        assert all(kept[raw] for raw in outside.confirmed(house)), place
        crashes.completed(work, tmp_path / "log")
        check(house, chapter, place, crashed=1)


@pytest.mark.parametrize(("name", "share"), list(zip(NAMES, (1, 1, 1, 1, 1), strict=True)))
def test_killed_at_any_time_again_and_again_it_comes_to_the_same(
    chapters: dict[str, Chapter], name: str, share: int, tmp_path: Path
) -> None:
    chapter = chapters[name]
    outside = chapter.outside
    wanted = crashes.budget(share) or 200
    house, crashed = outside.copy(chapter.before, tmp_path / "0"), 0
    for number, delay in enumerate(crashes.delays(wanted, 0.3, name), 1):
        work = world.tick(house, chapter.step.now)
        if crashes.killed_after(work, delay, tmp_path / "log"):
            crashed += 1
            kept = world.stored(house)
            assert all(kept[raw] for raw in outside.confirmed(house)), delay
            continue
        check(house, chapter, f"killed {crashed} times", crashed)
        house, crashed = outside.copy(chapter.before, tmp_path / str(number)), 0
    crashes.completed(world.tick(house, chapter.step.now), tmp_path / "log")
    check(house, chapter, f"killed {crashed} times", crashed)


def test_a_mail_that_an_mta_hands_over_again_after_each_crash_is_there_once(tmp_path: Path) -> None:
    outside = world.Folders()
    house = outside.build(tmp_path / "house")
    _, step, *_ = world.story(world.gm_address(house))
    undisturbed = outside.copy(house, tmp_path / "undisturbed")
    log, crashed = tmp_path / "log", 0
    for raw, now in step.mails:
        points = crashes.points_of(world.receive(undisturbed, raw, now), log)
        for point in crashes.spread(len(points), crashes.budget(2)):
            # Exit 0 is what the MTA takes for its mail being safe; after anything else it is kept.
            crashed += crashes.killed_at(world.receive(house, raw, now), point, log)
        crashes.completed(world.receive(house, raw, now), log)
    assert crashed >= len(step.mails)
    for one in (house, undisturbed):
        crashes.completed(world.tick(one, step.now), log)
    assert world.account(house) == world.account(undisturbed)


def check(house: Config, chapter: Chapter, place: str, crashed: int) -> None:
    """Hold what a house has come to against what it comes to undisturbed."""
    account = world.account(house)
    for what, rows in chapter.after.items():
        assert account[what] == rows, f"{place}: {what}"
    letters = chapter.outside.left(house)
    assert len(letters) == chapter.letters, place
    assert sum(len(copies) - 1 for copies in letters.values()) <= crashed, place
    assert all(len(set(copies)) == 1 for copies in letters.values()), place
