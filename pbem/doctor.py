"""The doctor: tries everything a game master set up, and says what to do about each fault.

It writes nothing into the database, takes no mail in and sends no letter.
"""

import itertools
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Engine, func, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from pbem import brakes, deadlines, matches, post, schedule, store
from pbem import config as configs
from pbem import game as games
from pbem.config import Config
from pbem.faults import Away, Damaged, Wrong
from pbem.post import settings
from pbem.store import Address, Letter, Match, Message
from pbem.store.columns import REMEDY

# After so long without a tick, or a look into a mailbox, something has stopped.
LONGEST_SILENCE = timedelta(minutes=15)
# A letter that has waited so long is stuck.
LONGEST_WAIT = timedelta(hours=1)
MOST_BOUNCES = 3
# What the project of PostgreSQL itself still cares for, and the tests run on.
OLDEST_POSTGRES = 13
# Clocks of several machines that share a database.
CLOCKS_APART = timedelta(seconds=5)
# In the URL of a database.
_PASSWORD = re.compile("://[^/@]*:[^@]+@")


class Check(NamedTuple):
    """One thing that was tried: whether it is well, why (or what was found), what to do if not."""

    check: str
    ok: bool
    why: str
    remedy: str = ""


def examine(path: Path, now: datetime) -> Iterator[Check]:
    """Try everything that a config file sets up; yield a `Check` for each thing tried."""
    try:
        config = configs.load(path)
    except Wrong as error:
        yield _fault("config", str(error), "mend the file; `pbem init` writes one that works")
        return
    yield Check("config", True, f"{path} can be read")
    yield from _addresses(config)
    yield from _secrets(path, config)
    yield from _templates(config)
    yield from _sources(config)
    yield _sender(config)
    yield _zones()
    yield from _files(config)
    engine = None
    try:
        engine = _opened(config)
        yield Check("database", True, engine.url.render_as_string(hide_password=True))
        yield _writable(engine)
        yield from _private(engine)
        if engine.dialect.name == "postgresql":
            yield _server(engine)
        with store.reading(engine) as session:
            # All that is stored is read, and each value named that somebody has damaged by hand.
            yield from map(_broken, store.damage.found(session.connection()))
            yield _clock(session, now)
            yield from _work(session, config, now)
            yield from _post_office(session, now)
            yield from _words(session, config, now)
            yield from _matches(session, now)
    except (Wrong, Away, Damaged) as error:
        yield _broken(error)
    except DBAPIError as error:
        remedy = "move its file away, then `pbem restore FILE`"
        yield _fault("database", f"it can't be read: {error.orig}", remedy)
    finally:
        if engine is not None:
            engine.dispose()


def _broken(error: Exception) -> Check:
    why, _, remedy = str(error).rpartition("; ")
    return _fault("database", why or str(error), remedy if why else store.remedy(remedy))


def _fault(check: str, why: str, remedy: str) -> Check:
    return Check(check, False, " ".join(why.split()), remedy)


def _addresses(config: Config) -> Iterator[Check]:
    ours, master = config.mail.address.casefold(), config.game_master.address.casefold()
    if ours == master:
        why = f"the game master's address is the program's own, {ours}"
        remedy = "give [game_master] an address of its own: letters to him would come back as mail"
        yield _fault("addresses", why, remedy)
    elif "+" in ours.partition("@")[0] and config.mail.plus_addressing:
        why = f"mail.address {ours} has a + of its own"
        yield _fault("addresses", why, "name it without, or set plus_addressing = false")
    else:
        yield Check("addresses", True, f"players write to {ours}, letters for the GM to {master}")


def _secrets(path: Path, config: Config) -> Iterator[Check]:
    """Look whether a password lies where others can read it."""
    tables: list[Mapping[str, Any]] = [*config.sources, config.sender]
    files = [path] if any("password" in table for table in tables) else []
    files = [path] if _PASSWORD.search(config.database) else files
    files += [
        config.folder / Path(str(table["password_file"])).expanduser()
        for table in tables
        if "password_file" in table
    ]
    for file in files:
        try:
            mode = file.stat().st_mode
        except OSError:
            # Whose password it is says that it is missing.
            continue
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield _fault("secrets", f"others can read the password in {file}", f"chmod 600 {file}")
        else:
            yield Check("secrets", True, f"only its owner can read {file}")


def _templates(config: Config) -> Iterator[Check]:
    folder = config.templates_folder
    if folder is None:
        return
    if not folder.is_dir():
        remedy = 'make the folder, or write templates = ""'
        yield _fault("templates", f"{folder} is no folder", remedy)
        return
    from jinja2 import Environment, TemplateSyntaxError

    env = Environment(autoescape=True)
    faults = 0
    for file in sorted(folder.rglob("*.*")):
        if file.suffix not in (".txt", ".html", ".svg"):
            continue
        try:
            env.parse(file.read_text("utf-8"))
        except TemplateSyntaxError as error:
            faults += 1
            why = f"{file}, line {error.lineno}: {error.message}"
            yield _fault("templates", why, "mend that line, or take the file away")
        except (OSError, UnicodeDecodeError) as error:
            faults += 1
            yield _fault("templates", f"{file}: {error}", "save it as UTF-8, readable")
    if not faults:
        yield Check("templates", True, f"those in {folder} can be read")


def _sources(config: Config) -> Iterator[Check]:
    if not config.sources:
        yield Check("mailbox", True, "none: mail comes by `pbem receive` or LMTP alone")
    places: list[Path] = []
    for number, table in enumerate(config.sources, 1):
        where = f"source {number}"
        try:
            wanted = settings.read_source(table, where, config.folder)
        except ValueError as error:
            yield _fault(where, str(error), f"mend the table [[source]] number {number}")
            continue
        if isinstance(wanted, settings.MaildirSettings):
            if wanted.path.resolve() in places:
                why = f"{wanted.path} is named twice"
                yield _fault(where, why, "leave one of the two [[source]] tables out")
                continue
            places.append(wanted.path.resolve())
        yield _tried(where, lambda wanted=wanted: _look(wanted))  # type: ignore[misc]


def _look(wanted: settings.SourceSettings) -> str:
    """Look into a mailbox without taking anything from it; return what there is to say."""
    source = post.open_source(wanted)
    try:
        next(iter(source.fetch()), None)
        if source.missed:
            raise post.Unreachable("; ".join(source.missed.values()))
    finally:
        source.close()
    return f"{source.name} can be read"


def _tried(check: str, probe: Callable[[], str]) -> Check:
    try:
        return Check(check, True, probe())
    except post.Unreachable as error:
        remedy = (
            "mend what it says, there or in the config, then try again"
            if error.lasting
            else "look whether the server is up, and host, port and tls are right"
        )
        return _fault(check, str(error), remedy)


def _sender(config: Config) -> Check:
    try:
        wanted = settings.read_sender(config.sender, "sender", config.folder)
    except ValueError as error:
        return _fault("sender", str(error), "mend the table [sender]")
    if isinstance(wanted, settings.MaildirSettings):
        for table in config.sources:
            if table.get("kind") == "maildir" and table.get("path") == config.sender.get("path"):
                why = f"letters are laid into {wanted.path}, where mail is taken from"
                return _fault("sender", why, "name another path for [sender]")

    def probe() -> str:
        sender = post.open_sender(wanted)
        try:
            sender.probe()
        finally:
            sender.close()
        return f"{sender.name} can be used"

    return _tried("sender", probe)


def _zones() -> Check:
    try:
        schedule.parse_zone("Europe/Berlin")
    except ValueError:
        why = "the time zones of the world are not installed"
        return _fault("time zones", why, "pip install tzdata, or install the system's tzdata")
    return Check("time zones", True, "they are installed")


def _files(config: Config) -> Iterator[Check]:
    """Look for files of a SQLite database that can't be written: itself, log, index, locks."""
    place = make_url(config.database_url).database if "sqlite" in config.database else None
    for file, remedy in store.files.not_ours(Path(place)) if place else ():
        yield _fault("database", f"{file} can't be written by this user", remedy)


def _opened(config: Config) -> Engine:
    """Open the database as it is: an older one is named, not migrated; raise `Wrong` or `Away`."""
    engine = store.connect(config.database_url)
    store.check_there(engine)
    version = store.stored_version(engine)
    if version != store.HEAD:
        shown = engine.url.render_as_string(hide_password=True)
        found = "holds no pbem tables" if version is None else f"is of version {version}"
        raise Wrong(f"{shown} {found}; `pbem init` makes the tables, any other command migrates")
    return engine


def _writable(engine: Engine) -> Check:
    """Try to begin a transaction that writes, and to write; nothing of it stays."""
    try:
        with engine.connect() as connection:
            connection.execute(text("INSERT INTO marks (name, value) VALUES ('doctor', '{}')"))
            connection.rollback()
    except DBAPIError as error:
        remedy = store.remedy(str(error.orig), path=store.file_of(engine))
        return _fault("database", f"it can't be written: {error.orig}", remedy)
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            said = connection.execute(text("PRAGMA quick_check")).scalar()
        if said != "ok":
            remedy = "move its file away, then `pbem restore FILE`"
            return _fault("database", f"it is damaged: {said}", remedy)
    return Check("database", True, "it can be written")


def _private(engine: Engine) -> Iterator[Check]:
    """Look whether others can read a SQLite database."""
    path = store.file_of(engine)
    if path and (file := store.files.readable_by_others(path)):
        why = f"others can read {file}, and in it keys, seeds and sealed orders"
        yield _fault("database", why, f"chmod 600 {file}")


def _server(engine: Engine) -> Check:
    """Look at a PostgreSQL server: its version, what it can store, its clock."""
    with engine.connect() as connection:
        number = int(connection.scalar(text("SHOW server_version_num")) or 0)
        encoding = connection.scalar(text("SHOW server_encoding"))
        ahead = connection.scalar(text("SELECT clock_timestamp()")) - datetime.now(UTC)
    version = f"PostgreSQL {number // 10_000}.{number % 10_000}"
    why = remedy = ""
    if number < OLDEST_POSTGRES * 10_000:
        why, remedy = f"{version} is too old", f"upgrade it to {OLDEST_POSTGRES} or newer"
    elif encoding != "UTF8":
        why, remedy = f"its encoding is {encoding}", "createdb -E UTF8, then `pbem migrate-store`"
    elif abs(ahead) > CLOCKS_APART:
        why, remedy = f"its clock and ours are {ahead} apart", "let NTP keep both"
    if why:
        return _fault("database server", why, remedy)
    return Check("database server", True, f"{version}, its clock agrees with ours")


def _clock(session: Session, now: datetime) -> Check:
    """Hold the clock against the newest times that are stored: time doesn't run backwards."""
    newest = session.scalar(select(func.max(Message.stored)).where(Message.stored < store.LATEST))
    ticked = store.remembered(session, "tick", "time")
    times = [one for one in (newest, ticked) if isinstance(one, datetime)]
    ahead = max(times, default=now) - now
    if ahead > timedelta(minutes=5):
        why = f"it says {now.isoformat()}, and the database has times {ahead} later"
        return _fault("clock", why, "set the machine's clock; let it be kept by NTP")
    if now < datetime(2025, 1, 1, tzinfo=UTC):
        return _fault("clock", f"it says {now.isoformat()}", "set the machine's clock by NTP")
    return Check("clock", True, now.isoformat())


def _work(session: Session, config: Config, now: datetime) -> Iterator[Check]:
    ticked = store.remembered(session, "tick", "time")
    remedy = "add `* * * * * pbem tick` to cron (cron/crontab), or start `pbem daemon`"
    last = f"the last tick was at {ticked.isoformat()}" if ticked else "no tick was ever run"
    if ticked is None or now - ticked > LONGEST_SILENCE:
        yield _fault("cron", last, remedy)
    else:
        yield Check("cron", True, last)
    for number in range(1, len(config.sources) + 1):
        fetched = store.remembered(session, f"source {number}", "fetched")
        # One that never was is new, or has been tried above.
        if ticked and fetched and ticked - fetched > LONGEST_SILENCE:
            why = f"mail was last taken in from source {number} at {fetched.isoformat()}"
            yield _fault("mailbox", why, "see what `pbem fetch` says; no turn is run until then")


def _post_office(session: Session, now: datetime) -> Iterator[Check]:
    failed = select(func.count()).where(Letter.status.in_(("failed", "bounced")))
    stuck = select(func.count()).where(
        Letter.status == "queued",
        Letter.why == "",
        Letter.created < now - LONGEST_WAIT,
        Letter.due <= now,
    )
    retried = select(Letter.why).where(Letter.status == "queued", Letter.why != "")
    shunted = select(func.count()).where(Message.status == "shunted")
    found = (
        (failed, "that could not be delivered", "`pbem letters --failed` says why; ADDRESS"),
        (stuck, "that have waited for an hour or longer", "see what `pbem send` says"),
        (shunted, "mails that made the program fail", "`pbem letters --shunted`; `pbem letter ID`"),
    )
    faults = 0
    for query, what, remedy in found:
        count = session.scalar(query) or 0
        if count:
            faults += 1
            yield _fault("letters", f"{what}: {count}", remedy)
    for why, whys in itertools.groupby(sorted(map(str, session.scalars(retried)))):
        faults += 1
        remedy = "mend what it says; `pbem letter ID --retry` tries one at once"
        yield _fault("letters", f"{len(list(whys))} could not be sent: {why}", remedy)
    if not faults:
        yield Check("letters", True, "none is stuck")
    bounced = select(Address).where(Address.bounces >= MOST_BOUNCES).order_by(Address.id)
    for address in session.scalars(bounced):
        seat, match = address.seat.name, address.seat.match.name
        why = f"{match}: letters to {seat} <{address.address}> come back"
        remedy = f'ask for another, then `pbem gm {match} "ADDRESS {seat} <address>"`'
        yield _fault("letters", why, remedy)


def _words(session: Session, config: Config, now: datetime) -> Iterator[Check]:
    """Write the newest letter of each kind and game once more, by the game master's templates."""
    if config.templates_folder is None:
        return
    from pbem import outbox
    from pbem.reports import TemplateFault, reread

    reread()
    newest = (
        select(func.max(Letter.id))
        .outerjoin(Letter.match)
        .where(Letter.status == "sent")
        .group_by(Letter.kind, Match.game)
    )
    written = faults = 0
    for letter in session.scalars(select(Letter).where(Letter.id.in_(newest)).order_by(Letter.id)):
        # What it told of may be gone, or damaged, which is told elsewhere.
        with suppress(Damaged, LookupError, TypeError, ValueError):
            if outbox.is_undone(session, letter):
                continue
            try:
                outbox.compose(session, config, letter, now)
                written += 1
            except TemplateFault as error:
                faults += 1
                why = f"a letter ({letter.kind}) can't be written: {error}"
                yield _fault("templates", why, "mend that line, or take the file away")
    if written and not faults:
        yield Check(
            "templates", True, f"the newest letters of each kind, {written}, can be written by them"
        )


def _matches(session: Session, now: datetime) -> Iterator[Check]:
    rows = list(session.scalars(select(Match).where(Match.status != "over").order_by(Match.id)))
    faults: list[Check] = []
    for row in rows:
        # What can't be read has been named; whatever else is amiss, the others are looked at.
        try:
            faults += _of_match(session, row, now)
        except Damaged:
            continue
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            why = f"it is damaged: {type(error).__name__}: {error}"
            faults.append(_fault(f"match {row.name}", why, REMEDY))
    yield from faults
    if not faults:
        yield Check("matches", True, f"{len(rows)} are not over, and none is stuck")


def _of_match(session: Session, match: Match, now: datetime) -> Iterator[Check]:
    name = f"match {match.name}"
    try:
        games.named(match.game)
        schedule.parse_zone(match.zone)
    except ValueError as error:
        yield _fault(name, str(error), "install the game again, or SET zone <zone>")
        return
    # SET schedule is of no use where one of those there are can't be read.
    remedy = f"matches.schedules: {REMEDY}"
    try:
        for one in match.schedules:
            schedule.parse(one)
        remedy = f'`pbem gm {match.name} "SET schedule <schedule>"`, or "SET pause []"'
        schedule.parse_all(match.schedules)
        deadlines.scheduled(session, match, now)
    except ValueError as error:
        yield _fault(name, str(error), remedy)
    if match.status == "held" and match.tries:
        why = f"its turn failed: {match.why}"
        yield _fault(name, why, f"mend it, then `pbem gm {match.name} RELEASE`")
    if match.status == "running" and brakes.is_overdue(match, now):
        yield _fault(name, "it is long overdue", f"`pbem resume {match.name} --yes`")
    if match.status == "open":
        return
    # Whatever a game makes of a state that is damaged, the other matches are looked at too.
    try:
        matches.phase(session, match)
    except Exception as error:
        why = f"its state can't be read: {type(error).__name__}: {error}"
        yield _fault(name, why, "restore a backup, or UNDO the last turn")
