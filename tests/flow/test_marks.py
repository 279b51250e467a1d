"""What came of each letter is marked, and is safe, before the next one is handed to a server."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from pbem import outbox, store
from pbem.config import Config
from pbem.post import Accepted, Later, Refused, Sent, Unsure
from pbem.store import Letter
from tests.conftest import NOW, begin
from tests.flow.rig import Office


@pytest.fixture
def database(both: str) -> str:
    """The URL of a fresh database, of either kind."""
    return both


class Watched(Office):
    """A way out that answers as told, and looks at each letter how those before are marked."""

    def __init__(self, engine: Engine, *answers: Sent) -> None:
        super().__init__()
        self.answers = list(answers)
        self.seen: list[list[str]] = []
        self._engine = engine

    def send(self, envelope_from: str, recipient: str, raw: bytes) -> Sent:  # type: ignore[override]
        """Take a letter, or don't."""
        super().send(envelope_from, recipient, raw)
        with store.reading(self._engine) as session:
            found = session.scalars(select(Letter).order_by(Letter.id))
            self.seen.append([one.status if one.tries else "" for one in found])
        return self.answers.pop(0)


def test_each_letter_is_marked_before_the_next_is_handed_over(
    engine: Engine, house: Config
) -> None:
    begin(engine, "one")
    begin(engine, "two")
    refused = Refused("550 no", "sender")
    office = Watched(
        engine, Accepted("250"), Later("451"), refused, Accepted("250"), Accepted("250")
    )
    assert outbox.flush(engine, house, office, NOW).sent == 3
    marks = ["sent", "queued", "failed", "sent"]
    # The game master is told of the one that was refused.
    told = [0, 0, 0, 1, 1]
    assert office.seen == [
        [*marks[:count], *[""] * (4 - count + more)] for count, more in enumerate(told)
    ]


def test_what_came_of_a_letter_is_kept(engine: Engine, house: Config) -> None:
    begin(engine, "one")
    office = Watched(engine, Unsure("lost"), Accepted("250"))
    outbox.flush(engine, house, office, NOW)
    with store.reading(engine) as session:
        lost, sent = session.scalars(select(Letter).order_by(Letter.id))
    assert (lost.status, lost.tries, lost.facts["unsure"], lost.sent) == ("queued", 1, 1, None)
    assert lost.why == "lost (it may have arrived; try 1 of 3)"
    assert lost.due == NOW + timedelta(minutes=1)
    assert (sent.status, sent.tries, sent.why, sent.sent) == ("sent", 1, "", NOW)
    assert "unsure" not in sent.facts
