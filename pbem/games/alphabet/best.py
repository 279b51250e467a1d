"""The best that letters in hand could have been made into: a search, exact where it is not long.

Letters are spent by a word, so that words compete for them. Counts of letters are kept as one whole
number, eight bits a letter: whether a word can be formed is then one subtraction. How much a plan
can still bring is bounded by prices for scarce letters (Lagrange's multipliers): what the letters
left are worth at them, and what each word brings beyond the worth of its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, mul
from string import ascii_uppercase
from typing import NamedTuple, TypeVar

# After so many steps the best that was found is returned, and said not to be proven.
MOST_STEPS = 20_000

_BITS = 8
_MOST = (1 << _BITS - 1) - 1
_PLACE = {letter: _BITS * at for at, letter in enumerate(ascii_uppercase)}
_GUARDS = sum(1 << place + _BITS - 1 for place in _PLACE.values())

# Prices are found in rounds, by steps that shrink, and kept as whole thousandths of a point.
_ROUNDS, _FIRST_STEP, _SHRINK, _UNIT = 100, 1.0, 0.97, 1000


Number = TypeVar("Number", int, float)


class Play(NamedTuple):
    """Words to claim, each with its turn, and their points; `exact` where none can be better."""

    words: tuple[tuple[str, int], ...]
    points: int
    exact: bool


def best_now(hand: str, listed: Sequence[str], times: int) -> Play:
    """Return the words that together bring most from one hand, at `times` points a letter."""
    return best({0: hand}, listed, {0: times})


def best(hands: Mapping[int, str], listed: Sequence[str], times: Mapping[int, int]) -> Play:
    """Return the words that bring most over several turns, and when to claim each.

    `hands` has for each turn all letters that came in until then, less those that went other ways
    than into words; `times` what a letter counts in it. A word is claimed once.
    """
    turns = sorted(hands)
    supplies = [Counter(hands[turn]) for turn in turns]
    # A letter that goes another way later can't be spent before.
    for at in range(len(turns) - 2, -1, -1):
        supplies[at] &= supplies[at + 1]
    able = sorted(
        (word for word in listed if supplies and not Counter(word) - supplies[-1]),
        key=len,
        reverse=True,
    )
    if not able:
        return Play((), 0, True)
    search = _Search(able, supplies, [times[turn] for turn in turns])
    search.turn(0, 0, 0, 0, ())
    plan = tuple((able[word], turns[at]) for word, at in search.plan)
    return Play(plan, search.points, search.steps <= MOST_STEPS)


def _packed(counts: Mapping[str, int]) -> int:
    return sum(min(number, _MOST) << _PLACE[letter] for letter, number in counts.items())


def _prices(
    words: Sequence[str], supplies: Sequence[Mapping[str, int]], times: Sequence[int]
) -> tuple[list[str], list[list[int]]]:
    """Return letters, and by turn a price for each, in thousandths: high where many words want it.

    Whatever they are the bound holds; they are better the nearer the words that pay come to using
    up what there is. A word claimed in a turn pays in all later ones too: it is gone there.
    """
    letters = sorted(set("".join(words)))
    place = {letter: at for at, letter in enumerate(letters)}
    there = [[supply[letter] for letter in letters] for supply in supplies]
    needs = [[(place[letter], n) for letter, n in Counter(word).items()] for word in words]
    turns = range(len(times))
    first = [next(at for at in turns if all(there[at][i] >= n for i, n in need)) for need in needs]
    prices = [[0.0] * len(letters) for _ in turns]
    kept, lowest, step = prices, float("inf"), _FIRST_STEP
    for _ in range(_ROUNDS):
        sums = _summed(prices)
        bound = sum(sum(map(mul, *rows)) for rows in zip(prices, there, strict=True))
        spent = [[0] * len(letters) for _ in turns]
        for word, need in enumerate(needs):
            most, when = 0.0, -1
            for at in turns[first[word] :]:
                here = sums[at]
                gain = len(words[word]) * times[at] - sum(here[i] * n for i, n in need)
                if gain > most:
                    most, when = gain, at
            bound += most
            for i, n in need if when >= 0 else ():
                spent[when][i] += n
        if bound < lowest:
            lowest, kept = bound, prices
        for at in turns[1:]:
            spent[at] = list(map(add, spent[at], spent[at - 1]))
        prices = [
            [max(0.0, price + step * (out - have)) for price, out, have in zip(*rows, strict=True)]
            for rows in zip(prices, spent, there, strict=True)
        ]
        step *= _SHRINK
    return letters, [[int(price * _UNIT) for price in here] for here in kept]


def _summed(prices: Sequence[Sequence[Number]]) -> list[Sequence[Number]]:
    """Return by turn what each letter costs from it on to the last."""
    sums = [prices[-1]]
    for here in reversed(prices[:-1]):
        sums.insert(0, list(map(add, here, sums[0])))
    return sums


@dataclass
class _Search:
    """A search turn by turn and word by word, which leaves what can't beat the best plan so far.

    Which words are claimed is kept as a whole number too, a bit a word; a plan is the places of
    words and turns.
    """

    words: Sequence[str]
    supplies: Sequence[Mapping[str, int]]
    times: Sequence[int]
    steps: int = 0
    points: int = 0
    plan: tuple[tuple[int, int], ...] = ()
    _seen: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        turns = range(len(self.times))
        self._there = [_packed(supply) for supply in self.supplies]
        self._needs = [_packed(Counter(word)) for word in self.words]
        letters, prices = _prices(self.words, self.supplies, self.times)
        sums = [dict(zip(letters, row, strict=True)) for row in _summed(prices)]
        # By turn, what all letters there from it on are worth; by word and turn, what its own are,
        # and what the word brings beyond that at the best turn from there on.
        worth = [
            sum(price * min(supply[each], _MOST) for each, price in zip(letters, row, strict=True))
            for supply, row in zip(self.supplies, prices, strict=True)
        ]
        self._worth = [sum(worth[at:]) for at in turns]
        self._cost = [
            [sum(sums[at][letter] for letter in word) for at in turns] for word in self.words
        ]
        self._gain = [
            [
                max(0, *(len(word) * self.times[at] * _UNIT - cost[at] for at in turns[first:]))
                for first in turns
            ]
            for word, cost in zip(self.words, self._cost, strict=True)
        ]

    def turn(
        self, at: int, used: int, claimed: int, points: int, plan: tuple[tuple[int, int], ...]
    ) -> None:
        """Look for the best from a turn on, with so many letters used and words claimed before."""
        if at == len(self.times) or self._seen.get((at, claimed), -1) >= points:
            return
        self._seen[at, claimed] = points
        self._claim(at, 0, used, claimed, points, plan)

    def _claim(
        self,
        at: int,
        first: int,
        used: int,
        claimed: int,
        points: int,
        plan: tuple[tuple[int, int], ...],
    ) -> None:
        """Claim in a turn any of the words from the `first` on, then go on to the next turn."""
        if points > self.points:
            self.points, self.plan = points, plan
        self.steps += 1
        if self.steps > MOST_STEPS or points + self._most(at, used, claimed, plan) <= self.points:
            return
        left = (self._there[at] | _GUARDS) - used
        for word in range(first, len(self.words)):
            if not claimed >> word & 1 and (left - self._needs[word]) & _GUARDS == _GUARDS:
                more = points + len(self.words[word]) * self.times[at]
                now, then = claimed | 1 << word, (*plan, (word, at))
                self._claim(at, word + 1, used + self._needs[word], now, more, then)
        self.turn(at + 1, used, claimed, points, plan)

    def _most(self, at: int, used: int, claimed: int, plan: tuple[tuple[int, int], ...]) -> int:
        """Return points that what is left from a turn on can't exceed."""
        alone, priced = 0, self._worth[at] - sum(self._cost[word][at] for word, _ in plan)
        left = [(there | _GUARDS) - used for there in self._there[at:]]
        for word, need in enumerate(self._needs):
            if not claimed >> word & 1 and (left[-1] - need) & _GUARDS == _GUARDS:
                wait = 0
                while (left[wait] - need) & _GUARDS != _GUARDS:
                    wait += 1
                alone += len(self.words[word]) * self.times[at + wait]
                priced += self._gain[word][at + wait]
        return min(alone, priced // _UNIT)
