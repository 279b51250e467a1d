"""Fixtures for the site: one of a match of every game to look at, and a real Chromium."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from pbem import game as games
from pbem.archive import published, site
from tests.archive import played
from tests.archive.looked import Page

# As it is started in a container: no sandbox, and nothing of its own that asks the network.
_QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a match of each game that is over, one that goes on, and one that is hostile."""
    folder = tmp_path_factory.mktemp("site") / "archive"
    records = [played.record(key, int(key == "hexem")) for key in games.installed()]
    records += [played.record("empires", 1, 4, "running1"), played.hostile()]
    place = site.Place(folder, "Gia's matches")
    site.build(place, [played.source(published(one)) for one in records])
    return folder


@pytest.fixture(scope="session")
def pages(built: Path) -> Mapping[str, Page]:
    """All pages of the site by name."""
    return {
        path.relative_to(built).as_posix(): Page(path.read_text("utf-8"))
        for path in sorted(built.rglob("*.html"))
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium; without one the test is skipped, unless the services are required.

    It is one a module: as long as it is there, its event loop runs in the thread of the tests.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        if os.environ.get("PBEM_SERVICES") == "required":
            pytest.fail("chromium is not installed, and PBEM_SERVICES=required")
        pytest.skip("chromium is not installed (Debian: chromium)")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=_QUIET)
        yield running
        running.close()
