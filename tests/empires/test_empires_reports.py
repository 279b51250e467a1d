"""The letters of Empires: complete, narrow enough, drawn; what a form holds is no order."""

import json
import random
from pathlib import Path

import pytest

from pbem import game as games
from pbem import reports
from pbem.games import empires
from pbem.games.empires.tables import columns, labels, table
from pbem.reports.templates import environment, render

CASES = Path(__file__).parent.parent / "cases" / "empires"
PLAYED = Path(__file__).parent / "chart-2-as-freya-reads-it.txt"
NAMES = (
    "Alexandra the Elder",
    "Alexandra the Younger",
    "Bartholomäus <b>",
    "王小明王小明",
    "Konstantinopolous of Thrace",
    "Gil",
    "Ö",
)


def facts(state, seat, events, options, turn=1):
    """Return what a report letter is written from."""
    page = empires.page(state, seat, events)
    return {
        "match": "emp1",
        "title": empires.TITLE,
        "game": "empires",
        "seat": seat,
        "seats": list(state.seats),
        "person": seat or "Gia",
        "turn": turn,
        "phase": state.phase,
        "view": empires.view(state, seat),
        # As JSON, so that nothing else can get into a template.
        "page": json.loads(json.dumps(page)),
        "events": [e for e in events if e.seen_by is None or seat in e.seen_by],
        "options": options,
        "due": seat in empires.waiting(state),
    }


def part(name, given):
    env = environment(None, "empires", name.endswith((".html", ".svg")))
    return render(env, f"empires/{name}", given)


def match(options, names=NAMES):
    """Play a match of bots; yield after each phase the state, its events and its number."""
    rng = random.Random("reports")
    state = empires.setup(names, options, rng)
    yield state, (), 0
    for number in range(1, 60):
        texts = {seat: empires.bot(state, seat, rng) for seat in names}
        # Two who copy each other tie, and contest.
        texts[names[1]] = texts[names[0]] if state.phase == "bid" else texts[names[1]]
        texts[None] = empires.gm_bot(state, rng)
        played = games.play(empires, state, texts, "reports", number)
        state = played.state
        yield state, played.events, number
        if state.phase == "over":
            return
    raise AssertionError("the match does not end")


@pytest.mark.parametrize("announce", ["bids", "claims"])
@pytest.mark.parametrize("scores", ["open", "epoch", "end"])
def test_every_report_of_a_match_is_written_and_keeps_to_72_columns(announce, scores):
    options = games.read_options(
        empires.OPTIONS, {"announce": announce, "scores": scores}, "empires"
    )
    kinds = set()
    for state, events, number in match(options):
        kinds |= {event.kind for event in events}
        for seat in (NAMES[0], NAMES[5], None):
            given = facts(state, seat, events, options, number)
            text = part("report.txt", given)
            assert max(columns(line) for line in text.splitlines()) <= 72
            assert "Bartholomäus <b>" not in part("report.html", given)
            form = part("form.txt", given)
            for gm in (False, True):
                assert empires.GRAMMAR.read(form, gm=gm).orders == ()
    assert kinds >= {"claim", "contest", "charge", "scores_due", "epoch", "balance", "over"}


def test_a_letter_has_text_html_and_the_picture(table, turn):
    played = turn(table(3), Ana="BID Arabs 20", Bo="BID Huns 14")
    words = reports.words("report", facts(played.state, "Cyd", played.events, {"scores": "open"}))
    assert words.subject == "[emp1] Turn 1: epoch IV: Cyd is to pick the last empire"
    assert "Ana gets Arabs for 20." in words.text
    assert "Ana gets Arabs for 20." in words.html
    assert [picture.alt.split(":")[0] for picture in words.pictures] == ["Epoch IV, round 1"]


def test_the_form_filled_in_is_lawful_for_everybody_who_is_asked():
    options = games.read_options(empires.OPTIONS, {}, "empires")
    for state, events, number in match(options):
        for seat in (*empires.waiting(state), *([None] if state.phase == "score" else [])):
            form = part("form.txt", facts(state, seat, events, options, number))
            name = next(iter(state.open), "")
            blank = name if state.phase == "pick" else "1000000"
            filled = form.replace(" __, __, __", f" {name}").replace("__", blank)
            reading = empires.GRAMMAR.read(filled, gm=seat is None)
            lawful, problems = empires.check(state, seat, reading.orders)
            assert (reading.problems, list(problems)) == ((), [])
            lines = [line for line in form.splitlines() if line.endswith("__")]
            assert len(lawful) == len(lines) > 0


@pytest.mark.parametrize(
    ("number", "use"),
    [
        (2, "where you are the last without one after this round."),
        (3, "where this last round leaves any."),
    ],
)
def test_rule_4_who_may_bid_on_nothing_is_told_that_only_prefer_is_of_use(table, number, use):
    """All that is open is contested by two others: rules 5 and 5a may yet ask what he prefers."""
    still_open = list(table(3).open)
    claimed = dict(zip(("Dag", "Eve", "Fay", "Gil"), still_open[3:], strict=False))
    state = table(
        7,
        round=number,
        claims={seat: {"empire": empire, "price": 9} for seat, empire in claimed.items()},
        contested={one: {"seats": ["Ana", "Bo"], "minimum": 20} for one in still_open[:3]},
    )
    assert len(state.open) == len(state.contested) == 3
    given = facts(state, "Cyd", (), {"scores": "open"})
    for name in ("report.txt", "report.html"):
        said = " ".join(part(name, given).split())
        assert "You can't bid this round: others contest all that is still open." in said
        assert use in said
        assert "such as" not in said
        assert "as many as you like" not in said
    assert part("form.txt", given) == "PREFER __, __, __\n"
    theirs = part("form.txt", facts(state, "Ana", (), {"scores": "open"}))
    assert [f"BID {empire} __" in theirs for empire in state.open] == [True] * 3


def test_rule_4_the_bid_shown_for_an_example_is_one_the_reader_may_make(table):
    first, second, *_ = table(3).open
    state = table(3, contested={first: {"seats": ["Ana", "Bo"], "minimum": 20}}, round=2)
    for seat, example in (
        ("Ana", f"BID {first} 20<"),
        ("Cyd", f"BID {second} {state.empires[second]}<"),
    ):
        assert example in part("report.html", facts(state, seat, (), {"scores": "open"}))


def test_the_picture_of_a_round_is_drawn_and_told_in_words(turn, table):
    played = turn(table(7, round=3), Ana="BID Arabs 123456789012", Bo="BID Huns 14")
    given = facts(played.state, "Ana", played.events, {"scores": "open"})
    assert reports.picture(part("picture.svg", given)).startswith(b"\x89PNG")
    said = part("picture.txt", given)
    assert "Epoch IV, round 3" in said
    assert "Bo gets Huns for 14." in said


def test_before_a_bid_there_is_no_picture(table):
    given = facts(table(2), "Ana", (), {"scores": "open"})
    assert part("picture.svg", given).strip() == part("picture.txt", given).strip() == ""


def test_chart_2_reads_as_it_did():
    case = json.loads((CASES / "example-chart-2-whole.json").read_text())
    options = games.read_options(empires.OPTIONS, {}, "empires")
    state = empires.load(case["state"], case["seats"], options)
    letters = []
    for number, orders in enumerate(case["turns"], 1):
        texts = {**orders["orders"], None: orders.get("gm", "")}
        state, events, _ = games.play(empires, state, texts, case["seed"], number)
        given = facts(state, "Freya", events, options, number)
        letters += [part(name, given) for name in ("headline.txt", "report.txt", "form.txt")]
    assert "\n".join(letters).splitlines() == PLAYED.read_text("utf-8").splitlines()


def test_the_rules_are_narrow_hold_their_settings_and_their_example_comes_out(table, turn):
    for announce, told in (("bids", "its bids are told to all"), ("claims", "which empire")):
        for scores, shown in (
            ("open", "open to all"),
            ("epoch", "whenever an epoch"),
            ("end", "your own line only"),
        ):
            rules = part("rules.txt", {"options": {"announce": announce, "scores": scores}})
            assert max(map(len, rules.splitlines())) <= 72
            assert told in rules
            assert shown in rules
    for rule in empires.GRAMMAR.rules:
        assert rule.shown.replace("…", "...") in rules
    # The example among the rules.
    played = turn(
        table(2),
        Ana="BID Arabs 29\nBID Huns 20\nBID Khmers 13",
        Bo="BID Arabs 29\nBID Huns 20\nBID Goths 10",
    )
    assert played.claims == {"Ana": ("Arabs", 29), "Bo": ("Huns", 20)}


def test_the_forecast_is_told_in_a_sentence(table):
    state = table(2)
    orders, _ = empires.check(state, "Ana", empires.GRAMMAR.read("BID Arabs 20").orders)
    said = part("forecast.txt", {"events": empires.forecast(state, "Ana", orders)})
    assert said == "You would get Arabs for 20.\n"
    assert part("forecast.txt", {"events": ()}) == "You would get no empire by these orders.\n"


def test_every_event_has_its_sentence(table, turn):
    texts = {"Ana": "BID Arabs 20\nBID Goths 15", "Bo": "BID Arabs 20\nBID Huns 15"}
    played = turn(table(4, round=3), **texts, Cyd="BID Huns 14")
    page = empires.page(played.state, "Ana", played.events)
    assert {item["kind"] for item in page["story"]} == {
        "contest",
        "blocked",
        "dice",
        "claim",
        "without",
        "scores_due",
    }
    given = facts(played.state, "Ana", played.events, {"scores": "open"})
    told = " ".join(part("report.txt", given).split())
    for item in page["story"]:
        assert item["kind"] == "scores_due" or (item.get("empire") or "rule") in told
    assert "twice the tied bid (rule 4c)" in told


def test_short_names_are_short_and_differ():
    short = labels(NAMES)
    assert len(set(short.values())) == len(NAMES)
    assert all(columns(label) <= 6 for label in short.values())
    assert short["Gil"] == "Gil"
    twins = [f"Seat number {n}" for n in range(1, 13)]
    assert len(set(labels(twins).values())) == 12


def test_a_table_too_wide_is_parted_and_nothing_is_lost():
    head = ["", "SP", *(f"name{n}" for n in range(20))]
    rows = [["Ur", "3", *(f"cell{n}" for n in range(20))]]
    text = table(head, rows, 2)
    assert max(map(len, text.splitlines())) <= 72
    assert all(f"cell{n}" in text for n in range(20))
    assert text.count("SP") == text.count("\n\n") + 1 > 1


def test_a_table_on_a_phone_has_short_names_and_says_whose_they_are(table, turn):
    played = turn(table(7), Ana="BID Arabs 20")
    given = facts(played.state, "Ana", played.events, {"scores": "open"})
    given["page"]["narrow"] |= {"Cyd": "C."}
    markup = part("report.html", given)
    hidden = '<span class="narrow" style="display: none; mso-hide: all;">'
    assert markup.count(f'<span class="wide">Cyd</span>{hidden}C.</span>') == 2
    assert markup.count(f"{hidden} C. = Cyd.</span>") == 1
    begun = empires.setup(
        NAMES, games.read_options(empires.OPTIONS, {}, "empires"), random.Random(1)
    )
    markup = part("report.html", facts(begun, NAMES[0], (), {"scores": "open"}))
    assert "Kon. = Konstantinopolous of Thrace" in markup
    assert "Bar. = Bartholomäus &lt;b&gt;" in markup


def test_scores_that_are_awaited_are_told_of_once(table, turn):
    played = turn(table(2), Ana="BID Arabs 20\nPREFER Huns", Bo="BID Goths 10")
    assert played.state.phase == "score"
    some = turn(played.state, gm="SCORE Ana 5")
    for done, told in ((played, "its points."), (some, "Still missing: Bo.")):
        given = facts(done.state, "Ana", done.events, {"scores": "open"})
        for name in ("report.txt", "report.html"):
            said = " ".join(part(name, given).split())
            assert told in said
            assert "awaited" not in said
            assert ("Still missing" in said) == (done is some)
