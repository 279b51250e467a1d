"""Commands for the whole of the database: backup, restore, migrate-store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pbem import cli
from pbem.cli import Desk

if TYPE_CHECKING:
    from pbem.store.copying import Copied

app = typer.Typer()

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def backup(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to; an older one is replaced.")
    ],
    as_json: AsJson = False,
) -> None:
    """Save the database, which may be in use, as one SQLite file that only its owner can read."""
    from pbem.store import backups

    desk: Desk = context.obj
    replaced = backups.backup(desk.engine(desk.config()), file, desk.now)
    size = file.stat().st_size
    if as_json:
        cli.say_json({"file": str(file), "bytes": size, "replaced": replaced})
    else:
        older = ", in place of an older backup" if replaced else ""
        cli.say(f"saved {file} ({size:,} bytes){older}; it holds secrets: keep it as safe")


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    hold: Annotated[
        bool, typer.Option("--hold", help="Let no turn be run until you RELEASE its match.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put a backup back into the config's database, which may hold no matches."""
    from pbem import store
    from pbem.store import backups

    desk: Desk = context.obj
    engine = store.connect(desk.config().database_url)
    desk.opened.callback(engine.dispose)
    done = backups.restore(engine, file, desk.now, hold=hold)
    saved = done.saved.isoformat() if done.saved else None
    if as_json:
        cli.say_json(
            {
                "database": store.shown(engine),
                "saved": saved,
                "rows": done.copied.rows,
                "says": done.says,
                "remedies": done.remedies,
            }
        )
        return
    cli.say(f"put back {file}{f' of {saved}' if saved else ''} into {store.shown(engine)}")
    _say_rows(done.copied)
    for sentence in done.says:
        cli.say(f"- {sentence}")
    for remedy in done.remedies:
        cli.say(f"  {remedy}")


@app.command("migrate-store")
def migrate_store(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FROM", help="A database's URL.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another's, without matches.")],
    as_json: AsJson = False,
) -> None:
    """Copy an installation from one database into another, compared row by row."""
    from pbem import store
    from pbem.store import copying

    del context
    copied = copying.move(source, target)
    place = store.shown(target)
    if as_json:
        cli.say_json({"database": place, "rows": copied.rows})
        return
    _say_rows(copied)
    cli.say(f"all of it is in {place}, compared row by row; FROM is as it was")
    cli.say("now name TO as `database` in the config; what FROM took in meanwhile stays there")


def _say_rows(copied: "Copied") -> None:
    for table, count in copied.rows.items():
        cli.say(f"{count:>9,} {table}")
