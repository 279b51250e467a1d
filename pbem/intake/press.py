"""Press: what players write to each other, sent on as letters and told in reports."""

import re
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import func, or_, select

from pbem import store
from pbem.intake.lookup import Lookup
from pbem.intake.values import Mail
from pbem.names import choose
from pbem.store import Entry, Seat

LONGEST = 20_000
MOST_A_DAY = 30

# What players are told of who reads along, by the setting `gm_reads_press`.
READERS = {
    "none": "The game master does not read along.",
    "some": "The game master reads along what is written to all, or without a name.",
    "all": "The game master reads all press.",
}


def send(lookup: Lookup, mail: Mail, seat: Seat, to: str, text: str, is_anonymous: bool) -> str:
    """Send a seat's press on to all, to some seats, or to the game master; say to whom it went.

    Raise `ValueError` with a sentence for its writer where it can't be.
    """
    match, now = seat.match, lookup.now
    names = _meant(to, [other.name for other in match.seats])
    for_all, for_gm = "ALL" in names, "GM" in names
    _check_allowed(seat, names, is_anonymous)
    if not text:
        raise ValueError("it says nothing; write your words on the lines before END PRESS")
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text)} characters; {LONGEST} are the most")
    if _sent_today(lookup, mail, seat) >= MOST_A_DAY:
        raise ValueError(f"you have sent {MOST_A_DAY} within a day; write again tomorrow")
    by = "somebody" if is_anonymous else seat.name
    shown = "all" if for_all else ", ".join(names)
    reads = str(match.settings.get("gm_reads_press", "none"))
    # What is to the game master alone he reads, whoever reads along elsewhere.
    only_gm = names == ["GM"]
    notes = [] if only_gm else [READERS[reads]]
    facts = {"press": [{"by": by, "to": shown, "text": text}], "notes": notes}
    others = [other for other in match.seats if other is not seat]
    readers = [other for other in others if for_all or other.name in names]
    for reader in readers:
        store.queue(lookup.session, "press", facts, now, seat=reader)
    if for_gm or reads == "all" or (reads == "some" and (for_all or is_anonymous)):
        store.queue_apart(lookup.session, "press", facts, now, match=match)
    store.record(
        lookup.session,
        match,
        now,
        "" if is_anonymous else seat.name,
        "press",
        by=by,
        to=shown,
        text=text,
        turn=match.turn,
        # Who may read it while the match runs; null for everybody.
        seen_by=None if for_all else [seat.name, *(reader.name for reader in readers)],
        message=mail.id,
    )
    vacant = [reader.name for reader in readers if not reader.addresses]
    unread = f" Nobody plays {', '.join(vacant)} now." if vacant else ""
    how = "without your name " if is_anonymous else ""
    if only_gm:
        return f"Your press went {how}to the game master."
    return f"Your press went {how}to {shown}.{unread} {READERS[reads]}"


def _meant(to: str, seats: Sequence[str]) -> list[str]:
    """Return the seats that are meant, or `ALL`, or `GM`; raise `ValueError` where one can't be."""
    whole, _ = choose(to, [*seats, "ALL", "GM"], "seat")
    if whole is not None:
        return [whole]
    found: list[str] = []
    for said in re.split(r"\s*[,;&+]\s*|\s+and\s+", to):
        name, why = choose(said, [*seats, "ALL", "GM"], "seat")
        if name is None:
            raise ValueError(why)
        found.append(name)
    return list(dict.fromkeys(found))


def _check_allowed(seat: Seat, names: Sequence[str], is_anonymous: bool) -> None:
    """Hold press against the match's setting `press`; to the game master one may always write."""
    allowed = seat.match.settings.get("press", "all")
    if is_anonymous and allowed != "all":
        raise ValueError("nobody writes without his name in this match")
    if list(names) == ["GM"]:
        return
    if list(names) == [seat.name]:
        raise ValueError("it is to yourself")
    if allowed == "none":
        raise ValueError("there is no press between players in this match")
    if allowed == "public" and "ALL" not in names:
        raise ValueError("in this match press goes to ALL, or to GM")


def _sent_today(lookup: Lookup, mail: Mail, seat: Seat) -> int:
    query = (
        select(func.count())
        .select_from(Entry)
        .join(store.Message, Entry.facts["message"].as_integer() == store.Message.id)
        .where(
            Entry.match_id == seat.match_id,
            Entry.what == "press",
            Entry.time > lookup.now - timedelta(days=1),
            # The mail in hand is laid to its seat only when all of it is done.
            or_(store.Message.seat_id == seat.id, store.Message.id == mail.id),
        )
    )
    return lookup.session.scalar(query) or 0
