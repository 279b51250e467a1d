"""A worker process: fetches, runs or sends until nothing is left, or is killed in the middle.

`python -m tests.workers.worker CONFIG WORK TIME [N]` begins when it is told to by a line. With N it
stops at the worst moment of its Nth piece of work, says so and waits to be killed: mails stored and
not confirmed, a turn run and not committed, a letter sent and not marked.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from pbem import config, post, rounds, store, turns
from pbem.config import Config
from pbem.store import Letter


def stopping(call: Callable[..., Any], which: int) -> Callable[..., Any]:
    """Return a call after which the process waits to be killed, the `which`th time."""
    times = 0

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal times
        times += 1
        done = call(*given, **named)
        if times == which:
            print("in the middle", flush=True)
            sys.stdin.read()
        return done

    return counted


def fetch(engine: Engine, house: Config, now: datetime, stops: int) -> None:
    """Take mail in until the mailbox is empty."""
    if stops:
        rounds._take_in = stopping(rounds._take_in, stops)  # type: ignore[assignment]
    new = house.folder / "mail" / "in" / "new"
    while any(new.iterdir()):
        rounds.fetch(engine, house, now)


def run(engine: Engine, house: Config, now: datetime, stops: int) -> None:
    """Run turns until none is due."""
    if stops:
        turns.advance = stopping(turns.advance, stops)
    while True:
        with store.reading(engine) as session:
            if not turns.due(session, now):
                return
        turns.run_due(engine, now, now)


def send(engine: Engine, house: Config, now: datetime, stops: int) -> None:
    """Send until no letter is queued, or none may be sent."""
    if stops:
        opened = post.open_sender

        def open_sender(*given: Any) -> Any:
            sender = opened(*given)
            sender.send = stopping(sender.send, stops)  # type: ignore[method-assign]
            return sender

        post.open_sender = open_sender
    while True:
        with store.reading(engine) as session:
            if session.scalar(select(Letter.id).where(Letter.status == "queued").limit(1)) is None:
                return
        if not rounds.send(engine, house, now).sent and house.mail.per_minute < 100:
            return


def main(place: str, work: str, time: str, stops: str = "0") -> None:
    """Do some work to its end."""
    house = config.load(Path(place))
    engine = store.open(house.database_url)
    works = {"fetch": fetch, "run": run, "send": send}
    print("ready", flush=True)
    sys.stdin.readline()
    works[work](engine, house, datetime.fromisoformat(time), int(stops))


if __name__ == "__main__":
    main(*sys.argv[1:])
