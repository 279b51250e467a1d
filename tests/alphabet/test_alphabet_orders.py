"""The orders of Alphabet Auction: what their forms take in, and what is refused on arrival."""

import pytest

from pbem.games.alphabet import GRAMMAR, check
from pbem.games.alphabet.sheet import Bid, Claim, Pot, Things, Trade


def read(text, **how):
    return GRAMMAR.read(text, **how)


@pytest.mark.parametrize(
    "text", ["BID 4 40", "bid 4 £40", "BID: 4 = 40 pounds", "* Bid group 4 - 40£.", "BID #4 £ 40"]
)
def test_a_bid_may_name_its_money_in_many_ways(text):
    assert read(text).orders == (Bid(4, 40),)


@pytest.mark.parametrize("text", ["`BID 4 40`", "`BID 4 £40`", '"BID 4 40"', "‘BID 4 40’"])
def test_a_bid_may_stand_between_quotes_or_backticks(text):
    assert read(text).orders == (Bid(4, 40),)


@pytest.mark.parametrize(
    "text",
    ["BID 4", "BID 4 ten", "BID 4 10.50", "BID 4 -5", "BID ADEHKS 10", "BID 4 $10", "BIDD 4 5"],
)
def test_a_bid_gone_wrong_is_refused(text):
    reading = read(text)
    assert reading.orders == () and [problem.line for problem in reading.problems] == [1]


@pytest.mark.parametrize(
    ("text", "letters", "money"),
    [
        ("A,E,F,G,H,J,L,M,N,O, P", "AEFGHJLMNOP", None),
        ("ae", "AE", None),
        ("A and E", "AE", None),
        ("AND", "ADN", None),
        ("A & E + £5", "AE", 5),
        ("5 A", "A", 5),
        ("10 pounds, K", "K", 10),
        ("£20", "", 20),
        ("nothing", "", None),
        ("N, O, T, H, I, N, G", "GHINNOT", None),
        ("GET", "EGT", None),
        ("ae, kt", "AEKT", None),
    ],
)
def test_rule_2_things_are_letters_money_or_both(text, letters, money):
    (trade,) = read(f"TRADE WITH Freya GIVE {text} GET Z").orders
    assert trade == Trade("Freya", Things(letters, money), Things("Z"))
    (trade,) = read(f"TRADE WITH Freya GIVE Z GET {text}").orders
    assert trade == Trade("Freya", Things("Z"), Things(letters, money))


@pytest.mark.parametrize(
    "things",
    [
        "A1",
        "£2.50",
        "£5, £6",
        "£1,000",
        "NOTHING, A",
        "A GET B",
        "€5",
        "é",
        "-",
        "me a call",
        "12A",
    ],
)
def test_rule_2_what_is_not_letters_and_one_sum_is_refused(things):
    reading = read(f"TRADE WITH Freya GIVE {things} GET Z")
    assert reading.orders == () and len(reading.problems) == 1


def test_money_is_read_to_its_last_digit():
    (trade,) = read("TRADE WITH Freya GIVE £123 GET 45 pounds").orders
    assert (trade.goods.money, trade.price.money) == (123, 45)


def test_small_talk_is_no_order_where_no_match_says_which_words_there_are():
    talk = "Claim nothing, fear nothing.\nTrade with you soon, Brannoc.\nPot luck supper on Friday."
    assert read(talk, packaged=True).orders == ()


@pytest.mark.parametrize(
    "order",
    [
        Bid(4, 40),
        Claim(("BATH", "RYE")),
        Pot("Q"),
        Trade("Ida", Things("AE", 10), Things()),
        Trade("Ida", Things("GHINNOT"), Things("", 3)),
    ],
)
def test_an_order_written_reads_back_the_same(order):
    assert read(GRAMMAR.write(order)).orders == (order,)


def test_long_lines_of_any_kind_are_read_in_no_time():
    line = "TRADE WITH Bob " + "GIVE A " * 500 + "GET A " * 600 + "!x?"
    assert read("\n".join([line] * 50)).orders == ()


def refusals(state, text, seat="Ida"):
    lawful, problems = check(state, seat, read(text).orders)
    return lawful, dict(problems)


def test_orders_what_can_never_be_lawful_is_refused_on_arrival(table):
    text = """BID 99 5
        BID 5 0
        CLAIM ZANZIBAR
        TRADE WITH Zeno GIVE A GET B
        TRADE WITH Ida GIVE A GET B
        TRADE WITH Olle GIVE NOTHING GET NOTHING
        TRADE WITH Olle GIVE £0 GET A
        TRADE WITH Olle GIVE A GET £0
        BID 6 5"""
    lawful, refused = refusals(table(only={"6": ["Olle", "Petra"]}), text)
    assert lawful == [] and sorted(refused) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert "Olle and Petra" in refused[9]


def test_orders_what_depends_on_goods_or_money_waits_for_the_turn(table):
    text = "BID 5 9999\nCLAIM BATH\nTRADE WITH Olle GIVE Q, £999 GET X\nPOT Z"
    lawful, refused = refusals(table(), text)
    assert len(lawful) == 4 and not refused


def test_orders_no_bid_and_no_pot_in_turn_7(table):
    state = table(7, phase="last", groups={})
    lawful, refused = refusals(state, "BID 5 5\nPOT A\nCLAIM BATH\nTRADE WITH Olle GIVE A GET B")
    assert sorted(refused) == [1, 2] and len(lawful) == 2


def test_orders_none_when_the_match_is_over(table):
    lawful, refused = refusals(table(7, phase="over", groups={}), "CLAIM BATH\nBID 5 5")
    assert lawful == [] and sorted(refused) == [1, 2]


def test_replacing_a_later_bid_for_the_group_stands_at_its_own_line(table):
    lawful, refused = refusals(table(), "BID 5 30\nBID 6 10\nBID 5 40\nBID 5 0\nBID 5 lots")
    assert [(bid.group, bid.amount, bid.line) for bid in lawful] == [(6, 10, 2), (5, 40, 3)]
    assert sorted(refused) == [4]


def test_rule_3_words_are_whole_and_a_near_miss_is_asked_back(table):
    lawful, refused = refusals(table(), "CLAIM AVIE\nCLAIM BAHT\nclaim bath")
    assert lawful == [Claim(("BATH",))]
    assert "did you mean AVIEMORE?" in refused[1] and "did you mean BATH?" in refused[2]


def test_rule_3_the_good_words_of_a_line_count_though_it_is_refused(table):
    state = table(claimed={"Ida": ["ETON"]})
    lawful, refused = refusals(state, "CLAIM ZANZIBAR BATH ETON RYE")
    assert lawful == [Claim(("BATH", "RYE"))]
    assert "ZANZIBAR" in refused[1] and "ETON" in refused[1] and "BATH" not in refused[1]


def test_rule_3_a_word_twice_in_a_line_is_claimed_once_and_the_line_listed(table):
    lawful, refused = refusals(table(), "CLAIM BATH RYE bath")
    assert lawful == [Claim(("BATH", "RYE"))]
    assert "BATH stands there 2 times" in refused[1]


def test_rule_3_a_line_of_a_thousand_strange_words_is_answered_shortly(table):
    strange = [
        f"{a}{b}LL" for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "ABCDEFGHIJKLMNOPQRSTVWXYZ"
    ]
    lawful, refused = refusals(table(), f"CLAIM {' '.join(strange)} {'BATH ' * 300}")
    assert lawful == [Claim(("BATH",))]
    assert len(refused[1]) < 600 and "more words are not in the list" in refused[1]


def test_names_are_shortened_to_three_letters_not_to_two(table):
    lawful, refused = refusals(
        table(),
        "TRADE WITH pet GIVE A GET B\nTRADE WITH Pe GIVE A GET B\nTRADE WITH Otle GIVE A GET B",
    )
    assert [trade.seat for trade in lawful] == ["Petra"]
    assert sorted(refused) == [2, 3] and "did you mean Olle?" in refused[3]


def test_names_that_may_be_two_seats_are_asked_back(table):
    state = table(seats=("Joan", "Joanna", "Ida"))
    lawful, refused = refusals(state, "TRADE WITH Joa GIVE A GET B\nTRADE WITH Joan GIVE A GET B")
    assert [trade.seat for trade in lawful] == ["Joan"]
    assert "Joan or Joanna" in refused[1]
