"""Press: to all, to some, to the game master, without a name; who may read it, and who is told."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from pbem import making, outbox, store
from pbem.config import Config
from pbem.intake import press
from pbem.store import Letter
from tests.conftest import NOW, Post, idle, mail
from tests.flow.rig import DAY, DEADLINE, HOUR, history, letters, opened, run, seat_of, the_match

AT = NOW + HOUR
THREE = "x3 x3 x3\n . . .\ny3 y3 y3\n . . .\nz3 z3 z3\n"

Send = Callable[..., str]


@pytest.fixture
def send(engine: Engine, post: Post) -> Send:
    """Begin a match of three with some settings; send press of Ann's, return what she is told."""

    def begin(text: str, number: int = 1, **settings: str) -> str:
        with store.reading(engine) as session:
            known = store.match_named(session, "hexem1")
        if known is None:
            players = tuple(
                making.Player(one, (f"{one}@example.org",)) for one in ("Ann", "Bob", "Cleo")
            )
            options = {"trust": "address", "board": THREE, "seed": "s", **settings}
            with store.writing(engine) as session:
                plan = making.Plan(
                    "hexem", "hexem1", players, options, ("weekly Sun 20:00",), "Europe/Berlin"
                )
                making.begin(session, plan, NOW)
        post(mail(text, number=number))
        facts = letters(engine, "receipt")[-1].facts
        problems = [one["problem"] for one in facts["lines"] if one["problem"]]
        return "; ".join([*facts["notes"], *problems])

    return begin


def to_whom(engine: Engine) -> list[str | None]:
    """The seats that press went to; `None` the game master."""
    names = {seat.id: seat.name for seat in the_match(engine).seats}
    return [names.get(one.seat_id or 0) for one in letters(engine, "press")]


def test_press_to_all_goes_to_all_others(send: Send, engine: Engine) -> None:
    said = send("PRESS TO ALL\nGood luck,\neverybody!\nEND PRESS")
    assert said.startswith("Your press went to all.")
    assert to_whom(engine) == ["Bob", "Cleo"]
    (first, _) = letters(engine, "press")
    assert first.facts["press"] == [{"by": "Ann", "to": "all", "text": "Good luck,\neverybody!"}]


def test_press_to_a_seat_goes_to_it_alone(send: Send, engine: Engine) -> None:
    send("PRESS TO bob\nShall we?\nEND PRESS")
    assert to_whom(engine) == ["Bob"]


def test_press_to_two_seats(send: Send, engine: Engine) -> None:
    send("PRESS TO Bob and Cleo\nShall we?\nEND PRESS")
    assert to_whom(engine) == ["Bob", "Cleo"]


def test_press_to_the_game_master(send: Send, engine: Engine) -> None:
    send("PRESS TO GM\nI was ill.\nEND PRESS", press="none")
    assert to_whom(engine) == [None]


def test_press_to_nobody_known_is_asked_about(send: Send, engine: Engine) -> None:
    assert "did you mean Bob" in send("PRESS TO Bop\nShall we?\nEND PRESS")
    assert to_whom(engine) == []


def test_anonymous_press_doesn_t_say_whose_it_is(send: Send, engine: Engine, house: Config) -> None:
    said = send("PRESS ANONYMOUS TO ALL\nBeware.\nEND PRESS")
    assert "without your name" in said
    (letter, _) = letters(engine, "press")
    assert letter.facts["press"][0]["by"] == "somebody"
    with store.reading(engine) as session:
        raw = outbox.compose(session, house, session.get_one(Letter, letter.id), AT)
    assert b"Ann" not in raw
    (entry,) = history(engine, "press")
    assert entry.who == ""


@pytest.mark.parametrize(
    ("allowed", "line", "why"),
    [
        ("named", "PRESS ANONYMOUS TO ALL", "without his name"),
        ("public", "PRESS TO Bob", "goes to ALL"),
        ("none", "PRESS TO ALL", "no press between players"),
        ("none", "PRESS TO Bob", "no press between players"),
    ],
)
def test_the_setting_press_says_what_may_be_sent(
    send: Send, engine: Engine, allowed: str, line: str, why: str
) -> None:
    assert why in send(f"{line}\nHello\nEND PRESS", press=allowed)
    assert to_whom(engine) == []


@pytest.mark.parametrize(
    ("allowed", "line"),
    [("named", "PRESS TO Bob"), ("named", "PRESS TO ALL"), ("public", "PRESS TO ALL")],
)
def test_what_the_setting_allows_is_sent(
    send: Send, engine: Engine, allowed: str, line: str
) -> None:
    send(f"{line}\nHello\nEND PRESS", press=allowed)
    assert to_whom(engine)


@pytest.mark.parametrize(
    ("reads", "line", "is_read"),
    [
        ("none", "PRESS TO ALL", False),
        ("none", "PRESS TO Bob", False),
        ("some", "PRESS TO ALL", True),
        ("some", "PRESS TO Bob", False),
        ("some", "PRESS ANONYMOUS TO Bob", True),
        ("all", "PRESS TO Bob", True),
    ],
)
def test_the_game_master_reads_along_as_the_match_has_it_and_all_are_told(
    send: Send, engine: Engine, reads: str, line: str, is_read: bool
) -> None:
    said = send(f"{line}\nHello\nEND PRESS", gm_reads_press=reads)
    assert (None in to_whom(engine)) is is_read
    assert press.READERS[reads] in said
    assert letters(engine, "press")[0].facts["notes"] == [press.READERS[reads]]


def _report(engine: Engine, house: Config, seat: str) -> str:
    with opened(engine) as (session, row):
        letter = letters(engine, "report", to=seat)[-1]
        turn = store.turn_of(session, row, letter.turn)
        facts = outbox.facts_of(session, house, row, turn, seat_of(row, seat), DEADLINE)
        return str(facts["press"])


def test_press_is_in_the_reports_of_those_who_may_read_it(
    send: Send, engine: Engine, house: Config
) -> None:
    send("PRESS TO ALL\nTo all of you\nEND PRESS", 1)
    send("PRESS TO Bob\nBetween us\nEND PRESS", 2)
    idle(engine)
    run(engine, DEADLINE)
    assert "To all of you" in _report(engine, house, "Cleo")
    assert "Between us" not in _report(engine, house, "Cleo")
    assert "Between us" in _report(engine, house, "Bob")
    assert "Between us" in _report(engine, house, "Ann")
    idle(engine, now=DEADLINE + HOUR)
    run(engine, DEADLINE + 7 * DAY)
    assert _report(engine, house, "Cleo") == "[]"


def test_press_keeps_its_bounds(send: Send, engine: Engine) -> None:
    assert "it says nothing" in send("PRESS TO ALL\nEND PRESS", 1)
    long = "word " * 5000
    assert "20000 are the most" in send(f"PRESS TO ALL\n{long}\nEND PRESS", 2)
    assert "yourself" in send("PRESS TO Ann\nHello\nEND PRESS", 3)
    many = "".join(f"PRESS TO Bob\n{n}\nEND PRESS\n" for n in range(press.MOST_A_DAY + 2))
    assert "within a day" in send(many, 4)
    assert len(letters(engine, "press")) == press.MOST_A_DAY


def test_press_with_orders_counts_beside_them(send: Send, engine: Engine) -> None:
    send("BID x 2\nPRESS TO Bob\nI bid.\nEND PRESS\nBID y 1")
    assert letters(engine, "receipt")[-1].facts["sheet"] == ["BID x 2", "BID y 1"]


def test_press_to_the_game_master_does_not_say_that_he_reads_nothing(
    engine: Engine, send: Send
) -> None:
    assert send("PRESS TO GM\nhello\nEND PRESS") == "Your press went to the game master."
    assert [one.facts["notes"] for one in letters(engine, "press", to="")] == [[]]
    assert press.READERS["none"] in send("PRESS TO GM, Bob\nhello\nEND PRESS", 2)
