"""A scripted player: it bids for letters its words need, claims at once, and swaps in the open."""

from collections import Counter
from collections.abc import Iterable
from random import Random

from pbem.games.alphabet import words
from pbem.games.alphabet.sheet import GRAMMAR, Bid, Claim, Pot, Things, Trade
from pbem.games.alphabet.state import INCOME, State, multiplier
from pbem.usage import Order


def bot(state: State, seat: str, rng: Random) -> str:
    """Return a plausible sheet of orders, from what the seat may know."""
    if state.phase == "over":
        return ""
    swap = _swap(state, seat)
    hand, sheet = state.hands[seat], list[Order]()
    if swap:
        sheet.append(swap)
        hand = words.with_letters(words.without(hand, swap.goods.letters), swap.price.letters)
    formed = formable(hand, _open_words(state, seat))
    if formed:
        sheet.append(Claim(tuple(formed)))
    hand = words.without(hand, "".join(formed))
    if state.phase == "play":
        wanted = [word for word in _open_words(state, seat) if word not in formed]
        useless = [letter for letter in hand if not any(letter in word for word in wanted)]
        if useless and rng.random() < 0.5:
            letter = rng.choice(useless)
            sheet.append(Pot(letter))
            hand = words.without(hand, letter)
        sheet.extend(_bids(state, seat, hand, wanted, rng))
    return "\n".join(map(GRAMMAR.write, sheet))


def formable(hand: str, listed: Iterable[str]) -> list[str]:
    """Return words that the hand can form together, the longest first."""
    formed = []
    for word in sorted(listed, key=len, reverse=True):
        if words.holds(hand, word):
            hand = words.without(hand, word)
            formed.append(word)
    return formed


def _open_words(state: State, seat: str) -> list[str]:
    return [word for word in state.words if word not in state.claimed[seat]]


def _bids(state: State, seat: str, hand: str, wanted: list[str], rng: Random) -> list[Bid]:
    """Part the money among the best groups, more for those that come nearer to words."""
    purse = state.money[seat] + (INCOME if state.round > 1 else 0)
    worth = {
        number: _promise(hand + group.letters, wanted, state.round + 1)
        - _promise(hand, wanted, state.round + 1)
        for number, group in state.groups.items()
        if not group.only or seat in group.only
    }
    bids = []
    for number in sorted(worth, key=lambda number: (-worth[number], number))[:3]:
        share = 0.9 if state.round == 6 else rng.uniform(0.3, 0.7)
        amount = min(int(purse * share), int(worth[number] * rng.uniform(0.8, 1.4) + purse / 10))
        if amount >= 1:
            bids.append(Bid(number, amount))
            purse -= amount
    return bids


def _promise(hand: str, wanted: list[str], number: int) -> float:
    """Return what a hand is worth: a word's points, the less the more letters it lacks."""
    times, have = multiplier(number), Counter(hand)
    return sum(times * len(word) * 0.25 ** (Counter(word) - have).total() for word in wanted)


def _swap(state: State, seat: str) -> Trade | None:
    """Return the seat's line of a swap that both partners, seeing the same table, come to write.

    With secret hands no table is seen, and nothing is offered.
    """
    if state.secret:
        return None
    busy: set[str] = set()
    for at, one in enumerate(state.seats):
        for other in state.seats[at + 1 :]:
            letters = None if {one, other} & busy else _useful(state, one, other)
            if letters:
                busy |= {one, other}
                given, got = map(Things, letters)
                if seat == one:
                    return Trade(other, given, got)
                if seat == other:
                    return Trade(one, got, given)
    return None


def _useful(state: State, one: str, other: str) -> tuple[str, str] | None:
    """Find a letter each can spare that completes a word of the other's."""
    for given in _needs(state, other) & _spare(state, one):
        for got in _needs(state, one) & _spare(state, other):
            if given != got:
                return given, got
    return None


def _needs(state: State, seat: str) -> Counter[str]:
    """Return the letters that alone keep the seat from a word, in the order of the list."""
    lacking = (words.missing(word, state.hands[seat]) for word in _open_words(state, seat))
    return Counter(letters for letters in lacking if len(letters) == 1)


def _spare(state: State, seat: str) -> Counter[str]:
    """Return the letters left in the seat's hand after the words it can form."""
    formed = formable(state.hands[seat], _open_words(state, seat))
    return Counter(words.without(state.hands[seat], "".join(formed)))
