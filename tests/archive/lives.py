"""Whole matches with all that happens in one: played through mails, turns and the game master."""

from collections.abc import Mapping
from datetime import datetime
from random import Random
from typing import Any

from sqlalchemy import Engine

from pbem import archive, intake, making, matches, store, turns
from pbem import game as games
from pbem.config import Config
from pbem.game import Json
from tests.archive import played
from tests.conftest import NOW, mail
from tests.flow.rig import DAY, HOUR, opened, order, run, said, sheet
from tests.games.matches import SEED, WAYS

PEOPLE = ("Ann", "Bob", "Cleo")
EVERY_WAY = [
    (key, way) for key in sorted(games.installed()) for way in range(1 + len(WAYS.get(key, ())))
]
# An option that no turn so far went by, to be changed when the first was run.
LATER_OPTION: Mapping[str, tuple[str, str]] = {
    "hexem": ("turns", "30"),
    "offices": ("rounds", "5"),
}
SECRETS = ("secret words to Bob", "secret words of nobody", "secret words to the game master")


def begin(engine: Engine, key: str, name: str = "match1", **options: Any) -> None:
    """Begin a match of a game for three."""
    plan = making.Plan(
        game=key,
        match=name,
        players=tuple(making.Player(one, (f"{one.lower()}@example.org",)) for one in PEOPLE),
        options={"seed": SEED, "trust": "address", **options},
        schedules=("weekly Sun 20:00",),
        zone="Europe/Berlin",
    )
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)


def send_orders(
    engine: Engine, at: datetime, name: str = "match1", silent: tuple[str, ...] = ()
) -> dict[str, str]:
    """Have scripted players (but the silent) and the game master order; return what they sent."""
    sent: dict[str, str] = {}
    with opened(engine, name) as (session, row):
        phase = matches.phase(session, row)
        game = phase.game
        rng = games.chance("players", row.turn, "bots")
        bot, gm_bot = games.optional(game, "bot"), games.optional(game, "gm_bot")
        for seat in row.seats:
            if seat.name in phase.waiting:
                text = bot(phase.state, seat.name, rng)
                if seat.name not in silent:
                    sent[seat.name] = text
                    matches.file(session, row, seat, text, at)
        lines = gm_bot(phase.state, rng) if gm_bot else ""
    if lines:
        sent[""] = lines
        assert not any(done.refused for done in order(engine, lines, at, name))
    return sent


def run_now(engine: Engine, at: datetime, name: str = "match1") -> None:
    """Have the game master run the phase."""
    said(engine, "RUN NOW", at, name)
    ran = turns.run(engine, name, at, at)
    assert ran is not None
    assert ran.outcome == "ran", ran


def write_press(engine: Engine, config: Config, at: datetime, name: str = "match1") -> None:
    """Have Ann write to all, to Bob, to Bob without her name, and to the game master."""
    to = ("ALL", "Bob", "Bob", "GM")
    texts = ("open words", *SECRETS)
    for number, (whom, words) in enumerate(zip(to, texts, strict=True)):
        how = "ANONYMOUS TO" if words == SECRETS[1] else "TO"
        raw = mail(
            f"PRESS {how} {whom}\n{words}\nEND PRESS",
            subject=f"[{name}] press",
            number=int(f"{at:%d%H}{number}"),
        )
        taken = intake.take_in(engine, config, [intake.Parcel(raw, at, "pipe")], at)[0]
        assert taken.status == "answered", taken


def live(
    engine: Engine, config: Config, key: str, phases: int = 4, end: bool = True, **options: Any
) -> datetime:
    """Play a match in which the game master mends a lot; return the time it has come to.

    A sheet stands and a seat is silent, press goes about, turns are taken back and run again with
    other orders, an option is set, a seat is ordered for and given to somebody else.
    """
    begin(engine, key, **{**({"rounds": 4} if key == "offices" else {}), **options})
    at = NOW + HOUR
    for number in range(1, phases + 1):
        at += DAY
        send_orders(engine, at, silent=("Bob",) if number > 1 else ())
        if number == 1:
            write_press(engine, config, at)
            with opened(engine, "match1") as (session, row):
                text = matches.phase(session, row).sheets["Bob"].text
            sheet(engine, "Bob", text, at + HOUR, match="match1", standing=True)
        at += 2 * HOUR
        run_now(engine, at)
        if number == 1 and key in LATER_OPTION:
            said(engine, "SET {} {}".format(*LATER_OPTION[key]), at, "match1")
        if number == 3:
            at = _mend(engine, at)
    if end:
        with opened(engine, "match1") as (_, row):
            status = row.status
        if status != "over":
            said(engine, "END", at, "match1")
            assert run(engine, at) == ["ran"]
    return at


def _mend(engine: Engine, at: datetime) -> datetime:
    """Take the last two turns back, and run them again, one seat's orders being others."""
    said(engine, "UNDO 2", at, "match1")
    said(engine, "REPLACE Cleo WITH Zoë zoe@example.org", at, "match1")
    with opened(engine, "match1") as (session, row):
        phase = matches.phase(session, row)
        bot = games.optional(phase.game, "bot")
        body = bot(phase.state, "Ann", Random(3)) if "Ann" in phase.waiting else ""
    if body.strip():
        order(engine, f"ORDERS FOR Ann\n{body}\nEND ORDERS", at, "match1")
    for _ in range(2):
        at += HOUR
        run_now(engine, at)
    return at


def recorded(engine: Engine, name: str = "match1") -> Json:
    """The record of a match."""
    with store.reading(engine) as session:
        row = store.match_named(session, name)
        assert row is not None
        return archive.recorded(session, row)


def record_of(key: str, way: int, last: int | None = None, **settings: Any) -> Json:
    """The record of a match that was played without a database, up to a turn, or to its end."""
    record = played.record(key, way, last, "match1")
    return {**record, "settings": {**record["settings"], **settings}}
