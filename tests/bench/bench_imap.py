"""How a mailbox is emptied in which 10,000 messages wait, beside a bare download of them all.

Run it by itself: `python tests/bench/bench_imap.py [MESSAGES]`. A real Dovecot holds the messages,
the program takes them in and has them moved; the floor is the standard library's client, which asks
for all texts, a hundred at a time, and throws them away. It prints figures, and asserts what hangs
on no machine: one connection, a tenth of a command for a message, and bounded memory.
"""

import imaplib
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine

from pbem import config, rounds, store
from pbem.config import Config
from tests.bench.bench_daemon_memory import lay, mailbox
from tests.bench.bench_intake import NOW, begin, replies
from tests.post.proxies import Proxy, proxy

# Megabytes that a fetch may add, the imports apart.
MOST_GROWTH = 40


@contextmanager
def house(messages: int) -> Iterator[tuple[Engine, Config, Path]]:
    """Set up matches, and a Dovecot with their players' replies in its mailbox."""
    with tempfile.TemporaryDirectory() as name, mailbox("imap") as (table, place):
        assert place
        path = Path(name) / "pbem.toml"
        path.write_text(config.TEXT.replace('kind = "maildir"\npath = "mail/in"', table))
        setup = config.load(path)
        store.create(setup.database_url)
        engine = store.open(setup.database_url)
        begin(engine)
        # It makes the mailbox.
        rounds.fetch(engine, setup, NOW)
        for number, raw in enumerate(replies(engine, setup, messages)):
            lay(place, number, raw)
        yield engine, setup, place
        engine.dispose()


def download(port: int) -> tuple[int, float]:
    """Ask for all messages, and for nothing else; return how many bytes, and how many seconds."""
    client = imaplib.IMAP4("127.0.0.1", port)
    client.login("bench", "secret")
    client.select("INBOX", readonly=True)
    uids = client.uid("SEARCH", "ALL")[1][0].split()
    size = 0
    begun = time.perf_counter()
    for start in range(0, len(uids), 100):
        some = b",".join(uids[start : start + 100]).decode()
        said = client.uid("FETCH", some, "(BODY.PEEK[])")[1]
        size += sum(len(part[1]) for part in said if isinstance(part, tuple))
    seconds = time.perf_counter() - begun
    client.logout()
    return size, seconds


def take(engine: Engine, setup: Config, line: Proxy) -> tuple[int, float]:
    """Take all in over a line that counts; return how many, and in how many seconds."""
    table = {**setup.sources[0], "port": line.port}
    counted = Config(setup.folder, setup.database, sources=(table,), mail=setup.mail)
    begun = time.perf_counter()
    done = rounds.fetch(engine, counted, NOW + timedelta(hours=2))
    assert not done.away, done.away
    return done.count, time.perf_counter() - begun


def main() -> None:
    """Measure, print and hold the bounds."""
    messages = int(next(iter(sys.argv[1:]), "10000"))
    with house(messages) as (engine, setup, _):
        port = setup.sources[0]["port"]
        size, floor = download(port)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with proxy(port) as line:
            count, seconds = take(engine, setup, line)
        growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    print(f"{messages} messages, {size / 1e6:.0f} MB: downloaded in {floor:.1f} s")
    print(f"taken in and moved in {seconds:.1f} s, {count / seconds:.0f} a second")
    print(f"{line.commands} commands over {line.connections} connection(s); {growth:.0f} MB more")
    assert count == messages, count
    assert line.connections == 1, line.connections
    assert line.commands <= messages / 10 + 50, line.commands
    assert growth <= MOST_GROWTH, growth


if __name__ == "__main__":
    main()
