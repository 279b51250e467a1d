"""Letters over SMTP to servers that hang up, by what was under way, or say odd things."""

import sys
from collections.abc import Callable

import pytest

from pbem.post import Accepted, Later, Refused, Sent, Unreachable, Unsure
from tests.post.servers import Talk, scripted
from tests.post.test_smtp import ANN, BOB, GAME, MAIL, sender


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
