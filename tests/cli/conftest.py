"""Commands run in this process, as they are typed."""

import io
import sys
from collections.abc import Callable

import pytest

from pbem import cli
from pbem.config import Config


class Answer:
    """What a command answered."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def pbem(
    house: Config, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Run a command in the house, in this process."""
    monkeypatch.chdir(house.folder)
    # A fault of ours must not pass for an answer.
    monkeypatch.setenv("PBEM_TRACEBACK", "1")

    def run(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "argv", ["pbem", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = cli.answer(lambda: cli.app(standalone_mode=False))
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return run
