"""Letters as bytes: headers, parts and encodings (RFC 5322, 2045 to 2047, 2387, 3834, 5546)."""

import email
import re
from dataclasses import replace
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parseaddr
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Calendar

from pbem.reports import Envelope, Picture, Words, mime, words

Facts = dict[str, Any]
WORDS = Words("[fence1] Turn 3", "Hit.\n", "<p>Hit.</p>\n")
ENVELOPE = Envelope(
    sender=("Gia (fence1)", "game@example.org"),
    recipient=("Ann Archer", "ann@example.org"),
    reply_to="game+fence1.k3j9abcd@example.org",
    message_id="<fence1.k3j9abcd.7@example.org>",
    date=datetime(2026, 12, 1, 16, 0, tzinfo=UTC),
    list_id="fence1.example.org",
    in_reply_to="<fence1.match@example.org>",
    references=("<fence1.match@example.org>", "<abc@mail.example.net>"),
)
PICTURES = (Picture("one@pbem", b"\x89PNG" + bytes(range(256)) * 9, "a board"),)
HEADERS = [
    "From", "To", "Reply-To", "Subject", "Date", "Message-ID", "In-Reply-To", "References",
    "List-Id", "Auto-Submitted", "X-Auto-Response-Suppress", "MIME-Version", "Content-Type",
]  # fmt: skip


def made(letter: Words = WORDS, **changes: Any) -> Message:
    return email.message_from_bytes(mime(letter, replace(ENVELOPE, **changes)))


def decoded(value: str) -> str:
    return str(make_header(decode_header(value)))


def content(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload


def test_headers_of_a_letter() -> None:
    message = made()
    assert message.keys() == HEADERS
    assert message["From"] == '"Gia (fence1)" <game@example.org>'
    assert message["To"] == '"Ann Archer" <ann@example.org>'
    assert message["Reply-To"] == "game+fence1.k3j9abcd@example.org"
    assert message["Subject"] == "[fence1] Turn 3"
    assert message["Date"] == "Tue, 01 Dec 2026 16:00:00 +0000"
    assert message["Message-ID"] == "<fence1.k3j9abcd.7@example.org>"
    assert message["References"].split() == list(ENVELOPE.references)
    assert message["List-Id"] == "<fence1.example.org>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert made(auto="auto-replied")["Auto-Submitted"] == "auto-replied"
    assert message["X-Auto-Response-Suppress"] == "All"


def test_parts_are_alternatives_with_pictures_and_a_calendar_beside() -> None:
    whole = made(replace(WORDS, pictures=PICTURES, calendar=b"BEGIN:VCALENDAR\r\n"))
    assert [part.get_content_type() for part in whole.walk()] == [
        "multipart/mixed", "multipart/alternative", "text/plain", "multipart/related",
        "text/html", "image/png", "text/calendar",
    ]  # fmt: skip
    picture, invitation = list(whole.walk())[-2:]
    assert picture["Content-ID"] == "<one@pbem>"
    assert picture.get_content_disposition() == "inline"
    assert content(picture) == PICTURES[0].png
    assert invitation.get_param("method") == "PUBLISH"
    assert made(replace(WORDS, html=None)).get_content_type() == "text/plain"
    assert made().get_content_type() == "multipart/alternative"


def test_the_same_letter_gives_the_same_bytes_and_its_boundaries_are_its_own() -> None:
    assert mime(WORDS, ENVELOPE) == mime(WORDS, ENVELOPE)
    assert made().get_boundary() != made(message_id="<another@example.org>").get_boundary()


HARD = [
    "plain\n",
    "Ждём хода, 山田さん\n" * 40,
    "dots\n.\n..\nFrom here\n",
    "x" * 5000 + "\n",
    "blank at the end \nand = signs =3D\n",
    "mostly ASCII – with a dash " * 20 + "\n",
]


@pytest.mark.parametrize("text", HARD)
def test_any_text_survives_the_wire(text: str) -> None:
    raw = mime(Words("s", text, text), ENVELOPE)
    lines = raw.split(b"\r\n")
    assert raw.isascii()
    assert raw.endswith(b"\r\n")
    assert not any(b"\r" in line or b"\n" in line for line in lines)
    assert max(map(len, lines)) <= 78
    assert b"=0D=0A" not in raw
    leaves = [part for part in email.message_from_bytes(raw).walk() if not part.is_multipart()]
    assert [content(part).decode() for part in leaves] == [text.replace("\n", "\r\n")] * 2


def test_text_in_ascii_is_left_readable() -> None:
    assert b"\r\n\r\nHit.\r\n" in mime(WORDS, ENVELOPE)


INJECTION = "Eve\r\nBcc: mallory@example.org\r\n\r\n<b>body</b>\x0b\x85\u2028X: y\x00\x1b[0m"


def test_no_header_takes_a_line_from_data() -> None:
    letter = replace(WORDS, subject=INJECTION)
    message = made(
        letter,
        sender=(INJECTION, INJECTION),
        recipient=(INJECTION, "ann@example.org>\r\nBcc: <mallory@example.org"),
        reply_to=INJECTION,
        list_id=INJECTION,
        in_reply_to=INJECTION,
        references=[INJECTION, "<good@example.org>", "<bad\r\nid@example.org>"],
    )
    assert message.keys() == [name for name in HEADERS if name != "In-Reply-To"]
    assert message["References"] == "<good@example.org>"
    shown = [decoded(value) for value in message.values()]
    assert not any(re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028]", one) for one in shown)
    assert decoded(message["Subject"]).startswith("Eve Bcc: mallory@example.org <b>body</b> X: y")
    assert message["To"].endswith("<ann@example.orgBccmallory@example.org>")


def test_a_header_is_folded_even_in_the_middle_of_a_word() -> None:
    raw = mime(replace(WORDS, subject="x" * 200), replace(ENVELOPE, recipient=("y" * 200, "a@b.c")))
    assert max(map(len, raw.split(b"\r\n"))) <= 78
    assert decoded(email.message_from_bytes(raw)["Subject"]) == "x" * 200


@given(st.text(max_size=300), st.text(max_size=300))
@settings(max_examples=150)
def test_rfc_2047_any_name_and_subject_come_back_on_one_line(name: str, subject: str) -> None:
    raw = mime(
        replace(WORDS, subject=subject), replace(ENVELOPE, recipient=(name, "a@example.org"))
    )
    head = raw.partition(b"\r\n\r\n")[0]
    assert head.isascii()
    assert max(map(len, head.split(b"\r\n"))) <= 78
    message = email.message_from_bytes(raw)
    assert {key for key in message if key not in HEADERS} == set()
    shown, address = parseaddr(re.sub(r"\r\n(?=[ \t])", "", message["To"]))
    assert address == "a@example.org"
    visible = re.compile(
        "[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000\ufeff\ud800-\udfff]"
    )
    assert visible.sub("", decoded(shown)) == visible.sub("", name)
    assert visible.sub("", decoded(message["Subject"] or "")) == visible.sub("", subject)


def test_rfc_2047_what_looks_encoded_is_encoded_once_more() -> None:
    trick = "=?utf-8?q?=0D=0ABcc:_x?="
    message = made(replace(WORDS, subject=trick), recipient=(trick, "ann@example.org"))
    assert message["Subject"] != trick
    assert decoded(message["Subject"]) == trick
    assert decoded(parseaddr(message["To"])[0]) == trick


def test_names_with_quotes_and_commas_stay_one_name() -> None:
    message = made(recipient=('Ann "the \\ Arrow", Archer <x@y>', "ann@example.org"))
    assert parseaddr(message["To"]) == ('Ann "the \\ Arrow", Archer <x@y>', "ann@example.org")
    assert made(recipient=("", "ann@example.org"))["To"] == "ann@example.org"


def test_rfc_6531_addresses_beyond_ascii() -> None:
    assert made(recipient=("", "ann@bücher.example"))["To"] == "ann@xn--bcher-kva.example"
    raw = mime(WORDS, replace(ENVELOPE, recipient=("Дана", "дана@example.org")))
    assert "<дана@example.org>".encode() in raw


def test_rfc_5546_the_deadline_is_published_under_one_uid_for_each_seat(facts: Facts) -> None:
    def event(**changes: Any) -> Any:
        raw = words("report", facts | changes).calendar
        assert raw is not None
        calendar = Calendar.from_ical(raw)
        assert calendar["METHOD"] == "PUBLISH"
        return calendar.walk("VEVENT")[0]

    first = event()
    assert str(first["UID"]) == "fence1-Ann@example.org"
    assert first.decoded("DTSTART") == datetime(2026, 12, 6, 19, 0, tzinfo=UTC)
    later = event(turn=2, written="2026-12-02T16:00:00+00:00")
    assert later["UID"] == first["UID"]
    assert later["SEQUENCE"] > first["SEQUENCE"]
    uids = {str(event(seat=seat)["UID"]) for seat in ("Ann", "Änn", "A nn", "A.20.nn", "山田")}
    assert len(uids) == 5
    assert all(uid.isascii() and " " not in uid for uid in uids)


def test_rfc_5545_matches_with_one_deadline_have_summaries_of_their_own(facts: Facts) -> None:
    long = "Fences, hedges; and " + "walls " * 20
    for match, title in (("fence1", "Fences"), ("fence2", "Fences"), ("fence2", long)):
        raw = words("report", facts | {"match": match, "title": title}).calendar
        assert raw is not None
        assert max(map(len, raw.split(b"\r\n"))) <= 75
        event = Calendar.from_ical(raw).walk("VEVENT")[0]
        assert str(event["SUMMARY"]) == f"{title}: orders due in {match}"
        assert str(event["UID"]) == f"{match}-Ann@example.org"


@pytest.mark.parametrize("kind", ["receipt", "confirm", "over", "reminder", "notice"])
def test_letters_without_a_new_deadline_bring_no_calendar(kind: str, facts: Facts) -> None:
    assert words(kind, facts).calendar is None
    assert words("report", facts | {"deadline": None}).calendar is None
