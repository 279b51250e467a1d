"""The demo, as a new user meets it first: every game to its end, nothing amiss on the way."""

import sqlite3
import subprocess
import sys
from pathlib import Path

from pbem import game


def test_the_demo_plays_every_game_to_its_end_without_a_word_of_trouble(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pbem", "demo", "--folder", str(tmp_path / "demo")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for one in game.installed().values():
        assert one.TITLE in done.stdout
    with sqlite3.connect(tmp_path / "demo" / "pbem.sqlite") as database:
        matches = database.execute("SELECT game, status, turn FROM matches").fetchall()
        assert {(key, status) for key, status, _ in matches} == {
            (key, "over") for key in game.installed()
        }
        assert min(turn for _, _, turn in matches) >= 6
        unsent = database.execute(
            "SELECT kind, why FROM letters WHERE status = 'failed'"
        ).fetchall()
        assert unsent == []
        became = dict(database.execute("SELECT status, count(*) FROM messages GROUP BY status"))
        assert set(became) == {"filed"}
        missing = database.execute("SELECT missing FROM turns").fetchall()
        assert {row[0] for row in missing} == {"[]"}
    database.close()
    for place in ("reports", "pictures"):
        assert any((tmp_path / "demo" / place).iterdir())
    archive = tmp_path / "demo" / "archive"
    assert str(archive / "index.html") in done.stdout
    assert {path.parent.name for path in archive.glob("*/turn-6.html")} == {
        f"{key}1" for key in game.installed()
    }
