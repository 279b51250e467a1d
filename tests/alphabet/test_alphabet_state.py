"""State, options and word lists of Alphabet Auction: what is read, and what is refused."""

import json
from string import ascii_uppercase

import pytest

from pbem import game as games
from pbem.games import alphabet
from pbem.games.alphabet import words

SEATS = ("Ida", "Olle")
OPTIONS = {"words": "towns", "hands": "open"}
TEN = "SPHINX QUARTZ JUDGE BLACK VOW FERRY MINT GLOBE STORM KITE"


def load(**data):
    return alphabet.load({"phase": "play", **data}, SEATS, OPTIONS)


def test_a_state_by_hand_may_lack_what_the_set_up_knows():
    state = load(groups={"1": {"letters": "sheikh"}})
    assert state.round == 1 and state.money == {"Ida": 100, "Olle": 100}
    assert state.claimed == {"Ida": (), "Olle": ()} and state.bag == words.FULL_BAG
    assert state.groups[1].letters == "EHHIKS" and state.groups[1].only is None
    assert state.words == words.packaged("towns")


def test_a_state_has_its_seats_in_seat_order_and_hands_sorted():
    state = load(hands={"Olle": "zab", "Ida": "B"}, money={"Olle": 1})
    assert list(state.hands.items()) == [("Ida", "B"), ("Olle", "ABZ")]
    assert state.money == {"Ida": 100, "Olle": 1}


def test_the_state_in_json_is_as_the_contract_has_it():
    data = {
        "phase": "play",
        "round": 2,
        "words": TEN.split(),
        "money": {"Ida": 100, "Olle": 90},
        "hands": {"Ida": "AEKT", "Olle": ""},
        "points": {"Ida": 0, "Olle": 40},
        "claimed": {"Ida": [], "Olle": ["MINT"]},
        "groups": {
            "9": {"letters": "ADEHKS", "only": None},
            "10": {"letters": "BEILRX", "only": ["Ida", "Olle"]},
        },
        "bag": "ABC",
    }
    assert alphabet.dump(alphabet.load(data, SEATS, OPTIONS)) == data
    assert list(alphabet.dump(alphabet.load(data, SEATS, OPTIONS))) == list(data)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"phase": "bid"}, "phase"),
        ({"round": 7}, "round"),
        ({"round": "2"}, "round"),
        ({"round": True}, "round"),
        ({"phase": "last", "round": 6}, "round"),
        ({"words": []}, "words"),
        ({"words": "BATH"}, "words"),
        ({"words": ["É"]}, "words"),
        ({"money": {"Ida": -1}}, "money of Ida"),
        ({"money": {"Ida": 1.5}}, "money of Ida"),
        ({"money": {"Zeno": 1}}, "Zeno"),
        ({"money": [1]}, "money"),
        ({"hands": {"Ida": "A1"}}, "hands of Ida"),
        ({"hands": {"Ida": ["A"]}}, "hands of Ida"),
        ({"points": {"Ida": None}}, "points of Ida"),
        ({"claimed": {"Ida": "BATH"}}, "claimed of Ida"),
        ({"groups": []}, "groups"),
        ({"groups": {"A": {"letters": "ABCDEF"}}}, "number"),
        ({"groups": {"0": {"letters": "ABCDEF"}}}, "number"),
        ({"groups": {"1": {"letters": ""}}}, "group 1"),
        ({"groups": {"1": "ABCDEF"}}, "group 1"),
        ({"groups": {"1": {"letters": "ABC", "only": []}}}, "group 1"),
        ({"groups": {"1": {"letters": "ABC", "only": ["Zeno"]}}}, "Zeno"),
        ({"bag": 5}, "bag"),
    ],
)
def test_a_state_that_is_nonsense_is_refused_by_the_name_of_its_part(data, named):
    with pytest.raises(ValueError, match=named):
        load(**data)


def test_a_state_that_is_no_object_is_refused():
    with pytest.raises(ValueError, match="JSON object"):
        alphabet.load([], SEATS, OPTIONS)


@pytest.mark.parametrize("name", words.PACKAGED_LISTS)
def test_match_packaged_lists_are_sound(name):
    listed = words.packaged(name)
    assert words.checked(listed) == listed
    assert set("".join(listed)) == set(ascii_uppercase)


def test_match_the_list_of_the_source_is_the_default():
    options = games.read_options(alphabet.OPTIONS, {}, "alphabet")
    assert options == {"words": "towns", "hands": "open"}
    assert words.of_option(options["words"])[0] == "AVIEMORE"
    assert len(words.of_option(options["words"])) == 26


@pytest.mark.parametrize(
    "given",
    [
        TEN,
        TEN.lower().replace(" ", "\n"),
        TEN.replace(" ", ", "),
        TEN.split(),
        f"# our own\n{TEN}  # ten\n",
    ],
)
def test_match_own_words_are_a_list_or_a_text(given):
    kept = games.read_options(alphabet.OPTIONS, {"words": given}, "alphabet")["words"]
    assert kept == TEN.split() and json.loads(json.dumps(kept)) == kept
    assert words.of_option(kept) == tuple(TEN.split())


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("flowers", "no list of words is called 'flowers'"),
        (TEN.rpartition(" ")[0], "10 to 26 words are needed, not 9"),
        ([*words.packaged("towns"), "LEEDS"], "not 27"),
        (TEN.replace("SPHINX", "SPHIN"), "no word has the letter X"),
        (f"{TEN} kite", "KITE is in the list 2 times"),
        (f"{TEN} UP", "UP has 2 letters"),
        (f"{TEN} ABSOLUTELY", "ABSOLUTELY has 10 letters"),
        (f"{TEN} CAFÉ", "'CAFÉ' is not written in the letters A to Z"),
        (f"{TEN} R2D2", "'R2D2' is not"),
        ("", "no list"),
        (7, "packaged list is needed"),
        ([1, 2], "packaged list is needed"),
        ({"a": 1}, "packaged list is needed"),
    ],
)
def test_match_a_list_that_will_not_do_is_refused(given, fault):
    with pytest.raises(ValueError, match=fault):
        games.read_options(alphabet.OPTIONS, {"words": given}, "alphabet")


def test_match_hands_are_open_or_secret():
    with pytest.raises(ValueError, match="option hands"):
        games.read_options(alphabet.OPTIONS, {"hands": "hidden"}, "alphabet")
