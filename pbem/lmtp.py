"""A server that takes mail over LMTP (RFC 2033): each recipient's reply comes after the commit.

An MTA on the same machine hands mail in, by TCP or by a socket in the file system. Connections are
served by one loop; messages that wait at the same time are committed together, in a thread.
"""

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session, syntax
from sqlalchemy import Engine

from pbem import identity, intake, post, systemd
from pbem.config import Config
from pbem.faults import Away, Wrong

log = logging.getLogger("pbem.lmtp")

# So many messages, and bytes, are committed at a time.
_BATCH = 50
_BATCH_BYTES = 8_000_000
# Beyond these a client is asked to come again, or to send the other recipients apart (RFC 5321,
# 4.5.3.1.8 wants a hundred to be taken).
_MOST_CONNECTIONS = 50
_MOST_RECIPIENTS = 100
# A message larger than this is held in memory only together with so few others of its kind.
_LARGE = 1_000_000
_LARGE_AT_ONCE = 4
# Seconds that messages in hand have, once the server is told to stop.
_LAST_MOMENTS = 30

_AWAY = {"event": "not taken in"}
_SAFE = "250 2.0.0 safe"
_NOT_NOW = "451 4.3.0 not stored, try again later"
_DOT = b".\r\n"
_CLOSING = "421 4.3.2 closing, try again later"


class Place(NamedTuple):
    """Where a server listens: at a socket in the file system, or else at a host and port."""

    host: str
    port: int
    socket: Path | None = None

    def __str__(self) -> str:
        return str(self.socket) if self.socket else f"{self.host}:{self.port}"


def is_ours(address: str, mailbox: str, also: Sequence[str]) -> bool:
    """Tell whether mail for an address is taken: for the mailbox, or for what is taken `also`.

    Case doesn't matter, nor a plus part; `@example.org` takes whatever is at that host.
    """
    if post.fault_of_address(address) or not address.isprintable():
        return False
    host = "@" + identity.folded(address).rpartition("@")[2]
    return identity.is_mailbox(address, mailbox) or any(
        host == identity.folded(one) if one.startswith("@") else identity.is_mailbox(address, one)
        for one in also
    )


def serve(
    engine: Engine,
    config: Config,
    place: Place,
    also: Sequence[str] = (),
    clock: datetime | None = None,
) -> None:
    """Take mail for ever; end on SIGTERM or SIGINT, the messages in hand stored and answered.

    `clock` is what to take for now at the start. Raise `Wrong` where it can't listen at that place.
    """
    # The library tells of every command.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)
    asyncio.run(_serve(engine, config, place, also, _watch(clock)))


def _watch(clock: datetime | None) -> Callable[[], datetime]:
    """Return a clock in whole seconds, begun at a time, or with the world's."""
    begun = datetime.now(UTC)

    def now() -> datetime:
        real = datetime.now(UTC)
        return (clock + (real - begun) if clock else real).replace(microsecond=0)

    return now


async def _serve(
    engine: Engine,
    config: Config,
    place: Place,
    also: Sequence[str],
    now: Callable[[], datetime],
) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    office = _Office(engine, config, also, now)
    worker = asyncio.create_task(office.work())
    server = await _listen(loop, place, lambda: _Connection(office, loop))
    bound = place
    if place.socket is None:
        bound = Place(*server.sockets[0].getsockname()[:2])
        if not bound.host.startswith(("127.", "::1")):
            log.warning("whoever reaches %s can hand mail in; LMTP asks for no password", bound)
    addresses = ", ".join((config.mail.address, *also))
    log.info("takes mail for %s over LMTP at %s", addresses, bound, extra={"event": "started"})
    systemd.notify("READY=1")
    await stop.wait()
    systemd.notify("STOPPING=1")
    server.close()
    if place.socket:
        place.socket.unlink(missing_ok=True)
    await office.close()
    worker.cancel()
    log.info("LMTP server stopped", extra={"event": "stopped"})


async def _listen(
    loop: asyncio.AbstractEventLoop, place: Place, connection: Callable[[], "_Connection"]
) -> asyncio.Server:
    try:
        if place.socket is None:
            return await loop.create_server(connection, place.host, place.port)
        _take_away(place.socket)
        server = await loop.create_unix_server(connection, str(place.socket))
        # An MTA has a user of its own; who may come here is for the folder to say.
        place.socket.chmod(0o666)
        return server
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "another server is there" if taken else error.strerror or str(error)
        remedy = "stop that" if taken else "name another place"
        raise Wrong(f"LMTP can't listen at {place}: {why}; {remedy}") from None


def _take_away(path: Path) -> None:
    """Remove a socket that nobody listens at any more; raise `Wrong` for a file of another kind."""
    if not path.exists():
        return
    if not path.is_socket():
        raise Wrong(f"{path}: there is a file that is no socket; name another --socket")
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise OSError(errno.EADDRINUSE, "")


@dataclass(frozen=True, slots=True)
class _Waiting:
    """One message for its recipients, and who is to be told whether it is safe."""

    parcels: Sequence[intake.Parcel]
    safe: "asyncio.Future[bool]"

    @property
    def weight(self) -> int:
        return sum(len(parcel.raw) for parcel in self.parcels)


class _Office:
    """What all connections share: whose mail is taken, and the thread that stores it."""

    def __init__(
        self,
        engine: Engine,
        config: Config,
        also: Sequence[str],
        now: Callable[[], datetime],
    ) -> None:
        self.config = config
        self.now = now
        self.connections: set[_Connection] = set()
        self.is_closing = False
        self.large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._engine = engine
        self._also = also
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()

    async def handle_EHLO(
        self, _: SMTP, session: Session, __: Envelope, hostname: str, replies: list[str]
    ) -> list[str]:
        """Greet; commands may come before their replies are read (RFC 2920)."""
        session.host_name = hostname
        return [*replies[:-1], "250-PIPELINING", replies[-1]]

    async def handle_RCPT(
        self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take a recipient that is ours: then it is told apart whether its copy is safe."""
        if not is_ours(address, self.config.mail.address, self._also):
            return "550 5.1.1 nobody here has that address"
        if len(envelope.rcpt_tos) >= _MOST_RECIPIENTS:
            return "452 4.5.3 too many recipients"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 OK"

    async def handle_exception(self, error: Exception) -> str:
        """Answer a command that our code failed on, and keep to ourselves why."""
        log.error("LMTP: %s: %s", type(error).__name__, error)
        return _NOT_NOW

    async def is_safe(self, parcels: Sequence[intake.Parcel]) -> bool:
        """Have a message stored for each of its recipients; tell after the commit whether it is."""
        waiting = _Waiting(parcels, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(waiting)
        return await waiting.safe

    async def work(self) -> None:
        """Store what waits, all of it together that is there by then, for ever."""
        first = await self._queue.get()
        while True:
            batch, weight, following = [first], first.weight, None
            while not self._queue.empty() and len(batch) < _BATCH:
                following = self._queue.get_nowait()
                weight += following.weight
                if weight > _BATCH_BYTES:
                    break
                batch.append(following)
                following = None
            safe = await asyncio.to_thread(self._stored, [one.parcels for one in batch])
            for waiting, is_safe in zip(batch, safe, strict=True):
                # Who has hung up is told nothing, and hands the message in again.
                if not waiting.safe.done():
                    waiting.safe.set_result(is_safe)
            first = following or await self._queue.get()

    def _stored(self, messages: Sequence[Sequence[intake.Parcel]]) -> list[bool]:
        """Take messages in, in one transaction; one by one where that fails for one of them."""
        parcels = [parcel for message in messages for parcel in message]
        try:
            for taken in intake.take_in(self._engine, self.config, parcels, self.now()):
                extra = {"event": "taken in", "status": taken.status}
                why = taken.why and f": {_last_line(taken.why)}"
                log.info("LMTP: %s%s", taken.status, why, extra=extra)
        except Away as error:
            log.warning("LMTP: not taken in, to be tried again: %s", error, extra=_AWAY)
            return [False] * len(messages)
        # An MTA bounces a mail on any reply but a temporary one, whatever went wrong here.
        except Exception as error:
            if len(messages) > 1:
                return [self._stored([message])[0] for message in messages]
            fault = f"{type(error).__name__}: {error}"
            log.error("LMTP: not taken in, to be tried again: %s", fault, extra=_AWAY)
            return [False]
        return [True] * len(messages)

    async def close(self) -> None:
        """Let all connections end, those with a message in hand after its reply."""
        self.is_closing = True
        for connection in self.connections.copy():
            connection.end()
        ended = [connection.ended for connection in self.connections]
        if ended:
            await asyncio.wait(ended, timeout=_LAST_MOMENTS)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


class _Connection(LMTP):
    """One client's connection; a message in hand is read within bounds, then stored."""

    # Twice as much is read ahead; a command that long is refused all the same.
    line_length_limit = 65_536

    def __init__(self, office: _Office, loop: asyncio.AbstractEventLoop) -> None:
        host = office.config.mail.host
        super().__init__(
            # Without a limit of the library's none is announced, and too large a message is
            # answered by us instead of being bounced by the MTA.
            office, data_size_limit=None, enable_SMTPUTF8=True, hostname=host, ident="LMTP pbem",
            loop=loop,
        )  # fmt: skip
        self.ended: asyncio.Future[None] = loop.create_future()
        self._office = office
        self._has_message = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many already."""
        super().connection_made(transport)
        self._office.connections.add(self)
        if len(self._office.connections) > _MOST_CONNECTIONS:
            self.end()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection; a message that it had not sent to its end is forgotten with it."""
        self._office.connections.discard(self)
        if not self.ended.done():
            self.ended.set_result(None)
        super().connection_lost(error)

    def end(self) -> None:
        """Say good-bye, after the message in hand if there is one."""
        if not self._has_message and isinstance(self.transport, asyncio.WriteTransport):
            self.transport.write(f"{_CLOSING}\r\n".encode())
            self.transport.close()

    @syntax("DATA")
    async def smtp_DATA(self, arg: str) -> None:
        """Take a message; answer for each recipient, in their order (RFC 2033, 4.2)."""
        envelope = self.envelope
        if arg or envelope is None:
            await self.push("501 5.5.4 Syntax: DATA")
            return
        if not envelope.rcpt_tos:
            await self.push("503 5.5.1 there is no recipient")
            return
        self._has_message = True
        try:
            await self.push("354 go on, to a line with a dot alone")
            async with AsyncExitStack() as held:
                raw, size = await self._message(_return_path(envelope), held)
                received = self._office.now()
                safe = await self._office.is_safe(
                    [
                        intake.Parcel(raw, received, "lmtp", recipient=recipient, size=size)
                        for recipient in envelope.rcpt_tos
                    ]
                )
            self.envelope = self._create_envelope()
            reply = _SAFE if safe else _NOT_NOW
            await self.push("\r\n".join([reply] * len(envelope.rcpt_tos)))
        finally:
            self._has_message = False
        if self._office.is_closing:
            self.end()

    async def _message(self, begun: bytes, held: AsyncExitStack) -> tuple[bytes, int]:
        """Read a message to its final dot; return it, or of one too large its head and its size.

        It begins with what was added to it. Only a dot between two CRLF ends it; any other line end
        is part of it, so that nobody can hide a second message in a first.
        """
        limit = self._office.config.mail.size_limit - len(begun)
        most = limit
        message = bytearray()
        size, last, is_large = -len(_DOT), b"\r\n", False
        while not last.endswith(b"\r\n" + _DOT):
            try:
                piece = await self._reader.readuntil(_DOT)
            except asyncio.LimitOverrunError as error:
                piece = await self._reader.readexactly(error.consumed)
            self._reset_timeout()
            last = (last + piece)[-5:]
            size += len(piece)
            message += piece
            if size > limit:
                most = min(post.HEAD, limit)
                del message[most:]
            if size > _LARGE and not is_large:
                is_large = True
                await held.enter_async_context(self._office.large)
        text = bytes(message[: min(size, most)]).replace(b"\r\n.", b"\r\n")
        raw = begun + (text[1:] if text.startswith(b".") else text)
        return raw, size if size > limit else len(raw)


def _return_path(envelope: Envelope) -> bytes:
    """Return the field that who delivers a mail puts before it (RFC 5321, 4.4).

    Empty it says that the mail is a bounce, and so it is only where the sender is.
    """
    address = post.plain(envelope.mail_from or "").strip("<>")
    return f"Return-Path: <{address}>\r\n".encode(errors="replace")
