"""Letters that wait to be sent while something changes: a player, his address, a turn."""

import email

import pytest
from sqlalchemy import Engine

from pbem import outbox, players, store
from pbem.config import Config
from pbem.post import Later
from tests.conftest import NOW, Post, idle, mail
from tests.flow.rig import DAY, DEADLINE, HOUR, MINUTE, Office, do, letters, order, run, said

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
    with store.writing(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        ann = row.seats[0]
        store.queue(session, "reminder", {}, DEADLINE + HOUR, seat=ann, turn=row.turn)
        press = {"press": [{"by": "Bob", "to": "all", "text": "Truce?"}]}
        store.queue(session, "press", press, DEADLINE + HOUR, seat=ann)
    later = DEADLINE + HOUR + DAY
    outbox.flush(engine, house, Closed(), later)
    said(engine, "UNDO", later)
    office = Office()
    outbox.flush(engine, house, office, later + HOUR)
    (digest,) = (raw for to, raw in office.sent if b"letters of the day" in raw)
    assert b"Truce?" in digest
