"""A whole match, readable, as one seat is told it: compared line by line with its file."""

import difflib
from pathlib import Path

from pbem import game as games
from pbem.games import offices
from tests.offices.test_offices_report import facts, written

FILE = Path(__file__).with_name("playthrough.txt")
SEATS = ("Green", "Blue", "Red", "Yellow")
READER = "Red"
OPTIONS = {
    "start": {"Green": 1, "Blue": 2, "Red": 3, "Yellow": 4},
    "rounds": 2,
    "decide": "live",
    "goods": {"Red": ["yellow", "blue"]},
}
TURNS: tuple[dict[str | None, str], ...] = (
    {
        "Green": "TAKE Comes",
        "Blue": "STAY\nDEFEND UP TO 2\nTAKE Consul",
        "Yellow": "TAKE Magister\nDEFEND UP TO 1",
    },
    {"Red": "PASS\nTAKE Magister UP TO 1\nGOOD yellow"},
    {"Red": "PASS\nTAKE 2 UP TO 3"},
    {None: "GOLD Red +4\nGOLD Green -2\nGOLD Blue 1"},
    {"Red": "TAKE mag UP TO 5\nDEFEND UP TO 2", "Green": "STAY", "Blue": "TAKE 4 UP TO 0"},
    {"Yellow": "DEFEND UP TO 6"},
    {"Red": "STAY"},
    {"Blue": "PASS"},
)


def told() -> list[str]:
    """Play the match and return it as lines: what was sent, and what the reader was told."""
    options = games.read_options(offices.OPTIONS, OPTIONS, "offices")
    state = offices.setup(SEATS, options, games.chance("a seed", 0, "setup"))
    lines: list[str] = []
    for number, sent in enumerate(TURNS, 1):
        lines += [f"===== {number}: {state.phase}, round {state.round}"]
        lines += [f"===== asked: {', '.join(offices.waiting(state)) or 'nobody'}"]
        for seat, text in sent.items():
            lines += [f"{seat or 'game master'}> {line}" for line in text.splitlines()]
        texts: dict[str | None, str] = dict.fromkeys((*SEATS, None), "")
        played = games.play(offices, state, texts | sent, "a seed", number)
        assert not any(played.problems.values())
        state = played.state
        given = facts(state, READER, tuple(played.events))
        lines += ["", written("headline.txt", given).strip(), ""]
        lines += [*written("report.txt", given).strip("\n").split("\n"), ""]
    assert state.phase == "over"
    return lines


def test_the_match_is_told_as_its_file_has_it() -> None:
    expected = FILE.read_text("utf-8").splitlines()
    assert (
        list(difflib.unified_diff(expected, told(), "playthrough.txt", "told", lineterm="")) == []
    )
