"""What players read: complete, 72 columns wide, and without an order in it that could come back."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem import reports
from pbem.game import Event, Played
from pbem.games import offices
from pbem.games.offices.position import State
from pbem.reports.drawing import picture
from pbem.reports.templates import columns, environment, render
from tests.offices.tables import play, random_plan, table

EXAMPLE = {
    "Green": "TAKE Comes",
    "Blue": "STAY/DEFEND UP TO 2/TAKE Consul",
    "Red": "TAKE Magister UP TO 1/TAKE Praefectus Pretorio UP TO 3",
    "Yellow": "TAKE Magister",
}
TEXTS = ("report.txt", "form.txt", "forecast.txt")


def facts(state: State, seat: str | None, events: tuple[Event, ...] = ()) -> dict[str, Any]:
    """Return what the templates are given."""
    seen = [event for event in events if event.seen_by is None or seat in event.seen_by]
    return {
        "match": "offices1",
        "title": offices.TITLE,
        "game": "offices",
        "person": "Ann",
        "seat": seat,
        "seats": list(state.seats),
        "options": {},
        "phase": state.phase,
        "view": offices.view(state, seat),
        "page": offices.page(state, seat, seen),
        "events": seen,
        "turn": 1,
        "deadline": None,
        "due": seat in offices.waiting(state),
    }


def written(name: str, given: Mapping[str, Any]) -> str:
    """Render one of the game's templates."""
    markup = name.endswith((".html", ".svg"))
    return render(environment(None, "offices", markup), f"offices/{name}", given)


def told(played: Played, seat: str | None, name: str = "report.txt") -> str:
    return written(name, facts(played.state, seat, tuple(played.events)))


@pytest.fixture(scope="module")
def example() -> Played:
    return play(table("Green Blue Red Yellow -"), **EXAMPLE)


def test_the_example_is_told_in_plain_words(example: Played) -> None:
    text = " ".join(told(example, "Blue").split())
    for sentence in (
        "Green offers 1 for Comes Thesaurorum, held by Red.",
        "Red takes Magister Officiorum, just left by the conqueror, free of charge.",
        "Blue raises to 2, Red to 3.",
        "(Your limit: DEFEND UP TO 2)",
        "Red pays 3 and moves to Praefectus Pretorio.",
        "Blue pays 2 for Consul, which was free.",
        "The 7 gold lying on the offices go out of the game.",
        "Red gets one green good as Praefectus Pretorio.",
        "Green gets 4 gold as Comes Thesaurorum.",
        "Order of play: Yellow (1), Red (2), Green (3), Blue (5).",
        "Blue (you): 8 gold",
    ):
        assert sentence in text


def test_reasons_are_given_for_ones_own_moves_only(example: Played) -> None:
    assert "Your" not in told(example, None).replace("Your plan", "")
    assert "Your line: TAKE Comes Thesaurorum" in " ".join(told(example, "Green").split())


def test_the_headline_tells_the_order_of_play(example: Played) -> None:
    assert told(example, "Red", "headline.txt").strip() == (
        "round 1: Yellow 1, Red 2, Green 3, Blue 5"
    )


def test_who_is_asked_gets_a_letter_that_one_line_answers() -> None:
    played = play(table(decide="live"), Irene="TAKE 2 UP TO 9")
    mine = told(played, "Basil")
    assert "Irene offers 1 for your office Praefectus Pretorio." in mine
    assert "PASS" in mine
    assert "DEFEND UP TO 2" in mine
    assert told(played, "Basil", "headline.txt").strip() == (
        "you are asked: raise the 1 for Praefectus Pretorio?"
    )
    others = " ".join(told(played, "Irene").split())
    assert "Basil alone is asked now, and nobody else can send anything" in others
    assert told(played, "Irene", "form.txt").strip() == ""


def test_a_copy_asks_nobody_and_says_nothing_of_what_is_to_be_sent() -> None:
    asked = play(table(decide="live"), Irene="TAKE 2 UP TO 9", Basil="GOOD red")
    income = play(table(rounds=2)).state
    for seat in ("Irene", "Basil"):
        for state in (asked.state, income, table()):
            given = facts(state, seat) | {"due": False, "copy": True}
            for name in ("headline.txt", "report.txt", "report.html"):
                said = written(name, given)
                for now in ("asked", "What you may do", "nothing to send", "PASS"):
                    assert now not in said, (seat, name)
    given = facts(asked.state, "Basil") | {"due": False, "copy": True}
    assert "Your plan, as far as it stood" in written("report.txt", given)
    assert "Your plan, as far as it stood" in written("report.html", given)


def test_reasons_and_plan_are_not_called_his_who_has_the_seat_since() -> None:
    played = play(table(decide="live"), Irene="TAKE 2 UP TO 9/STAY", Basil="GOOD red")
    for seat in ("Irene", "Basil"):
        given = facts(played.state, seat, tuple(played.events))
        for name in ("report.txt", "report.html"):
            assert "Your " in written(name, given)
            said = written(name, given | {"inherited": True})
            assert "Your " not in said
            assert "The plan of your seat, as far as it stands" in said


def test_every_answer_the_letter_offers_is_lawful_and_settles_the_question() -> None:
    played = play(
        table("Irene Basil Theo - -", decide="live"), Irene="TAKE 2", Basil="DEFEND UP TO 0"
    )
    answers = offices.page(played.state, "Basil", [])["asked"]["answers"]
    assert [answer["line"] for answer in answers] == [
        "TAKE Magister Officiorum",
        "TAKE Praefectus Pretorio UP TO 2",
        "TAKE Comes Thesaurorum UP TO 1",
        "TAKE Praefectus Urbi",
        "TAKE Consul",
    ]
    for answer in answers:
        after = play(played.state, Basil=answer["line"])
        assert not any(after.problems.values())
        assert [e for e in after.events if e.kind in ("takes", "offers")]


def test_gold_that_is_secret_is_called_so() -> None:
    text = written("report.txt", facts(table(gold_open=False), "Irene"))
    assert "Irene (you): 10 gold" in text
    assert "Basil: gold secret" in text


def test_markup_is_escaped() -> None:
    state = table("<b>Ann&Co Basil - - -", decide="live")
    played = games.play(offices, state, {"<b>Ann&Co": "TAKE 2", "Basil": "STAY"}, "x", 1)
    page = written("report.html", facts(played.state, "Basil", tuple(played.events)))
    assert "<b>Ann" not in page
    assert "&lt;b&gt;Ann&amp;Co offers 1 for" in page
    assert "&amp;amp;" not in page


def test_the_rules_name_every_order_and_the_parity() -> None:
    text = written("rules.txt", {})
    for rule in offices.GRAMMAR.rules:
        assert rule.gm or f"  {rule.verb}" in text
    assert "If both of you stop at 3" in text
    assert [line for line in text.splitlines() if columns(line) > 72] == []
    assert offices.GRAMMAR.read(text).orders == ()


def test_a_whole_letter_is_made_of_it(example: Played) -> None:
    made = reports.words("report", facts(example.state, "Red", tuple(example.events)))
    assert "Order of play" in made.text
    assert len(made.pictures) == 1
    assert "held by Yellow" in made.pictures[0].alt
    assert len(picture(written("picture.svg", facts(example.state, "Red")))) > 5000


def test_seats_called_by_a_colour_are_drawn_in_it() -> None:
    page = offices.page(table("Green Blue Zoe - -"), None, [])
    colours = {row["seat"]: row["colour"] for row in page["seats"]}
    assert colours == {"Blue": "#0072B2", "Green": "#009E73", "Zoe": "#D55E00"}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["plans", "live"]), st.booleans())
def test_every_report_is_72_columns_wide_and_holds_no_order(
    seed: int, decide: str, gold_open: bool
) -> None:
    rng = Random(seed)
    seats = ["Irene", "Basil of Caesarea", "Theo", "Zoë", "Leo"][: rng.randint(2, 5)]
    options = {
        "decide": decide,
        "gold_open": gold_open,
        "rounds": 2,
        "offices": ["Keeper of the Emperor's very own Purple Ink and Golden Seals", *"ABCD"],
    }
    read = games.read_options(offices.OPTIONS, options, "offices")
    state = offices.setup(seats, read, rng)
    names = tuple(office.name for office in state.offices)
    for number in range(1, 60):
        texts: dict[str | None, str] = {seat: random_plan(rng, names) for seat in seats}
        texts[None] = offices.gm_bot(state, rng)
        played = games.play(offices, state, texts, "x", number)
        state = played.state
        for seat in (*seats, None):
            given = facts(state, seat, tuple(played.events))
            for name in TEXTS:
                text = written(name, given)
                assert [line for line in text.splitlines() if columns(line) > 72] == []
                assert offices.GRAMMAR.read(text).orders == ()
            assert written("report.html", given).count("<table") >= 2
        if state.phase == "over":
            break
    assert state.phase == "over"


def test_a_forecast_says_what_would_happen_if_nobody_else_moved() -> None:
    state = table("Irene Basil Theo - -")
    text = "TAKE Consul UP TO 1\nTAKE Praefectus Pretorio UP TO 4"
    orders, _ = offices.check(state, "Irene", offices.GRAMMAR.read(text).orders)
    events = offices.forecast(state, "Irene", orders)
    assert [event.kind for event in events] == ["offers", "conquers", "good"]
    text = written("forecast.txt", {**facts(state, "Irene"), "events": events})
    assert "Irene pays 1 and moves to Praefectus Pretorio" in text
    assert offices.forecast(play(state).state, "Irene", orders) == []
