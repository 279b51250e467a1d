"""The rows that letters are written from: those of many letters are read at once, and kept."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import bindparam, select, tuple_
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from pbem import store
from pbem.store import Entry, Letter, Match, Turn

Found = TypeVar("Found")

# What a game master did behind the seats' backs, and is told of.
LOOKS = ("looked", "previewed", "exported")

_LETTERS = select(Letter).where(
    Letter.id.between(bindparam("first"), bindparam("last")),
    Letter.status == "queued",
    Letter.due <= bindparam("now"),
)
_MATCHES = select(Match).where(Match.id.in_(bindparam("matches", expanding=True)))
_TURNS = (
    select(Turn)
    .where(
        tuple_(Turn.match_id, Turn.number).in_(bindparam("turns", expanding=True)),
        Turn.live.is_(True),
    )
    .options(store.WHOLE_TURN)
)
_ENTRIES = (
    select(Entry)
    .where(
        Entry.match_id.in_(bindparam("matches", expanding=True)),
        Entry.what.in_((*LOOKS, "press", "replaced")),
    )
    .order_by(Entry.id)
)


def read_ahead(
    session: Session, numbers: Sequence[int], matches: Collection[int | None], now: datetime
) -> dict[int, Letter]:
    """Read letters with what is told in them; return those of some matches that are to be sent.

    The session keeps it until it is read ahead the next time: matches, seats, turns and history.
    """
    kept = session.info["kept"] = {}
    given = {"first": numbers[0], "last": numbers[-1], "now": now}
    letters = [one for one in session.scalars(_LETTERS, given) if one.match_id in matches]
    asked = list({one.match_id for one in letters if one.match_id is not None})
    if asked:
        ours = {match.id: match for match in session.scalars(_MATCHES, {"matches": asked})}
        store.read_seats(session, list(ours.values()))
        seats = {seat.id: seat for match in ours.values() for seat in match.seats}
        for letter in letters:
            _connect(letter, "match", letter.match_id, ours)
            _connect(letter, "seat", letter.seat_id, seats)
        # A session holds only what somebody else holds.
        kept["matches"] = ours
        shown = {
            (match.id, _number(match, letter.turn))
            for letter in letters
            if (match := letter.match) is not None
        }
        turns = session.scalars(_TURNS, {"turns": list(shown)})
        by_number = {(one.match_id, one.number): one for one in turns}
        kept |= {("turn", *key): by_number.get(key) for key in shown}
        entries = _entries(session, ours)
        kept |= {("entries", match): entries[match] for match in ours}
    return {letter.id: letter for letter in letters}


def _connect(letter: Letter, name: str, number: int | None, known: Mapping[int, object]) -> None:
    """Have a letter know what its column refers to, if that is known, or is nothing."""
    if number is None or number in known:
        set_committed_value(letter, name, None if number is None else known[number])


def turn_shown(session: Session, match: Match, number: int | None) -> Turn | None:
    """Return the turn a letter is about (the last one where it is about none), if it stands."""
    wanted = _number(match, number)
    return kept(
        session,
        ("turn", match.id, wanted),
        lambda: store.turn_of(session, match, wanted, read="all"),
    )


def entries(session: Session, match: Match) -> Sequence[Entry]:
    """Return the entries of a match's history that a letter may tell."""
    return kept(session, ("entries", match.id), lambda: _entries(session, (match.id,))[match.id])


def kept(session: Session, key: Hashable, find: Callable[[], Found]) -> Found:
    """Return what `find` finds, which a session that has read ahead looks for but once."""
    at_hand = session.info.get("kept")
    if at_hand is None:
        return find()
    if key not in at_hand:
        at_hand[key] = find()
    found: Found = at_hand[key]
    return found


def _number(match: Match, number: int | None) -> int:
    return match.turn if number is None else number


def _entries(session: Session, matches: Collection[int]) -> dict[int, list[Entry]]:
    found: dict[int, list[Entry]] = defaultdict(list)
    for one in session.scalars(_ENTRIES, {"matches": list(matches)}):
        found[one.match_id].append(one)
    return found
