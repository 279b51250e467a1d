"""Hexem in the archive: steps from board to board, fronts, losses, what became of each line."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game
from pbem.archive import published
from pbem.game import Json
from pbem.games import hexem
from pbem.games.hexem import replay
from pbem.games.hexem.archive import MOST_STEPS, chapter, course
from pbem.games.hexem.generator import make_board
from pbem.games.hexem.state import State
from pbem.games.hexem.tally import borders, fronts
from pbem.reports.templates import environment, render
from tests.archive import played as archived
from tests.hexem.conftest import position
from tests.hexem.test_random_play import begun, wild

HOSTILE = ("<b>Ann</b>", "Bob & \"Sons'", "</script><i>")


def record(state: State, *texts: Mapping[str, str], seed: str = "seed", gm: str = "") -> Json:
    """Return the published record of a match from a position on, a turn for each set of orders."""
    turns = [_turn(0, "setup", state, [], {}, {})]
    for number, sheets in enumerate(texts, 1):
        last = number == len(texts)
        every: dict[str | None, str] = {**sheets, None: gm if last else ""}
        phase = state.phase
        done = game.play(hexem, state, every, seed, number)
        state = done.state
        orders = {seat or "": text for seat, text in every.items() if text}
        turns.append(_turn(number, phase, state, done.events, orders, done.problems))
    return {
        "whole": True,
        "game": "hexem",
        "match": "hexem1",
        "seats": list(state.seats),
        "options": {"turns": state.turns, "share": state.share, "board": None},
        "turns": turns,
        "turn": len(texts),
    }


def _turn(number: int, phase: str, state: State, events: Any, orders: Any, problems: Any) -> Json:
    one = {
        "number": number,
        "phase": phase,
        "state": hexem.dump(state),
        "events": [game.event_json(event) for event in events],
        "orders": orders,
        "problems": {seat: [list(each) for each in of] for seat, of in problems.items() if seat},
        "missing": [],
    }
    found: Json = json.loads(json.dumps(one))
    return found


def after(start: str, steps: list[str]) -> list[tuple[int, int]]:
    """Play steps as the script of the pages does, and return the last frame."""
    now = [tuple(map(int, one.split("."))) for one in start.split()]
    for step in steps:
        for change in step.split():
            if change == "+":
                now = [(mark, armies + 1) for mark, armies in now]
            else:
                at, mark, armies = map(int, change.split("."))
                now[at] = mark, armies
    return [(mark, armies) for mark, armies in now]


def shown(page: Json) -> list[tuple[str | None, int]]:
    """Return whose each hex on a page's board is, and its armies."""
    return [(one["name"], one["armies"]) for one in page["board"]["hexes"]]


def named(page: Json, frame: list[tuple[int, int]]) -> list[tuple[str | None, int]]:
    return [(page["board"]["marks"][mark]["name"], armies) for mark, armies in frame]


def pages(one: Json) -> tuple[Json, list[Json]]:
    """Return the facts of the match's page and of all turns' pages, as JSON keeps them."""
    chapters = [chapter(one, turn["number"]) for turn in one["turns"]]
    return json.loads(json.dumps(course(one))), json.loads(json.dumps(chapters))


def rendered(part: str, one: Json, facts: Json, number: int | None = None) -> str:
    """Render one of the game's parts as the site does."""
    turn = None if number is None else one["turns"][number]
    context = {
        "record": one,
        "page": facts,
        "turn": turn,
        "seats": one["seats"],
        "colours": dict.fromkeys(one["seats"], "#0072B2"),
        "number": number,
    }
    if turn is None:
        context["last"] = one["turn"]
    return render(environment(None, "hexem", True), f"hexem/{part}.html", context)


# Ann takes A2 with 4 against 1 and loses 4 at A3; Bob brings 2 to A4, and Cora attacks in vain.
WAR = "A1=Ann4 A2=Bob1 A3=Bob2 A4=Bob3 B1=-9 B3=Cora1 B4=Cora1"
SHEETS = {
    "Ann": "Hello,\nMUSTER A2\nMUSTER A3 Z9 A1\n",
    "Bob": "MUSTER A4",
    "Cora": "\nmuster B3; muster A4",
}


@pytest.fixture
def war() -> Json:
    return record(position(WAR), SHEETS)


def test_rule_4_each_line_says_what_its_musters_did(war: Json) -> None:
    assert chapter(war, 1)["became"] == {
        "Bob": {1: "brought 2 to A4, 5 in all"},
        "Cora": {
            2: "brought 1 to B3, 2 in all; lost 2 at A4 against 5 of Bob",
        },
        "Ann": {
            2: "took A2 from Bob with 4 against 1",
            3: "took A3 from Bob with 4 against none; no effect: no armies stood next to A1",
        },
    }


def test_rule_3_and_4_the_steps_are_the_musters_in_the_order_played(war: Json) -> None:
    page = chapter(war, 1)
    told = [(s["facts"]["seat"], s["facts"]["hex"], s["set"]) for s in page["steps"][:-1]]
    assert told == [
        ("Bob", "A4", "2.1.0 3.1.5"),
        ("Cora", "B3", "5.2.2 6.2.0"),
        ("Cora", "A4", "5.2.0"),
        ("Ann", "A2", "0.0.0 1.0.4"),
        ("Ann", "A3", "1.0.0 2.0.4"),
        ("Ann", "A1", ""),
    ]
    assert page["steps"][0] | {"facts": 0} == {
        "kind": "muster", "facts": 0, "set": "2.1.0 3.1.5", "then": [], "at": 3, "from": [2],
    }  # fmt: skip
    assert page["steps"][-1]["kind"] == "growth" and page["steps"][-1]["set"] == "+"
    assert page["changed"] == [1, 2]


def test_who_lost_what_to_whom_is_counted_both_ways(war: Json) -> None:
    losses = chapter(war, 1)["losses"]
    cells = {
        (row["by"], of): (cell["hexes"], cell["armies"])
        for row in losses["rows"]
        for of, cell in zip(losses["names"], row["cells"], strict=True)
        if cell["hexes"] or cell["armies"]
    }
    assert cells == {("Ann", "Bob"): (2, 1), ("Bob", "Cora"): (0, 2)}
    assert losses["totals"][1] == {"hexes": 2, "armies": 1}
    assert losses == course(war)["losses"]


def test_a_front_is_as_long_as_the_sides_that_two_seats_share(war: Json) -> None:
    # A1-A2 | A3-B3, A4-B3, A4-B4 before; afterwards Ann has A3, and Bob only A4.
    rows = {(row["one"], row["other"]): row["values"] for row in course(war)["fronts"]}
    assert rows == {
        ("Ann", "Bob"): [1, 1],
        ("Bob", "Cora"): [3, 2],
        ("Ann", "Cora"): [0, 1],
    }
    page = course(war)
    assert page["board"]["fronts"].count("M") == 4
    assert page["board"]["edges"].count("M") == 2


def test_rule_1_and_2_each_bid_says_who_got_the_country_and_for_what() -> None:
    board = "A1=-3/x A2=-3/x B1=-4/y B2=-4/y C1=-2/z C2=-2/z"
    bids = {
        "Ann": "BID x 1\nBID x 2\nBID y 3\nBID z 9",
        "Bob": "BID y 4\nBID x 1",
        "Cora": "BID y 2\nI bid farewell",
    }
    one = record(position(board, "countries", 0), bids)
    assert chapter(one, 1)["became"] == {
        # The fourth is refused, as the record's problems say.
        "Ann": {1: "replaced by line 2", 2: "got x for 2", 3: "y went to Bob for 4"},
        "Bob": {1: "got y for 4", 2: "not needed: got y before"},
        "Cora": {1: "y went to Bob for 4"},
    }
    assert [line for line, _ in one["turns"][1]["problems"]["Ann"]] == [4]
    assert [step["facts"]["country"] for step in chapter(one, 1)["steps"]] == ["y", "x", "z"]


@pytest.mark.parametrize(
    ("bob", "became"),
    [("BID y 2", "got x for 2"), ("BID x 2\nBID y 2\nBID z 2", "got x for 2, by dice")],
)
def test_rule_1_a_bid_won_by_dice_says_so_where_bids_competed(bob: str, became: str) -> None:
    board = "A1=-9/x A2=-9/y A3=-9/z"
    bids = {"Ann": "BID x 2", "Bob": bob}
    for seed in map(str, range(20)):
        one = record(position(board, "countries", 0, ("Ann", "Bob")), bids, seed=seed)
        first = next(
            event["facts"] for event in one["turns"][1]["events"] if event["kind"] == "country"
        )
        if first["seat"] == "Ann":
            break
    assert first["dice"]
    assert chapter(one, 1)["became"]["Ann"] == {1: became}


def test_rule_1_charts_begin_when_the_countries_are_given_out() -> None:
    board = "A1=-3/x A2=-3/x B1=-4/y B2=-4/y C1=-2/z C2=-2/z"
    bidding = record(position(board, "countries", 0))
    assert course(bidding)["charts"] == []
    hexes, armies = course(record(position(board, "countries", 0), {"Ann": "BID y 1"}))["charts"]
    assert (hexes["title"], hexes["seats"]["Ann"]) == ("Hexes", [None, 2])
    assert (armies["title"], armies["seats"]["Ann"]) == ("Armies", [None, 7])
    # Whoever has lost all has none, and that is a number.
    lost = record(position("A1=Ann4 A2=Bob1"), {"Ann": "MUSTER A2"})
    assert course(lost)["charts"][0]["seats"]["Bob"] == [1, 0]


def test_rule_1_a_country_nobody_has_yet_is_not_in_a_seats_colour() -> None:
    board = "A1=-3/x A2=-3/x B1=-4/y B2=-4/y C1=-2/z C2=-2/z"
    one = record(position(board, "countries", 0), {"Ann": "BID y 1"})
    for number in (0, 1):
        marks = chapter(one, number)["legend"]
        colours = [mark["colour"] for mark in marks]
        assert [mark["name"] for mark in marks] == ["Ann", "Bob", "Cora", "x", "y", "z", None]
        assert len(set(colours)) == len(marks)


def test_a_turn_that_the_game_master_ended_before_it_was_run_has_no_steps() -> None:
    one = record(position(WAR), SHEETS, gm="END")
    page = chapter(one, 1)
    assert page["steps"] == [] and page["changed"] == []
    said = "not carried out: the match was ended before"
    assert page["became"]["Bob"] == {1: said}
    # Refused beforehand is refused.
    assert page["became"]["Ann"] == {2: said}


def test_in_a_running_match_all_but_orders_is_told() -> None:
    whole = archived.record("hexem", 1, 5)
    public = published(whole)
    assert not public["whole"]
    assert [chapter(public, number)["became"] for number in range(6)] == [{}] * 6
    assert course(public) == course(whole)
    for number in range(6):
        assert {**chapter(whole, number), "became": {}} == chapter(public, number)


def test_a_match_that_has_not_begun_has_no_course(war: Json) -> None:
    assert course({**war, "turns": []}) == {}


def test_a_chapter_needs_nothing_of_later_turns() -> None:
    whole = archived.record("hexem", 1)
    for number in (0, 1, 4):
        assert chapter({**whole, "turns": whole["turns"][: number + 1]}, number) == chapter(
            whole, number
        )


def test_a_turn_of_very_many_musters_is_cut_and_still_ends_as_it_did() -> None:
    lines = "\n".join(["MUSTER A1 A2"] * MOST_STEPS)
    one = record(position("A1=Ann4 A2=Ann1 B1=Bob3"), {"Ann": lines, "Bob": "MUSTER A1"})
    page = chapter(one, 1)
    assert len(page["steps"]) == MOST_STEPS
    assert page["more"] == 2 * MOST_STEPS + 2 - MOST_STEPS
    end = after(page["start"], [step["set"] for step in page["steps"]])
    assert named(page, end) == shown(page)
    assert f"{page['more']} more musters" in rendered("chapter", one, page, 1)


def check(one: Json) -> None:
    """Hold what the pages of a whole record say against its states."""
    turns = one["turns"]
    whole, chapters = pages(one)
    states = [turn["state"]["hexes"] for turn in turns]
    for at, hexes in enumerate(states):
        for title, count in (("Hexes", 1), ("Armies", 0)):
            chart = next(each for each in whole["charts"] if each["title"] == title)
            for seat, values in chart["seats"].items():
                own = [hex_ for hex_ in hexes.values() if hex_["owner"] == seat]
                number = sum(count or hex_["armies"] for hex_ in own)
                are_given = any(hex_["owner"] for hex_ in hexes.values())
                assert values[at] == (number if are_given else None)
        if turns[at]["phase"] == "muster" or turns[at]["state"]["phase"] == "muster":
            seen = [(hex_["owner"], hex_["armies"]) for hex_ in hexes.values()]
            assert shown(chapters[at]) == seen
    frames = [step["set"] for step in whole["steps"]]
    for at, page in enumerate(chapters):
        end = after(page["start"], [step["set"] for step in page["steps"]])
        assert named(page, end) == shown(page)
        assert named(whole, after(whole["start"], frames[:at])) == shown(page)
        if at:
            _check_balance(page, states[at - 1], states[at], turns[at])
            _check_lines(page, turns[at])
    total: Counter[Any] = Counter()
    for page in chapters:
        total.update(_cells(page["losses"]))
    assert {key: n for key, n in total.items() if n} == {
        key: n for key, n in _cells(whole["losses"]).items() if n
    }
    for at, turn in enumerate(turns):
        length = Counter({(r["one"], r["other"]): r["values"][at] for r in whole["fronts"]})
        order = replay.labels(turn["state"])
        owners = [turn["state"]["hexes"][label]["owner"] for label in order]
        assert sum(length.values()) == fronts(borders(order), owners).total()
    assert whole["board"]["fronts"].count("M") == sum(r["values"][-1] for r in whole["fronts"])


def _cells(losses: Json) -> Counter[Any]:
    return Counter(
        {
            (what, row["by"], of): cell[what]
            for row in losses["rows"]
            for of, cell in zip(losses["names"], row["cells"], strict=True)
            for what in ("hexes", "armies")
        }
    )


def _check_balance(page: Json, before: Json, now: Json, turn: Json) -> None:
    """Hexes gained less those lost, and growth less the dead, make the difference of a turn."""
    if not page["grown"]:
        return
    cells = _cells(page["losses"])
    for seat in {hex_["owner"] for hex_ in (*before.values(), *now.values())}:
        old, new = ([h for h in of.values() if h["owner"] == seat] for of in (before, now))
        won = sum(n for (what, by, _), n in cells.items() if (what, by) == ("hexes", seat))
        lost = sum(n for (what, _, of), n in cells.items() if (what, of) == ("hexes", seat))
        dead = sum(n for (what, _, of), n in cells.items() if (what, of) == ("armies", seat))
        assert len(new) - len(old) == won - lost
        strength = [sum(h["armies"] for h in of) for of in (old, new)]
        assert strength[1] - strength[0] == len(new) - dead
    assert turn["phase"] == "muster"


def _check_lines(page: Json, turn: Json) -> None:
    """Every order line has an outcome: what became of it, or the problem it was refused for."""
    for seat, text in turn["orders"].items():
        reading = hexem.GRAMMAR.read(text)
        lines = {str(order.line) for order in reading.orders}
        told = set(page["became"][seat])
        refused = {str(line) for line, _ in turn["problems"].get(seat, ())}
        assert lines <= told | refused
        assert told <= lines
        assert all(page["became"][seat].values())


@given(st.text("abcdefgh", min_size=1, max_size=8), st.integers(2, 5))
@settings(max_examples=15, deadline=None)
def test_whatever_is_ordered_pages_agree_with_the_states(seed: str, number: int) -> None:
    rng = Random(seed)
    state = begun(seed, number, 5)
    sheets: list[dict[str, str]] = []
    for run in range(1, 6):
        sheets.append({seat: wild(state, rng) for seat in state.seats})
        state = game.play(hexem, state, {**sheets[-1], None: ""}, seed, run).state
        if state.phase == "over":
            break
    check(record(begun(seed, number, 5), *sheets, seed=seed))


def test_a_match_of_scripted_players_agrees_with_its_states() -> None:
    check(archived.record("hexem", 1))


@pytest.mark.parametrize("names", [HOSTILE, tuple(reversed(HOSTILE))])
def test_hostile_names_stay_names_on_both_pages(names: tuple[str, ...]) -> None:
    read = game.read_options(hexem.OPTIONS, {"board": make_board(3, 5, 3, "s")}, "hexem")
    state = hexem.setup(names, read, game.chance("s", 0, "setup"))
    rng = Random("s")
    sheets: list[dict[str, str]] = []
    now = state
    for run in range(1, 6):
        sheets.append({seat: hexem.bot(now, seat, rng) for seat in names})
        now = game.play(hexem, now, {**sheets[-1], None: ""}, "s", run).state
    one = record(state, *sheets, seed="s")
    whole, chapters = pages(one)
    texts = [rendered("course", one, whole)]
    texts += [rendered("chapter", one, page, at) for at, page in enumerate(chapters)]
    for text in texts:
        assert "&lt;b&gt;Ann&lt;/b&gt;" in text
        assert not re.search(r"<b>Ann</b>|</script|<i>|&amp;(lt|gt|amp|#3)", text)


def test_a_board_of_a_hundred_turns_and_seven_players_is_small_on_the_page() -> None:
    state: Any = hexem.setup(
        [f"Player {at}" for at in range(7)],
        game.read_options(hexem.OPTIONS, {"board": make_board(7, 16, 3, "s")}, "hexem"),
        game.chance("s", 0, "setup"),
    )
    rng = Random("s")
    sheets: list[dict[str, str]] = []
    now = state
    for run in range(1, 101):
        if now.phase == "over":
            break
        sheets.append({seat: hexem.bot(now, seat, rng) for seat in now.seats})
        now = game.play(hexem, now, {**sheets[-1], None: ""}, "s", run).state
    one = record(state, *sheets, seed="s")
    assert len(one["turns"]) > 60 and len(state.labels) >= 100
    assert len(rendered("course", one, course(one)).encode()) < 150_000
    assert (
        max(len(rendered("chapter", one, chapter(one, at)).encode()) for at in (1, 20, 50)) < 80_000
    )
