"""What a seat of Alphabet Auction may not know leaves no trace in what it is shown."""

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.games import alphabet

SEATS = ("Ida", "Olle", "Petra")
GROUPS = {"7": {"letters": "ADEHKS", "only": ["Ida", "Petra"]}, "8": {"letters": "BEILRX"}}

hand = st.text("ABEHQRTY", max_size=8)
purse = st.integers(0, 300)


def shown(state, seat, events):
    """Return all that a seat is shown of a state and a turn, as bytes."""
    seen = [event for event in events if event.seen_by is None or seat in event.seen_by]
    parts = [alphabet.view(state, seat), alphabet.page(state, seat, events), seen]
    return json.dumps(parts).encode()


def position(hands, money, hidden="secret"):
    data = {"phase": "play", "round": 3, "hands": hands, "money": money, "groups": GROUPS}
    return alphabet.load(data, SEATS, {"words": "towns", "hands": hidden})


@given(hand, hand, hand, purse, purse, st.sampled_from(["Ida", None]))
def test_secret_hands_hide_letters_and_money_of_others(mine, his, hers, one, two, reader):
    state = position({"Ida": mine, "Olle": his, "Petra": hers}, {"Olle": one, "Petra": two})
    other = position({"Ida": mine, "Olle": hers, "Petra": "ZZ"}, {"Olle": two, "Petra": 7})
    if reader is None:
        other = replace(other, hands={**other.hands, "Ida": "X"}, money={**other.money, "Ida": 1})
    assert shown(state, reader, []) == shown(other, reader, [])
    if reader:
        orders = alphabet.GRAMMAR.read("CLAIM RYE\nBID 8 90\nPOT A\nTRADE WITH Olle GIVE A GET B")
        lawful, problems = alphabet.check(state, "Ida", orders.orders)
        assert (lawful, problems) == alphabet.check(other, "Ida", orders.orders)
        assert alphabet.forecast(state, "Ida", lawful) == alphabet.forecast(other, "Ida", lawful)


def test_secret_hands_show_ones_own_and_open_ones_all():
    hands = {"Ida": "AB", "Olle": "CD", "Petra": "EF"}
    secret, public = position(hands, {}), position(hands, {}, "open")
    assert alphabet.view(secret, "Olle")["hands"] == {"Olle": "CD"}
    assert alphabet.view(secret, "Olle")["money"] == {"Olle": 100}
    assert alphabet.view(secret, None)["hands"] == {}
    assert alphabet.view(public, None)["hands"] == hands
    assert alphabet.view(public, "Olle")["money"]["Petra"] == 100


def test_after_the_end_everything_is_open():
    over = replace(position({"Olle": "CD"}, {}), phase="over")
    assert alphabet.view(over, None)["hands"]["Olle"] == "CD"
    assert alphabet.page(over, None, [])["standings"][1]["hand"] == "C D"


@given(st.text("AEQZ", max_size=98))
def test_nobody_looks_into_the_bag(letters):
    full = position({}, {}, "open")
    drawn = replace(full, bag=letters)
    for seat in (*SEATS, None):
        assert shown(full, seat, []) == shown(drawn, seat, [])


lines = st.lists(
    st.builds(
        "TRADE WITH {} GIVE {} GET {}".format,
        st.sampled_from(["Ida", "Petra"]),
        st.sampled_from(["Z", "Z, £3", "J", "£999", "A, Z"]),
        st.sampled_from(["A", "£5", "NOTHING"]),
    )
    | st.sampled_from(["BID 8 900", "CLAIM OXFORD", "POT J", "BID 7 5", "", "hello"]),
    max_size=6,
).map("\n".join)


@settings(deadline=None)
@given(lines, lines, st.sampled_from(["open", "secret"]))
def test_what_another_failed_to_do_is_told_to_its_writer_alone(one, two, hidden):
    state = position({"Ida": "AEQ", "Olle": "B", "Petra": "AK"}, {}, hidden)
    ida = "TRADE WITH Olle GIVE A GET Z\nTRADE WITH Olle GIVE £5 GET Z, £3\nBID 8 5\nPOT E"
    turns = [
        games.play(alphabet, state, {"Ida": ida, "Olle": text, "Petra": ""}, "seed", 1)
        for text in (one, two)
    ]
    for seat in ("Ida", "Petra", None):
        first, second = (shown(done.state, seat, done.events) for done in turns)
        assert first == second
        assert turns[0].problems.get(seat) == turns[1].problems.get(seat)


def test_bids_are_public_after_the_turn_only():
    state = position({}, {})
    done = games.play(alphabet, state, {"Ida": "BID 8 5", "Olle": "BID 8 7"}, "seed", 1)
    (sold,) = [event for event in done.events if event.kind == "sold"]
    assert sold.seen_by is None and len(sold.facts["bids"]) == 2
    assert "BID" not in json.dumps(alphabet.dump(done.state))
