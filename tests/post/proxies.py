"""A proxy between the program and a server, that cuts the line, trickles, or says nothing more."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.post.servers import PATIENCE


@dataclass
class Proxy:
    """What goes through, and when the line is cut, once.

    After so many commands, on their way (`reply_lost`: their reply, on its way back); or after so
    many bytes of replies. Replies go in pieces of so many bytes. Then, if it `stays_away`, whoever
    comes is turned away. After `deaf_after` bytes of replies it passes on nothing any more, and
    hangs up on nobody.
    """

    server: int
    port: int = 0
    after_commands: int | None = None
    reply_lost: bool = False
    after_bytes: int | None = None
    stays_away: bool = False
    piece: int = 65_536
    was_cut: bool = False
    connections: int = 0
    commands: int = 0
    replied: int = 0
    deaf_after: int | None = None
    is_deaf: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    open: list[socket.socket] = field(default_factory=list)

    def hang_up(self) -> None:
        """Break all connections."""
        self._hang_up(*self.open)

    def serve(self, listener: socket.socket) -> None:
        """Serve connections until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self.connections += 1
                if self.was_cut and self.stays_away:
                    client.close()
                    continue
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.server)) as server:
            self.open = [client, server]
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=self._replies, args=(client, server), daemon=True)
            back.start()
            self._commands(client, server)
            back.join(PATIENCE)

    def _commands(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as lines:
            for line in lines:
                self.commands += 1
                is_last = self.commands == self.after_commands and not self.was_cut
                if is_last and not self.reply_lost:
                    break
                if is_last:
                    self.was_cut = True
                    self._hang_up(client)
                server.sendall(line)
        if self.commands == self.after_commands:
            self.was_cut = True
        self._hang_up(client, server)

    def _replies(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while said := server.recv(65_536):
                for start in range(0, len(said), self.piece):
                    part = said[start : start + self.piece]
                    if self.deaf_after is not None and self.replied >= self.deaf_after:
                        self.is_deaf.set()
                        self.closing.wait(PATIENCE * 3)
                        break
                    left = None if self.after_bytes is None else self.after_bytes - self.replied
                    if left is not None and not self.was_cut and left <= len(part):
                        self.was_cut = True
                        client.sendall(part[:left])
                        self._hang_up(client, server)
                    client.sendall(part)
                    self.replied += len(part)
        self._hang_up(client, server)

    def _hang_up(self, *connections: socket.socket) -> None:
        for one in connections:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(server: int, **settings: int | bool | None) -> Iterator[Proxy]:
    """Run a proxy before a server's port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = Proxy(server, listener.getsockname()[1], **settings)  # type: ignore[arg-type]
        thread = threading.Thread(target=running.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield running
        finally:
            running.closing.set()
            # Closing alone would leave the thread in its call.
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)
