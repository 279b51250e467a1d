"""The letters of every installed game, each turn's to each seat, as the outbox writes them."""

import json
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from pbem import commands, reports
from pbem import game as games
from pbem.game import Event
from pbem.marker import FORM_BEGIN, FORM_END, MARKER
from pbem.reports.templates import columns
from tests.games import matches
from tests.games.matches import Table
from tests.games.test_contract import EVERY_GAME, EVERY_WAY

DEADLINE = {
    "day": "Sunday 6 December 2026",
    "time": "20:00",
    "offset": "UTC+01:00",
    "zone": "Europe/Berlin",
    "left": "5 days 3 hours",
    "when": "in 5 days 3 hours",
    "utc": "2026-12-06T19:00:00+00:00",
}
# The first phases of a long match, and its last.
PHASES = 10


class Letter(NamedTuple):
    """A letter as written, of which kind, for the state it shows."""

    kind: str
    seat: str | None
    state: Any
    words: reports.Words


def letters(key: str, way: int) -> Iterator[Letter]:
    """Write the letters of a match: each turn's to every seat and to the public."""
    table, played = matches.match(key, way)
    shown = [(0, played[0].state, ())]
    shown += [(turn.number, turn.played.state, turn.played.events) for turn in played]
    for number, state, events in (*shown[:PHASES], *shown[PHASES:][-1:]):
        for seat in (*table.seats, None):
            facts = facts_of(table, number, state, events, seat)
            kinds = ["over"] if state.phase == "over" else ["report"] if number else ["welcome"]
            if seat is not None and facts["due"]:
                kinds += ["reminder", "receipt"]
                facts |= _receipt(table, state, seat)
            for kind in kinds:
                yield Letter(kind, seat, state, reports.words(kind, facts))


def facts_of(
    table: Table, number: int, state: Any, events: Sequence[Event], seat: str | None
) -> dict[str, Any]:
    """Return what letters that show a turn to a seat, or to the public, are written from."""
    over = state.phase == "over"
    stored = json.loads(matches.text([games.event_json(event) for event in events]))
    told = [Event(**event) for event in stored]
    seen = [event for event in told if over or event.seen_by is None or seat in event.seen_by]
    page = games.optional(table.game, "page")
    return {
        "match": f"{table.game.KEY}1",
        "title": table.game.TITLE,
        "game": table.game.KEY,
        "seat": seat,
        "seats": list(table.seats),
        "players": [{"seat": one, "person": one} for one in table.seats],
        "person": seat or "",
        "options": table.options,
        "deadline": DEADLINE,
        "due": seat in table.game.waiting(state),
        "turn": number,
        "phase": state.phase,
        "view": table.game.view(state, seat),
        "page": page(state, seat, seen) if page else {},
        "events": seen,
        "winners": list(table.game.winners(state)),
        "seed": matches.SEED,
        "seed_hash": "5eed" * 16,
        "orders_hash": "04de" * 16,
        "address": "game@example.org",
        "written": "2026-12-01T16:00:00+00:00",
    }


def _receipt(table: Table, state: Any, seat: str) -> dict[str, Any]:
    """Return the facts of a receipt for what the scripted player sends."""
    game = table.game
    read = game.GRAMMAR.read(matches.sheets(table, state, Random(3))[seat])
    lawful, problems = game.check(state, seat, read.orders)
    why = {problem.line: problem.message for problem in problems}
    forecast = games.optional(game, "forecast")
    return {
        "outcome": "accepted",
        "number": 1,
        "lines": [
            {"number": line.number, "text": line.text, "understood": None, "problem": problem}
            for line in read.lines
            for problem in (why.get(line.number),)
        ],
        "sheet": [game.GRAMMAR.write(order) for order in lawful],
        "answers": {"subject": "Re: it", "date": "", "message_id": "", "received": "just now"},
        "forecast": list(forecast(state, seat, lawful)) if forecast else None,
    }


@EVERY_WAY
def test_every_letter_of_a_match_is_written_for_every_reader(key: str, way: int) -> None:
    game = games.named(key)
    for letter in letters(key, way):
        text, subject, html = letter.words.text, letter.words.subject, letter.words.html or ""
        assert text.startswith(MARKER)
        assert [line for line in text.split("\n") if columns(line) > 72] == []
        assert subject.startswith(f"[{key}1] ")
        # What Python would print of a value has no place in a letter.
        for said in (text, subject, re.sub(r"(?s)<style.*?</style>|<[^>]*>", " ", html)):
            assert not re.search(r"\b(None|True|False)\b|[\[{(]['\"]\w+['\"]|{{|{%", said)
        asked = letter.kind in ("welcome", "report", "reminder")
        assert (FORM_BEGIN in text) == (asked and letter.seat in game.waiting(letter.state))


@EVERY_WAY
def test_a_letter_as_sent_holds_no_order(key: str, way: int) -> None:
    game = games.named(key)
    forms = 0
    for letter in letters(key, way):
        # A receipt says the reader's own orders back.
        if letter.kind == "receipt":
            continue
        text = letter.words.text
        form = text.partition(FORM_BEGIN)[2].partition(FORM_END)[0]
        for part in (text, form):
            assert (game.GRAMMAR | commands.PLAYER).read(part).orders == ()
            assert (game.GRAMMAR | commands.GAME_MASTER).read(part, gm=True).orders == ()
        for line in form.split("\n"):
            assert "__" not in line or line.split()[0] in game.GRAMMAR.verbs
        forms += bool(form)
    assert forms


@EVERY_GAME
def test_the_rules_sent_to_players_say_how_every_order_is_written(key: str) -> None:
    game = games.named(key)
    for given in ({}, *matches.WAYS.get(key, ())):
        text = reports.rules(key, games.read_options(game.OPTIONS, given, key))
        assert [line for line in text.split("\n") if columns(line) > 72] == []
        for rule in game.GRAMMAR.rules:
            order = re.escape(rule.verb) + (r" [<\[A-Z]" if " " in rule.usage else r"\b")
            assert rule.gm or re.search(order, text), rule.usage
