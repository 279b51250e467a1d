"""What a case's texts hold besides orders: press, fences, the game master's END."""

from typing import Any

import pytest

from pbem import game as games
from pbem import judge


def played(orders: dict[str, str], gm: str = "", phase: str = "bid") -> dict[str, Any]:
    claims = {"Ana": {"empire": "Arabs", "price": 20}, "Bo": {"empire": "Huns", "price": 14}}
    state = {"phase": phase, "epoch": 4, "round": 1, "claims": claims if phase == "score" else {}}
    turns = [{"orders": orders, "gm": gm}]
    case = {"game": "empires", "seats": ["Ana", "Bo"], "state": state, "turns": turns}
    return judge.play(judge.case(case))[0]


@pytest.mark.parametrize(
    "text",
    [
        "PRESS TO ALL\nBID Goths 99\nBID Huns 1\nEND PRESS\nBID Arabs 20",
        "BID Arabs 20\nPRESS ANONYMOUS TO Bo\nBID Goths 99\nEND PRESS",
        "BID Arabs 20\nPRESS TO ALL\nBID Goths 99",
        "BID Goths 99\nORDERS\nBID Arabs 20\nEND\nBID Huns 1",
    ],
)
def test_what_is_said_in_press_or_outside_a_fence_is_no_order(text: str) -> None:
    after = played({"Ana": text})
    assert after["state"]["claims"] == {"Ana": {"empire": "Arabs", "price": 20}}
    assert after["refused"] == {"Ana": [], "Bo": [], "gm": []}


def test_lines_after_press_keep_their_numbers() -> None:
    after = played({"Ana": "PRESS TO ALL\nBID Huns 1\nEND PRESS\nBID Huns 1\n\nBDI Huns 14"})
    assert after["refused"]["Ana"] == [4, 6]


@pytest.mark.parametrize("gm", ["END", "Enough!\nend.", "SCORE Ana 5\nEND"])
def test_end_alone_on_a_line_ends_the_match(gm: str) -> None:
    assert games.is_ended(gm)
    assert played({}, gm, "score")["state"]["phase"] == "over"


@pytest.mark.parametrize(
    "gm", ["ORDERS\nSCORE Ana 5\nEND", "Orders:\nSCORE Ana 5\nEND\nEND", "END of story"]
)
def test_end_that_closes_a_fence_ends_no_match(gm: str) -> None:
    assert not games.is_ended(gm)
    assert played({}, gm, "score")["state"]["phase"] == "score"
