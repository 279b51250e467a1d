"""Fixtures for the ways in and out: a certificate authority, and a Dovecot for the session."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from sqlalchemy import Engine

from pbem.config import Config
from tests.post.lmtp import Serve, server
from tests.post.servers import Dovecot, dovecot_server


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """A certificate authority of the tests' own."""
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """The tests' own authority, trusted by the program as the system's are."""
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return authority


@pytest.fixture(scope="session")
def dovecot(authority: trustme.CA) -> Iterator[Dovecot]:
    """A real Dovecot; without one the test is skipped, unless the services are required."""
    program = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if not program:
        if os.environ.get("PBEM_SERVICES") == "required":
            pytest.fail("dovecot is not installed, and PBEM_SERVICES=required")
        pytest.skip("dovecot is not installed (Debian: dovecot-imapd)")
    with dovecot_server(program, authority) as running:
        yield running


@pytest.fixture
def serve(engine: Engine, house: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Run the LMTP server here while a scenario talks to it in another thread."""
    return server(engine, house, tmp_path, monkeypatch)
