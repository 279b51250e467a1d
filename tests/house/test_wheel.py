"""The wheel: all that the program needs is in it, and it works where nothing else of ours is."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
FROM_HERE = ["--no-index", "--no-deps", "--no-cache-dir"]
SEATS = ("--seat", "Ann <ann@example.org>", "--seat", "Bob <bob@example.org>")
# A process that finds pbem in the source tree would show nothing.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [*PIP, "wheel", *FROM_HERE, "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = folder.glob("pbem-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a clean venv, which borrows the dependencies from where we run."""
    venv = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    install = [*PIP, "--python", str(python), "install", *FROM_HERE, str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (venv / "lib").glob("python3*/site-packages")
    # What is named in the file comes after the venv's own, and `.pth` files there are not heeded,
    # by which the source tree would come in.
    borrowed = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "borrowed.pth").write_text("\n".join(borrowed), "utf-8")
    return python


@pytest.fixture
def pbem(python: Path, tmp_path: Path) -> Callable[..., str]:
    """Run the command of the clean venv in an empty folder; return what it says."""

    def run(*arguments: str) -> str:
        command = [str(python.with_name("pbem")), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=CLEAN, capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    return run


def ours(folder: str) -> set[str]:
    """Name the files of a folder of the source tree, as the wheel is to have them."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_code_templates_migrations_boards_and_fonts(wheel: Path) -> None:
    held = set(ZipFile(wheel).namelist())
    assert ours("pbem") <= held
    assert {f"pbem/{name}" for name in ours("templates") | ours("migrations")} <= held
    for name in ("fonts/DejaVuSans.ttf", "games/hexem/boards/2.txt", "games/empires/sheet.toml"):
        assert f"pbem/{name}" in held
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in held)
    rest = {name for name in held if not name.startswith("pbem/") and ".dist-info/" not in name}
    assert rest == set()
    assert not [name for name in held if "__pycache__" in name or "test" in name]


def test_a_match_is_hosted_from_the_wheel_alone(
    pbem: Callable[..., str], python: Path, tmp_path: Path
) -> None:
    asked = [str(python), "-c", "import pbem; print(pbem.__file__)"]
    found = subprocess.run(asked, cwd=tmp_path, env=CLEAN, capture_output=True, text=True)
    assert Path(found.stdout.strip()).is_relative_to(python.parent.parent)

    assert "database sqlite:///pbem.sqlite: created" in pbem("init")
    assert "hexem1: hexem for Ann, Bob" in pbem("new", "hexem", "hexem1", *SEATS)
    assert pbem("tick") == "2 sent\n"
    paths = (tmp_path / "mail" / "out" / "new").iterdir()
    letters = [message_from_bytes(path.read_bytes(), policy=default) for path in paths]
    assert sorted(str(one["To"]) for one in letters) == [
        "Ann <ann@example.org>",
        "Bob <bob@example.org>",
    ]
    for letter in letters:
        assert "[hexem1]" in letter["Subject"]
        assert {part.get_content_type() for part in letter.walk()} >= {
            "text/plain",
            "text/html",
            "image/png",
        }
        body = letter.get_body(("plain",))
        assert isinstance(body, EmailMessage)
        text = body.get_content()
        for line in ("BID y __", "A y3  y3", pbem("rules", "hexem").splitlines()[0]):
            assert line in text
