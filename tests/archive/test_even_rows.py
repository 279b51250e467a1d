"""Tables that go beyond the edge of a phone: what isn't seen of a row makes it no higher."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

HEIGHTS = """() => [...document.querySelectorAll("table.even")].map((table) =>
  [...table.tBodies[0].rows].map((row) => Math.round(row.getBoundingClientRect().height)))"""


@pytest.mark.parametrize(
    "name", ["alphabet1/turn-3.html", "alphabet1/turn-5.html", "alphabet1/index.html"]
)
def test_rows_of_groups_and_letters_are_of_even_height(
    name: str, browser: Browser, built: Path
) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    page.goto((built / name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    tables = page.evaluate(HEIGHTS)
    assert tables
    for heights in tables:
        assert max(heights) - min(heights) <= 2, heights
    context.close()


@pytest.mark.parametrize("name", ["empires1/index.html", "offices1/index.html"])
def test_only_a_first_column_that_is_always_seen_takes_two_lines(
    name: str, browser: Browser, built: Path
) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    page.goto((built / name).as_uri())
    higher = page.evaluate(
        """() => [...document.querySelectorAll("table.even tbody td:not(:first-child)")]
             .filter((cell) => {
               const range = document.createRange();
               range.selectNodeContents(cell);
               return range.getBoundingClientRect().height > 32;
             }).map((cell) => cell.outerHTML)"""
    )
    assert page.locator("table.even").count() and higher == []
    context.close()
