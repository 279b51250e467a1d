"""The words of a match and the letters that make them: packaged lists, own lists, the tiles."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from string import ascii_uppercase
from typing import Any

FEWEST_WORDS, MOST_WORDS = 10, 26
SHORTEST_WORD, LONGEST_WORD = 3, 8
DEFAULT_LIST = "towns"
PACKAGED_LISTS = ("towns", "animals", "kitchen", "music", "ten", "workshop")

# How often each letter is among the tiles of the English game, the two blanks left out.
_TILES = {
    1: "JKQXZ",
    2: "BCFHMPVWY",
    3: "G",
    4: "DLSU",
    6: "NRT",
    8: "O",
    9: "AI",
    12: "E",
}
FULL_BAG = "".join(sorted("".join(times * letters for times, letters in _TILES.items())))


def packaged(name: str) -> tuple[str, ...]:
    """Return the words of a packaged list, in its order; raise `ValueError` for another name."""
    if name not in PACKAGED_LISTS:
        there_are = ", ".join(PACKAGED_LISTS)
        raise ValueError(f"no list of words is called {name!r}; there are: {there_are}")
    return _packaged(name)


@cache
def _packaged(name: str) -> tuple[str, ...]:
    text = (files(__package__) / "lists" / f"{name}.txt").read_text(encoding="ascii")
    return checked(text.split())


def checked(words: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a list in capitals; raise `ValueError` naming each fault of the list.

    A list has 10 to 26 words of 3 to 8 letters A–Z, each letter at least once, no word twice.
    """
    listed = tuple(word.strip().upper() for word in words)
    faults = []
    if not FEWEST_WORDS <= len(listed) <= MOST_WORDS:
        faults.append(f"{FEWEST_WORDS} to {MOST_WORDS} words are needed, not {len(listed)}")
    for word, times in Counter(listed).items():
        if not re.fullmatch("[A-Z]+", word):
            faults.append(f"{word!r} is not written in the letters A to Z")
        elif not SHORTEST_WORD <= len(word) <= LONGEST_WORD:
            faults.append(f"{word} has {len(word)} letters, not {SHORTEST_WORD} to {LONGEST_WORD}")
        if times > 1:
            faults.append(f"{word} is in the list {times} times")
    missing = [letter for letter in ascii_uppercase if not any(letter in word for word in listed)]
    if missing:
        faults.append(f"no word has the letter {', '.join(missing)}")
    if faults:
        raise ValueError("; ".join(faults))
    return listed


def read_option(value: Any) -> str | list[str]:
    """Read the option `words`: a packaged list's name, kept as it is, or a list or text of words.

    In a text words are parted by blanks, commas or line ends; `#` begins a remark.
    """
    if isinstance(value, str):
        if value.strip() in PACKAGED_LISTS:
            return value.strip()
        lines = (line.partition("#")[0] for line in value.splitlines())
        value = re.split(r"[\s,;]+", " ".join(lines).strip(" ,;"))
        if len(value) == 1:
            packaged(value[0])
    if not isinstance(value, Sequence) or not all(isinstance(word, str) for word in value):
        raise ValueError("the name of a packaged list is needed, or a list or text of words")
    return list(checked(value))


def of_option(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return the words that a value of the option `words` stands for."""
    return packaged(value) if isinstance(value, str) else tuple(value)


def missing(word: str, hand: str) -> str:
    """Return the letters that the hand lacks for the word, sorted."""
    return "".join(sorted((Counter(word) - Counter(hand)).elements()))


def holds(hand: str, letters: str) -> bool:
    """Tell whether all the letters are in the hand, each as often as it is given."""
    return all(hand.count(letter) >= letters.count(letter) for letter in set(letters))


def without(hand: str, letters: str) -> str:
    """Return the hand, sorted, after the letters have left it."""
    return "".join(sorted((Counter(hand) - Counter(letters)).elements()))


def with_letters(hand: str, letters: str) -> str:
    """Return the hand, sorted, after the letters have come into it."""
    return "".join(sorted(hand + letters))
