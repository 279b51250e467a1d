"""Empires: seven epochs of sealed bids for the empires of world history, and the ledger of VP."""

from pbem.games.empires.archive import chapter, course
from pbem.games.empires.bot import bot, gm_bot
from pbem.games.empires.orders import GRAMMAR, check
from pbem.games.empires.page import page
from pbem.games.empires.state import OPTIONS, setup, winners
from pbem.games.empires.stored import dump, load, view
from pbem.games.empires.turn import adjudicate, asks, forecast, is_entered, waiting

KEY = "empires"
TITLE = "Empires: bidding for world history"
PHASES = ("bid", "pick", "score")

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
    "dump",
    "forecast",
    "gm_bot",
    "is_entered",
    "load",
    "page",
    "setup",
    "view",
    "waiting",
    "winners",
]
