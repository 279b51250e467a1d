"""How turns were run and taken back, by the history; and what of a record must agree with it."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from pbem.archive.difference import Difference, differing, said
from pbem.game import Json


class Step(NamedTuple):
    """A turn with the one it was played from, as that then stood.

    `told` is the place in the history of the entry that tells of it.
    """

    turn: Json
    before: Json
    told: int


def steps(record: Json) -> list[Step]:
    """Return all turns in the order they were run, those among them that were taken back.

    Raise `ValueError`, with a `Difference`, where history and turns don't tell the same.
    """
    left: dict[int, list[Json]] = {}
    # A turn that stands was run after all others of its number.
    for turn in (*record["undone"], *record["turns"][1:]):
        left.setdefault(turn["number"], []).append(turn)
    standing: list[Json] = record["turns"][:1]
    found: list[Step] = []
    for at, entry in enumerate(record["history"]):
        if entry["what"] == "undone":
            del standing[entry["facts"]["back_to"] + 1 :]
        if entry["what"] != "run":
            continue
        number = entry["facts"]["turn"]
        if number != len(standing):
            why = "the history has a turn run that could not follow, or lacks an entry before it"
            raise _fault(None, f"history[{at}]", f"turn {len(standing)}", f"turn {number}", why)
        if not left.get(number):
            why = "the history tells that it was run once more than it is in the file"
            raise _fault(number, "the whole turn", "a turn", "none", why, "turn")
        turn = left[number].pop(0)
        found.append(Step(turn, standing[-1], at))
        standing.append(turn)
    for number, rest in left.items():
        if rest:
            why = "the history does not tell that it was run"
            raise _fault(number, "the whole turn", "nothing", "a turn", why, "turn")
    if len(standing) != len(record["turns"]):
        why = "the turns that the history leaves standing are others than those in the file"
        raise _fault(None, "turns", str(len(standing)), str(len(record["turns"])), why)
    return found


def _fault(
    turn: int | None, place: str, due: str, found: str, why: str, what: str = "history"
) -> ValueError:
    return ValueError(Difference(turn, place, due, found, what, why))


def disagreement(record: Json, walked: Sequence[Step]) -> Difference | None:
    """Return where a record contradicts itself in what no replay tells; `None` where nowhere.

    Compared are each turn's phase, time and missing seats with the history, when it was run with
    its deadline, and who had a seat with who had it next.
    """
    return next(_disagreements(record, walked), None)


def _disagreements(record: Json, walked: Sequence[Step]) -> Iterator[Difference]:
    history = record["history"]
    begun = [entry["time"] for entry in history if entry["what"] == "begun"]
    if record["turns"] and begun != [record["turns"][0]["ran"]]:
        why = "the history must tell once that the match began, and when"
        yield Difference(0, "ran", _listed(begun), record["turns"][0]["ran"], "history", why)
    for step, end in zip(walked, [*(one.told for one in walked[1:]), len(history)], strict=False):
        turn, entry = step.turn, history[step.told]
        silent = [
            one["who"]
            for one in history[step.told + 1 : end]
            if one["what"] == "no orders" and one["facts"].get("turn") == turn["number"]
        ]
        due = {"ran": entry["time"], "phase": entry["facts"].get("phase"), "missing": silent}
        for key, value in due.items():
            for place, one, other in differing(value, turn[key], key):
                what = "missing" if key == "missing" else "history"
                why = f"the history tells another {key} of that turn"
                if key == "missing":
                    one, other = _listed(silent), _listed(turn[key])
                yield Difference(turn["number"], place.split("[")[0], one, other, what, why)
    for turn in (*record["turns"], *record["undone"]):
        if turn["deadline"] is not None and _moment(turn["deadline"]) < _moment(turn["ran"]):
            why = "a phase ends after it has begun"
            yield Difference(turn["number"], "deadline", turn["ran"], turn["deadline"], "turn", why)
    yield from _of_players(record)


def _of_players(record: Json) -> Iterator[Difference]:
    """Yield where two have a seat at a time, or somebody from a turn that never was."""
    most = max((turn["number"] for turn in (*record["turns"], *record["undone"])), default=0)
    last: dict[str, Json] = {}
    for at, one in enumerate(record["players"]):
        place, began, ended = f"players[{at}]", one["began"], one["ended"]
        if ended is not None and _moment(ended) < _moment(began):
            why = "nobody leaves before he comes"
            yield Difference(None, f"{place}.ended", began, ended, "player", why)
        before = last.get(one["seat"])
        if before and (before["ended"] is None or _moment(before["ended"]) > _moment(began)):
            why = "whoever had the seat before had it still"
            yield Difference(None, f"{place}.began", said(before["ended"]), began, "player", why)
        if one["from_turn"] > most:
            due, found = f"at most {most}", str(one["from_turn"])
            why = "the match has had no such turn"
            yield Difference(None, f"{place}.from_turn", due, found, "player", why)
        last[one["seat"]] = one


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nobody"
