"""What a mail address is: what no letter could be written to is refused wherever one gets in."""

import email
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parseaddr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from pbem import addresses, config, identity, making, matches, outbox, players, post, store
from pbem.config import Config, ConfigFault
from pbem.reports import Envelope, Words, mime
from pbem.store import Address, Letter
from tests.conftest import NOW, Post, begin, mail
from tests.flow.rig import HOUR, Office, letters, opened, refused, seat_of, the_match

GOOD = (
    "ann@example.org",
    "ann.o'hara+games@mail.example.org",
    "ann@localhost",
    "ann@example_host.org",
    "дана@почта.example",
    "ann@exämple.org",
    "ann@例え。example",
    f"{'a' * 64}@{'b' * 63}.example.org",
)
BAD = {
    "": "write it as name@host",
    "ann": "write it as name@host",
    "@example.org": "write it as name@host",
    "ann@": "write it as name@host",
    "ann@bob@example.org": "write it as name@host",
    "ann archer@example.org": "write it as name@host",
    "Ann <ann@example.org>": "write it as name@host",
    "ann@example.org\r\nBcc: x@example.org": "write it as name@host",
    "ann@exam\u200bple.org": "a mark that can't be seen",
    "a\u202enn@example.org": "a mark that can't be seen",
    "a\ud800nn@example.org": "a mark that can't be seen",
    '"ann"@example.org': "\" can't stand before its @",
    "ann(x)@example.org": "( can't stand before its @",
    "ann,bob@example.org": ", can't stand before its @",
    f"{'a' * 65}@example.org": "there is room for 64 bytes; write another",
    f"{'я' * 33}@example.org": "there is room for 64 bytes",
    "ann@example..org": "nothing before, behind or between its dots",
    "ann@.example.org": "nothing before, behind or between its dots",
    "ann@example.org.": "nothing before, behind or between its dots",
    "ann@exämple。。org": "nothing before, behind or between its dots",
    "ann@-example.org": "-example, begins or ends with a hyphen",
    "ann@-exämple-.org": "-exämple-, begins or ends with a hyphen",
    f"ann@{'b' * 64}.org": "longer than the 63 letters",
    f"ann@{'ä' * 60}.org": "longer than the 63 letters",
    "ann@[192.0.2.1]": "a part of its host, [192, holds [",
    "ann@exam!ple.org": "exam!ple, holds !",
    "ann@℀.org": "℀, holds /",
    "ann@…org": "holds .",
    "ann@xn--ä.org": "no name that a host can have",
    "ann@שלa1.org": "no name that a host can have",
    f"ann@{'b.' * 126}bc": "longer than 253 letters",
    f"{'a' * 60}@{'b.' * 100}org": "longer than the 254 bytes",
}
# Some of each kind, for what is tried at every way in.
SOME_BAD = ("ann@-exämple-.org", f"ann@{'b' * 64}.org", "a@b..org", "ann,x@example.org")
ENVELOPE = Envelope(
    sender=("Gia", "game@example.org"),
    recipient=("Ann", "ann@example.org"),
    reply_to="game@example.org",
    message_id="<1@example.org>",
    date=datetime(2026, 12, 1, 16, 0, tzinfo=UTC),
    list_id="hexem1.example.org",
)


@pytest.mark.parametrize("address", GOOD)
def test_an_address_in_any_script_is_one(address: str) -> None:
    assert addresses.fault_of(address) == ""


@pytest.mark.parametrize(("address", "fault"), BAD.items(), ids=map(repr, BAD))
def test_what_is_none_is_named_with_its_remedy(address: str, fault: str) -> None:
    found = addresses.fault_of(address)
    assert fault in found
    assert "write " in found
    assert found.isprintable() or "\ud800" in address


# Signs that matter, and letters of several scripts.
_SIGNS = st.text(st.sampled_from("ab.-_@+,;\"()[]\\<> '。．ä日\u0301\u200d\u202e\x00\u05d0ß℀…1"))


@given(_SIGNS | st.text(), _SIGNS | st.text())
def test_to_every_address_a_letter_can_be_written_and_no_other_is_one(
    local: str, host: str
) -> None:
    address = f"{local}@{host}"
    raw = mime(Words("x", "x\n"), replace(ENVELOPE, recipient=("", address)))
    if addresses.fault_of(address):
        return
    assert not post.fault_of_address(address)
    written = f"{local}@{addresses.in_ascii(host)}"
    assert f"\r\nTo: {written}\r\n".encode() in raw
    assert identity.folded(address).isascii() or not local.isascii()


def test_a_letter_to_an_address_that_an_older_program_let_in_is_written_and_refused_by_servers(
    engine: Engine, house: Config
) -> None:
    begin(engine)
    with opened(engine) as (session, row):
        bad = "ann@exämple..org"
        seat_of(row, "Ann").addresses[:] = [Address(address=bad, folded=bad)]
        session.flush()
        letter = store.queue(
            session, "notice", {"about": "x", "sentences": []}, NOW, seat=row.seats[0]
        )
        assert letter is not None
        session.flush()
        raw = outbox.compose(session, house, session.get_one(Letter, letter.id), NOW)
    assert parseaddr(email.message_from_bytes(raw).get_all("From", [""])[0])[1]
    assert b"ann@ex" in raw


@pytest.mark.parametrize("bad", SOME_BAD)
def test_no_match_begins_with_one(bad: str, engine: Engine) -> None:
    plan = making.Plan("hexem", "hexem1", (making.Player("Ann", (bad,)),), {}, open_seats=1)
    with pytest.raises(ValueError, match="write "), store.writing(engine) as session:
        making.begin(session, plan, NOW)
    with store.reading(engine) as session:
        assert store.match_named(session, "hexem1") is None


@pytest.mark.parametrize("bad", SOME_BAD)
@pytest.mark.parametrize("order", ["ADDRESS Ann {}", "REPLACE Ann WITH Cy {}"])
def test_the_game_master_s_order_with_one_is_refused_and_says_why(
    order: str, bad: str, match: str, engine: Engine
) -> None:
    said = refused(engine, order.format(bad), NOW)
    assert bad[:60] in said
    seat = seat_of(the_match(engine), "Ann")
    assert (seat.person, [one.address for one in seat.addresses]) == ("Ann", ["ann@example.org"])


@pytest.mark.parametrize("bad", SOME_BAD)
def test_a_player_s_new_address_that_is_none_is_answered_and_nobody_is_asked(
    bad: str, match: str, engine: Engine, post: Post
) -> None:
    assert post(mail(f"ADDRESS {bad}")).status == "answered"
    assert letters(engine, "address") == []
    (receipt,) = letters(engine, "receipt")
    (line,) = receipt.facts["lines"]
    assert bad[:60] in line["problem"]
    assert "write it as" in line["problem"]


@pytest.mark.parametrize("sender", ["ann@-example.org", "a@b..org", f"ann@{'b' * 64}.org"])
def test_join_from_one_is_not_asked_for_no_letter_would_reach_it(
    sender: str, engine: Engine, post: Post
) -> None:
    plan = making.Plan(
        "hexem", "hexem2", (making.Player("Bob", ("bob@example.org",)),), {}, open_seats=1
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)
    assert post(mail("JOIN hexem2", sender=f"Ann <{sender}>")).status == "rejected"
    assert letters(engine, "join") == []
    assert post(mail("JOIN hexem2", sender="Cy <cy@example.org>", number=2)).status == "answered"


def test_orders_confirmed_by_the_player_count_though_their_sender_s_address_is_none(
    engine: Engine, house: Config, post: Post
) -> None:
    begin(engine, trust="token")
    office = Office()
    outbox.flush(engine, house, office, NOW)
    token = matches.token(the_match(engine), seat_of(the_match(engine), "Ann"))
    to = f"game+hexem1.{token}@example.org"
    bad = "ann@-phone.example.org"
    assert post(mail("BID x 2", sender=bad, to=to)).status == "held"
    outbox.flush(engine, house, office, NOW + 2 * HOUR)
    message_id = email.message_from_bytes(office.sent[-1][1])["Message-ID"]
    assert post(mail("YES", to=to, number=2, In_Reply_To=message_id)).status == "filed"
    with opened(engine) as (session, row):
        assert matches.phase(session, row).sheets["Ann"].text.strip() == "BID x 2"
    seat = seat_of(the_match(engine), "Ann")
    assert [one.address for one in seat.addresses] == ["ann@example.org"]


@pytest.mark.parametrize("where", ["mail", "game_master"])
@pytest.mark.parametrize("bad", SOME_BAD)
def test_a_config_with_one_names_it(where: str, bad: str, tmp_path: Path) -> None:
    (tmp_path / "pbem.toml").write_text(f'[{where}]\naddress = "{bad}"', "utf-8")
    with pytest.raises(ConfigFault) as fault:
        config.load(tmp_path / "pbem.toml")
    assert f"{where}.address = {bad!r}: " in str(fault.value)
    assert "write it as" in str(fault.value)


def test_the_program_s_own_host_in_any_script_is_ascii_where_it_stands_in_headers(
    tmp_path: Path,
) -> None:
    (tmp_path / "pbem.toml").write_text('[mail]\naddress = "game@exämple.org"', "utf-8")
    found = config.load(tmp_path / "pbem.toml")
    assert found.mail.address == "game@xn--exmple-cua.org"
    made = identity.message_id("hexem1", "a" * 16, 7, found.mail.host)
    raw = mime(Words("x", "x\n"), replace(ENVELOPE, message_id=made))
    assert f"\r\nMessage-ID: {made}\r\n".encode() in raw


def test_who_is_asked_by_a_library_s_caller_is_checked_too(match: str, engine: Engine) -> None:
    with opened(engine) as (session, row):
        assert players.apply(session, row, "Cy", "cy@example..org", NOW) is None
