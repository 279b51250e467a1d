"""An export as a file: written, and read again, one of an older program's brought to this form.

A program that changes the form counts `FORMAT` in `record` up by one and adds one function here,
which makes of the last form the new one; all older files can then still be read.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pbem import game as games
from pbem.archive import form
from pbem.archive.record import FORMAT
from pbem.game import Json

# Bytes; a match of a hundred turns has some millions.
LARGEST = 1 << 28

# What a terminal would obey rather than show, and halves of characters, which no UTF-8 has.
_ODD = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Upgrade = Callable[[Json], Json]
# By the format it is for: what makes of an export of that format one of the next.
UPGRADES: Mapping[int, Upgrade] = {}


def written(record: Json) -> str:
    """Return a record (or a case) as the text of a file; equal ones give equal text.

    A record's file ends with the digest of all that is in it.
    """
    if "format" in record:
        record = {**record, "sha256": digest(record)}
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, indent=1)
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def digest(record: Json) -> str:
    """Return the SHA-256 of a record, less the digest that it may bear already."""
    return games.digest({key: value for key, value in record.items() if key != "sha256"})


def read(raw: bytes, upgrades: Mapping[int, Upgrade] = UPGRADES, newest: int = FORMAT) -> Json:
    """Read an export of this format or an older one; return it in this format.

    Raise `ValueError`, naming the place, for what is none, is broken, or is of a newer program.
    """
    if len(raw) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST} bytes")
    try:
        data = json.loads(raw, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError(f"it is nested more than {form.DEEPEST} deep") from None
    except UnicodeDecodeError:
        raise ValueError("it is no JSON: it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    if not isinstance(data, dict) or not _is_number(data.get("format")):
        remedy = "`pbem export MATCH` writes one, without --turn"
        raise ValueError(f"it is no export of a match; {remedy}")
    try:
        data = _brought(data, upgrades, newest)
    except (LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"it is no whole export of format {data['format']}") from None
    form.check(data)
    return data


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _once(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {form.shown(twice)} stands twice in one object")
    return found


def _brought(data: Json, upgrades: Mapping[int, Upgrade], newest: int) -> Json:
    if data["format"] > newest:
        program = form.shown(data.get("program", "a newer program"))
        raise ValueError(
            f"it has format {data['format']}, made by {program}; this program reads formats up to "
            f"{newest}; install a newer pbem"
        )
    is_old = data["format"] < newest
    is_as_written = is_old and "sha256" in data and data["sha256"] == digest(data)
    while data["format"] < newest:
        step = upgrades.get(data["format"])
        if step is None:
            raise ValueError(f"format {data['format']}: no program has ever written that")
        data = {**step(data), "format": data["format"] + 1}
        if is_as_written:
            data["sha256"] = digest(data)
    return data
