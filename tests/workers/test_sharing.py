"""How processes share letters and turns that are due: what one has in hand, others leave."""

import email
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, select, text, update
from sqlalchemy.orm import Session

from pbem import brakes, matches, outbox, rounds, store, turns
from pbem.config import Config
from pbem.gm import clock
from pbem.outbox.claiming import MINUTE, Allowance
from pbem.post import Accepted, Later
from pbem.store import Match, Message, StoreAway
from tests.conftest import NOW, Post, begin, mail, post
from tests.databases import Postgres
from tests.flow.rig import (
    DEADLINE,
    HOUR,
    Office,
    letters,
    opened,
    run,
    seat_of,
    the_match,
    told_gm,
    turn,
)
from tests.flow.test_rounds import lay

__all__ = ["post"]


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The URL of a fresh database on PostgreSQL."""
    with postgres.fresh() as url:
        yield url


@pytest.fixture
def other(house: Config, engine: Engine) -> Iterator[Engine]:
    """The same database, opened by another process as it were, with a match in it."""
    begin(engine)
    again = store.open(house.database_url)
    yield again
    again.dispose()


class Interrupted(Office):
    """A way out on which, at the first letter, something else happens."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self._meanwhile = meanwhile

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Accepted:
        """Keep a letter."""
        done = super().send(envelope_from, recipient, raw)
        if len(self.sent) == 1:
            self._meanwhile()
        return done


def told(engine: Engine, seat: str, *news: str, match: str = "hexem1") -> None:
    """Queue notices to a seat."""
    with opened(engine, match) as (session, row):
        for one in news:
            facts = {"about": one, "sentences": ["It is so."]}
            store.queue(session, "notice", facts, NOW, seat=seat_of(row, seat))


def subjects(office: Office) -> list[tuple[str, str]]:
    """Return to whom letters went, and how each ends its subject."""
    return [
        (to.partition("@")[0], str(email.message_from_bytes(raw)["Subject"]).rpartition("] ")[2])
        for to, raw in office.sent
    ]


def test_letters_of_a_match_that_one_is_sending_are_left_to_him(
    engine: Engine, other: Engine, house: Config
) -> None:
    begin(engine, "second")
    outbox.flush(engine, house, Office(), NOW)
    told(engine, "Ann", "one", "two")
    told(engine, "Bob", "three")
    told(engine, "Ann", "four", match="second")
    second = Office()
    first = Interrupted(lambda: outbox.flush(other, house, second, NOW))
    outbox.flush(engine, house, first, NOW)
    assert subjects(second) == [("ann", "four")]
    assert subjects(first) == [("ann", "one"), ("ann", "two"), ("bob", "three")]


def test_letters_of_no_match_that_one_is_sending_are_left_to_him(
    engine: Engine, other: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Office(), NOW)
    with store.writing(engine) as session:
        for about in ("one", "two"):
            facts = {"about": about, "sentences": ["It is so."]}
            store.queue_apart(session, "notice", facts, NOW, match=None)
    second = Office()
    first = Interrupted(lambda: outbox.flush(other, house, second, NOW))
    outbox.flush(engine, house, first, NOW)
    assert (len(first.sent), len(second.sent)) == (2, 0)


def test_a_letter_that_another_has_just_tried_in_vain_is_not_tried_at_once(
    engine: Engine, other: Engine, house: Config
) -> None:
    class Away(Office):
        def send(self, *_: object) -> Later:  # type: ignore[override]
            return Later("451 try again")

    outbox.flush(engine, house, Office(), NOW)
    begin(engine, "second")
    told(engine, "Ann", "one")
    # The letters to be sent have all been looked up by then.
    first = Interrupted(lambda: outbox.flush(other, house, Away(), NOW))
    assert outbox.flush(engine, house, first, NOW).sent == 2
    assert [one.tries for one in letters(engine, "notice")] == [1]


def test_who_has_lost_his_claim_sends_no_more(engine: Engine, other: Engine, house: Config) -> None:
    def lost() -> None:
        with store.writing(other) as session:
            # Other tests have databases of their own on the same server.
            here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            held = f"FROM pg_locks WHERE locktype = 'advisory' AND granted AND {here}"
            assert session.scalars(text(f"SELECT pg_terminate_backend(pid) {held}")).all() == [True]

    first, second = Interrupted(lost), Office()
    with pytest.raises(StoreAway):
        outbox.flush(engine, house, first, NOW)
    assert len(first.sent) == 1
    outbox.flush(other, house, second, NOW)
    # The one that could not be marked is the one that there may be twice.
    assert second.sent[0] == first.sent[0]
    assert len(second.sent) == 2


def test_a_letter_whose_sender_was_killed_is_sent_again_by_others_as_the_same(
    engine: Engine, other: Engine, house: Config
) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    first, second = Interrupted(killed), Office()
    with pytest.raises(KeyboardInterrupt):
        outbox.flush(engine, house, first, NOW)
    outbox.flush(other, house, second, NOW)
    assert len(second.sent) == 2
    assert second.sent[0] == first.sent[0]


def test_a_letter_is_not_overtaken_where_the_clock_of_who_queued_it_is_fast(
    engine: Engine, other: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Office(), NOW)
    with opened(engine) as (session, match):
        for about, now in (("early", NOW + timedelta(seconds=5)), ("late", NOW)):
            facts = {"about": about, "sentences": ["It is so."]}
            store.queue(session, "notice", facts, now, seat=seat_of(match, "Ann"))
    office = Office()
    outbox.flush(other, house, office, NOW)
    assert not office.sent
    outbox.flush(other, house, office, NOW + timedelta(seconds=5))
    assert subjects(office) == [("ann", "early"), ("ann", "late")]


def test_what_a_wrong_clock_has_counted_does_not_stop_the_letters(other: Engine) -> None:
    for wrong in (NOW + timedelta(days=300), NOW - timedelta(days=300)):
        assert Allowance(other, 3, wrong).take(3)
    allowance = Allowance(other, 3, NOW)
    assert [allowance.take(5) for _ in range(4)] == [True, True, True, False]


def test_what_was_counted_and_did_not_leave_is_given_back(engine: Engine, other: Engine) -> None:
    one = Allowance(engine, 3, NOW)
    assert one.take(3)
    assert not Allowance(other, 3, NOW).take(1)
    one.close()
    assert [Allowance(other, 3, NOW).take(1) for _ in range(3)] == [True, True, False]


def test_a_minute_goes_by_while_a_round_lasts(engine: Engine, other: Engine) -> None:
    passed = 0.0
    one = Allowance(engine, 3, NOW, lambda: passed)
    assert [one.take(3) for _ in range(4)] == [True, True, True, False]
    later = NOW + timedelta(seconds=61)
    passed = 61.0
    # Both have begun at other times, and count the same minute.
    assert [Allowance(other, 3, later).take(1), one.take(1)] == [True, True]
    assert [Allowance(other, 3, later).take(1), one.take(1)] == [True, False]
    passed = 122.0
    assert one.take(3)
    one.close()
    assert [Allowance(other, 3, later + MINUTE).take(1) for _ in range(3)] == [True, True, False]


def test_a_letter_for_a_digest_that_is_being_gathered_is_not_sent_by_itself(
    engine: Engine, other: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Office(), NOW)
    with opened(engine) as (_, match):
        seat_of(match, "Ann").mail = "DIGEST"
    told(engine, "Ann", "one")
    office = Office()
    with store.writing(engine) as gathers:
        assert store.hold(gathers, "digests")
        outbox.flush(other, house, office, NOW)
    assert not office.sent


def test_a_letter_that_is_just_being_sent_is_not_told_in_a_digest_too(
    engine: Engine, other: Engine, house: Config
) -> None:
    def meanwhile() -> None:
        with opened(other) as (_, match):
            seat_of(match, "Ann").mail = "DIGEST"
        outbox.flush(other, house, Office(), NOW + 25 * HOUR)

    outbox.flush(engine, house, Office(), NOW)
    told(engine, "Ann", "one")
    outbox.flush(engine, house, Interrupted(meanwhile), NOW)
    outbox.flush(engine, house, Office(), NOW + 50 * HOUR)
    assert [one.status for one in letters(engine, "notice")] == ["sent"]
    assert letters(engine, "digest") == []


def test_letters_for_a_digest_that_have_outlived_their_use_keep_nothing_back(
    engine: Engine, other: Engine, house: Config
) -> None:
    outbox.flush(engine, house, Office(), NOW)
    with opened(engine) as (session, match):
        ann = seat_of(match, "Ann")
        ann.mail = "DIGEST"
        store.queue(session, "receipt", {"sheet": ["BID x 2"]}, NOW, seat=ann, turn=0)
    fill_in(engine)
    run(engine, DEADLINE)
    office = Office()
    outbox.flush(engine, house, office, DEADLINE)
    assert [to for to, _ in office.sent] == ["ann@example.org", "bob@example.org"]
    assert [one.status for one in letters(engine, "receipt")] == ["dropped"]


def test_a_turn_that_fails_for_the_database_s_sake_counts_as_no_try(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise StoreAway("it went away")

    fill_in(engine)
    with monkeypatch.context() as broken:
        broken.setattr(turns, "advance", lost)
        for _ in range(turns.MOST_TRIES + 1):
            with pytest.raises(StoreAway):
                run(engine, DEADLINE)
    assert run(engine, DEADLINE) == ["ran"]


def test_who_wants_a_turn_run_early_gets_that_one_and_not_the_next(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_in(engine)
    connected = store.connected

    def waiting(*given: Any, **how: Any) -> AbstractContextManager[Connection]:
        # Another process runs the turn while it is waited for.
        monkeypatch.setattr(store, "connected", connected)
        assert run(other, DEADLINE) == ["ran"]
        return connected(*given, **how)

    monkeypatch.setattr(store, "connected", waiting)
    assert turns.run(engine, "hexem1", DEADLINE, DEADLINE, early=True) is None
    assert turn(engine, 1).ran == DEADLINE


@contextmanager
def locked(engine: Engine, name: str = "hexem1") -> Iterator[Session]:
    """Have a match's row locked until a session is closed, as who files a mail."""
    with Session(engine) as session:
        assert store.match_named(session, name, lock=True)
        yield session


def test_a_match_in_somebody_s_hand_is_run_after_the_others_once_he_has_let_it_go(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(engine, "hexem2")
    for name in ("hexem1", "hexem2"):
        fill_in(engine, name)
    with locked(other) as his:
        # As long as he has it, the others go on, and nobody waits.
        assert [one.match for one in turns.run_due(engine, DEADLINE, DEADLINE)] == ["hexem2"]
        begin(engine, "hexem3")
        fill_in(engine, "hexem3")
        due, asked = turns.due, []

        def later(*given: Any) -> list[Match]:
            asked.append(given)
            if len(asked) > 1:
                his.close()
            return due(*given)

        monkeypatch.setattr(turns, "due", later)
        ran = turns.run_due(engine, DEADLINE, DEADLINE)
        assert [one.match for one in ran] == ["hexem3", "hexem1"]
    assert the_match(engine, "hexem1").tries == 0


def test_two_who_count_a_try_before_either_begins_leave_it_to_the_next_tick(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_in(engine)
    named = store.match_named

    def alone() -> turns.Ran | None:
        return turns.run(engine, "hexem1", DEADLINE, DEADLINE)

    def raced(session: Session, *given: Any, **how: Any) -> Match | None:
        # As another process may on SQLite, once this one has counted its try.
        session.execute(update(Match).where(Match.tries > 0).values(tries=Match.tries + 1))
        return named(session, *given, **how)

    for tried, taken_back in ((lambda: run(engine, DEADLINE), 2), (alone, 1)):
        with monkeypatch.context() as race:
            race.setattr(store, "match_named", raced)
            assert not tried()
        # Each time its own count was taken back, the other's wasn't.
        with opened(engine) as (_, match):
            assert match.tries == taken_back
            match.tries = 0
    assert run(engine, DEADLINE) == ["ran"]


def several(engine: Engine) -> list[str]:
    """Begin matches till there are four, all orders sent; name them."""
    names = ["hexem1", "hexem2", "hexem3", "hexem4"]
    for name in names[1:]:
        begin(engine, name)
    for name in names:
        fill_in(engine, name)
    return names


def at_the_first_turn(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Have something else happen as the first of some turns is about to be run."""
    advance = turns.advance

    def first(*given: Any) -> None:
        monkeypatch.setattr(turns, "advance", advance)
        meanwhile()
        advance(*given)

    monkeypatch.setattr(turns, "advance", first)


def test_what_one_has_claimed_and_not_begun_others_leave_to_him(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = several(engine)

    def meanwhile() -> None:
        assert run(other, DEADLINE) == []
        with store.reading(other) as session:
            assert session.scalars(select(Match.tries)).all() == [turns._CLAIMED] * len(names)

    at_the_first_turn(monkeypatch, meanwhile)
    assert run(engine, DEADLINE) == ["ran"] * len(names)
    assert {(row.turn, row.tries) for row in map(the_match, [engine] * 4, names)} == {(1, 0)}


def test_of_two_that_count_the_same_tries_the_later_runs_them_and_no_turn_is_run_twice(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = several(engine)

    def meanwhile() -> None:
        assert run(other, DEADLINE) == ["ran"] * 3

    # As on SQLite, or where a connection that has claims is lost.
    monkeypatch.setattr(store.Claim, "take", lambda _, works: list(works))
    at_the_first_turn(monkeypatch, meanwhile)
    assert run(engine, DEADLINE) == ["ran"]
    assert {(row.turn, row.tries) for row in map(the_match, [engine] * 4, names)} == {(1, 0)}


def test_what_is_counted_and_then_locked_by_somebody_is_given_back_or_counts_for_nothing(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = several(engine)
    with ExitStack() as hand:
        at_the_first_turn(monkeypatch, lambda: hand.enter_context(locked(other, "hexem3")))
        ran = turns.run_due(engine, DEADLINE, DEADLINE)
        assert [one.match for one in ran] == ["hexem1", "hexem2", "hexem4"]
    assert [the_match(engine, name).turn for name in names] == [1, 1, 0, 1]
    assert [one.outcome for one in turns.run_due(engine, DEADLINE, DEADLINE)] == ["ran"]
    assert the_match(engine, "hexem3").tries == 0


def test_a_match_that_is_held_among_others_that_are_claimed_is_held_by_no_fault(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = several(engine)

    def held() -> None:
        with opened(other, "hexem3") as (session, row):
            clock.hold(session, row, NOW)

    at_the_first_turn(monkeypatch, held)
    assert run(engine, DEADLINE) == ["ran"] * 3
    row = the_match(engine, "hexem3")
    assert (row.status, row.tries, row.turn) == ("held", 0, 0)
    with store.reading(engine) as session:
        assert not brakes.is_any_held(session)
    assert {the_match(engine, name).turn for name in names if name != "hexem3"} == {1}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a locked row waited for but shortly by who opens the database from now on."""
    monkeypatch.setitem(store.database._SESSION, "lock_timeout", 100)  # type: ignore[index]


def test_a_mail_for_a_match_that_is_locked_for_long_waits_and_the_letters_leave(
    impatient: None, engine: Engine, other: Engine, house: Config
) -> None:
    lay(house, mail("BID x 2"), NOW + HOUR)
    begin(engine, "hexem2")
    with locked(other):
        done = rounds.tick(engine, house, NOW + HOUR)
        assert (done.fetched.count, done.sent.sent) == (0, 4)
        (why,) = done.fetched.away
        assert "a row is locked" in why
        assert "end the transaction that holds it" in why
    done = rounds.tick(engine, house, NOW + HOUR)
    assert (done.fetched.became, done.fetched.away) == ({"filed": 1}, [])


def test_the_game_master_s_mail_for_a_match_that_is_locked_for_long_waits_in_its_order(
    impatient: None, engine: Engine, other: Engine, house: Config, post: Post
) -> None:
    begin(engine, "hexem2")
    for name, line in (("hexem1", "HOLD"), ("hexem1", "RELEASE"), ("hexem2", "HOLD")):
        with opened(engine, name) as (_, match):
            gia = f"game+{name}.{matches.token(match, None)}@example.org"
        raw = mail(line, sender="Gia <gia@example.org>", to=gia, number=len(line + name))
        assert post(raw).status == "gm"
    with locked(other):
        rounds.obey_mails(engine, house, NOW + HOUR)
        with store.reading(engine) as session:
            found = session.scalars(select(Message.status).order_by(Message.id)).all()
    assert found == ["gm", "gm", "filed"]
    rounds.obey_mails(engine, house, NOW + HOUR)
    assert [the_match(engine, name).status for name in ("hexem1", "hexem2")] == ["running", "held"]


def test_what_two_fail_to_run_at_once_is_held_and_told_once(
    engine: Engine, other: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_in(engine)
    failed = turns._failed

    def broken(*_: object) -> None:
        raise RuntimeError("out of ink")

    def late(*given: Any) -> turns.Ran | None:
        # Another process tries before it is noted that this one has failed.
        monkeypatch.setattr(turns, "_failed", failed)
        assert run(other, DEADLINE) == ["failed"]
        assert run(other, DEADLINE) == ["held"]
        return failed(*given)

    # As on SQLite, or where a connection that has claims is lost.
    monkeypatch.setattr(store.Claim, "take", lambda _, works: list(works))
    monkeypatch.setattr(turns, "advance", broken)
    monkeypatch.setattr(turns, "_failed", late)
    assert run(engine, DEADLINE) == []
    assert told_gm(engine) == ["hexem1 is held: its turn fails"]


def test_a_mail_of_the_game_master_s_that_the_database_refuses_does_not_stop_the_others(
    engine: Engine, other: Engine, house: Config, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(engine) as (_, match):
        token = matches.token(match, None)
    for number, line in enumerate(("SAY one", "SAY two")):
        gia = f"game+hexem1.{token}@example.org"
        raw = mail(line, sender="Gia <gia@example.org>", to=gia, number=number)
        assert post(raw).status == "gm"
    record = store.record

    def refused(
        session: object, match: object, now: object, who: str, *rest: str, **facts: str
    ) -> None:
        long = "x" * 1000 if "one" in str(facts) else who
        record(session, match, now, long, *rest, **facts)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "record", refused)
    assert rounds.obey_mails(engine, house, NOW + HOUR) == 2
    with store.reading(engine) as session:
        found = session.scalars(select(Message.status).order_by(Message.id)).all()
    assert found == ["shunted", "filed"]


def fill_in(engine: Engine, name: str = "hexem1") -> None:
    """Have both players of a match send a deliberate empty sheet."""
    with opened(engine, name) as (session, match):
        for seat in match.seats:
            matches.file(session, match, seat, "", NOW)
