"""Hexem, a minimalist war game by Tim Robinson: the functions of the protocol `pbem.game.Game`."""

from pbem.games.hexem.archive import chapter, course
from pbem.games.hexem.bot import bot
from pbem.games.hexem.grammar import GRAMMAR, OPTIONS, check
from pbem.games.hexem.report import page
from pbem.games.hexem.rules import adjudicate, forecast, setup
from pbem.games.hexem.state import dump, load, view, waiting, winners

KEY = "hexem"
TITLE = "Hexem"
PHASES = ("countries", "muster")

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
