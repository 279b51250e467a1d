"""The orders common to all games, a player's and the game master's, as data.

Which match and which seat a command is for, and what it does, is decided where mail is taken in;
here stands only its form.
"""

from dataclasses import dataclass

from pbem import addresses
from pbem.orders import Grammar
from pbem.usage import Kind, Order, Rule


@dataclass(frozen=True)
class Ready(Order):
    """The turn may run before its deadline, for all this seat cares."""


@dataclass(frozen=True)
class NotReady(Order):
    """READY taken back."""


@dataclass(frozen=True)
class NoOrders(Order):
    """A deliberate empty sheet."""


@dataclass(frozen=True)
class Cancel(Order):
    """The sheet is withdrawn."""


@dataclass(frozen=True)
class Standing(Order):
    """The sheet also counts in later turns for which none comes."""


@dataclass(frozen=True)
class MySheet(Order):
    """The seat asks for its sheet as it stands."""


@dataclass(frozen=True)
class Status(Order):
    """Somebody asks how the match stands."""


@dataclass(frozen=True)
class Help(Order):
    """Somebody asks what may be ordered."""


@dataclass(frozen=True)
class Rules(Order):
    """Somebody asks for the rules."""


@dataclass(frozen=True)
class Report(Order):
    """Somebody asks for a report again: of a turn, or the last."""

    turn: int | None = None


@dataclass(frozen=True)
class Absent(Order):
    """The seat will be away; dates as written."""

    start: str
    end: str


@dataclass(frozen=True)
class Press(Order):
    """A message to other seats: `ALL`, `GM`, or names as written."""

    to: str
    body: tuple[str, ...]


@dataclass(frozen=True)
class AnonymousPress(Order):
    """A message that doesn't say whose it is."""

    to: str
    body: tuple[str, ...]


@dataclass(frozen=True)
class NewAddress(Order):
    """The player's mail shall go to another address."""

    address: str


@dataclass(frozen=True)
class Language(Order):
    """The language of letters to the player."""

    language: str


@dataclass(frozen=True)
class Resign(Order):
    """The player leaves the match."""


@dataclass(frozen=True)
class Join(Order):
    """Somebody wants a seat in a match."""

    match: str


@dataclass(frozen=True)
class Mail(Order):
    """Which letters the player wants: `ALL`, `REPORTS`, `DIGEST` or `NONE`."""

    choice: str


@dataclass(frozen=True)
class Password(Order):
    """The seat's token, where the mail doesn't bear it otherwise."""

    token: str


@dataclass(frozen=True)
class Deadline(Order):
    """The phase ends at that time."""

    time: str


@dataclass(frozen=True)
class Extend(Order):
    """The phase ends so much later."""

    duration: str


@dataclass(frozen=True)
class Hold(Order):
    """The match stands still."""


@dataclass(frozen=True)
class Release(Order):
    """The match goes on."""


@dataclass(frozen=True)
class RunNow(Order):
    """The phase is run at once; with phase and turn only where these are still to come."""

    phase: str | None = None
    turn: int | None = None


@dataclass(frozen=True)
class Undo(Order):
    """Back to before the last turns; one where no number is given."""

    turns: int | None = None


@dataclass(frozen=True)
class Replace(Order):
    """Another person takes a seat."""

    seat: str
    name: str
    address: str


@dataclass(frozen=True)
class Drop(Order):
    """A seat's player leaves."""

    seat: str


@dataclass(frozen=True)
class SetAddress(Order):
    """A seat's mail goes to another address."""

    seat: str
    address: str


@dataclass(frozen=True)
class OrdersFor(Order):
    """A sheet of orders on a seat's behalf."""

    seat: str
    body: tuple[str, ...]


@dataclass(frozen=True)
class SetOption(Order):
    """An option of the match is changed; the value as written."""

    option: str
    value: str


@dataclass(frozen=True)
class Say(Order):
    """A word to all seats, on one line."""

    message: str


@dataclass(frozen=True)
class End(Order):
    """The match is over; by mail it is named."""

    match: str


@dataclass(frozen=True)
class MatchStatus(Order):
    """The game master asks who has sent orders."""


_KINDS = {
    "match": Kind(r"[a-z0-9][a-z0-9-]{0,31}", str.lower),
    # Many write it as a usage line and a mail client do, in angle brackets.
    "address": Kind(f"{addresses.FORM}|<{addresses.FORM}>", lambda said: said.strip("<>")),
    "choice": Kind("ALL|REPORTS|DIGEST|NONE", str.upper),
    "token": Kind(r"[A-Z2-7]{16}", str.upper),
    "option": Kind(r"[a-z_]{1,40}", str.lower),
    "any": Kind(r"\S.*"),
}

PLAYER = Grammar(
    (
        Rule("READY", Ready, "Run the turn early if all are ready"),
        Rule("NOT READY", NotReady, "Take READY back"),
        Rule("NO ORDERS", NoOrders, "Do nothing this turn, on purpose"),
        Rule("CANCEL", Cancel, "Withdraw your orders"),
        Rule("STANDING", Standing, "Keep this sheet for turns in which you send none"),
        Rule("ORDERS?", MySheet, "Show your orders as they stand"),
        Rule("STATUS", Status, "Show how the match stands"),
        Rule("HELP", Help, "Show what you may order"),
        Rule("RULES", Rules, "Send the rules"),
        Rule("REPORT [<turn:int>]", Report, "Send a report again"),
        Rule("ABSENT FROM <start:any> TO <end:any>", Absent, "Say that you will be away"),
        Rule("PRESS ANONYMOUS TO <to:any> … END PRESS", AnonymousPress, "Write without your name"),
        Rule("PRESS TO <to:any> … END PRESS", Press, "Write to ALL, to GM, or to seats"),
        Rule("ADDRESS <address>", NewAddress, "Have your mail sent to another address"),
        Rule("LANGUAGE <language:word>", Language, "Choose the language of your letters"),
        Rule("RESIGN", Resign, "Leave the match"),
        Rule("JOIN <match>", Join, "Ask for a seat in a match"),
        Rule("MAIL <choice>", Mail, "Choose your letters: ALL, REPORTS, DIGEST or NONE"),
        Rule("PASSWORD <token>", Password, "Prove whose mail this is"),
    ),
    _KINDS,
    aliases={"AWAY": "ABSENT"},
)

GAME_MASTER = Grammar(
    (
        Rule("DEADLINE <time:any>", Deadline, "Move the deadline to that time", gm=True),
        Rule("EXTEND <duration:any>", Extend, "Move the deadline on by so much", gm=True),
        Rule("HOLD", Hold, "Stop the clock", gm=True),
        Rule("RELEASE", Release, "Let the clock run again", gm=True),
        Rule("RUN NOW [<phase:word> <turn:int>]", RunNow, "Run the phase at once", gm=True),
        Rule("UNDO [<turns:int>]", Undo, "Go back before the last turns", gm=True),
        Rule("REPLACE <seat> WITH <name> <address>", Replace, "Give a seat to another", gm=True),
        Rule("DROP <seat>", Drop, "Take the player off a seat", gm=True),
        Rule("ADDRESS <seat> <address>", SetAddress, "Change a seat's address", gm=True),
        Rule("ORDERS FOR <seat> … END ORDERS", OrdersFor, "Order for a seat", gm=True),
        Rule("SET <option> <value:any>", SetOption, "Change an option", gm=True),
        Rule("SAY <message:any>", Say, "Tell everybody something", gm=True),
        Rule("END <match>", End, "End the match", gm=True),
        Rule("STATUS", MatchStatus, "Show who has sent orders", gm=True),
    ),
    _KINDS,
)
