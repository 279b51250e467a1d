"""One mail that comes by several ways, or to several recipients, is carried out once for a seat."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Engine, select

from pbem import intake, store
from pbem.config import Config
from pbem.store import Message
from tests.conftest import NOW, begin, mail
from tests.flow.rig import letters
from tests.flow.test_intake_whose import reply_to, sheets

AT = NOW + timedelta(hours=1)
PRESS = "BID x 2\nPRESS TO ALL\nhi\nEND PRESS"


def came(engine: Engine, house: Config, raw: bytes, *recipients: str) -> list[str]:
    """Take a mail in for each recipient, one after the other; return what each became."""
    return [
        intake.take_in(engine, house, [intake.Parcel(raw, AT, "pipe", recipient=to)], AT)[0].status
        for to in recipients
    ]


def statuses(engine: Engine) -> Sequence[str]:
    """What all messages have become."""
    with store.reading(engine) as session:
        return session.scalars(select(Message.status).order_by(Message.id)).all()


@pytest.mark.parametrize("plain", ["game@example.org", ""])
@pytest.mark.parametrize("tagged_first", [True, False])
def test_a_mail_to_the_token_s_address_with_a_copy_to_the_plain_one_counts_once(
    engine: Engine, house: Config, plain: str, tagged_first: bool
) -> None:
    begin(engine)
    to = reply_to(engine)
    raw = mail(PRESS, to=to, Cc="game@example.org")
    both = (to, plain) if tagged_first else (plain, to)
    assert came(engine, house, raw, *both) == ["filed", "ignored"]
    assert sheets(engine) == ["BID x 2"]
    assert [one.kind for one in letters(engine)].count("press") == 1
    assert [one.kind for one in letters(engine)].count("receipt") == 1


def test_two_copies_taken_in_together_count_once(engine: Engine, house: Config) -> None:
    begin(engine)
    to = reply_to(engine)
    raw = mail(PRESS, to=to, Cc="game@example.org")
    parcels = [
        intake.Parcel(raw, AT, "lmtp", recipient=recipient)
        for recipient in (to, "game@example.org")
    ]
    taken = intake.take_in(engine, house, parcels, AT)
    assert [one.status for one in taken] == ["filed", "ignored"]
    assert [one.kind for one in letters(engine)].count("press") == 1


def test_a_copy_that_shows_the_token_counts_though_one_without_it_was_held(
    engine: Engine, house: Config
) -> None:
    begin(engine, trust="token")
    # Only the envelope tells the copies apart.
    assert came(engine, house, mail(PRESS), "game@example.org") == ["held"]
    assert came(engine, house, mail(PRESS), reply_to(engine)) == ["filed"]
    # The other is set aside: a YES to the question about it must not do it all again.
    assert statuses(engine) == ["ignored", "filed"]


def test_a_copy_without_the_token_asks_nothing_of_who_has_shown_it(
    engine: Engine, house: Config
) -> None:
    begin(engine, trust="token")
    both = (reply_to(engine), "game@example.org")
    assert came(engine, house, mail(PRESS), *both) == ["filed", "ignored"]
    assert "confirm" not in {one.kind for one in letters(engine)}


def test_the_game_master_s_orders_are_carried_out_once(engine: Engine, house: Config) -> None:
    begin(engine)
    to = reply_to(engine, None)
    raw = mail("EXTEND 2d", sender="gia@example.org", to=to, Cc="game@example.org")
    assert came(engine, house, raw, to, "game@example.org") == ["gm", "ignored"]


def test_fact_077_one_mail_to_two_matches_counts_for_each(engine: Engine, house: Config) -> None:
    begin(engine)
    begin(engine, "hexem2")
    first, second = reply_to(engine), reply_to(engine, match="hexem2")
    raw = mail("BID x 2", subject="my orders")
    assert came(engine, house, raw, first, second) == ["filed", "filed"]
    assert sheets(engine) == ["BID x 2", "BID x 2"]
