"""Every installed game's letters, over some phases played by scripted players."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from random import Random
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from pbem import game as games
from pbem.game import Event
from pbem.marker import FORM_BEGIN, FORM_END, MARKER
from pbem.reports import Words, rules, words
from pbem.reports.letters import fragment, part
from pbem.reports.templates import columns

SEATS = ["Ann <b>&amp;</b>", "Bob Öz", "Chloé"]
KEYS = sorted(point.name for point in entry_points(group="pbem.games"))
EVERY_GAME = pytest.mark.parametrize("key", KEYS)
Facts = dict[str, Any]


@cache
def played(key: str) -> list[tuple[Any, list[Event]]]:
    """Play some phases; return the state and the events after each, the set-up first."""
    game = games.named(key)
    options = games.read_options(game.OPTIONS, {}, key)
    state = game.setup(SEATS, options, games.chance("seed", 0, "setup"))
    found: list[tuple[Any, list[Event]]] = [(state, [])]
    bot, rng = games.optional(game, "bot"), Random(7)
    for number in range(1, 7):
        if state.phase == "over":
            break
        orders: dict[str | None, Any] = {}
        for seat in game.waiting(state):
            read = game.GRAMMAR.read(bot(state, seat, rng)).orders
            orders[seat], _ = game.check(state, seat, read)
        done = game.adjudicate(state, orders, games.chance("seed", number, state.phase))
        state = done.state
        found.append((state, list(done.events)))
    return found


def shown(key: str, at: int, seat: str | None, facts: Facts) -> Facts:
    """Return the facts of a letter that shows a phase to a seat, or to the public."""
    game = games.named(key)
    state, events = played(key)[at]
    seen = [event for event in events if event.seen_by is None or seat in event.seen_by]
    page = games.optional(game, "page")
    return facts | {
        "game": key,
        "title": game.TITLE,
        "seats": SEATS,
        "seat": seat,
        "turn": at,
        "phase": state.phase,
        "options": games.read_options(game.OPTIONS, {}, key),
        "view": game.view(state, seat),
        "page": page(state, seat, seen) if page else {},
        "events": seen,
        "winners": list(game.winners(state)),
        "players": [{"seat": one, "person": one} for one in SEATS],
        "due": seat in game.waiting(state),
        "forecast": None,
    }


def letters(key: str, facts: Facts) -> Iterator[tuple[str, Facts, Words]]:
    """Write the letters of a match: each phase's, to two seats and to the public."""
    for at, (state, _) in enumerate(played(key)):
        kinds = ["welcome"] if at == 0 else ["report", "reminder"]
        if state.phase == "over":
            kinds = ["over"]
        for seat in (SEATS[0], SEATS[1], None):
            for kind in kinds:
                given = shown(key, at, seat, facts)
                yield kind, given, words(kind, given)


@EVERY_GAME
def test_letters_of_a_match_are_whole_and_readable_in_a_terminal(key: str, facts: Facts) -> None:
    for kind, given, letter in letters(key, facts):
        lines = letter.text.split("\n")
        wide = [line for line in lines if columns(line) > 72]
        assert not wide, (kind, given["turn"], given["seat"])
        assert lines[0] == MARKER
        controls = {c for c in letter.text if unicodedata.category(c) == "Cc"}
        assert controls == {"\n"}
        assert (FORM_BEGIN in letter.text) == (kind != "over" and given["due"]), kind


@EVERY_GAME
def test_names_do_nothing_in_html_and_are_escaped_once(key: str, facts: Facts) -> None:
    for kind, _, letter in letters(key, facts | {"person": "Ann", "press": []}):
        page = LexborHTMLParser(letter.html or "")
        assert not [node.text() for node in page.css("b") if node.text() == "&"], kind
        assert "&amp;amp;amp;" not in (letter.html or "")
        assert "&amp;lt;" not in (letter.html or "")


@EVERY_GAME
def test_a_copy_of_an_old_report_says_nothing_of_what_may_be_done(key: str, facts: Facts) -> None:
    verbs = "|".join(games.named(key).GRAMMAR.verbs)
    orders = re.compile(rf"\b(?:{verbs})\b|may do|you are asked|can form now|to spend")
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for at, (state, _) in enumerate(played(key)):
        for seat in SEATS:
            given = shown(key, at, seat, facts | {"deadline": None})
            for is_copy in (True, False) if state.phase != "over" else ():
                more = {"copy": True, "due": False} if is_copy else {}
                for name in ("headline.txt", "report.txt"):
                    # Reasons of his own moves stand in brackets.
                    told = re.sub(r"\(Your [^()]*\)", "", part(name, given | more))
                    found[is_copy].update(orders.findall(told))
                told = re.sub(r"\(Your [^()]*\)", "", fragment("report.html", given | more))
                found[is_copy].update(orders.findall(told))
    assert not found[True]
    assert found[False]


@EVERY_GAME
def test_order_form_as_sent_holds_no_order(key: str, facts: Facts) -> None:
    grammar = games.named(key).GRAMMAR
    seen = 0
    for _, _, letter in letters(key, facts):
        form = letter.text.partition(FORM_BEGIN)[2].partition(FORM_END)[0]
        assert grammar.read(form).orders == ()
        seen += bool(form)
    assert seen


@EVERY_GAME
def test_pictures_are_cards_with_words_beside(key: str, facts: Facts) -> None:
    drawn = [one for _, _, letter in letters(key, facts) for one in letter.pictures]
    assert drawn
    for one in drawn:
        assert len(one.alt) > 10
        assert one.png.startswith(b"\x89PNG")
        assert len(one.png) < 400_000


@EVERY_GAME
def test_forecast_is_told_in_the_receipt(key: str, facts: Facts) -> None:
    game = games.named(key)
    forecast, bot = games.optional(game, "forecast"), games.optional(game, "bot")
    told = 0
    for at, (state, _) in enumerate(played(key)):
        for seat in game.waiting(state):
            text = bot(state, seat, Random(3))
            lawful, _ = game.check(state, seat, game.GRAMMAR.read(text).orders)
            given = shown(key, at, seat, facts)
            given["forecast"] = list(forecast(state, seat, lawful)) if forecast else None
            letter = words("receipt", given)
            assert max(map(columns, letter.text.split("\n"))) <= 72
            told += "If nobody else moved" in letter.text
    assert bool(told) == bool(forecast)


@EVERY_GAME
def test_rules_sent_to_players_fit_and_name_every_order(key: str, facts: Facts) -> None:
    game = games.named(key)
    text = rules(key, games.read_options(game.OPTIONS, {}, key))
    assert max(map(columns, text.split("\n"))) <= 72
    for rule in game.GRAMMAR.rules:
        assert rule.gm or re.search(rf"\b{rule.verb}\b", text), rule.usage
    assert "The dice" in words("welcome", shown(key, 0, SEATS[0], facts)).text
