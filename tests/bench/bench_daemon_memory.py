"""How much memory a daemon takes that runs for long: after 2,000 messages and after 20,000.

Run it by itself: `python tests/bench/bench_daemon_memory.py [MESSAGES] [imap]`. A real daemon takes
replies in from a Maildir (or from a Dovecot over IMAP), files them and sends receipts. It prints
the figures and asserts that they stay below bounds: memory, unlike time, is the same everywhere.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path

import trustme
from sqlalchemy import Engine, func, select

from pbem import config, store
from pbem.store import Message
from tests.bench.bench_intake import NOW, begin, replies
from tests.daemons import daemon
from tests.post.servers import dovecot_server

EARLY = 2_000
# So many messages are laid into the mailbox at a time.
TRAY = 500
# Megabytes: at most so much, and so much more at the end than after the first messages.
MOST, MOST_GROWTH = 120, 10


@contextmanager
def mailbox(kind: str) -> Iterator[tuple[str, Path | None]]:
    """Yield the table of a mailbox, and where a Dovecot keeps it if there is one."""
    if kind == "maildir":
        yield 'kind = "maildir"\npath = "mail/in"', None
        return
    program = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program, "there is no dovecot"
    with dovecot_server(program, trustme.CA()) as dovecot:
        yield (
            f'kind = "imap"\nhost = "127.0.0.1"\nport = {dovecot.port}\ntls = "none"\n'
            'user = "bench"\npassword = "secret"',
            dovecot.homes / "bench" / "Maildir",
        )


def lay(box: Path, number: int, raw: bytes) -> None:
    """Lay a message into a Maildir as received an hour after the matches began."""
    draft = box / "tmp" / f"{number}.host"
    draft.write_bytes(raw)
    received = (NOW + timedelta(hours=1)).timestamp()
    os.utime(draft, (received, received))
    if os.getuid() == 0:
        owner = box.stat()
        os.chown(draft, owner.st_uid, owner.st_gid)
    draft.rename(box / "new" / draft.name)


def taken(engine: Engine) -> int:
    """Return how many messages are in the database."""
    with store.reading(engine) as session:
        return session.scalar(select(func.count()).select_from(Message)) or 0


def megabytes(process: int, figure: str) -> float:
    """Return one of the kernel's figures for a process: VmRSS or VmHWM."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(figure))


def measure(folder: Path, table: str, place: Path | None, messages: int) -> dict[int, float]:
    """Have a daemon take messages in; return the megabytes it holds after so many."""
    text = config.TEXT.replace('kind = "maildir"\npath = "mail/in"', table)
    (folder / "pbem.toml").write_text(text.replace("per_minute = 60", "per_minute = 100000"))
    setup = config.load(folder / "pbem.toml")
    store.create(setup.database_url)
    engine = store.open(setup.database_url)
    begin(engine)
    mails = replies(engine, setup, messages)
    box = place or folder / "mail" / "in"
    for part in ("cur", "new", "tmp") if place is None else ():
        (box / part).mkdir(parents=True)
    clock = ("--clock", (NOW + timedelta(hours=2)).isoformat())
    found: dict[int, float] = {}
    with daemon(folder, "--every", "1", before=clock, patience=86_400) as running:
        running.hear(event="sent")
        for done in range(TRAY, messages + 1, TRAY):
            for number, raw in enumerate(islice(mails, TRAY), done):
                lay(box, number * TRAY, raw)
            while taken(engine) < done:
                running.hear(event="fetched")
            if done % EARLY == 0:
                found[done] = megabytes(running.process.pid, "VmRSS")
                print(f"{done:6} messages: {found[done]:.1f} MB", flush=True)
                # What was taken in and what has left is not to be listed again and again.
                for old in (folder / "mail").glob("*/*/*.*"):
                    old.unlink() if old.parent.name != "tmp" else None
        print(f"at its largest {megabytes(running.process.pid, 'VmHWM'):.1f} MB")
        assert megabytes(running.process.pid, "VmHWM") < MOST
        assert running.stop() == 0
    engine.dispose()
    return found


def main() -> None:
    """Measure, print and hold the bounds."""
    messages = int(next(iter(sys.argv[1:]), "20000"))
    begun = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        mailbox("imap" if "imap" in sys.argv else "maildir") as (table, place),
    ):
        found = measure(Path(folder), table, place, messages)
    growth = max(found.values()) - found[EARLY]
    print(f"growth since {EARLY} messages: {growth:.1f} MB; {time.perf_counter() - begun:.0f} s")
    assert growth < MOST_GROWTH, found


if __name__ == "__main__":
    main()
