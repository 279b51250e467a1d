"""A game of another package: installed beside pbem, it is hosted, judged and tested like ours."""

import json
import os
import subprocess
import sys
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import mail

TINY = Path(__file__).parent / "tiny"
ROOT = Path(__file__).parent.parent.parent
CLOCK = ("--clock", "2026-12-01T12:00:00+00:00")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package as its readers would, but into a folder and from here alone."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    where = ["--no-index", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--target"]
    subprocess.run([*pip, *where, str(folder), str(TINY)], check=True, capture_output=True)
    return folder


@pytest.fixture
def pbem(installed: Path, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Run a command in a folder as `pbem init` leaves it, in a process that finds the package."""

    def run(*arguments: str, stdin: bytes = b"") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pbem", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join((str(installed), str(ROOT)))},
            input=stdin,
            capture_output=True,
        )
        assert done.returncode == 0, (arguments, done.stderr.decode())
        return done.stdout.decode()

    run("init", "--yes")
    return run


def letters(folder: Path) -> list[EmailMessage]:
    """Return the letters sent so far, oldest first."""
    paths = sorted((folder / "mail/out/new").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    return [message_from_bytes(path.read_bytes(), policy=default) for path in paths]


def text(letter: EmailMessage) -> str:
    """Return what a letter says, as plain text."""
    body = letter.get_body(("plain",))
    assert isinstance(body, EmailMessage)
    return str(body.get_content())


def test_a_match_of_another_package_is_played_to_its_end(pbem, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    seats = ("--seat", "Ann <ann@example.org>", "--seat", "Bob <bob@example.org>")
    options = ("--option", "rounds=2", "--option", "trust=address")
    made = pbem(*CLOCK, "new", "tiny", "tiny1", *seats, *options, "--json")
    assert json.loads(made)["seats"] == ["Ann", "Bob"]
    numbers = count(1)
    rounds = ({"Ann": "NAME 3", "Bob": "NAME 2"}, {"Ann": "NAME 1", "Bob": "NAME 10\nNAME 1"})
    for sheets in rounds:
        for name, orders in sheets.items():
            sender = f"{name} <{name.lower()}@example.org>"
            raw = mail(orders, sender=sender, subject="[tiny1]", number=next(numbers))
            pbem(*CLOCK, "receive", stdin=raw)
        pbem(*CLOCK, "run", "--match", "tiny1", "--now")
    pbem(*CLOCK, "tick")
    sent = letters(tmp_path)
    shown = json.loads(pbem("show", "tiny1", "--json"))
    assert shown["phase"] == "over"
    assert shown["points"] == {"Ann": 0, "Bob": 1}
    assert shown["winners"] == ["Bob"]
    said = {str(one["Subject"]): text(one) for one in sent if "bob@" in str(one["To"])}
    # The rules, the form and the headline are its own; the report is made up from its facts.
    welcome, report = (
        next(v for k, v in said.items() if word in k) for word in ("begins", "Turn 1")
    )
    assert "Each round everybody names a whole number" in welcome
    assert "After 2 rounds most points win" in welcome
    assert "NAME __" in welcome
    assert "Bob named the lowest lone number" in report
    assert "- named: seat Ann, number 3" in report
    assert "- points: Ann 0, Bob 1" in report
    assert any("10 is not 1 to 9" in one for one in said.values())
    assert any("Lone Numbers is over: Bob wins" in subject for subject in said)
    # Its archive has no chapters or charts of its own, and is whole without them.
    assert "built tiny1" in pbem("archive", "--out", "site")
    page = (tmp_path / "site" / "tiny1" / "turn-1.html").read_text("utf-8")
    assert "<h1>Bob named the lowest lone number" in page
    assert 'id="o1-1"' in page and "named: seat Ann, number 3" in page


def test_its_rules_its_cases_and_mails_are_read(pbem, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert "  NAME <number>\n" in pbem("rules", "tiny")
    assert "rounds until the match is over (default 3)" in pbem("rules", "tiny", "--options")
    assert pbem("judge", "--check", str(TINY / "case.json")).endswith("1 passed, 0 failed\n")
    read = json.loads(pbem("read", "--game", "tiny", "--json", stdin=mail("So be it.\nname 4.")))
    assert (read["action"], read["lines"]) == ("accept", ["name 4"])


def test_the_tests_of_all_games_run_over_it_too(installed: Path) -> None:
    tests = [f"tests/games/test_{name}.py" for name in ("contract", "letters")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-k", "tiny", *tests],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
