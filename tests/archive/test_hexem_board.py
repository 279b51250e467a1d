"""The board of Hexem in a real Chromium: on a phone, marked, and step by step with its table."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pbem.archive import published, site
from pbem.games.hexem.archive import course
from tests.archive import played

SEATS = ("Anna", "Bob", "Chloé", "Dima")
NAME = "hexem4"


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a match of four players on their packaged board."""
    folder = tmp_path_factory.mktemp("four") / "archive"
    record = published(played.record("hexem", 1, 6, NAME, SEATS))
    site.build(site.Place(folder, "Gia's matches"), [played.source(record)])
    return folder / NAME


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    yield context.new_page()
    context.close()


def step_to(page: Page, step: int) -> None:
    page.locator("input[type=range]").fill(str(step))


def table(page: Page) -> list[list[str]]:
    """Return the cells of the table that goes with the board, a row for each seat."""
    rows = page.locator("table.holders tbody tr:visible").all()
    return [row.locator("td").all_inner_texts() for row in rows]


@pytest.mark.parametrize("page_name", ["index.html", "turn-3.html"])
def test_the_packaged_board_of_four_is_whole_on_a_phone_and_legible(
    page_name: str, four: Path, phone: Page
) -> None:
    phone.goto((four / page_name).as_uri())
    board = phone.locator("svg.board")
    box, frame = board.bounding_box(), board.locator("..").bounding_box()
    assert box is not None and frame is not None
    assert box["x"] >= frame["x"] and box["width"] <= frame["width"] <= 358
    least = "Math.min(...[...document.querySelectorAll('.board text')].map(one => +one.getAttribute"
    size = phone.evaluate(f"{least}('font-size')))")
    natural = float(str(board.get_attribute("width")))
    assert size * box["width"] / natural >= 10


def test_a_board_too_large_for_a_phone_stays_legible_and_scrolls(four: Path, phone: Page) -> None:
    phone.set_viewport_size({"width": 250, "height": 800})
    phone.goto((four / "index.html").as_uri())
    board = phone.locator("svg.board")
    box = board.bounding_box()
    assert box is not None
    assert box["width"] == pytest.approx(0.8 * float(str(board.get_attribute("width"))), abs=1)
    frame = "document.querySelector('.board').parentElement"
    assert phone.evaluate(f"{frame}.scrollWidth > {frame}.clientWidth")


# Whether what is drawn as a mark meets a text of any hex: their boxes with ten thousand armies,
# and a label and a letter as wide as they come.
MEETS = """() => {
  const board = document.querySelector("svg.board");
  const groups = [...board.querySelectorAll(".hexes > g")];
  const texts = groups.flatMap((group) => {
    const [x, y] = group.getAttribute("transform").match(/-?\\d+/g).map(Number);
    return [...group.querySelectorAll("text")].map((text, at) => {
      const kept = text.textContent;
      if (at === 2) text.textContent = "m";
      const box = text.getBBox();
      text.textContent = kept;
      // The box of a line of type has room above and below what is seen of it.
      const [top, height] = [box.y + box.height * 0.22, box.height * 0.56];
      return { x: x + box.x, y: y + top, width: box.width, height, what: kept };
    });
  });
  const found = [];
  const marks = [...board.querySelectorAll(".changed > *, .now > *")];
  for (const mark of marks) {
    const shape = mark.tagName === "use" ? board.querySelector(mark.getAttribute("href")) : mark;
    const scale = shape.transform.baseVal.length ? shape.transform.baseVal[0].matrix.a : 1;
    const [left, top] = ["x", "y"].map((name) => (mark[name] ? mark[name].baseVal.value : 0));
    for (const text of texts) {
      for (let along = 0; along <= 8; along += 1) {
        for (let down = 0; down <= 4; down += 1) {
          const point = board.createSVGPoint();
          point.x = (text.x + (text.width * along) / 8 - left) / scale;
          point.y = (text.y + (text.height * down) / 4 - top) / scale;
          const is_filled = getComputedStyle(mark).fill !== "none";
          if (shape.isPointInStroke(point) || (is_filled && shape.isPointInFill(point))) {
            found.push(`${mark.outerHTML} meets ${text.what} at ${text.x} ${text.y}`);
          }
        }
      }
    }
  }
  return [marks.length, [...new Set(found)]];
}"""


def test_no_mark_on_the_board_meets_label_armies_or_letter(four: Path, phone: Page) -> None:
    phone.goto((four / "turn-3.html").as_uri())
    marks, met = phone.evaluate(MEETS)
    assert marks == phone.locator(".changed > use").count() > 3
    assert met == []
    seen = 0
    for step in range(1, phone.locator("#steps > li").count()):
        step_to(phone, step)
        marks, met = phone.evaluate(MEETS)
        seen += marks - phone.locator(".changed > use").count()
        assert met == [], step
    assert seen > 10


def test_the_table_beside_the_board_follows_the_slider(four: Path, phone: Page) -> None:
    charts = course(published(played.record("hexem", 1, 6, NAME, SEATS)))["charts"]
    hexes, armies = (chart["seats"] for chart in charts)
    phone.goto((four / "index.html").as_uri())
    caption = phone.locator("table.holders caption")
    last = phone.locator("#steps > li").count()
    for turn in (last, 1, 3, last - 1):
        step_to(phone, turn)
        assert table(phone) == [[str(hexes[s][turn]), str(armies[s][turn])] for s in SEATS]
        expect(caption).to_have_text(f"After turn {turn}")
    step_to(phone, 0)
    expect(caption).to_have_text("As the match began")


def test_within_a_turn_the_table_tells_the_change_up_to_each_step(four: Path, phone: Page) -> None:
    phone.goto((four / "turn-3.html").as_uri())
    at_end = table(phone)
    step_to(phone, 0)
    begun = table(phone)
    assert {(row[1], row[3]) for row in begun} == {("0", "0")}
    expect(phone.locator("table.holders caption")).to_have_text("As the turn began")
    step_to(phone, phone.locator("#steps > li").count() - 1)
    for now, first in zip(table(phone), begun, strict=True):
        assert int(now[1]) == int(now[0]) - int(first[0])
        assert int(now[3]) == int(now[2]) - int(first[2])
    phone.get_by_role("button", name="To the end").click()
    assert table(phone) == at_end


def test_without_script_the_table_shows_the_end(browser: Browser, four: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((four / "index.html").as_uri())
    record = published(played.record("hexem", 1, 6, NAME, SEATS))
    expect(page.locator("table.holders caption")).to_have_text(f"After turn {record['turn']}")
    armies = course(record)["charts"][1]["seats"]
    assert [row[1] for row in table(page)] == [str(armies[seat][-1]) for seat in SEATS]
    context.close()


def test_where_there_is_room_the_table_stands_beside_the_board(
    browser: Browser, four: Path
) -> None:
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    page.goto((four / "turn-3.html").as_uri())
    board = page.locator("svg.board").bounding_box()
    beside = page.locator("table.holders").bounding_box()
    assert board is not None and beside is not None
    assert beside["x"] > board["x"] + board["width"] and beside["y"] < board["y"] + board["height"]
    context.close()
