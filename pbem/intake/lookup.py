"""What is looked up while some messages are taken in, each thing once in a transaction."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Executable, func, select
from sqlalchemy.orm import Session, SessionTransaction, contains_eager, selectinload, undefer

from pbem import identity, matches, store
from pbem.config import Config
from pbem.game import Game
from pbem.store import Address, Letter, Match, Seat, Turn

if TYPE_CHECKING:
    from pbem.message import Letter as Read

Rows = dict[Executable, list[Mapping[str, Any]]]

_ANSWERS = Letter.kind.in_(("receipt", "confirm"))


class Lookup:
    """A transaction that takes mail in: what it knows of seats, turns and states, and what it is
    about to write.

    What most messages lead to is put off and written for many at once; whoever needs the session
    finds all of it written, and a savepoint of the message in hand begun. `twins` are the numbers
    of the messages that came by another way too; `None` where that was not looked up.
    """

    def __init__(self, session: Session, config: Config, now: datetime) -> None:
        self.config = config
        self.now = now
        self.twins: Collection[int] | None = None
        self._session = session
        self._savepoint: SessionTransaction | None = None
        self._in_hand = False
        self._earlier: Rows = {}
        self._own: Rows = {}
        self._seats: dict[str, list[Seat]] = {}
        self._matches: dict[str, Match | None] = {}
        self._turns: dict[int, Turn | None] = {}
        self._states: dict[int, tuple[Game, Any]] = {}
        self._receipts: dict[str | int, int] = {}

    @property
    def session(self) -> Session:
        """The session: it sees all that was put off, and what it does can be taken back."""
        self._write(self._earlier)
        if self._in_hand and self._savepoint is None:
            self._savepoint = self._session.begin_nested()
        self._write(self._own)
        return self._session

    @property
    def connection(self) -> Connection:
        """The connection, for queries that can do without what was put off."""
        return self._session.connection()

    def put_off(self, statement: Executable, row: Mapping[str, Any]) -> None:
        """Have a row written by a statement, later and with others.

        What is put off between two messages stays, whatever becomes of the next one.
        """
        rows = self._own if self._in_hand else self._earlier
        rows.setdefault(statement, []).append(row)

    def write(self) -> None:
        """Write all that was put off."""
        self._write(self._earlier)
        self._write(self._own)

    def _write(self, rows: "Rows") -> None:
        for statement, values in rows.items():
            self._session.connection().execute(statement, values)
        rows.clear()

    @contextmanager
    def one_message(self) -> Iterator[None]:
        """Keep what is done within for one message together: all of it happens, or nothing."""
        self._in_hand = True
        try:
            yield
            if self._savepoint is not None:
                self._write(self._own)
                self._savepoint.commit()
        except BaseException:
            self._own.clear()
            if self._savepoint is not None:
                self._savepoint.rollback()
            self.forget()
            raise
        finally:
            self._in_hand, self._savepoint = False, None
        for statement, values in self._own.items():
            self._earlier.setdefault(statement, []).extend(values)
        self._own.clear()

    def forget(self) -> None:
        """Forget what a message may have changed: who has which address, which turns there are."""
        self._seats.clear()
        self._matches.clear()
        self._turns.clear()

    def expect(self, letters: "Iterable[Read]") -> None:
        """Look up at once who sends some letters, the turns of their matches, and the answers to
        their addresses."""
        wanted = {identity.folded(letter.sender) for letter in letters} - self._seats.keys()
        self._seats.update({folded: [] for folded in wanted})
        self._lock(wanted)
        query = (
            select(Address.folded, Seat)
            .join(Seat, Address.seat_id == Seat.id)
            .join(Match, Seat.match_id == Match.id)
            .where(Address.folded.in_(wanted))
            .options(contains_eager(Seat.match))
            .options(selectinload(Seat.addresses))
            .order_by(Match.status != "running", Match.id.desc(), Seat.position)
        )
        for folded, seat in self._session.execute(query):
            self._seats[folded].append(seat)
        seats = [seat for seats in self._seats.values() for seat in seats]
        found = {seat.match.name: seat.match for seat in seats}
        self._matches.update(found)
        self._expect_turns(match for match in found.values() if match.id not in self._turns)
        self._expect_receipts(seats)

    def _lock(self, senders: Collection[str]) -> None:
        """Lock the matches that some senders play in, so that no turn of theirs is run meanwhile.

        A turn that is being run is waited for: then a sheet comes too late for it, and is told so,
        and never lies there unread. The order of the rows keeps two of us from waiting for each
        other. On SQLite one transaction writes at a time anyway.
        """
        if self._session.get_bind().dialect.name == "sqlite":
            return
        theirs = select(Seat.match_id).join(Address).where(Address.folded.in_(senders))
        query = select(Match.id).where(Match.id.in_(theirs)).order_by(Match.id)
        self._session.scalars(query.with_for_update(key_share=True)).all()

    def _expect_receipts(self, seats: Iterable[Seat]) -> None:
        addresses = {seat.addresses[0].address for seat in seats}
        numbers = {seat.match_id for seat in seats}
        self._receipts.update(dict.fromkeys((*addresses, *numbers), 0))
        limits: tuple[tuple[Any, timedelta, Collection[str | int]], ...] = (
            (Letter.recipient, timedelta(days=1), addresses),
            (Letter.match_id, timedelta(hours=1), numbers),
        )
        for column, since, wanted in limits:
            query = (
                select(column, func.count())
                .where(column.in_(wanted), _ANSWERS, Letter.created > self.now - since)
                .group_by(column)
            )
            for key, count in self._session.execute(query):
                self._receipts[key] = count

    def _expect_turns(self, found: Iterable[Match]) -> None:
        wanted = {match.id: match.turn for match in found}
        self._turns.update(dict.fromkeys(wanted))
        query = (
            select(Turn)
            .join(Match, (Turn.match_id == Match.id) & (Turn.number == Match.turn))
            .where(Match.id.in_(wanted), Turn.live.is_(True))
            .options(undefer(Turn.state))
        )
        for turn in self._session.scalars(query) if wanted else ():
            self._turns[turn.match_id] = turn

    def seats_at(self, address: str) -> list[Seat]:
        """Return the seats whose players write from an address, those of running matches first."""
        folded = identity.folded(address)
        if folded and folded not in self._seats:
            self._seats[folded] = []
            query = (
                select(Seat)
                .join(Address)
                .join(Match, Seat.match_id == Match.id)
                .where(Address.folded == folded)
                .order_by(Match.status != "running", Match.id.desc(), Seat.position)
            )
            self._seats[folded].extend(self._session.scalars(query))
        return self._seats.get(folded, [])

    def match(self, name: str) -> Match | None:
        """Return the match of a name."""
        if name not in self._matches:
            self._matches[name] = store.match_named(self._session, name, lock=True)
        return self._matches[name]

    def turn(self, match: Match) -> Turn | None:
        """Return the last turn of a match that stands; `None` where it hasn't begun."""
        if match.id not in self._turns:
            self._expect_turns([match])
        turn = self._turns[match.id]
        if turn is not None and turn.number != match.turn:
            turn = self._turns[match.id] = store.turn_of(self._session, match)
        return turn

    def state(self, match: Match, turn: Turn) -> tuple[Game, Any]:
        """Return a match's game, and the state a turn left."""
        if turn.id not in self._states:
            # Names alone: most mails need no other seat's row.
            names = select(Seat.name).where(Seat.match_id == match.id).order_by(Seat.position)
            seats = list(self._session.scalars(names))
            self._states[turn.id] = matches.load_state(match, turn, seats)
        return self._states[turn.id]

    def receipts_today(self, seat: Seat) -> int:
        """Count the answers queued to a seat's address within a day, and this one with them."""
        return self._count(seat, seat.addresses[0].address)

    def receipts_of(self, seat: Seat) -> int:
        """Count the answers queued in a seat's match within an hour, and this one with them."""
        return self._count(seat, seat.match_id)

    def _count(self, seat: Seat, key: str | int) -> int:
        if key not in self._receipts:
            self._expect_receipts([seat])
        self._receipts[key] += 1
        return self._receipts[key]
