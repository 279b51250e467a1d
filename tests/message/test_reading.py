"""`pbem read`: copies, dates, rosters, limits, and what a mail without orders is answered."""

import json
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import message, reading
from pbem.message import Letter
from tests.message.letters import (
    FREYA,
    ROSTER,
    entity,
    judged,
    letter,
    lines,
    mail,
    parts,
)

ACCEPTED = ("accept", True, ["MUSTER C4"])
IGNORED = ("ignore", False, [])
EML = Path(__file__).parent.parent / "eml"


def test_090_mails_without_a_message_id_are_not_all_one() -> None:
    one = mail(Message_ID=None)
    other = mail("MUSTER C5\n", Message_ID=None)
    assert judged(one, other, one) == [ACCEPTED, ("accept", True, ["MUSTER C5"]), IGNORED]
    assert judged(mail(Message_ID=""), mail("MUSTER C5\n", Message_ID=""))[1][0] == "accept"


def test_091_a_message_id_used_again_with_other_content_is_another_mail() -> None:
    assert judged(mail(), mail("MUSTER C5\n")) == [ACCEPTED, ("accept", True, ["MUSTER C5"])]


def test_093_a_copy_by_another_way_is_the_same_mail() -> None:
    by_a = mail(
        head="Received: from a.example.net\r\nDelivered-To: game+hexem1@play.example.org\r\n"
    )
    by_b = mail(
        head="Return-Path: <freya@example.net>\r\nReceived: from b.example.net\r\n"
        "Delivered-To: game+hexem1@play.example.org\r\nX-Spam-Score: 1\r\n"
    )
    assert judged(by_a, by_b) == [ACCEPTED, IGNORED]
    assert letter(by_a).digest == letter(by_b.replace(b"\r\n", b"\n")).digest


def test_093_the_digest_tells_mails_apart() -> None:
    several = [
        mail(),
        mail("POT Q"),
        mail(Subject="[hexem1] x"),
        mail(Date="Tue"),
        mail(From="a@b.c"),
    ]
    assert len({letter(raw).digest for raw in several}) == len(several)


@pytest.mark.parametrize(
    "date",
    [
        "Mon, 31 Feb 2031 25:61:00 +9900",
        "Sat, 17 Mar 2096 05:32:00 +0000",
        "Mo, 3 M=?iso-8859-1?Q?=E4?=rz 2031 19:04:11 +0100 (Mitteleurop)",
        "Mon, 3 Mar 2031 18:04:11 +0000\r\n    Precedence: bulk\r\n    X-Odd: yes",
        "",
        "\x00\xff",
        None,
    ],
)
def test_095_and_096_the_date_decides_nothing(date: str | None) -> None:
    assert judged(mail(Date=date)) == [ACCEPTED]


@pytest.mark.parametrize("name", ["<[bad id with blanks@@ ]>", "a b", "<>", "<a@b", "\xff"])
def test_a_malformed_message_id_is_an_opaque_text(name: str) -> None:
    assert judged(mail(Message_ID=name)) == [ACCEPTED]


def test_without_a_roster_nobody_is_a_stranger() -> None:
    grammar = reading.grammar_of("hexem")
    said = reading.read_mail(mail(From="x@example.com"), grammar, None, set())
    assert (said["action"], said["lines"], said["from"]) == (
        "accept",
        ["MUSTER C4"],
        "x@example.com",
    )


def test_only_the_verbs_of_the_game_count_where_it_is_named() -> None:
    raw = mail("MUSTER C4\nTAKE Consul\nBID Franks 3\n")
    for key, wanted in [("hexem", ["MUSTER C4", "BID Franks 3"]), ("offices", ["TAKE Consul"])]:
        assert reading.read_mail(raw, reading.grammar_of(key), None, set())["lines"] == wanted
    with pytest.raises(ValueError, match="no game is called 'chess'"):
        reading.grammar_of("chess")


def test_general_commands_and_press_are_no_order_lines() -> None:
    text = "READY\nSTATUS\nPRESS TO ALL\nMUSTER A1\nBID Picts 12\nEND PRESS\nMUSTER C4\nREPORT 3\n"
    assert lines(text) == ["MUSTER C4"]
    assert judged(mail("READY\n")) == [("reject", True, [])]


def test_orders_in_a_fence_are_all_there_are() -> None:
    assert lines("MUSTER A1\nORDERS\nMUSTER C4\nEND\nCLAIM YORK\n") == ["MUSTER C4"]


def test_a_mail_without_orders_is_answered_where_its_writer_is_registered() -> None:
    assert judged(mail("Hello!\n")) == [("reject", True, [])]
    assert judged(mail("Hello!\n", From="x@example.com")) == [("reject", False, [])]
    said = reading.read_mail(mail("Thanks\n> MUSTER A1\n"), reading.grammar_of(None), None, set())
    assert said["why"] == "there is no order line in it; what it quotes was not taken"


def test_a_roster_is_read_or_refused() -> None:
    roster = reading.read_roster(json.dumps({"players": {"Ann": ["Ann@Example.org"]}}))
    assert roster.players == {"ann@example.org": "Ann"}
    for bad in ("[]", "{}", '{"players": 3}', '{"players": {"Ann": 3}}', "no json"):
        with pytest.raises(ValueError):
            reading.read_roster(bad)


def test_files_are_named_first_and_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "roster.json"
    path.write_text(json.dumps({"players": {"Freya": [FREYA]}}), encoding="utf-8")
    found = reading.read_mails(
        [("a.eml", mail()), ("b.eml", mail()), (None, mail("x"))], None, path
    )
    assert [next(iter(one)) for one in found] == ["file", "file", "from"]
    assert [one["action"] for one in found] == ["accept", "ignore", "reject"]


def test_046_a_mail_beyond_the_size_limit_is_refused_and_answered() -> None:
    raw = mail("MUSTER C4\n" + "x" * 2000)
    read = message.read(raw, size_limit=1000)
    assert (read.kind, read.sender, read.text) == ("refused", FREYA, "")
    assert read.why == f"it has {len(raw)} bytes, more than 1000"
    assert judged(mail(b"MUSTER C4\n" + b"x" * 10_000_000)) == [("reject", True, [])]


def nested(depth: int) -> bytes:
    mail_ = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (at, at)
        for at in range(depth)
    )
    return f"From: {FREYA}\r\n".encode() + mail_ + b"\r\nMUSTER C4\r\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_046_a_body_may_begin_with_a_line_that_is_longer_than_a_header_may_be(end: str) -> None:
    line = " ".join(["C4"] * 100_000)
    raw = mail(f"{line}{end}MUSTER C4{end}")
    assert letter(raw).kind != "refused"
    assert lines(raw)[-1] == "MUSTER C4"


def test_046_limits_of_depth_parts_fields_lines_and_tags() -> None:
    assert lines(nested(30)) == ["MUSTER C4"]
    cases = {
        "nested more than": nested(1000),
        "more than 5000 parts": parts(*["\r\nx"] * 5001),
        "header is longer": mail(head="X-A: b\r\n" * 40_000),
        "longer than 256000": mail(X_A="b\r\n" + "X-A: b\r\n" * 40_000),
        "lines, more than": mail("x\n" * 30_000),
        "is longer than": mail("x" * 3_000_000),
        "tags or": mail("<div>" * 5000, "text/html"),
    }
    for why, raw in cases.items():
        read = letter(raw)
        # Who nests a thousand parts means no good.
        answered = why != "nested more than"
        assert (read.kind, read.text, read.auto_reply) == ("refused", "", answered)
        assert why in read.why
        assert judged(raw) == [("reject", answered and bool(read.sender), [])]


@pytest.mark.parametrize(
    "head",
    [
        "Auto-Submitted: auto-replied",
        "Return-Path: <>",
        "Precedence: bulk",
        "List-Id: <x.example.net>",
        "X-Auto-Response-Suppress: All",
        "X-Spam-Flag: YES",
    ],
)
def test_046_an_automatic_mail_beyond_a_limit_is_not_answered(head: str) -> None:
    beyond = (mail("x" * 3_000_000, head=f"{head}\r\n"), f"{head}\r\n".encode() + nested(200))
    assert [letter(raw).auto_reply for raw in beyond] == [False, False]
    report = parts(*["\r\nx"] * 5001, kind="report; report-type=delivery-status")
    assert letter(report).auto_reply is False
    assert judged(report)[0][1] is False


def test_046_a_mail_nested_beyond_the_limit_is_answered() -> None:
    assert judged(nested(200)) == [("reject", True, [])]


def test_046_a_mail_of_more_order_lines_than_a_sheet_may_have() -> None:
    assert judged(mail("MUSTER C4\n" * 1001)) == [("reject", True, [])]
    assert len(lines("MUSTER C4\n" * 1000)) == 1000


def test_046_three_thousand_parts_are_read() -> None:
    assert lines(parts(entity("MUSTER C4"), *["\r\nx"] * 3000)) == ["MUSTER C4"]


HOSTILE = {
    "lines": mail("hello there my friend\n" * 19_000),
    "on and on": mail("On On On a day someone said wrote " * 50_000),
    "attributions": mail("On 3 March 2031 10:00 a@example.net wrote:\n" * 19_000),
    "labels": mail("From: a@example.net\nTo: b\n" * 9_000),
    "signatures": mail("--\nx\n" * 9_000),
    "marks": mail(">" * 1_900_000),
    "rules": mail("-----\n" * 19_000),
    "forms": mail("#-- Order form: fill in the blanks, here or in your reply --#\n" * 19_000),
    "quotes in From": mail(From='"' * 7000),
    "brackets in From": mail(From="(" * 7000 + "<" * 500),
    "words in the subject": mail(Subject="=?utf-8?q?=41?= " * 480),
    "soft breaks": mail("= " * 900_000, Content_Transfer_Encoding="quoted-printable"),
    "paddings": mail("QQ==\r\n" * 300_000, Content_Transfer_Encoding="base64"),
    "boundaries": mail("--cut" * 300_000, 'multipart/mixed; boundary="cut"'),
    "parameters": mail(kind="text/plain; " + 'a="' * 3000),
    "attributes": mail("<p " + "a=1 " * 90_000 + ">", "text/html"),
    "misnested": mail("<b></p>" * 25_000, "text/html"),
    "deep": mail("<blockquote>" * 400 + "<b>x</p>" * 20_000, "text/html"),
    "cells": mail("<table>" + "<tr><td>a<td>b" * 15_000, "text/html"),
    "deep mail": nested(39),
    "deeper mail": nested(20_000),
    "every byte": mail(bytes(range(256)) * 7000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_048_hostile_mail_takes_no_more_time_than_it_should(name: str) -> None:
    started = time.process_time()
    message.read(HOSTILE[name])
    # Far above what it takes, far below what one step that is not linear would.
    assert time.process_time() - started < 2


SAMPLES = [path.read_bytes() for path in sorted(EML.glob("*.eml")) if path.stat().st_size < 4000]


def check(read: Letter) -> None:
    """Check what holds for every letter, whatever it was read from."""
    for said in (read.sender, read.name, read.message_id, read.subject, read.date or "", *read.to):
        assert not {unicodedata.category(c) for c in said} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert "\0" not in read.text + read.quoted
    assert "\r" not in read.text + read.quoted
    (read.text + read.quoted + read.why).encode("utf-8")
    assert read.kind != "bounce" or not read.auto_reply


@given(st.binary(max_size=3000))
def test_reading_never_raises_on_any_bytes(raw: bytes) -> None:
    check(message.read(raw, own=ROSTER.own))


@settings(max_examples=200)
@given(st.sampled_from(SAMPLES), st.data())
def test_reading_never_raises_on_a_damaged_mail(raw: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(raw)))
    cut = data.draw(st.integers(0, 60))
    damaged = raw[:at] + data.draw(st.binary(max_size=20)) + raw[at + cut :]
    check(message.read(damaged, own=ROSTER.own))
    check(message.read(raw[:at], own=ROSTER.own))


@given(st.text(max_size=2000))
def test_reading_never_raises_on_any_text_or_page(text: str) -> None:
    for kind in ("text/plain; charset=utf-8", "text/html; charset=utf-8"):
        check(message.read(mail(text.encode("utf-8", "replace"), kind)))


@given(
    st.lists(
        st.sampled_from(
            [
                "MUSTER C4",
                "> MUSTER A1",
                "-- ",
                "--",
                "",
                "On 3 March 2031 a@b.cd wrote:",
                "hello",
                "From: a@example.org",
                "Sent: Monday",
                "To: x",
                "Subject: y",
                "-----Original Message-----",
            ]
        ),
        max_size=14,
    )
)
def test_no_line_is_lost_between_own_and_quoted(written: list[str]) -> None:
    read = letter(mail("\n".join(written)))
    said = [line for line in (read.text + "\n" + read.quoted).split("\n") if line]
    wanted = [line.removeprefix("> ") for line in written if line]
    if read.text != "orders":
        assert sorted(said) == sorted(wanted)


@given(st.lists(st.sampled_from(["MUSTER C4", "hello", "POT Q", ""]), min_size=1, max_size=9))
def test_a_plain_mail_comes_out_as_it_was_written(written: list[str]) -> None:
    wanted = [line for line in written if line in ("MUSTER C4", "POT Q")]
    assert lines("\n".join(written)) == wanted
