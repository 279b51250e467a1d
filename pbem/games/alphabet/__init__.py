"""Alphabet Auction by Allan Stagg: the functions of the protocol `pbem.game.Game`."""

from pbem.game import Option, one_of
from pbem.games.alphabet.archive import chapter, course
from pbem.games.alphabet.bot import bot
from pbem.games.alphabet.page import page
from pbem.games.alphabet.sheet import GRAMMAR, check
from pbem.games.alphabet.state import dump, load, view, winners
from pbem.games.alphabet.turn import adjudicate, forecast, setup, waiting
from pbem.games.alphabet.words import DEFAULT_LIST, PACKAGED_LISTS, read_option

KEY = "alphabet"
TITLE = "Alphabet Auction"
PHASES = ("play", "last")
OPTIONS = (
    Option(
        "words",
        DEFAULT_LIST,
        read_option,
        f"a packaged list ({', '.join(PACKAGED_LISTS)}), or 10 to 26 words of 3 to 8 letters",
        file=True,
    ),
    Option("hands", "open", one_of("open", "secret"), "whether letters and money are open to all"),
)

__all__ = [
    "GRAMMAR",
    "KEY",
    "OPTIONS",
    "PHASES",
    "TITLE",
    "adjudicate",
    "bot",
    "chapter",
    "check",
    "course",
    "dump",
    "forecast",
    "load",
    "page",
    "setup",
    "view",
    "waiting",
    "winners",
]
