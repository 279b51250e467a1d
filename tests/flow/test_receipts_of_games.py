"""What receipts of each game say of a mail line by line, and of the sheet that counts."""

import pytest
from sqlalchemy import Engine

from pbem import making, store
from pbem.config import Config
from tests.conftest import BOARD, NOW, Post, mail
from tests.flow.rig import HOUR, letters, newest

SHEETS = [
    (
        "hexem",
        "BID x 1\nBID y 1\nBID x 2",
        [1],
        ["BID y 1", "BID x 2"],
    ),
    (
        "empires",
        "BID Egypt 9\nPREFER Egypt\nBID Aryans 5\nBID Egypt 6\nBID Egypt 2\nPREFER Aryans, Egypt",
        [1, 2],
        ["BID Aryans 5", "BID Egypt 6", "PREFER Aryans, Egypt"],
    ),
    (
        "alphabet",
        "BID 1 10\nBID 2 20\nBID 1 30",
        [1],
        ["BID 2 20", "BID 1 30"],
    ),
    (
        "offices",
        "TAKE Consul UP TO 3\nDEFEND UP TO 2\nDEFEND Consul UP TO 4\nGOOD red\nTAKE Consul UP TO 5"
        "\nDEFEND 5 UP TO 6\nGOOD blue\nDEFEND UP TO 1\nGOOD mauve",
        [2, 3, 4],
        [
            "TAKE Consul UP TO 3",
            "TAKE Consul UP TO 5",
            "DEFEND Consul UP TO 6",
            "GOOD blue",
            "DEFEND UP TO 1",
        ],
    ),
]


@pytest.mark.parametrize(("key", "text", "replaced", "sheet"), SHEETS, ids=[x[0] for x in SHEETS])
def test_a_receipt_shows_what_counts_and_names_what_a_later_line_replaces(
    key: str,
    text: str,
    replaced: list[int],
    sheet: list[str],
    engine: Engine,
    house: Config,
    post: Post,
) -> None:
    players = [making.Player(name, (f"{name}@example.org",)) for name in ("Ann", "Bob")]
    options = {"trust": "address", "seed": "secret"}
    if key == "hexem":
        options["board"] = BOARD
    plan = making.Plan(key, "m1", tuple(players), options, ("weekly Sun 20:00",), "Europe/Berlin")
    with store.writing(engine) as session:
        making.begin(session, plan, NOW)
    post(mail(f"{text}\nORDERS?", subject="[m1] my orders"))
    _, said = newest(engine, house, "receipt", NOW + HOUR)
    facts = letters(engine, "receipt")[-1].facts
    assert [one["number"] for one in facts["lines"] if one["replaced"]] == replaced
    assert facts["sheet"] == sheet
    counts = " ".join(sheet)
    assert f"Your sheet as it now stands --------------------------- {counts} If nobody" in said
    assert f"Your orders as they stand ------------------------- {counts} Orders are due" in said
    assert said.count("a later line replaces it") == len(replaced)
