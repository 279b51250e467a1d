"""Letters through a command of sendmail's kind: real scripts, read by their exit codes."""

from pathlib import Path

import pytest

from pbem.post import Accepted, Later, Refused, Sent, Unreachable, Unsure, open_sender
from pbem.post.settings import SendmailSettings

MAIL = b"Subject: report\r\n\r\nAnn: 3\r.\r\n"


def sent(tmp_path: Path, body: str, recipient: str = "ann@example.org", envelope: str = "") -> Sent:
    """Send a letter through a shell script with that body."""
    script = tmp_path / "send it"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return open_sender(SendmailSettings((str(script), "--quick"))).send(envelope, recipient, MAIL)


def test_the_command_gets_envelope_and_letter(tmp_path: Path) -> None:
    keep = f"cat > {tmp_path}/letter; printf '%s\\n' \"$@\" > {tmp_path}/words"
    assert sent(tmp_path, keep, envelope="game@example.org") == Accepted("taken")
    words = ["--quick", "-i", "-f", "game@example.org", "--", "ann@example.org"]
    assert (tmp_path / "words").read_text().splitlines() == words
    assert (tmp_path / "letter").read_bytes() == b"Subject: report\n\nAnn: 3\n.\n"
    sent(tmp_path, keep, recipient="-oQ/tmp@example.org")
    words = ["--quick", "-i", "-f", "<>", "--", "-oQ/tmp@example.org"]
    assert (tmp_path / "words").read_text().splitlines() == words


@pytest.mark.parametrize(
    ("code", "part"), [(64, "content"), (65, "content"), (67, "recipient"), (68, "recipient"),
                       (69, "content"), (77, "content"), (1, "content")]
)  # fmt: skip
def test_most_exit_codes_refuse_for_good(tmp_path: Path, code: int, part: str) -> None:
    refused = sent(tmp_path, f"cat > /dev/null; echo started; echo no such user >&2; exit {code}")
    assert isinstance(refused, Refused)
    assert refused.part == part
    assert refused.why.endswith(f"send it: exit code {code}: no such user")


@pytest.mark.parametrize("code", [71, 72, 73, 74, 75])
def test_exit_code_75_and_faults_of_the_system_are_for_later(tmp_path: Path, code: int) -> None:
    later = sent(tmp_path, f"exit {code}")
    assert isinstance(later, Later)
    assert later.why.endswith(f"exit code {code}: no reason given")


def test_a_command_that_is_killed_leaves_it_unsure(tmp_path: Path) -> None:
    unsure = sent(tmp_path, "kill -9 $$")
    assert isinstance(unsure, Unsure)
    assert "SIGKILL" in unsure.why


def test_a_command_that_is_not_there_is_unreachable_and_blames_no_letter(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="it can't be run: No such file") as lost:
        open_sender(SendmailSettings((str(tmp_path / "none"),))).send("", "ann@example.org", MAIL)
    assert lost.value.lasting
    with pytest.raises(Unreachable, match=r"exit code 127: .*not found"):
        sent(tmp_path, "no-such-program-at-all")


@pytest.mark.parametrize("address", ["", "ann", "a b@example.org", "a@b\n"])
def test_no_address_becomes_anything_else(tmp_path: Path, address: str) -> None:
    refused = sent(tmp_path, "exit 0", recipient=address)
    assert isinstance(refused, Refused)
    assert refused.part == "recipient"
    if address:
        refused = sent(tmp_path, "exit 0", envelope=address)
        assert isinstance(refused, Refused)
        assert refused.part == "sender"
