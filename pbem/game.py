"""What a game is: the protocol every game module fills, and the values that cross it.

A game is a module of pure functions. It knows no clock, file, socket, database or template:
time does not occur, chance comes in as a seeded `random.Random`, text is a `str`.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pbem import typography
from pbem.faults import Damaged
from pbem.orders import Grammar, Problem
from pbem.usage import Order

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

Json = dict[str, Any]
Orders = Mapping[str | None, Sequence[Order]]


class Event(NamedTuple):
    """What happened in a turn, without words: templates say it, for mail and archive alike.

    `facts` holds JSON values only. `seen_by` names the seats that may know it before the match
    is over; `None` stands for everybody.
    """

    kind: str
    facts: Mapping[str, Any]
    seen_by: tuple[str, ...] | None = None


def event_json(event: Event) -> Json:
    """Return an event as JSON has it."""
    seen_by = None if event.seen_by is None else list(event.seen_by)
    return {"kind": event.kind, "facts": dict(event.facts), "seen_by": seen_by}


class Outcome(NamedTuple):
    """What `adjudicate` returns: the new state, what happened, and what was not carried out.

    `problems` is keyed by seat (`None` is the game master); a seat without problems may be absent.
    """

    state: Any
    events: Sequence[Event]
    problems: Mapping[str | None, Sequence[Problem]]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a game: its name, default and help, and the reader of a value given for it.

    `read` takes a JSON value (or text) and returns the value to keep, also JSON; it raises
    `ValueError` with a sentence for the game master where the value cannot be. With `file`, a
    text that is the path of a file stands for that file's content.
    """

    name: str
    default: Any
    read: Callable[[Any], Any]
    help: str
    file: bool = False


class Game(Protocol):
    """The functions of a game, the same names in the same order in every one.

    Optional, looked up by `optional`: `page(state, seat, events) → dict` (facts for the report's
    templates beyond the view), `forecast(state, seat, orders) → Sequence[Event]`,
    `default_orders(state, seat) → str`, `deciding(state) → Sequence[str]`,
    `bot(state, seat, rng) → str`, `gm_bot(state, rng) → str`, `asks(state) → (str, Sequence[str])`
    (in a phase that is the game master's: what he is to do, in a sentence, and the order lines for
    it, to be filled in; none in another), `is_entered(state, orders) → bool` (whether by these
    lawful orders of his such a phase has all it waits for), and `PHASES`, a tuple that names the
    phases a schedule may be for (all but `over`), and `known_options(options) → dict`: those that
    tell the public nothing, while the match runs, of what `view` doesn't show it (without it, all).

    Of the archive, pure functions of a match's published record (`pbem.archive.record`) as it is,
    whole or only what is public: `course(record) → dict`, facts of the match's page, with `charts`
    (each `title`, `unit`, and `seats`: a value or null for each turn, by seat; where they are not
    one a turn also `along`, `epoch` say, `places`, a label for each, and `turns`, theirs); and
    `chapter(record, number) → dict`, facts of a turn's page, with `became` (by seat and number of
    an order's line, what became of it) and, where the page has a drawing of its own in place of
    the report's picture, a true `drawn`. A chapter goes by the turns up to its own, never by later
    ones. Their templates are `course.html` and `chapter.html`, their script `archive.js`.
    """

    KEY: str
    TITLE: str
    OPTIONS: Sequence[Option]
    GRAMMAR: Grammar

    def setup(self, seats: Sequence[str], options: Mapping[str, Any], rng: Random) -> Any:
        """Make the state a match begins with; raise `ValueError` where it cannot be played."""

    def check(
        self, state: Any, seat: str | None, orders: Sequence[Order]
    ) -> tuple[Sequence[Order], Sequence[Problem]]:
        """Part one seat's orders into lawful ones, names made whole, and problems.

        `seat` is `None` for the game master's. An order that is lawful in part is in both.
        """

    def adjudicate(self, state: Any, orders: Orders, rng: Random) -> Outcome:
        """Run the phase with all seats' lawful orders at once (`None`: the game master's)."""

    def waiting(self, state: Any) -> Sequence[str]:
        """Name the seats that may send orders in the phase the state is in, in seat order."""

    def view(self, state: Any, seat: str | None) -> Json:
        """Return the state as `dump` does, less what the seat (`None`: the public) may not know."""

    def winners(self, state: Any) -> Sequence[str]:
        """Name the seats that won; who would have won, while the match is not over."""

    def dump(self, state: Any) -> Json:
        """Return the state as JSON, complete enough to go on from."""

    def load(self, data: Json, seats: Sequence[str], options: Mapping[str, Any]) -> Any:
        """Read what `dump` wrote, or a state by hand; raise `ValueError` naming the wrong part."""


class NotInstalled(ValueError, Damaged):
    """A game that isn't there: misspelt, or a match's that has been uninstalled."""


def _entries() -> "EntryPoints":
    # It takes long to import, and a tick that finds nothing to do needs no game.
    from importlib.metadata import entry_points

    return entry_points(group="pbem.games")


@cache
def installed() -> Mapping[str, Game]:
    """Return the installed games by key, in the order of their keys (entry points `pbem.games`)."""
    found = sorted(_entries(), key=lambda point: point.name)
    return {point.name: point.load() for point in found}


@cache
def named(key: str) -> Game:
    """Return the game with that key; raise `NotInstalled` naming those there are."""
    for point in _entries():
        if point.name == key:
            game: Game = point.load()
            return game
    keys = ", ".join(sorted(point.name for point in _entries()))
    raise NotInstalled(f"no game is called {key!r}; there are: {keys}")


def read_options(options: Sequence[Option], given: Mapping[str, Any], whose: str) -> dict[str, Any]:
    """Return all of some options, those given read and the others at their defaults.

    Raise `ValueError` for an unknown name or a value that its option refuses.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            there_are = ", ".join(known) or "none"
            raise ValueError(f"{whose} has no option {name!r}; there are: {there_are}")
    return {
        name: _read_option(option, given[name]) if name in given else option.default
        for name, option in known.items()
    }


def _read_option(option: Option, value: Any) -> Any:
    try:
        return option.read(value)
    except ValueError as error:
        raise ValueError(f"option {option.name}: {error}") from None


def check_seats(seats: Sequence[str], least: int, most: int) -> None:
    """Raise `ValueError` unless there are `least` to `most` seats."""
    if not least <= len(seats) <= most:
        raise ValueError(f"{least} to {most} seats are needed, not {len(seats)}")


def whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    """Return a reader of whole numbers for an `Option`, from `least` to `most`."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"a whole number is needed, not {value!r}")
        if value < least or (most is not None and value > most):
            limits = f"at least {least}" if most is None else f"{least} to {most}"
            raise ValueError(f"{value} is out of range: {limits}")
        return value

    return read


def one_of(*words: str) -> Callable[[Any], str]:
    """Return a reader of one of some words for an `Option`."""

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is none of: {', '.join(words)}")
        return str(value)

    return read


def chance(seed: str, number: int, phase: str) -> Random:
    """Return the dice of the `number`-th phase run (0 and `setup` for the set-up).

    The same seed gives the same dice on every machine (`life.md`, Chance).
    """
    digest = hmac.digest(seed.encode(), f"{number}:{phase}".encode(), "sha256")
    return Random(int.from_bytes(digest, "big"))


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, the same however its keys are ordered."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def ended(state: Any) -> Any:
    """Return the state as it is when the game master ends the match: the phase is not run."""
    return replace(state, phase="over")


class Played(NamedTuple):
    """A phase as played from order texts; `problems` has all that was not carried out, by seat."""

    state: Any
    events: Sequence[Event]
    problems: Mapping[str | None, Sequence[Problem]]


def play(game: Game, state: Any, texts: Mapping[str | None, str], seed: str, number: int) -> Played:
    """Run a phase from order texts: read each for its form, check it for law, adjudicate all.

    `texts` is by seat, `None` for the game master, whose line `END` ends the match without
    running the phase. `number` is the place of the phase among those run, from 1.
    """
    lawful: dict[str | None, Sequence[Order]] = {}
    problems: dict[str | None, list[Problem]] = {}
    for seat, text in texts.items():
        reading = game.GRAMMAR.read(text, gm=seat is None)
        lawful[seat], unlawful = game.check(state, seat, reading.orders)
        problems[seat] = [*reading.problems, *unlawful]
    if is_ended(texts.get(None, "")):
        return Played(ended(state), (Event("ended", {"by": "gm"}),), problems)
    outcome = game.adjudicate(state, lawful, chance(seed, number, state.phase))
    for seat, more in outcome.problems.items():
        problems.setdefault(seat, []).extend(more)
    return Played(outcome.state, outcome.events, problems)


def is_ended(gm: str) -> bool:
    """Tell whether the game master's lines hold `END` alone on one, as an order.

    Where `ORDERS` opens a fence, `END` closes it, and outside of it nothing counts.
    """
    lines = (typography.bare(typography.folded(line)) for line in typography.lines(gm))
    headings = {line.upper().rstrip(": ") for line in lines}
    return "END" in headings and "ORDERS" not in headings


def check_phases(game: Game, wanted: Iterable[str]) -> None:
    """Raise `ValueError` where a schedule is for a phase that the game hasn't.

    `decision` stands for single seats' decisions; an empty name for all phases. Of a game that
    doesn't name its phases any name is taken.
    """
    own = optional(game, "PHASES")
    if own is None:
        return
    known = (*own, "decision") if optional(game, "deciding") else tuple(own)
    for phase in wanted:
        if phase and phase not in known:
            there_are = ", ".join(known)
            raise ValueError(f"schedule: {game.KEY} has no phase {phase!r}; there are: {there_are}")


def deciding(game: Game, state: Any) -> Sequence[str]:
    """Name the seats that are asked for a decision in the midst of a phase, where a game does so.

    The phase then goes on as soon as they have answered, whatever its deadline.
    """
    asked = optional(game, "deciding")
    return asked(state) if asked else ()


def optional(game: Game, name: str) -> Any:
    """Return one of a game's optional functions, or `None` where it has none of that name."""
    return getattr(game, name, None)
