"""Letters over SMTP to a real server in a thread: envelopes, refusals, TLS and log-in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import AuthResult

from pbem.post import Accepted, Later, Refused, Sender, Unreachable, open_sender
from pbem.post.settings import Secret, Server, SmtpSettings, Tls
from tests.post.servers import Post, Talk, log_in, scripted, server_context, smtp_server

GAME = "game@example.org"
ANN = "ann@example.org"
BOB = "bob@example.org"
MAIL = b"From: game@example.org\r\nSubject: report\r\n\r\nAnn: 3\r\n"


@contextmanager
def sender(port: int, tls: Tls = "none", user: str = "", secret: str = "") -> Iterator[Sender]:
    password = Secret("password", secret) if secret else None
    out = open_sender(SmtpSettings(Server("127.0.0.1", port, tls, user, password)))
    try:
        yield out
    finally:
        out.close()


@pytest.fixture
def post() -> Iterator[Post]:
    with smtp_server() as running:
        yield running


def test_each_letter_has_an_envelope_of_its_own_over_one_connection(post: Post) -> None:
    with sender(post.port) as out:
        assert out.send(GAME, ANN, MAIL) == Accepted("250 taken as number 7")
        assert out.send(GAME, BOB, MAIL) == Accepted("250 taken as number 7")
    assert [(one.sender, one.recipients, one.raw) for one in post.letters] == [
        (GAME, (ANN,), MAIL),
        (GAME, (BOB,), MAIL),
    ]
    assert post.connections == 1


def test_a_closed_sender_connects_again(post: Post) -> None:
    with sender(post.port) as out:
        for _ in range(2):
            assert isinstance(out.send(GAME, ANN, MAIL), Accepted)
            out.close()
    assert post.connections == 2


def test_fact_117_lines_end_in_crlf_on_the_wire_and_dots_survive(post: Post) -> None:
    with sender(post.port) as out:
        out.send("", ANN, b"Subject: x\n\n.\n..two\r\n.a\rlast")
    [letter] = post.letters
    assert letter.raw == b"Subject: x\r\n\r\n.\r\n..two\r\n.a\r\nlast\r\n"
    assert letter.sender == "<>"


@pytest.mark.parametrize(
    ("command", "reply", "part"),
    [
        ("MAIL", "550 5.1.8 sender not known", "sender"),
        ("MAIL", "552 5.3.4 too large", "sender"),
        ("RCPT", "550 5.1.1 no such user", "recipient"),
        ("RCPT", "553 no such user", "recipient"),
        ("RCPT", "554 5.7.1 relaying denied", "sender"),
        ("DATA", "554 5.6.0 bad content", "content"),
        ("DATA", "554 5.7.1 looks like spam", "content"),
        ("DATA", "552 5.2.2 mailbox full", "recipient"),
    ],
)
def test_fact_114_a_refusal_for_good_says_what_was_refused_and_the_rest_goes_on(
    post: Post, command: str, reply: str, part: str
) -> None:
    post.answers = {command: [reply]}
    with sender(post.port) as out:
        refused = out.send(GAME, ANN, MAIL)
        assert isinstance(refused, Refused)
        assert (refused.part, refused.why) == (part, f"smtp 127.0.0.1:{post.port}: {reply}")
        assert isinstance(out.send(GAME, BOB, MAIL), Accepted)
    assert [one.recipients for one in post.letters] == [(BOB,)]
    assert post.connections == 1


@pytest.mark.parametrize("command", ["MAIL", "RCPT", "DATA"])
def test_fact_115_a_temporary_refusal_is_for_later_and_the_rest_goes_on(
    post: Post, command: str
) -> None:
    post.answers = {command: ["451 4.7.1 greylisted, try again in 5 minutes"]}
    with sender(post.port) as out:
        later = out.send(GAME, ANN, MAIL)
        assert isinstance(later, Later)
        assert later.why.endswith(": 451 4.7.1 greylisted, try again in 5 minutes")
        assert isinstance(out.send(GAME, BOB, MAIL), Accepted)
        assert isinstance(out.send(GAME, ANN, MAIL), Accepted)
    assert [one.recipients for one in post.letters] == [(BOB,), (ANN,)]


def test_a_server_that_wants_a_log_in_first_is_unreachable_and_blames_no_letter(
    post: Post,
) -> None:
    post.answers = {"MAIL": ["530 5.7.0 authentication required"]}
    with (
        sender(post.port) as out,
        pytest.raises(Unreachable, match=r"530 5.7.0 .*; mend user and password") as refused,
    ):
        out.send(GAME, ANN, MAIL)
    assert refused.value.lasting


@pytest.mark.parametrize("address", ["", "ann", "a@b\r\nRCPT TO:<x@example.org>", "a>@b", "a b@c"])
def test_no_address_becomes_a_command_of_its_own(post: Post, address: str) -> None:
    with sender(post.port) as out:
        refused = out.send(GAME, address, MAIL)
        assert isinstance(refused, Refused)
        assert refused.part == "recipient"
        if address:
            refused = out.send(address, ANN, MAIL)
            assert isinstance(refused, Refused)
            assert refused.part == "sender"
    assert post.connections == 0


def test_a_letter_with_letters_of_any_script_goes_by_smtputf8_where_it_must() -> None:
    wide = "From: 游戏@example.org\r\n\r\nhello\r\n".encode()
    with smtp_server(enable_SMTPUTF8=True) as post, sender(post.port) as out:
        assert isinstance(out.send(GAME, "ján@example.org", MAIL), Accepted)
        assert isinstance(out.send(GAME, ANN, wide), Accepted)
        assert isinstance(out.send(GAME, ANN, MAIL + "é".encode()), Accepted)
    by_address, by_header, by_body = post.letters
    assert by_address.recipients == ("ján@example.org",)
    assert "SMTPUTF8" in by_address.options
    assert {"SMTPUTF8", "BODY=8BITMIME"} <= set(by_header.options)
    assert by_header.raw == wide
    assert "SMTPUTF8" not in by_body.options
    assert "BODY=8BITMIME" in by_body.options


def test_a_server_without_smtputf8_takes_wide_domains_in_ascii_and_no_wide_local_parts(
    post: Post,
) -> None:
    with sender(post.port) as out:
        assert isinstance(out.send(GAME, "ann@bücher.example", MAIL), Accepted)
        refused = out.send(GAME, "ján@example.org", MAIL)
        assert isinstance(refused, Refused)
        assert refused.part == "recipient"
    assert [one.recipients for one in post.letters] == [("ann@xn--bcher-kva.example",)]


# TLS and log-in.


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_tls_is_used_and_the_log_in_goes_through_it(trusted: trustme.CA, tls: Tls) -> None:
    context = server_context(trusted)
    how: dict[str, Any] = {"require_starttls": True, "tls_context": context}
    if tls == "tls":
        how = {"implicit": context, "auth_require_tls": False}
    with smtp_server(**how, authenticator=log_in) as post:
        with sender(post.port, tls, "game", "secret") as out:
            assert isinstance(out.send(GAME, ANN, MAIL), Accepted)
        with (
            sender(post.port, tls, "game", "wrong-one") as out,
            pytest.raises(Unreachable, match=r"log-in of game was refused: 535.*; mend") as refused,
        ):
            out.send(GAME, ANN, MAIL)
    assert refused.value.lasting
    assert "wrong-one" not in str(refused.value)
    assert [letter.logged_in for letter in post.letters] == [True]


@pytest.mark.parametrize("tls", ["starttls", "tls"])
@pytest.mark.parametrize("fault", ["stranger", "other name"])
def test_fact_111_a_wrong_certificate_is_refused_before_any_password_or_letter(
    request: pytest.FixtureRequest, tls: Tls, fault: str
) -> None:
    seen: list[str] = []

    def watch(*_: Any) -> AuthResult:
        seen.append("log-in")
        return AuthResult(success=True)

    authority = request.getfixturevalue("trusted") if fault == "other name" else trustme.CA()
    name = "mail.example.org" if fault == "other name" else "127.0.0.1"
    context = server_context(authority, name)
    how: dict[str, Any] = {"tls_context": context} if tls == "starttls" else {"implicit": context}
    with (
        smtp_server(**how, authenticator=watch) as post,
        sender(post.port, tls, "game", "secret") as out,
        pytest.raises(Unreachable, match="its certificate can't be trusted: ") as refused,
    ):
        out.send(GAME, ANN, MAIL)
    assert refused.value.lasting
    assert (post.letters, seen) == ([], [])


def test_fact_111_starttls_is_required_not_opportunistic(post: Post) -> None:
    with (
        sender(post.port, "starttls") as out,
        pytest.raises(Unreachable, match=r"STARTTLS .*not supported.*; mend tls or port") as lost,
    ):
        out.send(GAME, ANN, MAIL)
    assert lost.value.lasting
    assert post.letters == []


def test_starttls_that_is_refused_sends_nothing_in_the_clear() -> None:
    def script(talk: Talk) -> None:
        talk.say(b"220 ready")
        talk.hear(b"ehlo")
        talk.say(b"250-mail.example.org", b"250 STARTTLS")
        talk.hear(b"starttls")
        talk.say(b"454 TLS not available")
        assert talk.hear() == b""

    with (
        scripted(script) as port,
        sender(port, "starttls", "game", "secret") as out,
        pytest.raises(Unreachable, match="454 TLS not available") as lost,
    ):
        out.send(GAME, ANN, MAIL)
    assert not lost.value.lasting


def test_a_token_command_logs_in_by_xoauth2(tmp_path: Path) -> None:
    def script(talk: Talk) -> None:
        talk.say(b"220 mail.example.org")
        talk.hear(b"ehlo")
        talk.say(b"250-mail.example.org", b"250 AUTH XOAUTH2")
        # user=game^Aauth=Bearer the-token^A^A
        assert talk.hear() == b"AUTH XOAUTH2 dXNlcj1nYW1lAWF1dGg9QmVhcmVyIHRoZS10b2tlbgEB"
        talk.say(b"334 eyJzdGF0dXMiOiI0MDAifQ==")
        assert talk.hear() == b""
        talk.say(b"535 5.7.8 expired")

    secret = Secret("token_command", "echo the-token", tmp_path)
    with scripted(script) as port:
        out = open_sender(SmtpSettings(Server("127.0.0.1", port, "none", "game", secret)))
        with pytest.raises(Unreachable, match=r"535 5.7.8 expired"):
            out.send(GAME, ANN, MAIL)
