"""Commands that need no match: set-up, demo, case files, reading a mail, boards, rules."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pbem import cli
from pbem.cli import FAILED, Desk
from pbem.faults import Away, Wrong

app = typer.Typer()

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def init(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Where to set up.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
) -> None:
    """Write a commented pbem.toml and create the database."""
    from pbem import config, post, store
    from pbem.post import maildir, settings

    del yes
    desk: Desk = context.obj
    path = desk.path if folder is None else folder / "pbem.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(config.TEXT)
        cli.say(f"wrote {path}")
    except FileExistsError:
        cli.say(f"kept {path}, which was there")
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}; choose a folder that can be written") from None
    read = Desk(path, desk.clock).config()
    places: list[settings.SourceSettings | settings.SenderSettings] = [
        settings.read_source(table, "source", read.folder) for table in read.sources
    ]
    if read.sender:
        places.append(settings.read_sender(read.sender, "sender", read.folder))
    try:
        for place in places:
            if isinstance(place, settings.MaildirSettings):
                maildir.make(place.path)
    except post.Unreachable as error:
        raise Away(str(error)) from None
    created = store.create(read.database_url)
    cli.say(f"database {store.shown(read.database)}: {'created' if created else 'ready'}")


@app.command()
def demo(
    context: typer.Context,
    folder: Annotated[Path, typer.Option(help="Where everything is put.")] = Path("demo"),
    seed: Annotated[str, typer.Option(help="The secret the dice are drawn from.")] = "demo",
) -> None:
    """Play whole matches with scripted players over a local Maildir post office."""
    from pbem import demo as play

    del context
    for line in play.run(folder, seed):
        cli.say(line)


@app.command()
def judge(
    context: typer.Context,
    cases: Annotated[list[Path], typer.Argument(metavar="CASE…", help="Case files.")],
    check: Annotated[bool, typer.Option("--check", help="Compare with what is expected.")] = False,
    as_json: AsJson = False,
) -> int:
    """Play case files without database or mail."""
    from pbem import judge

    del context
    if check:
        failed = 0
        checked: list[dict[str, Any]] = []
        for path in cases:
            found = judge.check(path)
            failed += bool(found)
            if as_json:
                checked.append({"file": str(path), "ok": not found, "differences": found})
            else:
                cli.say(f"FAIL {path}: {found[0]}" if found else f"ok {path}")
        if as_json:
            cli.say_json(checked)
        else:
            cli.say(f"{len(cases) - failed} passed, {failed} failed")
        return FAILED if failed else 0
    results: list[dict[str, Any]] = []
    lines: list[str] = []
    for path in cases:
        try:
            case = judge.read(path)
            played = judge.play(case)
        except ValueError as error:
            raise Wrong(f"{path}: {error}; mend the case") from None
        results.append({"file": str(path), "turns": played})
        if not as_json:
            told = judge.report(case, played)
            lines += [f"{path}:", *(f"  {line}".rstrip() for line in told)]
    if as_json:
        cli.say_json(results if len(results) > 1 else {"turns": results[0]["turns"]})
    for line in lines:
        cli.say(line)
    return 0


@app.command()
def read(
    context: typer.Context,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE…]", help="Raw messages.")
    ] = None,
    game: Annotated[str | None, typer.Option(metavar="KEY", help="Read for one game.")] = None,
    roster: Annotated[Path | None, typer.Option(help="Who plays; judges the sender too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what the program would make of raw messages, without a database."""
    from pbem import reading

    del context
    messages: list[tuple[str | None, bytes]]
    try:
        if files:
            messages = [(str(path), path.read_bytes()) for path in files]
        else:
            messages = [(None, cli.stdin().read())]
        found = reading.read_mails(messages, game, roster)
    except OSError as error:
        raise Wrong(f"{error.filename}: {error.strerror}; name a file that can be read") from None
    except ValueError as error:
        raise Wrong(str(error)) from None
    if as_json:
        cli.say_json(found if files and len(files) > 1 else found[0])
        return
    for one in found:
        name = f"{one['file']}: " if "file" in one else ""
        cli.say(f"{name}{one['action']}: {one['why']}")
        for line in one["lines"]:
            cli.say(f"  {line}")


@app.command()
def board(
    context: typer.Context,
    countries: Annotated[int, typer.Option(help="How many countries.")] = 4,
    hexes: Annotated[int | None, typer.Option(help="Hexes of a country.")] = None,
    armies: Annotated[int | None, typer.Option(help="Armies on each hex.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed makes the same board.")] = None,
) -> None:
    """Make a Hexem board file on standard output."""
    from pbem.games.hexem import generator

    del context
    given: dict[str, Any] = {"hexes": hexes, "armies": armies, "seed": seed}
    try:
        text = generator.make_board(
            countries, **{name: value for name, value in given.items() if value is not None}
        )
    except ValueError as error:
        raise Wrong(str(error)) from None
    cli.say(text.rstrip("\n"))


@app.command()
def rules(
    context: typer.Context,
    game: Annotated[str, typer.Argument(metavar="GAME")],
    options: Annotated[bool, typer.Option("--options", help="List the game's options.")] = False,
) -> None:
    """Print the rules a player is sent, or the options of a game with their defaults."""
    from pbem import game as games
    from pbem.reports import rules
    from pbem.settings import SETTINGS

    del context
    try:
        found = games.named(game)
    except ValueError as error:
        raise Wrong(str(error)) from None
    if options:
        for title, table in ((f"options of {game}", found.OPTIONS), ("of every match", SETTINGS)):
            cli.say(f"{title}:")
            for option in table:
                shown = "" if option.default is None else f" (default {option.default})"
                cli.say(f"  {option.name:16}{option.help}{shown}")
        return
    options_given = games.read_options(found.OPTIONS, {}, found.KEY)
    cli.say(rules(found.KEY, options_given).rstrip("\n"))
