"""The archive's parts of all games: of turns that were taken back, and where their links lead."""

import re
from typing import Any

import pytest

from pbem import game as games
from pbem.archive import published
from tests.archive import played
from tests.games import matches, scripted

EVERY = [
    (key, way)
    for key in games.installed()
    if games.optional(games.named(key), "chapter")
    for way in range(1 + len(matches.WAYS.get(key, ())))
]


def taken_back(key: str, way: int, number: int) -> dict[str, Any]:
    """Return a record whose last turn is one that was taken back: run with other dice and orders.

    The match went on otherwise, and its other facts are those of its end.
    """
    record = played.record(key, way)
    table, steps = matches.match(key, way)
    step = steps[number - 1]
    # Each player's orders are his neighbour's.
    texts = {
        seat: step.texts.get(table.seats[(at + 1) % len(table.seats)], "")
        for at, seat in enumerate(table.seats)
    } | {None: step.texts.get(None, "")}
    done = games.play(table.game, step.state, texts, "other dice", number)
    turn = {
        **record["turns"][number],
        "state": table.game.dump(done.state),
        "events": [games.event_json(event) for event in done.events],
        "orders": {seat or "": text for seat, text in texts.items() if text},
        "problems": {
            seat: [list(one) for one in of] for seat, of in done.problems.items() if seat and of
        },
        "missing": [],
    }
    return {**record, "turns": [*record["turns"][:number], turn]}


@pytest.mark.parametrize(("key", "way"), EVERY)
def test_a_turn_that_was_taken_back_has_a_chapter_of_what_it_did(key: str, way: int) -> None:
    last = played.record(key, way)["turn"]
    differing = 0
    for number in {1, min(2, last), last // 2 + 1, last}:
        record = taken_back(key, way, number)
        pages = scripted.pages(record)
        assert scripted.untold(record, number) == []
        differing += (
            pages[f"turn-{number}"]
            != scripted.pages(played.record(key, way, number))[f"turn-{number}"]
        )
    assert differing


@pytest.mark.parametrize("status", ["running", "sealed", "over"])
@pytest.mark.parametrize(("key", "way"), EVERY)
def test_links_from_the_match_to_its_turns_lead_somewhere(key: str, way: int, status: str) -> None:
    record = played.record(key, way, 5 if status == "running" else None)
    if status == "sealed":
        record["settings"] = {**record["settings"], "reveal": "never"}
    pages = scripted.pages(published(record))
    found = set()
    for name, page in pages.items():
        links = re.findall(r'href="(?:(turn-\d+)\.html)?#([^"]+)"', page)
        found |= {(to or name, place) for to, place in links}
    assert key == "hexem" or found
    for to, place in found:
        assert f'id="{place}"' in pages[to], (to, place)
