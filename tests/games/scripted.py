"""Records of matches played from given order texts, and the archive's parts made from them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pbem import game as games
from pbem.reports.templates import environment, render
from tests.games.matches import text

SEED = "scripted"


def record(
    key: str,
    seats: Sequence[str],
    sheets: Iterable[Mapping[str, str]],
    start: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Play a match of a game and return its whole record, as an export has it.

    `sheets` are each phase's order texts by seat (`""`: the game master's); `start` is the state it
    begins with as JSON, else that of the set-up.
    """
    game = games.named(key)
    read = games.read_options(game.OPTIONS, options, key)
    if start is None:
        state = game.setup(seats, read, games.chance(SEED, 0, "setup"))
    else:
        state = game.load(start, seats, read)
    turns = [_turn(game, 0, "setup", state, (), {}, {})]
    for number, orders in enumerate(sheets, 1):
        texts = {**dict.fromkeys(seats, ""), **orders}
        by_seat = {seat or None: said for seat, said in texts.items()}
        done = games.play(game, state, by_seat, SEED, number)
        turns.append(
            _turn(game, number, state.phase, done.state, done.events, texts, done.problems)
        )
        state = done.state
    return {
        "format": 1, "program": "pbem", "whole": True, "match": f"{key}1", "game": key,
        "title": game.TITLE, "seats": list(seats), "options": read, "settings": {}, "zone": "UTC",
        "schedules": [], "status": "over", "phase": state.phase, "turn": len(turns) - 1,
        "deadline": None, "created": None, "winners": [], "seed": SEED, "seed_sha256": "",
        "players": [], "turns": turns, "undone": [], "sheets": [], "history": [],
    }  # fmt: skip


def _turn(
    game: Any, number: int, phase: str, state: Any, events: Any, orders: Any, problems: Any
) -> dict[str, Any]:
    return {
        "number": number, "phase": phase, "state": game.dump(state),
        "events": [games.event_json(event) for event in events], "orders": orders,
        "problems": {
            seat: [list(one) for one in found] for seat, found in problems.items() if seat and found
        },
        "missing": [], "ran": None, "deadline": None,
    }  # fmt: skip


def pages(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the game's parts of a match's pages as markup: `course`, and those of the turns."""
    game = games.named(record["game"])
    found = {"course": _part(record, "course", game.course(record), None)}
    for turn in record["turns"]:
        facts = game.chapter(record, turn["number"])
        found[f"turn-{turn['number']}"] = _part(record, "chapter", facts, turn)
        # All that a game tells of a turn goes into JSON.
        text(facts)
    return found


def _part(record: Mapping[str, Any], kind: str, facts: Any, turn: Any) -> str:
    context = {
        "record": record,
        "page": facts,
        "turn": turn,
        "seats": record["seats"],
        "colours": {},
        "number": turn and turn["number"],
        "last": record["turn"],
    }
    env = environment(None, record["game"], True)
    return render(env, f"{record['game']}/{kind}.html", context)


def untold(record: Mapping[str, Any], number: int) -> list[tuple[str, int]]:
    """Name the order lines of a turn, by seat and line, of which nothing is told.

    What was refused the record tells itself.
    """
    game = games.named(record["game"])
    turn = record["turns"][number]
    became = game.chapter(record, number)["became"]
    return [
        (seat, line.number)
        for seat, said in turn["orders"].items()
        for line in game.GRAMMAR.read(said, gm=not seat).lines
        if line.order
        and not became.get(seat, {}).get(line.number)
        and line.number not in dict(turn["problems"].get(seat, ()))
    ]
