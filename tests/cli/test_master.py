"""The game master's day as it is typed: gm, orders, status, letters, resume, doctor, new --open."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from pbem import store
from pbem.config import Config
from tests.cli.conftest import Answer
from tests.conftest import mail

Command = Callable[..., Answer]

SEATS = ("--seat", "Ann <ann@example.org>", "--seat", "Bob <bob@example.org>")
CLOCK = ("--clock", "2026-12-01T12:00:00+00:00")
LATER = ("--clock", "2026-12-01T13:00:00+00:00")
DUE = ("--clock", "2026-12-06T19:01:00+00:00")


@pytest.fixture
def database(both: str) -> str:
    """The URL of the house's database, of one kind and of the other."""
    return both


@pytest.fixture
def hexem1(pbem: Command) -> Command:
    """A match of two, due on Sunday evening in Berlin."""
    options = ("--option", "trust=address", "--schedule", "weekly Sun 20:00")
    made = pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS, *options, "--zone", "Europe/Berlin")
    assert made.code == 0
    return pbem


def test_gm_carries_out_an_order_and_says_what_came_of_it(hexem1: Command) -> None:
    done = hexem1(*LATER, "gm", "hexem1", "EXTEND 2d")
    assert (done.code, done.err) == (0, "")
    assert done.out == "The deadline is Tue 2026-12-08 20:00 +0100 (Europe/Berlin).\n"


def test_gm_runs_the_turn_at_once(hexem1: Command) -> None:
    done = hexem1(*LATER, "gm", "hexem1", "RUN NOW countries 0")
    assert done.code == 0
    assert done.out.splitlines()[-1] == "hexem1: ran"
    again = hexem1(*LATER, "gm", "hexem1", "RUN NOW countries 0")
    assert (again.code, again.out) == (0, "countries 0 has been run; nothing is done.\n")
    seen = json.loads(hexem1(*LATER, "status", "--json").out)["matches"][0]
    assert (seen["phase"], seen["turn"]) == ("muster", 1)


def test_gm_end_needs_no_name_and_ends_at_once(hexem1: Command) -> None:
    assert hexem1(*LATER, "gm", "hexem1", "END").code == 0
    assert json.loads(hexem1("show", "hexem1", "--json").out)["phase"] == "over"


def test_gm_reads_several_lines_and_exits_1_where_one_was_refused(hexem1: Command) -> None:
    lines = b"SAY hello\nORDERS FOR Ann\nBID z 1\nEND ORDERS\nDROP Zoe\n"
    done = hexem1(*LATER, "gm", "hexem1", "-", "--json", stdin=lines)
    assert done.code == 1
    orders = json.loads(done.out)["orders"]
    assert [(one["line"], one["refused"]) for one in orders] == [(1, False), (2, False), (5, True)]
    plain = hexem1(*LATER, "gm", "hexem1", "-", stdin=b"DROP Zoe\n")
    assert (plain.code, plain.out) == (1, "")
    assert plain.err == "pbem: DROP Zoe: refused: no seat is called Zoe; there are: Ann, Bob\n"


def test_gm_what_is_no_order_is_wrong_usage(hexem1: Command) -> None:
    done = hexem1("gm", "hexem1", "well, then")
    assert done.code == 2
    assert "'well, then' is no game master's order" in done.err
    assert hexem1("gm", "nowhere", "STATUS").code == 2


def test_gm_whose_mailbox_is_away_has_the_turn_put_off_and_exits_75(
    hexem1: Command, house: Config
) -> None:
    source = house.folder / "mail" / "in"
    source.rename(house.folder / "mail" / "away")
    source.write_text("no folder")
    done = hexem1(*LATER, "gm", "hexem1", "RUN NOW")
    assert done.code == 75
    assert "put off" in done.out


def test_orders_are_opened_only_as_gm_and_the_history_says_so(hexem1: Command) -> None:
    hexem1(*CLOCK, "receive", stdin=mail("BID z 2"))
    sealed = hexem1(*LATER, "orders", "hexem1", "--seat", "Ann")
    assert (sealed.code, sealed.out) == (2, "")
    assert "--as-gm" in sealed.err
    opened = hexem1(*LATER, "orders", "hexem1", "--seat", "ann", "--as-gm", "--json")
    assert json.loads(opened.out) == {"match": "hexem1", "seat": "Ann", "orders": "BID z 2"}
    hexem1(*CLOCK, "receive", stdin=mail("Dear all,\n\nBID z 3\n\nBIDD y 1\n\nLove", number=2))
    plain = hexem1(*LATER, "orders", "hexem1", "--seat", "Ann", "--as-gm")
    assert plain.out == "BID z 3\nBIDD y 1\n"
    none = hexem1(*LATER, "orders", "hexem1", "--seat", "Bob", "--as-gm")
    assert none.out == "Bob has sent no orders\n"
    assert hexem1(*LATER, "orders", "hexem1", "--seat", "Zoe", "--as-gm").code == 2


def test_status_answers_three_questions_at_a_glance(hexem1: Command) -> None:
    hexem1(*CLOCK, "receive", stdin=mail("BID z 2"))
    hexem1(*CLOCK, "tick")
    seen = hexem1(*LATER, "status")
    assert seen.code == 0
    heading, row, empty, *rest = seen.out.splitlines()
    assert heading.split() == ["match", "game", "phase", "due", "sent", "missing"]
    assert " ".join(row.split()) == (
        "hexem1 hexem countries 0 Sun 2026-12-06 20:00 Europe/Berlin (Sun 19:00Z) "
        "in 5 days 6 hours Ann Bob"
    )
    assert empty == ""
    assert rest == [
        "! the last tick was 2026-12-01T12:00:00+00:00; is cron or the daemon at work?",
        "1 match; letters: 0 queued, 0 failed, 0 shunted; last tick: 2026-12-01T12:00:00+00:00",
    ]
    hexem1(*LATER, "tick")
    assert hexem1(*LATER, "status").out.splitlines()[-1] == "Nothing is stuck."


def test_status_says_what_is_stuck_and_why(hexem1: Command) -> None:
    hexem1(*CLOCK, "tick")
    hexem1(*CLOCK, "gm", "hexem1", "HOLD")
    seen = hexem1(*CLOCK, "status")
    assert seen.code == 0
    assert "! hexem1 is held: by the game master; `pbem gm hexem1 RELEASE` lets it go" in seen.out
    found = json.loads(hexem1(*CLOCK, "status", "hexem1", "--json").out)
    assert found["matches"][0]["state"] == "held"
    assert len(found["stuck"]) == 1


@pytest.mark.parametrize(
    ("tries", "why", "said"),
    [
        (0, "", ""),
        # Some process may have it in hand.
        (1, "", ""),
        (2, "", "! hexem1: its turn has failed 2 times: the process ended each time"),
        (1, "KeyError: 'x'", "! hexem1: its turn has failed once: KeyError: 'x'"),
    ],
)
def test_status_tells_of_a_turn_that_fails_and_not_of_one_that_is_just_tried(
    hexem1: Command, house: Config, tries: int, why: str, said: str
) -> None:
    hexem1(*CLOCK, "tick")
    engine = store.open(house.database_url)
    with store.writing(engine) as session:
        session.execute(update(store.Match).values(tries=tries, why=why))
    engine.dispose()
    seen = hexem1(*CLOCK, "status")
    assert seen.code == (1 if said else 0)
    assert [line for line in seen.out.splitlines() if "hexem1:" in line] == [said] * bool(said)


def test_fact_116_letters_that_a_broken_template_stops_are_stuck_and_tick_says_what_to_do(
    hexem1: Command, house: Config
) -> None:
    config = house.folder / "pbem.toml"
    config.write_text(config.read_text("utf-8").replace('templates = ""', 'templates = "own"'))
    broken = house.folder / "own" / "welcome" / "body.txt"
    broken.parent.mkdir(parents=True)
    broken.write_text("{{ nobody }}")
    ticked = hexem1(*CLOCK, "tick")
    assert ticked.code == 2
    lines = ticked.err.splitlines()
    assert len(lines) == 2
    assert all("'nobody' is undefined" in line and "`pbem doctor`" in line for line in lines)
    seen = hexem1(*CLOCK, "status")
    assert "! 2 letters could not be sent when last tried: " in seen.out
    assert "Nothing is stuck" not in seen.out
    assert "2 could not be sent: " in hexem1(*CLOCK, "doctor").out
    broken.unlink()
    assert hexem1("--clock", "2026-12-01T12:02:00+00:00", "send").out == "2 sent\n"
    assert "Nothing is stuck" in hexem1(*CLOCK, "status").out


@pytest.mark.parametrize("order", ["REPLACE Bob WITH Cy {}", "ADDRESS Bob {}"])
@pytest.mark.parametrize("address", ["game@example.org", "GAME+hexem1@example.org"])
def test_no_seat_is_given_the_programs_own_address(
    hexem1: Command, order: str, address: str
) -> None:
    done = hexem1(*CLOCK, "gm", "hexem1", order.format(address))
    assert done.code == 1
    assert "that address is the program's own" in done.err
    assert hexem1(*CLOCK, "gm", "hexem1", order.format("cy@example.org")).code == 0


def test_resume_proposes_and_with_yes_sets_new_deadlines(hexem1: Command) -> None:
    late = ("--clock", "2026-12-29T12:00:00+00:00")
    assert hexem1(*CLOCK, "resume").out == "nothing is overdue\n"
    ticked = hexem1(*late, "tick")
    assert "hexem1: overdue" in ticked.err
    assert ticked.code == 0
    # What the game master knows is not said every minute.
    assert hexem1("--clock", "2026-12-29T12:01:00+00:00", "tick").err == ""
    told = "hexem1: Sun 2027-01-03 20:00 +0100 (Europe/Berlin), 2027-01-03T19:00:00Z"
    assert hexem1(*late, "resume").out == f"{told} (with --yes)\n"
    assert hexem1(*late, "resume", "--yes").out == f"{told}\n"
    assert hexem1(*late, "resume").out == "nothing is overdue\n"
    assert hexem1(*late, "resume", "nowhere").code == 2


def test_a_first_turn_that_waits_is_said_once(hexem1: Command) -> None:
    first = hexem1(*DUE, "tick")
    assert (first.code, first.err) == (
        0,
        "pbem: hexem1: waiting: no orders yet from Ann, Bob\n",
    )
    assert hexem1("--clock", "2026-12-06T19:02:00+00:00", "tick").err == ""


def test_letters_lists_what_came_and_left_and_letter_shows_one(hexem1: Command) -> None:
    raw = mail("BID z 2")
    hexem1(*CLOCK, "receive", stdin=raw)
    hexem1(*CLOCK, "tick")
    found = json.loads(hexem1("letters", "--json").out)
    assert [(one["id"], one["direction"], one["kind"], one["status"]) for one in found] == [
        ("in1", "in", "mail", "filed"),
        ("out1", "out", "welcome", "sent"),
        ("out2", "out", "welcome", "sent"),
        ("out3", "out", "receipt", "sent"),
    ]
    assert set(found[0]) == {"id", "direction", "match", "seat", "kind", "status", "time", "why"}
    assert "hexem1/Ann" in hexem1("letters").out
    assert hexem1("letters", "--failed").out == "no letters\n"
    assert hexem1("letters", "--shunted", "--json").out == "[]\n"
    shown = hexem1("letter", "in1")
    assert shown.out.startswith("in1: filed\n\nFrom: Ann <ann@example.org>")
    assert shown.out.splitlines()[-1].startswith("BID")
    left = hexem1("letter", "out1").out
    assert "\nSubject: [hexem1]" in left
    assert "base64" not in left
    assert hexem1("letter", "in1", "--raw").out.encode() == raw
    assert hexem1("letter", "in9").code == 2
    assert hexem1("letter", "out1", "--retry").code == 2
    assert "taken in already" in hexem1("letter", "in1", "--retry").err


def test_a_shunted_mail_is_taken_in_again_as_of_its_receipt(
    hexem1: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pbem.games import hexem

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(hexem, "check", broken)
        hexem1(*CLOCK, "receive", stdin=mail("BID z 2"))
    listed = hexem1("letters", "--shunted").out
    assert listed.split()[1:4] == ["in1", "shunted", "mail"]
    assert "ZeroDivisionError" in listed
    assert hexem1(*DUE, "letter", "in1", "--retry").out == "in1: filed\n"
    assert json.loads(hexem1("status", "--json").out)["matches"][0]["sent"] == ["Ann"]


def test_new_with_open_seats_waits_for_who_joins(pbem: Command) -> None:
    made = pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS[:2], "--open", "1", "--json")
    assert json.loads(made.out) == {"match": "hexem1", "deadline": None, "seats": ["Ann"]}
    seen = json.loads(pbem(*CLOCK, "status", "--json").out)["matches"][0]
    assert (seen["state"], seen["open_seats"], seen["turn"]) == ("open", 1, 0)
    assert "open: 1 to join" in pbem(*CLOCK, "status").out
    assert "has not begun" in pbem("show", "hexem1").err


def test_doctor_says_ok_or_what_to_do_and_exits_1_with_a_fault(
    hexem1: Command, house: Config
) -> None:
    hexem1(*CLOCK, "tick")
    well = hexem1(*CLOCK, "doctor")
    assert well.code == 0
    assert all(line.startswith("ok ") for line in well.out.splitlines())
    text = (house.folder / "pbem.toml").read_text()
    (house.folder / "pbem.toml").write_text(text.replace('kind = "maildir"', 'kind = "pop3"'))
    ill = hexem1(*CLOCK, "doctor", "--json")
    assert ill.code == 1
    faults = [one for one in json.loads(ill.out) if not one["ok"]]
    assert [one["check"] for one in faults] == ["source 1", "sender"]
    assert all(set(one) == {"check", "ok", "why", "remedy"} for one in faults)
    (house.folder / "pbem.toml").unlink()
    assert hexem1("doctor").code == 1


def test_two_ticks_and_a_daemon_at_the_same_moment_run_each_turn_once(
    hexem1: Command, house: Config
) -> None:
    for number, (seat, address) in enumerate((("Ann", "ann"), ("Bob", "bob"))):
        raw = mail("BID z 1", number=number, sender=f"{seat} <{address}@example.org>")
        hexem1(*CLOCK, "receive", stdin=raw)
    command = [sys.executable, "-m", "pbem", *DUE]
    here = {"cwd": house.folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    daemon = subprocess.Popen([*command, "daemon", "--every", "0.2"], text=True, **here)
    assert daemon.stderr is not None
    assert daemon.stderr.readline() == "pbem: daemon started\n"
    ticks = [subprocess.Popen([*command, "tick"], text=True, **here) for _ in range(2)]
    codes = [tick.wait(timeout=60) for tick in ticks]
    for tick in ticks:
        tick.communicate()
    assert set(codes) <= {0, 75}
    daemon.terminate()
    said = daemon.communicate(timeout=60)[1]
    assert daemon.returncode == 0
    assert said.endswith("pbem: daemon stopped\n")
    hexem1("--clock", "2026-12-06T19:02:00+00:00", "tick")
    seen = json.loads(hexem1("status", "--json").out)["matches"][0]
    assert (seen["turn"], seen["phase"]) == (1, "muster")
    kinds = [one["kind"] for one in json.loads(hexem1("letters", "--json").out)]
    assert sorted(kinds) == ["mail"] * 2 + ["receipt"] * 2 + ["report"] * 2 + ["welcome"] * 2
    sent = list(Path(house.folder / "mail" / "out" / "new").iterdir())
    assert len(sent) == 6


@pytest.fixture
def damaged(hexem1: Command, house: Config) -> Command:
    """A second match beside the first, whose state can't be read."""
    made = hexem1(*CLOCK, "new", "hexem", "well", *SEATS, "--schedule", "weekly Sun 20:00")
    assert made.code == 0
    engine = store.open(house.database_url)
    with store.writing(engine) as session:
        row = store.match_named(session, "hexem1")
        assert row is not None
        session.execute(update(store.Turn).where(store.Turn.match_id == row.id).values(state=[1]))
    engine.dispose()
    return hexem1


@pytest.mark.parametrize(
    ("command", "fault"),
    [(("show", "hexem1"), KeyError), (("run", "--match", "hexem1", "--dry-run"), ValueError)],
)
def test_what_nobody_thought_of_is_told_in_one_line_with_its_place(
    hexem1: Command,
    house: Config,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    fault: type[Exception],
) -> None:
    engine = store.open(house.database_url)
    with store.writing(engine) as session:
        session.execute(update(store.Match).values(zone="Mars/Phobos"))
    engine.dispose()
    with pytest.raises(fault, match="Mars/Phobos"):
        hexem1(*LATER, *command)
    monkeypatch.delenv("PBEM_TRACEBACK")
    told = hexem1(*LATER, *command)
    assert (told.code, told.out) == (1, "")
    line = r"pbem: \w+: .*Mars/Phobos.* \(\w+\.py, line \d+\); `pbem doctor` names .*\n"
    assert re.fullmatch(line, told.err)


@pytest.mark.parametrize("command", [("gm", "hexem1", "STATUS"), ("export", "hexem1")])
def test_a_game_that_has_been_uninstalled_is_told_in_one_line(
    hexem1: Command, house: Config, command: tuple[str, ...]
) -> None:
    engine = store.open(house.database_url)
    with store.writing(engine) as session:
        session.execute(update(store.Match).values(game="chess"))
    engine.dispose()
    told = hexem1(*LATER, *command)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("pbem: no game is called 'chess'; there are: alphabet, ")


UNREADABLE = "hexem1: the state after turn 0 can't be read: "


def test_status_shows_the_other_matches_where_one_cant_be_read(damaged: Command) -> None:
    told = damaged(*LATER, "status")
    assert (told.code, told.err) == (1, "")
    assert "well" in told.out
    assert UNREADABLE in " ".join(told.out.split())
    as_json = damaged(*LATER, "status", "--json")
    assert as_json.code == 1
    assert [bool(one["fault"]) for one in json.loads(as_json.out)["matches"]] == [True, False]
    assert damaged(*LATER, "status", "well").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("show", "hexem1"),
        ("show", "hexem1", "--json"),
        ("run", "--match", "hexem1", "--dry-run"),
        ("run", "--match", "hexem1", "--dry-run", "--json"),
        ("gm", "hexem1", "STATUS"),
    ],
    ids=" ".join,
)
def test_a_match_that_cant_be_read_is_named_with_fault_and_remedy(
    damaged: Command, command: tuple[str, ...]
) -> None:
    told = damaged(*LATER, *command)
    assert (told.code, told.out) == (1, "")
    assert told.err.count("\n") == 1
    assert UNREADABLE in told.err
    assert "restore a backup" in told.err


def test_tick_and_run_exit_1_as_long_as_a_match_is_held_by_a_fault(damaged: Command) -> None:
    ticked = [damaged("--clock", f"2026-12-06T19:0{number}:00Z", "tick") for number in range(1, 6)]
    assert [one.code for one in ticked] == [1] * 5
    assert [bool(one.err) for one in ticked] == [True, True, True, False, False]
    late = ("--clock", "2026-12-06T19:06:00Z", "run")
    runs = [damaged(*late), damaged(*late, "--match", "hexem1"), damaged(*late, "--match", "well")]
    assert [one.code for one in runs] == [1, 1, 0]


def test_resume_proposes_a_deadline_for_the_others_where_one_cant_be_read(
    damaged: Command,
) -> None:
    late = ("--clock", "2026-12-20T12:00:00Z")
    told = damaged(*late, "resume", "--yes")
    assert told.code == 1
    assert UNREADABLE in told.err
    assert told.out.startswith("well: ")
    assert damaged(*late, "resume").out == "" != damaged(*late, "resume").err
