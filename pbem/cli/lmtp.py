"""The command that takes mail over LMTP."""

from pathlib import Path
from typing import Annotated

import typer

from pbem import addresses
from pbem.cli import Desk
from pbem.faults import Wrong

app = typer.Typer()


# Of a single command Typer would make the whole program.
@app.callback()
def _commands() -> None:
    """Take mail from an MTA."""


@app.command("serve-lmtp")
def serve_lmtp(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 2424,
    socket: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Listen at a UNIX socket instead.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDR", help="Take this address too; @HOST for all there. Repeat it."),
    ] = None,
) -> None:
    """Take mail over LMTP from Postfix or Exim; one reply for each recipient, after the commit."""
    from pbem import lmtp

    for address in also or ():
        at_host = address.startswith("@")
        fault = addresses.fault_of(f"anybody{address}" if at_host else address)
        if fault:
            raise Wrong(f"--also {address!r}: {fault}, or @host for all there")
    desk: Desk = context.obj
    config = desk.config()
    place = lmtp.Place(host, port, socket)
    lmtp.serve(desk.engine(config), config, place, tuple(also or ()), desk.clock)
