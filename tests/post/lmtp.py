"""An LMTP server in the test's own process, and a client that talks to it in another thread."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from pbem import lmtp, store
from pbem.config import Config
from pbem.store import Message
from tests.conftest import NOW
from tests.post.servers import PATIENCE, Talk

GAME = "game@example.org"


class Client(Talk):
    """A client that says commands and tells what is answered."""

    def ask(self, *commands: str | bytes) -> list[bytes]:
        """Say some commands at once; return a reply (its last line) for each."""
        self.say(*(one.encode() if isinstance(one, str) else one for one in commands))
        return [self.reply() for _ in commands]

    def reply(self) -> bytes:
        """Return the last line of the next reply."""
        while (line := self.hear())[3:4] == b"-":
            pass
        return line

    def hand_in(self, raw: bytes, *recipients: str) -> list[bytes]:
        """Hand in a message; return what is said of each recipient."""
        envelope = [f"RCPT TO:<{one}>" for one in recipients or (GAME,)]
        said = self.ask("MAIL FROM:<ann@example.org>", *envelope, "DATA")
        assert [one[:3] for one in said] == [*[b"250"] * (len(envelope) + 1), b"354"]
        self.raw(raw.replace(b"\n", b"\r\n") + b".\r\n")
        return [self.reply() for _ in envelope]


Scenario = Callable[[Callable[[], Client]], Any]
Serve = Callable[..., Any]


# Whether the server is told to stop. A second signal could come when nobody heeds it any more, and
# end the tests.
_told = threading.Event()


def tell_to_stop() -> None:
    """Tell the server that runs in this process to stop, once."""
    if not _told.is_set():
        _told.set()
        os.kill(os.getpid(), signal.SIGTERM)


def server(engine: Engine, house: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Return what runs the server here while a scenario talks to it in another thread.

    The scenario is begun once systemd is told that the server is ready, and ended by SIGTERM; what
    it returns is returned, and what it raises is raised.
    """

    def run(
        scenario: Scenario,
        *,
        config: Config = house,
        place: lmtp.Place | None = None,
        also: Any = (),
    ) -> Any:
        where = place or lmtp.Place("", 0, tmp_path / "lmtp")
        notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notices.bind(str(tmp_path / "notices"))
        notices.settimeout(PATIENCE)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notices"))
        came: dict[str, Any] = {}
        _told.clear()

        def talk() -> None:
            clients: list[Client] = []

            def client() -> Client:
                if where.socket:
                    line = socket.socket(socket.AF_UNIX)
                    line.settimeout(PATIENCE)
                    line.connect(str(where.socket))
                else:
                    line = socket.create_connection(where[:2], PATIENCE)
                clients.append(Client(line))
                assert clients[-1].reply().startswith(b"220 ")
                return clients[-1]

            try:
                assert notices.recv(100) == b"READY=1"
                came["value"] = scenario(client)
            except BaseException as error:
                came["error"] = error
            finally:
                tell_to_stop()
                for one in clients:
                    one.close()

        thread = threading.Thread(target=talk)
        with closing(notices):
            thread.start()
            lmtp.serve(engine, config, where, also, NOW)
            thread.join(PATIENCE)
            assert notices.recv(100) == b"STOPPING=1"
        (tmp_path / "notices").unlink()
        if "error" in came:
            raise came["error"]
        return came.get("value")

    return run


def greeted(connect: Callable[[], Client]) -> Client:
    """Connect, and greet."""
    client = connect()
    assert client.ask("LHLO mx.example.org") == [b"250 HELP"]
    return client


def rows(engine: Engine) -> list[Message]:
    """Return the mails that are stored, all of each loaded."""
    with store.reading(engine) as session:
        found = list(session.scalars(select(Message).order_by(Message.id)))
        assert all(one.raw is not None for one in found)
        return found
