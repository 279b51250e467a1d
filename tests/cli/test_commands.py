"""The commands as they are typed: answers on standard output, one line for what is wrong, codes."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pbem import cli, config
from pbem.config import Config
from tests.conftest import mail

SEATS = ("--seat", "Ann <ann@example.org>", "--seat", "Bob <bob@example.org>")
CLOCK = ("--clock", "2026-12-01T12:00:00+00:00")


def test_a_match_played_by_hand(pbem, house: Config) -> None:  # type: ignore[no-untyped-def]
    options = ("--option", "trust=address", "--schedule", "weekly Sun 20:00")
    made = pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS, *options, "--json")
    assert made.code == 0
    assert json.loads(made.out) == {
        "match": "hexem1",
        "deadline": "2026-12-06T20:00:00+00:00",
        "seats": ["Ann", "Bob"],
    }
    assert pbem(*CLOCK, "receive", stdin=mail("BID y 2")).code == 0
    seen = json.loads(pbem(*CLOCK, "status", "--json").out)
    assert seen["matches"][0]["sent"] == ["Ann"]
    assert seen["matches"][0]["missing"] == ["Bob"]
    assert set(seen) >= {"now", "matches", "letters", "last_tick"}
    bob = mail("BID z 1", number=2, sender="bob@example.org")
    assert pbem(*CLOCK, "receive", stdin=bob).code == 0
    assert pbem(*CLOCK, "tick").out == "4 sent\n"
    assert pbem(*CLOCK, "tick").out == ""
    ran = pbem("--clock", "2026-12-06T20:00:30+00:00", "tick")
    assert "hexem1: turn run" in ran.out
    shown = json.loads(pbem("show", "hexem1", "--seat", "Ann", "--json").out)
    assert (shown["phase"], shown["turn"], shown["seat"]) == ("muster", 1, "Ann")
    told = pbem("show", "hexem1").out
    assert "the board" in told.lower()
    assert "answer this letter" not in told.lower()


def test_run_now_and_dry_run(pbem) -> None:  # type: ignore[no-untyped-def]
    pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS)
    seen = json.loads(pbem(*CLOCK, "run", "--match", "hexem1", "--dry-run", "--json").out)
    assert seen["state"]["phase"] == "muster"
    told = pbem(*CLOCK, "run", "--match", "hexem1", "--dry-run").out
    head = ["hexem1: turn 1 would lead to muster", "then waiting for: Ann, Bob", "refused: nothing"]
    assert told.splitlines()[:3] == head
    assert "the board" in told.lower()
    assert "{" not in told
    assert json.loads(pbem("show", "hexem1", "--json").out)["phase"] == "countries"
    assert pbem(*CLOCK, "run", "--match", "hexem1", "--now").out == "hexem1: ran\n"
    assert json.loads(pbem("show", "hexem1", "--json").out)["phase"] == "muster"


@pytest.mark.parametrize(
    ("order", "outcome", "why"),
    [("HOLD", "held", "by the game master"), ("END", "over", "")],
)
def test_run_says_of_a_match_that_does_not_run_how_it_stands(
    pbem,  # type: ignore[no-untyped-def]
    order: str,
    outcome: str,
    why: str,
) -> None:
    pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS)
    assert json.loads(pbem(*CLOCK, "run", "--match", "hexem1", "--json").out) == []
    pbem(*CLOCK, "gm", "hexem1", order)
    told = pbem(*CLOCK, "run", "--match", "hexem1", "--now", "--json")
    assert told.code == 0
    [entry] = json.loads(told.out)
    assert entry == {"match": "hexem1", "outcome": outcome, "why": why, "news": False}
    said = pbem(*CLOCK, "run", "--match", "hexem1", "--now").out
    assert said == f"hexem1: {outcome}{why and ': '}{why}\n"


def test_run_says_of_a_match_with_open_seats_that_it_has_not_begun(pbem) -> None:  # type: ignore[no-untyped-def]
    pbem(*CLOCK, "new", "hexem", "hexem1", "--open", "2")
    told = pbem(*CLOCK, "run", "--match", "hexem1", "--now", "--json")
    assert [one["outcome"] for one in json.loads(told.out)] == ["open"]


def test_a_mail_that_is_too_large_is_taken_by_its_head_and_answered(pbem, house: Config) -> None:  # type: ignore[no-untyped-def]
    pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS, "--option", "trust=address")
    (house.folder / "pbem.toml").write_text(
        config.TEXT.replace("size_limit = 10_000_000", "size_limit = 1000")
    )
    taken = pbem(*CLOCK, "receive", stdin=mail("BID y 1\n" + "x" * 5000))
    assert taken.code == 0
    assert "refused" in taken.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("new", "chess", "m", *SEATS), "no game is called 'chess'; there are:"),
        (("new", "hexem", "Big Match", *SEATS), "MATCH 'Big Match': no name for a match; use a-z"),
        (("new", "hexem", "m", "--seat", "Ann"), "--seat 'Ann': write it as"),
        (("new", "hexem", "m", "--seat", "Ann <ann>"), "--seat 'Ann <ann>': write it as"),
        (
            ("new", "hexem", "m", *SEATS, "--seat", "ann <a@example.org>"),
            "two seats have",
        ),
        (("new", "hexem", "m", "--seat", "GM <a@example.org>"), "that name means something else"),
        (("new", "hexem", "m", "--seat", "Ready <a@example.org>"), "'Ready': that name means"),
        (("new", "hexem", "m", "--seat", "Muster <a@example.org>"), "'Muster': that name means"),
        (("new", "hexem", "m", "--seat", "End Orders <a@example.org>"), "means something else"),
        (("new", "hexem", "m", "--seat", "- <a@example.org>"), "begin the name with a word"),
        (("new", "hexem", "m", "--seat", "12 <a@example.org>"), "begin the name with a word"),
        (("new", "hexem", "m", "--seat", "Ann; Bob <a@example.org>"), "none of ,;"),
        (
            ("new", "hexem", "m", *SEATS, "--seat", "Аnn <c@example.org>"),
            "or one that reads like it (Ann); make them differ",
        ),
        (("new", "hexem", "m", "--seat", "Cy <game@example.org>"), "the program's own"),
        (("new", "hexem", "m", "--seat", "Cy <Game+x@Example.org>"), "the program's own"),
        (
            ("new", "hexem", "m", "--seat", "Cy <cy@example.org> <cy@-exämple-.org>"),
            "cy@-exämple-.org: a part of its host, -exämple-, begins or ends with a hyphen; write",
        ),
        (("new", "hexem", "m", "--seat", "Cy <a@b..org>"), "a@b..org: its host, b..org, has"),
        (("serve-lmtp", "--also", "a@b..org"), "--also 'a@b..org': its host, b..org, has nothing"),
        (("serve-lmtp", "--also", "@-b.org"), "--also '@-b.org': a part of its host, -b, begins"),
        (("serve-lmtp", "--also", "example.org"), "write it as name@host, or @host for all there"),
        (("new", "hexem", "m", *SEATS, "--zone", "Mars/Phobos"), "no time zone is called"),
        (
            ("new", "hexem", "m", *SEATS, "--schedule", "whenever"),
            "schedule 'whenever'",
        ),
        (("new", "hexem", "m", *SEATS, "--option", "board=@gone.txt"), "gone.txt: No such file"),
        (("new", "hexem", "m", *SEATS, "--option", "board=a ? b"), "option board"),
        (("new", "hexem", "m", *SEATS, "--option", "turns"), "write it as name=value"),
        (("new", "hexem", "m", *SEATS, "--option", "nonsense=1"), "has no option 'nonsense'"),
        (("new", "hexem", "m", "--open", "-2"), "--open -2"),
        (("new", "hexem", "m", "--open", "20"), "no board for 20 seats"),
        (
            ("new", "offices", "o1", "--open", "3", "--schedule", "muser: weekly Sun 20:00"),
            "offices has no phase 'muser'; there are: auction, income, decision",
        ),
        (("show", "nowhere"), "no match is called 'nowhere'; there are: none"),
        (("status", "nowhere"), "no match is called 'nowhere'"),
        (("run", "--match", "nowhere"), "no match is called 'nowhere'"),
        (("run", "--now"), "say which match with --match"),
        (("--clock", "yesterday", "status"), "--clock: 'yesterday' is no time"),
        (("--config", "gone.toml", "status"), "gone.toml: no such file; `pbem init` writes one"),
        (("frobnicate",), "No such command 'frobnicate'."),
        (("status", "--frob"), "No such option: --frob"),
        (("rules", "chess"), "no game is called 'chess'"),
        (("board", "--countries", "99"), "2 to 8"),
        (("judge", "gone.json"), "gone.json: can't be read"),
        (("read", "gone.eml"), "gone.eml: No such file"),
    ],
)
def test_wrong_usage_is_one_line_that_names_fault_and_remedy_and_exits_2(  # type: ignore[no-untyped-def]
    pbem, arguments: tuple[str, ...], message: str
) -> None:
    answer = pbem(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert message in answer.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "maildir"\npath = "mail/in"', 'kind = "pop3"', "source 1: kind is 'pop3'; write"),
        ('path = "mail/out"', 'pth = "mail/out"', "sender: no key 'pth'"),
    ],
)
def test_every_command_refuses_a_table_of_the_post_that_is_wrong(  # type: ignore[no-untyped-def]
    pbem, house: Config, old: str, new: str, message: str
) -> None:
    (house.folder / "pbem.toml").write_text(config.TEXT.replace(old, new))
    for command, code in (("status", 2), ("tick", 2), ("receive", 75)):
        answer = pbem(command, stdin=mail("BID y 1"))
        assert answer.code == code
        assert f"pbem.toml: {message}" in answer.err
        assert answer.err.count("\n") == 1


@pytest.mark.parametrize("words", [["--clock", "noon", "receive"], ["receive", "--recipent", "x"]])
def test_fact_118_a_slip_in_the_line_that_calls_receive_bounces_no_mail(
    pbem, words: list[str]
) -> None:  # type: ignore[no-untyped-def]
    answer = pbem(*words, stdin=mail("BID y 1"))
    assert answer.code == 75
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("fault", ["config", "database", "newer", "locked"])
def test_fact_118_receive_says_75_whatever_the_reason(pbem, house: Config, fault: str) -> None:  # type: ignore[no-untyped-def]
    import sqlite3

    path = house.folder / "pbem.sqlite"
    if fault == "config":
        (house.folder / "pbem.toml").write_text("databse = 1")
    elif fault == "database":
        path.unlink()
    elif fault == "newer":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.close()
    else:
        path.write_bytes(b"no database" * 1000)
    answer = pbem("receive", stdin=mail("BID y 1"))
    assert answer.code == 75
    assert answer.err.count("\n") == 1


def test_a_database_from_a_newer_version_is_named(pbem, house: Config) -> None:  # type: ignore[no-untyped-def]
    import sqlite3

    with sqlite3.connect(house.folder / "pbem.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    answer = pbem("status")
    assert answer.code == 2
    assert "its version 9999 is newer" in answer.err
    assert "install a newer pbem" in answer.err


def test_judge_checks_and_counts(pbem, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    case = {
        "game": "hexem",
        "seats": ["Ann", "Bob"],
        "state": {
            "phase": "muster",
            "turn": 3,
            "hexes": {
                "A1": {"owner": "Ann", "armies": 3},
                "A2": {"owner": "Bob", "armies": 1},
                "K1": {"owner": "Bob", "armies": 1},
            },
        },
        "turns": [
            {
                "orders": {"Ann": "MUSTER A2"},
                "expect": {"state": {"hexes": {"A2": {"owner": "Ann", "armies": 4}}}},
            }
        ],
    }
    good, bad, none = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "none.json"
    good.write_text(json.dumps(case))
    bad.write_text(json.dumps(case).replace('"armies": 4', '"armies": 5'))
    none.write_text("[]")
    answer = pbem("judge", "--check", str(good), str(bad), str(none))
    assert answer.code == 1
    assert answer.out.splitlines() == [
        f"ok {good}",
        f"FAIL {bad}: turn 1, state.hexes.A2.armies: 5 expected, 4 found",
        f"FAIL {none}: the case: an object is needed, not []",
        "1 passed, 2 failed",
    ]
    checked = pbem("judge", "--check", "--json", str(good), str(bad), str(none))
    assert checked.code == 1
    assert json.loads(checked.out) == [
        {"file": str(good), "ok": True, "differences": []},
        {
            "file": str(bad),
            "ok": False,
            "differences": ["turn 1, state.hexes.A2.armies: 5 expected, 4 found"],
        },
        {
            "file": str(none),
            "ok": False,
            "differences": ["the case: an object is needed, not []"],
        },
    ]
    assert pbem("judge", "--check", str(good)).code == 0
    # A list for one case too.
    assert len(json.loads(pbem("judge", "--check", "--json", str(good)).out)) == 1
    played = json.loads(pbem("judge", str(good), "--json").out)
    assert played["turns"][0]["refused"] == {"Ann": [], "Bob": [], "gm": []}
    assert [one["file"] for one in json.loads(pbem("judge", str(good), str(good), "--json").out)]


def test_rules_and_options_of_every_game(pbem) -> None:  # type: ignore[no-untyped-def]
    from pbem import game

    for key in game.installed():
        rules = pbem("rules", key)
        assert rules.code == 0
        assert max(map(len, rules.out.splitlines())) <= 72
        options = pbem("rules", key, "--options")
        assert "trust" in options.out


def test_board_makes_the_same_board_from_the_same_seed(pbem) -> None:  # type: ignore[no-untyped-def]
    one = pbem("board", "--countries", "3", "--seed", "7")
    assert one.code == 0
    assert one.out == pbem("board", "--countries", "3", "--seed", "7").out
    assert one.out != pbem("board", "--countries", "3", "--seed", "8").out


def test_control_characters_of_players_never_reach_the_terminal() -> None:
    assert cli.printable("a\x1b[31mred\x07\n\tb\u202e") == "a\ufffd[31mred\ufffd\n\tb\ufffd"


def test_init_twice_keeps_what_is_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pbem", "init", str(tmp_path / "games")]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "wrote" in first.stdout
    (tmp_path / "games" / "pbem.toml").write_text(config.TEXT + "# mine\n")
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "kept" in second.stdout
    assert (tmp_path / "games" / "pbem.toml").read_text().endswith("# mine\n")


def test_init_makes_the_maildirs_of_a_config_that_is_there(pbem, house: Config) -> None:  # type: ignore[no-untyped-def]
    text = config.TEXT.replace('"mail/in"', '"~/box"').replace('"mail/out"', '"post"')
    (house.folder / "pbem.toml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(house.folder / "home"))
        assert pbem("init").code == 0
        assert pbem("fetch").code == 0
    for box in (house.folder / "home" / "box", house.folder / "post"):
        assert sorted(folder.name for folder in box.iterdir()) == ["cur", "new", "tmp"]
    (house.folder / "pbem.toml").write_text(config.TEXT.replace('"mail/in"', '"mail"'))
    told = pbem("init")
    assert (told.code, told.err.count("\n")) == (75, 1)
    assert "it holds other things and no folder new" in told.err


@pytest.mark.parametrize("command", ["fetch", "tick", "run"])
def test_a_maildir_that_is_not_there_is_said_with_exit_75_and_no_turn_is_run(
    pbem,  # type: ignore[no-untyped-def]
    house: Config,
    command: str,
) -> None:
    pbem(*CLOCK, "new", "hexem", "hexem1", *SEATS, "--schedule", "weekly Sun 20:00")
    shutil.rmtree(house.folder / "mail" / "in")
    late = ("--clock", "2026-12-06T20:01:00Z")
    told = pbem(*late, command)
    assert told.code == 75
    assert "maildir mail/in: no folder new is there; mount it, make it (`pbem init`" in told.err
    assert json.loads(pbem("show", "hexem1", "--json").out)["turn"] == 0
    assert not (house.folder / "mail" / "in").exists()
    assert pbem("init").code == 0
    assert pbem(*late, command).code == 0


def test_a_tick_with_nothing_to_do_imports_nothing_it_does_not_need(house: Config) -> None:
    code = (
        "import sys; sys.argv = ['pbem', 'tick']\n"
        "from pbem import cli\n"
        "code = cli.answer(lambda: cli.app(standalone_mode=False))\n"
        "heavy = ('alembic', 'jinja2', 'imapclient', 'resvg_py', 'icalendar', 'css_inline',\n"
        "         'selectolax', 'rich', 'pbem.message', 'pbem.reports', 'pbem.games')\n"
        "print(code, [name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=house.folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0 []\n"
