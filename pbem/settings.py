"""The settings of a match that are not its game's: trust, lateness, pauses, press, seed."""

import secrets
from typing import Any

from pbem import schedule
from pbem.game import Option, one_of, whole


def _duration(value: Any) -> str:
    schedule.parse_duration(str(value))
    return str(value)


def _pauses(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError('a list of dates is needed, such as ["2026-12-24..2027-01-02"]')
    for text in texts:
        schedule.parse_pause(text)
    return texts


def _seed(value: Any) -> str:
    if not str(value):
        raise ValueError("it can't be empty")
    return str(value)


SETTINGS = (
    Option("trust", "token", one_of("address", "token", "dkim"), "what makes a mail a player's"),
    Option("late", "answer", one_of("answer", "next"), "what becomes of late orders"),
    Option("early", "never", one_of("never", "ready", "all-in"), "when a turn may run early"),
    Option("grace", "0", _duration, "how long to wait for who is missing"),
    Option("remind", "24h", _duration, "how long before the deadline to remind"),
    Option("nmr_limit", 2, whole(0), "turns without orders before the game master is told"),
    Option("absences", 0, whole(0), "days of absence a player may declare"),
    Option("pause", [], _pauses, "dates on which no deadline falls"),
    Option("reveal", "end", one_of("end", "never"), "when orders and seed are shown to all"),
    Option("press", "all", one_of("all", "named", "public", "none"), "which press may be sent"),
    Option("gm_reads_press", "none", one_of("none", "some", "all"), "which press the GM reads"),
    Option("seed", None, _seed, "the secret the dice are drawn from"),
)


def new_seed() -> str:
    """Return a fresh secret seed."""
    return secrets.token_hex(16)
