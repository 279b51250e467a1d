"""A sheet of orders: their forms, and what of them can't be lawful whatever the turn brings."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pbem import typography
from pbem.games.alphabet.state import State
from pbem.names import choose
from pbem.orders import Grammar, Problem
from pbem.usage import Kind, Order, Rule


@dataclass(frozen=True)
class Things:
    """One side of a trade: letters, sorted, and whole pounds (`None` where none are named)."""

    letters: str = ""
    money: int | None = None

    def __str__(self) -> str:
        """Return the things as an order names them."""
        money = [] if self.money is None else [f"£{self.money}"]
        return ", ".join([*self.letters, *money]) or "NOTHING"


@dataclass(frozen=True)
class Bid(Order):
    """An offer of whole pounds for a group, by its number (rule 5)."""

    group: int
    amount: int


@dataclass(frozen=True)
class Claim(Order):
    """Words to form from letters in hand, in the order written (rule 3)."""

    word: tuple[str, ...]


@dataclass(frozen=True)
class Trade(Order):
    """What one seat would give another, and what it would get for it (rule 2)."""

    seat: str
    goods: Things
    price: Things


@dataclass(frozen=True)
class Pot(Order):
    """A letter of one's hand to go into the pot (rule 4)."""

    letter: str


_MONEY = r"(?:[£￡] ?)?\d{1,9}(?: ?(?:[£￡]|pounds?))?"
# A blank before GET or GIVE ends the things: they are never letters among others.
_THINGS = r"[A-Z£￡\d](?:[A-Z£￡\d,&+]| (?!G(?:ET|IVE)\b))*"
_PART = re.compile(rf"({_MONEY})(?![\w£￡])|([A-Z]+)(?![\w£￡])", re.I | re.A)
_BETWEEN = re.compile(r"(?: and (?=\S)|[ ,&+])+", re.IGNORECASE)
_PROSE = re.compile(r"(?<![A-Za-z])[a-z]{2,} (?:[a-z]+ )*[a-z]{2,}(?![A-Za-z])")

# So many words of a line that are not in the list are named to its writer.
_MOST_STRANGE = 5


def read_money(text: str) -> int:
    """Read whole pounds, with or without their sign or name."""
    return int(re.sub(r"\D", "", text))


def read_things(text: str) -> Things:
    """Read one side of a trade; raise `ValueError` where it is not letters and one sum of money.

    The word NOTHING by itself is nothing; so letters that spell it are parted by commas.
    """
    if text.upper() == "NOTHING":
        return Things()
    if _PROSE.search(re.sub(rf"{_MONEY}", "£", text, flags=re.IGNORECASE).replace(" and ", ", ")):
        raise ValueError(f"{text!r} reads like prose")
    letters, money, at = "", None, 0
    while at < len(text):
        part = _PART.match(text, at)
        if not part or (part[1] and money is not None) or part[0].upper() == "NOTHING":
            raise ValueError(f"{text!r} is not letters and one sum of money")
        if part[1]:
            money = read_money(part[1])
        else:
            letters += part[2].upper()
        between = _BETWEEN.match(text, part.end())
        at = between.end() if between else part.end()
    return Things("".join(sorted(letters)), money)


# The source of one of the games is Russian, and so may players be.
ALIASES = {
    "СТАВКА": "BID",
    "СТАВЛЮ": "BID",
    "ЗАЯВЛЯЮ": "CLAIM",
    "ОБМЕН": "TRADE",
    "С": "WITH",
    "СО": "WITH",
    "ДАЮ": "GIVE",
    "ПОЛУЧАЮ": "GET",
    "НИЧЕГО": "NOTHING",
    "БАНК": "POT",
}

GRAMMAR = Grammar(
    rules=(
        Rule(
            "BID <group> <amount:pounds>",
            Bid,
            "Offer whole pounds for a group, by its number; a later bid for it replaces this one.",
        ),
        Rule(
            "CLAIM <word> [<word> …]",
            Claim,
            "Form words of the list from letters you had when the turn began or got by trade.",
        ),
        Rule(
            "TRADE WITH <seat> GIVE <goods:things> GET <price:things>",
            Trade,
            "Trade letters (A, E), money (£10) or both; the other must write the mirror of it.",
        ),
        Rule("POT <letter>", Pot, "Put one letter of your hand into the pot."),
    ),
    kinds={
        "group": Kind(r"(?:group |no\.? ?|# ?)?\d{1,9}", lambda text: int(re.sub(r"\D", "", text))),
        "pounds": Kind(_MONEY, read_money),
        "things": Kind(_THINGS, read_things),
        "letter": Kind(r"(?-i:[A-Za-z])", str.upper),
    },
    aliases=ALIASES,
)


def check(
    state: State, seat: str | None, orders: Sequence[Order]
) -> tuple[list[Order], list[Problem]]:
    """Part a seat's orders into lawful ones, names made whole, and problems.

    What depends on goods or money waits for the turn. A bid that a later line replaces is in
    neither list. A claim of good and unknown words is in both.
    """
    lawful: list[Order] = []
    problems: list[Problem] = []
    for order in orders:
        good, fault = (
            (None, "the match is over") if state.phase == "over" else _checked(state, seat, order)
        )
        if good:
            lawful.append(good)
        if fault:
            problems.append(Problem(order.line, fault))
    newest = {order.group: at for at, order in enumerate(lawful) if isinstance(order, Bid)}
    standing = [
        order
        for at, order in enumerate(lawful)
        if not isinstance(order, Bid) or newest[order.group] == at
    ]
    return standing, problems


def _checked(state: State, seat: str | None, order: Order) -> tuple[Order | None, str]:
    """Return the order, or what of it is lawful, and a sentence on what is not."""
    if seat is None:
        return None, "the game master has no orders of his own in this game"
    if isinstance(order, Bid):
        fault = _bid_fault(state, seat, order)
        return (None, fault) if fault else (order, "")
    if isinstance(order, Claim):
        return _known_words(state, seat, order)
    if isinstance(order, Trade):
        return _named_trade(state, seat, order)
    if state.phase == "last":
        return None, "there is no pot in the last turn"
    return order, ""


def _bid_fault(state: State, seat: str, bid: Bid) -> str:
    if state.phase == "last":
        return "there is no auction in the last turn"
    group = state.groups.get(bid.group)
    if group is None:
        on_offer = ", ".join(map(str, state.groups)) or "none"
        return f"there is no group {bid.group}; on offer: {on_offer}"
    if group.only and seat not in group.only:
        return f"group {bid.group} is held over for {' and '.join(group.only)}"
    return "" if bid.amount else "a bid is £1 at least"


def _known_words(state: State, seat: str, claim: Claim) -> tuple[Order | None, str]:
    """Return the claim with each word of the list once, and what is wrong with the others.

    A line may hold a thousand words: only the first strange ones are named and looked at closely.
    """
    known = {typography.key(word): word for word in state.words}
    times = Counter(map(typography.key, claim.word))
    good: list[str] = []
    faults = []
    strange = 0
    for wanted, often in times.items():
        word = known.get(wanted)
        if word is None:
            strange += 1
            if strange <= _MOST_STRANGE:
                faults.append(f"{wanted.upper()} is not in the list{_meant(wanted, known)}")
        elif word in state.claimed[seat]:
            faults.append(f"you have claimed {word} already")
        else:
            good.append(word)
            if often > 1:
                faults.append(f"a word is claimed once, and {word} stands there {often} times")
    if strange > _MOST_STRANGE:
        faults.append(f"{strange - _MOST_STRANGE} more words are not in the list")
    return replace(claim, word=tuple(good)) if good else None, "; ".join(faults)


def _meant(wanted: str, known: dict[str, str]) -> str:
    close = [
        word
        for key, word in known.items()
        if typography.near(wanted, key) or (len(wanted) >= 3 and key.startswith(wanted))
    ]
    return f"; did you mean {' or '.join(close[:3])}?" if close else ""


def _named_trade(state: State, seat: str, trade: Trade) -> tuple[Order | None, str]:
    other, question = choose(trade.seat, state.seats, "seat")
    if other is None:
        return None, question
    if other == seat:
        return None, "nobody trades with himself"
    if trade.goods.money == 0 or trade.price.money == 0:
        return None, "£0 is no money: leave it out, or write NOTHING"
    if trade.goods == trade.price == Things():
        return None, "nothing for nothing is no trade"
    return replace(trade, seat=other), ""
