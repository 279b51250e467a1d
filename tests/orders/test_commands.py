"""The orders common to all games, and how quickly lines that are none are passed over."""

import random
import string
import time

import pytest

from pbem import commands, game, reading, typography
from pbem.orders import MOST_LINES
from pbem.usage import Order


def one(text: str, *, gm: bool = False) -> Order:
    grammar = commands.GAME_MASTER if gm else commands.PLAYER
    read = grammar.read(text, gm=gm)
    assert not read.problems
    (order,) = read.orders
    return order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("READY", commands.Ready()),
        ("not ready.", commands.NotReady()),
        ("NO ORDERS", commands.NoOrders()),
        ("CANCEL", commands.Cancel()),
        ("standing", commands.Standing()),
        ("ORDERS?", commands.MySheet()),
        ("REPORT", commands.Report()),
        ("report 4", commands.Report(4)),
        ("ABSENT FROM 3 March TO 9 March", commands.Absent("3 March", "9 March")),
        (
            "PRESS TO Ann, Bob\nAve\n\nVale\nEND PRESS",
            commands.Press("Ann, Bob", ("Ave", "", "Vale")),
        ),
        ("PRESS ANONYMOUS TO ALL\nx\nend press", commands.AnonymousPress("ALL", ("x",))),
        ("ADDRESS ann@example.org", commands.NewAddress("ann@example.org")),
        ("ADDRESS <ann@example.org>", commands.NewAddress("ann@example.org")),
        ("LANGUAGE Deutsch", commands.Language("Deutsch")),
        ("RESIGN", commands.Resign()),
        ("JOIN Hexem1", commands.Join("hexem1")),
        ("mail digest", commands.Mail("DIGEST")),
        ("PASSWORD abcdefghijklmn23", commands.Password("ABCDEFGHIJKLMN23")),
    ],
)
def test_a_players_general_orders(text: str, order: Order) -> None:
    assert one(text) == order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("DEADLINE 2031-03-03 20:00", commands.Deadline("2031-03-03 20:00")),
        ("EXTEND 48h", commands.Extend("48h")),
        ("HOLD", commands.Hold()),
        ("RELEASE", commands.Release()),
        ("RUN NOW", commands.RunNow()),
        ("RUN NOW muster 3", commands.RunNow("muster", 3)),
        ("UNDO", commands.Undo()),
        ("UNDO 2", commands.Undo(2)),
        (
            "REPLACE Ann Lee WITH Bob Smith b@example.org",
            commands.Replace("Ann Lee", "Bob Smith", "b@example.org"),
        ),
        (
            "REPLACE Боб WITH Eve O'Hara <eve@example.org>",
            commands.Replace("Боб", "Eve O'Hara", "eve@example.org"),
        ),
        ("ADDRESS Боб <b@example.org>", commands.SetAddress("Боб", "b@example.org")),
        ("DROP Ann", commands.Drop("Ann")),
        ("ADDRESS Ann a@example.org", commands.SetAddress("Ann", "a@example.org")),
        ("ORDERS FOR Ann\nMUSTER A1\nEND ORDERS", commands.OrdersFor("Ann", ("MUSTER A1",))),
        ("SET grace 24h", commands.SetOption("grace", "24h")),
        ("SAY the tide, it turns", commands.Say("the tide, it turns")),
        ("END hexem1", commands.End("hexem1")),
        ("STATUS", commands.MatchStatus()),
    ],
)
def test_the_game_masters_orders(text: str, order: Order) -> None:
    assert one(text, gm=True) == order


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("DROP", ""),
        ("EXTEND", ""),
        # A name all of another script is no slip of the keyboard.
        ("REPLACE Боб WITH Вова", ""),
        ("REPLACE Bоб WITH Eve", "; not Latin, though they look so: о (CYRILLIC)"),
        ("REPLACE С WITH Eve", "; not Latin, though they look so: С (CYRILLIC)"),
    ],
)
def test_letters_that_only_look_latin_are_named_where_they_stand_alone_or_among_latin_ones(
    line: str, hint: str
) -> None:
    (problem,) = commands.GAME_MASTER.read(line, gm=True).problems
    assert problem.message.endswith(f">{hint}")


def test_a_slot_of_which_only_some_words_are_is_asked_about_with_these_words() -> None:
    (problem,) = commands.PLAYER.read("MAIL FOO").problems
    assert problem.message == (
        "not understood; the order is: MAIL <choice>, where choice is ALL, REPORTS, DIGEST or NONE"
    )


@pytest.mark.parametrize("key", sorted(game.installed()))
def test_away_is_another_word_for_absent_and_chat_stays_chat(key: str) -> None:
    grammar = game.named(key).GRAMMAR | commands.PLAYER
    (problem,) = grammar.read("AWAY 2026-12-01 2026-12-03").problems
    assert problem.message == "not understood; the order is: ABSENT FROM <start> TO <end>"
    dates = ("2026-12-01", "2026-12-03")
    assert grammar.read("Away from 2026-12-01 to 2026-12-03").orders == (commands.Absent(*dates),)
    chat = grammar.read("I am away next week.\nAway in the hills, sorry.")
    assert not chat.orders
    assert not chat.problems


def test_a_misspelt_verb_without_anything_behind_it_is_asked_back_as_it_would_be_written() -> None:
    (problem,) = commands.PLAYER.read("READDY").problems
    assert problem.message == "not understood; did you mean READY?"


def test_a_players_line_is_no_game_masters_order() -> None:
    assert commands.GAME_MASTER.read("HOLD").problems[0].message == (
        "HOLD is the game master's order"
    )
    assert not commands.PLAYER.read("MAIL me soon").orders


def test_a_block_without_its_end_is_asked_about() -> None:
    (problem,) = commands.PLAYER.read("PRESS TO ALL\nAve\n").problems
    assert problem == (1, "END PRESS is missing: where does it end?")


def test_words_a_slip_apart_have_a_thinned_one_in_common() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        word = "".join(rng.choices("ABCDE", k=rng.randrange(3, 8)))
        other = "".join(rng.choices("ABCDE", k=rng.randrange(3, 8)))
        if typography.near(word, other):
            assert typography.thinned(word) & typography.thinned(other)
    assert not typography.thinned("MUSTER") & typography.thinned("HELLO")


def test_reading_stops_where_no_sheet_is_that_long() -> None:
    read = reading.grammar_of("hexem").read("MUSTER A1\n" * 5000)
    assert len(read.orders) == MOST_LINES + 1


def test_lines_of_chat_are_passed_over_quickly() -> None:
    rng = random.Random(1)
    words = ("".join(rng.choices(string.ascii_lowercase, k=5)) for _ in range(3000))
    text = "\n".join(f"{word} hello there my friend" for word in words)
    grammar = reading.grammar_of(None)
    started = time.process_time()
    grammar.read(text, packaged=True)
    # It took two seconds when every line was compared with every verb.
    assert time.process_time() - started < 1
