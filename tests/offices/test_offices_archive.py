"""The auction in the archive: rows of offices, gold, and what became of each line of a plan."""

import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game
from pbem.archive import published
from pbem.game import Json
from pbem.games import offices
from pbem.games.offices.archive import chapter, course
from pbem.games.offices.position import State
from pbem.games.offices.rows import letters
from pbem.reports.templates import environment, render
from tests.archive import played as archived
from tests.offices.tables import random_plan, table

HOSTILE = ("<b>Ann</b>", "Bob & \"Sons'", "</script><i>")


def record(state: State, *texts: Mapping[str, str], **options: Any) -> Json:
    """Return the record of a match from a position on, a turn for each set of order texts."""
    read = game.read_options(offices.OPTIONS, options, "offices")
    turns = [_turn(0, "setup", state, [], {}, {})]
    for number, sheets in enumerate(texts, 1):
        every = {seat or None: text for seat, text in ({"": ""} | dict(sheets)).items()}
        phase = state.phase
        done = game.play(offices, state, every, "seed", number)
        state = done.state
        orders = {seat or "": text for seat, text in every.items() if text}
        turns.append(_turn(number, phase, state, done.events, orders, done.problems))
    over = state.phase == "over"
    return {
        "whole": True,
        "game": "offices",
        "match": "offices1",
        "seats": list(state.seats),
        "options": read,
        "settings": {"reveal": "end"},
        "status": "over" if over else "running",
        "turns": turns,
        "turn": len(texts),
        "history": [],
    }


def _turn(number: int, phase: str, state: State, events: Any, orders: Any, problems: Any) -> Json:
    one = {
        "number": number,
        "phase": phase,
        "state": offices.dump(state),
        "events": [game.event_json(event) for event in events],
        "orders": orders,
        "problems": {seat: [list(each) for each in of] for seat, of in problems.items() if seat},
        "missing": [],
    }
    found: Json = json.loads(json.dumps(one))
    return found


def rendered(part: str, one: Json, facts: Json, number: int | None = None) -> str:
    """Render one of the game's parts as the site does."""
    context = {
        "record": one,
        "page": facts,
        "turn": None if number is None else one["turns"][number],
        "seats": one["seats"],
        "colours": dict.fromkeys(one["seats"], "#0072B2"),
        "number": number,
    }
    if number is None:
        context["last"] = one["turn"]
    return render(environment(None, "offices", True), f"offices/{part}.html", context)


def drawn(row: list[Json]) -> str:
    """Say what a row of offices shows: holders' letters, `-` for free, and the gold there."""
    return " ".join(f"{one['letter'] or '-'}{one['gold'] or ''}" for one in row)


# The example of the rules page, with two lines more.
EXAMPLE = {
    "Green": "TAKE Comes",
    "Blue": "STAY\nDEFEND UP TO 2\nTAKE Consul",
    "Red": "TAKE Magister UP TO 1\nTAKE Praefectus Pretorio UP TO 3\nGOOD red\n\nGOOD blue",
    "Yellow": "Take that!\nTAKE Magister\nSTAY",
}


@pytest.fixture
def example() -> Json:
    return record(table("Green Blue Red Yellow -"), EXAMPLE)


def test_rule_9_each_line_of_the_example_says_what_became_of_it(example: Json) -> None:
    magister = "Magister Officiorum"
    assert chapter(example, 1)["became"] == {
        "Green": {1: "took Comes Thesaurorum from Red for 1"},
        "Blue": {
            1: "kept Praefectus Pretorio; then passed over: there was no office to keep",
            2: "gave Praefectus Pretorio up at 3: its limit",
            3: "took Consul, which was free, for 2",
        },
        "Red": {
            1: f"took {magister}, free of charge; then passed over: {magister} was held by Yellow "
            "and would have taken 2, above the limit of 1",
            2: "took Praefectus Pretorio from Blue for 3",
            3: "replaced by line 5",
            5: "got one blue good",
        },
        "Yellow": {
            2: f"took {magister} from Red for 1",
            3: "never reached: another line was done",
        },
    }


def test_the_example_s_rows_show_each_move_that_changed_them(example: Json) -> None:
    page = chapter(example, 1)
    assert drawn(page["begun"]) == "G B R Y -"
    moves = [move for group in page["turns"] for move in group["moves"]]
    assert [(m["kind"], m["seat"], drawn(m["row"])) for m in moves if m["row"]] == [
        ("conquers", "Green", "- B G1 Y -"),
        ("takes", "Red", "R B G1 Y -"),
        ("conquers", "Yellow", "Y1 B G1 - -"),
        ("conquers", "Red", "Y1 R3 G1 - -"),
        ("takes", "Blue", "Y1 R3 G1 - B2"),
    ]
    assert drawn(page["offices"]) == "Y R G - B"
    assert [one["new"] for one in moves[2]["row"]] == [True, False, True, False, False]
    assert page["rules"] == ["1", "2", "3", "4", "5", "6", "8", "9", "10"]
    said = rendered("chapter", example, page, 1)
    assert "1 Magister Officiorum: Yellow, 1 gold there" in said
    assert '<code class="key">TAKE Comes Thesaurorum</code>' in said
    assert said.count('id="rule-') == len(page["rules"])


def test_rule_8_gold_and_goods_of_the_example(example: Json) -> None:
    rows = {row["seat"]: row for row in chapter(example, 1)["purses"]}
    figures = {
        seat: [row[key] for key in ("before", "paid", "treasury", "after", "goods")]
        for seat, row in rows.items()
    }
    assert figures == {
        "Blue": [10, 2, 0, 8, []],
        "Green": [10, 1, 4, 13, []],
        "Red": [10, 3, 0, 7, ["1 blue"]],
        "Yellow": [10, 1, 0, 9, []],
    }


def test_the_course_of_the_example(example: Json) -> None:
    page = course(example)
    assert [each["label"] for each in page["grid"]["columns"]] == ["Start", "1"]
    assert [row["cells"] for row in page["grid"]["rows"]] == [
        ["Green", "Yellow"], ["Blue", "Red"], ["Red", "Green"], ["Yellow", None], [None, "Blue"],
    ]  # fmt: skip
    [only] = page["rounds"]
    assert only["discarded"] == 7 and only["order"] == ["Yellow", "Red", "Green", "Blue"]
    assert only["paid"] == {"Blue": 2, "Green": 1, "Red": 3, "Yellow": 1}
    assert only["goods"] == [{"rule": "8", "seat": "Red", "colour": "blue"}]
    assert [chart["title"] for chart in page["charts"]] == ["Gold", "Gold paid for offices, in all"]
    assert page["charts"][0]["seats"]["Green"] == [10, 13]
    assert page["bought"]["totals"] == [1, 3, 1, 2]


@pytest.mark.parametrize(
    ("plan", "against", "said"),
    [
        # Rule 4: the holder's last raise stands, and the challenger's limit is reached.
        ("TAKE 2 UP TO 3", "DEFEND UP TO 9", ["lost Praefectus Pretorio at 4: its limit"]),
        ("TAKE 2", "DEFEND UP TO 9", ["lost Praefectus Pretorio at 2: one offer, no raise"]),
        ("TAKE 2 UP TO 99", "DEFEND UP TO 99", ["lost Praefectus Pretorio at 6: no more gold"]),
        # Rule 3.
        (
            "TAKE Consul UP TO 1\nSTAY\nTAKE 4",
            "",
            [
                "passed over: Consul was free and would have taken 2, above the limit of 1",
                "kept Magister Officiorum",
                "never reached: another line was done",
            ],
        ),
    ],
)
def test_rule_4_a_wish_says_how_far_it_went(plan: str, against: str, said: list[str]) -> None:
    one = record(table("Ann Bob - - -", gold={"Ann": 5, "Bob": 6}), {"Ann": plan, "Bob": against})
    told = list(chapter(one, 1)["became"]["Ann"].values())
    assert [line.partition("; then")[0] for line in told] == said


def test_rule_9_a_line_that_names_the_office_goes_before_the_general_one() -> None:
    plans = {"Ann": "TAKE 2 UP TO 4", "Bob": "DEFEND UP TO 9\nDEFEND 2 UP TO 2\nDEFEND 5 UP TO 1"}
    told = chapter(record(table("Ann Bob - - -"), plans), 1)["became"]["Bob"]
    assert told == {
        1: "not needed: no challenge came to it",
        2: "gave Praefectus Pretorio up at 3: its limit",
        3: "not needed: no challenge came to it",
    }


def test_rule_9_a_defence_that_holds_says_against_whom() -> None:
    plans = {"Ann": "TAKE 2 UP TO 4", "Bob": "DEFEND UP TO 6\nGOOD red"}
    told = chapter(record(table("Ann Bob - - -"), plans), 1)["became"]["Bob"]
    assert told == {1: "kept Praefectus Pretorio against Ann for 4", 2: "got one red good"}


def test_rule_9_of_two_lines_alike_without_a_limit_the_first_is_used_up_first() -> None:
    plans = {"Ann": "TAKE 2\nTAKE 2", "Bob": "DEFEND UP TO 2"}
    told = chapter(record(table("Ann Bob - - -"), plans), 1)["became"]["Ann"]
    assert told == {
        1: "lost Praefectus Pretorio at 2: one offer, no raise",
        2: "took Praefectus Pretorio from Bob for 3",
    }


def test_rule_11_in_live_play_lines_wait_and_pass_is_an_answer() -> None:
    state = table("Ann Bob - - -", decide="live", rounds=2)
    one = record(
        state,
        {"Ann": "TAKE 2 UP TO 3\nGOOD red", "Bob": "STAY"},
        {"Bob": "PASS"},
        decide="live",
        rounds=2,
    )
    assert chapter(one, 1)["became"] == {
        "Ann": {1: "its challenge is under way", 2: "not reached so far"},
        "Bob": {1: "not reached so far"},
    }
    assert chapter(one, 2)["became"]["Bob"] == {1: "passed: Praefectus Pretorio was given up at 1"}
    assert chapter(one, 2)["turns"][0]["how"] == "challenge"
    # In the midst of a round the grid shows where it stands.
    assert course({**one, "turns": one["turns"][:2]})["grid"]["columns"][-1]["label"] == "Start"


def test_gold_lines_say_what_a_seat_has_then_and_why_one_was_refused() -> None:
    state = table("Ann Bob - - -", rounds=2)
    one = record(state, {}, {"": "GOLD Ann +5\nGOLD Ann -99\nGOLD Bob -2\nGOLD Bob -1"}, rounds=2)
    told = chapter(one, 2)["became"][""]
    assert {line: told[line] for line in (1, 3, 4)} == {
        1: "Ann has 15 gold", 3: "Bob has 8 gold", 4: "Bob has 7 gold",
    }  # fmt: skip
    assert told[2].startswith("refused: Ann has 15 gold")
    assert [row["income"] for row in chapter(one, 2)["purses"]] == [5, -3]


def test_a_round_that_the_game_master_ended_carried_no_line_out() -> None:
    one = record(table("Ann Bob - - -"), {"Ann": "TAKE 2\nGOOD mauve", "": "END"})
    said = "not carried out: the match was ended before"
    assert chapter(one, 1)["became"] == {"Ann": {1: said}, "": {}}


def test_while_gold_is_secret_no_page_has_a_purse() -> None:
    whole = archived.record("offices", 2, 2)
    public = published(whole)
    assert not public["whole"]
    page = course(public)
    assert [chart["title"] for chart in page["charts"]] == ["Gold paid for offices, in all"]
    assert not page["open"]
    assert {gold for row in page["rounds"] for gold in row["gold"].values()} <= {None}
    for number in range(3):
        facts = chapter(public, number)
        assert facts["became"] == {}
        assert {row[key] for row in facts["purses"] for key in ("before", "after")} == {None}
        assert all(move["why"] is None for group in facts["turns"] for move in group["moves"])
        text = rendered("chapter", public, facts, number)
        assert "in hand is secret" in text and "<code" not in text
    assert course(whole)["charts"][0]["title"] == "Gold"


def test_charts_go_from_one_rounds_end_to_the_next() -> None:
    whole = archived.record("offices", 1)
    for chart in course(whole)["charts"]:
        assert (chart["along"], chart["places"]) == ("round", ["start", "1", "2", "3"])
        assert chart["turns"] == [0, 1, 3, 5]
    # After the second round's income the third is under way.
    cut = {**whole, "turns": whole["turns"][:5]}
    for chart in course(cut)["charts"]:
        assert (chart["places"], chart["turns"]) == (["start", "1", "2", "3 so far"], [0, 1, 3, 4])
        assert all(len(values) == 4 for values in chart["seats"].values())
    ended = record(table("Ann Bob - - -"), {"Ann": "TAKE 2", "": "END"})
    # A beginning alone is no course.
    assert course(ended)["charts"] == []


@pytest.mark.parametrize(
    ("way", "status", "reveal", "said"),
    [
        (2, "running", "end", "what it has is secret until the match is over"),
        (2, "running", "never", "what it has is secret."),
        (2, "over", "never", "what it had is told of the end alone"),
        (2, "over", "end", "and what it had after the round"),
        (1, "running", "end", "and what it had after the round"),
    ],
)
def test_of_secret_gold_it_is_said_how_long_it_is(
    way: int, status: str, reveal: str, said: str
) -> None:
    whole = archived.record("offices", way, 3 if status == "running" else None)
    assert whole["status"] == status
    shown = published({**whole, "settings": {**whole["settings"], "reveal": reveal}})
    text = " ".join(rendered("course", shown, course(shown)).split())
    assert said in text
    has_gold = "Gold" in {chart["title"] for chart in course(shown)["charts"]}
    assert has_gold == said.endswith("after the round")
    part = rendered("chapter", shown, chapter(shown, 1), 1)
    until = "in hand is secret until the match is over."
    assert (until in part) == (said.endswith("is over"))


def test_a_match_that_has_not_begun_has_no_course(example: Json) -> None:
    assert course({**example, "turns": []}) == {}


def test_a_chapter_needs_nothing_of_later_turns() -> None:
    whole = archived.record("offices", 2)
    for number in range(len(whole["turns"])):
        cut = {**whole, "turns": whole["turns"][: number + 1]}
        assert chapter(cut, number) == chapter(whole, number)


def test_of_very_many_offices_those_that_matter_are_shown() -> None:
    many = [f"Office {letter}" for letter in "ABCDEFGHIJKLMNOP"]
    options = {"offices": many, "start": {"Ann": 1, "Bob": 12}}
    read = game.read_options(offices.OPTIONS, options, "offices")
    state = offices.setup(("Ann", "Bob"), read, game.chance("s", 0, "setup"))
    one = record(state, {"Ann": "TAKE 9"}, **options)
    assert [each["number"] for each in chapter(one, 1)["offices"]] == [1, 9, 12]
    assert [row["number"] for row in course(one)["grid"]["rows"]] == [1, 9, 12]


def test_letters_are_each_seat_s_own_and_from_its_name_where_they_can_be() -> None:
    assert letters(("Ann", "Anna", "Аня", "An", "?")) == {
        "Ann": "A", "Anna": "N", "Аня": "А", "An": "4", "?": "5",
    }  # fmt: skip


def check(one: Json) -> None:
    """Hold what the pages of a whole record say against its states."""
    turns = one["turns"]
    page = json.loads(json.dumps(course(one)))
    charts = {chart["title"]: chart["seats"] for chart in page["charts"]}
    [shown] = {tuple(chart["turns"]) for chart in page["charts"]}
    assert shown[0] == 0 and {row["number"] for row in page["rounds"]} <= set(shown)
    spent = 0
    for at, turn in enumerate(turns):
        facts = json.loads(json.dumps(chapter(one, at)))
        state = turn["state"]
        for seat, gold in state["gold"].items():
            if at in shown:
                assert charts["Gold"][seat][shown.index(at)] == gold
        rows = [facts["begun"]]
        rows += [m["row"] for group in facts["turns"] for m in group["moves"] if m["row"]]
        ends = [one["holder"] for one in rows[-1]]
        assert ends == [office["holder"] for office in state["offices"]]
        assert [(o["holder"], o["gold"]) for o in facts["offices"]] == [
            (o["holder"], o["gold"]) for o in state["offices"]
        ]
        for row in facts["purses"]:
            gained = row["treasury"] + row["income"] - row["paid"]
            assert row["before"] + gained == row["after"]
            spent += row["paid"]
        _check_lines(facts, turn)
    assert sum(page["bought"]["totals"]) == spent
    assert spent == sum(values[-1] for values in charts["Gold paid for offices, in all"].values())
    for row in page["rounds"]:
        state = turns[row["number"]]["state"]
        assert row["discarded"] == state["discarded"] == sum(row["paid"].values())
        assert row["gold"] == state["gold"]


def _check_lines(facts: Json, turn: Json) -> None:
    """Every order line has an outcome: what became of it, or the problem it was refused for."""
    for seat, text in turn["orders"].items():
        reading = offices.GRAMMAR.read(text, gm=not seat)
        lines = {str(order.line) for order in reading.orders}
        told = set(facts["became"][seat])
        refused = {str(line) for line, _ in turn["problems"].get(seat, ())}
        assert lines <= told | refused
        assert all(facts["became"][seat].values())
        assert seat == "" or told == lines - refused


@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_whatever_is_planned_pages_agree_with_the_states(seed: int, seats: int, live: bool) -> None:
    rng = Random(seed)
    who = [f"S{at}" for at in range(seats)] + ["-"] * (5 - seats)
    rng.shuffle(who)
    options = {"rounds": 2, "decide": "live" if live else "plans"}
    state = start = table(" ".join(who), rng.randint(0, 9), **options)
    sheets: list[dict[str, str]] = []
    while state.phase != "over" and len(sheets) < 12:
        sheet = {seat: random_plan(rng) for seat in offices.waiting(state)}
        if state.asked and rng.random() < 0.3:
            sheet[state.asked] = "PASS"
        if state.phase == "income":
            sheet[""] = "\n".join(f"GOLD {seat} {rng.randint(-3, 5):+}" for seat in state.seats)
        sheets.append(sheet)
        every = {seat or None: text for seat, text in ({"": ""} | sheet).items()}
        state = game.play(offices, state, every, "seed", len(sheets)).state
    check(record(start, *sheets, **options))


@pytest.mark.parametrize("way", [0, 1, 2])
def test_matches_of_scripted_players_agree_with_their_states(way: int) -> None:
    check(archived.record("offices", way))


def test_hostile_names_stay_names_on_both_pages() -> None:
    read = game.read_options(offices.OPTIONS, {"rounds": 2}, "offices")
    state = offices.setup(HOSTILE, read, game.chance("s", 0, "setup"))
    plans = dict.fromkeys(HOSTILE, "TAKE 1 UP TO 4\nTAKE 2 UP TO 3\nDEFEND UP TO 2")
    one = record(state, plans, {}, plans, rounds=2)
    texts = [rendered("course", one, course(one))]
    texts += [rendered("chapter", one, chapter(one, at), at) for at in range(4)]
    for text in texts:
        assert "&lt;b&gt;Ann&lt;/b&gt;" in text
        assert not re.search(r"<b>Ann</b>|</script|<i>|&amp;(lt|gt|amp|#3)", text)


def test_fifty_rounds_of_five_seats_are_small_on_the_page() -> None:
    names = [f"Player {at}" for at in range(5)]
    read = game.read_options(offices.OPTIONS, {"rounds": 51}, "offices")
    state = start = offices.setup(names, read, game.chance("s", 0, "setup"))
    rng = Random("s")
    sheets: list[dict[str, str]] = []
    while state.phase != "over":
        sheet = {seat: offices.bot(state, seat, rng) for seat in offices.waiting(state)}
        sheets.append({**sheet, "": offices.gm_bot(state, rng)})
        every = {seat or None: text for seat, text in sheets[-1].items()}
        state = game.play(offices, state, every, "seed", len(sheets)).state
    one = record(start, *sheets, rounds=51)
    assert len(one["turns"]) > 100
    assert len(rendered("course", one, course(one)).encode()) < 120_000
    for at in (1, 51, 101):
        assert len(rendered("chapter", one, chapter(one, at), at).encode()) < 80_000


def test_an_auction_that_the_game_master_ended_is_reported() -> None:
    state = game.ended(table("Ann Bob - - -"))
    page = offices.page(state, "Ann", [game.Event("ended", {"by": "gm"})])
    assert page["turns"] == []
