"""What a seat may be called: a name that nobody takes for an order, or for another seat's."""

from collections.abc import Iterable

from pbem import game as games
from pbem import typography
from pbem.game import Game
from pbem.store import Match

LONGEST_NAME = 40
RESERVED = ("all", "gm", "anonymous", "nothing", "nobody", "orders", "end orders", "end press")

# What holds a line or a list of names together can't stand in a name.
_SIGNS = ',;"<>&+'


def fault_of_name(name: str, others: Iterable[str], game: Game) -> str:
    """Say why a seat can't have a name in a match of a game beside others; empty where it can."""
    # All that may be ordered takes long to import, and most ticks hear no name.
    from pbem import commands

    grammar = game.GRAMMAR | commands.PLAYER | commands.GAME_MASTER
    if len(name) > LONGEST_NAME or not name.isprintable():
        return f"a name has at most {LONGEST_NAME} plain characters"
    if name.casefold() in RESERVED or name.upper() in grammar.verbs or grammar.read(name).orders:
        return "that name means something else; choose another"
    if any(sign in name for sign in _SIGNS) or not any(c.isalpha() for c in name.split()[0]):
        return f"begin the name with a word that has a letter in it, and use none of {_SIGNS}"
    for other in others:
        if _alike(name) == _alike(other):
            return (
                f"two seats have that name, or one that reads like it ({other}); make them differ"
            )
    return ""


def _alike(name: str) -> str:
    return typography.key(typography.look_alike(name))


def free_name(match: Match, person: str) -> str:
    """Return a seat name made of a person's that no other seat of the match has."""
    plain = "".join(c if c.isprintable() and c not in _SIGNS else " " for c in person)
    own = " ".join(plain.split())[: LONGEST_NAME - 3].strip()
    taken, game = [seat.name for seat in match.seats], games.named(match.game)
    numbers = ("", *(f" {number}" for number in range(2, len(taken) + 3)))
    names = (base + number for base in (own, "Player") if base for number in numbers)
    return next(name for name in names if not fault_of_name(name, taken, game))
