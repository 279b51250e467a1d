"""Letters that wait to be sent while something changes: a player, his address, a turn."""

import email
from datetime import datetime

import pytest
from sqlalchemy import Engine

from pbem import outbox, players, store
from pbem.config import Config
from pbem.post import Later
from tests.conftest import NOW, Post, idle, mail
from tests.flow.rig import (
    DAY,
    DEADLINE,
    HOUR,
    MINUTE,
    Office,
    do,
    letters,
    opened,
    order,
    remind,
    run,
    said,
    seat_of,
)

SOON = NOW + 10 * MINUTE


class Closed(Office):
    """A way out that takes nothing now."""

    def send(self, *_letter: object) -> Later:  # type: ignore[override]
        """Put a letter off."""
        return Later("451 come back")


def sent(engine: Engine, house: Config, now: object = SOON) -> dict[str, list[str]]:
    """Send what is due; return the subjects by recipient."""
    office, found = Office(), {}
    outbox.flush(engine, house, office, now)  # type: ignore[arg-type]
    for recipient, raw in office.sent:
        found.setdefault(recipient, []).append(str(email.message_from_bytes(raw)["Subject"]))
    return found


@pytest.mark.parametrize("what", ["replaced", "dropped", "moved"])
def test_who_has_lost_a_seat_is_not_asked_any_more_whether_an_address_is_its_own(
    match: str, engine: Engine, house: Config, post: Post, what: str
) -> None:
    outbox.flush(engine, house, Office(), NOW)
    post(mail("ADDRESS bobnew@example.org", sender="Bob <bob@example.org>"), NOW)
    outbox.flush(engine, house, Closed(), NOW)
    if what == "replaced":
        do(engine, "Bob", players.replace, "Cid", ["cid@example.org"], NOW + MINUTE)
    elif what == "dropped":
        said(engine, "DROP Bob", NOW + MINUTE)
    else:
        do(engine, "Bob", players.set_address, "bobsafe@example.org", NOW + MINUTE)
    assert "bobnew@example.org" not in sent(engine, house)
    assert [one.status for one in letters(engine, "address")] == ["dropped"]


def test_what_waits_for_a_player_follows_him_to_his_new_address(
    match: str, engine: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Closed(), NOW)
    do(engine, "Bob", players.set_address, "bob2@example.org", NOW + MINUTE)
    found = sent(engine, house)
    assert "bob@example.org" not in found
    assert len(found["bob2@example.org"]) == 2


def test_what_waits_for_a_player_does_not_follow_his_seat_to_another(
    match: str, engine: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Closed(), NOW)
    said(engine, "DROP Bob", NOW + MINUTE)
    order(engine, "ADDRESS Bob cid@example.org", NOW + MINUTE)
    found = sent(engine, house)
    assert not any("Hexem" in one for one in found.get("cid@example.org", ()))


def test_a_digest_leaves_out_a_turn_that_was_undone_while_it_waited(
    match: str, engine: Engine, house: Config, post: Post
) -> None:
    post(mail("MAIL DIGEST", sender="Ann <ann@example.org>"), NOW)
    outbox.flush(engine, house, Office(), NOW)
    idle(engine)
    run(engine, DEADLINE)
    outbox.flush(engine, house, Office(), DEADLINE)
    later = DEADLINE + HOUR
    with opened(engine) as (session, row):
        # So a program of before has gathered them.
        press = {"press": [{"by": "Bob", "to": "all", "text": "Truce?"}]}
        ann, numbers = row.seats[0], []
        for kind, facts in (("reminder", {}), ("press", press)):
            held = store.queue(session, kind, facts, later, seat=ann, turn=row.turn)
            assert held is not None
            held.status = "dropped"
            session.flush()
            numbers.append(held.id)
        store.queue(session, "digest", {"letters": numbers}, later, seat=ann)
    said(engine, "UNDO", later)
    office = Office()
    outbox.flush(engine, house, office, later + HOUR)
    (digest,) = (raw for to, raw in office.sent if b"letters of the day" in raw)
    assert b"Truce?" in digest


WISHES = pytest.mark.parametrize("wish", ["ALL", "REPORTS", "DIGEST", "NONE"])


def wishes(engine: Engine, house: Config, wish: str, seat: str = "Ann") -> None:
    """Send what is queued, and have a player wish for some letters only from then on."""
    outbox.flush(engine, house, Office(), NOW)
    with opened(engine) as (_, row):
        seat_of(row, seat).mail = wish


def tell(engine: Engine, kind: str, facts: dict[str, object], at: datetime = NOW) -> None:
    """Queue a letter to Ann of the turn that her match is in."""
    with opened(engine) as (session, row):
        store.queue(session, kind, facts, at, seat=seat_of(row, "Ann"), turn=row.turn)


def receipt(**facts: object) -> dict[str, object]:
    """What a receipt tells: of a sheet, if nothing else is said."""
    said = {"subject": "s", "date": None, "message_id": "", "received": NOW.isoformat()}
    plain = {"outcome": "accepted", "number": 1, "lines": [], "sheet": ["BID x 2"], "answers": said}
    return {**plain, "late": False, "notes": [], **facts}


NEWS = {"about": "News", "sentences": ["There is some."]}


@WISHES
def test_who_has_a_new_address_is_told_at_once_whatever_letters_he_wants(
    match: str, engine: Engine, house: Config, wish: str
) -> None:
    wishes(engine, house, wish)
    said(engine, "ADDRESS Ann ann2@example.org", NOW)
    assert sent(engine, house, NOW) == {
        "ann2@example.org": ["[hexem1] Your address in hexem1 is now ann2@example.org"]
    }


@WISHES
def test_who_is_ordered_for_is_told_at_once_whatever_letters_he_wants(
    match: str, engine: Engine, house: Config, wish: str
) -> None:
    wishes(engine, house, wish)
    order(engine, "ORDERS FOR Ann\nBID x 2\nEND ORDERS", NOW)
    assert sent(engine, house, NOW)["ann@example.org"] == [
        "[hexem1] The game master has ordered for Ann"
    ]


@WISHES
def test_undo_is_told_to_all_at_once_whatever_letters_they_want(
    match: str, engine: Engine, house: Config, wish: str
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    wishes(engine, house, wish)
    said(engine, "UNDO", DEADLINE)
    told = ["[hexem1] Turn 1 was taken back"]
    assert sent(engine, house, DEADLINE) == {"ann@example.org": told, "bob@example.org": told}


def test_undo_is_told_before_the_new_report_where_the_turn_was_run_again_meanwhile(
    match: str, engine: Engine, house: Config
) -> None:
    idle(engine)
    run(engine, DEADLINE)
    outbox.flush(engine, house, Office(), DEADLINE)
    said(engine, "UNDO", DEADLINE + HOUR)
    said(engine, "RUN NOW", DEADLINE + HOUR)
    run(engine, DEADLINE + HOUR)
    back, again = sent(engine, house, DEADLINE + HOUR)["ann@example.org"]
    assert back == "[hexem1] Turn 1 was taken back"
    assert again.startswith("[hexem1] Turn 1: ")


@pytest.mark.parametrize("kind", ["reminder", "deadline"])
def test_what_is_of_use_until_the_deadline_waits_for_no_digest(
    match: str, engine: Engine, house: Config, kind: str
) -> None:
    wishes(engine, house, "DIGEST")
    wishes(engine, house, "DIGEST", "Bob")
    if kind == "deadline":
        said(engine, "EXTEND 1d", NOW)
        assert len(sent(engine, house, NOW)) == 2
    else:
        near = DEADLINE - 12 * HOUR
        assert remind(engine, near) == 2
        assert len(sent(engine, house, near)) == 2


def test_a_digest_comes_before_a_deadline_that_is_nearer_than_a_day(
    match: str, engine: Engine, house: Config
) -> None:
    wishes(engine, house, "DIGEST")
    at = DEADLINE - 6 * HOUR
    tell(engine, "receipt", receipt(), at)
    assert sent(engine, house, at) == {}
    assert sent(engine, house, DEADLINE - 2 * HOUR - MINUTE) == {}
    assert len(sent(engine, house, DEADLINE - 2 * HOUR)["ann@example.org"]) == 1
    # So late there is nothing to wait for.
    tell(engine, "receipt", receipt(number=2), DEADLINE - HOUR)
    assert len(sent(engine, house, DEADLINE - HOUR)["ann@example.org"]) == 1
    # The deadline past, it comes by the day again.
    tell(engine, "notice", NEWS, DEADLINE)
    assert sent(engine, house, DEADLINE) == {}


@pytest.mark.parametrize(
    ("facts", "is_told"),
    [
        (receipt(), False),
        (receipt(late=True), True),
        (receipt(sheet=None), True),
        (receipt(notes=["Your press was sent."]), True),
    ],
    ids=["sheet", "late", "nothing", "more"],
)
def test_a_digest_tells_nothing_of_a_sheet_whose_turn_was_run_meanwhile(
    match: str, engine: Engine, house: Config, facts: dict[str, object], is_told: bool
) -> None:
    wishes(engine, house, "DIGEST")
    tell(engine, "receipt", facts)
    assert sent(engine, house, NOW) == {}
    said(engine, "RUN NOW", NOW + HOUR)
    run(engine, NOW + HOUR)
    (report,) = sent(engine, house, NOW + HOUR)["ann@example.org"]
    assert "Turn 1" in report
    found = sent(engine, house, NOW + DAY).get("ann@example.org", [])
    assert len(found) == is_told
    (one,) = letters(engine, "receipt")
    assert (one.status, "digest" in one.why) == ("dropped", is_told)


@pytest.mark.parametrize(
    ("wish", "status"),
    [("ALL", "sent"), ("REPORTS", "dropped"), ("NONE", "dropped"), ("DIGEST", "queued")],
)
def test_who_wants_no_digest_any_more_gets_at_once_what_waited_for_one(
    match: str, engine: Engine, house: Config, post: Post, wish: str, status: str
) -> None:
    wishes(engine, house, "DIGEST")
    tell(engine, "notice", NEWS)
    outbox.flush(engine, house, Office(), NOW)
    post(mail(f"MAIL {wish}", sender="Ann <ann@example.org>"), NOW + HOUR)
    outbox.flush(engine, house, Office(), NOW + HOUR)
    assert [one.status for one in letters(engine, "notice")] == [status]
