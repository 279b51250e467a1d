"""The other files of `cron`: units as systemd reads them, a crontab, lines for other programs."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from pbem import store
from pbem.config import Config
from pbem.store import Letter, Message
from tests.conftest import mail
from tests.post.postfix import found
from tests.post.servers import Dovecot

CRON = Path(__file__).parent.parent.parent / "cron"
SERVICES = sorted(CRON.glob("*.service"))
PROGRAM = Path(sys.executable).parent / "pbem"


def need(program: str, package: str) -> str:
    """Return where a program is; skip the test by name without it, or fail where it is required."""
    place = shutil.which(found(program))
    if place:
        return place
    if os.environ.get("PBEM_SERVICES") == "required":
        pytest.fail(f"{program} is not installed, and PBEM_SERVICES=required")
    pytest.skip(f"{program} is not installed (Debian: {package})")


@pytest.fixture
def units(tmp_path: Path) -> Iterator[Path]:
    """The units, with a program in them that is there."""
    folder = tmp_path / "units"
    folder.mkdir()
    for file in (*SERVICES, *CRON.glob("*.timer")):
        text = file.read_text("utf-8")
        assert ("ExecStart=/usr/local/bin/pbem " in text) is (file.suffix == ".service")
        (folder / file.name).write_text(text.replace("/usr/local/bin/pbem", str(PROGRAM)), "utf-8")
    yield folder


def test_systemd_finds_no_fault_with_any_unit(units: Path) -> None:
    command = [need("systemd-analyze", "systemd"), "--no-pager", "verify", *units.iterdir()]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_systemd_holds_every_service_for_little_exposed(units: Path) -> None:
    for unit in units.glob("*.service"):
        command = [need("systemd-analyze", "systemd"), "--no-pager", "security"]
        # In tenths, of a hundred.
        done = subprocess.run(
            [*command, "--offline=true", "--threshold=20", unit], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout[-200:]


def service(file: Path) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file, "utf-8")
    return parser["Service"]


def test_every_service_is_confined_alike_and_runs_a_command_there_is() -> None:
    hardening = []
    for file in SERVICES:
        text = file.read_text("utf-8")
        hardening.append(text[text.index("NoNewPrivileges") :].partition("\n\n")[0].strip())
        said = service(file)
        assert said["User"] == "pbem"
        command = said["ExecStart"].split()[1:2]
        done = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True)
        assert done.returncode == 0
        for option in re.findall(r" (--\w+)", said["ExecStart"]):
            assert option in done.stdout
    assert len(hardening) == 3
    assert len(set(hardening)) == 1


def test_the_socket_of_the_unit_is_the_one_that_postfix_is_told_of() -> None:
    said = service(CRON / "pbem-lmtp.service")
    place = said["ExecStart"].rpartition(" ")[2]
    assert place.startswith(f"/run/{said['RuntimeDirectory']}/")
    assert f"unix:{place}\n" in (CRON / "postfix-lmtp.txt").read_text("utf-8")


def test_the_lines_of_the_crontab_run_as_cron_runs_them(house: Config, engine: Engine) -> None:
    lines = (CRON / "crontab").read_text("utf-8").splitlines()
    jobs = [re.fullmatch(r"(?:\S+\s+){5}(.*)", line) for line in lines if line[:1] in "*0123456789"]
    commands = [job[1] for job in jobs if job]
    assert len(commands) == 2
    for command in commands:
        assert "%" not in command
        here = command.replace("/srv/pbem", str(house.folder))
        here = here.replace("/usr/local/bin/pbem", str(PROGRAM))
        # Of what cron sets this is all.
        bare = {"PATH": "/usr/bin:/bin", "HOME": str(house.folder), "SHELL": "/bin/sh"}
        done = subprocess.run(["/bin/sh", "-c", here], env=bare, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (house.folder / "pbem.toml").write_text("nonsense", "utf-8")
    done = subprocess.run(["/bin/sh", "-c", here], env=bare, capture_output=True, text=True)
    assert done.stdout.startswith("FAULT config: ")


def test_a_monitor_hears_whether_it_stands_and_what_is_stuck(
    house: Config, engine: Engine, match: str
) -> None:
    def heard() -> tuple[int, str]:
        return checked(house.folder / "pbem.toml", PROGRAM)

    def mark(time: datetime, **letter: object) -> None:
        with store.writing(engine) as session:
            store.remember(session, "tick", {"time": time.isoformat()})
            session.execute(update(Letter).values(**letter))

    now = datetime.now(UTC).replace(microsecond=0)
    code, said = heard()
    assert (code, said[:33]) == (2, "PBEM CRITICAL - last tick: never ")
    mark(now, status="queued", due=now, created=now)
    code, said = heard()
    counts = "matches=1 queued=2 failed=0 shunted=0 wait="
    assert (code, said.startswith(f"PBEM OK - nothing is stuck | {counts}")) == (0, True)
    mark(now, status="failed")
    code, said = heard()
    assert (code, said[:41]) == (1, "PBEM WARNING - letters not delivered: 2; ")
    mark(now, status="queued", created=now - timedelta(hours=3))
    code, said = heard()
    assert (code, said[:36]) == (2, "PBEM CRITICAL - a letter waits since")
    mark(now - timedelta(minutes=20), status="sent")
    assert heard()[1].startswith(
        f"PBEM CRITICAL - last tick: {(now - timedelta(minutes=20)).isoformat()}"
    )
    (house.folder / "pbem.toml").unlink()
    code, said = heard()
    assert (code, said[:21]) == (2, "PBEM CRITICAL - pbem:")


def checked(*arguments: object) -> tuple[int, str]:
    """Run the check as a monitor does: its code and its one line."""
    command = [sys.executable, CRON / "check_pbem", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return done.returncode, done.stdout.rstrip("\n")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo Good day", "its answer is not what `pbem status --json` says"),
        ("echo '{}'", "its answer is not what `pbem status --json` says"),
        ("echo '[1]'", "its answer is not what `pbem status --json` says"),
        ("echo '\"text\"'", "its answer is not what `pbem status --json` says"),
        (r"printf '\377'", "its answer is not what `pbem status --json` says"),
        # It hangs, in a process of its own, until that is killed: nobody writes to what it reads.
        ("mkfifo $0.pipe; cat $0.pipe; true", "no answer in 0.2 seconds"),
    ],
)
def test_a_monitor_hears_critical_of_a_program_that_gives_no_answer(
    tmp_path: Path, script: str, why: str
) -> None:
    program = tmp_path / "pbem"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    seconds = 0.2 if "seconds" in why else 20
    assert checked("pbem.toml", program, seconds) == (2, f"PBEM CRITICAL - {program}: {why}")


def test_a_monitor_hears_critical_of_a_program_that_cant_be_run(tmp_path: Path) -> None:
    program = tmp_path / "pbem"
    said = f"PBEM CRITICAL - {program}: "
    assert checked("pbem.toml", program) == (2, f"{said}No such file or directory")
    program.touch(0o644)
    assert checked("pbem.toml", program) == (2, f"{said}Permission denied")
    program.chmod(0o755)
    assert checked("pbem.toml", program) == (2, f"{said}Exec format error")


def test_a_monitor_hears_critical_in_one_line_whatever_the_program_complains_of(
    tmp_path: Path,
) -> None:
    program = tmp_path / "pbem"
    program.write_text("#!/bin/sh\nprintf 'one\\ntwo | three\\n' >&2\n", "utf-8")
    program.chmod(0o755)
    assert checked("pbem.toml", program) == (2, "PBEM CRITICAL - one two / three")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--help",),
        ("pbem.toml", "pbem", "soon"),
        ("a", "b", "-1"),
        ("a", "b", "inf"),
        ("a", "b", "1", "c"),
    ],
)
def test_a_monitor_that_calls_it_wrongly_hears_unknown(arguments: tuple[str, ...]) -> None:
    usage = "check_pbem CONFIG [PROGRAM [SECONDS]]"
    assert checked(*arguments) == (3, f"PBEM UNKNOWN - wrong usage; call it as: {usage}")


# Other programs that hand mail in.


def recipients(engine: Engine) -> list[str]:
    with store.reading(engine) as session:
        return list(session.scalars(select(Message.recipient)))


def snippet(name: str, house: Config) -> str:
    text = (CRON / name).read_text("utf-8")
    assert "/srv/pbem" in text
    text = text.replace("/srv/pbem", str(house.folder))
    return text.replace("/usr/local/bin/pbem", str(PROGRAM))


def test_procmail_hands_mail_in_and_leaves_what_cant_be_stored_to_the_mta(
    house: Config, engine: Engine, match: str, tmp_path: Path
) -> None:
    program = need("procmail", "procmail")
    (tmp_path / "procmailrc").write_text(snippet("procmailrc", house), "utf-8")
    command = [program, "LOGNAME=game", str(tmp_path / "procmailrc")]

    def deliver(number: int) -> int:
        raw = mail("BID x 3", number=number)
        return subprocess.run(command, input=raw, capture_output=True, cwd=tmp_path).returncode

    assert deliver(1) == 0
    assert recipients(engine) == ["game@example.org"]
    engine.dispose()
    (house.folder / "pbem.sqlite").rename(house.folder / "away")
    assert deliver(2) == 75
    (house.folder / "away").rename(house.folder / "pbem.sqlite")
    assert deliver(2) == 0
    assert recipients(engine) == ["game@example.org"] * 2


def test_fetchmail_hands_mail_in_and_leaves_what_cant_be_stored_on_the_server(
    house: Config, engine: Engine, match: str, tmp_path: Path, dovecot: Dovecot
) -> None:
    program = need("fetchmail", "fetchmail")
    text = snippet("fetchmailrc", house)
    for there, here in (
        ("mail.example.org protocol IMAP", f"127.0.0.1 port {dovecot.port} protocol IMAP"),
        ('username "game"', 'username "fetchmail"'),
        ("ssl sslcertck", "sslproto ''"),
    ):
        assert there in text
        text = text.replace(there, here)
    (tmp_path / "fetchmailrc").write_text(text, "utf-8")
    (tmp_path / "fetchmailrc").chmod(0o600)
    box = dovecot.homes / "fetchmail" / "Maildir"
    for part in ("cur", "new", "tmp"):
        (box / part).mkdir(parents=True)
    (box / "new" / "1").write_bytes(mail("BID x 3"))
    for path in (box.parent, *box.parent.rglob("*")):
        shutil.chown(path, dovecot.homes.stat().st_uid, dovecot.homes.stat().st_gid)
    command = [program, "--nodetach", "-f", tmp_path / "fetchmailrc"]
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FETCHMAILHOME": str(tmp_path)}

    engine.dispose()
    (house.folder / "pbem.sqlite").rename(house.folder / "away")
    done = subprocess.run(command, env=bare, capture_output=True, text=True)
    assert "not flushed" in done.stdout + done.stderr, done
    (house.folder / "away").rename(house.folder / "pbem.sqlite")
    done = subprocess.run(command, env=bare, capture_output=True, text=True)
    assert "flushed" in done.stdout, done
    assert recipients(engine) == [""]
    assert [file for file in box.rglob("*/1*") if file.is_file()] == []
