"""Commands of the archive: the static site, export, import, verify."""

import os
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pbem import cli
from pbem.cli import DONE, FAILED, Desk
from pbem.cli.matches import AsJson, MatchName, check_name, find
from pbem.faults import Away, Wrong

app = typer.Typer()

_BASE = re.compile(r"https?://[^\s<>\"']+")

ExportFile = Annotated[Path, typer.Argument(metavar="FILE", help="An export; - reads it.")]


@app.command()
def archive(
    context: typer.Context,
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]", help="Only this one.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where it is built.")] = Path("archive"),
    url: Annotated[
        str, typer.Option(metavar="BASE", help="Where it will be found, for its feeds' links.")
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Build the static site of all matches, or of one; only what has changed is built again."""
    from pbem import store
    from pbem.archive import site
    from pbem.archive.sources import sources

    desk: Desk = context.obj
    config = desk.config()
    if url and not _BASE.fullmatch(url):
        raise Wrong(f"--url {url}: write the address of the archive's folder, https://…")
    engine = desk.engine(config)
    with store.alone(engine, "archive") as is_ours:
        if not is_ours:
            raise Away(f"{out}: an archive is being built already; try again when it is done")
        place = site.Place(
            out, f"{config.game_master.name}'s matches", config.templates_folder, url
        )
        built = site.build(place, sources(engine, match))
    if as_json:
        cli.say_json({**asdict(built), "folder": str(built.folder)})
    else:
        cli.say(built.told())
    for name, why in built.failed.items():
        cli.warn(f"{name}: not built, its pages are as they were: {why}")
    return FAILED if built.failed else DONE


@app.command()
def export(
    context: typer.Context,
    match: MatchName,
    turn: Annotated[
        int | None, typer.Option(metavar="N", help="A case file up to this turn, for judge.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; else standard output.")
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Only what everybody may know.")] = False,
) -> None:
    """Write a match as one JSON file: to keep, import, verify, or with --turn to judge."""
    from pbem import store
    from pbem.archive import casefile, exported, record

    desk: Desk = context.obj
    engine = desk.engine(desk.config())
    with (store.reading if public else store.writing)(engine) as session:
        row = find(session, match)
        if public:
            found = record.published(record.recorded(session, row))
        else:
            found = record.opened(session, row, desk.now)
        is_over = row.status == "over"
        keeps = not is_over or row.settings.get("reveal") == "never"
        is_sealed = not public and (turn is None or keeps)
        if turn is not None:
            try:
                found = casefile.case(found, turn)
            except ValueError as error:
                raise Wrong(f"--turn {turn}: {error}") from None
    _write(exported.written(found), out, is_sealed)
    if is_sealed and not is_over:
        cli.warn(
            f"this holds the secrets of {match}, its seed and sealed orders: keep it to yourself; "
            "the history and the next report say that it was made"
        )
    elif is_sealed:
        secrets = "seed and orders, " if keeps else ""
        cli.warn(
            f"this holds what is never published of {match}: {secrets}press to you, who wrote "
            "without a name, sheets that were replaced; --public leaves it out"
        )


def _write(text: str, out: Path | None, is_sealed: bool) -> None:
    """Write to standard output, or a file whole or not at all; secrets for its owner alone."""
    if out is None or str(out) == "-":
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
        return
    try:
        if out.exists() and not out.is_file():
            out.write_bytes(text.encode())
            return
        beside = out.with_name(f".{out.name}.{os.getpid()}")
        made = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if is_sealed else 0o666)
        try:
            with os.fdopen(made, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            beside.replace(out)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Wrong(f"--out {out}: {error.strerror}; name a file that can be written") from None


@app.command("import")
def bring(
    context: typer.Context,
    file: ExportFile,
    name: Annotated[
        str | None, typer.Option("--as", metavar="MATCH", help="Another name for it.")
    ] = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Even if its turns don't come out as they stand.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make the match that an export holds, with all its turns; its seats are vacant at first."""
    from pbem import store
    from pbem.archive import importing

    desk: Desk = context.obj
    record = _read(file)
    wanted = record["match"] if name is None else name
    check_name(wanted, "MATCH" if name is None else "--as")
    with store.writing(desk.engine(desk.config())) as session:
        try:
            made = importing.bring(session, record, wanted, desk.now, unverified=unverified)
        except ValueError as error:
            raise Wrong(f"{file}: {error}") from None
        seats = [seat.name for seat in made.seats]
        status, turn = made.status, made.turn
    if as_json:
        cli.say_json({"match": wanted, "state": status, "turn": turn, "seats": seats})
        return
    cli.say(f"{wanted}: {record['game']} for {', '.join(seats) or 'nobody yet'}, {status}")
    if status in ("held", "open"):
        cli.say(f'Its seats are vacant: pbem gm {wanted} "ADDRESS <seat> <address>" for each')
        cli.say("(or REPLACE <seat> WITH <name> <address> where somebody else takes it).")
    if status == "held":
        cli.say(f"Then it goes on by: pbem gm {wanted} RELEASE")


@app.command()
def verify(context: typer.Context, file: ExportFile, as_json: AsJson = False) -> int:
    """Replay an exported match from its seed and orders, and compare every turn."""
    from pbem.archive import verifying

    del context
    record = _read(file)
    try:
        difference = verifying.first_difference(record)
    except ValueError as error:
        raise Wrong(f"{file}: {error}") from None
    programs = verifying.programs(record)
    turns = max(0, len(record["turns"]) - 1)
    if as_json:
        cli.say_json(
            {
                "file": str(file),
                "match": record["match"],
                "ok": difference is None,
                "turns": turns,
                "seed_sha256": record["seed_sha256"],
                "orders_sha256": verifying.orders_hash(record),
                "rests_on": verifying.rests_on(record),
                "programs": programs,
                "difference": None if difference is None else asdict(difference),
            }
        )
    elif difference is None:
        count = "1 turn" if turns == 1 else f"{turns} turns"
        cli.say(
            f"ok {file}: {record['match']}, {count} replayed, all as in the file; in the first "
            f"letter the SHA-256 of the seed must be {record['seed_sha256']}"
        )
        for sentence in verifying.rests_on(record):
            cli.say(f"   {sentence}")
    else:
        cli.say(f"FAIL {file}: {difference}{programs and f' ({programs})'}")
    return DONE if difference is None else FAILED


def _read(file: Path) -> dict[str, Any]:
    from pbem.archive import exported

    try:
        if str(file) == "-":
            raw = cli.stdin().read(exported.LARGEST + 1)
        else:
            with file.open("rb") as opened:
                raw = opened.read(exported.LARGEST + 1)
        return exported.read(raw)
    except OSError as error:
        raise Wrong(f"{file}: {error.strerror}; name a file that can be read") from None
    except ValueError as error:
        raise Wrong(f"{file}: {error}; take the file as `pbem export` wrote it") from None
