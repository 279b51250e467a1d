"""A match of every game, written down so that a person can read it, and compared line by line.

When the rules of a game are meant to have changed, `python -m tests.games.test_playthrough`
writes the files anew; the difference is then read before it is committed.
"""

import difflib
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pbem import game as games
from pbem.game import Event, Json
from tests.games import matches

# The games of this project; one of another package keeps its own.
OURS = sorted(
    key
    for key, game in games.installed().items()
    if inspect.getmodule(game.setup).__name__.startswith("pbem.games.")
)
FOLDER = Path(__file__).parent / "playthroughs"
MOST_LINES = 400

# Options that bring much into few lines.
OPTIONS: Mapping[str, Json] = {
    "alphabet": {"words": "towns"},
    "empires": {
        "announce": "claims",
        "sheet": [
            {"name": "I", "empires": {"Egypt": 5, "Minoans": 4, "Babylonia": 4, "Aryans": 5}},
            {
                "name": "II",
                "empires": {
                    "Assyria": 10,
                    "Chou Dynasty": 9,
                    "Vedic Cities": 6,
                    "Greek City States": 8,
                    "Scythians": 5,
                },
            },
        ],
    },
    "hexem": {"turns": 6},
    "offices": {"rounds": 3, "decide": "live"},
}


def written(key: str) -> list[str]:
    """Play the match of a game and write it down: orders, events, and what of the state changed."""
    table = matches.table(key, OPTIONS.get(key), seats=4)
    game = table.game
    lines = [
        f"{game.TITLE}: {', '.join(table.seats)}",
        *_wrapped("options: ", _said(OPTIONS.get(key, {}), top=True)),
        f"seed: {matches.SEED}",
        "",
        *_changes({}, game.dump(table.begin())),
    ]
    for turn in matches.turns(table, Random("players"), last=20):
        asked = ", ".join(game.waiting(turn.state)) or "nobody"
        lines += ["", f"== {turn.number}. {turn.state.phase}, waiting for {asked}"]
        for seat, sheet in turn.texts.items():
            lines += [f"{seat or 'GM'}> {line}" for line in sheet.splitlines()]
        for event in turn.played.events:
            lines += _wrapped("! ", _told(event))
        for seat, problems in turn.played.problems.items():
            lines += [f"? {seat or 'GM'}, line {line}: {why}" for line, why in problems]
        lines += _changes(game.dump(turn.state), game.dump(turn.played.state))
    return lines


def _told(event: Event) -> str:
    whose = "" if event.seen_by is None else f" [only {', '.join(event.seen_by) or 'nobody'}]"
    return f"{event.kind}{whose} {_said(event.facts, top=True)}".rstrip()


def _changes(before: Json, after: Json) -> Iterator[str]:
    """Say each part of a state that is another now."""
    for name, value in after.items():
        if value != before.get(name, "absent"):
            yield from _wrapped("  ", f"{name} = {_said(value, top=True)}")


def _said(value: Any, *, top: bool = False) -> str:
    """Write a JSON value without its quotation marks; objects that are alike become rows."""
    if isinstance(value, Mapping):
        if top and _are_alike(list(value.values())):
            return _rows([{"": name, **row} for name, row in value.items()])
        inside = ", ".join(f"{name}: {_said(each)}" for name, each in value.items())
        return inside if top else f"{{{inside}}}"
    if isinstance(value, list | tuple):
        if top and _are_alike(value):
            return _rows(value)
        return f"[{', '.join(_said(each) for each in value)}]"
    return "-" if value is None else str(value).replace("\n", " / ")


def _are_alike(values: Sequence[Any]) -> bool:
    first = values[0] if len(values) > 1 else None
    return bool(first) and all(isinstance(v, Mapping) and list(v) == list(first) for v in values)


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a heading in parentheses, then the rows; none is broken over two lines."""
    written = (" ".join(_said(each) for each in row.values()).replace(" ", _FIXED) for row in rows)
    return f"({' '.join(filter(None, rows[0]))}) {'; '.join(written)}"


_FIXED = "\N{NO-BREAK SPACE}"


def _wrapped(mark: str, text: str) -> list[str]:
    lines = textwrap.wrap(
        text,
        98,
        initial_indent=mark,
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_FIXED, " ") for line in lines]


@pytest.mark.parametrize("key", OURS)
def test_a_match_comes_out_as_its_playthrough_has_it(key: str) -> None:
    path = FOLDER / f"{key}.txt"
    expected, lines = path.read_text("utf-8").splitlines(), written(key)
    assert [*difflib.unified_diff(expected, lines, path.name, "played", lineterm="")] == []
    assert len(lines) <= MOST_LINES


if __name__ == "__main__":
    for key in OURS:
        (FOLDER / f"{key}.txt").write_text("\n".join([*written(key), ""]), "utf-8")
