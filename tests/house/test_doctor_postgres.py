"""The doctor looks at a PostgreSQL server, and at the password in the database's URL."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pbem import doctor
from pbem.config import Config
from tests.cli.conftest import Answer, pbem
from tests.conftest import NOW
from tests.databases import Postgres

__all__ = ["pbem"]


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The URL of a fresh database on PostgreSQL, with a password that is not asked for."""
    with postgres.fresh() as url:
        yield url.replace("postgres:@", "postgres:geheim@").replace("postgres@", "postgres:geheim@")


def found(house: Config, check: str) -> doctor.Check:
    """Return what the doctor says of one thing."""
    return next(
        one for one in doctor.examine(house.folder / "pbem.toml", NOW) if one.check == check
    )


def test_a_server_that_is_well_is_named(house: Config) -> None:
    one = found(house, "database server")
    assert one.ok
    assert one.why.startswith("PostgreSQL 1")


@pytest.mark.parametrize(
    ("name", "value", "why", "remedy"),
    [
        ("OLDEST_POSTGRES", 99, "is too old", "upgrade it to 99"),
        ("CLOCKS_APART", timedelta(days=-1), "its clock and ours are", "NTP"),
    ],
)
def test_what_is_wrong_with_a_server_is_said_with_the_remedy(
    house: Config, monkeypatch: pytest.MonkeyPatch, name: str, value: object, why: str, remedy: str
) -> None:
    monkeypatch.setattr(doctor, name, value)
    one = found(house, "database server")
    assert not one.ok
    assert why in one.why
    assert remedy in one.remedy


def test_a_password_in_the_url_must_be_its_owner_s_only_and_is_never_said(
    house: Config, pbem: Callable[..., Answer]
) -> None:
    path: Path = house.folder / "pbem.toml"
    path.chmod(0o644)
    assert not found(house, "secrets").ok
    path.chmod(0o600)
    assert found(house, "secrets").ok
    for command in (("doctor",), ("doctor", "--json"), ("init",), ("status",)):
        answer = pbem(*command)
        assert "geheim" not in answer.out + answer.err
