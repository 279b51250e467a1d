"""How quickly letters leave over SMTP, beside Postfix's own load generator.

Run it by itself, as root: `python -m tests.bench.bench_smtp`. Both hand the same number of letters
of the same size to a real Postfix that throws them away, each over one connection. It prints
absolute figures and asserts the ratio: the sender reaches at least half of that rate.
"""

import statistics
import subprocess
import time

import trustme

from pbem.post import Accepted, open_sender
from pbem.post.settings import Server, SmtpSettings
from tests.post.postfix import Postfix, found, postfix_server

LETTERS = 6000
ROUNDS = 5
SIZE = 4000

# What goes to this host is thrown away.
_LINES = "virtual_mailbox_domains =\ntransport_maps = inline:{ nowhere.example.org=discard: }\n"


def floor(postfix: Postfix, count: int) -> float:
    """Return how many letters a second smtp-source sends."""
    options = ["-s", "1", "-d", "-m", str(count), "-l", str(SIZE)]
    people = ["-f", "game@example.org", "-t", "ann@nowhere.example.org"]
    begun = time.perf_counter()
    subprocess.run(
        [found("smtp-source"), *options, *people, f"inet:127.0.0.1:{postfix.port}"], check=True
    )
    return count / (time.perf_counter() - begun)


def sent(postfix: Postfix, count: int) -> float:
    """Return how many letters a second our sender sends."""
    head = b"From: game@example.org\r\nTo: ann@nowhere.example.org\r\nSubject: report\r\n\r\n"
    letter = head + b"".join(b"x" * 78 + b"\r\n" for _ in range((SIZE - len(head)) // 80))
    out = open_sender(SmtpSettings(Server("127.0.0.1", postfix.port, "none")))
    begun = time.perf_counter()
    for _ in range(count):
        done = out.send("game@example.org", "ann@nowhere.example.org", letter)
        assert isinstance(done, Accepted), done
    out.close()
    return count / (time.perf_counter() - begun)


def main() -> None:
    """Measure both in turn, so that what else the machine does meets both."""
    with postfix_server(trustme.CA(), lambda _: (_LINES, "")) as postfix:
        sent(postfix, 100)
        part = LETTERS // ROUNDS
        rates = [(floor(postfix, part), sent(postfix, part)) for _ in range(ROUNDS)]
    bare = statistics.median(rate for rate, _ in rates)
    ours = statistics.median(rate for _, rate in rates)
    share = statistics.median(rate / least for least, rate in rates)
    print(f"{LETTERS} letters of {SIZE} bytes, one connection: {ours:.0f} sent in a second")
    print(f"smtp-source: {bare:.0f} a second; share {share:.2f}")
    assert share >= 0.5, share


if __name__ == "__main__":
    main()
