"""One written line, folded: what people's keyboards, phones and mail clients put into plain words.

All functions are pure, take and return `str`, and need time linear in their input.
"""

import re
import unicodedata
from functools import lru_cache

# Typography that has a twin in ASCII; no-break and other odd blanks are blanks.
_TWINS = (
    dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣"), "-")
    | dict.fromkeys(map(ord, "‘’‚‛′`´ʼ"), "'")
    | dict.fromkeys(map(ord, "“”„‟″«»"), '"')
    | {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    | {ord("…"): "...", ord("≥"): ">=", ord("×"): "x"}
)

# Letters of other scripts that look like a Latin one.
_LOOK_ALIKES = str.maketrans(
    "АВЕКМНОРСТУХЅІЈавекмнорстухѕіјΑΒΕΖΗΙΚΜΝΟΡΤΥΧο",
    "ABEKMHOPCTYXSIJabekmhopctyxsijABEZHIKMNOPTYXo",
)

_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_BLANKS = re.compile(r"\s+")
_BULLET = re.compile(
    r"(?:[-*+•·●○◦▪–—→]|#?\(?\d{1,3}[.):]|\(?[a-z]\)|\[[ xX]?\])\s+(?=\S)|\(?\d{1,3}[.)](?=[^\W\d])"
)
_EMPHASIS = re.compile(r"(?<![\w*_])([*_]{1,2})([^\W_][^*_]*[^\W_]|[^\W_])\1(?![\w*_])")
_MAILTO = re.compile(r"@?(\w[\w .'-]*)<mailto:[^<>\s]*>")
_TRAILING = " .,;!"


def lines(text: str) -> list[str]:
    """Part a text at every line end that any system or phone writes."""
    return _LINE_END.split(text)


def visible(text: str) -> str:
    """Drop what has no width: format characters (direction marks, joiners, BOM), control codes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c for c in text if unicodedata.category(c) not in ("Cf", "Cc", "Cs") or c in "\t"
    )


def folded(line: str) -> str:
    """Fold one line's typography to ASCII where it has a twin, and white space to single blanks."""
    if not line.isascii() or "`" in line:
        line = visible(line).translate(_TWINS)
    return _BLANKS.sub(" ", line).strip()


def bare(line: str) -> str:
    """Take from a folded line what stands round it: bullets, numbers, emphasis, trailing stops."""
    if "mailto:" in line:
        line = _MAILTO.sub(r"\1", line)
    if "*" in line or "_" in line:
        line = _EMPHASIS.sub(r"\2", line)
    while True:
        shorter = _BULLET.sub("", line, count=1) if _BULLET.match(line) else line
        shorter = shorter.rstrip(_TRAILING)
        if len(shorter) > 2 and shorter[0] == shorter[-1] and shorter[0] in "*_\"'~":
            shorter = shorter[1:-1].strip()
        if shorter == line:
            return line
        line = shorter


def latin(word: str) -> str:
    """Return a word that mixes scripts in Latin letters where each odd letter has a look-alike.

    A word all of one script is left alone: it may be somebody's name.
    """
    if word.isascii():
        return word
    twin = word.translate(_LOOK_ALIKES)
    mixed = any(c.isascii() and c.isalnum() for c in word)
    return twin if mixed and twin.isascii() else word


def look_alike(word: str) -> str:
    """Return the word with every look-alike letter made Latin, whatever its script."""
    return word if word.isascii() else word.translate(_LOOK_ALIKES)


def odd_letters(line: str) -> str:
    """Name the letters in a line that only look Latin, such as `С (CYRILLIC)`; empty if none.

    They stand alone, or among Latin ones: a word all of another script is somebody's name.
    """
    words = [w for w in line.split() if len(w) == 1 or any(c.isascii() and c.isalpha() for c in w)]
    odd = dict.fromkeys(c for word in words for c in word if c.translate(_LOOK_ALIKES) != c)
    return ", ".join(f"{c} ({unicodedata.name(c).split()[0]})" for c in odd)


@lru_cache(maxsize=4096)
def key(name: str) -> str:
    """Return a name as it is compared: no case, no accents, dashes and dots as blanks."""
    if not name.isascii():
        name = unicodedata.normalize("NFKD", name)
        name = "".join(c for c in name if not unicodedata.combining(c))
    name = "".join(c if c.isalnum() or c == "'" else " " for c in name.casefold())
    return _BLANKS.sub(" ", name.replace("'", "")).strip()


def distance(one: str, other: str) -> int:
    """Count the letters to add, drop, change or swap with a neighbour between two words."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before_last, row = row, before, [i]
        for j, b in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1]


def near(one: str, other: str) -> bool:
    """Tell whether two words differ by a slip: one letter, or two where they are long.

    Of words of a letter or two any is a slip away from any other, so none counts as near.
    """
    if max(len(one), len(other)) < 3:
        return False
    slips = 1 if min(len(one), len(other)) < 5 else 2
    return abs(len(one) - len(other)) <= slips and 0 < distance(one, other) <= slips


@lru_cache(maxsize=4096)
def thinned(word: str) -> frozenset[str]:
    """Return what is left of a word when none, one or two of its letters are dropped.

    Two words that are `near` have one of these in common.
    """
    less = {word[:i] + word[i + 1 :] for i in range(len(word))}
    lesser = (one[:i] + one[i + 1 :] for one in less for i in range(len(one)))
    return frozenset({word, *less, *lesser})
