"""Hexem's board in a real Chromium, opened from disk: stepped by slider, keys and buttons."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.archive import played

# What a page shows: each hex's label, armies and letter, and how many sides of fronts are drawn.
_SHOWN = """() => [
  ...[...document.querySelectorAll(".hexes > g")].map((hex) =>
    [...hex.querySelectorAll("text")].map((one) => one.textContent).join(" ")),
  document.querySelector(".fronts").getAttribute("d").split("M").length - 1,
]"""

Open = Callable[[str], Page]


@pytest.fixture
def seen(browser: Browser, built: Path) -> Iterator[Open]:
    """Open a page of the match; nothing may be said on the console."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    said: list[str] = []

    def go(name: str) -> Page:
        page = context.new_page()
        page.on("console", lambda one: said.append(one.text))
        page.on("pageerror", lambda one: said.append(str(one)))
        page.goto(f"{(built / 'hexem2').as_uri()}/{name}")
        return page

    yield go
    context.close()
    assert said == []


def shown(page: Page) -> Any:
    """Return what the board of a page shows."""
    return page.evaluate(_SHOWN)


def test_a_turn_steps_from_the_board_before_it_to_its_own_by_keys(seen: Open) -> None:
    before, page = seen("turn-4.html"), seen("turn-5.html")
    last = shown(page)
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    assert shown(page) == shown(before) != last
    expect(page.locator(".told")).to_have_text("As the turn began.")
    items = page.locator("#steps li")
    for at in range(items.count()):
        page.keyboard.press("ArrowRight")
        expect(items.nth(at)).to_have_attribute("aria-current", "step")
        expect(page.locator(".told")).to_have_text(items.nth(at).inner_text())
    expect(slider).to_have_attribute("aria-valuetext", f"{items.count()} of {items.count()}")
    assert shown(page) == last


def test_the_match_steps_over_the_boards_of_its_turns(seen: Open) -> None:
    page = seen("index.html")
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    for number in range(played.record("hexem", 1)["turn"] + 1):
        assert shown(page) == shown(seen(f"turn-{number}.html"))
        page.keyboard.press("ArrowRight")


def test_it_plays_and_stops_by_the_space_key_and_ends_at_the_end(seen: Open) -> None:
    page = seen("turn-5.html")
    last = page.locator("figure.replay").get_attribute("data-step")
    page.clock.install()
    page.get_by_role("slider").focus()
    page.keyboard.press("Space")
    figure = page.locator("figure.replay")
    expect(figure).to_have_attribute("data-step", "0")
    page.clock.run_for(2500)
    expect(figure).to_have_attribute("data-step", "2")
    # Nobody is told of each step while they run by.
    expect(page.locator(".told")).to_have_attribute("aria-live", "off")
    page.keyboard.press("Space")
    page.clock.run_for(5000)
    expect(figure).to_have_attribute("data-step", "2")
    expect(page.locator(".told")).to_have_attribute("aria-live", "polite")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(100_000)
    expect(figure).to_have_attribute("data-step", str(last))
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_buttons_and_arrows_on_them_step_too(seen: Open) -> None:
    page = seen("turn-5.html")
    figure = page.locator("figure.replay")
    page.get_by_role("button", name="To the beginning").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(figure).to_have_attribute("data-step", "1")
    page.get_by_role("button", name="One step on").press("Enter")
    expect(figure).to_have_attribute("data-step", "2")
    page.get_by_role("button", name="One step back").press("Space")
    expect(figure).to_have_attribute("data-step", "1")


def test_the_address_of_a_muster_shows_the_board_after_it(seen: Open) -> None:
    page = seen("turn-5.html#m2")
    expect(page.locator("figure.replay")).to_have_attribute("data-step", "2")
    expect(page.locator(".now use")).to_have_count(1)
    page.evaluate("location.hash = 'm1'")
    expect(page.locator("figure.replay")).to_have_attribute("data-step", "1")


def test_without_scripts_the_board_of_the_end_and_all_musters_are_there(
    browser: Browser, built: Path, seen: Open
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((built / "hexem2" / "turn-5.html").as_uri())
    musters = [
        event
        for event in played.record("hexem", 1)["turns"][5]["events"]
        if event["kind"] == "muster"
    ]
    assert page.locator("#steps li").count() == len(musters) + 1
    expect(page.get_by_role("slider")).to_have_count(0)
    expect(page.get_by_role("img").first).to_be_visible()
    expect(page.get_by_text("The board as the turn left it")).to_be_visible()
    context.close()
