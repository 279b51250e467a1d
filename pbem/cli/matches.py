"""Commands about matches: new, run, resume, show."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from pbem import addresses, cli
from pbem.cli import DONE, FAILED, LATER, Desk
from pbem.faults import Damaged, Wrong

if TYPE_CHECKING:
    from pbem.making import Player
    from pbem.store import Match

app = typer.Typer()

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
MatchName = Annotated[str, typer.Argument(metavar="MATCH")]

_SEAT = re.compile(rf"\s*([^<>]+?)\s*((?:<{addresses.FORM}>\s*)+)")
_MOST_OPEN = 100


@app.command()
def new(
    context: typer.Context,
    game: Annotated[str, typer.Argument(metavar="GAME")],
    match: MatchName,
    seat: Annotated[
        list[str] | None,
        typer.Option(metavar='"Name <address>…"', help="A seat and who plays it."),
    ] = None,
    opened: Annotated[int, typer.Option("--open", metavar="N", help="Seats to be joined.")] = 0,
    option: Annotated[
        list[str] | None, typer.Option(metavar="k=v", help="An option; k=@FILE reads a file.")
    ] = None,
    schedule: Annotated[
        list[str] | None, typer.Option(metavar='"weekly Sun 20:00"', help="When turns are due.")
    ] = None,
    zone: Annotated[str, typer.Option(metavar="Z", help="The match's IANA time zone.")] = "UTC",
    as_json: AsJson = False,
) -> None:
    """Make a match, and write to its players."""
    from pbem import making, store

    desk: Desk = context.obj
    config = desk.config()
    check_name(match, "MATCH")
    if not 0 <= opened <= _MOST_OPEN:
        raise Wrong(f"--open {opened}: write a number of seats from 0 to {_MOST_OPEN}")
    try:
        plan = making.Plan(
            game=game,
            match=match,
            players=_players(seat or (), config.mail.address),
            options=_options(game, option or ()),
            schedules=tuple(schedule or ()),
            zone=zone,
            open_seats=opened,
        )
        with store.writing(desk.engine(config)) as session:
            made = making.begin(session, plan, desk.now)
            seats = [one.name for one in made.seats]
            deadline = made.deadline.isoformat() if made.deadline else None
            told = f"the deadline is {when(made.deadline, made.zone)}"
            if made.open_seats:
                told = f"it begins when all seats are taken; open: {made.open_seats}"
    except ValueError as error:
        raise Wrong(str(error)) from None
    if as_json:
        cli.say_json({"match": match, "deadline": deadline, "seats": seats})
    else:
        cli.say(f"{match}: {game} for {', '.join(seats) or 'nobody yet'}; {told}")


def _players(seats: list[str] | tuple[()], mailbox: str) -> "tuple[Player, ...]":
    from pbem.identity import is_mailbox
    from pbem.making import Player

    found: list[Player] = []
    for text in seats:
        parts = _SEAT.fullmatch(text)
        if not parts:
            raise Wrong(f'--seat {text!r}: write it as "Name <name@host>"')
        given = tuple(re.findall(r"<([^<>]+)>", parts[2]))
        for address in given:
            if fault := addresses.fault_of(address):
                raise Wrong(f"--seat {text!r}: {address}: {fault}")
            if is_mailbox(address, mailbox):
                why = "that address is the program's own; name the player's"
                raise Wrong(f"--seat {text!r}: {why}")
        found.append(Player(" ".join(parts[1].split()), given))
    return tuple(found)


def _options(game: str, given: list[str] | tuple[()]) -> dict[str, Any]:
    from pbem import game as games

    from_file = {option.name for option in games.named(game).OPTIONS if option.file}
    options: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise Wrong(f"--option {text!r}: write it as name=value")
        if value.startswith("@"):
            options[name] = _file(name, Path(value[1:]))
        elif name in from_file and Path(value).is_file():
            options[name] = _file(name, Path(value))
        else:
            options[name] = _value(value)
    return options


def _file(name: str, path: Path) -> Any:
    try:
        return _value(path.read_text("utf-8"))
    except OSError as error:
        raise Wrong(f"--option {name}: {path}: {error.strerror}; name a file to read") from None
    except UnicodeDecodeError:
        raise Wrong(f"--option {name}: {path}: not UTF-8; save it as UTF-8") from None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@app.command()
def run(
    context: typer.Context,
    match: Annotated[
        str | None, typer.Option("--match", metavar="M", help="Only this one.")
    ] = None,
    at_once: Annotated[bool, typer.Option("--now", help="Before its deadline.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show it, store nothing.")] = False,
    as_json: AsJson = False,
) -> int:
    """Run the turns that are due, the mailboxes fetched first."""
    from pbem import brakes, overview, rounds, store, turns

    desk: Desk = context.obj
    config = desk.config()
    engine = desk.engine(config)
    if (at_once or dry_run) and match is None:
        raise Wrong("--now, --dry-run: say which match with --match")
    if match is not None:
        with store.reading(engine) as session:
            find(session, match)
    if dry_run and match is not None:
        with store.writing(engine) as session:
            row = find(session, match)
            if fault := overview.fault_of(row, store.turn_of(session, row)):
                cli.warn(fault)
                return FAILED
            preview = overview.preview(session, row, desk.now)
            told = "" if as_json else overview.previewed(session, config, row, preview, desk.now)
        cli.say_json(preview) if as_json else cli.say(told.rstrip("\n"))
        return 0
    ran = rounds.run(engine, config, desk.now, match, early=at_once)
    if match is not None and not ran:
        with store.reading(engine) as session:
            row = find(session, match)
            if row.status != "running":
                why = row.why if row.status == "held" else ""
                ran = [turns.Ran(match, row.status, why, news=False)]
    if as_json:
        cli.say_json([one._asdict() for one in ran])
    else:
        for one in ran:
            cli.say(f"{one.match}: {one.outcome}{': ' + one.why if one.why else ''}")
        if not ran:
            cli.say("nothing is due")
    with store.reading(engine) as session:
        held = brakes.is_any_held(session, match)
    if held or any(one.outcome == "failed" for one in ran):
        return FAILED
    return LATER if any(one.outcome == "put off" for one in ran) else 0


@app.command()
def resume(
    context: typer.Context,
    match: Annotated[str | None, typer.Argument(metavar="[MATCH]")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Set the deadlines proposed.")] = False,
) -> int:
    """After an outage: propose new deadlines for what is overdue; with --yes set them."""
    from pbem import brakes, overview, store

    desk: Desk = context.obj
    code = DONE
    with store.writing(desk.engine(desk.config())) as session:
        names = [match] if match else brakes.overdue(session, desk.now)
        for name in names:
            row = find(session, name)
            if match and (fault := overview.fault_of(row, store.turn_of(session, row))):
                raise Damaged(fault)
            try:
                proposed = (brakes.resume if yes else brakes.proposed)(session, row, desk.now)
            except ValueError as error:
                if match is not None:
                    raise Wrong(str(error)) from None
                cli.warn(str(error))
                code = FAILED
                continue
            except store.StoreDamaged as error:
                if match is not None:
                    raise
                cli.warn(str(store.damage.located(session.connection(), error)))
                code = FAILED
                continue
            cli.say(f"{name}: {when(proposed, row.zone)}{'' if yes else ' (with --yes)'}")
    if not names:
        cli.say("nothing is overdue")
    return code


@app.command()
def show(
    context: typer.Context,
    match: MatchName,
    seat: Annotated[str | None, typer.Option(help="The view of a seat; else the public.")] = None,
    turn: Annotated[int | None, typer.Option(help="After so many phases; else now.")] = None,
    as_json: AsJson = False,
) -> int:
    """Show a match as a seat, or the public, may see it."""
    from pbem import overview, store

    desk: Desk = context.obj
    config = desk.config()
    with store.reading(desk.engine(config)) as session:
        row = find(session, match)
        names = [one.name for one in row.seats]
        if seat is not None and seat not in names:
            raise Wrong(f"--seat {seat!r}: no seat of {match}; there are: {', '.join(names)}")
        found = store.turn_of(session, row, turn)
        if found is None:
            if row.status == "open":
                raise Wrong(f"{match} has not begun; {row.open_seats} seats are open")
            raise Wrong(f"--turn {turn}: {match} has turns 0 to {row.turn}")
        if fault := overview.fault_of(row, found):
            cli.warn(fault)
            return FAILED
        if as_json:
            cli.say_json(overview.view(row, found, seat))
        else:
            cli.say(overview.shown(session, config, row, found, seat, desk.now).rstrip())
    return DONE


def check_name(name: str, what: str) -> None:
    """Raise `Wrong` for what can be no match's name; `what` says where it was written."""
    from pbem.archive.folder import MATCH, MATCH_FORM

    if not MATCH.fullmatch(name):
        raise Wrong(f"{what} {name!r}: no name for a match; use {MATCH_FORM}")


def find(session: Any, name: str) -> "Match":
    """Return the match of that name; raise `Wrong` naming those there are."""
    from sqlalchemy import select

    from pbem import store

    found = store.match_named(session, name)
    if found is None:
        names = ", ".join(session.scalars(select(store.Match.name).order_by(store.Match.id)))
        raise Wrong(f"no match is called {name!r}; there are: {names or 'none'}")
    return found


def when(deadline: datetime | None, zone: str) -> str:
    """Return a deadline as a game master is told it: in the match's zone, and in UTC."""
    if deadline is None:
        return "none (run it with --now)"
    local = deadline.astimezone(ZoneInfo(zone))
    return f"{local:%a %Y-%m-%d %H:%M %z} ({zone}), {deadline:%Y-%m-%dT%H:%M:%S}Z"
