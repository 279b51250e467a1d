"""Records of matches played by the games' scripted players, and their sites, to look at.

`python -m tests.archive.played DIR` builds the archive of a match of every game, in all the ways
of `tests.games.matches`, each once whole and once as it was while the match ran.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from pbem import game as games
from pbem.archive import published, site
from pbem.settings import SETTINGS
from tests.games import matches

BEGAN = datetime(2026, 12, 6, 19, 0, tzinfo=UTC)


# Names and words that would do harm where they came to be markup, script or a path.
HOSTILE = (
    "<script>document.title = 'harmed'</script>",
    '"><img src=x onerror="document.title=\'harmed\'">',
    "]]>&amp;{{ 7 * 7 }}</svg><!-- ../..",
    "\u202eNamed\u202c from the right\x00\x1b[31m\u2028" + "x" * 60,
)


def record(
    key: str,
    way: int = 0,
    turns: int | None = None,
    name: str = "",
    seats: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the whole record of a match of a game, after some of its turns or to its end.

    With `seats` it is a match of theirs, which its game master ends after those turns.
    """
    at, played = matches.match(key, way)
    if seats:
        at = matches.Table(at.game, tuple(seats), at.options)
        played = tuple(matches.turns(at, Random(7), turns or matches.LAST_PHASE))
    steps = played if seats else played[:turns]
    name = name or f"{key}{way + 1}"
    state = at.begin()
    found = [_turn(0, "setup", at, state, [], {}, {})]
    history = [
        _entry(0, "gm", "made", open_seats=0),
        _entry(0, "gm", "begun", seed_hash=_hash(matches.SEED)),
    ]
    for step in steps:
        texts = {seat or "": text for seat, text in step.texts.items() if text}
        waiting = at.game.waiting(step.state)
        problems = {
            seat: [list(one) for one in of]
            for seat, of in step.played.problems.items()
            if of and seat
        }
        missing = [seat for seat in waiting if seat not in texts]
        one = _turn(
            step.number,
            step.state.phase,
            at,
            step.played.state,
            step.played.events,
            texts,
            problems,
        )
        found.append({**one, "missing": missing})
        history += _press(step.number, at.seats)
        history.append(
            _entry(step.number, "program", "run", turn=step.number, phase=step.state.phase)
        )
        history += [_entry(step.number, seat, "no orders", turn=step.number) for seat in missing]
        state = step.played.state
    over = state.phase == "over"
    winners = list(at.game.winners(state)) if over else []
    if over:
        history.append(_entry(len(steps), "program", "over", winners=winners))
    defaults = games.read_options(SETTINGS, {}, "a match")
    del defaults["seed"]
    return {
        "format": 1, "program": "pbem 0.1.0", "whole": True, "match": name, "game": key,
        "title": at.game.TITLE, "seats": list(at.seats), "options": dict(at.options),
        "settings": defaults, "zone": "Europe/Berlin", "schedules": ["weekly Sun 20:00"],
        "status": "over" if over else "running", "phase": state.phase, "turn": len(steps),
        "open_seats": 0, "deadline": None if over else moment(len(steps) + 1), "created": moment(0),
        "winners": winners, "seed": matches.SEED, "seed_sha256": _hash(matches.SEED),
        "orders_sha256": games.digest([turn["orders"] for turn in found]),
        "players": [
            {"seat": seat, "person": f"{seat} Example", "from_turn": 0, "began": moment(0),
             "ended": None}
            for seat in at.seats
        ],
        "turns": found, "undone": [], "sheets": [], "history": history,
    }  # fmt: skip


def hostile(name: str = "hostile1") -> dict[str, Any]:
    """Return the record of a match in which every word that people write is hostile."""
    found = record("hexem", 1, name=name, seats=HOSTILE)
    for player, person in zip(found["players"], reversed(HOSTILE), strict=True):
        player["person"] = person
    for turn in found["turns"][1:]:
        turn["orders"] = {
            seat: f"{text}\n{seat}\nMUSTER {seat}\n" for seat, text in turn["orders"].items()
        }
        turn["problems"] = {
            seat: [[text.count("\n"), f"not understood: {seat}"]]
            for seat, text in turn["orders"].items()
        }
    for entry in found["history"]:
        if entry["what"] == "press":
            entry["facts"]["text"] = "\n".join((*HOSTILE, "javascript:alert(1)", "\ud800"))
    said = [_entry(2, "gm", "said", text=word) for word in HOSTILE]
    found["history"] += [*said, _entry(2, "gm", "set", option="turns", value=HOSTILE[0])]
    return found


def source(one: dict[str, Any]) -> site.Source:
    """Return a record as what a site is built of."""
    return site.Source(one["match"], _hash(repr(one)), lambda: one, one["turn"], one["game"])


def _turn(
    number: int, phase: str, at: Any, state: Any, events: Any, orders: Any, problems: Any
) -> dict[str, Any]:
    return {
        "number": number, "phase": phase, "state": at.game.dump(state),
        "events": [games.event_json(event) for event in events], "orders": orders,
        "orders_sha256": games.digest(orders),
        "problems": problems, "missing": [], "ran": moment(number),
        "deadline": None if state.phase == "over" else moment(number + 1),
    }  # fmt: skip


def _press(number: int, seats: Any) -> list[dict[str, Any]]:
    by, other = seats[number % len(seats)], seats[(number + 1) % len(seats)]
    if number % 3 == 0:
        return []
    to_all = number % 3 == 1
    return [
        _entry(
            number - 0.5, by, "press", by=by, to="all" if to_all else other, turn=number - 1,
            text=f"To whom it concerns:\nturn {number} will be mine. Will {other} help?",
            seen_by=None if to_all else [by, other],
        )
    ]  # fmt: skip


def _entry(weeks: float, who: str, what: str, **facts: Any) -> dict[str, Any]:
    return {"time": moment(weeks), "who": who, "what": what, "facts": facts}


def moment(weeks: float) -> str:
    return (BEGAN + timedelta(weeks=weeks)).isoformat()


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def main(folder: Path) -> None:
    """Build the sites of all games into a folder."""
    records = []
    for key in games.installed():
        for way in range(1 + len(matches.WAYS.get(key, ()))):
            whole = record(key, way)
            middle = record(key, way, (whole["turn"] + 1) // 2, f"{key}{way + 1}-running")
            records += [published(whole), published(middle)]
    records.append(published(hostile()))
    print(site.build(site.Place(folder, "Gia's games"), map(source, records)).told())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
