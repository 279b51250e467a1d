"""The tables `[[source]]` and `[sender]` (contract.md, Config), and where passwords come from."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pbem.post import Unreachable, open_sender, open_source
from pbem.post.secrets import reveal
from pbem.post.settings import (
    ImapSettings,
    MaildirSettings,
    Secret,
    SendmailSettings,
    Server,
    SmtpSettings,
    read_sender,
    read_source,
)

HOME = Path("/games")
IMAP = {"kind": "imap", "host": "mail.example.org", "user": "game", "password": "s3cret"}
SMTP = {"kind": "smtp", "host": "mail.example.org"}


def test_a_maildir_starts_at_the_configs_folder() -> None:
    table = {"kind": "maildir", "path": "mail/in"}
    assert read_source(table, "x", HOME) == MaildirSettings(HOME / "mail/in")
    assert read_sender(table, "x", HOME) == MaildirSettings(HOME / "mail/in")
    assert read_source({"kind": "maildir", "path": "/m"}, "x", HOME) == MaildirSettings(Path("/m"))
    home = read_source({"kind": "maildir", "path": "~/m"}, "x", HOME)
    assert home == MaildirSettings(Path.home() / "m")


@pytest.mark.parametrize(
    ("given", "port", "tls"),
    [({}, 993, "tls"), ({"tls": "starttls"}, 143, "starttls"), ({"tls": "none"}, 143, "none"),
     ({"port": 1993}, 1993, "tls")],
)  # fmt: skip
def test_imap_is_verified_tls_unless_told_otherwise(
    given: dict[str, Any], port: int, tls: Any
) -> None:
    read = read_source({**IMAP, **given}, "x", HOME)
    secret = Secret("password", "s3cret", HOME)
    server = Server("mail.example.org", port, tls, "game", secret)
    assert read == ImapSettings(server, "INBOX", "Processed")


@pytest.mark.parametrize(
    ("given", "port", "tls"),
    [({}, 587, "starttls"), ({"tls": "tls"}, 465, "tls"), ({"tls": "none"}, 25, "none")],
)
def test_smtp_is_starttls_unless_told_otherwise(given: dict[str, Any], port: int, tls: Any) -> None:
    expected = SmtpSettings(Server("mail.example.org", port, tls))
    assert read_sender({**SMTP, **given}, "x", HOME) == expected


def test_a_sendmail_command_is_read_in_words() -> None:
    read = read_sender({"kind": "sendmail", "command": "'/opt/my mta' -v"}, "x")
    assert read == SendmailSettings(("/opt/my mta", "-v"))
    assert read_sender({"kind": "sendmail"}, "x") == SendmailSettings(("/usr/sbin/sendmail",))


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({}, 'kind is missing; write one of "maildir", "imap"'),
        ({"kind": "pop3"}, "kind is 'pop3'; write one of \"maildir\", \"imap\""),
        ({"kind": ["imap"]}, "kind is ['imap']; write one of"),
        ({"kind": "maildir"}, 'path is missing; write it as path = "…"'),
        ({"kind": "maildir", "path": 3}, "path is 3; write a text in quotes"),
        ({"kind": "maildir", "pfad": "x"}, "no key 'pfad' belongs to this kind; "),
        ({"kind": "maildir", "path": "x", "host": "h"}, "no key 'host' belongs to this kind; "),
        ({**IMAP, "foldr": "x"}, "no key 'foldr' belongs to this kind; did you mean 'folder'?"),
        ({**IMAP, "host": ""}, "host is missing; write it as"),
        ({**IMAP, "host": "imaps://h"}, "host is 'imaps://h'; write the name alone"),
        ({**IMAP, "host": "h:993"}, "host is 'h:993'; write the name alone, and port apart"),
        ({**IMAP, "port": 0}, "port is 0; write a number from 1 to 65535"),
        ({**IMAP, "port": True}, "port is True; write a number"),
        ({**IMAP, "port": "993"}, "port is '993'; write a number"),
        ({**IMAP, "tls": "ssl"}, "tls is 'ssl'; write one of"),
        ({**IMAP, "tls": True}, "tls is True; write one of"),
        ({**IMAP, "processed": "inbox"}, "folder and processed are both 'INBOX'; change"),
        ({**IMAP, "password_env": "P"}, "password and password_env are both given; leave only"),
        ({"kind": "imap", "host": "h"}, "there is no log-in; add user, and password_env,"),
        ({"kind": "imap", "host": "h", "user": "u"}, "user has no password; add password_env"),
        ({"kind": "imap", "host": "h", "password": "p"}, "password has no user; add user"),
        ({"kind": "imap", "host": "h", "user": "u", "password": 3}, "password is no text; write"),
        ({"kind": "imap", "host": "h", "user": "u", "password_command": "a 'b"},
         "password_command can't be read (No closing quotation); mend"),
        ({"kind": "imap", "host": "h", "user": "u", "token_command": " "},
         "token_command holds no command; write the program's name"),
    ],
)  # fmt: skip
def test_a_faulty_source_is_refused_in_a_line_with_place_fault_and_remedy(
    table: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError) as refused:
        read_source(table, "pbem.toml, [[source]] 1", HOME)
    assert str(refused.value).startswith(f"pbem.toml, [[source]] 1: {fault}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ({"kind": "imap"}, 'kind is \'imap\'; write one of "maildir", "smtp", "sendmail"'),
        ({**SMTP, "folder": "x"}, "no key 'folder' belongs to this kind; "),
        ({**SMTP, "user": "u"}, "user has no password; "),
        ({"kind": "sendmail", "command": ""}, "command is missing; "),
        ({"kind": "sendmail", "command": "a 'b"}, "command can't be read ("),
    ],
)
def test_a_faulty_sender_is_refused_in_a_line_with_place_fault_and_remedy(
    table: dict[str, Any], fault: str
) -> None:
    with pytest.raises(ValueError) as refused:
        read_sender(table, "pbem.toml, [sender]", HOME)
    assert str(refused.value).startswith(f"pbem.toml, [sender]: {fault}")


def test_settings_never_show_a_password() -> None:
    assert "s3cret" not in repr(read_source(IMAP, "x", HOME))
    for table in ({**IMAP, "password_file": "f"}, {**IMAP, "user": ""}, {**IMAP, "port": 0}):
        with pytest.raises(ValueError) as refused:
            read_source(table, "x", HOME)
        assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("kind", ["password", "env", "file", "command", "token"])
def test_a_password_comes_from_wherever_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("GAME_PASSWORD", "pass word ")
    (tmp_path / "secret").write_text("pass word \r\nand a note below\n")
    key, said = {
        "password": ("password", "pass word "),
        "env": ("password_env", "GAME_PASSWORD"),
        "file": ("password_file", "secret"),
        "command": ("password_command", "cat secret"),
        "token": ("token_command", "cat secret"),
    }[kind]
    table = {"kind": "imap", "host": "h", "user": "u", key: said}
    read = read_source(table, "x", tmp_path)
    assert isinstance(read, ImapSettings)
    assert read.server.secret
    assert reveal(read.server.secret, "imap h") == "pass word "


@pytest.mark.parametrize(
    ("key", "said", "fault"),
    [
        ("password_env", "NO_SUCH_VARIABLE", "the environment variable NO_SUCH_VARIABLE holds no"),
        ("password_file", "none", "the password is not to be had from the file .*none: No such"),
        ("password_file", "empty", "the file .*empty holds no password"),
        ("password_file", "binary", "the password is not to be had from .*: it is not UTF-8"),
        ("password_command", "no-such-program", "password_command can't be run: no-such-program:"),
        ("password_command", "sh -c 'echo hidden; echo locked >&2; exit 3'",
         r"password_command failed \(3\): locked$"),
        ("token_command", "true", "the token_command holds no password"),
    ],
)  # fmt: skip
def test_a_password_that_cannot_be_had_is_said_and_no_part_of_it_shown(
    tmp_path: Path, key: str, said: str, fault: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    table = {"kind": "smtp", "host": "h", "user": "u", key: said}
    read = read_sender(table, "x", tmp_path)
    assert isinstance(read, SmtpSettings)
    assert read.server.secret
    with pytest.raises(Unreachable, match=f"^smtp h: {fault}") as lost:
        reveal(read.server.secret, "smtp h")
    assert "hidden" not in str(lost.value)


def test_every_kind_is_opened_by_its_settings(tmp_path: Path) -> None:
    maildir = {"kind": "maildir", "path": str(tmp_path)}
    names = [open_source(read_source(table, "x")).name for table in (maildir, IMAP)]
    assert names == [f"maildir {tmp_path}", "imap mail.example.org: game, INBOX"]
    tables = (maildir, SMTP, {"kind": "sendmail"})
    names = [open_sender(read_sender(table, "x")).name for table in tables]
    assert names == [
        f"maildir {tmp_path}",
        "smtp mail.example.org:587",
        "sendmail /usr/sbin/sendmail",
    ]


def test_importing_the_package_loads_no_library_that_may_not_be_needed() -> None:
    heavy = ("ssl", "smtplib", "imaplib", "imapclient", "subprocess", "socket")
    code = f"import sys, pbem.post; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
