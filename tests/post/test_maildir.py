"""Maildirs as mailboxes and as ways out, real ones in a temporary folder (mail.md, The way in)."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pbem.post import (
    Accepted,
    Arrived,
    Refused,
    Source,
    Unreachable,
    maildir,
    open_sender,
    open_source,
)
from pbem.post.settings import MaildirSettings

NOON = datetime(2026, 12, 6, 12, 0, tzinfo=UTC)
MAIL = b"From: ann@example.org\nSubject: orders\n\nMUSTER A1\n"


@pytest.fixture
def box(tmp_path: Path) -> Path:
    path = tmp_path / "in"
    maildir.make(path)
    return path


def source(path: Path, size_limit: int = 10_000) -> Source:
    return open_source(MaildirSettings(path), size_limit=size_limit)


def put(path: Path, raw: bytes = MAIL, received: datetime = NOON) -> None:
    path.write_bytes(raw)
    os.utime(path, (received.timestamp(), received.timestamp()))


def files(path: Path) -> list[str]:
    return sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())


def test_new_and_unseen_mail_is_taken_oldest_first(box: Path) -> None:
    put(box / "new" / "c", b"third", NOON.replace(minute=3))
    put(box / "cur" / "a:2,", b"second", NOON.replace(minute=2))
    put(box / "cur" / "b:2,FR", b"first", NOON.replace(minute=1))
    put(box / "cur" / "d", b"fourth", NOON.replace(minute=4))
    put(box / "cur" / "done:2,S")
    put(box / "cur" / "done2:2,FRS")
    put(box / "tmp" / "draft")
    put(box / "new" / ".hidden")
    arrived = list(source(box).fetch())
    assert [one.raw for one in arrived] == [b"first", b"second", b"third", b"fourth"]
    assert [one.key for one in arrived] == ["b", "a", "c", "d"]


def test_the_time_of_receipt_is_the_files_in_whole_seconds(box: Path) -> None:
    put(box / "new" / "a", received=NOON.replace(microsecond=999_999))
    assert list(source(box).fetch()) == [Arrived("a", MAIL, NOON, len(MAIL))]


def test_confirmed_mail_is_moved_to_cur_with_s_and_its_other_flags(box: Path) -> None:
    put(box / "new" / "a")
    put(box / "cur" / "b:2,RF")
    put(box / "new" / "c")
    mailbox = source(box)
    keys = [one.key for one in mailbox.fetch()]
    assert files(box) == ["cur/b:2,RF", "new/a", "new/c"]
    mailbox.confirm([key for key in keys if key != "c"])
    assert files(box) == ["cur/a:2,S", "cur/b:2,FRS", "new/c"]
    mailbox.confirm(["a", "never-seen"])
    assert [one.key for one in mailbox.fetch()] == ["c"]


def test_what_was_stored_and_not_confirmed_is_confirmed_and_not_yielded_again(box: Path) -> None:
    put(box / "new" / "a")
    put(box / "new" / "b")
    assert [one.key for one in source(box).fetch(known=lambda _: {"a"})] == ["b"]
    assert files(box) == ["cur/a:2,S", "new/b"]


@pytest.mark.parametrize("where", ["new/a:2,F", "cur/a:2,", "cur/a:2,F"])
def test_fact_112_mail_that_is_moved_while_others_are_read_is_found_again(
    box: Path, where: str
) -> None:
    put(box / "new" / "a", b"a", NOON.replace(minute=2))
    put(box / "new" / "b", b"b", NOON.replace(minute=1))
    fetched = source(box).fetch()
    assert next(fetched).key == "b"
    (box / "new" / "a").rename(box / where)
    assert [(one.key, one.raw) for one in fetched] == [("a", b"a")]


def test_mail_that_is_moved_between_the_two_listings_is_not_overlooked(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(box / "new" / "a")
    listing = Path.iterdir

    def moved_after(folder: Path) -> Iterator[Path]:
        found = list(listing(folder))
        if folder != box and (box / "new" / "a").exists():
            (box / "new" / "a").rename(box / "cur" / "a:2,")
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", moved_after)
    assert [one.key for one in source(box).fetch()] == ["a"]


def test_mail_that_vanishes_is_no_error(box: Path) -> None:
    put(box / "new" / "a", b"a", NOON.replace(minute=2))
    put(box / "new" / "b", b"b", NOON.replace(minute=1))
    mailbox = source(box)
    fetched = mailbox.fetch()
    assert next(fetched).key == "b"
    (box / "new" / "a").unlink()
    (box / "new" / "b").unlink()
    assert list(fetched) == []
    mailbox.confirm(["a", "b"])
    assert mailbox.missed == {}


def odd_folder(new: Path) -> None:
    (new / "odd").mkdir()


def odd_pipe(new: Path) -> None:
    os.mkfifo(new / "odd")


def odd_link(new: Path) -> None:
    (new / "odd").symlink_to(new / "nowhere")


@pytest.mark.parametrize("odd", [odd_folder, odd_pipe, odd_link])
def test_what_is_no_message_is_passed_over(box: Path, odd: Callable[[Path], None]) -> None:
    odd(box / "new")
    put(box / "new" / "z")
    assert [one.key for one in source(box).fetch()] == ["z"]


def test_a_message_that_cannot_be_read_is_named_and_the_others_are_taken(box: Path) -> None:
    put(box / "new" / "z")
    (box / "new" / "loop").symlink_to("loop")
    mailbox = source(box)
    assert [one.key for one in mailbox.fetch()] == ["z"]
    assert list(mailbox.missed) == ["loop"]
    assert mailbox.missed["loop"].startswith("it can't be read: ")


def test_names_that_are_no_text_have_a_key_that_is(box: Path) -> None:
    (box / "new" / os.fsdecode(b"a\xff\nb")).write_bytes(MAIL)
    mailbox = source(box)
    [one] = mailbox.fetch()
    assert one.key.isprintable()
    mailbox.confirm([one.key])
    assert os.listdir(os.fsencode(box / "cur")) == [b"a\xff\nb:2,S"]  # noqa: PTH208 - as bytes


def test_two_messages_of_one_name_never_replace_each_other(box: Path) -> None:
    put(box / "cur" / "a:2,S", b"the earlier")
    put(box / "new" / "a", b"the later")
    mailbox = source(box)
    assert [one.raw for one in mailbox.fetch()] == [b"the later"]
    mailbox.confirm(["a"])
    assert (box / "cur" / "a:2,S").read_bytes() == b"the earlier"
    assert (box / "cur" / "a.2:2,S").read_bytes() == b"the later"
    assert list(mailbox.fetch()) == []


def test_a_message_that_came_under_a_name_just_read_is_not_confirmed_unread(box: Path) -> None:
    put(box / "new" / "a", b"the earlier")
    mailbox = source(box)
    assert [one.raw for one in mailbox.fetch()] == [b"the earlier"]
    (box / "new" / "a").rename(box / "tmp" / "gone")
    put(box / "new" / "a", b"the later")
    mailbox.confirm(["a"])
    assert [one.raw for one in source(box).fetch()] == [b"the later"]


def test_a_message_beyond_the_size_limit_is_taken_by_its_beginning(box: Path) -> None:
    put(box / "new" / "fits", b"x" * 1000, NOON)
    put(box / "new" / "large", b"y" * 1001, NOON.replace(minute=1))
    fits, large = source(box, size_limit=1000).fetch()
    assert (fits.whole, len(fits.raw), fits.size) == (True, 1000, 1000)
    assert (large.whole, len(large.raw), large.size) == (False, 1000, 1001)
    (box / "new" / "large").write_bytes(b"y" * 300_000)
    [huge] = source(box, size_limit=200_000).fetch(known=lambda _: {"fits"})
    assert (huge.whole, len(huge.raw), huge.size) == (False, 65_536, 300_000)


def test_a_time_that_no_calendar_has_does_not_lose_the_mail(box: Path) -> None:
    put(box / "new" / "a")
    os.utime(box / "new" / "a", (10**12, 10**12))
    assert [one.key for one in source(box).fetch()] == ["a"]


@pytest.mark.parametrize("mounted_on", [".", "mail/in"], ids=["no folder", "an empty folder"])
def test_a_mailbox_that_is_not_there_is_unreachable_and_not_made(
    tmp_path: Path, mounted_on: str
) -> None:
    (tmp_path / mounted_on).mkdir(parents=True, exist_ok=True)
    with pytest.raises(Unreachable, match=r"mail/in: no folder new is there; .*`pbem init`") as why:
        list(source(tmp_path / "mail" / "in").fetch())
    assert why.value.lasting
    assert not (tmp_path / "mail" / "in" / "new").exists()


@pytest.mark.parametrize("lacking", ["cur", "tmp"])
def test_a_mailbox_that_lacks_cur_or_tmp_is_given_it(box: Path, lacking: str) -> None:
    (box / lacking).rmdir()
    put(box / "new" / "a")
    mailbox = source(box)
    mailbox.confirm([one.key for one in mailbox.fetch()])
    assert files(box) == ["cur/a:2,S"]
    assert sorted(folder.name for folder in box.iterdir()) == ["cur", "new", "tmp"]


def test_a_missing_maildir_for_letters_is_made(tmp_path: Path) -> None:
    open_sender(MaildirSettings(tmp_path / "mail" / "out")).probe()
    made = sorted(folder.name for folder in (tmp_path / "mail" / "out").iterdir())
    assert made == ["cur", "new", "tmp"]


def test_letters_are_not_laid_into_a_folder_that_holds_other_things(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear Ann")
    with pytest.raises(Unreachable, match="holds other things and no folder new") as refused:
        open_sender(MaildirSettings(tmp_path)).send("", "a@example.org", MAIL)
    assert refused.value.lasting
    assert [file.name for file in tmp_path.iterdir()] == ["letter.txt"]


def test_a_path_that_is_a_file_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("")
    for attempt in (
        lambda: list(source(tmp_path / "in").fetch()),
        lambda: open_sender(MaildirSettings(tmp_path / "in")).send("", "a@example.org", MAIL),
    ):
        with pytest.raises(Unreachable, match=r"it can't be .*read: .*; mend the path"):
            attempt()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_letter_is_laid_into_new_with_its_envelope_on_top(tmp_path: Path, end: str) -> None:
    raw = f"Subject: report{end}{end}Ann: 3{end}".encode()
    sender = open_sender(MaildirSettings(tmp_path / "out"))
    sent = sender.send("game@example.org", "ann@example.org", raw)
    sender.close()
    [name] = files(tmp_path / "out")
    assert sent == Accepted(f"laid down as {name.removeprefix('new/')}")
    top = f"Return-Path: <game@example.org>{end}Delivered-To: ann@example.org{end}"
    assert (tmp_path / "out" / name).read_bytes() == top.encode() + raw
    assert (tmp_path / "out" / name).stat().st_mode & 0o777 == 0o600


def test_letters_get_different_names_and_come_back_in_order(tmp_path: Path) -> None:
    keys = [maildir.deliver(tmp_path, b"%d" % n, received=NOON) for n in range(20)]
    assert len(set(keys)) == 20
    arrived = list(source(tmp_path).fetch())
    assert sorted(one.key for one in arrived) == sorted(keys)
    assert {one.received for one in arrived} == {NOON}


@pytest.mark.parametrize(
    "address",
    ["", "ann", "ann@", "ann@example.org\nBcc: x@example.org", "a b@example.org", "a@b@c"],
)
def test_no_address_puts_a_line_of_its_own_into_a_letter(tmp_path: Path, address: str) -> None:
    sender = open_sender(MaildirSettings(tmp_path / "out"))
    refused = sender.send("game@example.org", address, MAIL)
    assert isinstance(refused, Refused)
    assert refused.part == "recipient"
    if address:
        refused = sender.send(address, "ann@example.org", MAIL)
        assert isinstance(refused, Refused)
        assert refused.part == "sender"
    assert files(tmp_path) == []


def test_a_letter_that_cannot_be_written_leaves_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unreachable, match="no letter can be laid down: No space left"):
        open_sender(MaildirSettings(tmp_path)).send("", "ann@example.org", MAIL)
    assert files(tmp_path) == []
