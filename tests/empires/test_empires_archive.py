"""The archive's facts of Empires: the article's charts worked by hand."""

import pytest

from pbem.archive import published
from pbem.games import empires
from tests.games import scripted

GODS = ("Odin", "Thor", "Freya", "Hoth", "Brynhilda", "Loki")
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
ROUND_2 = {
    "Freya": "Good luck to all!\nBID Vikings 22\nBID Holy Roman 12",
    "Hoth": "BID Vikings 20\nBID Holy Roman 14\nBID Chola 9",
    "Loki": "BID Sung 12; BID Sung 0\nPREFER Franks, Sung Dynasty",
}


def sheets(chart, seats):
    """Write each seat's bids of a chart as its order text."""
    return {
        seat: "\n".join(f"BID {empire} {bids[at]}" for empire, bids in chart.items())
        for at, seat in enumerate(seats)
    }


def play(seats, *phases, epoch=1, **options):
    """Return the record of a match that begins in an epoch."""
    return scripted.record("empires", seats, phases, {"epoch": epoch}, **options)


@pytest.fixture(scope="module")
def chart_2():
    scores = {"": "\n".join(f"SCORE {seat} {at * 5}" for at, seat in enumerate(GODS, 1))}
    return play(GODS, sheets(CHART_2, GODS), ROUND_2, scores, epoch=5)


def grounds(record, number=1):
    """Return of each step its result and the rules with their figures."""
    return [
        (
            step["item"].get("seat"),
            step["item"].get("empire"),
            [(ground["rule"], ground["figures"]) for ground in step["grounds"]],
        )
        for step in empires.chapter(record, number)["steps"]
        if step["item"]["kind"] in ("claim", "contest", "blocked")
    ]


def above(record, number=1):
    return {one["seat"]: one["above"] for one in empires.chapter(record, number)["paid"]}


def test_chart_1_what_each_paid_above_the_next_bid():
    record = play(GODS[:5], sheets(CHART_1, GODS[:5]), epoch=4)
    page = empires.chapter(record, 1)
    assert [(c["seat"], c["price"], c["next"], c["rivals"]) for c in page["paid"]] == [
        ("Thor", 37, 34, ["Odin"]),
        ("Odin", 22, 21, ["Thor"]),
        ("Freya", 17, 11, ["Brynhilda"]),
        ("Hoth", 14, 10, ["Brynhilda"]),
        ("Brynhilda", 12, 12, []),
    ]
    assert page["above"] == 3 + 1 + 6 + 4 + 0


def test_chart_1_the_rules_that_decided_with_their_figures():
    record = play(GODS[:5], sheets(CHART_1, GODS[:5]), epoch=4)
    assert grounds(record) == [
        ("Thor", "Arabs", [("1", "34 < 37")]),
        ("Odin", "Huns", [("1", "20 < 22")]),
        ("Freya", "Tang Dynasty", [("2", "18 struck out"), ("1", "11 < 17")]),
        ("Hoth", "Goths", [("2", "16 struck out"), ("1", "10 < 14")]),
        ("Brynhilda", "Byzantines", [("2", "19 struck out"), ("1", "only 12")]),
    ]


def test_chart_2_round_1_step_by_step(chart_2):
    assert grounds(chart_2) == [
        ("Odin", "Mongols", [("3", "30 < 32")]),
        ("Thor", "Seljuk Turks", [("2", "32 struck out"), ("3", "20 < 60")]),
        (None, "Vikings", [("4", "20 = 20, 30 = 30, 20 = 20, 12 = 12")]),
        (None, "Holy Roman", [("3", "9 < 30"), ("4", "12 = 12, 30 = 30, 20 = 20, 20 = 20")]),
        ("Brynhilda", "Chola", [("1", "only 9")]),
    ]


def test_chart_2_contests_with_their_minimums_and_what_is_open_to_all(chart_2):
    page = empires.chapter(chart_2, 1)
    assert [(one["empire"], one["least"], one["only"]) for one in page["open"]] == [
        ("Franks", 10, []),
        ("Vikings", 20, ["Freya", "Hoth"]),
        ("Holy Roman", 12, ["Freya", "Hoth"]),
        ("Sung Dynasty", 9, []),
    ]
    assert page["free"] == ["Freya", "Hoth", "Loki"]


def test_chart_2_the_matrix_as_the_template_has_it(chart_2):
    first, second = (empires.chapter(chart_2, number)["matrix"] for number in (1, 2))
    assert {
        row["empire"]: tuple(cell["bid"] for cell in row["cells"])
        for row in first["rows"]
        if row["empire"] in CHART_2
    } == CHART_2
    cells = {
        (row["empire"], cell["seat"]): (cell["mark"], cell["heat"])
        for row in first["rows"]
        for cell in row["cells"]
    }
    assert cells["Mongols", "Odin"] == ("claim", 1.0)
    assert cells["Mongols", "Thor"] == ("", 1.0)
    assert cells["Vikings", "Hoth"] == ("contest", 0.33)
    assert cells["Franks", "Loki"] == ("", 0.0)
    assert second["seats"] == ["Freya", "Hoth", "Loki"]
    assert [(row["empire"], row["least"]) for row in second["rows"]] == [
        ("Franks", 10),
        ("Vikings", 20),
        ("Holy Roman", 12),
        ("Sung Dynasty", 9),
    ]
    # Loki gets the Franks by his preference: the price stands where he bid nothing.
    assert second["rows"][0]["cells"][2] == {
        "seat": "Loki", "bid": 0, "heat": 0.0, "mark": "claim", "price": 10,
    }  # fmt: skip
    assert (second["picked"], second["repriced"]) == (True, False)


def test_chart_2_what_became_of_each_line(chart_2):
    first = empires.chapter(chart_2, 1)["became"]
    assert first["Odin"] == {
        1: "less than the 20 at which others contest it (rule 4)",
        2: "no bid: 0 never claims (rule 1)",
        3: "no bid: 0 never claims (rule 1)",
        4: "fell away: Odin has Mongols",
        5: "won at 60, tied with Thor: 30 < 32 (rule 3)",
    }
    assert first["Thor"][4] == "won at 30, tied with Freya and Hoth: 20 < 60 (rule 3)"
    assert first["Thor"][5] == "tied with Odin at 60, and lost: 30 < 32 (rule 3)"
    assert first["Freya"] == {
        1: "tied with Hoth at 20 in all bids: contested next, 20 or more (rule 4)",
        2: "tied with Hoth at 12 in all bids: contested next, 12 or more (rule 4)",
        3: "no bid: 0 never claims (rule 1)",
        4: "tied with Thor at 30, and lost: 20 < 60 (rule 3)",
        5: "lost to Odin's 60",
    }
    assert first["Brynhilda"][2] == "tied with Freya at 12, and lost: 9 < 30 (rule 3)"
    assert first["Brynhilda"][3] == "won at 9, the only bid for it"
    # Freya's first line is chat, Hoth's third refused: the record has that.
    second = empires.chapter(chart_2, 2)["became"]
    assert second["Freya"] == {
        2: "won at 22, 2 above Hoth's 20",
        3: "lost to Hoth's 14",
    }
    assert second["Hoth"] == {
        1: "lost to Freya's 22",
        2: "won at 14, 2 above Freya's 12",
    }
    assert second["Loki"] == {
        1: "replaced by line 1; no bid: 0 never claims (rule 1)",
        2: "chose Franks (rule 5)",
    }


def test_chart_2_the_game_masters_lines_and_the_accounts(chart_2):
    page = empires.chapter(chart_2, 3)
    assert page["became"][""][6] == "Loki scores 30"
    assert page["balances"][0] == {
        "seat": "Odin", "empire": "Mongols", "price": 60, "points": 5, "vp": -55,
    }  # fmt: skip
    assert page["matrix"] is None and page["paid"] == []


def test_chart_2_the_page_of_the_match(chart_2):
    page = empires.course(chart_2)
    [epoch] = page["epochs"]
    assert [(one["turn"], one["round"]) for one in epoch["turns"]] == [(1, 1), (2, 2)]
    assert (epoch["name"], epoch["paid"], epoch["above"]) == ("V", 60 + 30 + 9 + 22 + 14 + 10, 5)
    rows = {row["empire"]: row for row in epoch["rows"]}
    assert (rows["Vikings"]["most"], rows["Vikings"]["by"]) == (22, ["Freya"])
    assert (rows["Mongols"]["most"], rows["Mongols"]["by"]) == (60, ["Odin", "Thor"])
    assert rows["Sung Dynasty"]["claim"] is None
    assert page["charts"][0]["seats"]["Odin"] == [0, -55]
    assert page["charts"][1]["seats"]["Loki"] == [0, 10]
    assert [(one["seat"], one["gain"]) for one in page["bargains"]][:2] == [
        ("Loki", 20),
        ("Brynhilda", 16),
    ]
    assert [(one["seat"], one["above"]) for one in page["dearest"]] == [
        ("Freya", 2),
        ("Hoth", 2),
        ("Brynhilda", 1),
    ]
    totals = {row["seat"]: row for row in page["totals"]}
    assert totals["Thor"]["most"] == {"amount": 60, "empire": "Mongols", "got": False, "turn": 1}
    assert page["ledger"]["rows"][0] == {
        "seat": "Loki", "vp": 20, "epochs": [{"price": 10, "points": 30, "net": 20}],
    }  # fmt: skip


def axis(record):
    """Return what stands along the bottom of the charts, with its turns."""
    charts = empires.course(record)["charts"]
    if not charts:
        return []
    [(along, places, turns)] = {
        (c["along"], *map(tuple, (c["places"], c["turns"]))) for c in charts
    }
    assert along == "epoch"
    assert all(len(values) == len(places) for c in charts for values in c["seats"].values())
    return list(zip(places, turns, strict=True))


def test_the_charts_go_from_one_epochs_end_to_the_next():
    bids = {"Odin": "BID Arabs 30\nBID Romans 30", "Thor": "BID Huns 20\nBID Macedonia 20"}
    scores = {"": "SCORE Odin 12\nSCORE Thor 31"}
    record = play(GODS[:2], bids, scores, bids, scores, epoch=3)
    assert axis(record) == [("start", 0), ("III", 2), ("IV", 4)]
    until = {**record, "turns": record["turns"][:3]}
    assert axis(until) == [("start", 0), ("III", 2)]
    [vp, paid] = empires.course(until)["charts"]
    assert vp["title"] == "Victory points"
    assert vp["seats"] == {"Odin": [0, 12 - 30], "Thor": [0, 31 - 20]}
    assert paid["seats"] == {"Odin": [0, 30], "Thor": [0, 20]}


def test_an_epoch_under_way_comes_last_and_is_named_as_such():
    bids = {"Odin": "BID Arabs 30\nBID Romans 30", "Thor": "BID Huns 20\nBID Macedonia 20"}
    scores = {"": "SCORE Odin 12\nSCORE Thor 31"}
    record = play(GODS[:2], bids, scores, bids, epoch=3)
    assert axis(record) == [("start", 0), ("III", 2), ("IV so far", 3)]
    assert empires.course(record)["charts"][0]["seats"]["Odin"] == [0, -18, -48]
    ended = play(GODS[:2], bids, scores, bids, {"": "END"}, epoch=3)
    assert axis(ended) == [("start", 0), ("III", 2), ("IV unfinished", 4)]
    # Where it is ended before anything came of the epoch there is nothing of it to show.
    assert axis(play(GODS[:2], bids, scores, {"": "END"}, epoch=3)) == [("start", 0), ("III", 2)]
    # A beginning alone is no course.
    assert axis(play(GODS[:2], epoch=3)) == []


def test_vp_that_are_hidden_until_the_end_have_no_chart_before():
    bids = {"Odin": "BID Arabs 30", "Thor": "BID Huns 20"}
    scores = {"": "SCORE Odin 12\nSCORE Thor 31"}
    record = play(GODS[:2], bids, scores, bids, epoch=4, scores="end")
    shown = published({**record, "status": "running"})
    assert [chart["title"] for chart in empires.course(shown)["charts"]] == [
        "Paid for empires in all"
    ]


def test_rule_2_persia_and_chou():
    record = play(GODS[:2], {"Thor": "BID Persia 27\nBID Chou 14", "Odin": "BID Chou 13"}, epoch=2)
    assert grounds(record)[1] == (
        "Odin",
        "Chou Dynasty",
        [("2", "14 struck out"), ("1", "only 13")],
    )
    became = empires.chapter(record, 1)["became"]
    assert became["Odin"] == {
        1: "won at 13, the last bid left for it; Thor bid 14, and has Persia (rule 2)"
    }
    assert became["Thor"] == {
        1: "won at 27, the only bid for it",
        2: "fell away: Thor has Persia",
    }


def test_rule_2a_names_what_was_left():
    record = play(GODS[:2], {"Odin": "BID Huns 20\nBID Arabs 20\nPREFER Arabs"}, epoch=4)
    assert grounds(record)[0] == ("Odin", "Arabs", [("1", "only 20"), ("2a", "20 = 20")])
    assert empires.chapter(record, 1)["became"]["Odin"][3] == "chose Arabs before Huns (rule 2a)"


def test_rule_3_macedonia_is_decided_by_35_against_37():
    record = play(
        GODS[:3],
        {
            "Odin": "BID Romans 42",
            "Freya": "BID Macedonia 22\nBID Romans 35",
            "Thor": "BID Macedonia 22\nBID Romans 37",
        },
        epoch=3,
    )
    assert grounds(record)[1] == ("Thor", "Macedonia", [("3", "35 < 37")])
    page = scripted.pages(record)["turn-1"]
    assert '<b>rule 3:</b> <b class="key">35 &lt; 37</b>' in page


def test_rule_3_arabs_are_decided_by_the_fourth_bid():
    record = play(
        GODS,
        {
            "Odin": "BID Arabs 29\nBID Huns 20\nBID Tang 14\nBID Byz 13",
            "Loki": "BID Arabs 29\nBID Huns 20\nBID Byz 14\nBID Goths 10",
        },
        epoch=4,
    )
    assert grounds(record)[0] == ("Odin", "Arabs", [("3", "20 = 20, 14 = 14, 10 < 13")])


def test_rule_4a_who_waits_for_a_contest_blocks():
    record = play(
        GODS[:3],
        {
            "Odin": "BID Arabs 20\nBID Huns 15",
            "Thor": "BID Arabs 20\nBID Goths 15",
            "Freya": "BID Huns 14",
        },
        epoch=4,
    )
    assert ("Odin", "Huns", [("4a", "14 < 15")]) in grounds(record)
    page = empires.chapter(record, 1)
    assert "block" in page["matrix"]["marks"]
    assert page["became"]["Odin"][2] == (
        "best, but gets nothing now: a contest is waited for (rule 4a)"
    )
    assert page["became"]["Freya"][1] == (
        "not the best: Odin's 15 is, which waits for a contest (rule 4a)"
    )


def test_rule_4c_twice_the_bid_is_as_much_above_it():
    alike = dict.fromkeys(GODS[:3], "BID Arabs 20\nBID Huns 15")
    record = play(GODS[:3], alike, alike, alike, epoch=4)
    page = empires.chapter(record, 3)
    first, second = page["paid"]
    third = page["free"][0]
    assert (first["empire"], first["price"], first["next"], first["above"]) == ("Arabs", 40, 20, 20)
    assert (second["empire"], second["price"], second["above"]) == ("Huns", 30, 15)
    assert above(record, 3) == {first["seat"]: 20, second["seat"]: 15}
    assert page["matrix"]["repriced"]
    became = page["became"]
    assert became[first["seat"]][1] == ("tied at 20; the dice gave it for twice that, 40 (rule 4c)")
    assert became[third][1].endswith(f"the dice gave it to {first['seat']} (rule 4c)")
    figures = [ground["figures"] for step in page["steps"] for ground in step["grounds"]]
    assert "2 × 20 = 40" in figures and "2 × 15 = 30" in figures


def test_rule_5_who_picks_pays_nothing_above():
    record = play(GODS[:2], {"Odin": "BID Arabs 20"}, {"Thor": "PICK Goths"}, epoch=4)
    page = empires.chapter(record, 2)
    assert [(one["seat"], one["price"], one["above"]) for one in page["paid"]] == [("Thor", 10, 0)]
    assert page["became"]["Thor"] == {1: "Goths for its strength, 10 (rule 5)"}
    assert page["steps"][0]["grounds"][0]["rule"] == "5"


def test_rule_5a_two_left_after_round_3_pay_the_strength():
    record = play(GODS[:2], {}, {}, {"Odin": "PREFER Arabs"}, epoch=4)
    page = empires.chapter(record, 3)
    assert {one["by"] for one in page["paid"]} == {"roll"}
    assert page["above"] == 0
    assert page["became"]["Odin"] == {1: "chose Arabs (rule 5a)"}


def test_a_match_that_the_game_master_ends_has_no_round_resolved():
    record = play(GODS[:2], {}, {"Odin": "BID Arabs 20", "": "END"}, epoch=4)
    page = empires.chapter(record, 2)
    assert page["matrix"] is None and page["paid"] == []
    assert page["became"]["Odin"] == {1: "not carried out: the game master ended the match"}
    assert len(empires.course(record)["epochs"][0]["turns"]) == 1
