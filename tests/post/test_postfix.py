"""A real Postfix on both sides: letters leave through it, and orders come in by LMTP and by a pipe.

The lines that set it up are those of the files in `cron`, with other paths.
"""

import re
import shutil
import smtplib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email import message_from_bytes
from pathlib import Path

import pytest
import trustme
from sqlalchemy import Engine, select, text

from pbem import config, making, outbox, post, rounds, store
from pbem.config import Config
from pbem.post import Accepted, Refused, Unreachable, open_sender
from pbem.post.settings import SendmailSettings, Server, SmtpSettings, Tls
from pbem.store import Letter, Message
from tests.conftest import BOARD
from tests.post.postfix import AGENT, Postfix, found, postfix_server
from tests.post.servers import free_ports

CRON = Path(__file__).parent.parent.parent / "cron"
GAME = "game@example.org"
DATE = "Tue, 01 Dec 2026 13:00:00 +0100"
ANN = "ann@box.example.org"
LETTER = b"From: game@example.org\r\nTo: ann@box.example.org\r\nSubject: report\r\n\r\nAnn: 3\r\n"


@pytest.fixture(scope="module")
def postfix(authority: trustme.CA) -> Iterator[Postfix]:
    """A Postfix that only delivers into mailboxes."""
    with postfix_server(authority) as running:
        yield running


@contextmanager
def sender(port: int, tls: Tls = "none", host: str = "127.0.0.1") -> Iterator[post.Sender]:
    out = open_sender(SmtpSettings(Server(host, port, tls)))
    try:
        yield out
    finally:
        out.close()


def arrived(postfix: Postfix, sent: post.Sent) -> bytes:
    """Return a letter as it lies in Ann's mailbox, known by its number in the queue."""
    assert isinstance(sent, Accepted), sent
    number = sent.reply.rpartition(" ")[2]
    postfix.logged(f"{number}: to=.*status=sent")
    [letter] = [one for one in postfix.box("ann") if f" id {number}\n".encode() in one]
    return letter


# Out by SMTP.


@pytest.mark.parametrize("tls", ["none", "starttls", "tls"])
def test_a_letter_arrives_whole_by_each_kind_of_connection(
    postfix: Postfix, trusted: trustme.CA, tls: Tls
) -> None:
    body = b".\r\n..two dots\r\n" + b"x" * 990 + b"\r\nfrom\r\nFrom there\r\n"
    with sender(postfix.tls_port if tls == "tls" else postfix.port, tls) as out:
        came = arrived(postfix, out.send("game+m1.token@example.org", ANN, LETTER + body))
    head, _, text = came.partition(b"\n\n")
    assert text == b"Ann: 3\n" + body.replace(b"\r\n", b"\n")
    assert head.startswith(b"Return-Path: <game+m1.token@example.org>")
    assert (b"with ESMTPS" in head) is (tls != "none")


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_fact_111_a_certificate_of_somebody_else_is_refused(postfix: Postfix, tls: Tls) -> None:
    with (
        sender(postfix.tls_port if tls == "tls" else postfix.port, tls) as out,
        pytest.raises(Unreachable, match="its certificate can't be trusted: ") as refused,
    ):
        out.send(GAME, ANN, LETTER)
    assert refused.value.lasting


def test_fact_114_an_unknown_recipient_among_several_is_refused_alone(postfix: Postfix) -> None:
    with sender(postfix.port) as out:
        boxes = [f"{name}@box.example.org" for name in ("ann", "nobody-here", "bob")]
        first, second, third = [out.send(GAME, box, LETTER) for box in boxes]
    assert isinstance(first, Accepted)
    assert isinstance(third, Accepted)
    assert isinstance(second, Refused)
    assert second.part == "recipient"
    assert "550 5.1.1" in second.why


def test_a_letter_and_a_recipient_of_any_script_arrive(postfix: Postfix) -> None:
    wide = "Subject: ход\r\n\r\nХод принят, ján\r\n".encode()
    with sender(postfix.port) as out:
        arrived(postfix, out.send(GAME, ANN, LETTER + "é\r\n".encode()))
        sent = out.send(GAME, "ján@box.example.org", wide)
    assert isinstance(sent, Accepted), sent
    postfix.logged(f"{sent.reply.rpartition(' ')[2]}: to=.*status=sent")
    assert any(one.endswith("Ход принят, ján\n".encode()) for one in postfix.box("ján"))


def test_a_letter_leaves_by_postfixs_own_sendmail(postfix: Postfix) -> None:
    command = (found("sendmail"), "-C", str(postfix.folder / "conf"))
    out = open_sender(SendmailSettings(command))
    out.probe()
    letter = LETTER + b"by sendmail\r\n.\r\nstill\r\n"
    assert isinstance(out.send("game+m1.token@example.org", ANN, letter), Accepted)
    [line] = postfix.logged(r"postfix/pickup.*from=<game\+m1.token@example.org>")
    [number] = re.findall(r": ([0-9A-F]+): uid=", line)
    postfix.logged(f"{number}: to=<ann@box.example.org>.*status=sent")
    assert any(one.endswith(b"by sendmail\n.\nstill\n") for one in postfix.box("ann"))


# In by LMTP and by a pipe.


Words = Callable[[Path], dict[str, str]]


def lines_of(name: str) -> dict[str, str]:
    """Return the lines of a file of `cron`, by the file of Postfix they belong to."""
    parts: dict[str, str] = {}
    into = ""
    for line in (CRON / name).read_text("utf-8").splitlines():
        heading = re.match(r"# In /etc/postfix/([a-z.]+)", line)
        if heading:
            into = heading[1]
            parts[into] = ""
        elif line and not line.startswith("#"):
            parts[into] += f"{line}\n"
    return parts


def set_up(snippet: str, words: Words) -> Callable[[Path], tuple[str, str]]:
    """Have Postfix take mail for example.org by a file of `cron`, with some words in it changed."""

    def lines(folder: Path) -> tuple[str, str]:
        whole = lines_of(snippet)
        for there, here in {"/etc/postfix/": f"{folder}/conf/", **words(folder)}.items():
            assert any(there in part for part in whole.values()), there
            whole = {name: part.replace(there, here) for name, part in whole.items()}
        table = folder / "conf" / "transport"
        table.write_text(whole["transport"])
        subprocess.run([found("postmap"), f"hash:{table}"], check=True)
        return "mydestination = example.org\nalias_maps =\n" + whole["main.cf"], whole["master.cf"]

    return lines


@pytest.fixture
def games(house: Config) -> Config:
    """A house whose players have their mailboxes at the Postfix of the test."""
    said = (house.folder / "pbem.toml").read_text("utf-8")
    said = said.replace("gia@example.org", "gia@box.example.org")
    (house.folder / "pbem.toml").write_text(said, "utf-8")
    return config.load(house.folder / "pbem.toml")


def by_smtp(house: Config, postfix: Postfix) -> Config:
    """Have letters leave through Postfix, over STARTTLS."""
    path = house.folder / "pbem.toml"
    server = f'kind = "smtp"\nhost = "127.0.0.1"\nport = {postfix.port}\n'
    path.write_text(path.read_text("utf-8").replace('kind = "maildir"\npath = "mail/out"', server))
    return config.load(path)


def begin(engine: Engine) -> None:
    """Begin a match for Ann and Bob, who have to show their tokens."""
    plan = making.Plan(
        game="hexem",
        match="hexem1",
        players=(making.Player("Ann", (ANN,)), making.Player("Bob", ("bob@box.example.org",))),
        options={"board": BOARD, "seed": "secret"},
    )
    with store.writing(engine) as session:
        making.begin(session, plan, now())


def now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def mailed(postfix: Postfix, to: list[str], words: str, number: int = 1) -> None:
    """Have Ann mail something, by Postfix."""
    raw = (
        f"From: Ann <{ANN}>\r\nTo: {', '.join(to)}\r\nSubject: Re: [hexem1] my orders\r\n"
        f"Date: {DATE}\r\nMessage-ID: <{number}@box.example.org>\r\n\r\n{words}\r\n"
    )
    with smtplib.SMTP("127.0.0.1", postfix.port, timeout=20) as client:
        assert client.sendmail(ANN, to, raw.encode()) == {}


def stored(engine: Engine) -> list[tuple[str, str]]:
    """Return the recipient and fate of all mails, in the order they were stored."""
    with store.reading(engine) as session:
        rows = session.scalars(select(Message).order_by(Message.id))
        return [(row.recipient, row.status) for row in rows]


def reply_to(engine: Engine, house: Config, seat: str) -> str:
    """Return the address that a seat's letters ask to be answered at."""
    with store.reading(engine) as session:
        letters = session.scalars(select(Letter).order_by(Letter.id))
        [letter] = [one for one in letters if one.recipient == f"{seat}@box.example.org"]
        raw = outbox.compose(session, house, letter, now())
    return str(message_from_bytes(raw)["Reply-To"]).strip("<>")


@contextmanager
def serve_lmtp(house: Config, *options: str) -> Iterator[None]:
    """Run `pbem serve-lmtp` as a process of its own until the end of the block."""
    program = [sys.executable, "-m", "pbem", "--config", str(house.folder / "pbem.toml")]
    process = subprocess.Popen(
        [*program, "serve-lmtp", *options], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    assert "takes mail for game@example.org" in process.stderr.readline()
    try:
        yield
    finally:
        process.terminate()
        said = process.communicate(timeout=20)[1]
    assert said.endswith("pbem: LMTP server stopped\n"), said
    assert process.returncode == 0


def by_socket(folder: Path) -> dict[str, str]:
    return {"/run/pbem-lmtp/socket": f"{folder}/socket"}


def test_the_whole_circle_order_by_smtp_and_lmtp_receipt_by_smtp_into_the_mailbox(
    games: Config, engine: Engine, trusted: trustme.CA
) -> None:
    begin(engine)
    with (
        postfix_server(trusted, set_up("postfix-lmtp.txt", by_socket)) as postfix,
        serve_lmtp(games, "--socket", str(postfix.folder / "socket")),
    ):
        house = by_smtp(games, postfix)
        assert rounds.send(engine, house, now()).sent == 2
        postfix.logged(r"to=<ann@box.example.org>.*status=sent")
        [welcome] = postfix.box("ann")
        answer = str(message_from_bytes(welcome)["Reply-To"]).strip("<>")
        assert answer.startswith("game+hexem1.")
        long_line = "Hello Gia! " + "x" * 5000
        mailed(postfix, [answer], f"{long_line}\r\nBID x 3\r\nKind regards, Ján")
        postfix.logged(f"to=<{re.escape(answer)}>.*status=sent .250 2.0.0 safe")
        assert stored(engine) == [(answer, "filed")]
        assert rounds.send(engine, house, now()).sent == 1
        postfix.logged(r"to=<ann@box.example.org>.*status=sent", 2)
        receipt = message_from_bytes(postfix.box("ann")[1])
    with store.reading(engine) as session:
        raw = session.scalars(select(Message.raw)).one()
    assert raw.startswith(f"Return-Path: <{ANN}>\r\n".encode())
    assert f"{long_line}\r\n".encode() in raw
    assert receipt["Subject"] == "[hexem1] Receipt 1: accepted"
    assert receipt["In-Reply-To"] == "<1@box.example.org>"
    assert receipt["Return-Path"] == f"<{answer}>"


def test_fact_119_postfix_hears_of_each_recipient_apart_also_by_tcp(
    games: Config, engine: Engine, authority: trustme.CA
) -> None:
    begin(engine)
    port = free_ports()[0]

    def by_tcp(folder: Path) -> dict[str, str]:
        return {"unix:/run/pbem-lmtp/socket": f"inet:127.0.0.1:{port}"}

    with (
        postfix_server(authority, set_up("postfix-lmtp.txt", by_tcp)) as postfix,
        serve_lmtp(games, "--port", str(port)),
    ):
        answers = [reply_to(engine, games, seat) for seat in ("ann", "bob")]
        mailed(postfix, answers, "NO ORDERS")
        for answer in answers:
            postfix.logged(f"to=<{re.escape(answer)}>.*status=sent .250 2.0.0 safe")
        # The same letter once more, as after a lost reply: it counts once for each.
        mailed(postfix, answers, "NO ORDERS")
        for answer in answers:
            postfix.logged(f"to=<{re.escape(answer)}>.*status=sent .250 2.0.0 safe", 2)
        with (
            smtplib.SMTP("127.0.0.1", postfix.port, timeout=20) as client,
            pytest.raises(smtplib.SMTPRecipientsRefused, match="User unknown"),
        ):
            client.sendmail(ANN, ["nobody-here@example.org"], LETTER)
    assert {recipient for recipient, _ in stored(engine)} == set(answers)
    assert len(stored(engine)) == 2


def test_while_pbem_is_away_postfix_keeps_the_mail_and_delivers_it_later(
    games: Config, engine: Engine, authority: trustme.CA
) -> None:
    begin(engine)
    answer = reply_to(engine, games, "ann")
    with postfix_server(authority, set_up("postfix-lmtp.txt", by_socket)) as postfix:
        mailed(postfix, [answer], "BID x 3")
        postfix.logged(f"to=<{re.escape(answer)}>.*status=deferred")
        place = ("--socket", str(postfix.folder / "socket"))
        with serve_lmtp(games, *place):
            with engine.begin() as connection:
                connection.execute(text(NOTHING_IS_STORED))
            postfix.run("postqueue", "-f")
            postfix.logged(f"to=<{re.escape(answer)}>.*status=deferred .*451 4.3.0")
            with engine.begin() as connection:
                connection.execute(text("DROP TRIGGER away"))
            postfix.run("postqueue", "-f")
            postfix.logged(f"to=<{re.escape(answer)}>.*status=sent .250 2.0.0 safe")
    assert stored(engine) == [(answer, "filed")]


# What a database does that can't be written.
NOTHING_IS_STORED = """
CREATE TRIGGER away BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no room'); END
"""


def by_pipe(house: Config) -> Words:
    """Have the pipe run this program in this house, as nobody."""
    program = Path(sys.executable).parent / "pbem"
    words = {
        "user=pbem": f"user={AGENT.pw_name}",
        "/srv/pbem": str(house.folder),
        "/usr/local/bin/pbem": str(program),
    }
    return lambda _: words


def test_fact_118_the_pipe_takes_mail_in_and_defers_it_while_the_database_is_away(
    games: Config, engine: Engine, authority: trustme.CA
) -> None:
    begin(engine)
    answers = [reply_to(engine, games, seat) for seat in ("ann", "bob")]
    engine.dispose()
    for path in (games.folder, *games.folder.rglob("*")):
        shutil.chown(path, AGENT.pw_name)
    with postfix_server(authority, set_up("postfix-pipe.txt", by_pipe(games))) as postfix:
        mailed(postfix, answers, "BID x 3", 1)
        for answer in answers:
            postfix.logged(f"to=<{re.escape(answer)}>, relay=pbem.*status=sent")
        assert {recipient for recipient, _ in stored(engine)} == set(answers)
        engine.dispose()
        (games.folder / "pbem.sqlite").rename(games.folder / "away")
        mailed(postfix, answers[:1], "BID x 2", 2)
        postfix.logged("relay=pbem.*dsn=4.3.0, status=deferred .*no database there")
        (games.folder / "away").rename(games.folder / "pbem.sqlite")
        postfix.run("postqueue", "-f")
        postfix.logged(f"to=<{re.escape(answers[0])}>, relay=pbem.*status=sent", 2)
    assert stored(engine)[2:] == [(answers[0], "filed")]
