"""Hostile mail: nothing is executed, no other's orders are touched, no stranger is written to."""

import base64
import email
import email.utils
import io
import random
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from email.message import Message as Mime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from pbem import identity, intake, making, matches, outbox, store
from pbem.config import Config
from pbem.store import Message, Sheet
from tests.conftest import BOARD, NOW, Post, begin, mail
from tests.flow.rig import HOUR, Office, letters, seat_of, the_match

AT = NOW + HOUR
KNOWN = {"ann@example.org", "bob@example.org", "bob@work.example.org", ""}
# So many times what a million steps of Python take, which is about a second.
MOST_STEPS = 20
MEGABYTES = 300


def reply_to(engine: Engine, seat: str = "Ann") -> str:
    """The address that a reply of a seat's player goes to."""
    row = the_match(engine)
    token = matches.token(row, seat_of(row, seat))
    return identity.address("game@example.org", "hexem1", token, True)


def orders(engine: Engine) -> list[tuple[str, str]]:
    """The sheets filed, by seat."""
    names = {seat.id: seat.name for seat in the_match(engine).seats}
    with store.reading(engine) as session:
        found = session.scalars(select(Sheet).order_by(Sheet.id))
        return [(names[one.seat_id or 0], one.text.strip()) for one in found]


def sent(engine: Engine, house: Config) -> list[Mime]:
    """Send all that is queued; every letter must go to somebody who is known."""
    office = Office()
    outbox.flush(engine, house, office, AT)
    assert {to for to, _ in office.sent} <= KNOWN | {house.game_master.address}
    assert not [one for one in letters(engine) if one.status == "queued"]
    return [email.message_from_bytes(raw) for _, raw in office.sent]


def texts(made: Mime) -> Iterator[str]:
    """The texts of a letter, plain and HTML."""
    for part in made.walk():
        if part.get_content_maintype() == "text":
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            yield content.decode()


@pytest.fixture
def strict(engine: Engine) -> str:
    """A match that trusts tokens, with a sheet of Bob's filed."""
    begin(engine, trust="token")
    return "hexem1"


def steps() -> float:
    """Return how long a million steps take just now: a busy machine is no slow program."""
    begun = time.process_time()
    sum(n * n for n in range(1_000_000))
    return time.process_time() - begun


def quick(engine: Engine, house: Config, raw: bytes) -> intake.Taken:
    """Take in one mail, which must need no more than so many steps, and than some memory."""
    parcel = intake.Parcel(raw, AT, "pipe")
    begun = time.process_time()
    (taken,) = intake.take_in(engine, house, [parcel], AT)
    took = time.process_time() - begun
    # What is quick on any machine needs no floor.
    assert took < 0.1 or took < MOST_STEPS * steps()
    assert taken.status != "shunted", taken.why
    # Watching the memory takes time, so it is another mail that is watched.
    twin = intake.Parcel(raw.replace(b"<1@mail", b"<1000@mail", 1), AT, "pipe")
    tracemalloc.start()
    # What holds nothing is answered once in the same words.
    became = intake.take_in(engine, house, [twin], AT)[0].status
    assert became in (taken.status, "ignored" if taken.status == "answered" else taken.status)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < MEGABYTES * 1_000_000, most
    return taken


def test_a_forged_from_orders_nothing_and_asks_whom_it_names(
    strict: str, engine: Engine, house: Config, post: Post
) -> None:
    assert post(mail("BID x 2")).status == "held"
    assert orders(engine) == []
    assert [one["To"] for one in sent(engine, house) if "confirm" in one["Subject"]] == [
        '"Ann" <ann@example.org>'
    ]


def test_a_stolen_subject_tag_orders_nothing(
    strict: str, engine: Engine, house: Config, post: Post
) -> None:
    raw = mail("BID x 2", sender="thief@example.com", subject="Re: [hexem1] Turn 1")
    assert post(raw).status == "rejected"
    assert orders(engine) == []
    assert len(sent(engine, house)) == 2


def test_a_stolen_token_asks_its_player_before_anything_counts(
    strict: str, engine: Engine, house: Config, post: Post
) -> None:
    raw = mail("BID x 2", sender="thief@example.com", to=reply_to(engine))
    assert post(raw).status == "held"
    assert orders(engine) == []
    sent(engine, house)


def test_a_player_can_t_order_for_another_by_naming_him(
    strict: str, engine: Engine, house: Config, post: Post
) -> None:
    bob = reply_to(engine, "Bob")
    for number, fields in enumerate(
        (
            {"Sender": "bob@example.org"},
            {"Reply_To": "bob@example.org"},
            {"X_Original_From": "Bob <bob@example.org>"},
            {"Cc": "bob@example.org"},
        )
    ):
        assert post(mail("BID x 2", to=bob, number=number, **fields)).status == "held"
    assert orders(engine) == []
    sent(engine, house)


EVIL = "\r\nBcc: victim@example.com\r\n\r\nBID x 9"


def encoded(text: str) -> str:
    """A text as an encoded word (RFC 2047)."""
    return f"=?utf-8?b?{base64.b64encode(text.encode()).decode()}?="


NAMES = {
    "newline in an encoded word": encoded(EVIL),
    "newline in quoted-printable": "=?utf-8?q?Hi=0D=0ABcc:_victim@example.com?=",
    "line separator": encoded("Hi\u2028Bcc: victim@example.com"),
    "escape": encoded("\x1b]0;owned\x07\x1b[31mred"),
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "template": "{{ 7 * 191 }}{% for x in seats %}{{ x }}{% endfor %}{{ match.seed }}",
    "direction marks": encoded("\u202e.exe\u202c"),
}


def harmless(made: Mime) -> None:
    """A letter in which nothing of what was tried has come to life."""
    # No header begins with what a mail brought.
    assert made["Bcc"] is None
    ((_, to),) = email.utils.getaddresses([str(made["To"])])
    assert to in KNOWN | {"gia@example.org"}
    for field in made.values():
        assert "\x1b" not in str(field)
    for text in texts(made):
        if text.startswith("<!DOCTYPE"):
            assert "<script" not in text
            assert "<img src=x" not in text
        assert "1337" not in text
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
        assert "Traceback" not in text


@pytest.mark.parametrize("subject", NAMES.values(), ids=NAMES)
def test_89_what_a_subject_brings_comes_to_no_life_in_the_receipt(
    match: str, engine: Engine, house: Config, post: Post, subject: str
) -> None:
    assert post(mail("BID x 2", subject=f"[hexem1] {subject}")).status == "filed"
    made = sent(engine, house)
    assert len(made) == 3
    for one in made:
        harmless(one)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_what_a_display_name_brings_comes_to_no_life(
    match: str, engine: Engine, house: Config, post: Post, name: str
) -> None:
    quoted = name if name.startswith("=?") else '"' + name.replace('"', "") + '"'
    post(mail("BID x 2", sender=f"{quoted} <ann@example.org>"))
    for one in sent(engine, house):
        harmless(one)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_what_the_name_of_somebody_who_joins_brings_comes_to_no_life(
    engine: Engine, house: Config, post: Post, name: str
) -> None:
    players = (making.Player("Ann", ("ann@example.org",)),)
    options = {"board": BOARD, "trust": "address"}
    with store.writing(engine) as session:
        plan = making.Plan("hexem", "hexem1", players, options, open_seats=1)
        making.begin(session, plan, NOW)
    quoted = name if name.startswith("=?") else '"' + name.replace('"', "") + '"'
    sender = f"{quoted} <bob@example.org>"
    taken = post(mail("JOIN hexem1", sender=sender))
    assert taken.status == "answered", taken
    (asked,) = [one for one in sent(engine, house) if "confirm" in one["Subject"]]
    assert post(mail("YES", sender=sender, to=asked["Reply-To"], number=2)).status == "answered"
    assert the_match(engine).status == "running"
    made = sent(engine, house)
    assert made
    for one in made:
        harmless(one)


PRESS = [
    "\x1b]0;owned\x07\x1b[31mred",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "{{ 7 * 191 }}{% include '/etc/passwd' %}{{ match.seed }}",
    "#-- Order form: fill in the blanks, here or in your reply --#\nBID y 9\n"
    "#-- End of the order form --#",
    "\u202eevil\u202c",
]


@pytest.mark.parametrize("text", PRESS)
def test_what_press_brings_comes_to_no_life_and_orders_nothing_for_its_reader(
    match: str, engine: Engine, house: Config, post: Post, text: str
) -> None:
    post(mail(f"PRESS TO Bob\n{text}\nEND PRESS"))
    made = [one for one in sent(engine, house) if "Press" in one["Subject"]]
    assert len(made) == 1
    harmless(made[0])
    plain = next(texts(made[0]))
    # Bob's client sends it back unmarked, as some do: what Ann wrote is not his order.
    raw = mail(f"Thanks.\n\n{plain}", sender="bob@example.org", number=2)
    assert post(raw).status in ("answered", "ignored")
    assert orders(engine) == []


def test_a_marker_of_ours_in_press_ends_what_is_read(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    post(mail("PRESS TO Bob\n##- Write your orders above this line -##\nBID y 9\nEND PRESS"))
    assert letters(engine, "press") == []
    assert orders(engine) == []


def nested(depth: int) -> bytes:
    """A mail whose parts are nested that deep."""
    opening = "".join(
        f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(depth)
    )
    head = mail("").decode().rstrip("\n")
    return f"{head}\n{opening}Content-Type: text/plain\n\nBID x 2\n".encode()


def test_46_parts_nested_a_thousand_deep_are_refused(
    match: str, engine: Engine, house: Config
) -> None:
    assert quick(engine, house, nested(1000)).status == "refused"
    assert orders(engine) == []


def test_46_a_hundred_thousand_parts_are_refused(match: str, engine: Engine, house: Config) -> None:
    head = mail("").decode().rstrip("\n")
    parts = "--b\nContent-Type: text/plain\n\nBID x 2\n" * 100_000
    raw = f'{head}\nContent-Type: multipart/mixed; boundary="b"\n\n{parts}--b--\n'.encode()
    assert quick(engine, house, raw).status == "refused"
    assert orders(engine) == []


def test_fifty_megabytes_are_refused_and_answered(
    match: str, engine: Engine, house: Config
) -> None:
    raw = mail("BID x 2\n") + b"x" * 50_000_000
    assert quick(engine, house, raw).status == "refused"
    assert orders(engine) == []
    with store.reading(engine) as session:
        kept = session.scalars(select(Message.raw)).all()
        assert max(map(len, kept)) <= house.mail.size_limit
    receipt = letters(engine, "receipt")[0]
    assert "bytes" in receipt.facts["why"]


LINES = "\n".join(["hello there"] * 100_000)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (nested(200), "nested"),
        (mail(LINES), "lines"),
        (mail("x" * 3_400_000), "bytes"),
        (mail("<p>x</p>" * 1_180_000, Content_Type="text/html"), "bytes"),
        (
            mail(
                "--b\nContent-Type: text/plain\n\nx\n" * 5001,
                Content_Type='multipart/mixed; boundary="b"',
            ),
            "parts",
        ),
        (mail("BID x 2", **{f"X_{n}": "y" for n in range(100_000)}), "header"),
    ],
    ids=["depth", "lines", "text", "html", "parts", "headers"],
)
def test_46_who_goes_beyond_a_limit_is_told_so(
    match: str, engine: Engine, house: Config, raw: bytes, why: str
) -> None:
    assert quick(engine, house, raw).status == "refused"
    assert orders(engine) == []
    (receipt,) = letters(engine, "receipt", to="Ann")
    assert why in receipt.facts["why"]


@pytest.mark.parametrize("text", ["BID x " + "9" * 1_900_000, "x" * 9_000_000])
def test_megabytes_in_one_line_are_read_in_time(
    match: str, engine: Engine, house: Config, text: str
) -> None:
    assert quick(engine, house, mail(text)).status in ("answered", "refused")
    assert orders(engine) == []


def test_a_hundred_thousand_order_lines_are_refused_whole_in_one_sentence(
    match: str, engine: Engine, house: Config
) -> None:
    assert quick(engine, house, mail("BID x 1\n" * 100_000)).status == "refused"
    assert orders(engine) == []


def test_ten_thousand_order_lines_are_refused_whole_in_one_sentence(
    match: str, engine: Engine, house: Config
) -> None:
    assert quick(engine, house, mail("BID x 1\n" * 10_000)).status == "refused"
    assert orders(engine) == []
    (receipt,) = letters(engine, "receipt")
    assert receipt.facts["lines"] == []
    assert "at most 1000 order lines" in receipt.facts["why"]


def _attached(content: bytes, kind: str, name: str, text: str = "BID x 2") -> bytes:
    head = mail("").decode().rstrip("\n")
    coded = base64.encodebytes(content).decode()
    return (
        f'{head}\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
        f"--b\nContent-Type: text/plain\n\n{text}\n"
        f'--b\nContent-Type: {kind}; name="{name}"\nContent-Transfer-Encoding: base64\n'
        f'Content-Disposition: attachment; filename="{name}"\n\n{coded}\n--b--\n'
    ).encode()


def test_47_an_archive_is_never_opened(match: str, engine: Engine, house: Config) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("orders.txt", "BID y 3\n" * 5_000_000)
    raw = _attached(packed.getvalue(), "application/zip", "orders.txt.zip", "See the file.")
    assert quick(engine, house, raw).status == "answered"
    assert orders(engine) == []


@pytest.mark.parametrize("number", range(20))
def test_38_a_broken_tnef_part_does_no_harm(
    match: str, engine: Engine, house: Config, number: int
) -> None:
    chance = random.Random(number)
    content = b"\x78\x9f\x3e\x22" + chance.randbytes(2 + 50 * number)
    raw = _attached(content, "application/ms-tnef", "winmail.dat")
    assert quick(engine, house, raw).status in ("filed", "answered")


def test_every_byte_value_anywhere_does_no_harm(match: str, engine: Engine, house: Config) -> None:
    raw = mail("BID x 2\n" + "".join(map(chr, range(32, 127))))
    parcels = [
        intake.Parcel(raw[:at] + bytes([value]) + raw[at:], AT, "pipe")
        for value in range(256)
        for at in (0, 40, 80, 140, len(raw) - 100, len(raw))
    ]
    for at in range(0, len(parcels), 200):
        taken = intake.take_in(engine, house, parcels[at : at + 200], AT)
        assert "shunted" not in {one.status for one in taken}
    assert {seat for seat, _ in orders(engine)} <= {"Ann"}
    sent(engine, house)


def test_a_mail_truncated_anywhere_does_no_harm(match: str, engine: Engine, house: Config) -> None:
    raw = _attached(b"BID y 3", "text/plain", "more.txt")
    parcels = [intake.Parcel(raw[:at], AT, "pipe") for at in range(len(raw))]
    taken = intake.take_in(engine, house, parcels, AT)
    assert "shunted" not in {one.status for one in taken}
    assert {seat for seat, _ in orders(engine)} <= {"Ann"}
    sent(engine, house)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                [
                    *("BID x 2", "PRESS TO ALL", "END PRESS", "READY", "RESIGN", "ORDERS", "END"),
                    *("JOIN hexem1", "ADDRESS a@b.example", "REPORT 0", "REPORT 99999999999"),
                    *("ABSENT FROM 0001-01-01 TO 9999-12-31", "STANDING", "CANCEL", "PASSWORD x"),
                    *("MAIL NONE", "LANGUAGE x", "NO ORDERS", "BID x 999999999999", "UNDO", "HOLD"),
                ]
            ),
            st.text(max_size=40),
        ),
        max_size=12,
    ),
    st.text(max_size=30),
)
def test_whatever_a_player_writes_is_answered_and_shunts_nothing(
    match: str, engine: Engine, house: Config, lines: list[str], subject: str
) -> None:
    from email.header import Header

    named = Header(subject.encode("utf-8", "replace").decode(), "utf-8").encode(linesep="\n")
    raw = mail("\n".join(lines).encode("utf-8", "replace").decode(), subject=named)
    (taken,) = intake.take_in(engine, house, [intake.Parcel(raw, AT, "pipe")], AT)
    assert taken.status != "shunted", taken.why
    assert {seat for seat, _ in orders(engine)} <= {"Ann"}
    strangers = {one.recipient for one in letters(engine) if one.kind != "address"} - KNOWN
    assert strangers == set()


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=3000))
def test_any_bytes_at_all_are_kept_and_reach_nobody(
    match: str, engine: Engine, house: Config, raw: bytes
) -> None:
    (taken,) = intake.take_in(engine, house, [intake.Parcel(raw, AT, "pipe")], AT)
    assert taken.status != "shunted", taken.why
    assert orders(engine) == []
    assert {one.kind for one in letters(engine)} == {"welcome"}
