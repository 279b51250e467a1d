"""What many tests need: a set-up folder, a match in it, mails by its players."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from sqlalchemy import Engine

from pbem import config, intake, making, matches, store
from pbem.config import Config
from tests import databases
from tests.databases import both, postgres

__all__ = ["both", "postgres"]

# Everybody runs the same examples; PBEM_EXPLORE=1 looks for new ones.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", print_blob=True, deadline=None)
settings.load_profile("explore" if os.environ.get("PBEM_EXPLORE") else "same")

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
WEEK = timedelta(days=7)

# Two countries of three hexes each, a row apart, as a board file.
BOARD = "x3 x3 x3\n . . .\ny3 y3 y3\n"


def pytest_configure(config: pytest.Config) -> None:
    """Choose a place for the PostgreSQL that the processes of this run share."""
    if not hasattr(config, "workerinput"):
        databases.reserve()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop that PostgreSQL, if one was started."""
    if not hasattr(config, "workerinput"):
        databases.stop()


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as `pbem init` makes it, made once."""
    path = tmp_path_factory.mktemp("empty") / "pbem.sqlite"
    store.create(f"sqlite:///{path}")
    return path


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of the house's database: SQLite, where a folder of tests has it no other way."""
    yield from databases.fresh(request, "sqlite")


@pytest.fixture
def house(tmp_path: Path, database: str) -> Config:
    """A folder as `pbem init` leaves it."""
    text = config.TEXT.replace("per_minute = 60", "per_minute = 1000")
    if not database.startswith("sqlite"):
        text = text.replace("sqlite:///pbem.sqlite", database)
    (tmp_path / "pbem.toml").write_text(text, "utf-8")
    for box in ("in", "out"):
        for part in ("cur", "new", "tmp"):
            (tmp_path / "mail" / box / part).mkdir(parents=True)
    return config.load(tmp_path / "pbem.toml")


@pytest.fixture
def engine(house: Config) -> Iterator[Engine]:
    """The database of the house."""
    opened = store.open(house.database_url)
    yield opened
    opened.dispose()


def begin(engine: Engine, name: str = "hexem1", now: datetime = NOW, **options: object) -> None:
    """Begin a match of Hexem for Ann and Bob, trusting addresses, due every Sunday evening."""
    plan = making.Plan(
        game="hexem",
        match=name,
        players=(
            making.Player("Ann", ("ann@example.org",)),
            making.Player("Bob", ("bob@example.org", "bob@work.example.org")),
        ),
        options={"trust": "address", "board": BOARD, "seed": "secret", **options},
        schedules=("weekly Sun 20:00",),
        zone="Europe/Berlin",
    )
    with store.writing(engine) as session:
        making.begin(session, plan, now)


def idle(engine: Engine, name: str = "hexem1", now: datetime = NOW) -> None:
    """Have every seat of a match send a deliberate empty sheet."""
    with store.writing(engine) as session:
        row = store.match_named(session, name)
        assert row is not None
        for seat in row.seats:
            matches.file(session, row, seat, "", now)


@pytest.fixture
def match(engine: Engine) -> str:
    """A match of Hexem for Ann and Bob."""
    begin(engine)
    return "hexem1"


def mail(
    text: str,
    *,
    sender: str = "Ann <ann@example.org>",
    to: str = "game@example.org",
    subject: str = "[hexem1] my orders",
    number: int = 1,
    **headers: str,
) -> bytes:
    """Write a plain mail as a simple client would."""
    fields = {
        "From": sender,
        "To": to,
        "Subject": subject,
        "Date": "Tue, 01 Dec 2026 13:00:00 +0100",
        "Message-ID": f"<{number}@mail.example.org>",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"{head}\n{text}\n".encode()


Post = Callable[..., intake.Taken]


@pytest.fixture
def post(engine: Engine, house: Config) -> Post:
    """Take in one mail, as a pipe would bring it, an hour after the match began."""

    def take(raw: bytes, now: datetime = NOW + timedelta(hours=1), to: str = "") -> intake.Taken:
        parcel = intake.Parcel(raw, now, "pipe", recipient=to)
        return intake.take_in(engine, house, [parcel], now)[0]

    return take


@pytest.fixture
def monkeypatch_check(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make Hexem's check of orders fail, as a game with a fault would."""
    from pbem.games import hexem

    def broken(state: object, seat: str | None, orders: list[object]) -> object:
        del state, seat
        return 1 // 0 if orders else ((), ())

    return lambda: monkeypatch.setattr(hexem, "check", broken)
