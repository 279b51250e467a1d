"""The state as JSON, states by hand, the sheet and the options: what is taken and what refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.games import empires

SHEET = """
[[epoch]]
name = "Dawn"
empires = { Ur = 3, Elam = 4 }
seventh = { Mari = 2 }
[[epoch]]
name = "Noon"
empires = { Rome = 9, Parthia = 7, Carthage = 8 }
"""


def options(**given):
    return games.read_options(empires.OPTIONS, given, "empires")


def test_the_packaged_sheet_has_seven_epochs_of_seven():
    sheet = empires.setup(["Ana", "Bo"], options(), None).sheet
    assert [epoch.name for epoch in sheet] == ["I", "II", "III", "IV", "V", "VI", "VII"]
    assert [len(epoch.for_seats(7)) for epoch in sheet] == [7] * 7
    assert [sum(epoch.empires.values()) for epoch in sheet] == [26, 59, 86, 78, 78, 74, 87]


def test_a_sheet_may_be_toml_or_a_list():
    toml = options(sheet=SHEET)["sheet"]
    assert toml == options(sheet=toml)["sheet"]
    assert toml == json.loads(json.dumps(toml))
    state = empires.setup(["Ana", "Bo"], {"sheet": toml}, None)
    assert state.empires == {"Ur": 3, "Elam": 4}
    assert [epoch.name for epoch in state.sheet] == ["Dawn", "Noon"]


@pytest.mark.parametrize(
    ("sheet", "fault"),
    [
        ("epoch = [", "the sheet is no TOML"),
        ([], "a sheet is a list of epochs"),
        (7, "a sheet is a list of epochs"),
        ([3], "epoch 1 of the sheet is no table"),
        ([{"name": "I"}], "epoch 1 of the sheet: empires with their strength are needed"),
        ([{"empires": {"Ur": 0}}], "the strength of Ur is a whole number from 1"),
        ([{"empires": {"Ur": True}}], "the strength of Ur is a whole number from 1"),
        ([{"empires": {"Ur, Elam": 3}}], "can't be said in an order"),
        ([{"empires": {"Rome 2": 3}}], "can't be said in an order"),
        ([{"empires": {"--": 3}}], "can't be an empire's name"),
        ([{"empires": {"Ur": 3, "UR": 4}}], "'Ur' and 'UR' read alike"),
        ([{"empires": {"Ur": 3}, "seventh": {"Ur": 3}}], "Ur is in it twice"),
        ([{"empires": {"Ur": 3}, "seven": {}}], "epoch 1 of the sheet has 'seven'"),
        ([{"name": "", "empires": {"Ur": 3}}], "its name is a text"),
    ],
)
def test_a_sheet_that_cannot_be_is_refused_with_its_fault(sheet, fault):
    with pytest.raises(ValueError, match="option sheet: ") as caught:
        options(sheet=sheet)
    assert fault in str(caught.value)


def test_options_have_few_values():
    for wrong in ({"announce": "all"}, {"scores": "never"}, {"seats": 3}):
        with pytest.raises(ValueError, match=r"announce|scores|no option"):
            options(**wrong)


@pytest.mark.parametrize("seats", [1, 8])
def test_seats_are_2_to_7(seats):
    with pytest.raises(ValueError, match="2 to 7 seats"):
        empires.setup([f"s{n}" for n in range(seats)], options(), None)


def test_seats_are_never_more_than_an_epoch_has_empires():
    with pytest.raises(ValueError, match="epoch Dawn has fewer empires than the 3 seats"):
        empires.setup(["Ana", "Bo", "Cyd"], options(sheet=SHEET), None)


def test_a_state_by_hand_may_leave_out_nearly_all():
    state = empires.load({}, ["Ana", "Bo"], {})
    assert state == empires.setup(["Ana", "Bo"], {}, None)
    state = empires.load(
        {"epoch": 3, "claims": {"Ana": None}, "contested": None}, ["Ana", "Bo"], {}
    )
    assert (state.phase, state.round, next(iter(state.empires))) == ("bid", 1, "Celts")
    assert state.vp == {"Ana": 0, "Bo": 0}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ({"phase": "bids"}, "phase: 'bids' is none of bid, pick, score, over"),
        ({"epoch": 8}, "epoch: 8 is not from 1 to 7"),
        ({"epoch": "4"}, "epoch: a whole number is needed, not '4'"),
        ({"round": 4}, "round: 4 is not from 1 to 3"),
        ({"empires": {"Ur": 3}}, "empires: 1 are too few for 2 seats"),
        ({"empires": ["Ur"]}, "empires: empires with their strength are needed"),
        ({"claims": {"Cyd": {}}}, "claims: 'Cyd' is none of Ana, Bo"),
        ({"claims": []}, "claims: a table by name is needed"),
        ({"claims": {"Ana": {"empire": "Rome", "price": 3}}}, "claims: Ana needs an empire"),
        ({"claims": {"Ana": {"empire": "Egypt"}}}, "claims: the price Ana paid: a whole number"),
        (
            {"claims": {s: {"empire": "Egypt", "price": 5} for s in ("Ana", "Bo")}},
            "claims: Egypt is claimed twice",
        ),
        (
            {
                "claims": {
                    "Ana": {"empire": "Egypt", "price": 5},
                    "Bo": {"empire": "Minoans", "price": 4},
                }
            },
            "every seat has an empire",
        ),
        ({"phase": "pick"}, "in phase pick one seat is without, not 2"),
        ({"contested": {"Egypt": {"seats": ["Ana"], "minimum": 5}}}, "two free seats or more"),
        (
            {"contested": {"Egypt": {"seats": ["Ana", "Bo"], "minimum": 4}}},
            "less than its strength",
        ),
        ({"contested": {"Egypt": {"seats": ["Ana", "Bo"]}}}, "its minimum: a whole number"),
        ({"contested": {"Egypt": 5}}, "needs its seats and minimum"),
        ({"phase": "score", "contested": {"Egypt": {}}}, "can't be, in phase score or claimed"),
        ({"vp": {"Ana": 2.5}}, "vp of Ana: a whole number is needed, not 2.5"),
        ({"scores": {"Dag": 2}}, "scores: 'Dag' is none of Ana, Bo"),
        ({"rounds": [3]}, "rounds: 1: a round has bids and claims"),
        ({"rounds": [{"round": 9}]}, "rounds: 1: round: 9 is not from 1 to 3"),
        ({"past": [3]}, "past: 1: an epoch that is over is a table"),
    ],
)
def test_load_refuses_nonsense_and_names_it(data, fault):
    with pytest.raises(ValueError) as caught:
        empires.load(data, ["Ana", "Bo"], {})
    assert fault in str(caught.value)


def test_a_store_that_sorts_keys_loses_no_sheet_order(table, turn):
    state = turn(table(2), Ana="BID Arabs 20").state
    shuffled = json.loads(json.dumps(empires.dump(state), sort_keys=True))
    again = empires.load(shuffled, state.seats, {})
    assert again == state
    assert list(again.empires) == list(state.empires)


JUNK = st.sampled_from(
    (None, True, 0, -1, 2.5, "", "Ana", "Egypt", [], [1], [["Ana"]], {}, {"Ana": 1}, {"x": {}})
)


def nodes(data, path=()):
    """Yield the path of every value inside some JSON."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from nodes(value, (*path, key))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_load_meets_any_nonsense_with_a_value_error(table, turn, data):
    contest = {"seats": ["Ana", "Bo"], "minimum": 20}
    states = [table(3, contested={"Arabs": contest}, round=2)]
    states.append(turn(states[-1], Ana="BID Arabs 21", Bo="BID Huns 14").state)
    states.append(turn(states[-1]).state)
    states.append(turn(states[-1], gm="SCORE Ana 1\nSCORE Bo 2\nSCORE Cyd 3").state)
    assert [state.phase for state in states] == ["bid", "pick", "score", "bid"]
    whole = json.loads(json.dumps(empires.dump(data.draw(st.sampled_from(states)))))
    *path, last = data.draw(st.sampled_from(list(nodes(whole))))
    inner = whole
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(JUNK)
    try:
        loaded = empires.load(whole, ["Ana", "Bo", "Cyd"], {})
    except ValueError as error:
        assert str(error)
    else:
        assert empires.load(empires.dump(loaded), loaded.seats, {}) == loaded
        assert empires.page(loaded, "Ana", ())
