"""The archive's facts of Alphabet Auction: turns worked by hand, secrecy, pages."""

import json

import pytest

from pbem.archive import published
from pbem.games import alphabet
from tests.games import matches, scripted

SEATS = ("Ida", "Olle", "Petra")
GROUPS = {"5": "ADEHKS", "6": "BEILRX", "7": "CFOPQT", "8": "AGNSTU"}


def play(*phases, start=None, seats=SEATS, **options):
    """Return the record of a match that begins at a position, by default in round 2."""
    groups = {number: {"letters": letters, "only": None} for number, letters in GROUPS.items()}
    given = {"phase": "play", "round": 2, "groups": groups, **(start or {})}
    return scripted.record("alphabet", seats, phases, given, **options)


def running(record):
    return published({**record, "status": "running"})


EXAMPLE = {
    "hands": {"Ida": "ABEHT", "Olle": "KRY"},
    "round": 3,
    "groups": {"7": {"letters": "CFOPQT"}, "9": {"letters": "AGNSTU"}},
    "money": {"Ida": 60, "Olle": 60},
}
IDA = "TRADE WITH Olle GIVE E GET K, £10\nCLAIM BATH\nBID 7 45\nBID 9 £20\nPOT K"
OLLE = "TRADE WITH Ida GIVE K, £10 GET E\nCLAIM RYE"


def test_what_became_of_each_line_of_the_example_in_the_rules():
    record = play({"Ida": IDA, "Olle": OLLE}, start=EXAMPLE, seats=("Ida", "Olle"))
    assert empty(record) == []
    assert alphabet.chapter(record, 1)["became"] == {
        "Ida": {
            1: "E went to Olle for K, £10",
            2: "BATH: 4 × 9 = 36 points",
            3: "won for £45, the only bid",
            4: "won for £20, the only bid",
            5: "K went into the pot and came back",
        },
        "Olle": {1: "K, £10 went to Ida for E", 2: "RYE: 3 × 9 = 27 points"},
    }


def empty(record):
    """Name the lines of all turns of which nothing is told."""
    return [line for turn in record["turns"] for line in scripted.untold(record, turn["number"])]


def test_what_became_of_bids_that_tie_lose_or_are_replaced():
    start = {
        "points": {"Ida": 10, "Olle": 20, "Petra": 20},
        "hands": {"Ida": "A", "Olle": "AB", "Petra": "A"},
    }
    sheets = {
        "Ida": "BID 5 30\nBID 6 20; BID 6 25\nBID 99 5",
        "Olle": "Hello!\nBID 5 30\nBID 7 40\nBID 8 500",
        "Petra": "BID 7 40\nBID 6 24\nBID 5 29",
    }
    record = play(sheets, start=start)
    page = alphabet.chapter(record, 1)
    assert page["became"] == {
        "Ida": {
            1: "won for £30, tied with Olle: fewer points",
            2: "replaced by line 2; won for £25, £1 above Petra's £24",
        },
        "Olle": {
            2: "tied with Ida at £30; Ida had fewer points",
            3: "tied with Petra at £40; Petra had as few points, fewer letters",
        },
        "Petra": {
            1: "won for £40, tied with Olle: as few points, fewer letters",
            2: "lost to Ida's £25",
            3: "lost to Ida's £30",
        },
    }
    assert [(lot["kind"], lot["seat"], lot["next"], lot["above"]) for lot in page["lots"]] == [
        ("sold", "Ida", 30, 0),
        ("sold", "Ida", 24, 1),
        ("sold", "Petra", 40, 0),
        ("unsold", None, 0, None),
    ]
    assert [cell["mark"] for cell in page["lots"][0]["cells"]] == ["won", "tied", ""]
    assert [cell["heat"] for cell in page["lots"][0]["cells"]] == [0.75, 0.75, 0.72]
    assert page["spent"] == 95


def test_a_group_tied_in_everything_is_held_over():
    sheets = {"Ida": "BID 5 30", "Olle": "BID 5 30", "Petra": "BID 5 10"}
    record = play(sheets)
    page = alphabet.chapter(record, 1)
    assert page["became"] == {
        "Ida": {1: "tied with Olle at £30, in points and letters too: held over for Ida and Olle"},
        "Olle": {1: "tied with Ida at £30, in points and letters too: held over for Ida and Olle"},
        "Petra": {1: "less than the £30 of Ida and Olle, who are tied"},
    }
    assert [cell["mark"] for cell in page["lots"][0]["cells"]] == ["held", "held", ""]
    assert "nobody pays" in scripted.pages(record)["turn-1"]


def test_a_word_in_two_lines_is_formed_by_the_first():
    start = {"hands": {"Ida": "ABBAHHTT"}}
    record = play({"Ida": "CLAIM BATH RYE\nCLAIM BATH"}, start=start)
    assert alphabet.chapter(record, 1)["became"]["Ida"] == {1: "BATH: 4 × 10 = 40 points"}
    assert [line for line, _ in record["turns"][1]["problems"]["Ida"]] == [1, 2]


def test_trades_done_given_and_refused():
    start = {"hands": {"Ida": "AE", "Olle": "KK"}}
    sheets = {
        "Ida": "TRADE WITH Olle GIVE A GET NOTHING\nTRADE WITH Petra GIVE E GET £5",
        "Olle": "TRADE WITH Ida GIVE NOTHING GET A\nTRADE WITH Petra GIVE Z GET £1",
    }
    record = play(sheets, start=start)
    page = alphabet.chapter(record, 1)
    assert page["became"]["Ida"] == {1: "A went to Olle as a gift"}
    assert page["became"]["Olle"] == {1: "A came from Ida as a gift"}
    assert [(one["seat"], one["line"]) for one in page["refused"]] == [("Ida", 2), ("Olle", 2)]
    course = alphabet.course(record)
    assert course["traded"][0] == {
        "seat": "Ida", "trades": 1, "gave": "A", "got": "", "paid": 0, "received": 0,
    }  # fmt: skip
    assert alphabet.chapter(running(record), 1)["refused"] == []


def test_a_letter_costs_a_sixth_of_its_group():
    record = play(
        {"Ida": "BID 5 60", "Olle": "BID 8 £30"},
        {"Ida": "CLAIM HAD", "Olle": ""},
        start={"money": {"Ida": 60, "Olle": 60}, "words": ["HAD", "STAG"]},
    )
    turn = {row["letter"]: row for row in alphabet.chapter(record, 1)["letters"]}
    assert set(turn) == set("ADEHKS" + "AGNSTU")
    assert (turn["K"]["price"], turn["N"]["price"]) == (10.0, 5.0)
    # One A of each group, and one S.
    assert (turn["A"]["price"], turn["A"]["sold"]) == (7.5, 2)
    match = {row["letter"]: row for row in alphabet.course(record)["letters"]}
    assert (match["H"]["claimed"], match["H"]["brought"], match["H"]["worth"]) == (1, 9, 9.0)
    assert (match["A"]["brought"], match["A"]["worth"], match["A"]["left"]) == (9, 4.5, 1)
    assert match["A"]["offered"] >= 2 and match["K"]["worth"] == 0.0
    assert (match["K"]["price_heat"], match["A"]["price_heat"]) == (1.0, 0.75)


def test_you_could_have_claimed():
    start = {
        "round": 6,
        "hands": {"Ida": "ABHTTTONE", "Olle": "RYE"},
        "groups": {},
        "words": ["BATH", "ETON", "THO", "NOTT"],
    }
    record = play({"Ida": "CLAIM THO"}, {"Ida": "CLAIM ETON"}, start=start)
    [first, second, _] = alphabet.chapter(record, 1)["best"]
    assert [(one["word"], one["points"], one["now"]) for one in first["each"]] == [
        ("BATH", 24, False),
        ("ETON", 24, False),
        ("THO", 18, True),
        ("NOTT", 24, False),
    ]
    # BATH and ETON share no letter that is there once only.
    assert (sorted(first["best"]), first["most"], first["points"]) == (["BATH", "ETON"], 48, 18)
    assert (first["missed"], first["exact"]) == (30, True)
    assert first["reach"] == []
    assert second["each"] == [] and second["most"] == 0


def test_the_page_of_a_turn_goes_by_no_later_one():
    start = {"round": 6, "hands": {"Ida": "BATH"}, "groups": {}}
    record = play({}, {"Ida": "CLAIM BATH"}, start=start)
    page = alphabet.chapter(record, 1)
    assert page["best"][0]["each"] == [{"word": "BATH", "points": 24, "now": False}]
    assert page["best"][0]["reach"] == ["BATH"]
    assert page == alphabet.chapter({**record, "turns": record["turns"][:2]}, 1)
    [best, *_] = alphabet.course(record)["best"]
    assert (best["points"], best["most"], best["missed"]) == (20, 24, 4)
    assert best["plan"] == [{"word": "BATH", "turn": 1, "points": 24}]
    assert best["never"] == []


def test_words_held_in_hand_and_never_claimed_are_told_with_the_turns():
    start = {"round": 5, "hands": {"Ida": "BATHRYE"}, "groups": {}}
    record = play({}, {"Ida": "CLAIM BATH"}, {}, start=start)
    assert alphabet.course(record)["best"][0]["never"] == [{"word": "RYE", "turns": [1, 2, 3]}]
    assert 'RYE <span class="muted">(turns 1, 2 and 3)</span>' in scripted.pages(record)["course"]


def test_the_best_of_the_match_spends_no_letter_that_was_given_away():
    start = {"round": 5, "hands": {"Ida": "BATHE", "Olle": "Z"}, "groups": {}}
    gift = {
        "Ida": "TRADE WITH Olle GIVE H GET NOTHING",
        "Olle": "TRADE WITH Ida GIVE NOTHING GET H",
    }
    record = play({}, gift, start=start)
    assert alphabet.chapter(record, 1)["best"][0]["best"] == ["BATH"]
    assert [one["hand"] for one in alphabet.chapter(record, 2)["best"]] == ["ABET", "HZ", ""]
    assert [one["most"] for one in alphabet.course(record)["best"]] == [0, 0, 0]


def test_the_best_of_the_match_spends_no_letter_that_went_into_the_last_pot():
    start = {"round": 5, "hands": {"Ida": "ETON", "Olle": "Z"}, "groups": {}}
    pot = {"Ida": "POT E", "Olle": "POT Z"}
    # The dice differ by the number of the turn: in one of these Ida gets the Z.
    for waiting in range(2):
        record = play(*[{}] * waiting, pot, start=start)
        hand = record["turns"][-1]["state"]["hands"]["Ida"]
        most = 0 if hand == "NOTZ" else 28
        assert alphabet.course(record)["best"][0]["most"] == most
        if hand == "NOTZ":
            break
    assert hand == "NOTZ"


def test_words_by_round_and_multiplier_and_the_totals_agree_with_the_state():
    for way in (0, 1):
        table, turns = matches.match("alphabet", way, 4)
        record = record_of(table, turns)
        page, last = alphabet.course(record), record["turns"][-1]["state"]
        assert [row["times"] for row in page["words"]] == [10, 9, 8, 7, 6, 5]
        for at, seat in enumerate(table.seats):
            cells = [row["cells"][at] for row in page["words"]]
            assert sum(cell["points"] for cell in cells) == last["points"][seat]
            assert [w for cell in cells for w in cell["words"]] == last["claimed"][seat]
            total = page["totals"][at]
            traded = page["traded"][at] if page["traded"] else {"paid": 0, "received": 0}
            paid = total["spent"] + traded["paid"] - traded["received"]
            assert last["money"][seat] == 100 + 6 * 50 - paid
            assert page["best"][at]["most"] >= last["points"][seat]
        by_letter = page["letters"]
        assert sum(row["brought"] for row in by_letter) == sum(last["points"].values())
        assert sum(row["sold"] for row in by_letter) == 6 * len(page["sales"])
        left = sum(row["claimed"] + row["left"] for row in by_letter)
        assert left == sum(row["sold"] for row in by_letter)
        assert sum(row["offered"] for row in by_letter) == 6 * 6 * 5


def record_of(table, turns, stop=None):
    given = [{seat or "": text for seat, text in one.texts.items() if text} for one in turns[:stop]]
    return scripted.record("alphabet", table.seats, given, None, **table.options)


def test_secret_hands_are_in_no_fact_while_the_match_runs():
    table, turns = matches.match("alphabet", 1, 3)
    record = record_of(table, turns, 5)
    shown = running(record)
    course = alphabet.course(shown)
    told = [alphabet.chapter(shown, number) for number in range(6)]
    assert course["best"] == [] and not course["hands_known"]
    assert {row["left"] for row in course["letters"]} == {None}
    assert {row["left"] for row in course["totals"]} == {None}
    assert {row["money"] for row in course["totals"]} == {None}
    for page in told:
        assert page["best"] == [] and page["became"] == {}
        assert {row["hand"] for row in page["position"]} == {None}
    # Nothing in them would be another with other hands and money.
    other = json.loads(json.dumps(record))
    for turn in other["turns"]:
        for seat in table.seats:
            turn["state"]["hands"][seat] = "QZ"
            turn["state"]["money"][seat] = 7
    assert json.dumps([course, told]) == json.dumps(
        [alphabet.course(running(other)), [alphabet.chapter(running(other), n) for n in range(6)]]
    )
    assert alphabet.chapter(record, 5)["best"] and alphabet.course(record)["best"]


def test_open_hands_are_told_while_the_match_runs_and_orders_are_not():
    table, turns = matches.match("alphabet", 0, 3)
    shown = running(record_of(table, turns, 5))
    page = alphabet.chapter(shown, 4)
    assert [one["seat"] for one in page["best"]] == list(table.seats)
    assert page["became"] == {}
    assert len(alphabet.course(shown)["best"]) == 3


def test_a_match_that_the_game_master_ends_tells_of_no_turn():
    start = {"hands": {"Ida": "BATH"}}
    record = play({"Ida": "CLAIM BATH\nBID 5 10", "": "END"}, start=start)
    page = alphabet.chapter(record, 1)
    gone = "not carried out: the game master ended the match"
    assert page["became"]["Ida"] == {1: gone, 2: gone}
    assert page["best"] == [] and page["lots"] == [] and page["claims"] == []
    assert alphabet.course(record)["words"] == []
    assert alphabet.course(record)["best"][0]["most"] == 0


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("seats", [2, 6])
def test_all_pages_are_written_of_a_match_that_runs_and_of_one_that_is_over(way, seats):
    table, turns = matches.match("alphabet", way, seats)
    record = record_of(table, turns)
    sealed = published({**record, "settings": {"reveal": "never"}})
    for shown in (record, sealed, running(record_of(table, turns, 6))):
        pages = scripted.pages(shown)
        assert all(len(page.encode()) < 100_000 for page in pages.values())
        assert "The value of a letter" in pages["course"]
        secret = not shown["whole"] and way == 1
        assert ("You could have claimed" in "".join(pages.values())) != secret


def test_hostile_names_are_nothing_but_text():
    seats = ("<script>x</script>", "' onload=x \"")
    groups = {"1": {"letters": "ABCDEF"}, "2": {"letters": "GHIJKL", "only": list(seats)}}
    start = {"hands": {seats[0]: "BATHZ", seats[1]: "R"}, "groups": groups}
    sheets = {
        seats[0]: f"CLAIM BATH\nBID 1 5\nBID 2 7\nTRADE WITH {seats[1]} GIVE Z GET <b>£1</b>",
        seats[1]: "BID 1 6\nBID 2 7\nPOT R",
    }
    record = play(sheets, {}, start=start, seats=seats)
    for page in scripted.pages(record).values():
        for bad in ("<script", '" onload', "' onload=x \"", "<b>£1"):
            assert bad not in page
