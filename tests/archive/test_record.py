"""The record of a match, and that what is published of it holds no secret."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, select

from pbem import archive, matches, store
from pbem import game as games
from pbem.archive import exported
from pbem.config import Config
from pbem.game import Json
from tests.archive.lives import EVERY_WAY, SECRETS, begin, live, record_of, recorded
from tests.conftest import NOW
from tests.flow.rig import HOUR, opened, said
from tests.games.matches import table

KEYS = sorted(games.installed())
WAYS = pytest.mark.parametrize(("key", "way"), EVERY_WAY)


def _strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value, keys too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value


def _order_lines(record: Json) -> set[str]:
    """All order texts of a record, and all their lines of two words or more."""
    texts = {text for turn in record["turns"] for text in turn["orders"].values() if text}
    texts |= {sheet["text"] for sheet in record["sheets"] if sheet["text"]}
    return texts | {line for text in texts for line in text.splitlines() if " " in line}


@pytest.mark.parametrize("key", KEYS)
def test_a_record_holds_no_address_key_token_or_message_id(
    key: str, engine: Engine, house: Config
) -> None:
    live(engine, house, key)
    record = recorded(engine)
    text = exported.written(record)
    with opened(engine, "match1") as (session, row):
        tokens = [matches.token(row, whose) for whose in (None, *row.seats)]
        keys = [row.key, *(seat.key for seat in row.seats)]
        ids = [one.message_id for one in session.scalars(select(store.Message))]
    assert len(ids) == 4
    for secret in (*tokens, *keys, *ids, "example.org", "mail."):
        assert secret not in text
    assert "message" not in {key for entry in record["history"] for key in entry["facts"]}
    assert exported.written(recorded(engine)) == text


def test_a_player_called_by_his_address_is_recorded_as_a_player(engine: Engine) -> None:
    begin(engine, "hexem")
    said(engine, "REPLACE Bob WITH joe@home.example.org joe@home.example.org", NOW, "match1")
    record = recorded(engine)
    assert [one["person"] for one in record["players"]] == ["Ann", "Bob", "a player", "Cleo"]
    entry = record["history"][-1]
    assert entry["what"] == "replaced"
    assert entry["facts"] == {"seat": "Bob", "person": "a player"}
    text = exported.written(record)
    assert "example.org" not in text
    assert "joe" not in text


@pytest.mark.parametrize("phases", [2, 4])
def test_an_address_that_somebody_wrote_to_all_is_not_published(
    phases: int, engine: Engine, house: Config
) -> None:
    at = live(engine, house, "hexem", phases=phases, end=phases == 4)
    with opened(engine, "match1") as (session, row):
        words = "write to <joe.x@home.example.org>, not zoe@example.com; 3@5, @ noon"
        store.record(session, row, at, "gm", "said", text=words)
        facts = {"by": "Ann", "to": "all", "text": words, "turn": 1, "seen_by": None}
        store.record(session, row, at, "Ann", "press", **facts)
    record = recorded(engine)
    assert words in _strings(record)
    public = archive.published(record)
    texts = [one["facts"]["text"] for one in public["history"][-2:]]
    assert texts == ["write to <(an address)>, not (an address); 3@5, @ noon"] * 2


def test_an_option_is_as_secret_as_the_state_it_sets() -> None:
    """Matches that differ in nothing but the gold of single seats can't be told apart."""
    shown = []
    for gold in ({"Ann": 37}, {"Ann": 12, "Bob": 3}, 11):
        at = table("offices", {"gold": gold, "gold_open": False})
        record = record_of("offices", 2, 0)
        record["options"] = dict(at.options)
        record["turns"][0]["state"] = at.game.dump(at.begin())
        facts = {"option": "gold", "value": str(gold)}
        entry = {"time": NOW.isoformat(), "who": "gm", "what": "set", "facts": facts}
        record["history"].append(entry)
        shown.append(archive.published(record))
        never = archive.published({**record, "status": "over", "settings": {"reveal": "never"}})
        assert never["options"] == shown[0]["options"]
        assert archive.published({**record, "status": "over"})["options"] == record["options"]
    assert shown[0] == shown[1] == shown[2]
    assert "gold" not in shown[0]["options"]
    assert {"gold_open", "start", "rounds"} <= shown[0]["options"].keys()


def test_where_gold_is_open_so_is_what_each_begins_with() -> None:
    public = archive.published(record_of("offices", 1, 1))
    assert public["options"]["gold"] == 10


def test_no_digest_of_orders_is_published_while_they_are_sealed() -> None:
    """Few orders can be meant, and each could be tried on it."""
    for public in (
        archive.published(record_of("empires", 0, 2)),
        archive.published(record_of("empires", 0, reveal="never")),
    ):
        assert "orders_sha256" not in {*public, *(key for one in public["turns"] for key in one)}


@WAYS
def test_of_a_running_match_everybody_knows_what_the_game_shows_to_nobody_in_particular(
    key: str, way: int
) -> None:
    whole = record_of(key, way)
    game = games.named(key)
    for last in range(1, whole["turn"]):
        record = record_of(key, way, last)
        public = archive.published(record)
        assert (public["whole"], public["seed"], public["sheets"]) == (False, None, [])
        for turn, shown in zip(record["turns"], public["turns"], strict=True):
            state = game.load(turn["state"], record["seats"], record["options"])
            assert shown["state"] == game.view(state, None)
            assert (shown["orders"], shown["problems"]) == ({}, {})
            assert shown["events"] == [one for one in turn["events"] if one["seen_by"] is None]
        found = set(_strings(public))
        assert not found & _order_lines(record)
        assert record["seed"] not in found


# What a state hides in some way of playing, by a path to it, and what is left of it.
HIDDEN = {
    ("alphabet", 1): (("money",), ("hands",)),
    ("empires", 1): (("rounds", "*", "bids"), ("past", "*", "rounds", "*", "bids")),
    ("offices", 2): (("plans",), ("challenge", "limit")),
}


def _at(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0] == "*":
        for one in value:
            yield from _at(one, path[1:])
    elif value is not None:
        yield from _at(value.get(path[0]), path[1:])


@pytest.mark.parametrize(("key", "way"), HIDDEN)
def test_hidden_hands_bids_and_plans_are_in_no_state_published_while_the_match_runs_or_ever(
    key: str, way: int
) -> None:
    running = record_of(key, way, record_of(key, way)["turn"] - 1)
    never = record_of(key, way, reveal="never")
    hidden = 0
    for record in (running, never):
        public = archive.published(record)
        for turn, shown in zip(record["turns"], public["turns"], strict=True):
            for path in HIDDEN[key, way]:
                hidden += any(_at(turn["state"], path))
                if shown["state"]["phase"] == "over" and path == ("money",):
                    continue
                assert not any(_at(shown["state"], path)), (turn["number"], path)
    assert hidden


@WAYS
def test_reveal_never_keeps_orders_and_seed_and_tells_how_it_ended(key: str, way: int) -> None:
    record = record_of(key, way, reveal="never")
    public = archive.published(record)
    assert record["status"] == "over"
    assert (public["whole"], public["seed"]) == (False, None)
    assert not set(_strings(public)) & {*_order_lines(record), record["seed"]}
    last = public["turns"][-1]["state"]
    assert (last["phase"], last["winners"]) == ("over", record["winners"])
    for points in ("vp", "points"):
        assert last.get(points) == record["turns"][-1]["state"].get(points)


def _with_other_secrets(record: Json) -> Json:
    """A record that differs from another in whatever is a seat's or the game master's alone."""
    other: Json = json.loads(json.dumps(record))
    other["seed"] = "CANARY"
    for turn in (*other["turns"], *other["undone"]):
        turn["orders"] = dict.fromkeys(turn["orders"], "CANARY")
        turn["problems"] = {other["seats"][0]: [[1, "CANARY"]]}
        turn["events"].append({"kind": "CANARY", "facts": {"of": "CANARY"}, "seen_by": ["Ann"]})
    for sheet in other["sheets"]:
        sheet["text"] = "CANARY"
    for turn in other["undone"]:
        turn["state"] = turn["events"] = "CANARY"
    for entry in other["history"]:
        if entry["what"] == "press" and entry["facts"]["seen_by"] is not None:
            entry["facts"] |= {"text": "CANARY", "to": "CANARY"}
        if entry["what"] in ("failed", "held"):
            entry["facts"]["why"] = "CANARY"
        if entry["what"] == "waits":
            entry["facts"]["seats"] = ["CANARY"]
    other["history"] += [
        {"time": NOW.isoformat(), "who": "Bob", "what": what, "facts": {"CANARY": "CANARY"}}
        for what in ("orders", "absent", "away", "address", "silent", "CANARY")
    ]
    other["present"] = "CANARY"
    return other


@pytest.mark.parametrize("key", KEYS)
def test_what_is_published_of_a_running_match_is_the_same_whatever_its_secrets_are(
    key: str, engine: Engine, house: Config
) -> None:
    at = live(engine, house, key, phases=3, end=False)
    with opened(engine, "match1") as (session, row):
        for what in ("failed", "held"):
            trace = 'File "/somewhere/x.py"'
            store.record(session, row, at, "program", what, why="KeyError: 'x'", trace=trace)
        seats = ["Ann"]
        store.record(session, row, at, "program", "waits", until=at.isoformat(), seats=seats)
    record = recorded(engine)
    public = archive.published(record)
    assert record["status"] == "running"
    assert len(record["undone"]) == 2
    assert archive.published(_with_other_secrets(record)) == public
    text = exported.written(public)
    for secret in (*SECRETS, "somewhere", "KeyError", "Traceback", "secret"):
        assert secret not in text
    assert "open words" in text
    assert public["undone"] == []
    told = {entry["what"] for entry in public["history"]}
    assert told >= {"begun", "run", "undone", "replaced", "press", "no orders", "waits", "failed"}
    assert not told & {"orders", "silent"}
    assert archive.published(public) == public


def test_once_it_is_over_all_is_open_but_press_to_the_game_master_and_who_wrote_without_a_name(
    engine: Engine, house: Config
) -> None:
    at = live(engine, house, "hexem")
    with opened(engine, "match1") as (session, row):
        store.record(session, row, at, "program", "failed", why="KeyError: 1", trace="/somewhere")
    record = recorded(engine)
    public = archive.published(record)
    assert (public["whole"], public["seed"]) == (True, record["seed"])
    assert public["turns"] == record["turns"]
    assert public["undone"] == record["undone"]
    press = [entry for entry in public["history"] if entry["what"] == "press"]
    assert [one["facts"]["text"] for one in press] == ["open words", *SECRETS[:2]]
    assert [one["who"] for one in press] == ["Ann", "Ann", ""]
    assert [one["facts"]["seen_by"] for one in press] == [None, ["Ann", "Bob"], ["Bob"]]
    assert public["sheets"] == []
    assert "somewhere" not in exported.written(record)
    assert "KeyError" not in exported.written(public)


def test_a_match_that_waits_for_players_has_a_record_too(engine: Engine) -> None:
    begin(engine, "hexem", reveal="never")
    with opened(engine, "match1") as (_, row):
        row.status = "open"
    assert archive.published(recorded(engine))["seed"] is None


def test_who_reads_a_whole_record_is_written_down_and_told_unless_the_match_is_over(
    engine: Engine,
) -> None:
    begin(engine, "hexem")
    for end in ("", "END"):
        if end:
            said(engine, "END", NOW + HOUR, "match1")
            with opened(engine, "match1") as (session, row):
                row.status = "over"
        with opened(engine, "match1") as (session, row):
            record = archive.record.opened(session, row, NOW + HOUR)
        entries = [one for one in record["history"] if one["what"] == "exported"]
        assert [one["facts"] for one in entries] == [{"turn": 0}]
