"""The demo: whole matches of every game, played by scripted players over a local post office.

Every order comes as a raw mail, written as one client or another would write it, and every letter
goes out; only the clock is made up, so that weeks pass in seconds.
"""

import email
import html
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP, default
from email.utils import format_datetime, parseaddr
from pathlib import Path
from random import Random

from sqlalchemy import Engine, select

from pbem import config as configs
from pbem import game as games
from pbem import gm, making, matches, rounds, store
from pbem.config import Config
from pbem.faults import Wrong

PLAYERS = {
    "Anna": "anna@example.org",
    "Boris": "boris@example.org",
    "Chloé": "chloe@example.org",
    "Дмитрий": "dmitri@example.org",
}
OPTIONS = {"hexem": {"turns": 8}, "offices": {"rounds": 4}}
BEGIN = datetime.fromisoformat("2027-01-03T17:00:00+00:00")
MOST_PHASES = 80


def run(folder: Path, seed: str) -> Iterator[str]:
    """Play a match of every installed game in a folder; yield what there is to say, line by line.

    A folder that is there already is left alone: the next free name is taken.
    """
    folder = _free(folder)
    config = _set_up(folder)
    engine = store.open(config.database_url)
    now = BEGIN
    for key in games.installed():
        now = yield from _play(engine, config, key, seed, now + timedelta(hours=1))
    # A page is told by the same templates as a letter, and takes as long to import.
    from pbem.archive import site
    from pbem.archive.sources import sources

    site.build(site.Place(folder / "archive", "The demo's matches"), sources(engine))
    yield ""
    yield "Where to look:"
    yield f"  the archive, in a browser           {folder / 'archive' / 'index.html'}"
    yield f"  reports, as text and in a browser   {folder / 'reports'}"
    yield f"  the mails that came                 {folder / 'mail' / 'in'}"
    yield f"  the letters that went               {folder / 'mail' / 'out'}"
    yield f"  pictures                            {folder / 'pictures'}"
    yield f"  database                            {folder / 'pbem.sqlite'}"
    yield f"Then try: pbem --config {folder / 'pbem.toml'} status"


def _free(folder: Path) -> Path:
    number, free = 1, folder
    while free.exists() and any(free.iterdir()):
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def _set_up(folder: Path) -> Config:
    try:
        for part in ("mail/in/new", "mail/in/cur", "mail/in/tmp", "reports", "pictures"):
            (folder / part).mkdir(parents=True)
        text = configs.TEXT.replace("per_minute = 60", "per_minute = 100_000")
        (folder / "pbem.toml").write_text(text, "utf-8")
    except OSError as error:
        raise Wrong(f"{folder}: {error.strerror}; choose another with --folder") from None
    config = configs.load(folder / "pbem.toml")
    store.create(config.database_url)
    return config


def _play(
    engine: Engine, config: Config, key: str, seed: str, now: datetime
) -> Generator[str, None, datetime]:
    """Play one match to its end; returns the time it ended."""
    match = f"{key}1"[:32]
    plan = making.Plan(
        game=key,
        match=match,
        players=tuple(making.Player(name, (address,)) for name, address in PLAYERS.items()),
        options={"seed": f"{seed} {key}", **OPTIONS.get(key, {})},
        schedules=("daily 20:00",),
        zone="Europe/Berlin",
    )
    with store.writing(engine) as session:
        deadline = making.begin(session, plan, now).deadline
    rng = Random(f"{seed} {key} players")
    letters = 0
    office = _Office(config.folder / "mail" / "out")
    yield f"{games.named(key).TITLE}: match {match}, {', '.join(PLAYERS)}"
    while deadline is not None:
        letters += rounds.tick(engine, config, now).sent.sent
        # Nobody answers a letter before it was sent.
        now = max(now + timedelta(minutes=10), deadline - timedelta(hours=5))
        _answer_letters(engine, config, match, office.letters(), rng, now)
        letters += rounds.tick(engine, config, now + timedelta(minutes=1)).sent.sent
        now = deadline + timedelta(minutes=1)
        letters += rounds.tick(engine, config, now).sent.sent
        with store.reading(engine) as session:
            row = session.scalars(select(store.Match).where(store.Match.name == match)).one()
            deadline, phase, turn = row.deadline, row.phase, row.turn
            if turn > MOST_PHASES:
                raise RuntimeError(f"{match} does not end")
            entry = session.scalars(
                select(store.Entry).where(
                    store.Entry.what == "over", store.Entry.match_id == row.id
                )
            ).first()
    for name, letter in office.letters().items():
        _keep(config.folder, match, turn, name, letter)
    yield f"  {turn} phases, {letters} letters, now {phase}" + (
        f"; won by {', '.join(entry.facts['winners']) or 'nobody'}" if entry else ""
    )
    return now


def _answer_letters(
    engine: Engine,
    config: Config,
    match: str,
    inbox: Mapping[str, EmailMessage],
    rng: Random,
    now: datetime,
) -> None:
    """Have each player who may send orders answer his last letter, in his own client's way."""
    with store.reading(engine) as session:
        row = session.scalars(select(store.Match).where(store.Match.name == match)).one()
        turn = store.turn_of(session, row)
        if turn is None:
            return
        game, state = matches.load_state(row, turn)
    bot = games.optional(game, "bot")
    for number, name in enumerate(PLAYERS):
        if name in inbox:
            _keep(config.folder, match, row.turn, name, inbox[name])
        if bot and name in game.waiting(state) and name in inbox:
            text = bot(state, name, rng)
            raw = _reply(name, inbox[name], text, number, now)
            _deliver(config.folder / "mail" / "in", f"{now:%Y%m%d%H%M}.{match}.{number}", raw, now)
    gm_bot = games.optional(game, "gm_bot")
    orders = gm_bot(state, rng) if gm_bot else ""
    if orders:
        with store.writing(engine) as session:
            locked = store.match_named(session, match, lock=True)
            if locked is not None:
                gm.obey(session, locked, orders, now)


class _Office:
    """The post office: knows each player's newest letter that shows a turn, of those new to it."""

    def __init__(self, maildir: Path) -> None:
        self._folder = maildir / "new"
        self._known = set(self._folder.glob("*"))
        self._newest: dict[str, EmailMessage] = {}

    def letters(self) -> Mapping[str, EmailMessage]:
        """Return the newest letter of each player, by name."""
        fresh = set(self._folder.iterdir()) - self._known
        self._known |= fresh
        for path in sorted(fresh, key=lambda path: path.stat().st_mtime_ns):
            letter = email.message_from_bytes(path.read_bytes(), policy=default)
            address = parseaddr(letter["To"])[1]
            if letter["Auto-Submitted"] == "auto-generated":
                self._newest |= {n: letter for n, whose in PLAYERS.items() if whose == address}
        return self._newest


def _reply(name: str, letter: EmailMessage, orders: str, client: int, now: datetime) -> bytes:
    """Write a player's answer to a letter: his orders over what he quotes, as clients do."""
    quoted = _text(letter)
    when = f"{now:%a, %d %b %Y at %H:%M}"
    sender = str(letter["From"])
    words = f"Hello Gia,\n\n{orders.strip()}\n\nBest,\n{name}\n"
    below = "".join(f"> {line}\n" for line in quoted.splitlines())
    reply = EmailMessage(policy=SMTP.clone(cte_type="8bit"))
    reply["From"] = email.utils.formataddr((name, PLAYERS[name]))
    reply["To"] = letter["Reply-To"]
    reply["Subject"] = f"{('Re', 'AW', 'RE', 'Ответ')[client % 4]}: {letter['Subject']}"
    reply["Date"] = format_datetime(now)
    reply["Message-ID"] = (
        f"<{now:%Y%m%d%H%M}.{client}.{abs(hash(orders)) % 10**8}@mail.example.org>"
    )
    reply["In-Reply-To"] = letter["Message-ID"]
    reply["References"] = f"{letter.get('References', '')} {letter['Message-ID']}".strip()
    if client % 4 == 2:
        block = f"\nFrom: {sender}\nSent: {when}\nTo: {name}\nSubject: {letter['Subject']}\n\n"
        reply.set_content(words + block + quoted)
    else:
        reply.set_content(f"{words}\nOn {when}, {sender} wrote:\n{below}")
    if client % 4 == 1:
        shown = "<br>".join(html.escape(line) for line in words.splitlines())
        old = html.escape(quoted).replace("\n", "<br>")
        cited = f'<div class="gmail_quote"><blockquote>{old}</blockquote></div>'
        reply.add_alternative(f'<div dir="ltr">{shown}</div>{cited}', subtype="html")
    return reply.as_bytes()


def _text(letter: EmailMessage) -> str:
    body = letter.get_body(("plain",))
    return body.get_content() if isinstance(body, EmailMessage) else ""


def _deliver(maildir: Path, key: str, raw: bytes, now: datetime) -> None:
    """Lay a mail into a Maildir as it was received at that time."""
    path = maildir / "tmp" / key
    path.write_bytes(raw)
    os.utime(path, (now.timestamp(), now.timestamp()))
    path.rename(maildir / "new" / key)


def _keep(folder: Path, match: str, turn: int, name: str, letter: EmailMessage) -> None:
    """Keep a letter to look at: its text, its HTML for a browser, its pictures."""
    place = f"{match}-turn-{turn:02}-{name}"
    page = ""
    pictures: Sequence[tuple[str, bytes]] = ()
    for part in letter.walk():
        body = part.get_payload(decode=True)
        if not isinstance(body, bytes):
            continue
        kind = part.get_content_type()
        if kind == "text/plain":
            (folder / "reports" / f"{place}.txt").write_bytes(body.replace(b"\r\n", b"\n"))
        elif kind == "text/html":
            page = body.decode("utf-8", "replace")
        elif kind == "image/png":
            pictures = [*pictures, (str(part["Content-ID"]).strip("<>"), body)]
    for number, (cid, png) in enumerate(pictures, 1):
        path = folder / "pictures" / f"{place}-{number}.png"
        path.write_bytes(png)
        page = page.replace(f"cid:{cid}", f"../pictures/{path.name}")
    if page:
        (folder / "reports" / f"{place}.html").write_text(page, "utf-8")
