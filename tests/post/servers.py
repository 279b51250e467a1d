"""Mail servers for the tests: a real Dovecot, a real SMTP server, and one that does as scripted."""

import asyncio
import grp
import os
import pwd
import queue
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

PATIENCE = 20


def server_context(authority: trustme.CA, name: str = "127.0.0.1") -> ssl.SSLContext:
    """Return a server's side of TLS, with a certificate for that name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


class Talk:
    """One connection of a scripted server: it says lines and waits for lines.

    `able` is what an IMAP server says it can do.
    """

    able = b"IMAP4rev1 MOVE"

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")

    def say(self, *lines: bytes) -> None:
        self._connection.sendall(b"".join(line + b"\r\n" for line in lines))

    def raw(self, text: bytes) -> None:
        self._connection.sendall(text)

    def hear(self, beginning: bytes = b"") -> bytes:
        """Return the next line; it has to begin so."""
        line = self._lines.readline().rstrip(b"\r\n")
        assert line.upper().startswith(beginning.upper()), (line, beginning)
        return line

    def hear_until(self, last: bytes) -> list[bytes]:
        heard = []
        while (line := self.hear()) != last:
            heard.append(line)
        return heard

    def secure(self, context: ssl.SSLContext) -> None:
        """Go over to TLS; raise `SSLError` where the client refuses it."""
        self._lines.close()
        self._connection = context.wrap_socket(self._connection, server_side=True)
        self._lines = self._connection.makefile("rb")

    def close(self) -> None:
        self._lines.close()
        self._connection.close()


@contextmanager
def scripted(
    *scripts: Callable[[Talk], None], context: ssl.SSLContext | None = None, able: bytes = b""
) -> Iterator[int]:
    """Serve one connection for each script, one after the other, and yield the port.

    With a `context` in TLS from the first byte. What a script finds wrong fails the test, as does a
    connection that never came.
    """
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def serve(listener: socket.socket) -> None:
        try:
            for script in scripts:
                connection, _ = listener.accept()
                connection.settimeout(PATIENCE)
                if context:
                    connection = context.wrap_socket(connection, server_side=True)
                talk = Talk(connection)
                talk.able = able or talk.able
                try:
                    script(talk)
                finally:
                    talk.close()
            ended.put(None)
        except BaseException as error:
            # Whoever still waits for an answer is told at once that there will be none.
            listener.close()
            ended.put(error)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            error = ended.get(timeout=PATIENCE * 2)
            thread.join(PATIENCE)
            if error:
                raise error


class Letter(NamedTuple):
    """A letter as the SMTP server took it."""

    sender: str
    recipients: tuple[str, ...]
    options: tuple[str, ...]
    raw: bytes
    logged_in: bool


@dataclass
class Post:
    """What the SMTP server took, and what it is to answer next to a command instead of OK."""

    port: int = 0
    letters: list[Letter] = field(default_factory=list)
    answers: dict[str, list[str]] = field(default_factory=dict)
    connections: int = 0

    def _answer(self, command: str) -> str | None:
        return self.answers[command].pop(0) if self.answers.get(command) else None

    async def handle_MAIL(
        self, _: SMTP, __: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self._answer("MAIL")
        if answer is None:
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return answer or "250 OK"

    async def handle_RCPT(
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        answer = self._answer("RCPT")
        if answer is None:
            envelope.rcpt_tos.append(address)
        return answer or "250 OK"

    async def handle_DATA(self, _: SMTP, session: Session, envelope: Envelope) -> str:
        answer = self._answer("DATA")
        if answer is None:
            assert isinstance(envelope.original_content, bytes)
            recipients, options = tuple(envelope.rcpt_tos), tuple(envelope.mail_options)
            sender = envelope.mail_from or ""
            raw, logged_in = envelope.original_content, bool(session.authenticated)
            self.letters.append(Letter(sender, recipients, options, raw, logged_in))
        return answer or "250 taken as number 7"


def log_in(_: SMTP, __: Session, ___: Envelope, ____: str, data: LoginPassword) -> AuthResult:
    """Let in whoever has the password `secret`."""
    return AuthResult(success=data.password == b"secret", handled=False)


@contextmanager
def smtp_server(*, implicit: ssl.SSLContext | None = None, **settings: Any) -> Iterator[Post]:
    """Run an SMTP server in a thread; `implicit` wraps it in TLS from the first byte."""
    post = Post()
    loop = asyncio.new_event_loop()

    def connected() -> SMTP:
        post.connections += 1
        return SMTP(post, loop=loop, hostname="mail.example.org", **settings)

    # The loop runs in a thread from the first: a browser's loop may be running in this one.
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listening = loop.create_server(connected, "127.0.0.1", 0, ssl=implicit)
    server = asyncio.run_coroutine_threadsafe(listening, loop).result(PATIENCE)
    post.port = server.sockets[0].getsockname()[1]

    async def stop() -> None:
        server.close()
        for task in asyncio.all_tasks(loop) - {asyncio.current_task(loop)}:
            task.cancel()
        await asyncio.gather(
            *asyncio.all_tasks(loop) - {asyncio.current_task(loop)}, return_exceptions=True
        )

    try:
        yield post
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)
        loop.close()


class Dovecot(NamedTuple):
    """A running Dovecot: anybody logs in with the password `secret` and has a mailbox of his own.

    The user `plain` finds a server without MOVE and UIDPLUS, `uidplus` and `uidplus-cut` without
    MOVE, `mute` without IDLE; `guest` may only read; the password of `umlaut` is `pässwörd`.
    """

    port: int
    tls_port: int
    homes: Path


_DOVECOT = """
base_dir = {folder}/run
state_dir = {folder}/run
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.key
disable_plaintext_auth = no
auth_failure_delay = 0
mail_location = maildir:~/Maildir
first_valid_uid = 1
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
passdb {{
  driver = passwd-file
  args = {folder}/passwords
}}
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = passwd-file
  args = {folder}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home/%u
}}
"""


def free_ports() -> tuple[int, int]:
    """Return two ports that nobody listens at just now."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


@contextmanager
def dovecot_server(program: str, authority: trustme.CA) -> Iterator[Dovecot]:
    """Run a real Dovecot as an ordinary process on this machine alone."""
    # Paths of sockets have to be short.
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
    folder.chmod(0o755)
    (folder / "home").mkdir()
    uid, gid, own = os.getuid(), os.getgid(), ""
    if uid == 0:
        nobody = pwd.getpwnam("nobody")
        uid, gid = nobody.pw_uid, nobody.pw_gid
        os.chown(folder / "home", uid, gid)
    else:
        user = pwd.getpwuid(uid).pw_name
        own = f"default_internal_user = {user}\ndefault_login_user = {user}\n"
        own += f"default_internal_group = {grp.getgrgid(gid).gr_name}\n"
    certificate = authority.issue_cert("127.0.0.1")
    (folder / "server.pem").write_bytes(certificate.cert_chain_pems[0].bytes())
    (folder / "server.key").write_bytes(certificate.private_key_pem.bytes())
    (folder / "passwords").write_text("umlaut:{PLAIN}pässwörd\n", "utf-8")
    (folder / "acl").write_text("* owner lr\n")
    special = {
        "plain": "userdb_imap_capability=IMAP4rev1",
        "uidplus": "userdb_imap_capability=UIDPLUS",
        "uidplus-cut": "userdb_imap_capability=UIDPLUS",
        "mute": "userdb_imap_capability=IMAP4rev1 MOVE",
        "guest": f"userdb_mail_plugins=acl userdb_acl=vfile:{folder}/acl",
    }
    (folder / "users").write_text(
        "".join(
            f"{name}::{uid}:{gid}::{folder}/home/{name}::{fields}\n"
            for name, fields in special.items()
        )
    )
    process, port, tls_port = _started(program, folder, own, uid, gid)
    # Whatever it says later must not fill the pipe.
    drain = threading.Thread(target=process.communicate, daemon=True)
    drain.start()
    try:
        yield Dovecot(port, tls_port, folder / "home")
    finally:
        process.terminate()
        drain.join(PATIENCE)
        shutil.rmtree(folder)


def _started(
    program: str, folder: Path, own: str, uid: int, gid: int
) -> tuple["subprocess.Popen[str]", int, int]:
    """Start Dovecot; try other ports where another program was quicker to take these."""
    said: list[str] = []
    for _ in range(5):
        port, tls_port = free_ports()
        settings = {"folder": folder, "port": port, "tls_port": tls_port, "uid": uid, "gid": gid}
        (folder / "conf").write_text(own + _DOVECOT.format(**settings))
        process = subprocess.Popen(
            [program, "-F", "-c", str(folder / "conf")], stderr=subprocess.PIPE, text=True
        )
        assert process.stderr
        for line in process.stderr:
            said.append(line)
            if "starting up" in line:
                return process, port, tls_port
        process.communicate()
    raise RuntimeError("dovecot did not start: " + "".join(said))
