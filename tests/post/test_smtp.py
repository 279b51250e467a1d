"""Letters over SMTP: a real server in a thread, and a scripted one that hangs up."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.smtp import AuthResult

from pbem.post import Accepted, Later, Refused, Sender, Sent, Unreachable, Unsure, open_sender
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
        welcome(talk, b"AUTH XOAUTH2")
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


# A connection that is lost, by what was under way.


@pytest.fixture(params=[b"8BITMIME", b"PIPELINING"])
def feature(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Have servers take commands one by one, and several at once (RFC 2920)."""
    monkeypatch.setattr(sys.modules[__name__], "FEATURE", request.param)
    assert isinstance(request.param, bytes)
    return request.param


FEATURE = b"8BITMIME"


def welcome(talk: Talk, other: bytes = b"") -> None:
    talk.say(b"220 mail.example.org")
    talk.hear(b"ehlo")
    talk.say(b"250-mail.example.org", b"250 " + (other or FEATURE))


def envelope(talk: Talk) -> None:
    for command in (b"MAIL FROM:", b"RCPT TO:"):
        talk.hear(command)
        talk.say(b"250 OK")
    talk.hear(b"DATA")


def take(talk: Talk) -> None:
    envelope(talk)
    talk.say(b"354 go on")
    talk.hear_until(b".")
    talk.say(b"250 taken")


def quit_(talk: Talk) -> None:
    talk.hear(b"QUIT")
    talk.say(b"221 bye")


def sent_to(*scripts: Callable[[Talk], None]) -> list[Sent]:
    """Send a letter for each script and one more, and return what became of them."""

    def last(talk: Talk) -> None:
        welcome(talk)
        take(talk)
        quit_(talk)

    with scripted(*scripts, last) as port, sender(port) as out:
        return [out.send(GAME, ANN, MAIL) for _ in range(len(scripts) + 1)]


def drop_at_mail(talk: Talk) -> None:
    welcome(talk)
    talk.hear(b"MAIL")


def drop_at_rcpt(talk: Talk) -> None:
    welcome(talk)
    talk.hear(b"MAIL")
    talk.say(b"250 OK")
    talk.hear(b"RCPT")


def drop_before_354(talk: Talk) -> None:
    welcome(talk)
    envelope(talk)


def closing_at_mail(talk: Talk) -> None:
    drop_at_mail(talk)
    talk.say(b"421 4.3.2 closing")


def closing_at_rcpt(talk: Talk) -> None:
    drop_at_rcpt(talk)
    talk.say(b"421 4.3.2 closing")


def closing_at_data(talk: Talk) -> None:
    drop_before_354(talk)
    talk.say(b"421 4.3.2 closing")


def nonsense_at_data(talk: Talk) -> None:
    drop_before_354(talk)
    talk.say(b"hello?")


def closing_at_the_end(talk: Talk) -> None:
    welcome(talk)
    envelope(talk)
    talk.say(b"354 go on")
    talk.hear_until(b".")
    talk.say(b"421 4.3.2 closing")


@pytest.mark.parametrize(
    "script",
    [drop_at_mail, drop_at_rcpt, drop_before_354, closing_at_mail, closing_at_rcpt,
     closing_at_data, nonsense_at_data, closing_at_the_end],
)  # fmt: skip
def test_fact_113_a_connection_lost_before_the_final_dot_is_for_later(
    script: Callable[[Talk], None], feature: bytes
) -> None:
    first, second = sent_to(script)
    assert isinstance(first, Later)
    assert second == Accepted("250 taken")


def drop_after_the_dot(talk: Talk) -> None:
    welcome(talk)
    envelope(talk)
    talk.say(b"354 go on")
    talk.hear_until(b".")


def nonsense_after_the_dot(talk: Talk) -> None:
    drop_after_the_dot(talk)
    talk.say(b"hello?")


@pytest.mark.parametrize("script", [drop_after_the_dot, nonsense_after_the_dot])
def test_fact_113_a_connection_lost_after_the_final_dot_leaves_it_unsure(
    script: Callable[[Talk], None], feature: bytes
) -> None:
    first, second = sent_to(script)
    assert isinstance(first, Unsure)
    assert second == Accepted("250 taken")


def drop_after_one(talk: Talk) -> None:
    welcome(talk)
    take(talk)


def closing_after_one(talk: Talk) -> None:
    drop_after_one(talk)
    talk.hear(b"MAIL")
    talk.say(b"421 4.4.2 idle for too long")


@pytest.mark.parametrize("script", [drop_after_one, closing_after_one])
def test_a_server_that_hangs_up_between_two_letters_is_called_again_at_once(
    script: Callable[[Talk], None], feature: bytes
) -> None:
    assert sent_to(script) == [Accepted("250 taken")] * 2


@pytest.mark.parametrize(
    ("replies", "part"),
    [((b"250 OK", b"550 5.1.1 no such user", b"354 go on"), "recipient"),
     ((b"250 OK", b"550 5.1.1 no such user", b"554 5.5.1 no recipient"), "recipient"),
     ((b"550 5.1.8 no", b"503 5.5.1 no sender", b"503 5.5.1 no recipient"), "sender"),
     ((b"550 5.1.8 no", b"250 OK", b"354 go on"), "sender"),
     ((b"250 OK", b"250 OK", b"554 5.6.0 bad content"), "content")],
)  # fmt: skip
def test_rfc_2920_what_was_said_too_soon_is_called_off_and_the_rest_goes_on(
    replies: tuple[bytes, ...], part: str
) -> None:
    def script(talk: Talk) -> None:
        welcome(talk, b"PIPELINING")
        # All are there before any is answered.
        for command in (b"MAIL", b"RCPT", b"DATA"):
            talk.hear(command)
        talk.say(*replies)
        if replies[2] == b"354 go on":
            # Nothing of the letter leaves for who isn't to have it.
            assert talk.hear() == b"."
            talk.say(b"554 5.5.1 no recipient")
        talk.hear(b"RSET")
        talk.say(b"250 OK")
        take(talk)
        quit_(talk)

    with scripted(script) as port, sender(port) as out:
        refused = out.send(GAME, ANN, MAIL)
        assert out.send(GAME, BOB, MAIL) == Accepted("250 taken")
    assert isinstance(refused, Refused)
    assert refused.part == part


@pytest.mark.parametrize("last", [b"421 4.3.2 closing", b""])
def test_rfc_2920_a_server_that_goes_while_a_letter_is_called_off_is_called_again(
    last: bytes,
) -> None:
    def script(talk: Talk) -> None:
        welcome(talk, b"PIPELINING")
        talk.hear_until(b"DATA")
        talk.say(b"250 OK", b"452 4.2.2 full", *([last] if last else []))

    later, second = sent_to(script)
    assert isinstance(later, Later)
    assert later.why.endswith(": 452 4.2.2 full")
    assert second == Accepted("250 taken")


def test_a_connection_lost_within_the_letter_is_for_later() -> None:
    def script(talk: Talk) -> None:
        welcome(talk)
        envelope(talk)
        talk.say(b"354 go on")
        talk.hear(b"From")

    # More than the system keeps for a server that doesn't read.
    letter = MAIL + b"x" * 20_000_000
    with scripted(script) as port, sender(port) as out:
        assert isinstance(out.send(GAME, ANN, letter), Later)


def test_a_refused_reset_gives_the_connection_up() -> None:
    def script(talk: Talk) -> None:
        welcome(talk)
        talk.hear(b"MAIL")
        talk.say(b"250 OK")
        talk.hear(b"RCPT")
        talk.say(b"550 5.1.1 no")
        talk.hear(b"RSET")
        talk.say(b"500 what?")

    refused, second = sent_to(script)
    assert isinstance(refused, Refused)
    assert second == Accepted("250 taken")


def test_a_second_recipient_refused_by_421_does_not_undo_the_first() -> None:
    def script(talk: Talk) -> None:
        welcome(talk)
        take(talk)
        talk.hear(b"MAIL")
        talk.say(b"250 OK")
        talk.hear(b"RCPT")
        talk.say(b"421 4.7.0 too many")

    with scripted(script) as port, sender(port) as out:
        assert out.send(GAME, ANN, MAIL) == Accepted("250 taken")
        assert isinstance(out.send(GAME, BOB, MAIL), Later)


@pytest.mark.parametrize(
    ("greeting", "lasting"),
    [(b"421 4.3.2 too busy", False), (b"554 5.7.1 no mail from you", True), (b"hello?", False),
     (b"", False)],
)  # fmt: skip
def test_a_server_that_does_not_greet_is_unreachable(greeting: bytes, lasting: bool) -> None:
    with (
        scripted(lambda talk: talk.say(greeting)) as port,
        sender(port) as out,
        pytest.raises(Unreachable, match=r"^smtp 127.0.0.1:\d+: ") as lost,
    ):
        out.send(GAME, ANN, MAIL)
    assert lost.value.lasting is lasting


def test_nobody_at_the_port_is_unreachable() -> None:
    with scripted() as port:
        pass
    with sender(port) as out, pytest.raises(Unreachable, match="Connection refused") as lost:
        out.send(GAME, ANN, MAIL)
    assert not lost.value.lasting


def test_what_a_server_says_is_shown_on_one_line_without_control_codes() -> None:
    def script(talk: Talk) -> None:
        welcome(talk)
        talk.hear(b"MAIL")
        talk.say(b"550-first \x1b[31m", b"550 second " + b"x" * 900)
        talk.hear(b"RSET")
        talk.say(b"250 OK")
        quit_(talk)

    with scripted(script) as port, sender(port) as out:
        refused = out.send(GAME, ANN, MAIL)
    assert isinstance(refused, Refused)
    assert "first [31m second xxx" in refused.why
    assert len(refused.why) < 400
    assert refused.why.isprintable()
