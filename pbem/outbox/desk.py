"""Where letters are written: what was read of a match for one is at hand for the next ones."""

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.orm import Session, selectinload

from pbem import store
from pbem.store import Match, Seat

Found = TypeVar("Found")


class Desk:
    """The session in which letters are written, the same for as long as they are of one match.

    Letters are queued match by match, so nothing that is read is older than a match's letters.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open = ExitStack()
        self._session: Session | None = None
        self._match: int | None = None

    def session(self, match: int | None) -> Session:
        """Return the session for a letter of a match, or (`None`) of none."""
        if self._session is None or match is None or match != self._match:
            self.close()
            self._match = match
            self._session = self._open.enter_context(store.reading(self._engine))
            self._session.info["kept"] = {}
            if match is not None:
                kept(self._session, "match", lambda: self._read(match))
        assert self._session is not None
        return self._session

    def _read(self, match: int) -> list[Match | Seat]:
        """Read a match with all its seats; a session holds only what somebody else holds."""
        assert self._session is not None
        seats = selectinload(Match.seats).selectinload(Seat.addresses)
        found = self._session.get_one(Match, match, options=[seats])
        return [found, *found.seats]

    def close(self) -> None:
        """End the session."""
        self._open.close()
        self._session = None


def kept(session: Session, key: Hashable, find: Callable[[], Found]) -> Found:
    """Return what `find` finds, which in the session of a desk is looked for but once."""
    at_hand = session.info.get("kept")
    if at_hand is None:
        return find()
    if key not in at_hand:
        at_hand[key] = find()
    found: Found = at_hand[key]
    return found
