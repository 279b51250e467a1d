"""A small world for faults: a house, its post, a story in steps, and an account of what is there.

An account is all that must be the same whether or not a process was killed on the way: mails,
sheets, turns, letters, history. Numbers of rows are not in it: they may have gaps.
"""

import email
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from pbem import config, identity, matches, rounds, store
from pbem.config import Config
from pbem.store import Entry, Letter, Match, Message, Seat, Sheet, Turn
from tests.conftest import NOW, begin, mail
from tests.flow.rig import DEADLINE, HOUR, MINUTE

Account = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """A moment of the story: the mails that have come, with their times of receipt, and a tick."""

    name: str
    now: datetime
    mails: tuple[tuple[bytes, datetime], ...] = ()


def story(gm: str) -> Sequence[Step]:
    """Return a story in which everything happens that a mail or a deadline can bring about.

    `gm` is the address that bears the game master's token for the match.
    """
    soon, late = NOW + HOUR, DEADLINE + MINUTE
    ann, bob = {"sender": "Ann <ann@example.org>"}, {"sender": "Bob <bob@example.org>"}
    boss = {"sender": "Gia <gia@example.org>", "to": gm}
    again = mail("BID x 2\nwell met", number=1, **ann)
    return (
        Step("welcomes", NOW),
        Step(
            "mails",
            soon,
            (
                (again, soon),
                (again, soon),
                (mail("BYD y 2", number=2, **bob), soon),
                (mail("PRESS TO Ann\nPeace?\nEND PRESS", number=3, **bob), soon),
                (mail("HELP\nREPORT", number=4, **ann), soon),
                (mail("BID x 9", number=5, sender="Eve <eve@example.org>"), soon),
                (mail("I am away", number=6, Auto_Submitted="auto-replied", **bob), soon),
            ),
        ),
        Step(
            "turn",
            late,
            (
                (mail("BID y 3", number=7, **bob), DEADLINE),
                (mail("BID x 9", number=8, **ann), DEADLINE + timedelta(seconds=1)),
            ),
        ),
        Step(
            "game master",
            late + HOUR,
            (
                (mail("MUSTER x1", number=9, **ann), late + HOUR),
                (mail("NO ORDERS", number=10, **bob), late + HOUR),
                (mail("SAY Courage!\nRUN NOW", number=11, **boss), late + HOUR),
            ),
        ),
        Step("undo", late + 2 * HOUR, ((mail("UNDO", number=12, **boss), late + 2 * HOUR),)),
    )


def build(folder: Path, database: Callable[[], str] | None = None) -> Config:
    """Make a house with a match in it, its mailbox and its way out Maildirs."""
    text = config.TEXT.replace("per_minute = 60", "per_minute = 1000")
    if database:
        text = text.replace("sqlite:///pbem.sqlite", database())
    folder.mkdir()
    (folder / "pbem.toml").write_text(text, "utf-8")
    for box in ("in", "out"):
        for part in ("cur", "new", "tmp"):
            (folder / "mail" / box / part).mkdir(parents=True)
    house = config.load(folder / "pbem.toml")
    store.create(house.database_url)
    with using(house) as engine:
        begin(engine)
    return house


def copy(house: Config, folder: Path) -> Config:
    """Return a copy of a house, files and database, in another folder."""
    shutil.copytree(house.folder, folder)
    return config.load(folder / "pbem.toml")


@contextmanager
def using(house: Config) -> Iterator[Engine]:
    """Open a house's database for a short while: a child must not inherit it open."""
    engine = store.open(house.database_url)
    try:
        yield engine
    finally:
        engine.dispose()


def gm_address(house: Config, match: str = "hexem1") -> str:
    """Return the address that bears the game master's token for a match."""
    with using(house) as engine, store.reading(engine) as session:
        row = store.match_named(session, match)
        assert row is not None
        token = matches.token(row, None)
    return identity.address(house.mail.address, match, token, house.mail.plus_addressing)


def lay(house: Config, step: Step) -> None:
    """Lay a step's mails into the mailbox."""
    for number, (raw, received) in enumerate(step.mails):
        path = house.folder / "mail" / "in" / "new" / f"{step.name}-{number}.host"
        path.write_bytes(raw)
        os.utime(path, (received.timestamp(), received.timestamp() + number / 1000))


def tick(house: Config, now: datetime) -> Callable[[], object]:
    """Return what a process does that is started for one tick."""

    def work() -> object:
        with using(house) as engine:
            return rounds.tick(engine, house, now)

    return work


def confirmed(house: Config) -> list[bytes]:
    """Return the mails that the mailbox has been told are safe."""
    return [path.read_bytes() for path in (house.folder / "mail" / "in" / "cur").iterdir()]


def left(house: Config) -> dict[str, list[bytes]]:
    """Return the letters that have left, by Message-ID."""
    letters: dict[str, list[bytes]] = {}
    for path in sorted((house.folder / "mail" / "out" / "new").iterdir()):
        raw = path.read_bytes()
        letters.setdefault(str(email.message_from_bytes(raw)["Message-ID"]), []).append(raw)
    return letters


def account(house: Config) -> Account:
    """Return what the database holds, in a form that doesn't depend on the numbers of rows."""
    with using(house) as engine, store.reading(engine) as session:
        seats = {
            seat.id: f"{seat.match.name} {seat.name}" for seat in session.scalars(select(Seat))
        }
        names = {match.id: match.name for match in session.scalars(select(Match))}
        came = {one.id: one.message_id for one in session.scalars(select(Message))}
        return {
            "matches": sorted(
                [
                    one.name,
                    one.status,
                    one.phase,
                    one.turn,
                    str(one.deadline),
                    one.tries,
                    one.run_now,
                ]
                for one in session.scalars(select(Match))
            ),
            "messages": sorted(
                [one.message_id, one.status, one.why] for one in session.scalars(select(Message))
            ),
            "sheets": sorted(
                [
                    seats.get(one.seat_id or 0, "gm"),
                    one.turn,
                    one.text,
                    str(one.received),
                    came.get(one.message_id or 0, ""),
                    one.late,
                    one.withdrawn,
                ]
                for one in session.scalars(select(Sheet))
            ),
            "turns": sorted(
                [names[one.match_id], one.number, bool(one.live), _told(one)]
                for one in session.scalars(select(Turn))
            ),
            "letters": sorted(
                [
                    one.kind,
                    seats.get(one.seat_id or 0, ""),
                    one.recipient,
                    str(one.turn),
                    one.status,
                    came.get(one.answers_id or 0, ""),
                    _bare(one.facts),
                ]
                for one in session.scalars(select(Letter))
            ),
            "history": sorted(
                [names[one.match_id], str(one.time), one.who, one.what, _bare(one.facts)]
                for one in session.scalars(select(Entry))
            ),
        }


def _told(turn: Turn) -> str:
    kept = (turn.phase, turn.state, turn.events, turn.orders, turn.problems, turn.missing)
    return json.dumps(kept, sort_keys=True)


# Facts of letters that name rows by their numbers.
_NUMBERS = ("sheet", "letters", "entry")


def _bare(facts: Mapping[str, Any]) -> str:
    return json.dumps(
        {name: value for name, value in facts.items() if name not in _NUMBERS}, sort_keys=True
    )


def stored(house: Config) -> Counter[bytes]:
    """Return the raw mails that are in the database, each with how often it is."""
    with using(house) as engine, store.reading(engine) as session:
        return Counter(bytes(raw) for raw in session.scalars(select(Message.raw)))
