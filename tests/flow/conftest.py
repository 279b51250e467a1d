"""The tests here run on SQLite, and on PostgreSQL."""

import pytest


@pytest.fixture
def database(both: str) -> str:
    """The URL of the house's database, of one kind and of the other."""
    return both
