"""The form of an export, as data: what stands where, of which kind, and what must agree in it."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any

from pbem.game import Json

Check = Callable[[Any, str], None]

# Beyond these nothing of ours was ever written.
DEEPEST = 60
MOST = 2**31 - 1
# What every reader of JSON keeps exactly; a column of SQLite holds it too.
LARGEST_NUMBER = 2**53 - 1
STATUSES = ("open", "running", "held", "over")
LETTERS = ("ALL", "REPORTS", "DIGEST", "NONE")


def _text(longest: int | None = None, *, plain: bool = False) -> Check:
    """Return a check for a text, at most so long; a `plain` one is a name: one printable line."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, str):
            raise ValueError(f"{place}: a text is needed, not {shown(value)}")
        if longest is not None and len(value) > longest:
            raise ValueError(f"{place}: at most {longest} characters are needed, not {len(value)}")
        if plain and not (value.strip() and value.isprintable()):
            raise ValueError(f"{place}: a name of plain characters is needed, not {shown(value)}")

    return check


def _line(value: Any, place: str) -> None:
    _text(200)(value, place)
    if any(ord(c) < 32 or 127 <= ord(c) < 160 for c in value):
        raise ValueError(f"{place}: a name on one line is needed, not {shown(value)}")


def _whole(value: Any, place: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise ValueError(f"{place}: a whole number from 0 to {MOST} is needed, not {shown(value)}")


def _flag(value: Any, place: str) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{place}: true or false is needed, not {shown(value)}")


def _time(value: Any, place: str) -> None:
    try:
        moment = datetime.fromisoformat(value)
        good = moment.tzinfo is not None and 1970 <= moment.year < 3000
    except (TypeError, ValueError):
        good = False
    if not good:
        remedy = "a time such as 2026-12-06T19:00:00+00:00 is needed"
        raise ValueError(f"{place}: {remedy}, not {shown(value)}")


def _day(value: Any, place: str) -> None:
    try:
        day = date.fromisoformat(value)
        good = 1970 <= day.year < 3000 and str(day) == value
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"{place}: a date such as 2026-12-06 is needed, not {shown(value)}")


def _choice(value: Any, place: str) -> None:
    if value not in LETTERS:
        raise ValueError(f"{place}: one of {', '.join(LETTERS)} is needed, not {shown(value)}")


def _facts(value: Any, place: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{place}: an object is needed, not {shown(value)}")


def _or_null(check: Check) -> Check:
    return lambda value, place: None if value is None else check(value, place)


def _array(check: Check) -> Check:
    def check_all(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise ValueError(f"{place}: an array is needed, not {shown(value)}")
        for at, one in enumerate(value):
            check(one, f"{place}[{at}]")

    return check_all


def _table(check: Check) -> Check:
    def check_all(value: Any, place: str) -> None:
        _facts(value, place)
        for key, one in value.items():
            check(one, f"{place}.{key}")

    return check_all


def _object(parts: Mapping[str, Check], later: Mapping[str, Check] = {}) -> Check:
    """Return a check for an object that has these keys; others may be there and don't count.

    What came `later` into the format is in no older file.
    """

    def check_all(value: Any, place: str) -> None:
        _facts(value, place)
        for key, check in parts.items():
            where = f"{place}.{key}" if place else key
            if key not in value:
                raise ValueError(f"{where}: it is missing")
            check(value[key], where)
        for key, check in later.items():
            if key in value:
                check(value[key], f"{place}.{key}" if place else key)

    return check_all


def _problem(value: Any, place: str) -> None:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{place}: [line, message] is needed, not {shown(value)}")
    _whole(value[0], f"{place}[0]")
    _text()(value[1], f"{place}[1]")


_SEATS = _array(_text())
_EVENT = _object({"kind": _text(), "facts": _facts, "seen_by": _or_null(_SEATS)})
_TURN = _object(
    {
        "number": _whole,
        "phase": _text(32),
        "state": _facts,
        "events": _array(_EVENT),
        "orders": _table(_text()),
        "problems": _table(_array(_problem)),
        "missing": _SEATS,
        "ran": _time,
        "deadline": _or_null(_time),
    }
)
_TENURE = _object(
    {
        "seat": _text(),
        "person": _line,
        "from_turn": _whole,
        "began": _time,
        "ended": _or_null(_time),
    }
)
_SHEET = _object(
    {
        "seat": _text(),
        "turn": _whole,
        "text": _text(),
        "received": _time,
        "late": _flag,
        "standing": _flag,
        "withdrawn": _flag,
    }
)
_ENTRY = _object({"time": _time, "who": _text(80), "what": _text(32), "facts": _facts})
_ABSENCE = _object(
    {"first": _day, "last": _day, "granted": _flag, "moved": _flag, "declared": _time}
)
_HABITS = _object(
    {
        "seat": _text(),
        "mail": _choice,
        "language": _text(16),
        "ready": _flag,
        "absences": _array(_ABSENCE),
    }
)
_PRESENT = _object(
    {"began": _time, "put_off": _flag, "reminded": _or_null(_time), "seats": _array(_HABITS)}
)
_EXPORT = _object(
    {
        "program": _text(200),
        "whole": _flag,
        "match": _text(),
        "game": _text(64),
        "seats": _array(_text(80, plain=True)),
        "options": _facts,
        "settings": _facts,
        "zone": _text(64),
        "schedules": _array(_text(200)),
        "status": _text(),
        "phase": _text(32),
        "turn": _whole,
        "open_seats": _whole,
        "deadline": _or_null(_time),
        "created": _time,
        "winners": _SEATS,
        "seed": _or_null(_text()),
        "seed_sha256": _text(64),
        "players": _array(_TENURE),
        "turns": _array(_TURN),
        "undone": _array(_TURN),
        "sheets": _array(_SHEET),
        "history": _array(_ENTRY),
    },
    {"present": _PRESENT},
)

# What letters, pages and UNDO go by in entries of these kinds; of any other is told what is there.
_TOLD: Mapping[str, Check] = {
    "begun": _object({"seed_hash": _text(64)}),
    "run": _object({"turn": _whole}),
    "undone": _object({"back_to": _whole}),
    "looked": _object({"seat": _text(), "turn": _whole}),
    "previewed": _object({"turn": _whole}),
    "exported": _object({"turn": _whole}),
    "over": _object({"winners": _SEATS}),
    "away": _object({"turn": _whole, "first": _text(10), "last": _text(10)}),
    "press": _object(
        {
            "by": _text(),
            "to": _text(),
            "text": _text(),
            "turn": _whole,
            "seen_by": _or_null(_SEATS),
        }
    ),
}


def check(data: Any) -> None:
    """Raise `ValueError`, naming the place, unless some JSON has the form of an export."""
    _check_sound(data)
    _EXPORT(data, "")
    if data["status"] not in STATUSES:
        words = ", ".join(STATUSES)
        raise ValueError(f"status: one of {words} is needed, not {shown(data['status'])}")
    for at, entry in enumerate(data["history"]):
        if entry["what"] in _TOLD:
            _TOLD[entry["what"]](entry["facts"], f"history[{at}].facts")
    for at, one in enumerate(data.get("present", {"seats": []})["seats"]):
        for absence in one["absences"]:
            if absence["first"] > absence["last"]:
                place = f"present.seats[{at}].absences"
                raise ValueError(f"{place}: {absence['last']} is before {absence['first']}")
    if len(set(data["seats"])) < len(data["seats"]):
        raise ValueError("seats: each is needed once")
    for place, names in _names(data):
        for name in names:
            if name not in data["seats"]:
                raise ValueError(f"{place}: {shown(name)} is no seat of the match")


def _names(data: Json) -> Iterable[tuple[str, Iterable[str]]]:
    """Yield where in an export seats are named, and the names; the game master's is none."""
    for part in ("turns", "undone"):
        for at, turn in enumerate(data[part]):
            yield f"{part}[{at}].orders", (seat for seat in turn["orders"] if seat)
            yield f"{part}[{at}].problems", turn["problems"]
            yield f"{part}[{at}].missing", turn["missing"]
    yield "players", (one["seat"] for one in data["players"])
    yield "sheets", (one["seat"] for one in data["sheets"] if one["seat"])
    yield "winners", data["winners"]
    yield "present.seats", (one["seat"] for one in data.get("present", {"seats": []})["seats"])


def _check_sound(data: Any) -> None:
    """Raise `ValueError` for what is not kept everywhere: depth, half characters, NUL, numbers that
    are none, or beyond all that a match can come to."""
    layer: list[Any] = [data]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for value in layer:
            if isinstance(value, dict):
                inner += [*value, *value.values()]
            elif isinstance(value, list):
                inner += value
            elif isinstance(value, str):
                if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
                    raise ValueError(f"{shown(value)} holds what is no character")
            elif isinstance(value, float) and not isfinite(value):
                raise ValueError(f"{value} is no number")
            elif isinstance(value, int | float) and abs(value) > LARGEST_NUMBER:
                raise ValueError(f"{shown(value)} is beyond {LARGEST_NUMBER}, the largest number")
        layer = inner
    if layer:
        raise ValueError(f"it is nested more than {DEEPEST} deep")


def shown(value: Any) -> str:
    """Return a JSON value as a message has it, cut short."""
    kinds = {dict: "an object", list: "an array", type(None): "null"}
    if type(value) in kinds:
        return kinds[type(value)]
    text = repr(value) if isinstance(value, str) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


def missing_turn(data: Json) -> int | None:
    """Return the number of the first turn an export lacks, by what it tells of itself."""
    last = data["turn"] if data["turns"] else -1
    for entry in data["history"]:
        facts = entry["facts"]
        if entry["what"] in ("begun", "run"):
            told = facts["turn"] if entry["what"] == "run" else 0
        elif entry["what"] == "undone":
            told = facts["back_to"]
        else:
            continue
        last = max(told, data["turn"])
    there = {turn["number"] for turn in data["turns"]}
    return next((number for number in range(last + 1) if number not in there), None)
