"""The LMTP server killed at any moment: what was answered 250 is safe, the rest comes again."""

import os
import select
import signal
import smtplib
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import pytest

from pbem import lmtp
from pbem.config import Config
from tests.faults import crashes, world

PATIENCE = 20
FOLDERS = world.Folders()


@contextmanager
def listening(house: Config, now: datetime, point: int | None, log: Path) -> Iterator[Path]:
    """Run a house's LMTP server, dying at a point, and yield the socket where it can be met.

    Where it dies before it listens there is no socket at that path.
    """
    place = house.folder / "lmtp"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(house.folder / "notify"))
        told.settimeout(PATIENCE)

        def work() -> None:
            os.environ["NOTIFY_SOCKET"] = str(house.folder / "notify")
            # A slow machine must not tell by the second that it is one.
            lmtp._watch = lambda _: lambda: now
            with world.using(house) as engine:
                lmtp.serve(engine, house, lmtp.Place("", 0, place), clock=now)

        child = crashes.start(work, log, crashes.dying(point))
        watched = os.pidfd_open(child)
        try:
            ready, _, _ = select.select([told, watched], [], [], PATIENCE)
            assert ready, "the server neither begins nor ends"
            yield place
        finally:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched, signal.SIGTERM)
            code = crashes.ended(child)
            os.close(watched)
            (house.folder / "notify").unlink()
    assert code in (crashes.DONE, -signal.SIGKILL), log.read_text("utf-8")


def hand_over(place: Path, raw: bytes) -> bool:
    """Hand a mail over as an MTA does; tell whether it was answered that it is safe."""
    try:
        with smtplib.LMTP(str(place)) as client:
            client.sock.settimeout(PATIENCE)
            return not client.sendmail("ann@example.org", ["game@example.org"], raw)
    except (OSError, smtplib.SMTPException):
        return False


@pytest.fixture
def house(tmp_path: Path) -> Config:
    return FOLDERS.build(tmp_path / "house")


def test_a_mail_is_answered_250_when_it_is_safe_and_comes_again_until_then(
    house: Config, tmp_path: Path
) -> None:
    _, step, *_ = world.story(world.gm_address(house))
    undisturbed = FOLDERS.copy(house, tmp_path / "undisturbed")
    raws = [raw for raw, _ in step.mails]
    with listening(undisturbed, step.now, None, tmp_path / "log") as place:
        assert all(hand_over(place, raw) for raw in raws)
    waiting, answered, point, deaths = list(raws), [], 0, 0
    while waiting:
        # Each server dies a little later than the one before, if it isn't told to end before that.
        point += crashes.STRIDE
        with listening(house, step.now, point, tmp_path / "log") as place:
            safe = hand_over(place, waiting[0])
        if safe:
            answered.append(waiting.pop(0))
        else:
            deaths += 1
        stored = world.stored(house)
        assert all(any(raw in one for one in stored) for raw in answered), point
        if safe:
            point = 0
    assert deaths > len(raws)
    for one in (house, undisturbed):
        crashes.completed(world.tick(one, step.now), tmp_path / "log")
    found, wanted = world.account(house), world.account(undisturbed)
    assert found == wanted
