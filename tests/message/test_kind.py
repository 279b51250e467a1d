"""Whose a mail is and what it is: identity, loops, bounces, and what is never answered."""

import pytest

from pbem.message import canonical
from tests.message.letters import (
    FREYA,
    GOOD_RESULT,
    entity,
    judged,
    letter,
    lines,
    mail,
    parts,
)

ACCEPTED = ("accept", True, ["MUSTER C4"])
QUIETLY = ("reject", False, [])
IGNORED = ("ignore", False, [])
BOUNCE = ("bounce", False, [])
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
    assert canonical("F.R.eya+games@GoogleMail.com") == "freya@gmail.com"
    assert canonical("f.reya+games@example.net") == "f.reya+games@example.net"
    assert canonical("фрея@почта.example.net") == "фрея@xn--80a1acny.example.net"
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


AUTOMATIC = [
    "Auto-Submitted: auto-replied\r\n",
    "Auto-Submitted: auto-replied (vacation)\r\nReturn-Path: <>\r\n",
    "Auto-Submitted: AUTO-GENERATED; x=y\r\n",
    "Return-Path: <>\r\n",
    "Precedence: bulk\r\n",
    "Precedence: junk\r\n",
    "Precedence: auto_reply\r\n",
    "X-Autoreply: yes\r\n",
    "X-Autorespond: vacation\r\n",
    "X-Loop: game@play.example.org\r\n",
]


@pytest.mark.parametrize("head", AUTOMATIC)
def test_078_automatic_mail_is_never_answered_nor_taken_for_orders(head: str) -> None:
    assert judged(mail(head=head)) == [IGNORED]


@pytest.mark.parametrize(
    "subject",
    [
        "Automatic reply: [hexem1] Turn 5",
        "Automatische Antwort: [hexem1] Turn 5",
        "Abwesenheitsnotiz: [hexem1] Turn 5",
        "Réponse automatique : [hexem1] Turn 5",
        "Respuesta automática: x",
        "Автоответ: x",
        "自动回复: x",
        "Out of Office",
        "Auto: [hexem1] Turn 5",
    ],
)
def test_078_absences_that_only_their_subject_tells(subject: str) -> None:
    assert judged(mail(Subject=subject)) == [IGNORED]


def test_078_a_person_may_write_of_an_absence() -> None:
    assert judged(mail(Subject="[hexem1] out of office next week: orders")) == [ACCEPTED]
    assert judged(mail("I am out of office.\n\nMUSTER C4\n")) == [ACCEPTED]
    assert judged(mail(head="Auto-Submitted: no\r\n")) == [ACCEPTED]


def test_078_an_absence_sent_to_a_bounce_address_is_no_bounce() -> None:
    head = "Return-Path: <>\r\nAuto-Submitted: auto-replied\r\n"
    assert judged(mail("I am at sea.\r\n", head=head, To=VERP)) == [IGNORED]


def test_079_and_084_a_bounce_is_told_by_its_form_and_its_address() -> None:
    head = "Return-Path: <>\r\n"
    raw = mail(
        "<ann@example.net>:\r\nNobody here. (#5.1.1)\r\n",
        head=head,
        To=VERP,
        From="MAILER-DAEMON@mx.example.net",
    )
    read = letter(raw)
    assert (read.kind, read.auto_reply) == ("bounce", False)
    assert read.bounced is not None
    assert (read.bounced.token, read.bounced.permanent) == ("hexem1.k3j9", True)


def test_081_our_own_letters_come_back() -> None:
    for ours in ("game@play.example.org", "Game <GAME+hexem1.k3@play.example.org>", VERP):
        assert judged(mail(From=ours)) == [IGNORED]


@pytest.mark.parametrize("who", ["noreply", "no-reply", "donotreply+x"])
def test_082_no_reply_senders_get_no_answer(who: str) -> None:
    assert letter(mail(From=f"{who}@example.net")).auto_reply is False


def test_082_a_wish_for_no_automatic_answers_is_honoured() -> None:
    for wish in ("All", "DR, OOF, AutoReply"):
        raw = mail(head=f"X-Auto-Response-Suppress: {wish}\r\n")
        assert judged(raw) == [("accept", False, ["MUSTER C4"])]
    assert judged(mail(head="X-Auto-Response-Suppress: DR, RN\r\n")) == [ACCEPTED]


def test_083_reactions_receipts_and_calendar_answers() -> None:
    reaction = entity('{"emoji":"x"}', "text/vnd.google.email-reaction+json")
    assert judged(parts(entity("MUSTER C4"), reaction, kind="alternative")) == [IGNORED]
    answer = entity("BEGIN:VCALENDAR", "text/calendar; method=REPLY")
    assert judged(parts(entity("MUSTER C4"), answer, kind="alternative")) == [IGNORED]
    receipt = entity("Disposition: manual-action; displayed", "message/disposition-notification")
    read = parts(entity("It was displayed."), receipt, kind="report")
    assert judged(read) == [IGNORED]
    assert letter(read).kind == "report"


def dsn(status: str, *, kind: str = 'report; report-type="delivery-status"') -> bytes:
    words = entity("Fehler bei der Zustellung.\r\nMUSTER A1\r\n")
    block = f"Reporting-MTA: dns; mx.example.net\r\n\r\n{status}\r\n"
    copy = entity(
        "Message-ID: <L7.x@play.example.org>\r\nSubject: Turn 5\r\n\r\nMUSTER A1", "message/rfc822"
    )
    report = entity(block, "message/delivery-status")
    return parts(words, report, copy, kind=kind, From="postmaster@example.net", To=VERP)


FAILED = "Final-Recipient: rfc822; ann@example.net\r\nAction: failed\r\nStatus: 5.1.1\r\n"


def test_085_bounces_of_no_standard_form() -> None:
    said = [
        "This is the qmail-send program.\r\n<ann@example.net>:\r\nNo such user (#5.1.1)\r\n",
        "A message that you sent was not delivered:\r\n\r\n  ann@example.net\r\n    550 no\r\n",
        "Nichts zu machen.\r\n",
    ]
    for words in said:
        raw = mail(words, head="Return-Path: <>\r\n", From="mailer-daemon@example.net", To=VERP)
        assert judged(raw) == [BOUNCE]
        unlabelled = mail(words, head="Return-Path: <>\r\n", From="Mail <mta@example.net>", To=VERP)
        assert judged(unlabelled) == [BOUNCE]


def test_085_a_server_that_names_the_failed_in_a_field() -> None:
    head = "X-Failed-Recipients: ann@example.net\r\nAuto-Submitted: auto-replied\r\n"
    raw = mail("No luck.\r\n", head=head, To=VERP, From="Mail <Mailer-Daemon@example.net>")
    bounced = letter(raw).bounced
    assert bounced is not None
    assert bounced.recipient == "ann@example.net"


def test_087_a_warning_of_a_delay_in_words_is_no_failure() -> None:
    text = (
        "Your message has been delayed for 4 hours. We will keep trying.\r\n<ann@example.net>\r\n"
    )
    raw = mail(text, head="Return-Path: <>\r\n", To=VERP, From="mailer-daemon@example.net")
    assert judged(raw) == [IGNORED]
    assert letter(raw).bounced is None


def test_085_an_odd_bounce_leaves_no_traceback_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    head = b"Return-Path: <>\r\nTo: bounces+1.x@play.example.org\r\n"
    for sender in (b"", b"From: M\xe4iler <mailer-daemon@example.net>\r\n"):
        assert judged(head + sender + b"\r\nFailed.\r\n") == [BOUNCE]
    assert caplog.records == []


def test_086_a_report_is_told_by_its_parts_whoever_sent_it() -> None:
    read = letter(dsn(FAILED))
    assert read.kind == "bounce"
    assert read.bounced is not None
    assert read.bounced == ("ann@example.net", "hexem1.k3j9", True, "L7.x@play.example.org")
    complaint = entity("Feedback-Type: abuse", "message/feedback-report")
    raw = parts(entity("Complaint."), complaint, kind="report; report-type=feedback-report")
    assert judged(raw) == [IGNORED]


@pytest.mark.parametrize(
    ("status", "action", "permanent"),
    [
        (FAILED, "bounce", True),
        (FAILED.replace("5.1.1", "4.4.7"), "bounce", False),
        (FAILED.replace("5.1.1", "5.2.2"), "bounce", False),
        (FAILED.replace("Action: failed\r\n", ""), "bounce", True),
        (FAILED.replace("failed", "delayed").replace("5.1.1", "4.4.1"), "ignore", None),
        (FAILED.replace("failed", "delivered").replace("5.1.1", "2.0.0"), "ignore", None),
        (FAILED.replace("failed", "relayed"), "ignore", None),
        (FAILED.replace("failed", "expanded"), "ignore", None),
        ("garbage", "bounce", False),
    ],
)
def test_087_a_delay_is_no_failure(status: str, action: str, permanent: bool | None) -> None:
    raw = dsn(status)
    assert judged(raw)[0][0] == action
    bounced = letter(raw).bounced
    assert (bounced.permanent if bounced else None) == permanent


def test_088_what_is_marked_as_spam_is_held_quietly() -> None:
    assert judged(mail(head="X-Spam-Flag: YES\r\n")) == [QUIETLY]
    assert judged(mail(head="X-Spam-Status: Yes, score=9\r\n")) == [QUIETLY]
    assert judged(mail(head="X-Spam-Flag: NO\r\nX-Spam-Status: No, score=1\r\n")) == [ACCEPTED]


def test_089_no_field_takes_a_line_end_from_data() -> None:
    raw = mail(
        Subject="=?utf-8?B?YQ0KQmNjOiB4QGV4YW1wbGUuY29t?=",
        Message_ID="<a\tb\x01>",
        Date="Mon,\r\n 3 Mar\x00 2031",
    )
    read = letter(raw)
    for said in (read.subject, read.name, read.message_id, read.date or "", read.sender, *read.to):
        assert said.isprintable()
    assert read.subject == "a Bcc: x@example.com"


def test_a_person_who_quotes_a_bounce_is_no_bounce() -> None:
    text = (
        "Did it bounce? MAILER-DAEMON said 550 5.1.1 user unknown.\n<ann@example.net>\n\nMUSTER C4"
    )
    assert judged(mail(text, Subject="Undelivered Mail Returned to Sender? [hexem1]")) == [ACCEPTED]


def test_newsletters_and_challenges_from_strangers() -> None:
    stranger = "News <news@example.com>"
    for head in ("List-Unsubscribe: <x>\r\n", "List-Id: <n>\r\n", "Precedence: bulk\r\n"):
        assert judged(mail(head=head, From=stranger)) == [IGNORED]
    assert judged(mail("Click to prove that you are human.", From=stranger)) == [QUIETLY]


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
