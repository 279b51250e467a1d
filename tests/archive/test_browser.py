"""The archive in a real Chromium, opened from disk: seen, printed, by keyboard, without scripts."""

from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pbem.archive import site
from tests.archive import played

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
PHONE, DESKTOP = {"width": 390, "height": 800}, {"width": 1100, "height": 900}
PAGES = (
    "index.html",
    "hexem2/index.html",
    "hexem2/turn-1.html",
    "hexem2/turn-4.html",
    "hexem2/press.html",
    "empires1/index.html",
    "empires1/turn-1.html",
    "empires1/turn-3.html",
    "alphabet1/index.html",
    "alphabet1/turn-3.html",
    "offices1/index.html",
    "offices1/turn-1.html",
    "running1/index.html",
    "running1/turn-2.html",
    "hostile1/index.html",
    "hostile1/turn-3.html",
)

Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, built: Path) -> Iterator[Opener]:
    """Open a page of the site in a window of its own; whatever it asks, says or throws is noted
    in `said`, and nothing may be."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def open_page(name: str, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda one: one.url.startswith("file://") or said.append(one.url))
        page.on("requestfailed", lambda one: said.append(f"failed: {one.url}"))
        page.on("console", lambda one: said.append(one.text))
        page.on("pageerror", lambda one: said.append(str(one)))
        page.on("dialog", lambda one: said.append(f"dialog: {one.message}"))
        page.goto((built / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def unfold(page: Page) -> None:
    """Open all that is folded in, so that it is looked at too."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


def violations(page: Page) -> Sequence[str]:
    """Return what axe-core finds amiss on a page."""
    page.evaluate(AXE)
    # Without preloading it reads no style sheet anew, which our pages allow nobody.
    found = page.evaluate("axe.run({preload: false})")
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_axe_core_finds_nothing_amiss_by_day_and_night_on_desktop_and_phone(
    name: str, opened: Opener
) -> None:
    page = opened(name)
    unfold(page)
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    assert violations(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_its_window(name: str, opened: Opener) -> None:
    page = opened(name)
    unfold(page)
    for width in (1100, 768, 390, 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_hostile_happens_and_the_words_are_there(opened: Opener) -> None:
    for name in ("hostile1/index.html", "hostile1/turn-3.html", "hostile1/press.html"):
        page = opened(name)
        assert page.title() != "harmed"
        assert page.locator("img[src=x]").count() == 0
        expect(page.locator("main")).to_contain_text("<script>document.title = 'harmed'</script>")


def test_it_is_searched_by_keyboard_and_a_hit_leads_to_the_line(opened: Opener) -> None:
    page = opened("hexem2/index.html")
    field = page.get_by_label("Search orders, press and reports")
    field.focus()
    page.keyboard.type("orders of chloe muster")
    hits = page.locator("#hits a")
    expect(hits.first).to_contain_text("orders of Chloé")
    expect(page.locator("#found")).to_contain_text("places.")
    page.keyboard.press("ArrowDown")
    expect(hits.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/turn-*.html#o3-*")
    line = page.locator(":target")
    expect(line).to_contain_text("MUSTER")
    expect(line).to_be_in_viewport()


def test_what_is_found_is_shown_as_text(opened: Opener) -> None:
    page = opened("hostile1/index.html")
    field = page.get_by_label("Search orders, press and reports")
    field.fill("onerror")
    expect(page.locator("#hits li").first).to_contain_text('<img src=x onerror="')
    assert page.locator("#hits img, #hits script").count() == 0
    field.fill("nothing like that anywhere")
    expect(page.locator("#found")).to_have_text("0 places.")
    field.press("Escape")
    expect(field).to_have_value("")
    assert page.title() != "harmed"


@pytest.mark.parametrize(
    "name", ["hexem2/index.html", "hexem2/turn-4.html", "empires1/turn-3.html"]
)
def test_without_scripts_all_is_there_but_what_only_they_can_do(name: str, opened: Opener) -> None:
    page = opened(name, java_script_enabled=False)
    assert page.locator(".needs-script:visible").count() == 0
    if name.endswith("index.html"):
        expect(page.locator("noscript p")).to_be_visible()
        expect(page.locator("svg.chart.wide").first).to_be_visible()
        page.get_by_role("link", name="4", exact=False).first.click()
    else:
        assert page.locator("ol.orders li").count() > 0
        page.get_by_text("The report to").first.click()
        expect(page.locator("details[open] pre").first).to_be_visible()
        page.locator("a[rel=next]").last.click()
        page.wait_for_url("**/turn-*.html")


def test_the_first_tab_skips_to_the_content(opened: Opener) -> None:
    page = opened("hexem2/turn-4.html")
    page.keyboard.press("Tab")
    skip = page.get_by_text("Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


@pytest.mark.parametrize(
    "name", ["hexem2/index.html", "hexem2/turn-4.html", "alphabet1/turn-3.html"]
)
def test_tab_goes_through_a_page_to_its_end_and_the_focus_is_seen(
    name: str, opened: Opener
) -> None:
    page = opened(name)
    count = page.evaluate(
        "document.querySelectorAll('a, button, input, summary, [tabindex]').length"
    )
    seen: list[str] = []
    for _ in range(count + 2):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            """() => {
              const one = document.activeElement, all = [...document.querySelectorAll("*")];
              const style = getComputedStyle(one);
              return [one === document.body ? "" : String(all.indexOf(one)),
                      style.outlineStyle !== "none" || style.boxShadow !== "none"];
            }"""
        )
        if not place or place in seen:
            break
        seen.append(place)
        assert outline, page.evaluate("document.activeElement.outerHTML")
    assert len(seen) >= 10
    last = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, summary, [tabindex]")]
             .filter(one => one.checkVisibility()).at(-1).outerHTML"""
    )
    assert (
        page.evaluate("([at]) => document.querySelectorAll('*')[at].outerHTML", [int(seen[-1])])
        == last
    )


def test_it_prints_in_black_on_white_without_what_paper_can_not_do(opened: Opener) -> None:
    page = opened("hexem2/index.html", color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    style = "getComputedStyle(document.body)"
    assert page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
    assert page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
    for hidden in (".search", ".onpage", ".skip"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.locator("svg.chart").first).to_be_visible()
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF") and 20_000 < len(printed) < 2_000_000


def test_the_look_follows_the_readers_choice_of_light_or_dark(opened: Opener) -> None:
    colours = {
        scheme: opened("index.html", color_scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    }
    assert colours == {"light": "rgb(246, 244, 238)", "dark": "rgb(20, 22, 26)"}


def test_a_wide_tables_first_column_stays_and_a_shade_tells_of_more(opened: Opener) -> None:
    page = opened("alphabet1/turn-3.html", viewport=PHONE)
    scroller = page.locator(".scroll:has(> table)").first
    first = scroller.locator("tbody th").first
    shade = "one => Number(getComputedStyle(one, '::after').opacity)"
    left = first.bounding_box()
    assert left and scroller.evaluate(shade) == 1
    scroller.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
    page.wait_for_function("one => Number(getComputedStyle(one, '::after').opacity) === 0",
                           arg=scroller.element_handle())  # fmt: skip
    after = first.bounding_box()
    assert after and abs(after["x"] - left["x"]) < 1
    assert first.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(246, 244, 238)"
    # Where all of it is to be seen there is no shade.
    page.set_viewport_size(DESKTOP)
    page.wait_for_function("one => Number(getComputedStyle(one, '::after').opacity) === 0",
                           arg=scroller.element_handle())  # fmt: skip


def test_a_long_name_takes_no_more_than_three_lines_of_a_table(opened: Opener) -> None:
    page = opened("hostile1/index.html", viewport=PHONE)
    names = page.locator("table.data:not(.players) :is(.seat, th) bdi")
    for fold in page.locator("details").all():
        fold.evaluate("one => { one.open = true; }")
    tall = names.evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")
    wide = names.evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert len(tall) > 3 and max(tall) < 85 and max(wide) <= 9 * 16


def test_the_report_is_folded_where_the_chapter_tells_the_turn_and_printed_all_the_same(
    opened: Opener,
) -> None:
    page = opened("hexem2/turn-4.html", java_script_enabled=False)
    report = page.locator("details.report h2").first
    expect(report).not_to_be_visible()
    page.emulate_media(media="print")
    assert page.locator("details.report").bounding_box()["height"] > 200  # type: ignore[index]
    page.emulate_media(media="screen")
    page.get_by_text("The report, as all could read it").click()
    expect(report).to_be_visible()
    # What is to be printed only on demand is neither printed nor told.
    page.emulate_media(media="print")
    expect(page.get_by_text("The report to").first).to_be_hidden()


def test_a_link_into_a_list_that_is_folded_unfolds_it(browser: Browser, tmp_path: Path) -> None:
    record = played.record("hexem", 1, 3)
    said = {**record["history"][0], "who": "gm", "what": "said"}
    record["history"] += [{**said, "facts": {"text": f"word {at}"}} for at in range(60)]
    site.build(site.Place(tmp_path, "x"), [played.source(record)])
    text = (tmp_path / "hexem2" / "index.html").read_text("utf-8")
    last = text.rindex('<li id="h') + len('<li id="')
    place = text[last : text.index('"', last)]
    page = browser.new_page()
    page.goto((tmp_path / "hexem2" / "index.html").as_uri())
    expect(page.locator(f"#{place}")).not_to_be_visible()
    page.goto((tmp_path / "hexem2" / "index.html").as_uri() + f"#{place}")
    expect(page.locator(f"#{place}")).to_be_in_viewport()
    page.close()


def test_at_night_no_picture_is_a_white_card(opened: Opener) -> None:
    page = opened("alphabet1/turn-0.html", color_scheme="dark")
    picture = page.locator(".picture img")
    expect(picture).to_be_visible()
    assert "invert" in picture.evaluate("one => getComputedStyle(one).filter")
    page.emulate_media(media="print", color_scheme="dark")
    assert picture.evaluate("one => getComputedStyle(one).filter") == "none"
