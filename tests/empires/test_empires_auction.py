"""Rules 1 to 4a on bare bids, the article's examples, and a slow reading of the rules beside it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.games.empires.auction import (
    Bids,
    Blocked,
    Claimed,
    Contested,
    Step,
    first_choice,
    references,
    resolve,
)

SEATS = ("Odin", "Thor", "Freya", "Hoth", "Brynhilda", "Loki")
CHART_1 = {
    "Guptas": (11, 0, 0, 13, 0),
    "Goths": (16, 0, 0, 14, 10),
    "Huns": (22, 21, 20, 17, 14),
    "Byzantines": (19, 0, 0, 0, 12),
    "Tang Dynasty": (18, 0, 17, 0, 11),
    "Arabs": (34, 37, 18, 20, 18),
    "Khmers": (7, 0, 0, 0, 0),
}
CHART_2 = {
    "Vikings": (18, 20, 20, 20, 0, 0),
    "Holy Roman": (0, 0, 12, 12, 12, 0),
    "Chola": (0, 0, 0, 0, 9, 0),
    "Seljuk Turks": (32, 30, 30, 30, 0, 0),
    "Mongols": (60, 60, 20, 20, 0, 0),
}


def matrix(chart: dict[str, tuple[int, ...]]) -> Bids:
    """Turn a chart of the article (rows empires, columns players) into bids by seat."""
    seats = SEATS[: len(next(iter(chart.values())))]
    return {seat: {e: row[at] for e, row in chart.items()} for at, seat in enumerate(seats)}


def claims(steps: list[Step]) -> dict[str, tuple[str, int]]:
    return {s.seat: (s.empire, s.amount) for s in steps if isinstance(s, Claimed)}


def contests(steps: list[Step]) -> dict[str, tuple[tuple[str, ...], int]]:
    return {s.empire: (s.seats, s.amount) for s in steps if isinstance(s, Contested)}


def blocks(steps: list[Step]) -> dict[str, str]:
    return {s.empire: s.seat for s in steps if isinstance(s, Blocked)}


def step(steps: list[Step], empire: str) -> Step:
    [found] = [s for s in steps if s.empire == empire]
    return found


def test_chart_1_comes_out():
    assert claims(resolve(matrix(CHART_1), {})) == {
        "Thor": ("Arabs", 37),
        "Odin": ("Huns", 22),
        "Freya": ("Tang Dynasty", 17),
        "Hoth": ("Goths", 14),
        "Brynhilda": ("Byzantines", 12),
    }


def test_chart_2_comes_out():
    steps = resolve(matrix(CHART_2), {})
    assert claims(steps) == {
        "Odin": ("Mongols", 60),
        "Thor": ("Seljuk Turks", 30),
        "Brynhilda": ("Chola", 9),
    }
    assert contests(steps) == {
        "Vikings": (("Freya", "Hoth"), 20),
        "Holy Roman": (("Freya", "Hoth"), 12),
    }


def test_example_persia_rule_2_the_lower_one_goes_to_the_next():
    steps = resolve({"Thor": {"Persia": 27, "Chou": 14}, "Odin": {"Chou": 13}}, {})
    assert claims(steps) == {"Thor": ("Persia", 27), "Odin": ("Chou", 13)}
    assert step(steps, "Chou").passed == ("Thor",)


def test_example_macedonia_rule_3_by_37_over_35():
    bids = {
        "Odin": {"Romans": 42},
        "Freya": {"Macedonia": 22, "Romans": 35},
        "Thor": {"Macedonia": 22, "Romans": 37},
    }
    steps = resolve(bids, {})
    assert claims(steps) == {"Odin": ("Romans", 42), "Thor": ("Macedonia", 22)}
    assert step(steps, "Macedonia").tied == ("Freya",)


def test_example_arabs_rule_3_by_the_third_reference():
    bids = {
        "Odin": {"Arabs": 29, "Huns": 20, "Tang": 14, "Byzantines": 13},
        "Loki": {"Arabs": 29, "Huns": 20, "Byzantines": 14, "Goths": 10},
    }
    steps = resolve(bids, {})
    assert claims(steps) == {"Odin": ("Arabs", 29), "Loki": ("Huns", 20)}
    assert references(bids["Odin"], "Arabs") == [20, 14, 13]
    assert references(bids["Loki"], "Arabs") == [20, 14, 10]


def test_rule_1_a_bid_of_0_never_claims():
    assert resolve({"Ana": {"Huns": 0}, "Bo": {}}, {}) == []


def test_rule_2a_equal_leads_by_prefer_then_own_lines():
    bids = {"Ana": {"Huns": 20, "Goths": 20}, "Bo": {"Goths": 12}}
    assert claims(resolve(bids, {}))["Ana"] == ("Huns", 20)
    assert claims(resolve(bids, {"Ana": ("Arabs", "Goths")}))["Ana"] == ("Goths", 20)
    assert first_choice(["Huns", "Goths", "Celts"], (), {"Goths": 0}) == "Goths"
    assert first_choice(["Huns", "Goths"], (), {}) == "Huns"


def test_rule_2_at_one_amount_all_take_at_once_and_then_look_again():
    # Ana and Bo both lead at 20 and take at once; Ana leaves Huns, where Cyd is next at 20 too.
    bids = {
        "Ana": {"Arabs": 20, "Huns": 20, "Khmers": 9},
        "Bo": {"Goths": 20},
        "Cyd": {"Huns": 20},
    }
    steps = resolve(bids, {})
    assert claims(steps) == {
        "Ana": ("Arabs", 20),
        "Bo": ("Goths", 20),
        "Cyd": ("Huns", 20),
    }
    assert step(steps, "Arabs").left == ("Huns",)


def test_rule_2_nobody_goes_down_while_an_amount_has_a_leader():
    # Bo would have a contest with Cyd at 15, but Cyd leads Goths at 15 and is gone first.
    bids = {"Bo": {"Huns": 15}, "Cyd": {"Huns": 15, "Goths": 15}, "Dag": {"Goths": 14}}
    steps = resolve(bids, {"Cyd": ("Goths",)})
    assert claims(steps) == {"Cyd": ("Goths", 15), "Bo": ("Huns", 15)}


def test_rule_3_whoever_wins_a_tie_leads_like_a_sole_highest_bidder():
    bids = {"Ana": {"Arabs": 20, "Huns": 20}, "Bo": {"Arabs": 20, "Huns": 19}}
    assert claims(resolve(bids, {"Ana": ("Huns",)})) == {"Ana": ("Huns", 20), "Bo": ("Arabs", 20)}


def test_rule_3_a_missing_reference_is_0():
    bids = {"Ana": {"Arabs": 22, "Huns": 16}, "Bo": {"Arabs": 22, "Goths": 16, "Khmers": 5}}
    assert claims(resolve(bids, {}))["Bo"] == ("Arabs", 22)


def test_rule_4_all_alike_is_a_contest_of_exactly_the_tied():
    bids = {
        "Ana": {"Arabs": 20, "Huns": 15},
        "Bo": {"Arabs": 20, "Goths": 15},
        "Cyd": {"Arabs": 20, "Huns": 14},
    }
    steps = resolve(bids, {})
    assert contests(steps) == {"Arabs": (("Ana", "Bo"), 20)}
    assert step(steps, "Arabs").lost == ("Cyd",)


def test_rule_4a_a_waiting_player_who_is_best_blocks_and_the_other_goes_on_down():
    bids = {
        "Ana": {"Arabs": 20, "Huns": 15},
        "Bo": {"Arabs": 20, "Goths": 15},
        "Cyd": {"Huns": 14, "Khmers": 5},
    }
    steps = resolve(bids, {})
    assert blocks(steps) == {"Huns": "Ana", "Goths": "Bo"}
    assert claims(steps) == {"Cyd": ("Khmers", 5)}


def test_rule_4a_a_free_player_tied_with_a_waiting_one_waits_too():
    # Ana and Bo contest Arabs; Cyd's list equals Bo's, so Huns is contested by Bo and Cyd.
    bids = {
        "Ana": {"Arabs": 20, "Goths": 15},
        "Bo": {"Arabs": 20, "Huns": 15},
        "Cyd": {"Byzantines": 20, "Huns": 15, "Khmers": 0},
        "Dag": {"Byzantines": 21},
    }
    steps = resolve(bids, {})
    assert contests(steps) == {"Arabs": (("Ana", "Bo"), 20), "Huns": (("Bo", "Cyd"), 15)}
    assert blocks(steps) == {"Goths": "Ana"}


def literal(bids: Bids, prefer: dict[str, tuple[str, ...]]) -> list[tuple[object, ...]]:
    """Read the rules word by word, looking at everything again after each step; slow."""
    free, waiting = list(bids), set()
    open_ = list(dict.fromkeys(e for mine in bids.values() for e in mine))
    told: list[tuple[object, ...]] = []

    def bid(seat: str, empire: str) -> int:
        return bids[seat].get(empire, 0)

    def listed(seat: str, empire: str) -> list[int]:
        others = sorted((n for e, n in bids[seat].items() if e != empire), reverse=True)
        return others + [0] * (20 - len(others))

    def best(empire: str) -> list[str]:
        top = [s for s in free if bid(s, empire) == max(bid(t, empire) for t in free)]
        return [s for s in top if listed(s, empire) == max(listed(t, empire) for t in top)]

    def highest() -> int:
        return max((bid(s, e) for s in free for e in open_), default=0)

    while amount := highest():
        leads: dict[str, list[str]] = {}
        for empire in list(open_):
            if max(bid(s, empire) for s in free) == amount and len(best(empire)) == 1:
                [seat] = best(empire)
                if seat in waiting:
                    told.append(("blocked", empire, seat))
                    open_.remove(empire)
                else:
                    leads.setdefault(seat, []).append(empire)
        for seat, empires in leads.items():
            order = list(dict.fromkeys([*prefer.get(seat, ()), *bids[seat]]))
            empire = min(empires, key=order.index)
            told.append(("claimed", empire, seat, amount))
            open_.remove(empire)
            free.remove(seat)
        if not leads:
            tied = [e for e in open_ if max(bid(s, e) for s in free) == amount]
            groups = {empire: best(empire) for empire in tied}
            for empire, seats in groups.items():
                told.append(("contested", empire, tuple(seats), amount))
                open_.remove(empire)
                waiting.update(seats)
    return told


def plain(one: Step) -> tuple[object, ...]:
    match one:
        case Claimed(empire, seat, amount):
            return ("claimed", empire, seat, amount)
        case Contested(empire, seats, amount):
            return ("contested", empire, seats, amount)
    return ("blocked", one.empire, one.seat)


@st.composite
def rounds(draw: st.DrawFn) -> tuple[Bids, dict[str, tuple[str, ...]]]:
    """Draw a round rich in ties: few amounts, often the same sheet twice."""
    seats = SEATS[: draw(st.integers(2, 6))]
    empires = "ABCDEFG"[: draw(st.integers(len(seats), 7))]
    amount = st.integers(0, draw(st.sampled_from((1, 2, 4, 30))))
    sheets = draw(st.lists(st.dictionaries(st.sampled_from(empires), amount), min_size=1))
    bids = {seat: draw(st.sampled_from(sheets)) for seat in seats}
    wishes = st.lists(st.sampled_from(empires), unique=True).map(tuple)
    return bids, draw(st.dictionaries(st.sampled_from(seats), wishes))


@settings(max_examples=300, deadline=None)
@given(rounds())
def test_rules_1_to_4a_as_a_word_by_word_reading_has_them(drawn):
    bids, prefer = drawn
    steps = resolve(bids, prefer)
    assert sorted(map(plain, steps), key=repr) == sorted(literal(bids, prefer), key=repr)


@settings(max_examples=200, deadline=None)
@given(rounds())
def test_no_step_gives_an_empire_or_a_seat_away_twice(drawn):
    bids, prefer = drawn
    steps = resolve(bids, prefer)
    assert len({one.empire for one in steps}) == len(steps)
    assert len(claims(steps)) == sum(isinstance(one, Claimed) for one in steps)
    for seat, (empire, amount) in claims(steps).items():
        assert bids[seat][empire] == amount > 0


@pytest.mark.parametrize("seats", [1, 2, 7])
def test_rule_4_everybody_alike_contests_everything(seats):
    bids = {f"s{n}": {"A": 9, "B": 5} for n in range(seats)}
    steps = resolve(bids, {})
    if seats == 1:
        assert claims(steps) == {"s0": ("A", 9)}
    else:
        assert contests(steps) == {"A": (tuple(bids), 9), "B": (tuple(bids), 5)}
