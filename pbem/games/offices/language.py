"""The orders of the auction, players' and the game master's, and how offices are called in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pbem.names import choose
from pbem.orders import Grammar
from pbem.usage import Kind, Order, Rule

OFFICES = (
    "Magister Officiorum",
    "Praefectus Pretorio",
    "Comes Thesaurorum",
    "Praefectus Urbi",
    "Consul",
)
COLOURS = ("green", "blue", "red", "yellow")


@dataclass(frozen=True)
class Take(Order):
    """A wish for an office; `gold` is the most to be offered, `None` for one offer and no raise."""

    office: str
    gold: int | None = None


@dataclass(frozen=True)
class Stay(Order):
    """A wish to keep one's office."""


@dataclass(frozen=True)
class Defend(Order):
    """The most a holder raises to, for one office or (where `office` is `None`) for any."""

    office: str | None
    gold: int


@dataclass(frozen=True)
class Good(Order):
    """The colour of the good that Praefectus Pretorio brings."""

    colour: str


@dataclass(frozen=True)
class Pass(Order):
    """An answer in live play: no raise in this challenge, or nothing chosen."""


@dataclass(frozen=True)
class Gold(Order):
    """What a seat earned or lost between two rounds, entered by the game master."""

    seat: str
    change: int


# A number, or words that begin with a letter and don't run on like prose after a comma or stop.
_OFFICE = r"\d{1,3}|(?=[^\s<]*[^\W\d_])[^\s<](?:(?:(?![,.] )[^<>]){0,98}?[^\s<>])??"
# The sign may stand alone before its number, and is then no dash between two words.
_CHANGE = r"(?<!- )[+-]? ?\d{1,12}(?: gold)?"

# The source of one of the games is Russian, and so may players be.
ALIASES = {
    "ВЗЯТЬ": "TAKE",
    "БЕРУ": "TAKE",
    "ЗАНЯТЬ": "TAKE",
    "ДО": "UP TO",
    "ОСТАТЬСЯ": "STAY",
    "ОСТАЮСЬ": "STAY",
    "ЗАЩИТА": "DEFEND",
    "ЗАЩИЩАЮ": "DEFEND",
    "ТОВАР": "GOOD",
    "ПАС": "PASS",
    "ЗОЛОТО": "GOLD",
    "ЗЕЛЕНЫЙ": "green",
    "СИНИЙ": "blue",
    "КРАСНЫЙ": "red",
    "ЖЕЛТЫЙ": "yellow",
}

GRAMMAR = Grammar(
    rules=(
        Rule(
            "TAKE <office> [UP TO <gold:int>]",
            Take,
            "a wish: an office, free or held; without a limit one offer is made and never raised",
            chat=r"take (?:care|it easy|your time|heart|a (?:break|look|rest|seat))\b.*",
        ),
        Rule(
            "STAY",
            Stay,
            "a wish: keep the office I hold",
            chat=r"stay (?:safe|well|healthy|in touch|tuned|strong|cool|warm)\b.*",
        ),
        Rule(
            "DEFEND [<office>] UP TO <gold:int>",
            Defend,
            "as holder of that office (of any, where none is named), raise, never above this",
        ),
        Rule(
            "GOOD <colour:word>",
            Good,
            "the good to take as Praefectus Pretorio: green, blue, red or yellow",
            chat=r"good (?:luck|morning|afternoon|evening|day|night|bye|game|hunting|idea|one|work"
            r"|week|weekend)\b.*",
        ),
        Rule(
            "PASS",
            Pass,
            "an answer when asked in live play: I don't raise, or I choose nothing",
            chat=r"pass (?:it|this|me|my|on)\b.*",
        ),
        Rule(
            "GOLD <seat> <change>",
            Gold,
            "in the income phase: what a seat has earned (5, +5) or paid (-5)",
            gm=True,
        ),
    ),
    kinds={
        "office": Kind(_OFFICE),
        "change": Kind(_CHANGE, lambda said: int("".join(re.findall(r"[+-]|\d+", said)))),
    },
    units=("gold", "coins"),
    packaged={
        "office": lambda: [*OFFICES, *map(str, range(1, len(OFFICES) + 1))],
        "colour": lambda: COLOURS,
    },
    aliases=ALIASES,
)


def named(said: str, offices: Sequence[tuple[str, int]]) -> tuple[str | None, str]:
    """Find an office by number, name or beginning: `(name, "")`, or `(None, what is wrong)`.

    `offices` are names with their numbers.
    """
    if said.isdecimal():
        for name, number in offices:
            if number == int(said):
                return name, ""
        there_are = ", ".join(f"{number} {name}" for name, number in offices[:12])
        return None, f"no office has the number {said}; there are: {there_are}"
    return choose(said, [name for name, _ in offices], "office")


@lru_cache(maxsize=256)
def writable(name: str) -> bool:
    """Tell whether an office's name can stand in every order line and be read as that name."""
    wanted = (Take(name, 1), Defend(name, 1), Take(name))
    return not name.isdecimal() and all(
        GRAMMAR.read(GRAMMAR.write(order)).orders == (order,) for order in wanted
    )
