"""Commands that move mail and turns: receive, fetch, run's neighbours send, tick and daemon."""

from typing import Annotated

import typer

from pbem import cli
from pbem.cli import FAILED, LATER, WRONG, Desk

app = typer.Typer()


@app.command()
def receive(
    context: typer.Context,
    recipient: Annotated[str, typer.Option(metavar="ADDR", help="The envelope's recipient.")] = "",
    received: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it came; now, if not given.")
    ] = None,
) -> int:
    """Take in one raw message on standard input; exit 75 where it isn't safe in the database."""
    desk: Desk = context.obj
    # An MTA bounces the mail on any code but 0 and 75, whatever went wrong.
    try:
        from pbem import rounds

        now = desk.now
        when = now if received is None else cli.moment("--received", received)
        config = desk.config()
        taken = rounds.receive(desk.engine(config), config, cli.stdin(), recipient, when, now)
    except Exception as error:
        cli.warn(f"not taken in, try again later: {' '.join(str(error).split())}")
        return LATER
    cli.warn(f"{taken.status}{': ' + taken.why.splitlines()[-1] if taken.why else ''}")
    return 0


@app.command()
def fetch(context: typer.Context) -> int:
    """Take in what is in the mailboxes."""
    from pbem import rounds

    desk: Desk = context.obj
    config = desk.config()
    fetched = rounds.fetch(desk.engine(config), config, desk.now)
    cli.say(f"{fetched.count} taken in")
    return _told(fetched.away)


@app.command()
def send(context: typer.Context) -> int:
    """Send the letters that are queued."""
    from pbem import rounds

    desk: Desk = context.obj
    config = desk.config()
    sent = rounds.send(desk.engine(config), config, desk.now)
    cli.say(f"{sent.sent} sent")
    for why in sent.whys:
        cli.warn(why)
    if sent.damaged:
        return FAILED
    return WRONG if sent.unwritten else 0


@app.command()
def tick(context: typer.Context) -> int:
    """Fetch, run what is due, send: once, for cron; silent when there is nothing to do."""
    from pbem import rounds

    desk: Desk = context.obj
    config = desk.config()
    done = rounds.tick(desk.engine(config), config, desk.now)
    for line in done.lines():
        cli.say(line)
    code = _told(done.fetched.away)
    for why in done.sent.whys:
        cli.warn(why)
    for ran in done.ran:
        if ran.outcome != "ran" and ran.news:
            cli.warn(f"{ran.match}: {ran.outcome}: {ran.why}")
    if done.held or done.sent.damaged or any(ran.outcome == "failed" for ran in done.ran):
        return FAILED
    return WRONG if done.sent.unwritten else code


@app.command()
def daemon(
    context: typer.Context,
    every: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two looks into the mailbox.")
    ] = 60,
) -> None:
    """Fetch, run and send for ever, waking for the next deadline; stops cleanly on SIGTERM."""
    from pbem.daemon import serve

    desk: Desk = context.obj
    config = desk.config()
    serve(desk.engine(config), config, every, desk.clock)


def _told(away: list[str]) -> int:
    for why in away:
        cli.warn(why)
    return LATER if away else 0
