"""What a reader is shown: the board in characters, and the words round it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from xml.etree import ElementTree

import pytest

from pbem import game
from pbem.game import Event
from pbem.games import hexem
from pbem.games.hexem import board
from pbem.games.hexem.drawing import drawn, letters
from pbem.games.hexem.state import NOBODY, State
from pbem.reports.templates import environment, render
from tests.hexem.conftest import after, played, position, rendered

NAMES = (
    "Ann",
    "Bob <b>",
    "Анна",
    "Dirk of the Long and Winding Name",
    "Elsa",
    "Finn",
    "Gwen",
    "Hu",
)
PARTS = ("headline.txt", "report.txt", "report.html", "form.txt", "picture.txt", "picture.svg")


def war(seats: int, turns: int = 7) -> list[tuple[State, Sequence[Event]]]:
    """Return a match of scripted players, phase by phase."""
    options = game.read_options(hexem.OPTIONS, {"turns": turns}, "hexem")
    state = hexem.setup(NAMES[:seats], options, game.chance("war", 0, "setup"))
    history: list[tuple[State, Sequence[Event]]] = [(state, ())]
    for run in range(1, turns + 2):
        texts: dict[str | None, str] = {
            seat: hexem.bot(state, seat, Random(f"{seat} {run}")) for seat in hexem.waiting(state)
        }
        done = game.play(hexem, state, texts, "war", run)
        state = done.state
        history.append((state, done.events))
    return history


def test_the_board_in_characters() -> None:
    state = position("A1=Ann3 A2=Bob12 A4=-7 B1=Ann1 B3=Bob10 C2=Cora4")
    assert drawn(state, {"A2", "C2"}) == (
        "  1   2   3   4\nA a3  b12*.   -7\nB   a1  .   b10\nC     c4*"
    )


def test_the_board_in_characters_while_countries_are_bid_for() -> None:
    state = position("A1=-3/x A2=-3/yole A3=-2", "countries", 0, ("Ann", "Bob"))
    assert drawn(state) == "  1   2   3\nA x3  y3  -2"


def test_rows_beyond_z_and_boards_beyond_72_columns() -> None:
    hexes = " ".join(f"{row}{column}=Ann5" for row in ("Z", "AA") for column in range(1, 40))
    text = drawn(position(hexes))
    assert max(map(len, text.splitlines())) <= 72
    strips = [[line[:2] for line in strip.splitlines()] for strip in text.split("\n\n")]
    assert strips == [["  ", "Z ", "AA"]] * 3
    assert text.count("a5") == 78


def test_a_packaged_board_fits_72_columns_with_stacks_of_hundreds() -> None:
    for name in board.PACKAGED:
        labels = board.read(board.packaged(name)).labels
        text = drawn(position(" ".join(f"{label}=Ann999" for label in labels)), labels)
        assert max(map(len, text.splitlines())) <= 72
        assert "\n\n" not in text


@pytest.mark.parametrize(
    ("names", "given"),
    [
        (("Ann", "Bob"), "ab"),
        (("Ann", "Anna", "Anne"), "ane"),
        (("Åsa", "Анна", "山"), "abc"),
        (("yole", "y"), "oy"),
    ],
)
def test_every_name_has_a_letter_of_its_own(names: tuple[str, ...], given: str) -> None:
    assert "".join(letters(names).values()) == given


def test_standings_count_what_a_turn_brought_and_cost() -> None:
    state = position("A1=Ann9 A2=Bob3 A3=Bob1 A4=Cora2")
    done = played(state, Ann="MUSTER A2", Cora="MUSTER A3")
    rows = hexem.page(done.state, "Bob", done.events)["standings"]
    assert [(r["seat"], r["hexes"], r["hexes_change"]) for r in rows] == [
        ("Ann", 2, 1),
        ("Bob", 1, -1),
        ("Cora", 1, 0),
    ]
    assert [(r["armies"], r["armies_change"]) for r in rows] == [(11, 2), (2, -2), (1, -1)]
    assert hexem.page(done.state, "Bob", done.events)["me"] == rows[1]
    assert hexem.page(done.state, None, done.events)["me"] is None


def test_a_hex_changed_hands_only_if_its_owner_at_the_end_differs() -> None:
    state = position("A1=Ann3 A2=Bob1 A3=Bob9 A9=Bob1")
    done = played(state, Ann="MUSTER A2", Bob="MUSTER A2 A2")
    assert [
        fact["result"] for fact in hexem.page(done.state, None, done.events)["moves"][1]["steps"]
    ]
    assert hexem.page(done.state, None, done.events)["changed"] == []
    assert hexem.page(*after("A1=Ann3 A2=Bob1 A9=Bob1", "MUSTER A2"))["changed"] == ["A2"]


def test_the_front_names_the_strongest_neighbour_and_what_falls() -> None:
    state = position("A1=Ann2 A2=Bob5 B1=Bob1 C9=Ann1 C10=-9 E1=Ann1")
    assert hexem.page(state, "Ann", ())["front"]["hexes"] == [
        {"hex": "A1", "armies": 2, "rival": "Bob", "strength": 6, "falls": True, "gather": 0}
    ]
    assert hexem.page(state, None, ())["front"]["hexes"] == []


def test_the_chances_are_what_one_muster_takes() -> None:
    state = position("A1=Ann6 A2=Bob2 B1=-3 A9=Ann6 A10=-2")
    assert [row["hex"] for row in hexem.page(state, "Ann", ())["chances"]["hexes"]] == ["A2", "A10"]


def test_a_long_way_among_own_hexes_is_told_in_one_sentence_step_by_step() -> None:
    hexes = " ".join(f"A{at}=Ann1" for at in range(1, 9))
    state, seat, events = after(f"{hexes} A9=Bob2", "MUSTER A2 A3 A4 A5 A6 A7 A8 A9")
    text = " ".join(rendered("report.txt", state, seat, events).split())
    assert (
        "- Musters 1 to 7 moved armies among own hexes: A2 (2 in, making 3), A3 (4 in, making 4), "
        "A4 (5 in, making 5), A5 (6 in, making 6), A6 (7 in, making 7), A7 (8 in, making 8), "
        "A8 (8 in, making 8)." in text
    )
    assert "8. A9 taken from Bob, as 8 armies from A8 beat 2." in text


def test_musters_that_moved_nothing_are_told_apart_from_those_that_moved() -> None:
    state, seat, events = after(
        "A1=Ann2 A2=Ann1 A5=-1 A6=-1 A9=Bob1", "MUSTER A1 A2 A1 A2 A6 A6 A6 A5"
    )
    text = " ".join(rendered("report.txt", state, seat, events).split())
    assert "- Musters 1 to 4 moved armies among own hexes: A1 (1 in, making 3), " in text
    assert (
        "- Musters 5 to 8 moved nothing, no armies of Ann stood next to A6, A6, A6 and A5." in text
    )


def test_three_musters_that_did_the_same_have_a_line_each() -> None:
    state, seat, events = after("A1=Ann2 A2=Ann1 A7=-1 A8=-1 A9=Bob1", "MUSTER A1 A2 A1 A8 A7 A7")
    text = rendered("report.txt", state, seat, events)
    assert "Musters 1" not in text
    assert "  1. A1: 1 army from A2 came in, making 3." in text
    assert "  6. A7: nothing moved, no armies of Ann stood next to it." in text


def test_all_that_a_match_in_earnest_has_is_told() -> None:
    hexes = " ".join(f"A{at}=Ann1" for at in range(1, 202))
    way = " ".join(f"A{at}" for at in range(2, 202))
    state, seat, events = after(f"{hexes} Z9=Bob1", f"MUSTER {way}")
    text = " ".join(rendered("report.txt", state, seat, events).split())
    assert "Musters 1 to 200 moved armies" in text
    assert text.count(" in, making ") == 200
    assert "A201 (201 in, making 201). Then every hex" in text


def test_an_endless_list_of_musters_is_cut_and_what_is_cut_is_counted() -> None:
    state, _, events = after("A1=Ann2 A2=Ann1 A4=Bob1 C1=Cora1", "MUSTER A4 A1 A2\n" * 300)
    (move,) = hexem.page(state, "Ann", events)["moves"]
    told = sum(len(step.get("musters", [step])) for step in move["steps"])
    beyond = sum(step.get("more", 0) for step in move["steps"])
    assert told == 500
    assert told + beyond + move["more"] == 900


def test_a_battle_after_a_thousand_idle_musters_is_told() -> None:
    state, seat, events = after(
        "A1=Ann9 A2=Bob1 C1=Cora1 C9=-1",
        "MUSTER C9 C9\n" * 750 + "MUSTER A2\n" + "MUSTER C9 C9\n" * 200,
    )
    (move,) = hexem.page(state, seat, events)["moves"]
    idle, battle, out = move["steps"]
    assert (idle["first"], idle["number"], len(idle["musters"]) + idle["more"]) == (1, 1500, 1500)
    assert (battle["number"], out["kind"], move["more"]) == (1501, "out", 400)
    text = rendered("report.txt", state, seat, events)
    assert "… and 400 more musters" in text
    assert len(text) < 8000
    assert "and 400 more musters" in rendered("report.html", state, seat, events)


def test_hexes_without_owner_are_called_neutral() -> None:
    state, seat, events = after("A1=Ann3 A2=-1 A3=Bob1 B1=Bob7", "MUSTER A2")
    text = rendered("report.txt", state, seat, events)
    assert "A2 taken from the neutrals, as 3 armies from A1 beat 1." in text
    assert "No musters: Bob." in text
    assert "! A1 (1) faces 8 of Bob, enough to take it." in text


@pytest.mark.parametrize(
    ("ann", "bob", "says"),
    [
        # Dice said only who was looked at first.
        ("BID x 2", "BID y 2", False),
        ("BID x 2", "BID x 2", True),
        # One seat's two equal bids.
        ("BID x 2\nBID y 2", "", True),
    ],
)
def test_rule_1_dice_are_told_only_of_bids_that_competed(ann: str, bob: str, says: bool) -> None:
    board = position("A1=-9/x A2=-9/y A3=-9/z", "countries", 0, ("Ann", "Bob", "Cora"))
    done = played(board, Ann=ann, Bob=bob)
    (first, *_) = (event.facts for event in done.events if event.kind == "country")
    assert first["dice"]
    for part in ("report.txt", "report.html"):
        words = " ".join(rendered(part, done.state, "Ann", done.events).split())
        assert ("for 2 armies, by dice among equal bids." in words) == says
        assert ("for 2 armies." in words) != says


@pytest.mark.parametrize(("armies", "held"), [(20, "20 neutral armies"), (1, "1 neutral army")])
def test_rule_4_neutral_armies_hold(armies: int, held: str) -> None:
    state, seat, events = after(f"A1=Ann2 A2=-{armies} A3=Bob1", "MUSTER A2")
    text = " ".join(rendered("report.txt", state, seat, events).split())
    assert f"A2 attacked in vain: 2 armies from A1 died, the {held} held." in text
    assert "nobody" not in text


def test_what_a_seat_has_won_and_lost_bears_its_number() -> None:
    state, _, events = after("A1=Ann9 A2=Bob1 A3=-3 A9=Cora1", "MUSTER A2 A3")
    html = rendered("report.html", state, None, events)
    marks = re.findall(r'<li class="([^"]*)">(.*?)</li>', html)
    assert [(mark, re.split(r"\W+", said)[:3]) for mark, said in marks] == [
        ("gain-0 loss-1", ["1", "A2", "taken"]),
        ("loss-1", ["Bob", "has", "lost"]),
        ("gain-0", ["2", "A3", "taken"]),
    ]
    assert re.findall(r'<tr class="([^"]*)"><td[^>]*>(\w+)', html) == [
        ("of-0", "Ann"),
        ("of-2", "Cora"),
        ("of-1", "Bob"),
    ]


def test_all_readers_share_what_is_told_of_the_turn() -> None:
    shared = {
        name: {
            rendered(name, state, seat, events)
            for state, events in war(3, 2)
            for seat in (*state.seats, None)
        }
        for name in ("happened.html", "standings.html", "drawing.html")
    }
    phases = len(war(3, 2))
    assert {name: len(found) for name, found in shared.items()} == dict.fromkeys(shared, phases)


def rules(name: str) -> dict[tuple[bool, str], dict[str, str]]:
    """Return the colours and weights of a sheet's rules, by whether they are for dark screens."""
    css = render(environment(None, "hexem", True), name, {"seats": NAMES, "seat": NAMES[2]})
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    light, _, dark = css.partition("@media (prefers-color-scheme: dark)")
    return {
        (is_dark, selector.strip()): {
            name: value.removesuffix(" !important")
            for name, value in re.findall(r"([\w-]+): ([^;]+);", body)
        }
        for is_dark, part in ((False, light), (True, dark))
        for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", part.lstrip(" {"))
        for selector in selectors.rpartition(">")[2].split(",")
    }


def test_the_reader_s_own_is_coloured_as_in_other_games() -> None:
    ours, all_games = rules("hexem/reader.html"), rules("shared/style.css")
    twins = {"table.data tr.me": ".of-2", "table.data tr.me td": ".of-2 td", ".good": ".gain-2"}
    twins[".bad"] = ".loss-2"
    found = {key: body for key, body in all_games.items() if key[1] in twins}
    assert ours == {(dark, twins[name]): body for (dark, name), body in found.items()}


def test_a_wrapped_line_of_the_musters_hangs_beside_its_number() -> None:
    css = render(environment(None, "hexem", True), "shared/style.css", {})
    hangs = re.search(r"\.steps li { padding: 0 0 0 (\d+)px; text-indent: -(\d+)px; }", css)
    assert hangs
    assert hangs[1] == hangs[2]


def test_a_country_keeps_its_case_where_a_headline_begins() -> None:
    board = position("A1=-9/y A2=-9/x", "countries", 0, ("Ann", "Bob"))
    done = played(board, Ann="BID y 2")
    assert rendered("headline.txt", done.state, "Ann", done.events).strip() == "your country is y"


def test_no_number_stands_next_to_a_name_that_runs_from_the_right() -> None:
    """A reader would see it on the other side of the name (UAX 9, W2); not so within brackets that
    hold a Latin word too (N0)."""
    name = "محمد علي"
    hexes = {
        f"A{at}": {"owner": owner, "armies": armies, "country": None}
        for at, (owner, armies) in enumerate(((name, 9), (name, 9), (name, 3), ("Bob", 9)), 1)
    }
    options = game.read_options(hexem.OPTIONS, {}, "hexem")
    state = hexem.load({"phase": "muster", "turn": 3, "hexes": hexes}, (name, "Bob"), options)
    for his, other in (("MUSTER A2 A1 A2 A1", "MUSTER A3"), ("MUSTER A4", "MUSTER A1 A1 A1 A1")):
        done = game.play(hexem, state, {name: his, "Bob": other}, "seed", 1)
        for seat in (name, "Bob"):
            for part in ("report.txt", "picture.txt", "picture.svg"):
                text = rendered(part, done.state, seat, done.events)
                assert name in text
                assert not re.search(rf"{name}[^\w\n<(]*\d", text)


@pytest.mark.parametrize("seats", [2, 4, 8])
def test_every_part_renders_in_every_phase_for_every_reader(seats: int) -> None:
    for state, events in war(seats):
        for seat in (*state.seats[:2], None):
            parts = {part: rendered(part, state, seat, events) for part in PARTS}
            assert max(map(len, parts["report.txt"].splitlines())) <= 72
            assert len(parts["headline.txt"].strip().splitlines()) == 1
            assert "<b>" not in parts["report.html"] + parts["picture.svg"]
            # The picture must be XML that any reader takes.
            ElementTree.fromstring(parts["picture.svg"])
            ElementTree.fromstring(f"<div>{parts['report.html'].replace('&nbsp;', ' ')}</div>")


def test_the_legend_names_neutral_hexes_where_there_are_some() -> None:
    full = war(2)[1][0]
    some_left = replace(full, owners=(NOBODY, *full.owners[1:]))
    for one, some in ((some_left, True), (full, False)):
        assert bool(hexem.page(one, "Ann", ())["neutral"]["hexes"]) == some
        legend = rendered("report.html", one, "Ann").rpartition('<p class="muted">')[2]
        assert ("- neutral" in legend) == some
        assert ", ." not in legend
        assert ", ," not in legend


def test_the_order_form_as_sent_holds_no_order() -> None:
    for state, _ in war(3):
        form = rendered("form.txt", state, "Ann")
        assert hexem.GRAMMAR.read(form).orders == ()
        assert bool(form.strip()) == (state.phase != "over")


def test_the_rules_fit_72_columns_and_name_every_order() -> None:
    text = rendered("rules.txt", war(2)[0][0], None)
    assert max(map(len, text.splitlines())) <= 72
    for rule in hexem.GRAMMAR.rules:
        assert rule.shown in text
    for number in range(1, 6):
        assert f"[{number}]" in text


def test_a_forecast_is_told_in_words() -> None:
    orders = hexem.GRAMMAR.read("MUSTER A2").orders
    events = hexem.forecast(position("A1=Ann6 A2=Bob2"), "Ann", orders)
    text = render(environment(None, "hexem", False), "hexem/forecast.txt", {"events": events})
    assert text.splitlines() == [
        "- A2 taken from Bob, as 6 armies from A1 beat 2.",
        "- Bob would have lost the last hex and be out of the game.",
    ]
