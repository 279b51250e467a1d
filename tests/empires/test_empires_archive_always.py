"""The archive of Empires in matches drawn at random: sums, secrecy, pages."""

import copy
import json
import random

import pytest

from pbem.archive import published
from pbem.games import empires
from tests.games import matches, scripted

GODS = ("Odin", "Thor", "Freya", "Hoth", "Brynhilda", "Loki")


def play(seats, *phases, epoch=1, **options):
    """Return the record of a match that begins in an epoch."""
    return scripted.record("empires", seats, phases, {"epoch": epoch}, **options)


def drawn(rng, state):
    """Draw order texts full of ties, with chat, replaced, faulty and doubled lines."""
    texts = {}
    for seat in state.free if state.phase in ("bid", "pick") else ():
        lines = []
        for name in rng.sample(list(state.empires), rng.randint(0, 5)):
            lines.append(f"BID {name} {state.empires[name] + rng.randint(-1, 2)}")
        if rng.random() < 0.4:
            lines.append(f"PREFER {', '.join(rng.sample(list(state.empires), 2))}")
        lines += rng.sample(
            ["hello", f"PICK {rng.choice(list(state.empires))}", "BID Atlantis 5", "BID"], 2
        )
        if len(lines) > 3 and rng.random() < 0.5:
            lines[:2] = ["; ".join(lines[:2])]
        texts[seat] = "\n".join(lines)
    if state.phase == "score":
        texts[""] = "\n".join(f"SCORE {seat} {rng.randint(-3, 30)}" for seat in state.seats)
    return texts


def drawn_match(rng, seats, epochs=2, **options):
    """Return the record of a match from order texts drawn at random."""
    given = {"epoch": 8 - epochs}
    read = {"sheet": None, "announce": "bids", "scores": "open"} | options
    state, phases = empires.load(given, GODS[:seats], read), []
    while state.phase != "over":
        phases.append(drawn(rng, state))
        record = scripted.record("empires", GODS[:seats], phases, given, **options)
        state = empires.load(record["turns"][-1]["state"], GODS[:seats], read)
    return record


@pytest.mark.parametrize("number", range(12))
def test_every_order_line_has_an_outcome_and_all_sums_agree(number):
    record = drawn_match(random.Random(number), 2 + number % 5)
    for turn in record["turns"]:
        number = turn["number"]
        assert scripted.untold(record, number) == []
        until = {**record, "turns": record["turns"][: number + 1]}
        assert empires.chapter(record, number) == empires.chapter(until, number)
    course, last = empires.course(record), record["turns"][-1]["state"]
    prices = {}
    expected = 0
    for past in last["past"]:
        prices.update({(past["epoch"], seat): c["price"] for seat, c in past["claims"].items()})
        expected += overpaid(past)
    told = {
        (row["claim"]["number"], row["claim"]["seat"]): row["claim"]["price"]
        for epoch in course["epochs"]
        for row in epoch["rows"]
        if row["claim"]
    }
    assert told == prices
    assert sum(row["above"] for row in course["totals"]) == expected
    assert sum(epoch["above"] for epoch in course["epochs"]) == expected
    assert expected == sum(
        empires.chapter(record, turn["number"])["above"] for turn in record["turns"]
    )
    for row in course["totals"]:
        assert row["scored"] - row["paid"] == last["vp"][row["seat"]]
        assert course["charts"][1]["seats"][row["seat"]][-1] == row["paid"]


def overpaid(past):
    """Sum up what an epoch's claims cost above the next bids, from the stored bids alone."""
    total, contested = 0, {}
    for one in past["rounds"]:
        bids = one["bids"]
        for seat, claim in one["claims"].items():
            empire, price = claim["empire"], claim["price"]
            mine = bids[seat].get(empire, 0) if seat in bids else 0
            # Neither the bid nor twice the bid: it was got for its strength.
            if not mine or price not in (mine, 2 * mine) or (mine > price):
                continue
            lower = [b.get(empire, 0) for who, b in bids.items() if who != seat]
            least = contested.get(empire, past["empires"][empire])
            total += price - max([least, *(bid for bid in lower if bid <= price)])
        contested = {
            empire: max(mine.get(empire, 0) for mine in bids.values()) for empire in past["empires"]
        }
        taken = {claim["empire"] for claim in one["claims"].values()}
        contested = {e: n for e, n in contested.items() if n and e not in taken and _tied(bids, e)}
    return total


def _tied(bids, empire):
    """Tell whether the best bid on an empire is one of several seats' with all bids alike."""
    most = max(mine.get(empire, 0) for mine in bids.values())
    lists = [sorted(mine.values()) for mine in bids.values() if mine.get(empire) == most]
    return most > 0 and len(lists) > 1 and lists.count(max(lists)) > 1


def test_secrecy_with_claims_alone_told_matches_that_differ_in_lost_bids_look_the_same():
    rng = random.Random(4)
    names = ("Arabs", "Huns", "Goths", "Guptas")
    compared = 0
    for _ in range(60):
        bids = {seat: {name: rng.randint(18, 24) for name in names} for seat in GODS[:3]}
        other = copy.deepcopy(bids)
        other[rng.choice(GODS[:3])][rng.choice(names)] -= 1
        whole, shown = [], []
        for one in (bids, other):
            texts = {
                seat: "\n".join(f"BID {name} {amount}" for name, amount in mine.items())
                for seat, mine in one.items()
            }
            record = play(GODS[:3], texts, epoch=4, announce="claims", scores="end")
            whole.append([empires.course(record), empires.chapter(record, 1)])
            public = published({**record, "status": "running"})
            shown.append((public, [empires.course(public), empires.chapter(public, 1)]))
        if shown[0][0]["turns"] == shown[1][0]["turns"]:
            compared += 1
            assert whole[0] != whole[1]
            assert json.dumps(shown[0][1]) == json.dumps(shown[1][1])
    assert compared > 10


def test_while_only_claims_are_told_the_page_says_what_comes_later():
    texts = {"Odin": "BID Arabs 30", "Thor": "BID Arabs 25\nBID Huns 20"}
    record = play(GODS[:2], texts, epoch=4, announce="claims", scores="end")
    shown = published({**record, "status": "running"})
    page = empires.chapter(shown, 1)
    assert page["became"] == {} and page["above"] is None
    assert {cell["bid"] for row in page["matrix"]["rows"] for cell in row["cells"]} == {None}
    assert [(one["seat"], one["price"], one["next"]) for one in page["paid"]] == [
        ("Odin", 30, None),
        ("Thor", 20, None),
    ]
    assert [step["told"] for step in page["steps"]] == [False, False, True]
    pages = scripted.pages(shown)
    assert "The rules and the bids that decided the claims are told" in pages["turn-1"]
    assert "25" not in pages["turn-1"] and "25" not in pages["course"]


def test_where_nothing_is_revealed_nothing_is_promised_for_the_end():
    texts = {"Odin": "BID Arabs 30", "Thor": "BID Arabs 25\nBID Huns 20"}
    scores = {"": "SCORE Odin 12\nSCORE Thor 31"}
    how = {"epoch": 4, "announce": "claims", "scores": "end"}
    running = play(GODS[:2], texts, scores, **how)
    over = play(GODS[:2], texts, scores, {"": "END"}, **how)
    for status, record in (("running", running), ("over", over)):
        sealed = {**record, "status": status, "settings": {"reveal": "never"}}
        pages = scripted.pages(published(sealed))
        assert not any("when the match is over" in page for page in pages.values())
        assert "The other bids stay secret." in pages["course"]
        assert "who bid most" not in pages["course"] and "overpaid" not in pages["course"]
        assert "? stays secret." in pages["turn-1"]
        assert "that decided the claims stay secret." in pages["turn-1"]
        # What each came to is told at the end, and how is not: that is no course.
        page = empires.course(published(sealed))
        assert [chart["title"] for chart in page["charts"]] == ["Paid for empires in all"]
        known = [row["vp"] for row in page["ledger"]["rows"]]
        assert known == ([11, -18] if status == "over" else [None, None])
        assert ("<b>11</b>" in pages["course"]) == (status == "over")
    later = scripted.pages(published({**running, "status": "running"}))
    assert "The other bids are told when the match is over." in later["course"]
    assert "? is told when the match is over." in later["turn-1"]


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("seats", [2, 7])
def test_all_pages_are_written_of_a_match_that_runs_and_of_one_that_is_over(way, seats):
    table, turns = matches.match("empires", way, seats)
    given = [{seat or "": text for seat, text in turn.texts.items() if text} for turn in turns]
    record = scripted.record("empires", table.seats, given, None, **table.options)
    sealed = published({**record, "settings": {"reveal": "never"}})
    for shown in (record, sealed, published({**record, "status": "running"})):
        pages = scripted.pages(shown)
        assert len(pages) == len(turns) + 2
        assert all(len(page.encode()) < 100_000 for page in pages.values())
        assert "the best bargains" in pages["course"].lower() or not shown["whole"]


def test_hostile_names_are_nothing_but_text():
    seats = ("<script>x</script>", "' onload=x \"", "Bo & Co")
    sheet = [{"name": "<i>I</i>", "empires": {"A <u": 5, "B&b": 6, "C": 7}}]
    record = scripted.record(
        "empires", seats, [{seats[0]: "BID C 9", seats[1]: "BID C 8\nBID B&b 7"}], None, sheet=sheet
    )
    for page in scripted.pages(record).values():
        for bad in ("<script", "<i>", "<u", '" onload', "' onload=x \"", "Bo & Co", "B&b"):
            assert bad not in page
    assert "A &lt;u" in scripted.pages(record)["turn-1"]
