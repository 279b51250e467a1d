"""What letters say: every kind, in text and HTML, whatever the names in it (mail.md, way out)."""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from pbem import typography
from pbem.game import Event
from pbem.marker import FORM_BEGIN, FORM_END, MARKER
from pbem.reports import rules, words
from pbem.reports.letters import LONGEST_SUBJECT
from pbem.reports.templates import columns, fit, printable, wrap

KINDS = ["welcome", "report", "over", "receipt", "confirm", "deadline", "reminder", "notice"]
KINDS += ["join", "address", "press"]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
Facts = dict[str, Any]


def shown(html: str) -> str:
    """Return the text that a reader of the HTML sees, white space folded."""
    body = LexborHTMLParser(html).body
    assert body is not None
    return " ".join(body.text(separator=" ").split())


def tags(html: str) -> list[str]:
    return [node.tag or "" for node in LexborHTMLParser(html).css("*")]


@EVERY_KIND
def test_text_begins_with_the_marker_and_keeps_to_72_columns(kind: str, facts: Facts) -> None:
    facts["person"] = "Wolfgang " * 20
    facts["notes"] = ["日本語のプレイヤー " * 12, "A sentence that goes on. " * 9]
    lines = words(kind, facts).text.split("\n")
    assert lines[0] == MARKER
    assert max(map(columns, lines)) <= 72
    assert not any(line != line.rstrip() for line in lines)


@EVERY_KIND
def test_text_without_blanks_keeps_to_72_columns_too(kind: str, facts: Facts) -> None:
    long, wide = "x" * 500, "漢字" * 120
    facts["person"] = facts["sender"] = facts["about"] = long
    facts["notes"] = facts["sheet"] = facts["sentences"] = facts["remedies"] = [long, wide]
    facts["press"] = [{"by": long, "to": wide, "text": f"{wide}\n{long}"}]
    facts["lines"] = [{"number": 1, "text": long, "understood": wide, "problem": long}]
    facts["answers"] = dict.fromkeys(facts["answers"], long)
    facts["sections"] = [{"title": long, "text": f"  a   b\n{wide}\n{'word ' * 40}"}]
    lines = words(kind, facts).text.split("\n")
    assert max(map(columns, lines)) <= 72


def test_wide_lines_of_an_answer_are_filled_and_the_others_stay() -> None:
    text = "a   b\n  " + "word " * 20
    assert fit(text).split("\n") == [
        "a   b",
        f"  {'word ' * 14}".rstrip(),
        f"      {'word ' * 6}".rstrip(),
    ]
    assert "".join(wrap("漢" * 50).split("\n")) == "漢" * 50


@EVERY_KIND
def test_html_begins_with_the_marker_too(kind: str, facts: Facts) -> None:
    html = words(kind, facts).html
    assert html is not None
    assert shown(html).startswith(MARKER)


@EVERY_KIND
def test_subject_bears_the_tag_of_the_match(kind: str, facts: Facts) -> None:
    assert words(kind, facts).subject.startswith("[fence1] ")


def test_subject_says_how_it_went(facts: Facts) -> None:
    assert words("receipt", facts).subject == "[fence1] Receipt 17: accepted, with questions"
    assert words("over", facts).subject == "[fence1] Fencing is over: Ann wins"
    facts["winners"] = ["Ann", "Bob"]
    assert words("over", facts).subject == "[fence1] Fencing is over: Ann and Bob win"
    facts["winners"] = []
    assert words("over", facts).subject == "[fence1] Fencing is over: no winner"


def test_subject_is_one_line_of_bounded_length(facts: Facts) -> None:
    subject = words("notice", facts | {"about": "very\r\nBcc: eve@example.org\n" * 50}).subject
    assert len(subject) == LONGEST_SUBJECT
    assert not re.search(r"[\r\n]", subject)


@pytest.mark.parametrize("kind", ["report", "welcome", "reminder", "receipt", "deadline"])
def test_deadline_is_shown_with_offset_and_distance(kind: str, facts: Facts) -> None:
    letter = words(kind, facts)
    for body in (" ".join(letter.text.split()), shown(letter.html or "")):
        assert "Sunday 6 December 2026, 20:00" in body
        assert "UTC+01:00" in body
        assert "5 days 3 hours" in body


@pytest.mark.parametrize("when", ["just now", "2 hours ago", "in less than a minute"])
def test_a_deadline_that_is_near_or_past_is_told_in_english(when: str, facts: Facts) -> None:
    facts["deadline"] |= {"when": when, "left": when.removeprefix("in ")}
    letter = words("report", facts)
    for body in (" ".join(letter.text.split()), shown(letter.html or "")):
        said = re.sub(r" (?=\.)", "", body)
        is_near = when.startswith("in ")
        assert f"that {'is' if is_near else 'was'} {when}." in said
        assert f"Orders {'are' if is_near else 'were'} due" in said


def test_the_last_letter_says_how_chance_can_be_checked(facts: Facts) -> None:
    letter = words("over", facts)
    for body in (" ".join(letter.text.split()), shown(letter.html or "")):
        assert "With the seed, the orders and" in body
        assert "pbem verify FILE" in body.replace("`", "")


def test_the_last_letter_says_that_the_game_master_ended_the_match(facts: Facts) -> None:
    ended = {"events": [Event("ended", {"by": "gm"})]}
    for winners, how in ((["A & B", "Bob"], ": A & B and Bob win."), ([], ", without a winner.")):
        for more, told in (
            ({}, "The match is over"),
            (ended, "The game master has ended the match"),
        ):
            letter = words("over", facts | more | {"winners": winners})
            assert f"{told}{how}\n" in letter.text
            assert f"{told}{how}" in shown(letter.html or "")


def test_a_reminder_names_seat_and_player_once_where_they_are_the_same(facts: Facts) -> None:
    for person, said in (("Ann", "Ann, we have no orders from you."), ("Joe", "you for Ann.")):
        letter = words("reminder", facts | {"person": person})
        assert said in letter.text
        assert said in shown(letter.html or "")


def test_who_has_nothing_to_decide_is_told_so_and_sent_no_form(facts: Facts) -> None:
    letter = words("report", facts | {"due": False, "token_line": "PASSWORD abc"})
    assert "You have nothing to decide" in letter.text
    assert "Orders are due" not in letter.text
    assert FORM_BEGIN not in letter.text
    assert letter.calendar is None


def test_order_form_stands_at_the_end_between_marker_lines(facts: Facts, tmp_path: Path) -> None:
    (tmp_path / "fencing").mkdir()
    (tmp_path / "fencing" / "form.txt").write_text("THRUST __\nPARRY __\n")
    letter = words("report", facts | {"token_line": "PASSWORD abc"}, tmp_path)
    assert letter.text.split("\n")[-6:] == [
        FORM_BEGIN, "PASSWORD abc", "THRUST __", "PARRY __", FORM_END, "",
    ]  # fmt: skip
    form = f"{FORM_BEGIN}\nPASSWORD abc\nTHRUST __\nPARRY __\n{FORM_END}"
    assert form in [node.text() for node in LexborHTMLParser(letter.html or "").css("pre")]


def test_report_without_a_games_templates_tells_events_and_position(facts: Facts) -> None:
    text = words("report", facts).text
    assert "- hit: by Ann, on Bob, clean yes" in text
    assert "- hits: Ann 2, Bob 0" in text
    assert "- Bob sent no orders." in text
    assert "Press from Bob to all:\n    Well fought.\n    Again?" in text


def test_receipt_echoes_line_by_line(facts: Facts) -> None:
    text = words("receipt", facts).text
    assert "  line 1: THRUST low\n     taken: THRUST Low\n" in text
    assert "  line 3: PARY\n     NOT taken: did you mean PARRY?\n" in text
    assert "Your sheet as it now stands\n---------------------------\n  THRUST Low\n" in text
    assert "If nobody else moved\n--------------------\n- hit: by Ann, on Bob, clean no" in text
    for value in facts["answers"].values():
        assert value in text


def test_receipt_of_nothing_says_why_and_that_nothing_changed(facts: Facts) -> None:
    nothing: Facts = {
        "outcome": "nothing taken",
        "lines": [],
        "sheet": None,
        "forecast": False,
        "why": "your mail holds no order",
    }
    letter = words("receipt", facts | nothing)
    for body in (letter.text, shown(letter.html or "")):
        assert "Your mail holds no order." in body
        assert "Nothing was changed" in body
        assert "What we read" not in body
        assert "If nobody else moved" not in body


def test_receipt_of_what_was_done_besides_the_sheet_claims_of_the_sheet_alone_that_it_is_as_it_was(
    facts: Facts,
) -> None:
    letter = words("receipt", facts | {"outcome": "accepted", "sheet": None, "forecast": False})
    for body in (letter.text, shown(letter.html or "")):
        assert "Your sheet is as it was." in body
        assert "Nothing was changed" not in body


def test_receipt_of_late_orders_says_once_that_they_came_too_late(facts: Facts) -> None:
    line = {"number": 1, "text": "THRUST low", "understood": None, "problem": None}
    late: Facts = {
        "outcome": "nothing taken",
        "lines": [{**line, "too_late": "THRUST Low", "replaced": False}],
        "late": True,
        "sheet": None,
        "forecast": False,
        "why": "received after the deadline",
        "deadline": {**facts["deadline"], "when": "8 hours ago"},
    }
    letter = words("receipt", facts | late)
    for body in (letter.text, shown(letter.html or "")):
        assert "nderstood, but too late: THRUST Low" in body
        assert body.count("after the deadline") == 1
        assert "Orders were due" in body
        assert "taken: THRUST" not in body
        assert "✓" not in body


def test_receipt_says_of_a_line_written_anew_that_a_later_one_replaces_it(facts: Facts) -> None:
    line = {"number": 1, "text": "THRUST low", "understood": None, "problem": None}
    letter = words("receipt", facts | {"lines": [{**line, "too_late": None, "replaced": True}]})
    assert "  line 1: THRUST low\n     a later line replaces it\n" in letter.text
    assert "A later line replaces it." in shown(letter.html or "")


def test_receipt_has_no_blank_before_a_comma(facts: Facts) -> None:
    letter = words("receipt", facts | {"answers": {**facts["answers"], "date": ""}})
    assert " ," not in (letter.html or "")


def test_welcome_tells_who_plays_and_the_seeds_hash_and_over_the_seed(facts: Facts) -> None:
    begun = words("welcome", facts)
    assert "- Ann: Ann Archer (you)\n- Bob\n" in begun.text
    assert facts["seed_hash"] in begun.text
    assert "a long secret" not in begun.text + (begun.html or "")
    assert "a long secret" in words("over", facts).text
    secret = words("over", facts | {"seed": None})
    assert "The seed" not in secret.text + (secret.html or "")


def test_rules_are_the_games_own_and_stand_in_the_first_letter(
    facts: Facts, tmp_path: Path
) -> None:
    (tmp_path / "fencing").mkdir()
    (tmp_path / "fencing" / "rules.txt").write_text("Fencing to {{ options.hits }} hits\n")
    facts["options"] = {"hits": 5}
    assert rules("fencing", facts["options"], tmp_path) == "Fencing to 5 hits\n"
    letter = words("welcome", facts, tmp_path)
    assert "Fencing to 5 hits" in letter.text
    assert "Fencing to 5 hits" in shown(letter.html or "")
    assert rules("fencing", {}) == ""


def test_who_takes_over_a_seat_is_told_so(facts: Facts) -> None:
    letter = words("welcome", facts | {"takes_over": True})
    assert letter.subject == "[fence1] You take over Ann in Fencing"
    for body in (letter.text, shown(letter.html or "")):
        assert "Welcome, Ann Archer. You take over Ann." in body
        assert "begins" not in body


def test_who_is_back_on_his_own_seat_is_told_so(facts: Facts) -> None:
    letter = words("welcome", facts | {"takes_over": True, "is_back": True})
    assert letter.subject == "[fence1] You play Ann again in Fencing"
    for body in (letter.text, shown(letter.html or "")):
        assert "Welcome back, Ann Archer. You play Ann again." in body
        assert "take over" not in body
        assert "Somebody else" not in body


@pytest.mark.parametrize("kind", ["confirm", "join", "address"])
def test_letters_that_ask_say_how_to_answer(kind: str, facts: Facts) -> None:
    letter = words(kind, facts)
    assert letter.subject.startswith("[fence1] Please confirm: ")
    for body in (letter.text, shown(letter.html or "")):
        assert "answer this letter" in " ".join(body.split())
        assert "HELP" not in body


def test_answers_to_questions_are_sections_of_a_receipt(facts: Facts) -> None:
    facts["sections"] = [{"title": "Rules", "text": "1. Touch.\n   2. Do not\n      be touched."}]
    assert (
        "Rules\n-----\n1. Touch.\n   2. Do not\n      be touched.\n" in words("receipt", facts).text
    )


def test_notice_of_the_whole_post_office_needs_no_match() -> None:
    letter = words("notice", {"about": "Two letters failed", "sentences": ["One.", "Two."]})
    assert letter.subject == "Two letters failed"
    assert "The post office\nTwo letters failed\n" in letter.text
    assert "One.\n\nTwo.\n" in letter.text
    assert "What to do" not in letter.text
    assert "orders" not in letter.text.removeprefix(MARKER)


def test_a_notice_says_nothing_twice(facts: Facts) -> None:
    facts |= {"about": "Bob has left the match", "sentences": ["Bob has left the match.", "Alas."]}
    letter = words("notice", facts | {"notes": [], "press": [], "remedies": []})
    for body in (letter.text, shown(letter.html or "")):
        assert body.count("Bob has left the match") == 1
        assert "Alas." in body


@pytest.mark.parametrize(("kind", "more"), [("over", {}), ("notice", {"seat": None})])
def test_orders_are_asked_for_only_where_they_would_be_taken(
    kind: str, more: Facts, facts: Facts
) -> None:
    """Not of a match that is over, nor of who has no seat in it (any more)."""
    letter = words(kind, facts | more)
    for body in (letter.text, shown(letter.html or "")):
        assert "Answer this letter" not in body


def test_who_takes_over_is_told_whose_the_last_turn_was_and_of_orders_sent_before(
    facts: Facts,
) -> None:
    played, sent = "Somebody else has played Ann so far", "If orders for this turn were sent"
    for turn, due, told in (
        (3, True, {played, sent}),
        (3, False, {played}),
        (0, True, {sent}),
        (0, False, set()),
    ):
        letter = words("welcome", facts | {"takes_over": True, "turn": turn, "due": due})
        for body in (" ".join(letter.text.split()), shown(letter.html or "")):
            assert {one for one in (played, sent) if one in body} == told
        assert "<p></p>" not in (letter.html or "")
        assert "\n\nWho plays\n" in letter.text


def test_the_same_facts_give_the_same_letter(facts: Facts) -> None:
    assert words("welcome", facts) == words("welcome", facts)


HOSTILE = "<b onclick=x>&amp;{{ 7 * 7 }}{% raw %}</pre></style>\x1b[31m\x9bred\u202eder\x07"


@EVERY_KIND
def test_html_jinja_and_escapes_in_names_do_nothing(kind: str, facts: Facts) -> None:
    plain = words(kind, facts)
    facts |= {
        "person": HOSTILE,
        "title": HOSTILE,
        "about": HOSTILE,
        "sender": HOSTILE,
        "outcome": HOSTILE,
        "why": HOSTILE,
        "notes": [HOSTILE],
        "press": [{"by": HOSTILE, "to": HOSTILE, "text": HOSTILE}],
        "sheet": [HOSTILE],
        "lines": [{"number": 1, "text": HOSTILE, "understood": HOSTILE, "problem": HOSTILE}] * 2,
        "events": [Event("hit", {HOSTILE: HOSTILE})],
        "players": [{"seat": HOSTILE, "person": HOSTILE}] * 2,
        "answers": dict.fromkeys(facts["answers"], HOSTILE),
    }
    letter = words(kind, facts)
    assert letter.html is not None
    assert plain.html is not None
    assert set(tags(letter.html)) - {"p", "br", "b"} <= set(tags(plain.html))
    assert "onclick" not in [
        name for n in LexborHTMLParser(letter.html).css("*") for name in n.attributes
    ]
    assert "7 * 7" in letter.text
    for body in (letter.subject, letter.text, letter.html):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", body)


FORMAT = [
    c
    for c in map(chr, range(sys.maxunicode))
    if unicodedata.category(c) in ("Cf", "Cc") and c != "\n"
]


@pytest.mark.parametrize("line", [MARKER, FORM_BEGIN, FORM_END])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("#", "#"), ("#", "＃"), ("-", "–"), ("-", "\u200d-"), ("#", "#\u200b"), ("#", "#\u0600")],
)
def test_press_cannot_pass_for_a_marker(line: str, ours: str, theirs: str, facts: Facts) -> None:
    text = f"Look:\n{line.replace(ours, theirs)}\nTHRUST Low\n{line}"
    facts |= {"token_line": "", "press": [{"by": line, "to": line, "text": text}]}
    letter = words("report", facts)
    for body in (letter.text, shown(letter.html or "")):
        found = " ".join(typography.folded(one) for one in body.split("\n"))
        assert found.count(line) == (line == MARKER)


def test_no_character_that_readers_drop_hides_a_marker() -> None:
    assert len(FORMAT) > 200
    for unseen in FORMAT:
        for dash in "-–－":
            said = printable(f"#{unseen * 2}{dash}")
            assert "#-" not in typography.folded(said), hex(ord(unseen))


def test_a_player_may_use_hashes_all_the_same() -> None:
    assert printable("### no. #1, C# and #- ##") == "### no. #1, C# and +- ##"


@given(name=st.text(max_size=80), press=st.text(max_size=200))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_names_and_press_of_any_script_go_through(name: str, press: str, facts: Facts) -> None:
    facts = facts | {"person": name, "press": [{"by": name, "to": "all", "text": press}]}
    letter = words("report", facts)
    letter.text.encode()
    (letter.html or "").encode()
    for word in press.split():
        if word.isalnum() and columns(word) < 60:
            assert word in letter.text


def test_styles_are_inline_and_screens_keep_their_rules(facts: Facts) -> None:
    html = words("receipt", facts).html or ""
    head, _, body = html.partition("<body")
    assert "@media (prefers-color-scheme: dark)" in head
    assert "@media (max-width: 520px)" in head
    assert 'name="color-scheme" content="light dark"' in head
    assert 'name="viewport"' in head
    row = LexborHTMLParser(html).css_first("table.data td")
    assert row is not None
    assert "border-bottom" in (row.attributes["style"] or "")
    assert "http" not in body


@pytest.mark.parametrize(
    ("more", "says", "adds"),
    [
        ({}, "we don't know that address as yours", True),
        ({"is_known": True}, "from your own address ann@work.example.org", False),
        ({"is_single": False}, "from several senders at once", False),
    ],
)
def test_the_question_whether_a_mail_is_yours_says_why(
    facts: Facts, more: Facts, says: str, adds: bool
) -> None:
    letter = words("confirm", facts | more)
    assert "\n\n  THRUST Low\n\n" in letter.text
    for body in (" ".join(letter.text.split()), shown(letter.html or "")):
        assert says in body
        assert ("the address is added to yours" in body) == adds


def test_press_tells_its_reader_how_to_answer_but_not_the_game_master(facts: Facts) -> None:
    for gm in (False, True):
        letter = words("press", facts | {"gm": gm})
        assert ("To answer, write" in letter.text) == (not gm)
        assert ("To answer, write" in shown(letter.html or "")) == (not gm)


def test_importing_the_module_imports_no_heavy_library() -> None:
    heavy = "{'jinja2', 'css_inline', 'resvg_py', 'icalendar', 'PIL'}"
    code = f"import sys, pbem.reports; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
