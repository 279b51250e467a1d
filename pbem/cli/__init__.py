"""The command `pbem`: options in, one call, one answer out; errors become exit codes here."""

import gc
import io
import logging
import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import IO, TYPE_CHECKING, Annotated, Any, BinaryIO, TextIO

import typer
import typer.core
import typer.main

from pbem import __version__
from pbem.faults import Away, Damaged, Wrong

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from pbem.config import Config

DONE, FAILED, WRONG, LATER = 0, 1, 2, 75


@dataclass(frozen=True, slots=True)
class Desk:
    """What every command is given: where the config is, and what it takes for now.

    What is opened for it is closed at its end.
    """

    path: Path
    clock: datetime | None
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def now(self) -> datetime:
        """The time, in UTC and whole seconds; what `--clock` says where it was given."""
        return self.clock or datetime.now(UTC).replace(microsecond=0)

    def config(self) -> "Config":
        """Read the config file; raise `Wrong` where it, or one of its post tables, is broken."""
        from pbem import config
        from pbem.post import settings

        read = config.load(self.path)
        try:
            for number, table in enumerate(read.sources, 1):
                settings.read_source(table, f"source {number}", read.folder)
            if read.sender:
                settings.read_sender(read.sender, "sender", read.folder)
        except ValueError as error:
            raise Wrong(f"{self.path}: {error}") from None
        return read

    def engine(self, config: "Config") -> "Engine":
        """Open the database, of this version; raise `StoreFault` or `StoreAway`."""
        from pbem import store

        engine = store.open(config.database_url)
        self.opened.callback(engine.dispose)
        return engine


# Commands by the module that has them: only the one that is asked for is imported.
_WHERE = {
    "mail": ("receive", "fetch", "send", "tick", "daemon"),
    "lmtp": ("serve-lmtp",),
    "matches": ("new", "run", "resume", "show"),
    "master": ("gm", "orders", "status", "letters", "letter", "doctor"),
    "storage": ("backup", "restore", "migrate-store"),
    "archive": ("archive", "export", "import", "verify"),
    "tools": ("init", "demo", "judge", "read", "board", "rules"),
}
_COMMANDS = {name: module for module, names in _WHERE.items() for name in names}


class _Lazy(typer.core.TyperGroup):
    """A group of commands that imports a command's module only when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"pbem.cli.{_COMMANDS[cmd_name]}")
        return typer.main.get_group(module.app).commands[cmd_name]


app = typer.Typer(
    cls=_Lazy,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        say(f"pbem {__version__}")
        raise typer.Exit


@app.callback()
def desk(
    context: typer.Context,
    config: Annotated[
        Path, typer.Option(envvar="PBEM_CONFIG", help="The config file.", show_default=True)
    ] = Path("pbem.toml"),
    clock: Annotated[
        str | None, typer.Option(metavar="TIME", help="What to take for now (ISO 8601).")
    ] = None,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log in JSON, a line each.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Play by email: takes order mails, runs the turns, mails the reports."""
    del version
    _log_to_stderr(log_json)
    context.obj = Desk(config, None if clock is None else moment("--clock", clock))
    context.call_on_close(context.obj.opened.close)


def moment(option: str, text: str) -> datetime:
    """Read a time given on the command line; raise `Wrong` where it is none."""
    from zoneinfo import ZoneInfo

    from pbem import schedule

    try:
        return schedule.parse_time(text, ZoneInfo("UTC"))
    except ValueError as error:
        raise Wrong(f"{option}: {error}") from None


# Click's class for wrong usage, by whichever name this Typer has it.
_UsageError: Any = typer.BadParameter.__base__


# The token in an address or a Message-ID of ours (`identity`), where a server repeats it.
_TOKEN = re.compile(
    r"(\+[a-z0-9-]{1,32}\.)[a-z2-7]{16}(?=@)|(\.)[a-z2-7]{16}(?=\.\d+@)", re.IGNORECASE
)
_OF_ANY_RECORD = {*vars(logging.makeLogRecord({})), "message", "asctime"}


class _Lines(logging.Formatter):
    """Log lines for people: one line each, no token in it, nothing that steers a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return f"pbem: {self.told(record)}"

    def told(self, record: logging.LogRecord) -> str:
        return printable(_one_line(_TOKEN.sub(r"\1\2…", record.getMessage())))


class _JsonLines(_Lines):
    """Log lines for programs: one JSON object each; what a record bears besides is in it too."""

    def format(self, record: logging.LogRecord) -> str:
        import json

        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.told(record),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _OF_ANY_RECORD}
        return json.dumps(line, ensure_ascii=False, default=str)


class _ToStderr(logging.StreamHandler[TextIO]):
    """The log on standard error; where that can't be written, the work goes on unlogged."""

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


def _log_to_stderr(as_json: bool) -> None:
    handler = _ToStderr(sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else _Lines())
    log = logging.getLogger("pbem")
    log.handlers = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False


def printable(text: str) -> str:
    """Return a text without control characters: players' words must not reach a terminal raw."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def say(text: str) -> None:
    """Print an answer on standard output."""
    typer.echo(printable(text))


def say_json(value: object) -> None:
    """Print one JSON document on standard output."""
    import json

    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def warn(text: str) -> None:
    """Say something on standard error, beside the answer, in the form of the log.

    Where it can't be written nothing is said: no exit code hangs on that.
    """
    handlers = logging.getLogger("pbem").handlers
    form = handlers[0].formatter if handlers else _Lines()
    record = logging.makeLogRecord({"msg": text, "name": "pbem", "levelname": "WARNING"})
    _tell(form.format(record) if form else text)


def _tell(text: str) -> None:
    with suppress(OSError):
        typer.echo(text, err=True)


def stdin() -> BinaryIO:
    """Return standard input as bytes; raise `Wrong` where the process was given none."""
    # Python has None for a stream that was closed before it began.
    if sys.stdin is None:
        raise Wrong("standard input is closed; give on it what is to be read")
    return sys.stdin.buffer


class _Output(io.FileIO):
    """Standard output's descriptor; raises `Away` where it can't be written."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Away(f"standard output can't be written: {error.strerror}") from None


def main() -> None:
    """Run the command line; the process ends with the contract's exit code."""
    collect_seldom()
    sys.stdout = _output(sys.stdout)
    try:
        code = answer(lambda: app(standalone_mode=False))
    finally:
        _let_go(sys.stdout)
        _let_go(sys.stderr)
    sys.exit(code)


def collect_seldom() -> None:
    """Have Python look for garbage once in 10,000 new objects, and not in 700.

    A letter leaves thousands behind, few of them in circles: to look that often takes a twentieth
    of all the time, and finds nothing.
    """
    gc.set_threshold(10_000)


def _output(given: TextIO | None) -> TextIO:
    if given is None:
        # Held, lest a file be opened in its place; whatever is written to it fails.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 1)
        return io.TextIOWrapper(io.BufferedWriter(_Output(1, "w", closefd=False)), "utf-8")
    raw = _Output(given.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), given.encoding, given.errors, line_buffering=given.isatty()
    )


def _let_go(stream: IO[str] | None) -> None:
    """Drop what can't be written: at the end Python would make it exit code 120."""
    if stream is None:
        return
    try:
        stream.flush()
    except (OSError, Away):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def answer(run: Callable[[], object]) -> int:
    """Run a command and return its exit code; what went wrong is said in one line."""
    code = _answer(run)
    # An MTA bounces the mail on any code but 0 and 75, a slip in its own call of us included.
    command = next((word for word in sys.argv[1:] if word in _COMMANDS), None)
    return LATER if code and command == "receive" else code


def _answer(run: Callable[[], object]) -> int:
    try:
        result = run()
        sys.stdout.flush()
    except typer.Exit as done:
        return done.exit_code
    except typer.Abort:
        return FAILED
    except _UsageError as error:
        told = error.format_message()
        # Without any argument the message is the help.
        _tell(told) if "\n" in told else warn(f"{told} See `pbem --help`.")
        return WRONG
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return 130
    except Wrong as error:
        warn(_one_line(str(error)))
        return WRONG
    except Away as error:
        warn(_one_line(str(error)))
        return LATER
    except Damaged as error:
        warn(_one_line(str(error)))
        return FAILED
    # A fault of ours, or a value in the database that could never have come there by us.
    except Exception as error:
        if os.environ.get("PBEM_TRACEBACK"):
            raise
        place = extract_tb(error.__traceback__)[-1]
        warn(
            f"{type(error).__name__}: {_one_line(str(error))} ({Path(place.filename).name}, line "
            f"{place.lineno}); `pbem doctor` names what is damaged in the database; if that is "
            "nothing, please report what is shown with PBEM_TRACEBACK=1 in the environment"
        )
        return FAILED
    return result if isinstance(result, int) else DONE


def _one_line(text: str) -> str:
    return " ".join(text.split())
