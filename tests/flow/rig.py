"""What the tests of a match's life share: turns run at a time, sheets filed, letters read."""

import email
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import policy
from email.message import EmailMessage

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from pbem import brakes, gm, matches, outbox, store, turns
from pbem.config import Config
from pbem.post import Accepted
from pbem.store import Entry, Letter, Match, Seat, Turn

# The first deadline of `begin`: Sunday 20:00 in Berlin, in winter.
DEADLINE = datetime(2026, 12, 6, 19, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
WEEK = timedelta(days=7)


class Office:
    """A way out that keeps what it is given: each letter's recipient and bytes."""

    name = "office"

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes]] = []

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Accepted:
        """Keep a letter."""
        assert "@" in envelope_from
        self.sent.append((recipient, raw))
        return Accepted("250")

    def probe(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@contextmanager
def opened(engine: Engine, name: str = "hexem1") -> Iterator[tuple[Session, Match]]:
    """Open a transaction that writes, with a match in it."""
    with store.writing(engine) as session:
        match = store.match_named(session, name, lock=True)
        assert match is not None
        yield session, match


def the_match(engine: Engine, name: str = "hexem1") -> Match:
    """A match as it stands now, its seats and addresses loaded."""
    with opened(engine, name) as (_, match):
        assert all(seat.addresses is not None for seat in match.seats)
        return match


def seat_of(match: Match, name: str) -> Seat:
    """The seat of that name."""
    return next(seat for seat in match.seats if seat.name == name)


def sheet(
    engine: Engine,
    seat: str,
    text: str,
    at: datetime,
    *,
    match: str = "hexem1",
    standing: bool = False,
) -> str:
    """File a sheet received at a time; return whether it was in time."""
    with opened(engine, match) as (session, row):
        return matches.file(session, row, seat_of(row, seat), text, at, standing=standing).verdict


def do(
    engine: Engine, seat: str, command: Callable[..., str], *given: object, match: str = "hexem1"
) -> str:
    """Have a seat's player do something of `pbem.players`."""
    with opened(engine, match) as (session, row):
        return command(session, seat_of(row, seat), *given)


def run(engine: Engine, at: datetime, fetched: datetime | None = None) -> list[str]:
    """Run what is due, all mailboxes fetched; return the outcomes."""
    return [ran.outcome for ran in turns.run_due(engine, at, fetched or at)]


def remind(engine: Engine, at: datetime) -> int:
    """Queue the reminders that are due."""
    with store.writing(engine) as session:
        return brakes.remind(session, at)


def order(engine: Engine, text: str, at: datetime, match: str = "hexem1") -> list[gm.Done]:
    """Carry out the game master's lines."""
    with opened(engine, match) as (session, row):
        return gm.obey(session, row, text, at)


def said(engine: Engine, text: str, at: datetime, match: str = "hexem1") -> str:
    """Carry out one order of the game master's, which is not refused; return what it says."""
    (done,) = order(engine, text, at, match)
    assert not done.refused, done.said
    return done.said


def refused(engine: Engine, text: str, at: datetime, match: str = "hexem1") -> str:
    """Have one order of the game master's refused; return why."""
    (done,) = order(engine, text, at, match)
    assert done.refused, done.said
    return done.said


def letters(engine: Engine, *kinds: str, to: str | None = None) -> list[Letter]:
    """Letters of some kinds (or any) in the order they were queued; `to` a seat, "" the GM."""
    with store.reading(engine) as session:
        query = select(Letter).order_by(Letter.id)
        if kinds:
            query = query.where(Letter.kind.in_(kinds))
        seats = {seat.id: seat.name for seat in session.scalars(select(Seat))}
        found = session.scalars(query)
        return [one for one in found if to is None or seats.get(one.seat_id or 0, "") == to]


def newest(
    engine: Engine, house: Config, kind: str, at: datetime, to: str | None = None
) -> tuple[EmailMessage, str]:
    """Return the newest letter of a kind as it leaves, and its text with white space folded."""
    number = letters(engine, kind, to=to)[-1].id
    with store.reading(engine) as session:
        raw = outbox.compose(session, house, session.get_one(Letter, number), at)
    letter = email.message_from_bytes(raw, policy=policy.default)
    assert isinstance(letter, EmailMessage)
    text = letter.get_body(("plain",))
    assert text is not None
    return letter, " ".join(text.get_content().split())


def told_gm(engine: Engine) -> list[str]:
    """What the game master was told, by what it was about."""
    return [one.facts["about"] for one in letters(engine, "notice", to="") if not one.recipient]


def history(engine: Engine, *what: str) -> list[Entry]:
    """Entries of the history, of some kinds."""
    with store.reading(engine) as session:
        query = select(Entry).where(Entry.what.in_(what)).order_by(Entry.id)
        return list(session.scalars(query))


def turn(engine: Engine, number: int, match: str = "hexem1") -> Turn:
    """A turn that stands, all of it loaded."""
    with opened(engine, match) as (session, row):
        found = store.turn_of(session, row, number)
        assert found is not None
        assert found.state is not None
        assert found.events is not None
        assert found.orders is not None
        assert found.problems is not None
        return found
