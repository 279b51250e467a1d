"""The matches that an archive is to be built of, and what shows cheaply whether one has changed."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from pbem import store
from pbem.archive.site import Source
from pbem.faults import Wrong
from pbem.store import Entry, Match, Turn

if TYPE_CHECKING:
    from pbem.game import Json

# What a record tells of the match's row.
_TOLD = (
    "name",
    "game",
    "status",
    "options",
    "settings",
    "schedules",
    "zone",
    "phase",
    "turn",
    "deadline",
    "created",
)


def sources(engine: Engine, name: str | None = None) -> list[Source]:
    """Return the matches of a database, or the one of that name; raise `Wrong` where it isn't."""
    query = select(Match).order_by(Match.id)
    if name is not None:
        query = query.where(Match.name == name)
    with store.reading(engine) as session:
        found = [_source(engine, session, match) for match in session.scalars(query)]
    if name is not None and not found:
        raise Wrong(f"there is no match {name}; `pbem status` lists them")
    return found


def _source(engine: Engine, session: Session, match: Match) -> Source:
    name = match.name

    def record() -> "Json":
        from pbem.archive.record import published, recorded

        with store.reading(engine) as session:
            found = store.match_named(session, name)
            if found is None:
                raise Wrong(f"there is no match {name} any more")
            return published(recorded(session, found))

    told = [*(getattr(match, key) for key in _TOLD), *_counted(session, match)]
    return Source(
        name, json.dumps(told, default=_plain, ensure_ascii=True), record, match.turn, match.game
    )


def _plain(value: Any) -> str:
    """Return a moment as text; what can't be read shows once the record is made."""
    return repr(value) if isinstance(value, store.Unreadable) else str(value)


def _counted(session: Session, match: Match) -> Iterator[Any]:
    """Yield what grows when turns are run or taken back, and with all else that happens: that is
    an entry in the history."""
    turns = select(func.max(Turn.id), func.count(Turn.id), func.count(Turn.live))
    yield from session.execute(turns.where(Turn.match_id == match.id)).one()
    yield session.scalar(select(func.max(Entry.id)).where(Entry.match_id == match.id))
