"""What is the same on SQLite and on PostgreSQL: texts, times, marks, locks, what goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, make_url, select, text, update

from pbem import store
from pbem.store import Mark, Match, Message, StoreAway, StoreCollision, StoreFault
from tests.conftest import NOW, begin
from tests.databases import Postgres


@pytest.fixture
def opened(both: str) -> Iterator[Engine]:
    """A database of each kind, opened."""
    engine = store.open(both)
    yield engine
    engine.dispose()


@pytest.fixture
def shared(postgres: Postgres) -> Iterator[tuple[Engine, Engine]]:
    """A database on PostgreSQL with a match in it, opened by two processes as it were."""
    with postgres.fresh() as url:
        one, other = store.open(url), store.open(url)
        begin(one)
        yield one, other
        one.dispose()
        other.dispose()


def message(**values: Any) -> Message:
    """A mail with some values of its own."""
    common = dict.fromkeys(("source", "key", "message_id", "sender", "subject", "recipient"), "")
    times = {"received": NOW, "stored": NOW}
    return Message(**{**common, **times, "identity": "1", "raw": b"", "status": "filed", **values})


def test_the_migrations_make_the_tables_the_program_has(opened: Engine) -> None:
    settings = Config()
    settings.set_main_option("script_location", str(store.migrations_folder()))
    with opened.begin() as connection:
        settings.attributes["connection"] = connection
        # Raises where a model and the migrations differ.
        command.check(settings)


def test_fact_27_nul_and_half_characters_never_keep_a_mail_from_being_stored(
    opened: Engine,
) -> None:
    with store.writing(opened) as session:
        session.add(message(subject="a\0b\ud800c\ud83d\ude00", raw=b"a\0b"))
    with store.reading(opened) as session:
        found = session.scalars(select(Message)).one()
        assert (found.subject, found.raw) == ("ab�c\N{GRINNING FACE}", b"a\0b")


def test_fact_27_what_json_holds_comes_back_as_it_was(opened: Engine) -> None:
    value = {"b": "a\0\ud800é", "a": [1.5, None, True, 2**60], "É": {}}
    with store.writing(opened) as session:
        store.remember(session, "any", value)
    with store.reading(opened) as session:
        assert store.mark(session, "any") == value
        assert list(store.mark(session, "any")) == list(value)


def test_times_are_utc_whatever_zone_the_session_has(opened: Engine) -> None:
    moment = datetime(2026, 7, 1, 18, tzinfo=UTC)
    with store.writing(opened) as session:
        if opened.dialect.name == "postgresql":
            session.execute(text("SET TIME ZONE 'Asia/Tokyo'"))
        session.add(message(received=moment))
        session.flush()
        session.expire_all()
        found = session.scalars(select(Message).where(Message.received <= moment)).one()
        assert found.received == moment


def test_a_mark_is_replaced(opened: Engine) -> None:
    with store.writing(opened) as session:
        store.mark(session, "tick")
        store.remember(session, "tick", {"time": 1})
        store.remember(session, "tick", {"time": 2})
        assert store.mark(session, "tick") == {"time": 2}


def test_a_turn_of_any_number_may_be_asked_for(opened: Engine) -> None:
    begin(opened)
    with store.reading(opened) as session:
        match = store.match_named(session, "hexem1")
        assert match is not None
        for number in (-1, 2**31, 2**63, 10**30):
            assert store.turn_of(session, match, number) is None
        assert store.turn_of(session, match, 0) is not None


def test_what_need_not_outlive_a_power_cut_alone_is_committed_without_waiting_for_the_disk(
    both: str,
) -> None:
    url = make_url(both)
    if url.get_backend_name() == "postgresql":
        url = url.update_query_dict({"options": "-c synchronous_commit=on"})
    engine = store.connect(url)
    asks = {"sqlite": "PRAGMA synchronous", "postgresql": "SHOW synchronous_commit"}

    def asked(**how: bool) -> object:
        with store.connected(engine, single=True, **how) as connection:
            return connection.exec_driver_sql(asks[engine.dialect.name]).scalar()

    assert asked() in (2, "on")
    assert asked(passing=True) in (1, "off")
    assert asked() in (2, "on")
    with pytest.raises(ZeroDivisionError), store.connected(engine, single=True, passing=True):
        raise ZeroDivisionError
    assert asked() in (2, "on")
    engine.dispose()


def test_one_process_at_a_time_does_a_work(opened: Engine, both: str) -> None:
    other = store.open(both)
    with store.alone(opened, "send") as first, store.alone(other, "send") as second:
        assert (first, second) == (True, False)
        with store.alone(other, "fetch-1") as elsewhere:
            assert elsewhere
    with store.alone(other, "send") as later:
        assert later
    other.dispose()


def test_a_lock_that_is_waited_for_too_long_is_away(
    both: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.database, "PATIENCE", 1)
    monkeypatch.setitem(store.database._SESSION, "lock_timeout", 1)
    one, other = store.open(both), store.open(both)
    with store.writing(one) as ours:
        assert store.hold(ours, "turn hexem1", wait=True)
        store.remember(ours, "turn", {})
        with pytest.raises(StoreAway), store.writing(other) as theirs:
            store.hold(theirs, "turn hexem1", wait=True)
            store.mark(theirs, "turn")
    one.dispose()
    other.dispose()


@contextmanager
def claim(engine: Engine) -> Iterator[store.Claim]:
    """Have a connection to claim works by."""
    with store.connected(engine, single=True) as connection:
        yield store.Claim(connection)


def test_on_postgresql_works_are_let_go_as_the_next_are_taken(
    shared: tuple[Engine, Engine],
) -> None:
    one, other = shared
    with claim(one) as ours, claim(other) as theirs:
        assert ours.take(["send 1", "send 2"]) == ["send 1", "send 2"]
        assert theirs.take(["send 2", "send 3", "send 4"]) == ["send 3", "send 4"]
        # What one has already, he may take again.
        assert ours.take(["send 4", "send 2"]) == ["send 2"]
        assert theirs.take(["send 1", "send 2"]) == ["send 1"]
        theirs.close()
        assert ours.take(["send 1", "send 3"]) == ["send 1", "send 3"]
        assert theirs.take(["send 1", "send 2"]) == ["send 2"]


def test_a_lock_leaves_no_transaction_open(shared: tuple[Engine, Engine]) -> None:
    one, other = shared
    idle = text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE state LIKE 'idle in transaction%' AND datname = current_database()"
    )
    with store.alone(one, "fetch-1"), store.reading(other) as session:
        assert session.scalar(idle) == 0


def test_what_is_held_in_a_transaction_ends_with_it(shared: tuple[Engine, Engine]) -> None:
    one, other = shared
    with store.writing(one) as ours, store.writing(other) as theirs:
        assert store.hold(ours, "digests")
        assert not store.hold(theirs, "digests")
        assert store.hold(theirs, "throttle")
    with store.writing(other) as theirs:
        assert store.hold(theirs, "digests")


def test_a_locked_match_takes_letters_and_mails(shared: tuple[Engine, Engine]) -> None:
    one, other = shared
    with store.writing(one) as holds, store.writing(other) as adds:
        match = store.match_named(holds, "hexem1", lock=True)
        assert match is not None
        adds.add(message(match_id=match.id))
        adds.flush()


def test_of_two_that_wait_for_each_other_one_gives_way(shared: tuple[Engine, Engine]) -> None:
    # As the server says it to one of them, after a second.
    says = "DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$"
    with pytest.raises(StoreCollision, match="try again"), store.writing(shared[0]) as session:
        session.execute(text(says))


def test_a_connection_that_is_lost_in_a_transaction_is_away_and_leaves_nothing(
    shared: tuple[Engine, Engine],
) -> None:
    one, other = shared
    with pytest.raises(StoreAway), store.writing(one) as session:
        session.execute(update(Match).values(turn=7))
        with other.begin() as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            )
        session.execute(select(Match))
    # The next transaction has a connection of its own, and nobody is asked to start anew.
    with store.reading(one) as session:
        assert session.scalars(select(Match.turn)).one() == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"database": "pbem_no_such"}, "does not exist; make it"),
        ({"host": "127.0.0.1", "port": 1, "query": {}}, "whether it is up"),
    ],
)
def test_a_database_that_cannot_be_reached_is_away_and_no_password_is_told(
    postgres: Postgres, change: dict[str, Any], says: str
) -> None:
    url = make_url(postgres.url("postgres")).set(password="geheim", **change)
    with pytest.raises(StoreAway, match=says) as error:
        store.open(url)
    assert "geheim" not in str(error.value)


@pytest.mark.parametrize("url", ["postgresql://u:ge:heim@ss@h:x/db", "mysql+x://u:geheim@h/db"])
def test_a_url_that_is_wrong_tells_no_password(url: str) -> None:
    with pytest.raises(StoreFault) as error:
        store.open(url)
    assert "heim" not in str(error.value)


def test_the_plain_name_of_postgresql_is_enough(postgres: Postgres) -> None:
    with postgres.fresh() as url:
        engine = store.open(url.replace("postgresql+psycopg:", "postgresql:"))
        with store.reading(engine) as session:
            assert session.get(Mark, "tick") is None
        engine.dispose()


def test_a_database_that_cannot_hold_every_script_is_refused(postgres: Postgres) -> None:
    with (
        postgres.fresh(empty="SQL_ASCII") as url,
        pytest.raises(StoreFault, match=r"SQL_ASCII.*createdb -E UTF8"),
    ):
        store.create(url)
