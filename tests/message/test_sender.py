"""Whose a mail is, for which match, and what a mail server vouches for."""

import pytest

from pbem.identity import folded
from tests.message.letters import FREYA, GOOD_RESULT, judged, letter, lines, mail

ACCEPTED = ("accept", True, ["MUSTER C4"])
QUIETLY = ("reject", False, [])
IGNORED = ("ignore", False, [])
VERP = "bounces+hexem1.k3j9@play.example.org"


def results(said: str) -> str:
    return f"Authentication-Results: {said}\r\n"


def test_066_a_forged_sender_is_held_quietly() -> None:
    failed = results("mx.play.example.org; spf=softfail; dmarc=fail header.from=example.net")
    assert judged(mail(head=failed)) == [QUIETLY]
    assert judged(mail(head=results(GOOD_RESULT))) == [ACCEPTED]


def test_067_only_the_topmost_result_of_our_own_server_counts() -> None:
    good = results(GOOD_RESULT)
    bad = results("mx.play.example.org; dmarc=fail header.from=example.net")
    foreign = results("mx.elsewhere.example; dmarc=pass header.from=example.net")
    assert judged(mail(head=bad + good)) == [QUIETLY]
    assert judged(mail(head=good + bad)) == [ACCEPTED]
    assert judged(mail(head=foreign + good)) == [ACCEPTED]
    assert judged(mail(head=foreign)) == [QUIETLY]


@pytest.mark.parametrize(
    "said",
    [
        "mx.play.example.org; dmarc=fail (dmarc=pass header.from=example.net)"
        ' header.from=example.net; dkim=fail reason="dkim=pass" header.d=example.net',
        'mx.play.example.org; dkim=fail reason="dmarc=pass" header.d=example.net',
        "MX.Play.Example.ORG; dmarc=fail header.from=example.net",
        "mx.play.example.org 1; dmarc=fail header.from=example.net",
        "mx.play.example.org (our own); dmarc=fail header.from=example.net",
        "mx.play.example.org; dmarc=fail\r\n header.from=example.net",
        "mx.play.example.org; =;;",
    ],
)
def test_067_the_field_is_parsed_not_searched_for_words(said: str) -> None:
    assert judged(mail(head=results(said))) == [QUIETLY]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("dkim=pass header.d=bulk.example.org", QUIETLY),
        ("spf=pass smtp.mailfrom=bulk.example.org; dkim=none; dmarc=none", QUIETLY),
        ("dkim=pass header.d=example.net", ACCEPTED),
        ("dkim=pass header.d=mail.example.net", ACCEPTED),
        ("dkim=pass header.d=notexample.net", QUIETLY),
        ("dkim=fail header.d=example.net; spf=pass smtp.mailfrom=freya@example.net", ACCEPTED),
        ("dkim=pass header.i=@example.net", ACCEPTED),
        ("spf=none smtp.mailfrom=example.net; dkim=none; dmarc=none", ACCEPTED),
        ("none", ACCEPTED),
    ],
)
def test_068_a_pass_counts_where_it_is_aligned_with_from(said: str, wanted: object) -> None:
    assert judged(mail(head=results(f"mx.play.example.org; {said}"))) == [wanted]


def test_069_a_pass_of_our_own_domain_proves_nothing_about_a_player() -> None:
    assert judged(
        mail(head=results("mx.play.example.org; dkim=pass header.d=play.example.org"))
    ) == [QUIETLY]


def test_070_reply_to_changes_nothing() -> None:
    raw = mail(head="Reply-To: Mallory <mallory@example.com>\r\n")
    assert letter(raw).sender == FREYA
    assert judged(raw) == [ACCEPTED]


def test_071_a_list_that_rewrites_from_is_nobody() -> None:
    raw = mail(head="List-Id: <tribes.example.org>\r\n", From="Freya via Tribes <t@example.org>")
    assert judged(raw) == [IGNORED]


def test_071_a_list_copy_is_read_and_never_answered() -> None:
    head = "List-Id: <tribes.example.org>\r\nPrecedence: list\r\n"
    assert letter(mail(head=head)).kind == "list"
    assert judged(mail(head=head)) == [("accept", False, ["MUSTER C4"])]
    assert judged(mail("hello\r\n", head=head)) == [IGNORED]


@pytest.mark.parametrize("name", ["Delivered-To", "X-Original-To", "Envelope-To"])
def test_072_the_envelope_says_which_match(name: str) -> None:
    head = f"{name}: game+hexem2@play.example.org\r\n"
    read = letter(mail(head=head, To="someone@example.org"))
    assert (read.tag, read.to[0]) == ("hexem2", "game+hexem2@play.example.org")
    read = letter(mail(), recipient="game+hexem3.k3j9@play.example.org")
    assert (read.tag, read.to[0]) == ("hexem3", "game+hexem3.k3j9@play.example.org")


def test_073_addresses_have_no_case() -> None:
    assert judged(mail(From="FREYA@Example.NET")) == [ACCEPTED]


def test_074_aliases_by_the_rules_of_a_provider_only() -> None:
    assert folded("F.R.eya+games@GoogleMail.com") == "freya@gmail.com"
    assert folded("f.reya+games@example.net") == "f.reya+games@example.net"
    assert folded("фрея@почта.example.net") == "фрея@xn--80a1acny.example.net"
    assert judged(mail(From="freya+games@example.net")) == [QUIETLY]
    assert judged(mail(From="freya@mail.example.net")) == [QUIETLY]


@pytest.mark.parametrize(
    ("written", "sender", "name"),
    [
        ("Freya Holm <freya@example.net>", FREYA, "Freya Holm"),
        ("freya@example.net", FREYA, ""),
        ("freya@example.net (Freya Holm)", FREYA, "Freya Holm"),
        ('"Holm, Freya" <freya@example.net>', FREYA, "Holm, Freya"),
        ('"=?utf-8?Q?Holm=2C_Freya?=" <freya@example.net>', FREYA, "Holm, Freya"),
        ("=?utf-8?Q?Holm=2C_Freya?= <freya@example.net>", FREYA, "Holm, Freya"),
        ("=?utf-8?Q?Holm,_Freya?= <freya@example.net>", FREYA, "Holm, Freya"),
        ("Holm, Freya <freya@example.net>", FREYA, "Holm, Freya"),
        ("Holm; Freya; M.A. <freya@example.net>", FREYA, "Holm; Freya; M.A."),
        ("Holm, freya@example.net", FREYA, ""),
        ("freya@example.net, Holm", FREYA, ""),
        ("Holm, Freya <freya@example.net>, Oswin <oswin@example.org>", "", "Holm, Freya"),
        ("Holm, freya@example.net <m@example.com>", "m@example.com", "Holm, freya@example.net"),
        ('Holm, "Freya <freya@example.net>', "", ""),
        (
            "=?utf-8?B?RnJleWENCkJjYzogZXZpbEBleGFtcGxlLmNvbQ==?= <freya@example.net>",
            FREYA,
            "Freya Bcc: evil@example.com",
        ),
        (
            '"Game Master game@play.example.org" <m@example.com>',
            "m@example.com",
            "Game Master game@play.example.org",
        ),
        ("freya@example.net <m@example.com>", "m@example.com", "freya@example.net"),
        ("(freya@example.net) m@example.com", "m@example.com", "freya@example.net"),
        ("<freya@example.net>", FREYA, ""),
        ("< freya@example.net >", FREYA, ""),
        ("<@a.example,@b.example:freya@example.net>", FREYA, ""),
        ("Freya <freya@example.net>, Freya <freya@example.net>", FREYA, "Freya"),
        ("Freya <freya@example.net>, Oswin <oswin@example.org>", "", "Freya"),
        ("freya@example.net, m@example.com", "", ""),
        ("Group: freya@example.net;", FREYA, ""),
        ("Freya", "", ""),
        ("", "", ""),
        ("undisclosed-recipients:;", "", ""),
        ("<>", "", ""),
        ("freya@example.net)m@example.com", "freya@example.net)m@example.com", ""),
        ("Freya <freya@example.net> <m@example.com>", "", "Freya"),
        ('"Freya <freya@example.net>', "", ""),
        ("Freya <freya@example.net", "", ""),
        ('freya@example.net, "m@example.com', "", ""),
        ("freya@example.net, (m", "", ""),
        ("((((((Freya <freya@example.net>", "", ""),
        (f"<{'f' * 400}@example.net>", "", ""),
    ],
)
def test_075_from_in_all_its_forms(written: str, sender: str, name: str) -> None:
    read = letter(mail(From=written))
    assert read.sender == sender
    if name:
        assert read.name == name


def test_075_two_from_fields_are_no_sender() -> None:
    assert judged(mail(head="From: Oswin <oswin@example.org>\r\n")) == [("reject", True, [])]
    assert judged(mail(head="From: Mallory <m@example.com>\r\n")) == [QUIETLY]
    assert judged(mail(From=None)) == [QUIETLY]


def test_076_a_long_local_part_does_not_hinder() -> None:
    long = f"game+hexem1.{'k' * 60}@play.example.org"
    assert letter(mail(To=long)).tag == "hexem1"


def test_077_the_same_mail_to_two_matches_is_two() -> None:
    one = mail(head="Delivered-To: game+hexem1@play.example.org\r\n")
    two = mail(head="Delivered-To: game+hexem2@play.example.org\r\n")
    assert judged(one, two, one) == [ACCEPTED, ACCEPTED, IGNORED]


def test_077_a_mail_to_two_matches_that_does_not_say_which() -> None:
    raw = mail(To="game+hexem1@play.example.org, game+hexem2@play.example.org", Subject="orders")
    assert judged(raw) == [("reject", True, [])]


@pytest.mark.parametrize(
    ("subject", "tag"),
    [
        ("[hexem9] orders", "hexem9"),
        ("Re: [hexem9] Turn 5", "hexem9"),
        ("AW: WG: SV: RE[2]: Fwd: [hexem9]\r\n Turn 5", "hexem9"),
        ("[Tribes] [hexem9] orders", "hexem9"),
        ("[hexem9]orders", "hexem9"),
        ("Ход 5 [hexem9]", "hexem9"),
        ("=?utf-8?q?=5Bhexem9=5D?= orders", "hexem9"),
        ("Re: [HEXEM9] Turn", "hexem9"),
        ("orders", None),
        ("[ ] [a b]", None),
    ],
)
def test_the_tag_of_the_subject(subject: str, tag: str | None) -> None:
    assert letter(mail(Subject=subject, To="game@play.example.org")).tag == tag


def test_the_plus_part_says_the_match_where_the_subject_does_not() -> None:
    assert letter(mail(To="<game+hexem9.freya@play.example.org>", Subject="hello")).tag == "hexem9"
    assert letter(mail(To="other+x@example.org", Subject="hello")).tag is None
    assert letter(mail(To=VERP, Subject="hello")).tag is None


def test_field_names_and_kinds_have_no_case() -> None:
    head = b"FROM:\tfreya@example.net\r\nSUBJECT:[hexem1]x\r\ncontent-TYPE: TEXT/Plain\r\n"
    assert lines(head + b"\r\nMUSTER C4") == ["MUSTER C4"]


def test_references_are_the_ids_in_order() -> None:
    head = "In-Reply-To: <a@x> (was)\r\nReferences: <b@x>\r\n\t<a@x> junk <c@x>\r\n"
    assert letter(mail(head=head)).references == ("a@x", "b@x", "c@x")
