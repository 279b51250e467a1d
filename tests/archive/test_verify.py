"""`verify`: a match is replayed from seed and orders; whatever was changed is found and named."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine

from pbem import archive, outbox
from pbem import game as games
from pbem.archive import exported, form, verifying
from pbem.archive.verifying import Difference
from pbem.config import Config
from pbem.game import Json
from tests.archive.lives import EVERY_WAY, begin, live, record_of, recorded, run_now, send_orders
from tests.cli.conftest import Answer, pbem
from tests.conftest import NOW
from tests.flow.rig import HOUR, Office, refused, said

__all__ = ["pbem"]

KEYS = sorted(games.installed())
WAYS = pytest.mark.parametrize(("key", "way"), EVERY_WAY)

# What of a turn and of a match follows from seed, options and orders. Of what does not, other
# options and orders may come to the same; the rest is who, when, and what was said.
FOLLOWS = ("phase", "state", "events", "problems")
OF_THE_MATCH = ("seed", "seed_sha256", "turn", "phase", "status", "winners")


@cache
def _text(key: str, way: int) -> str:
    return exported.written(record_of(key, way))


def _copy(key: str, way: int = 0) -> Json:
    """A record to be changed."""
    found: Json = json.loads(_text(key, way))
    return found


def found_in(record: Json) -> Difference:
    """The first difference of a record that has one."""
    found = verifying.first_difference(record)
    assert found is not None
    return found


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for at, inner in enumerate(value):
            yield from _leaves(inner, (*path, at))
    else:
        yield path


def _changed(value: Any) -> Any:
    """Return another value of the same kind, or one where there was none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    return {"x": 1} if isinstance(value, dict) else [] if value is None else [1]


def _change(record: Json, path: tuple[Any, ...]) -> None:
    inner: Any = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = _changed(inner[path[-1]])


@WAYS
def test_a_match_verifies_whole_and_as_it_is_published_and_after_each_of_its_turns(
    key: str, way: int
) -> None:
    record = _copy(key, way)
    assert verifying.first_difference(record) is None
    assert verifying.first_difference(archive.published(record)) is None
    for last in range(record["turn"]):
        assert verifying.first_difference(record_of(key, way, last)) is None


@WAYS
def test_whatever_follows_from_the_orders_is_found_where_it_is_changed(key: str, way: int) -> None:
    rng = Random(f"{key} {way}")
    pristine = _copy(key, way)
    paths = [("turns", at, part) for at in range(len(pristine["turns"])) for part in FOLLOWS]
    leaves = [path for path in _leaves(pristine) if path[0] == "turns" and path[2] in FOLLOWS]
    # The words of a problem are the program's, and may be put better by a newer one.
    leaves = [path for path in leaves if path[2] != "problems" or path[-1] != 1]
    tried = [*rng.sample(leaves, min(25, len(leaves))), *rng.sample(paths, 5)]
    for path in tried:
        record = _copy(key, way)
        _change(record, path) if path in leaves else _empty(record, path)
        if record["turns"] == pristine["turns"] or _is_refused(record):
            continue
        found = found_in(record)
        assert found.turn == path[1], (path, found)
        place = {"problems": "refused"}.get(str(path[2]), str(path[2]))
        assert found.place.startswith(place), (path, found)


def _is_refused(record: Json) -> bool:
    """Whether a record has no longer the form of one, and would be refused as it is read."""
    try:
        form.check(record)
    except ValueError:
        return True
    return False


def _empty(record: Json, path: tuple[Any, ...]) -> None:
    turn, part = record["turns"][path[1]], path[2]
    turn[part] = "other" if part == "phase" else type(turn[part])()


@WAYS
def test_a_state_that_was_changed_is_told_from_an_order(key: str, way: int) -> None:
    """A number in a state, in any turn but the set-up."""
    rng = Random(f"{key} {way}")
    pristine = _copy(key, way)
    leaves = [
        path
        for path in _leaves(pristine["turns"])
        if path[0] > 0 and path[1] == "state" and type(_get(pristine["turns"], path)) is int
    ]
    for path in rng.sample(leaves, 5):
        record = _copy(key, way)
        _change(record["turns"], path)
        found = found_in(record)
        assert (found.turn, found.what) == (path[0], "state"), (path, found)
        assert int(found.found) == int(found.replayed) + 1


def _get(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("hexem", "MUSTER", "MUSTER A1"),
        ("empires", "BID", "BID Romans 1"),
        ("alphabet", "BID", "BID 1 40"),
        ("offices", "TAKE", "TAKE Consul UP TO 9"),
    ],
)
def test_an_order_that_was_changed_is_named_by_its_turn(key: str, old: str, new: str) -> None:
    """Also where it comes to the same, which no replay can tell: each turn has its digest."""
    whats = set()
    for number in range(1, _copy(key)["turn"] + 1):
        for seat in _copy(key)["seats"]:
            record = _copy(key)
            orders = record["turns"][number]["orders"]
            if old not in orders.get(seat, ""):
                continue
            orders[seat] = new
            found = found_in(record)
            assert found.turn == number
            whats.add(found.what)
    assert "order" in whats
    assert whats <= {"order", "event", "refused"}, whats


def test_a_changed_die_is_a_seed_that_is_not_the_one_whose_hash_was_told() -> None:
    record = _copy("alphabet")
    record["seed"] += " "
    found = found_in(record)
    assert (found.turn, found.place, found.what) == (None, "seed_sha256", "seed")
    record["seed_sha256"] = found.replayed
    found = found_in(record)
    assert found.place == "the history's entry of the beginning, seed_hash"
    assert "the one whose SHA-256 was told" in str(found)
    # Who changes all three is found by the dice; and the first letters have the hash.
    record["history"][1]["facts"]["seed_hash"] = found.replayed
    assert found_in(record).turn == 0


LONG = pytest.mark.parametrize(
    ("key", "way"), [("alphabet", 0), ("empires", 0), ("hexem", 0), ("offices", 1)]
)


@LONG
def test_a_turn_that_was_taken_out_moved_or_put_in_is_named(key: str, way: int) -> None:
    last = _copy(key, way)["turn"]
    for number in range(last + 1):
        record = _copy(key, way)
        del record["turns"][number]
        found = found_in(record)
        assert (found.turn, found.what, found.place) == (number, "turn", "the whole turn")
        if number == last:
            record["turn"] -= 1
            assert found_in(record).turn == number
    record = _copy(key, way)
    record["turns"].insert(1, record["turns"][1])
    assert (found_in(record).turn, found_in(record).place) == (2, "number")
    record = _copy(key, way)
    record["turns"][1:3] = reversed(record["turns"][1:3])
    assert (found_in(record).turn, found_in(record).what) == (1, "turn")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("part", OF_THE_MATCH)
def test_what_a_match_came_to_is_compared_too(key: str, part: str) -> None:
    record = _copy(key)
    record[part] = {"status": "held"}.get(part) or _changed(record[part])
    found = found_in(record)
    place = {"seed": "seed_sha256", "turn": "the whole turn"}.get(part, part)
    assert found.place.split("[")[0] == place


def test_a_true_is_no_one_and_a_list_cut_short_is_named_by_its_length() -> None:
    record = _copy("hexem")
    hexes = record["turns"][2]["state"]["hexes"]
    at = next(label for label, one in hexes.items() if one["armies"] == 1)
    hexes[at]["armies"] = True
    found = found_in(record)
    assert (found.replayed, found.found) == ("1", "true")
    assert str(found).startswith(f"turn 2, state.hexes.{at}.armies: 1 is due, true in the file; ")
    record = _copy("hexem")
    record["turns"][2]["events"].pop()
    assert found_in(record).place == "events"
    assert found_in(record).found.startswith("a list of ")
    record = _copy("hexem")
    del record["turns"][1]["state"]["turn"]
    assert (found_in(record).place, found_in(record).found) == ("state.turn", "nothing")


@pytest.mark.parametrize("key", KEYS)
def test_a_match_that_its_game_master_mended_verifies(
    key: str, engine: Engine, house: Config
) -> None:
    live(engine, house, key, phases=4)
    record = recorded(engine)
    what = {entry["what"] for entry in record["history"]}
    assert what >= {"undone", "replaced", "orders", "press", "no orders", "over", "ended"}
    assert len(record["undone"]) == 2
    assert verifying.first_difference(record) is None
    assert verifying.first_difference(archive.published(record)) is None
    record["turns"].pop()
    assert found_in(record).turn == record["turn"]


def _mended(engine: Engine, house: Config, key: str) -> tuple[Json, Json]:
    """A match in which turns were taken back: all there is of it, and what is published."""
    live(engine, house, key, phases=4)
    record = recorded(engine)
    texts = (exported.written(one) for one in (record, archive.published(record)))
    whole, public = (json.loads(text) for text in texts)
    return whole, public


def _anew(record: Json, *without: str) -> Json:
    """A copy of a record with other digests, or none, as who changed it would write them."""
    found: Json = json.loads(json.dumps(record))
    for turn in (*found["turns"], *found["undone"]):
        turn["orders_sha256"] = games.digest(turn["orders"])
    found["orders_sha256"] = games.digest([turn["orders"] for turn in found["turns"]])
    found["sha256"] = exported.digest(found)
    for key in without:
        del found[key]
    return found


@pytest.mark.parametrize("key", KEYS)
def test_any_leaf_of_a_published_match_that_is_changed_is_found(
    key: str, engine: Engine, house: Config
) -> None:
    """Whatever it is: an order that changed nothing, a name, a time, press, who was missing."""
    _, public = _mended(engine, house, key)
    rng = Random(key)
    assert verifying.first_difference(public) is None
    assert verifying.first_difference(_anew(public)) is None
    # Without these it would be no file that could be verified.
    paths = [path for path in _leaves(public) if path[0] not in ("format", "whole")]
    parts = {path[0] for path in paths}
    chosen = [rng.choice([path for path in paths if path[0] == part]) for part in sorted(parts)]
    for path in (*chosen, *rng.sample(paths, 40)):
        record = json.loads(json.dumps(public))
        _change(record, path)
        if path[0] in ("game", "options") or _is_refused(record):
            continue
        found = found_in(record)
        if path[0] == "turns" and path[2] in (*FOLLOWS[:3], "orders"):
            assert found.turn == path[1], (path, found)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("part", ["turns", "undone"])
def test_an_order_that_changes_nothing_is_named_by_its_turn_in_what_is_published(
    key: str, part: str, engine: Engine, house: Config
) -> None:
    _, public = _mended(engine, house, key)
    for at, turn in enumerate(public[part]):
        for seat in turn["orders"]:
            record = json.loads(json.dumps(public))
            record[part][at]["orders"][seat] += "\nthis is chat"
            found = found_in(record)
            assert (found.turn, found.what) == (turn["number"], "order")
            assert found.place == ("orders" if part == "turns" else f"undone[{at}].orders")
            # Who writes the digest of the turn anew is found by the letter that has that of all.
            forged = _anew(record)
            assert verifying.first_difference(forged) is None
            told = verifying.orders_hash(public), verifying.orders_hash(forged)
            assert (told[0] != told[1]) == (part == "turns")


@pytest.mark.parametrize("key", KEYS)
def test_turns_that_were_taken_back_are_replayed_too(
    key: str, engine: Engine, house: Config
) -> None:
    whole, _ = _mended(engine, house, key)
    assert [turn["number"] for turn in whole["undone"]] == [2, 3]
    rng = Random(key)
    for at, turn in enumerate(whole["undone"]):
        leaves = [path for path in _leaves(turn) if path[0] in ("state", "events")]
        for path in rng.sample(leaves, 8):
            record = json.loads(json.dumps(whole))
            _change(record["undone"][at], path)
            record = _anew(record)
            if _is_refused(record):
                continue
            found = found_in(record)
            assert found.turn == turn["number"], (path, found)
            assert found.place.startswith(f"undone[{at}].{path[0]}")
    for gone in (whole["undone"][:1], whole["undone"][1:], []):
        found = found_in(_anew({**whole, "undone": gone}))
        assert found.what in ("turn", "order", "history", "event", "state"), found


def test_a_turn_taken_back_may_have_gone_by_an_option_set_since(
    engine: Engine, house: Config
) -> None:
    begin(engine, "hexem", turns=1)
    for wanted in ("UNDO 2", "SET turns 30", ""):
        for _ in range(2 if wanted != "SET turns 30" else 0):
            send_orders(engine, NOW + HOUR)
            run_now(engine, NOW + HOUR)
        if wanted:
            said(engine, wanted, NOW + HOUR, "match1")
    record = recorded(engine)
    assert [turn["state"]["phase"] for turn in record["undone"]] == ["muster", "over"]
    assert record["status"] == "running"
    assert verifying.first_difference(record) is None
    record["undone"][1]["orders"]["Ann"] += "\n"
    assert found_in(record).place == "undone[1].orders"


@pytest.mark.parametrize("key", KEYS)
def test_who_was_missing_and_when_a_turn_was_run_agrees_with_the_history(
    key: str, engine: Engine, house: Config
) -> None:
    _, public = _mended(engine, house, key)

    def changed(change: Callable[[Json], Any]) -> Difference:
        record = json.loads(json.dumps(public))
        change(record)
        return found_in(_anew(record))

    silent = next(turn["number"] for turn in public["turns"] if turn["missing"])
    found = changed(lambda record: record["turns"][silent]["missing"].clear())
    assert (found.turn, found.what) == (silent, "missing")
    found = changed(lambda record: record["turns"][1]["missing"].append("Bob"))
    assert (found.turn, found.what) == (1, "missing")
    found = changed(lambda record: record["turns"][2].update(ran=NOW.isoformat()))
    assert (found.turn, found.place, found.what) == (2, "ran", "history")
    found = changed(lambda record: record["turns"][2].update(deadline="1999-01-01T00:00:00+00:00"))
    assert (found.turn, found.place) == (2, "deadline")
    told = ("begun", "run", "undone", "no orders", "over")
    for at, entry in enumerate(public["history"]):
        if entry["what"] not in told:
            continue
        record = json.loads(json.dumps(public))
        del record["history"][at]
        found = found_in(_anew(record))
        assert found.what in ("history", "turn", "missing", "match"), (entry, found)


def test_nobody_has_a_seat_before_he_comes_or_while_another_has_it(
    engine: Engine, house: Config
) -> None:
    whole, _ = _mended(engine, house, "hexem")
    at = [one["person"] for one in whole["players"]].index("Zoë")
    for who, key, value in (
        (at, "began", NOW.isoformat()),
        (at - 1, "ended", None),
        (at - 1, "ended", "1999-01-01T00:00:00+00:00"),
        (at, "from_turn", 99),
    ):
        record = json.loads(json.dumps(whole))
        record["players"][who][key] = value
        found = found_in(_anew(record))
        assert found.what == "player", (key, value, found)


def test_a_name_that_was_changed_is_found_by_the_files_digest(
    engine: Engine, house: Config
) -> None:
    _, public = _mended(engine, house, "alphabet")
    public["players"][0]["person"] = "Somebody"
    found = found_in(public)
    assert (found.turn, found.place, found.what) == (None, "sha256", "file")
    assert "changed after the file was written" in str(found)


@pytest.mark.parametrize("key", KEYS)
def test_an_order_that_was_taken_out_or_changed_beside_its_sheet_is_named_by_its_seat(
    key: str, engine: Engine, house: Config
) -> None:
    """Also in a turn that END ended, in which no order came to anything."""
    whole, _ = _mended(engine, house, key)
    last = whole["turns"][-1]
    assert games.is_ended(last["orders"][""])
    for turn in whole["turns"]:
        for seat in turn["orders"]:
            if seat in turn["missing"]:
                continue
            record = json.loads(json.dumps(whole))
            del record["turns"][turn["number"]]["orders"][seat]
            found = found_in(_anew(record))
            place = f"orders.{seat or 'gm'}"
            assert (found.turn, found.place, found.found) == (turn["number"], place, "nothing")


@pytest.mark.parametrize("key", KEYS)
def test_an_order_that_is_on_no_sheet_is_named_by_its_seat_though_it_comes_to_the_same(
    key: str, engine: Engine, house: Config
) -> None:
    live(engine, house, key, phases=3)
    pristine = recorded(engine)
    for number, turn in enumerate(pristine["turns"]):
        for seat in turn["orders"]:
            record = json.loads(exported.written(pristine))
            record["turns"][number]["orders"][seat] += "\nthis is chat"
            found = found_in(record)
            assert (found.turn, found.what) == (number, "order")
            assert found.place == f"orders.{seat or 'gm'}"
            assert (seat or "the game master") in found.why


def test_a_match_whose_last_turns_were_just_taken_back_lacks_none(
    engine: Engine, house: Config
) -> None:
    at = live(engine, house, "empires", phases=3, end=False)
    said(engine, "UNDO 2", at, "match1")
    record = recorded(engine)
    assert [turn["number"] for turn in record["turns"]] == [0, 1]
    assert verifying.first_difference(record) is None
    del record["turns"][1]
    assert found_in(record).turn == 1


def test_an_option_that_tells_who_saw_an_event_can_change_no_more_once_a_turn_went_by_it(
    engine: Engine,
) -> None:
    begin(engine, "empires", announce="claims")
    at = NOW + HOUR
    send_orders(engine, at)
    run_now(engine, at)
    why = refused(engine, "SET announce bids", at, "match1")
    assert why == "announce can't change any more: turn 1 went by it"
    assert verifying.first_difference(recorded(engine)) is None


def test_a_record_whose_seed_is_secret_can_not_be_verified() -> None:
    running = archive.published(record_of("hexem", 0, 2))
    with pytest.raises(ValueError, match="once the match is over"):
        verifying.first_difference(running)
    never = archive.published(record_of("hexem", 0, reveal="never"))
    with pytest.raises(ValueError, match="never are shown"):
        verifying.first_difference(never)


def test_orders_no_game_can_play_are_a_difference_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pbem.games import hexem

    monkeypatch.setattr(hexem, "adjudicate", lambda *_: 1 // 0)
    found = found_in(_copy("hexem"))
    assert (found.turn, found.what) == (1, "order")
    assert "ZeroDivisionError" in found.why


Command = Callable[..., Answer]


def _file(folder: Path, record: Json) -> str:
    path = folder / "match.json"
    path.write_text(exported.written(record), "utf-8")
    return str(path)


def test_verify_exits_0_and_says_what_to_compare_with_the_first_letter(
    pbem: Command, tmp_path: Path
) -> None:
    record = _copy("hexem")
    done = pbem("verify", _file(tmp_path, record))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("ok ")
    assert record["seed_sha256"] in done.out
    assert record["orders_sha256"] in done.out
    assert f"{record['turn']} turns" in done.out
    assert "no digest" not in done.out
    found = json.loads(pbem("verify", _file(tmp_path, record), "--json").out)
    assert found["orders_sha256"] == record["orders_sha256"]
    assert [f"   {one}" for one in found["rests_on"]] == done.out.splitlines()[1:]


def test_verify_says_what_it_could_not_compare(pbem: Command, tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps(record_of("hexem", 0)), "utf-8")
    assert "(it bears no digest of its own)" in pbem("verify", str(path)).out
    running = pbem("verify", _file(tmp_path, record_of("hexem", 0, 2))).out
    assert "before the match is over" in running


def test_the_letter_that_tells_how_it_ended_bears_the_digest_of_all_orders(
    pbem: Command, engine: Engine, house: Config
) -> None:
    live(engine, house, "empires", phases=3)
    office = Office()
    for minute in range(1, 4):
        outbox.flush(engine, house, office, NOW + timedelta(days=60, minutes=minute))
    digest = recorded(engine)["orders_sha256"].encode()
    assert len([raw for _, raw in office.sent if digest in raw]) == 3
    assert pbem("export", "match1", "--public", "--out", "match1.json").code == 0
    assert digest.decode() in pbem("verify", "match1.json").out


def test_verify_exits_1_and_names_the_first_thing_that_differs(
    pbem: Command, tmp_path: Path
) -> None:
    record = _copy("offices", 1)
    seat = record["seats"][0]
    record["turns"][1]["state"]["gold"][seat] += 5
    record["turns"][2]["state"]["gold"][seat] += 5
    record["program"] = "pbem 0.0.9"
    path = _file(tmp_path, record)
    done = pbem("verify", path)
    assert done.code == 1
    assert done.out.startswith(f"FAIL {path}: turn 1, state.gold.{seat}: ")
    assert "exported by 'pbem 0.0.9', replayed by pbem 0.1.0" in done.out
    found = json.loads(pbem("verify", path, "--json").out)
    assert (found["ok"], found["turns"], found["difference"]["turn"]) == (False, record["turn"], 1)
    assert found["difference"]["place"] == f"state.gold.{seat}"
    assert pbem("verify", path, "--json").code == 1


def test_verify_exits_2_for_what_can_not_be_replayed(pbem: Command, tmp_path: Path) -> None:
    running = _file(tmp_path, archive.published(record_of("hexem", 0, 2)))
    for file in (running, str(tmp_path / "none.json"), str(tmp_path), "pbem.toml"):
        done = pbem("verify", file)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("pbem: ")
        assert done.err.count("\n") == 1
