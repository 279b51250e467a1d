"""The position as JSON: written, read, seen by all, and refused where it is nonsense."""

from typing import Any

import pytest

from pbem.games import hexem
from tests.hexem.conftest import SEATS, position

NONE: dict[str, Any] = {}


def test_a_state_by_hand_may_have_its_hexes_in_any_order() -> None:
    hexes = {
        "AA1": {"owner": "Ann", "armies": 3},
        "B10": {"owner": None, "armies": 2, "country": "x"},
        "B9": {"owner": "Bob", "armies": 0},
    }
    state = hexem.load({"phase": "muster", "turn": 3, "hexes": hexes}, SEATS, NONE)
    assert state.labels == ("B9", "B10", "AA1")
    assert hexem.dump(state)["hexes"] == hexes


def test_what_is_dumped_can_be_loaded() -> None:
    state = position("A1=Ann3/x A2=-1/y B1=Bob2", turns=9, share=0.5)
    again = hexem.load(hexem.dump(state), SEATS, {"turns": 9, "share": 0.5})
    assert again == state


def test_everybody_sees_everything_and_winners_only_at_the_end() -> None:
    state = position("A1=Ann3/x A2=-1/y")
    assert [hexem.view(state, seat) for seat in (*SEATS, None)] == [hexem.dump(state)] * 4
    assert "winners" not in hexem.dump(state)
    assert hexem.dump(position("A1=Ann3 A2=Bob1", "over"))["winners"] == ["Ann"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"phase": "war"}, "phase is 'war'"),
        ({"phase": None}, "phase is None"),
        ({"turn": -1}, "turn is -1"),
        ({"turn": "3"}, "turn is '3'"),
        ({"hexes": {}}, "hexes is missing or empty"),
        ({"hexes": None}, "hexes is missing or empty"),
        ({"hexes": {"A01": {"owner": None, "armies": 1}}}, "'A01' is no hex label"),
        ({"hexes": {"A1": 3}}, "A1 is 3"),
        ({"hexes": {"A1": {"owner": None, "armies": -1}}}, "A1 has -1 armies"),
        ({"hexes": {"A1": {"owner": None, "armies": True}}}, "A1 has True armies"),
        ({"hexes": {"A1": {"owner": None}}}, "A1 has None armies"),
        ({"hexes": {"A1": {"owner": "Zoe", "armies": 1}}}, "A1 belongs to 'Zoe'"),
        ({"hexes": {"A1": {"owner": ["Ann"], "armies": 1}}}, "A1 belongs to"),
        ({"hexes": {"A1": {"armies": 1, "country": 7}}}, "A1 lies in country 7"),
        ({"phase": "countries"}, "3 seats need as many countries, the board has 1"),
    ],
)
def test_nonsense_is_refused_naming_the_part(change: dict[str, Any], fault: str) -> None:
    data = {
        "phase": "muster",
        "turn": 3,
        "hexes": {"A1": {"owner": "Ann", "armies": 3, "country": "x"}},
    }
    with pytest.raises(ValueError, match=fault):
        hexem.load({**data, **change}, SEATS, NONE)


def test_no_hex_is_owned_while_countries_are_bid_for() -> None:
    with pytest.raises(ValueError, match="A1 has an owner"):
        position("A1=Ann3/x A2=-3/y A3=-3/z", "countries", 0)
