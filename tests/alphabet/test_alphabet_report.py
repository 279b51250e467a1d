"""The report, form, rules and picture of Alphabet Auction as players get them."""

import re
from random import Random

import pytest

from pbem import game as games
from pbem.games import alphabet
from pbem.reports.drawing import picture
from pbem.reports.templates import columns, environment, render


def letter(state, seat, events=()):
    """Return a function that renders a part of a seat's report."""
    seen = [event for event in events if event.seen_by is None or seat in event.seen_by]
    facts = {
        "game": "alphabet",
        "match": "words",
        "seat": seat,
        "seats": list(state.seats),
        "options": {},
        "view": alphabet.view(state, seat),
        "page": alphabet.page(state, seat, events),
        "events": seen,
        "turn": 1,
        "due": seat in alphabet.waiting(state),
    }

    def part(name, **more):
        env = environment(None, "alphabet", name.endswith((".html", ".svg")))
        text = render(env, f"alphabet/{name}", {**facts, **more})
        return text.strip("\n")

    facts["part"] = part
    return part


@pytest.fixture
def crowded(table, turn):
    """A turn in which everything happens that a report can tell."""
    state = table(
        3,
        seats=("Ida", "Olle", "Petra Longname-Whatever", "Runa"),
        groups={"7": "ADEHKS", "8": "AEHKST", "9": "BCDEFG", "11": "ABCDEF", "12": "ABCXYZ"},
        only={"7": ["Ida", "Olle"], "9": ["Olle", "Runa"]},
        hands={"Ida": "AEQRY", "Olle": "ZERY", "Runa": "QQ", "Petra Longname-Whatever": "QQ"},
    )
    return turn(
        state,
        **{
            "Ida": "TRADE WITH Olle GIVE A GET £5\nPOT Q\nBID 7 20\nBID 8 10\nCLAIM RYE\nBID 12 5",
            "Olle": "TRADE WITH Ida GIVE 5 GET A\nPOT Z\nBID 7 20\nBID 8 10\n"
            "TRADE WITH Runa GIVE nothing GET £3",
            "Runa": "BID 12 5\nBID 8 10\nTRADE WITH Olle GIVE £3 GET NOTHING",
            "Petra Longname-Whatever": "BID 12 5\nBID 11 7",
        },
    )


def test_a_report_tells_the_turn_and_what_decided_each_group(crowded):
    text = " ".join(letter(crowded.state, "Ida", crowded.events)("report.txt").split())
    for told in (
        "Everybody was paid £50.",
        "Trade: Ida gave Olle A and got £5.",
        "Trade: Runa gave Olle £3 as a gift.",
        "Ida formed RYE (27), at 9 a letter.",
        "Olle put Z into the pot.",
        "sold to Olle for £20, who of Ida and Olle, all at that price, had the fewest points",
        "and then the fewest letters (offers: Ida £10, Olle £10, Runa £10)",
        "Group 9, B C D E F G: no offer from Olle and Runa; it is open to all now.",
        "it is held over for Petra Longname-Whatever and Runa.",
        "you have £155; with the £50".replace("you", "You", 1),
        "1. Ida (you): 27 points, £155, 1 letter; words RYE",
        "RYE (Ida), STOKE",
    ):
        assert told in text


def test_who_is_tied_in_all_is_named_once(table, turn):
    state = table(3, seats=("Ida", "Olle"), groups={"7": "ADEHKS"})
    played = turn(state, Ida="BID 7 40", Olle="BID 7 40")
    told = (
        "Ida and Olle tied at £40, and in points and letters too, so that nobody pays; "
        "it is held over for them."
    )
    for name in ("report.txt", "report.html"):
        assert told in " ".join(letter(played.state, "Ida", played.events)(name).split())


def test_a_report_names_the_words_a_hand_has_and_nearly_has(table):
    part = letter(table(3, hands={"Ida": "ABEHTRY"}, claimed={"Ida": ["RYE"]}), "Ida")
    text = part("report.txt")
    assert "You can form now:  BATH (36)" in text
    assert re.search(r"One letter short:  .*PERTH \(P\)", text)
    assert re.search(r" 7   C F O P Q T\n +with it you could form PERTH", text)
    assert "PERTH" in part("report.html")


def test_a_report_shows_others_letters_only_where_hands_are_open(table):
    hands = {"Ida": "AB", "Olle": "QZ"}
    assert "Olle: 0 points, £100, 2 letters Q Z" in letter(table(hands=hands), "Ida")("report.txt")
    for name in ("report.txt", "report.html"):
        assert "Q Z" not in letter(table(hands=hands, secret=True), "Ida")(name)
        assert "Q Z" not in letter(table(hands=hands, secret=True), None)(name)


def test_no_line_is_wider_than_72_columns(crowded, table):
    rich = {"Ida": "ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 4}
    states = [
        (crowded.state, crowded.events),
        (table(6, hands=rich), ()),
        (table(7, phase="last", groups={}, hands=rich), ()),
    ]
    for state, events in states:
        for seat in (*state.seats, None):
            for name in ("report.txt", "form.txt", "headline.txt", "rules.txt"):
                text = letter(state, seat, events)(name)
                assert max(map(columns, text.split("\n"))) <= 72, name


def test_what_we_send_holds_no_order(crowded, table):
    for state in (crowded.state, table(7, phase="last", groups={})):
        for name in ("report.txt", "form.txt", "headline.txt", "picture.txt"):
            assert alphabet.GRAMMAR.read(letter(state, "Ida", crowded.events)(name)).orders == ()


def test_the_form_filled_in_is_a_sheet_of_orders(table):
    state = table(only={"6": ["Olle"]}, hands={"Ida": "E"})
    form = letter(state, "Ida")("form.txt")
    assert "BID 5 __" in form and "BID 6" not in form
    filled = form.replace("WITH __ GIVE __ GET __", "WITH Olle GIVE A GET £5")
    filled = filled.replace("CLAIM __", "CLAIM RYE").replace("POT __", "POT E").replace("__", "10")
    lawful, problems = alphabet.check(state, "Ida", alphabet.GRAMMAR.read(filled).orders)
    assert len(lawful) == 6 and not problems
    assert letter(table(7, phase="last", groups={}), "Ida")("form.txt").splitlines() == [
        "CLAIM __",
        "TRADE WITH __ GIVE __ GET __",
    ]
    assert letter(table(7, phase="over", groups={}), "Ida")("form.txt") == ""


def test_the_picture_has_every_tile_on_offer_and_a_text_that_says_them(crowded, table):
    part = letter(crowded.state, None, crowded.events)
    svg, alt = part("picture.svg"), part("picture.txt")
    groups = crowded.state.groups
    assert svg.count("<text") == 7 * len(groups) + 1
    assert picture(svg).startswith(b"\x89PNG")
    assert all(f"group {number} {group.letters}" in alt for number, group in groups.items())
    assert letter(table(7, phase="last", groups={}), None)("picture.svg") == ""


def test_the_headline_says_what_the_turn_brought(crowded, table, turn):
    assert letter(crowded.state, "Ida", crowded.events)("headline.txt") == (
        "Round 3: 1 word formed, 3 of 5 groups sold"
    )
    assert letter(table(1), "Ida")("headline.txt") == "4 groups of letters on offer in round 1"
    last = turn(table(7, phase="last", groups={}, points={"Ida": 1}))
    assert letter(last.state, "Ida", last.events)("headline.txt") == "Ida wins with 1 point"


def test_the_rules_sent_name_every_order_and_their_example_is_true(table, turn):
    text = letter(table(), "Ida")("rules.txt")
    for rule in alphabet.GRAMMAR.rules:
        assert rule.verb in text
    first, second = ("\n".join(re.findall(f"  {who}: +(.*)", text)) for who in ("Ida", "Olle"))
    state = table(
        3,
        seats=("Ida", "Olle"),
        hands={"Ida": "ABEHT", "Olle": "KRY"},
        groups={"7": "ADEHKS", "9": "BEILRX"},
    )
    done = turn(state, Ida=first, Olle=second)
    assert done.refused == {}
    assert done.state.points == {"Ida": 36, "Olle": 27} and "K" in done.state.hands["Ida"]


def test_once_the_match_is_over_all_hands_are_shown_and_nobody_may_form_a_word(table, turn):
    hands, claimed = {"Ida": "ABEHTRY", "Olle": "QZ"}, {"Olle": ["RYE"]}
    last = turn(table(7, phase="last", groups={}, hands=hands, claimed=claimed), Ida="CLAIM BATH")
    text = letter(last.state, "Ida", last.events)("report.txt")
    assert "Ida (you): 20 points, £150, 3 letters E R Y; words BATH" in text
    assert "Olle: 0 points, £150, 2 letters Q Z; words RYE" in text
    markup = letter(last.state, "Ida", last.events)("report.html")
    assert "<td>E R Y<br><b>BATH</b></td>" in markup
    for told in (text, markup):
        assert "In brackets: who has formed it." in told
        assert "still may" not in told


def test_every_report_of_a_match_can_be_written():
    seats = ("Ida", "Olle", "Petra")
    for hands in ("open", "secret"):
        state = alphabet.setup(
            seats, {"words": "towns", "hands": hands}, games.chance("r", 0, "setup")
        )
        events = ()
        for number in range(1, 9):
            for seat in (*seats, None):
                part = letter(state, seat, events)
                names = ("headline.txt", "report.txt", "report.html", "form.txt", "picture.svg")
                written = {name: part(name) for name in names}
                assert "\n" not in written["headline.txt"]
                assert (
                    "Standings" in written["report.txt"] and "Standings" in written["report.html"]
                )
            rng = Random(number)
            texts = {seat: alphabet.bot(state, seat, rng) for seat in alphabet.waiting(state)}
            done = games.play(alphabet, state, texts, "r", number)
            state, events = done.state, done.events


def test_a_forecast_is_told_in_words(table):
    state = table(hands={"Ida": "ERYQ"})
    orders = alphabet.GRAMMAR.read("BID 5 90\nBID 6 61\nCLAIM RYE\nPOT Q").orders
    lawful, _ = alphabet.check(state, "Ida", orders)
    text = letter(state, "Ida")("forecast.txt", events=alphabet.forecast(state, "Ida", lawful))
    assert "You form RYE: 30 points." in text and "Group 5 is yours for £90." in text
    assert "Line 2 has no effect: the bid is void: you had £60 left for it." in text


def test_a_match_ended_by_the_game_master_is_reported_as_such(table):
    done = games.play(alphabet, table(3), {None: "END"}, "r", 1)
    text = letter(done.state, "Ida", done.events)("report.txt")
    assert "The game master has ended the match; the turn was not played." in text
