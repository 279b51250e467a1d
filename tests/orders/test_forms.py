"""The order form: as sent it holds no order, filled in it does, however the blank is treated."""

import pytest

from pbem import game


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("hexem", "MUSTER __"),
        ("hexem", "BID x __"),
        ("empires", "BID Holy Roman __"),
        ("empires", "PREFER __, __"),
        ("offices", "TAKE ____ UP TO __"),
        ("offices", "DEFEND Consul UP TO __"),
        ("alphabet", "TRADE WITH __ GIVE __ GET __"),
    ],
)
def test_a_blank_left_is_no_order_and_no_fault(key: str, line: str) -> None:
    reading = game.named(key).GRAMMAR.read(line)
    assert reading.orders == ()
    assert reading.problems == ()


@pytest.mark.parametrize(
    "line", ["BID x __3__", "BID x 3__", "BID x __3", "BID x __ 3", "BID x 3 __"]
)
def test_a_blank_filled_in_is_an_order(line: str) -> None:
    reading = game.named("hexem").GRAMMAR.read(line)
    assert [game.named("hexem").GRAMMAR.write(one) for one in reading.orders] == ["BID x 3"]


def test_a_blank_filled_in_wrongly_is_asked_about() -> None:
    assert game.named("empires").GRAMMAR.read("BID Franks ten").problems


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("hexem", "MSTR A2"),
        ("hexem", "MUSTR A2"),
        ("empires", "PREF Huns, Goths"),
        ("empires", "BD Goths 10"),
        ("empires", "BDI Goths 10"),
    ],
)
def test_a_verb_with_a_letter_or_two_left_out_is_asked_about(key: str, line: str) -> None:
    [problem] = game.named(key).GRAMMAR.read(line).problems
    assert "did you mean" in problem.message


@pytest.mark.parametrize(
    ("key", "line"), [("hexem", "Must we?"), ("empires", "Id like the Goths"), ("hexem", "I do.")]
)
def test_a_short_word_before_prose_is_chat(key: str, line: str) -> None:
    assert not game.named(key).GRAMMAR.read(line).problems
