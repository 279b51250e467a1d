"""The pictures of every installed game: laid out of pieces, and like what is drawn whole."""

from collections.abc import Iterator

from pbem.reports.letters import fragment
from tests.games import matches
from tests.games.test_contract import EVERY_GAME
from tests.games.test_letters import facts_of
from tests.reports.test_picture_pieces import laid, unlike, whole


def pictures(key: str) -> Iterator[str]:
    """Yield what the public is shown of some turns of a match: its first, its last and between."""
    table, turns = matches.match(key, seats=6)
    for turn in (turns[0], turns[len(turns) // 2], turns[-1]):
        facts = facts_of(table, turn.number, turn.played.state, turn.played.events, None)
        yield fragment("picture.svg", facts)


@EVERY_GAME
def test_pictures_of_games_are_laid_and_look_the_same_as_drawn_whole(key: str) -> None:
    found = [svg for svg in pictures(key) if svg]
    assert found
    for svg in found:
        # What is written may stand half a pixel aside.
        assert unlike(laid(svg), whole(svg)) < 0.025
