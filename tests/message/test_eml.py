"""Every raw mail in `tests/eml` comes out as its `expected.json` has it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pbem import reading
from pbem.orders import Grammar
from pbem.reading import Roster

EML = Path(__file__).parent.parent / "eml"
EXPECTED: dict[str, dict[str, Any]] = json.loads((EML / "expected.json").read_text("utf-8"))
# They sit in quotes, signatures, attachments and hidden HTML.
NEVER = {"MUSTER A1", "BID PICTS 12", "CLAIM YORK", "POT Z"}


@cache
def _known() -> tuple[Grammar, Roster]:
    roster = reading.read_roster((EML / "roster.json").read_text("utf-8"))
    return reading.grammar_of(None), roster


@pytest.mark.parametrize("name", EXPECTED)
def test_a_raw_mail_comes_out_as_expected(name: str) -> None:
    wanted = EXPECTED[name]
    grammar, roster = _known()
    seen: set[str] = set()
    for before in [wanted["after"]] if "after" in wanted else []:
        reading.read_mail((EML / before).read_bytes(), grammar, roster, seen)
    said = reading.read_mail((EML / name).read_bytes(), grammar, roster, seen)
    lines = [line.upper() for line in said["lines"]]
    typed = wanted.get("orders_as_typed", wanted["orders"])
    assert not NEVER & set(lines)
    assert said["action"] == wanted["action"]
    assert lines in ([x.upper() for x in wanted["orders"]], [x.upper() for x in typed])
    if not wanted["auto_reply_allowed"]:
        assert said["auto_reply"] is False
    elif said["action"] == "accept":
        assert said["auto_reply"] is True
    if "game" in wanted:
        assert said["tag"] == wanted["game"]


def test_the_whole_set_arrives_in_one_mailbox() -> None:
    mails = [(name, (EML / name).read_bytes()) for name in EXPECTED]
    found = reading.read_mails(mails, None, EML / "roster.json")
    assert [one["file"] for one in found] == list(EXPECTED)
    actions = {one["file"]: one["action"] for one in found}
    assert actions == {name: wanted["action"] for name, wanted in EXPECTED.items()}
    json.dumps(found)
