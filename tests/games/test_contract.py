"""What every installed game keeps to, whoever wrote it: the protocol `pbem.game.Game`, in use."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem import judge, typography
from pbem.game import Event, Game, Played
from pbem.usage import KINDS, Kind, Order, Rule
from tests.games import matches
from tests.games.matches import SEATS, SEED, WAYS, Table

KEYS = sorted(games.installed())
EVERY_GAME = pytest.mark.parametrize("key", KEYS)
EVERY_WAY = pytest.mark.parametrize(
    ("key", "way"), [(key, way) for key in KEYS for way in range(1 + len(WAYS.get(key, ())))]
)
CASES = Path(__file__).parent.parent / "cases"
ROOT = Path(__file__).parent.parent.parent

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "setup": ("seats", "options", "rng"),
    "check": ("state", "seat", "orders"),
    "adjudicate": ("state", "orders", "rng"),
    "waiting": ("state",),
    "view": ("state", "seat"),
    "winners": ("state",),
    "dump": ("state",),
    "load": ("data", "seats", "options"),
}
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "page": ("state", "seat", "events"),
    "forecast": ("state", "seat", "orders"),
    "default_orders": ("state", "seat"),
    "deciding": ("state",),
    "bot": ("state", "seat", "rng"),
    "gm_bot": ("state", "rng"),
}
NONSENSE: tuple[Any, ...] = (
    {"no": ["such", {"thing": "anywhere"}]},
    [[], [[]], {}],
    "\x00 no such thing",
    -(10**30),
    float("nan"),
    float("inf"),
)
# One of these fits most kinds of slot; what fits a kind of none of them is looked for.
SAMPLES = ("Alpha", "7", "A1", "E", "green", "+5")

few = settings(max_examples=60, deadline=None)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@EVERY_GAME
def test_a_game_has_the_functions_of_the_protocol(key: str) -> None:
    game = games.named(key)
    assert key == game.KEY
    assert game.TITLE.strip()
    assert len({option.name for option in game.OPTIONS}) == len(game.OPTIONS)
    assert all(option.help and option.help.isprintable() for option in game.OPTIONS)
    assert all(rule.help and rule.usage.split()[0].isupper() for rule in game.GRAMMAR.rules)
    there = {name: args for name, args in OPTIONAL.items() if games.optional(game, name)}
    for name, arguments in {**ARGUMENTS, **there}.items():
        assert tuple(inspect.signature(getattr(game, name)).parameters) == arguments, name


@EVERY_GAME
def test_an_option_takes_its_default_and_refuses_nonsense(key: str) -> None:
    for option in games.named(key).OPTIONS:
        assert json.loads(matches.text(option.default)) == option.default
        if option.default is not None:
            assert option.read(deepcopy(option.default)) == option.default, option.name
        assert any(_refuses(option, value) for value in NONSENSE), option.name


@EVERY_GAME
@few
@given(value=json_values)
def test_an_option_keeps_json_that_it_would_take_again(key: str, value: Any) -> None:
    for option in games.named(key).OPTIONS:
        if not _refuses(option, value):
            kept = option.read(value)
            assert option.read(json.loads(matches.text(kept))) == kept


def _refuses(option: games.Option, value: Any) -> bool:
    try:
        option.read(value)
    except ValueError as error:
        assert str(error)
        return True
    return False


@EVERY_GAME
def test_a_usage_line_filled_in_is_read_and_what_is_written_is_read_the_same(key: str) -> None:
    grammar = games.named(key).GRAMMAR
    for rule in grammar.rules:
        filled = _filled(grammar, rule)
        orders = grammar.read(filled, gm=rule.gm).orders
        assert [type(order) for order in orders] == [rule.make], filled
        _assert_reads_as_written(grammar, orders[0], rule.gm)


def _filled(grammar: games.Grammar, rule: Rule) -> str:
    """Fill the slots of a usage line with samples, what may be left out of it left out."""
    usage = re.sub(r" \[[^\]]*\]|, <.*$", "", rule.usage.partition(" … END")[0])

    def sample(slot: re.Match[str]) -> str:
        kind = grammar.kinds.get(slot[2] or slot[1]) or KINDS.get(slot[2] or slot[1])
        return _sample(kind or KINDS["text"])

    return re.sub(r"<(\w+)(?::(\w+))?>", sample, usage)


def _sample(kind: Kind) -> str:
    def fits(text: str) -> bool:
        if not re.fullmatch(kind.pattern, text, re.IGNORECASE):
            return False
        try:
            kind.read(text)
        except ValueError:
            return False
        return True

    fitting = [sample for sample in SAMPLES if fits(sample)]
    if fitting:
        return fitting[0]
    return find(st.from_regex(kind.pattern, fullmatch=True), lambda text: fits(text.strip()))


def _assert_reads_as_written(grammar: games.Grammar, order: Order, gm: bool) -> None:
    written = grammar.write(order)
    assert grammar.read(written, gm=gm).orders == (order,), written


@EVERY_WAY
def test_a_lawful_order_is_read_and_taken_as_it_is_written(key: str, way: int) -> None:
    table, turns = matches.match(key, way)
    game = table.game
    for turn in turns:
        for seat, sheet in turn.texts.items():
            read = game.GRAMMAR.read(sheet, gm=seat is None).orders
            lawful, _ = game.check(turn.state, seat, read)
            for order in lawful:
                _assert_reads_as_written(game.GRAMMAR, order, seat is None)
            assert tuple(game.check(turn.state, seat, lawful)[0]) == tuple(lawful)


@EVERY_GAME
def test_any_number_of_seats_is_set_up_and_played_or_refused_in_a_sentence(key: str) -> None:
    playable = matches.seat_numbers(games.named(key))
    assert playable
    assert 0 not in playable
    assert len(SEATS) not in playable
    for number in playable:
        table = matches.table(key, seats=number)
        turns = list(matches.turns(table, Random(1), last=20))
        assert len(table.seats) == number
        assert turns[-1].played.state.phase == "over"


@EVERY_WAY
def test_phases_name_who_may_send_orders_and_who_has_won(key: str, way: int) -> None:
    table, turns = matches.match(key, way)
    game = table.game
    for state in (turns[0].state, *(turn.played.state for turn in turns)):
        assert state.phase
        assert state.phase.isascii()
        waiting, winners = list(game.waiting(state)), list(game.winners(state))
        assert waiting == [seat for seat in table.seats if seat in waiting]
        assert set(winners) <= set(table.seats)
        assert set(games.deciding(game, state)) <= set(waiting)
        data = game.dump(state)
        assert data["phase"] == state.phase
        assert data.get("winners") == (winners if state.phase == "over" else None)
        if state.phase == "over":
            assert not waiting


@EVERY_GAME
def test_a_game_names_its_phases_so_that_a_schedule_may_be_for_one(key: str) -> None:
    played = set()
    for way in range(1 + len(WAYS.get(key, ()))):
        _, turns = matches.match(key, way)
        played |= {turn.state.phase for turn in turns} - {"over"}
    game = games.named(key)
    games.check_phases(game, ["", *played])
    # One that names none takes any.
    if games.optional(game, "PHASES") is None:
        games.check_phases(game, ["over"])
        return
    with pytest.raises(ValueError, match=f"{key} has no phase 'over'"):
        games.check_phases(game, ["over"])


@EVERY_GAME
def test_the_game_master_may_end_a_match_in_any_phase(key: str) -> None:
    table, turns = matches.match(key)
    for turn in turns[:20]:
        done = games.play(table.game, turn.state, {None: "END"}, SEED, turn.number)
        assert done.state.phase == "over"
        stored = table.stored(done.state)
        assert table.game.dump(stored)["winners"] == list(table.game.winners(stored))
        assert not table.game.waiting(stored)


@EVERY_WAY
def test_a_match_goes_on_alike_from_its_stored_state(key: str, way: int) -> None:
    table, turns = matches.match(key, way)
    for turn in turns:
        stored = table.stored(turn.state)
        assert table.game.dump(stored) == table.game.dump(turn.state)
        again = games.play(table.game, stored, turn.texts, SEED, turn.number)
        assert matches.told(table, again) == matches.told(table, turn.played)
        for seat in (*table.seats, None):
            assert table.game.view(stored, seat) == table.game.view(turn.state, seat)
            assert _page(table, stored, seat, ()) == _page(table, turn.state, seat, ())


@EVERY_WAY
def test_same_seed_and_orders_make_the_same_match_in_any_process(key: str, way: int) -> None:
    command = [sys.executable, "-m", "tests.games.matches", key, str(way)]
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == matches.digest(key, way)


@EVERY_WAY
def test_no_function_changes_what_it_is_given(key: str, way: int) -> None:
    table, turns = matches.match(key, way)
    game, options = table.game, deepcopy(table.options)
    for turn in turns:
        data = game.dump(turn.state)
        stored, before, picture = deepcopy(data), deepcopy(data), repr(turn.state)
        state = game.load(stored, table.seats, options)
        for _ in range(2):
            games.play(game, state, turn.texts, SEED, turn.number)
            for seat in table.seats:
                forecast = games.optional(game, "forecast")
                orders = game.check(state, seat, game.GRAMMAR.read(turn.texts[seat]).orders)[0]
                if forecast:
                    forecast(state, seat, orders)
            events = deepcopy(list(turn.played.events))
            _page(table, turn.played.state, None, events)
            assert events == list(turn.played.events)
        assert stored == before == game.dump(state)
        assert repr(turn.state) == picture
    assert options == table.options


@EVERY_WAY
def test_events_hold_json_and_name_who_sees_them(key: str, way: int) -> None:
    table, turns = matches.match(key, way)
    for turn in turns:
        for event in turn.played.events:
            assert event.kind
            assert json.loads(matches.text(dict(event.facts))) == dict(event.facts)
            assert event.seen_by is None or set(event.seen_by) <= set(table.seats)


@EVERY_WAY
def test_the_public_sees_no_more_than_any_seat_and_a_seat_no_more_than_there_is(
    key: str, way: int
) -> None:
    table, turns = matches.match(key, way)
    view = table.game.view
    for turn in turns:
        everything = table.game.dump(turn.played.state)
        for seat in table.seats:
            seen = view(turn.played.state, seat)
            assert not judge.mismatch(view(turn.played.state, None), seen, f"the view of {seat}")
            assert not judge.mismatch(seen, everything, f"the state beside the view of {seat}")


@EVERY_WAY
def test_what_others_ordered_shows_in_nothing_but_the_events_one_may_see(
    key: str, way: int
) -> None:
    """A sheet is changed; who is told of the turn just the same sees just the same afterwards."""
    table, turns = matches.match(key, way)
    compared = 0
    for turn in turns[:20]:
        for other in table.seats:
            for sheet in _other_sheets(turn.texts[other]):
                texts = {**turn.texts, other: sheet}
                changed = games.play(table.game, turn.state, texts, SEED, turn.number)
                for reader in (*table.seats, None):
                    told, told_now = _seen(turn.played, reader), _seen(changed, reader)
                    if reader != other and _told(told) == _told(told_now):
                        compared += 1
                        assert _shown(table, changed, reader) == _shown(table, turn.played, reader)
    assert compared


def _other_sheets(sheet: str) -> Iterator[str]:
    lines = sheet.split("\n")
    yield "Hello all, and good luck to you."
    yield "\n".join(lines[:-1])
    yield "\n".join(lines[1:])
    yield "\n".join(reversed(lines))


def _seen(played: Played, reader: str | None) -> list[Event]:
    over = played.state.phase == "over"
    return [e for e in played.events if over or e.seen_by is None or reader in e.seen_by]


def _told(events: Sequence[Event]) -> str:
    return matches.text([games.event_json(event) for event in events])


def _shown(table: Table, played: Played, reader: str | None) -> tuple[Any, Any]:
    seen = _seen(played, reader)
    page = _page(table, played.state, reader, seen)
    return table.game.view(played.state, reader), page


def _page(table: Table, state: Any, reader: str | None, events: Any) -> Any:
    page = games.optional(table.game, "page")
    return matches.text(page(state, reader, events)) if page else None


@EVERY_WAY
@few
@given(data=st.data())
def test_junk_is_refused_line_by_line_and_stops_nothing(
    key: str, way: int, data: st.DataObject
) -> None:
    table, turns = matches.match(key, way)
    turn = data.draw(st.sampled_from(turns))
    texts = {seat: data.draw(_junk(table.game, turn.texts)) for seat in (*table.seats, None)}
    done = games.play(table.game, turn.state, texts, SEED, turn.number)
    for seat, problems in done.problems.items():
        lines = typography.lines(texts[seat])
        for problem in problems:
            assert 1 <= problem.line <= len(lines)
            # It goes on a sentence of ours, which puts the full stop.
            assert problem.message.strip(" .") == problem.message != ""
            assert len(problem.message.splitlines()) == 1
            assert lines[problem.line - 1].strip()
    assert table.game.dump(table.stored(done.state)) == table.game.dump(done.state)


def _junk(game: Game, sheets: Mapping[str | None, str]) -> st.SearchStrategy[str]:
    """Return texts of lines: anything, verbs with anything behind, real orders put wrong."""
    real = [line for sheet in sheets.values() for line in sheet.split("\n") if line] or ["ORDERS"]
    verbs = sorted({rule.verb for rule in game.GRAMMAR.rules})
    line = st.one_of(
        st.text(max_size=40),
        st.builds("{} {}".format, st.sampled_from(verbs), st.text(max_size=40)),
        st.builds("{} {}".format, st.sampled_from(verbs), st.integers()),
        st.sampled_from(real),
        st.builds(lambda line, cut: line[:cut], st.sampled_from(real), st.integers(0, 30)),
        st.builds(lambda line: " ".join(reversed(line.split(" "))), st.sampled_from(real)),
        st.sampled_from(["", "ORDERS", "END ORDERS", "> BID 1 1"]),
    )
    return st.lists(line, max_size=25).map("\n".join)


@pytest.mark.parametrize("key", sorted(path.name for path in CASES.iterdir()))
def test_every_case_file_comes_out_as_it_says(key: str) -> None:
    cases = sorted((CASES / key).glob("*.json"))
    assert cases
    assert [fault for path in cases for fault in judge.check(path)] == []
