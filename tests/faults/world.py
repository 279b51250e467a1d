"""A small world for faults: a house, its post, a story in steps, and an account of what is there.

An account is all that must be the same whether or not a process was killed on the way: mails,
sheets, turns, letters, history. Numbers of rows are not in it: they may have gaps.
"""

import email
import itertools
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine, select

from pbem import config, identity, matches, rounds, store
from pbem.config import Config
from pbem.store import Entry, Letter, Match, Message, Seat, Sheet, Turn
from tests.conftest import NOW, begin, mail
from tests.databases import Postgres
from tests.flow.rig import DEADLINE, HOUR, MINUTE
from tests.post.servers import Dovecot, Post

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


class Outside(Protocol):
    """The post that a house has: how mails come to it, and what is seen of it from outside."""

    def build(self, folder: Path) -> Config:
        """Make a house with a match in it."""

    def copy(self, house: Config, folder: Path) -> Config:
        """Return a copy of a house, files, database and mailbox, in another folder."""

    def lay(self, house: Config, step: Step) -> None:
        """Lay a step's mails into the mailbox."""

    def confirmed(self, house: Config) -> list[bytes]:
        """Return the mails that the mailbox has been told are safe."""

    def left(self, house: Config) -> dict[str, list[bytes]]:
        """Return the letters that have left, by Message-ID."""


class Folders:
    """Maildirs, in and out."""

    def build(self, folder: Path) -> Config:
        return _built(folder, config.TEXT)

    def copy(self, house: Config, folder: Path) -> Config:
        shutil.copytree(house.folder, folder)
        return config.load(folder / "pbem.toml")

    def lay(self, house: Config, step: Step) -> None:
        _laid(house.folder / "mail" / "in", step)

    def confirmed(self, house: Config) -> list[bytes]:
        return [path.read_bytes() for path in (house.folder / "mail" / "in" / "cur").iterdir()]

    def left(self, house: Config) -> dict[str, list[bytes]]:
        paths = sorted((house.folder / "mail" / "out" / "new").iterdir())
        return _by_id(path.read_bytes() for path in paths)


@dataclass
class Shared(Folders):
    """Maildirs, in and out, and a database on PostgreSQL."""

    postgres: Postgres
    empty: str

    def build(self, folder: Path) -> Config:
        return _built(folder, config.TEXT.replace(_DATABASE, self.postgres.copy(self.empty)))

    def copy(self, house: Config, folder: Path) -> Config:
        shutil.copytree(house.folder, folder)
        path = folder / "pbem.toml"
        copied = self.postgres.copy(house.database)
        path.write_text(path.read_text().replace(house.database, copied), "utf-8")
        return config.load(path)


@dataclass
class Servers:
    """A mailbox on an IMAP server, each house's its own; letters leave by SMTP."""

    dovecot: Dovecot
    smtp: Post
    users: "itertools.count[int]" = field(default_factory=itertools.count)

    def build(self, folder: Path) -> Config:
        text = config.TEXT.replace(_SOURCE, _IMAP.format(self.dovecot.port, self._user()))
        return _built(folder, text.replace(_SENDER, _SMTP.format(self.smtp.port)))

    def copy(self, house: Config, folder: Path) -> Config:
        shutil.copytree(house.folder, folder)
        user = self._user()
        shutil.copytree(self._box(house), self.dovecot.homes / user / "Maildir")
        _give(self.dovecot.homes / user, self.dovecot.homes)
        path = folder / "pbem.toml"
        path.write_text(path.read_text().replace(house.sources[0]["user"], user), "utf-8")
        # What has left so far is told by the copy's own server.
        self.smtp.letters.clear()
        return config.load(path)

    def lay(self, house: Config, step: Step) -> None:
        box = self._box(house)
        for part in ("cur", "new", "tmp"):
            (box / part).mkdir(parents=True, exist_ok=True)
        _laid(box, step)
        _give(box.parent, self.dovecot.homes)

    def confirmed(self, house: Config) -> list[bytes]:
        box = self._box(house) / ".Processed"
        return [path.read_bytes() for part in ("cur", "new") for path in (box / part).glob("*")]

    def left(self, house: Config) -> dict[str, list[bytes]]:
        del house
        return _by_id(letter.raw for letter in self.smtp.letters)

    def _user(self) -> str:
        return f"faults-{os.getpid()}-{next(self.users)}"

    def _box(self, house: Config) -> Path:
        return self.dovecot.homes / str(house.sources[0]["user"]) / "Maildir"


_DATABASE = "sqlite:///pbem.sqlite"
_SOURCE = 'kind = "maildir"\npath = "mail/in"'
_SENDER = 'kind = "maildir"\npath = "mail/out"'
_IMAP = (
    'kind = "imap"\nhost = "127.0.0.1"\nport = {}\nuser = "{}"\npassword = "secret"\ntls = "none"'
)
_SMTP = 'kind = "smtp"\nhost = "127.0.0.1"\nport = {}\ntls = "none"'


def _built(folder: Path, text: str) -> Config:
    folder.mkdir()
    text = text.replace("per_minute = 60", "per_minute = 1000")
    (folder / "pbem.toml").write_text(text, "utf-8")
    for box in ("in", "out"):
        for part in ("cur", "new", "tmp"):
            (folder / "mail" / box / part).mkdir(parents=True)
    house = config.load(folder / "pbem.toml")
    store.create(house.database_url)
    with using(house) as engine:
        begin(engine)
    return house


def _laid(box: Path, step: Step) -> None:
    for number, (raw, received) in enumerate(step.mails):
        path = box / "new" / f"{step.name}-{number}.host"
        path.write_bytes(raw)
        os.utime(path, (received.timestamp(), received.timestamp() + number / 1000))


def _give(folder: Path, owner: Path) -> None:
    """Give a folder with all in it to the owner of another one."""
    status = owner.stat()
    for path in (folder, *folder.rglob("*")):
        os.chown(path, status.st_uid, status.st_gid)


def _by_id(letters: Iterable[bytes]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for raw in letters:
        found.setdefault(str(email.message_from_bytes(raw)["Message-ID"]), []).append(raw)
    return found


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


def tick(house: Config, now: datetime) -> Callable[[], object]:
    """Return what a process does that is started for one tick."""

    def work() -> object:
        with using(house) as engine:
            return rounds.tick(engine, house, now)

    return work


def receive(house: Config, raw: bytes, now: datetime) -> Callable[[], object]:
    """Return what a process does that an MTA starts to hand over one mail by a pipe."""

    def work() -> object:
        with using(house) as engine:
            return rounds.receive(engine, house, BytesIO(raw), "", now, now)

    return work


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
_NUMBERS = ("sheet", "letters", "entry", "number", "message")


def _bare(facts: Mapping[str, Any]) -> str:
    return json.dumps(
        {name: value for name, value in facts.items() if name not in _NUMBERS}, sort_keys=True
    )


def stored(house: Config) -> Counter[bytes]:
    """Return the raw mails in the database, each with how often it is, their lines ended by LF."""
    with using(house) as engine, store.reading(engine) as session:
        raws = session.scalars(select(Message.raw))
        return Counter(bytes(raw).replace(b"\r\n", b"\n") for raw in raws)
