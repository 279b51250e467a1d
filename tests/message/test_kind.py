"""What a mail is: loops, absences, reports, bounces, and what is never answered."""

import pytest

from tests.message.letters import entity, judged, letter, mail, parts

ACCEPTED = ("accept", True, ["MUSTER C4"])
QUIETLY = ("reject", False, [])
IGNORED = ("ignore", False, [])
BOUNCE = ("bounce", False, [])
VERP = "bounces+hexem1.k3j9@play.example.org"


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
