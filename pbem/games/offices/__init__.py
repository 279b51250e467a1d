"""The auction of public offices: sealed plans played literally, round after round."""

from pbem.games.offices.archive import chapter, course
from pbem.games.offices.language import GRAMMAR
from pbem.games.offices.match import adjudicate, asks, check, deciding, setup, waiting
from pbem.games.offices.options import OPTIONS, known_options
from pbem.games.offices.page import page
from pbem.games.offices.players import bot, forecast, gm_bot
from pbem.games.offices.storage import dump, load, view, winners

KEY = "offices"
TITLE = "Public Offices"
PHASES = ("auction", "income")

__all__ = [
    "GRAMMAR",
    "KEY",
    "OPTIONS",
    "PHASES",
    "TITLE",
    "adjudicate",
    "asks",
    "bot",
    "chapter",
    "check",
    "course",
    "deciding",
    "dump",
    "forecast",
    "gm_bot",
    "known_options",
    "load",
    "page",
    "setup",
    "view",
    "waiting",
    "winners",
]
