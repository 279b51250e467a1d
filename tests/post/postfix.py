"""A real Postfix for the tests: on this machine alone, with folders, ports and lines of its own."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trustme

from tests.post.servers import PATIENCE, free_ports

# Those the post is delivered to, each into a Maildir of the name before the @.
BOXES = ("ann", "bob", "gia", "ján")
# Who is neither root nor Postfix: an agent runs as nobody.
AGENT = pwd.getpwnam("nobody")

_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
mail_owner = postfix
setgid_group = postdrop
maillog_file = /dev/stdout
myhostname = mail.example.org
myorigin = example.org
mydestination =
inet_interfaces = loopback-only
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
disable_dns_lookups = yes
smtpd_peername_lookup = no
smtpd_tls_security_level = may
smtpd_tls_chain_files = {folder}/server.pem
virtual_mailbox_domains = box.example.org
virtual_mailbox_base = {folder}/box
virtual_mailbox_maps = texthash:{folder}/conf/boxes
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
# What is put off is tried again by `postqueue -f` alone.
minimal_backoff_time = 3600
maximal_backoff_time = 3600
queue_run_delay = 3600
"""

_MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
127.0.0.1:{tls_port} inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes
pickup unix n - n 3600 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 3600 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass
class Postfix:
    """A running Postfix, and what it has written into its log."""

    folder: Path
    port: int
    tls_port: int
    lines: list[str] = field(default_factory=list)
    _told: threading.Condition = field(default_factory=threading.Condition)

    def listen(self, log: Iterator[str]) -> None:
        """Take in the log until it ends."""
        for line in log:
            with self._told:
                self.lines.append(line)
                self._told.notify_all()

    def logged(self, pattern: str, times: int = 1) -> list[str]:
        """Wait until so many lines of the log match; return them."""

        def found() -> list[str]:
            return [line for line in self.lines if re.search(pattern, line)]

        with self._told:
            came = self._told.wait_for(lambda: len(found()) >= times, PATIENCE)
            assert came, f"{pattern!r} never came in:\n{''.join(self.lines)}"
            return found()

    def box(self, name: str) -> list[bytes]:
        """Return what lies in a mailbox, in the order of delivery."""
        files = (self.folder / "box" / name / "new").glob("*")
        return [file.read_bytes() for file in sorted(files, key=lambda one: one.stat().st_mtime_ns)]

    def run(self, program: str, *arguments: str) -> str:
        """Run one of Postfix's own commands on this instance; return what it prints."""
        command = [found(program), "-c", str(self.folder / "conf"), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def found(program: str) -> str:
    """Return where a program of a server is; an ordinary user has it in no path."""
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or program


def need_postfix() -> None:
    """Skip the test by name where Postfix can't be run, or fail where it is required."""
    why = ""
    if not shutil.which(found("postfix")):
        why = "postfix is not installed (Debian: postfix)"
    elif os.getuid() != 0:
        why = "postfix needs root to run"
    if why and os.environ.get("PBEM_SERVICES") == "required":
        pytest.fail(f"{why}, and PBEM_SERVICES=required")
    if why:
        pytest.skip(why)


@contextmanager
def postfix_server(
    authority: trustme.CA, lines: Callable[[Path], tuple[str, str]] = lambda _: ("", "")
) -> Iterator[Postfix]:
    """Run Postfix; `lines` are given its folder and return more for main.cf and master.cf."""
    need_postfix()
    # Paths of sockets have to be short, and another user has to get there.
    folder = Path(tempfile.mkdtemp(prefix="postfix-"))
    folder.chmod(0o755)
    for part, owner in (("conf", "root"), ("queue", "root"), ("data", "postfix"),
                        ("box", AGENT.pw_name)):  # fmt: skip
        (folder / part).mkdir()
        shutil.chown(folder / part, owner)
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(str(folder / "server.pem"))
    boxes = "".join(f"{name}@box.example.org {name}/\n" for name in BOXES)
    (folder / "conf" / "boxes").write_text(boxes)
    main, master = lines(folder)
    main = _MAIN.format(folder=folder, uid=AGENT.pw_uid, gid=AGENT.pw_gid) + main
    (folder / "conf" / "main.cf").write_text(main)
    running, process = _started(folder, master)
    assert process.stdout
    listener = threading.Thread(target=running.listen, args=(process.stdout,), daemon=True)
    listener.start()
    try:
        yield running
    finally:
        process.terminate()
        process.wait(PATIENCE)
        listener.join(PATIENCE)
        process.stdout.close()
        shutil.rmtree(folder)


def _started(folder: Path, master: str) -> "tuple[Postfix, subprocess.Popen[str]]":
    """Start Postfix; try other ports where another program was quicker to take these."""
    said: list[str] = []
    for _ in range(5):
        port, tls_port = free_ports()
        text = _MASTER.format(port=port, tls_port=tls_port) + master
        (folder / "conf" / "master.cf").write_text(text)
        running = Postfix(folder, port, tls_port)
        running.run("postfix", "check")
        programs = running.run("postconf", "-h", "daemon_directory").strip()
        process = subprocess.Popen(
            # Agents run as nobody, who may not be let into the folder of this Python.
            ["setpriv", "--inh-caps", "+dac_override", "--ambient-caps", "+dac_override",
             "--securebits", "+no_setuid_fixup",
             f"{programs}/master", "-c", str(folder / "conf"), "-s"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert process.stdout
        for line in process.stdout:
            said.append(line)
            if "daemon started" in line:
                return running, process
        process.communicate()
    raise RuntimeError("postfix did not start: " + "".join(said))
