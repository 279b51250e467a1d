"""Commands of the game master's day: gm, orders, status, letters, letter, doctor."""

import sys
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from pbem import cli
from pbem.cli import DONE, FAILED, LATER, Desk
from pbem.cli.matches import AsJson, MatchName, find
from pbem.faults import Damaged, Wrong

app = typer.Typer()


@app.command()
def gm(
    context: typer.Context,
    match: MatchName,
    order: Annotated[str, typer.Argument(metavar="ORDER", help="An order; - reads lines.")],
    as_json: AsJson = False,
) -> int:
    """Carry out a game master's order, or with - all lines of standard input."""
    from pbem import rounds, store

    desk: Desk = context.obj
    config = desk.config()
    engine = desk.engine(config)
    with store.reading(engine) as session:
        find(session, match)
    text = cli.stdin().read().decode("utf-8", "replace") if order == "-" else order
    obeyed = rounds.obey(engine, config, match, text, desk.now)
    if as_json:
        cli.say_json(
            {
                "match": match,
                "orders": [one._asdict() for one in obeyed.done],
                "ran": [one._asdict() for one in obeyed.ran],
            }
        )
    else:
        for one in obeyed.done:
            said = f"{one.text}: refused: {one.said}" if one.refused else one.said
            cli.warn(said) if one.refused else cli.say(said)
        for ran in obeyed.ran:
            cli.say(f"{ran.match}: {ran.outcome}{': ' + ran.why if ran.why else ''}")
    if not obeyed.done:
        raise Wrong(f"{text.strip()[:60]!r} is no game master's order; README.md lists them")
    outcomes = {ran.outcome for ran in obeyed.ran}
    if any(one.refused for one in obeyed.done) or outcomes & {"failed", "held"}:
        return FAILED
    return LATER if "put off" in outcomes else DONE


@app.command()
def orders(
    context: typer.Context,
    match: MatchName,
    seat: Annotated[str, typer.Option("--seat", metavar="S", help="Whose orders.")],
    as_gm: Annotated[
        bool, typer.Option("--as-gm", help="Open them; it is written down, and players are told.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read the sealed orders of a seat; recorded in the history and said in the next report."""
    from pbem import gm, overview, store

    desk: Desk = context.obj
    if not as_gm:
        raise Wrong("the orders are sealed; --as-gm opens them, and the next report says so")
    with store.writing(desk.engine(desk.config())) as session:
        row = find(session, match)
        if fault := overview.fault_of(row, store.turn_of(session, row)):
            raise Damaged(fault)
        try:
            found = gm.seat_named(row, seat)
            text = gm.peek(session, row, found, desk.now)
        except ValueError as error:
            raise Wrong(f"--seat {seat}: {error}") from None
        name, game = found.name, row.game
    if as_json:
        cli.say_json({"match": match, "seat": name, "orders": text})
    else:
        cli.say(f"{name} has sent no orders" if text is None else gm.order_lines(game, text))


@app.command()
def status(
    context: typer.Context,
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]")] = None,
    as_json: AsJson = False,
) -> int:
    """Tell what is due when, who is missing, and whether anything is stuck."""
    from pbem import overview, store

    desk: Desk = context.obj
    with store.reading(desk.engine(desk.config())) as session:
        if match is not None:
            find(session, match)
        found = overview.status(session, desk.now, match)
    if as_json:
        cli.say_json(found)
    else:
        _print_status(found, desk.now)
    is_any = any(overview.is_failing(one) or one["fault"] for one in found["matches"])
    return FAILED if is_any or found["faults"] else DONE


def _print_status(found: dict[str, Any], now: datetime) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("match", "game", "phase", "due", "", "sent", "missing"):
        table.add_column(heading, overflow="fold")
    for one in found["matches"]:
        due, left = _due(one, now)
        cells = [one["match"], one["game"], f"{one['phase']} {one['turn']}", due, left]
        cells += [_names(one, one["sent"]), _names(one, one["missing"])]
        table.add_row(*map(cli.printable, cells))
    wide = None if sys.stdout.isatty() else 140
    console = Console(highlight=False, markup=False, width=wide)
    if found["matches"]:
        console.print(table)
        console.print()
    for sentence in found["stuck"]:
        console.print(cli.printable(f"! {' '.join(sentence.split())}"), style="bold")
    letters = ", ".join(f"{count} {kind}" for kind, count in found["letters"].items())
    matches = f"{len(found['matches'])} match{'' if len(found['matches']) == 1 else 'es'}"
    console.print(f"{matches}; letters: {letters}; last tick: {found['last_tick'] or 'never'}")
    if not found["stuck"]:
        console.print("Nothing is stuck.")


def _due(one: dict[str, Any], now: datetime) -> tuple[str, str]:
    """Return when a match is due, in its zone and in UTC, and how far away that is."""
    from pbem import schedule

    if one["state"] == "over":
        return "over", ""
    if one["state"] == "open":
        return f"open: {one['open_seats']} to join", ""
    if one["deadline"] is None:
        return "no deadline", "held" if one["state"] == "held" else ""
    deadline = datetime.fromisoformat(one["deadline"])
    zone = ZoneInfo(one["zone"])
    local = deadline.astimezone(zone)
    due = f"{local:%a %Y-%m-%d %H:%M} {one['zone']}"
    if local.utcoffset():
        due += f" ({deadline:%a %H:%M}Z)"
    if one["state"] == "held":
        return due, "held"
    if one["waits_until"]:
        until = datetime.fromisoformat(one["waits_until"])
        return due, f"waits {schedule.told(until, zone, now).distance.removeprefix('in ')} more"
    return due, schedule.told(deadline, zone, now).distance


def _names(one: dict[str, Any], seats: list[str]) -> str:
    marks = {**dict.fromkeys(one["ready"], " (ready)"), **dict.fromkeys(one["vacant"], " (vacant)")}
    return ", ".join(seat + marks.get(seat, "") for seat in seats)


@app.command()
def letters(
    context: typer.Context,
    failed: Annotated[bool, typer.Option("--failed", help="Only undeliverable ones.")] = False,
    shunted: Annotated[
        bool, typer.Option("--shunted", help="Only mails that made the program fail.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """List what came, what left, what went wrong and why."""
    from pbem import overview, store

    desk: Desk = context.obj
    with store.reading(desk.engine(desk.config())) as session:
        found = overview.pieces(session, failed=failed, shunted=shunted)
    code = DONE if all(one.time for one in found) else FAILED
    if as_json:
        cli.say_json([one._asdict() for one in found])
        return code
    for one in found:
        whose = "/".join(name for name in (one.match, one.seat) if name) or "-"
        why = one.why.strip().splitlines()[-1] if one.why.strip() else ""
        line = f"{one.time[:16]}  {one.id:<8} {one.status:<9} {one.kind:<9} {whose}  {why}"
        cli.say(" ".join(line.splitlines()).rstrip())
    if not found:
        cli.say("no letters")
    return code


@app.command()
def letter(
    context: typer.Context,
    number: Annotated[str, typer.Argument(metavar="ID", help="As `pbem letters` lists it.")],
    retry: Annotated[bool, typer.Option("--retry", help="Take it in, or send it, again.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Print all its bytes.")] = False,
) -> None:
    """Show what a mail or letter says; --raw its bytes, --retry takes it in or sends it again."""
    from pbem import overview, store

    desk: Desk = context.obj
    config = desk.config()
    engine = desk.engine(config)
    if retry:
        cli.say(overview.retry(engine, config, number, desk.now))
        return
    with store.reading(engine) as session:
        found = overview.piece(session, number)
        whole = overview.raw(session, config, found, desk.now)
        status, why = found.status, found.why
    if raw:
        sys.stdout.buffer.write(whole)
        sys.stdout.buffer.flush()
        return
    cli.say(f"{number}: {status}\n\n{overview.text(whole)}")
    if why:
        cli.say(f"\n{why}")


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False) -> int:
    """Try everything that was set up; say of each fault what to do about it."""
    from pbem import doctor

    desk: Desk = context.obj
    found = list(doctor.examine(desk.path, desk.now))
    if as_json:
        cli.say_json([one._asdict() for one in found])
    else:
        for one in found:
            cli.say(f"{'ok   ' if one.ok else 'FAULT'} {one.check}: {one.why}")
            if not one.ok:
                cli.say(f"      {one.remedy}")
    return DONE if all(one.ok for one in found) else FAILED
