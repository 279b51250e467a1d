"""Logging in: TLS and its certificates, passwords of all kinds, XOAUTH2."""

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from pbem.post import Unreachable, open_source
from pbem.post.settings import ImapSettings, Secret, Server
from tests.post.imap_talk import answer, bye, mailbox, search
from tests.post.servers import Dovecot, Talk, scripted, server_context

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@contextmanager
def greeting(context: ssl.SSLContext, tls: str) -> Iterator[int]:
    """Run a server whose certificate the client refuses, in TLS at once or by STARTTLS."""

    def script(talk: Talk) -> None:
        if tls == "starttls":
            talk.say(b"* OK ready")
            while answer(talk) != b"STARTTLS":
                pass
        with pytest.raises(ssl.SSLError):
            talk.secure(context)

    with scripted(script, able=b"IMAP4rev1 STARTTLS") as port:
        yield port


def refused(port: int, tls: str, host: str = "127.0.0.1") -> Unreachable:
    """Return what a mailbox says of a server that it does not trust."""
    server = Server(host, port, tls, "ann", Secret("password", "secret"))  # type: ignore[arg-type]
    with pytest.raises(Unreachable) as error:
        list(open_source(ImapSettings(server)).fetch())
    assert error.value.lasting
    assert "\n" not in str(error.value)
    return error.value


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_fact_111_an_expired_certificate_is_refused_and_what_helps_is_said(
    trusted: trustme.CA, tls: str
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trusted.issue_cert("127.0.0.1", not_before=LONG_AGO, not_after=LONG_AGO).configure_cert(context)
    with greeting(context, tls) as port:
        assert str(refused(port, tls)).endswith(
            "can't be trusted: certificate has expired; have it renewed on the server"
        )


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_fact_111_a_certificate_of_an_unknown_maker_is_refused_and_what_helps_is_said(
    trusted: trustme.CA, tls: str
) -> None:
    with greeting(server_context(trustme.CA()), tls) as port:
        assert "have its maker's certificate trusted by the system" in str(refused(port, tls))


@pytest.mark.parametrize("tls", ["tls", "starttls"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_fact_111_a_certificate_of_another_name_is_refused_and_what_helps_is_said(
    trusted: trustme.CA, tls: str, host: str
) -> None:
    with greeting(server_context(trusted, "mail.example.org"), tls) as port:
        said = str(refused(port, tls, host))
    assert host in said.partition("trusted: ")[2]
    assert said.endswith("write host as the certificate has it")


def test_a_server_that_talks_no_tls_at_that_port_is_told_of() -> None:
    with (
        scripted(lambda talk: talk.say(b"* OK ready")) as port,
        mailbox(port, tls="tls") as source,
        pytest.raises(Unreachable, match=r"no TLS connection: .*; is port and tls right") as no,
    ):
        list(source.fetch())
    assert not no.value.lasting


def test_starttls_is_required_and_no_password_goes_out_without_it() -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        while line := talk.hear():
            heard.append(line)
            talk.say(b"* CAPABILITY IMAP4rev1", line.split(b" ")[0] + b" OK done")

    with (
        scripted(script) as port,
        mailbox(port, tls="starttls") as source,
        pytest.raises(Unreachable, match="STARTTLS") as lost,
    ):
        list(source.fetch())
    assert lost.value.lasting
    assert not any(b"secret" in line for line in heard)


@pytest.mark.parametrize(
    ("said", "lasting"),
    [(b"NO [AUTHENTICATIONFAILED] no", True), (b"NO [UNAVAILABLE] later", False)],
)
def test_fact_110_a_refused_log_in_says_whether_to_mend_it_and_that_oauth_may_be_wanted(
    said: bytes, lasting: bool
) -> None:
    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        while line := talk.hear():
            tag, command = line.split(b" ", 1)
            refused = command.startswith(b"LOGIN")
            talk.say(
                b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2", tag + b" " + (said if refused else b"OK x")
            )

    with (
        scripted(script) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="if it wants OAuth, give a token_command") as refused,
    ):
        list(source.fetch())
    assert refused.value.lasting is lasting


def test_a_password_that_the_server_repeats_is_not_shown() -> None:
    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        command = b""
        while not command.startswith(b"LOGIN"):
            tag, command = talk.hear().split(b" ", 1)
            if command.startswith(b"CAPABILITY"):
                talk.say(b"* CAPABILITY IMAP4rev1", tag + b" OK done")
        talk.say(tag + b" NO what is " + command)
        while line := talk.hear():
            talk.say(b"* CAPABILITY IMAP4rev1", line.split(b" ")[0] + b" OK done")

    with (
        scripted(script) as port,
        mailbox(port) as source,
        pytest.raises(Unreachable, match="what is LOGIN") as no,
    ):
        list(source.fetch())
    assert "secret" not in str(no.value)


def test_where_log_in_is_disabled_without_tls_no_password_goes_out() -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        while line := talk.hear():
            heard.append(line)
            talk.say(b"* CAPABILITY IMAP4rev1 LOGINDISABLED", line.split(b" ")[0] + b" OK done")

    with (
        scripted(script) as port,
        mailbox(port) as source,
        pytest.raises(
            Unreachable, match='no password over an open connection; write tls = "'
        ) as no,
    ):
        list(source.fetch())
    assert no.value.lasting
    assert not any(b"LOGIN" in line.split(b" ", 1)[1] or b"AUTH" in line for line in heard)


def test_where_log_in_is_disabled_under_tls_the_password_goes_by_plain(trusted: trustme.CA) -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        talk.say(b"* OK ready")
        command = b""
        while not command.startswith(b"SELECT"):
            tag, command = talk.hear().split(b" ", 1)
            if command == b"AUTHENTICATE PLAIN":
                talk.say(b"+ ")
                heard.append(base64.b64decode(talk.hear()))
            talk.say(b"* CAPABILITY IMAP4rev1 LOGINDISABLED AUTH=PLAIN", tag + b" OK done")
        search(talk)
        bye(talk)

    with (
        scripted(script, context=server_context(trusted)) as port,
        mailbox(port, tls="tls") as source,
    ):
        assert list(source.fetch()) == []
    assert heard == [b"\0ann\0secret"]


def test_a_password_beyond_ascii_logs_in_at_a_dovecot(dovecot: Dovecot) -> None:
    secret = Secret("password", "pässwörd")
    with mailbox(dovecot.port, "umlaut", secret=secret) as source:
        assert list(source.fetch()) == []
    with (
        mailbox(dovecot.port, "umlaut", secret=Secret("password", "pässwort")) as source,
        pytest.raises(Unreachable, match="AUTHENTICATIONFAILED"),
    ):
        list(source.fetch())


# XOAUTH2 (https://developers.google.com/gmail/imap/xoauth2-protocol).


def xoauth2(talk: Talk, heard: list[bytes], challenge: bytes = b"", able: bytes = b"") -> bytes:
    """Hear a token, then say yes, or challenge and say no; return the tag of what follows."""
    talk.say(b"* OK ready")
    while True:
        tag, command = talk.hear().split(b" ", 1)
        if command.startswith(b"AUTHENTICATE XOAUTH2"):
            talk.say(b"+ ")
            heard.append(base64.b64decode(talk.hear()))
            if challenge:
                talk.say(b"+ " + base64.b64encode(challenge))
                heard.append(talk.hear())
                talk.say(tag + b" NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)")
                return tag
        talk.say(b"* CAPABILITY IMAP4rev1 AUTH=XOAUTH2" + able, tag + b" OK done")
        if command.startswith(b"SELECT"):
            return tag


@pytest.mark.parametrize("able", [b"", b" SASL-IR"])
def test_a_token_command_logs_in_by_xoauth2_and_is_asked_anew_at_each_log_in(
    tmp_path: Path, able: bytes
) -> None:
    heard: list[bytes] = []

    def script(talk: Talk) -> None:
        xoauth2(talk, heard, able=able)
        search(talk)

    count = tmp_path / "count"
    count.write_text("")
    (tmp_path / "token").write_text('printf x >>count\necho "token-$(cat count)"\n')
    secret = Secret("token_command", "sh token", tmp_path)
    with scripted(script, script) as port, mailbox(port, secret=secret) as source:
        # The first server has gone, and its token may have expired meanwhile.
        assert list(source.fetch()) == []
        assert list(source.fetch()) == []
    user = b"user=ann\1auth=Bearer "
    assert heard == [user + b"token-x\1\1", user + b"token-xx\1\1"]


def test_fact_110_a_refused_token_is_told_of_with_its_challenge_and_never_shown(
    tmp_path: Path,
) -> None:
    heard: list[bytes] = []
    challenge = {"status": "400", "schemes": "Bearer", "scope": "https://mail.example.org/"}

    def script(talk: Talk) -> None:
        xoauth2(talk, heard, json.dumps(challenge).encode())

    secret = Secret("token_command", "echo the-token", tmp_path)
    with (
        scripted(script) as port,
        mailbox(port, secret=secret) as source,
        pytest.raises(Unreachable, match=r"status 400, scope https://mail.example.org/; ") as no,
    ):
        list(source.fetch())
    # The challenge is answered by nothing, and then the server says no.
    assert heard == [b"user=ann\1auth=Bearer the-token\1\1", b""]
    assert no.value.lasting
    assert "token_command" in str(no.value)
    assert "the-token" not in str(no.value)


@pytest.mark.parametrize("challenge", [b"no JSON", b"[]", b'{"status": 1}', b"\xff"])
def test_fact_110_a_refusal_of_no_known_form_is_a_refusal_all_the_same(
    tmp_path: Path, challenge: bytes
) -> None:
    secret = Secret("token_command", "echo the-token", tmp_path)
    with (
        scripted(lambda talk: void(xoauth2(talk, [], challenge))) as port,
        mailbox(port, secret=secret) as source,
        pytest.raises(Unreachable, match=r"the log-in was refused: .*Invalid credentials"),
    ):
        list(source.fetch())


def void(_: object) -> None:
    """Return nothing, as a script does."""
