"""A line to a real Dovecot is cut everywhere in turn: nothing is lost, nothing counts twice."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from sqlalchemy import Engine, select

from pbem import rounds, store
from pbem.config import Config
from pbem.store import Message, Sheet
from tests.conftest import begin, mail
from tests.post.proxies import Proxy, proxy
from tests.post.servers import Dovecot
from tests.post.test_imap import client, put, uids

# A Dovecot takes no time of receipt that is to come.
BEGUN = datetime(2024, 1, 1, 12, 0, tzinfo=UTC)
LATER = BEGUN + timedelta(hours=1)
# More cuts than any fetch here needs to go through uncut.
ENOUGH = 400


class Cuts:
    """Mails put into one mailbox and fetched over a line that is cut, then over a sound one."""

    def __init__(self, dovecot: Dovecot, engine: Engine, house: Config, user: str) -> None:
        self.dovecot, self.engine, self.house, self.user = dovecot, engine, house, user
        self.numbers = count(1)

    def source(self, port: int) -> Config:
        """Return the config of the house with that mailbox as its only one."""
        table = {"kind": "imap", "host": "127.0.0.1", "port": port, "tls": "none"}
        return replace(self.house, sources=({**table, "user": self.user, "password": "secret"},))

    def fetched(self, line: Proxy) -> list[str]:
        """Fetch three new mails over a line, and again; return their Message-IDs."""
        found = [next(self.numbers) for _ in range(3)]
        mails = [mail("BID x 2", number=one).replace(b"\n", b"\r\n") for one in found]
        put(self.dovecot, self.user, *mails, received=LATER)
        rounds.fetch(self.engine, self.source(line.port), LATER)
        # Whatever was cut, the next time all is well.
        done = rounds.fetch(self.engine, self.source(self.dovecot.port), LATER)
        assert done.away == []
        return [f"{one}@mail.example.org" for one in found]

    def check(self, wanted: list[str]) -> None:
        """Hold that these mails, and no other, were taken in, each once, and were put away."""
        with store.reading(self.engine) as session:
            query = select(Message).where(Message.message_id.in_(wanted))
            messages = session.scalars(query.order_by(Message.id)).all()
            assert [one.status for one in messages] == ["filed"] * 3
            assert {one.message_id for one in messages} == set(wanted)
            sheets = session.scalars(select(Sheet.id)).all()
            assert len(sheets) == int(wanted[-1].partition("@")[0])
        assert uids(self.dovecot, self.user) == []

    def put_away(self) -> list[str]:
        """Return the Message-IDs of all mails in the folder for them, emptied then."""
        with client(self.dovecot, self.user) as person:
            person.select_folder("Processed")
            found = person.fetch(person.search("ALL"), ["ENVELOPE"])
            person.delete_messages(list(found))
            person.expunge()
        ids = (one[b"ENVELOPE"].message_id for one in found.values())
        return sorted(one.decode().strip("<>") for one in ids)


Everywhere = Callable[[str, Callable[[int], AbstractContextManager[Proxy]]], int]


@pytest.fixture
def everywhere(dovecot: Dovecot, engine: Engine, house: Config) -> Iterator[Everywhere]:
    """Fetch over lines cut later each time, until one goes through uncut; return how many were."""
    begin(engine, now=BEGUN)

    def run(user: str, lines: Callable[[int], AbstractContextManager[Proxy]]) -> int:
        cuts = Cuts(dovecot, engine, house, user)
        for after in range(1, ENOUGH):
            with lines(after) as line:
                wanted = cuts.fetched(line)
            cuts.check(wanted)
            away = cuts.put_away()
            # Without MOVE a copy may be left by a cut between copying and deleting.
            assert sorted(set(away)) == sorted(wanted)
            assert user == "uidplus-cut" or len(away) == len(wanted)
            if not line.was_cut:
                return after - 1
        raise AssertionError("it never went through uncut")

    yield run


@pytest.mark.parametrize("reply_lost", [False, True])
@pytest.mark.parametrize("stays_away", [False, True])
@pytest.mark.parametrize("user", ["cut", "uidplus-cut"])
def test_fact_098_a_connection_lost_at_any_command_loses_and_doubles_nothing(
    everywhere: Everywhere, dovecot: Dovecot, user: str, reply_lost: bool, stays_away: bool
) -> None:
    cuts = everywhere(
        user,
        lambda after: proxy(
            dovecot.port, after_commands=after, reply_lost=reply_lost, stays_away=stays_away
        ),
    )
    # Log-in, folder, search, sizes, texts, marking, moving, good-bye at the least.
    assert cuts >= 9


def test_fact_098_a_connection_lost_at_any_byte_loses_and_doubles_nothing(
    everywhere: Everywhere, dovecot: Dovecot
) -> None:
    # A prime, so that the cuts fall everywhere in words and lines.
    assert everywhere("bytes", lambda after: proxy(dovecot.port, after_bytes=149 * after)) >= 15


@pytest.mark.parametrize("piece", [1, 7])
def test_a_server_whose_replies_trickle_in_is_read_all_the_same(
    dovecot: Dovecot, engine: Engine, house: Config, piece: int
) -> None:
    begin(engine, now=BEGUN)
    cuts = Cuts(dovecot, engine, house, f"trickle{piece}")
    with proxy(dovecot.port, piece=piece) as line:
        cuts.check(cuts.fetched(line))
    assert line.connections == 1
