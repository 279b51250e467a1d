"""The order language: grammars as data, and the reader of order lines.

Reading knows form only: which usage line a line fits. What is lawful a game's `check` says.
A player's mistake is a `Problem`, never an exception.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pbem import typography, usage
from pbem.usage import Kind, Order, Rule, Shape, is_prose

MOST_LINES = 1000
LONGEST_LINE = 8000


class Problem(NamedTuple):
    """What is wrong with a line, in a sentence for its writer; `line` is 1-based."""

    line: int
    message: str


class Line(NamedTuple):
    """One line as read: an order, a problem, or (where both are `None`) chat."""

    number: int
    text: str
    order: Order | None = None
    problem: Problem | None = None


class Reading(NamedTuple):
    """All lines of a text as read, in order; one line may hold several orders."""

    lines: tuple[Line, ...]

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that are well formed, in the order written."""
        return tuple(line.order for line in self.lines if line.order)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What looks like an order and isn't well formed."""
        return tuple(line.problem for line in self.lines if line.problem)


_SEPARATED = re.compile(r"[ :=,]")
_LONGEST_VERB = 14
_WORD = re.compile(r"[^\W\d_]+")
_FORM_BLANK = re.compile("_{2,}")


@dataclass(frozen=True)
class Grammar:
    """The orders of a game (or those common to all), as data.

    `kinds` adds slot kinds to `KINDS`. `units` may stand beside a number and mean nothing
    (`30 VP`, `£30`). `packaged` gives, for a slot, the names that count while no match says which
    exist. `lone` names a kind that, alone on a line, looks like an order without its verb.
    `aliases` are words of other languages, or others of the same, in capitals, for words of usage
    lines; they count in a line that begins with one for a verb.
    """

    rules: Sequence[Rule]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    units: Sequence[str] = ()
    packaged: Mapping[str, Callable[[], Collection[str]]] = field(default_factory=dict)
    lone: str | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: "Grammar") -> "Grammar":
        """Return a grammar with the rules of both, this one's first."""
        return Grammar(
            (*self.rules, *other.rules),
            {**other.kinds, **self.kinds},
            (*self.units, *other.units),
            {**other.packaged, **self.packaged},
            self.lone or other.lone,
            {**other.aliases, **self.aliases},
        )

    def read(self, text: str, *, gm: bool = False, packaged: bool = False) -> Reading:
        """Read the order lines of a text, a player's or (with `gm`) the game master's.

        With `packaged`, no match says which names exist: a name counts where it is a packaged one,
        or where its slot has none and it doesn't read like running prose. Reading stops where
        more than `MOST_LINES` orders and problems have been found: no sheet is that long.
        """
        lines: list[Line] = []
        found = 0
        for line in self._lines(text, gm, packaged):
            lines.append(line)
            found += bool(line.order or line.problem)
            if found > MOST_LINES:
                break
        return Reading(tuple(lines))

    def write(self, order: Order) -> str:
        """Write an order as its usage line has it, its slots filled in."""
        return self._by_class[type(order)].write(order)

    @cached_property
    def verbs(self) -> Mapping[str, tuple[Shape, ...]]:
        """The rules by the word they begin with."""
        found: dict[str, tuple[Shape, ...]] = {}
        for rule in self.rules:
            found[rule.verb] = (
                *found.get(rule.verb, ()),
                usage.shape(rule, self.kinds, self.units, self.packaged),
            )
        return found

    @cached_property
    def _slips(self) -> Mapping[str, tuple[str, ...]]:
        """The verbs by every word that is left of them when a letter or two are dropped.

        Words a slip apart leave a common one: so few verbs need a close look, line after line.
        """
        found: dict[str, tuple[str, ...]] = {}
        for verb in self.verbs:
            for left in typography.thinned(verb):
                found[left] = (*found.get(left, ()), verb)
        return found

    @cached_property
    def _lone(self) -> tuple[re.Pattern[str], Sequence[Shape]] | None:
        """What a line of nothing but `lone` slots looks like, and the rules it may be meant for."""
        kind = self.kinds[self.lone] if self.lone else None
        if kind is None:
            return None
        row = f"(?:{kind.pattern})(?:[ ,]+(?:{kind.pattern}))*"
        shapes = [s for of in self.verbs.values() for s in of if kind in s.slots.values()]
        return re.compile(row, re.IGNORECASE), shapes

    @cached_property
    def _by_class(self) -> Mapping[Any, Shape]:
        return {shape.rule.make: shape for shapes in self.verbs.values() for shape in shapes}

    def _lines(self, text: str, gm: bool, packaged: bool) -> Iterator[Line]:
        written = typography.lines(text)
        lines = [typography.bare(typography.folded(line)) for line in written]
        headings = [line.upper().rstrip(": ") for line in lines]
        blocks = self._blocks(lines, headings, gm)
        covered = {at for start, (_, end) in blocks.items() for at in range(start, end + 1)}
        fenced = any(word == "ORDERS" and at not in covered for at, word in enumerate(headings))
        inside = not fenced
        for at, line in enumerate(lines):
            if at in blocks:
                (shape, slots), end = blocks[at]
                if end < len(lines):
                    body = tuple(written[at + 1 : end])
                    yield _made(shape, {**slots, "body": body}, at + 1, line)
                else:
                    missing = f"{shape.rule.closing} is missing: where does it end?"
                    yield _refused(at + 1, line, missing)
            elif at in covered or not line:
                yield Line(at + 1, line)
            elif fenced and headings[at] == "ORDERS":
                inside = True
            elif fenced and headings[at] in ("END", "END ORDERS"):
                inside = False
            elif inside:
                yield from self._line(at + 1, line, gm, packaged)
            else:
                yield Line(at + 1, line)

    def _blocks(
        self, lines: Sequence[str], headings: Sequence[str], gm: bool
    ) -> dict[int, tuple[tuple[Shape, dict[str, Any]], int]]:
        """Find the blocks of lines: by first line, its rule and slots, and the closing line.

        A block that is never closed ends after the last line.
        """
        found: dict[int, tuple[tuple[Shape, dict[str, Any]], int]] = {}
        if not any(rule.closing for rule in self.rules):
            return found
        at = 0
        while at < len(lines):
            opened = self._opened(lines[at], gm)
            if opened:
                closing, end = opened[0].rule.closing, at + 1
                while end < len(lines) and headings[end] != closing:
                    end += 1
                found[at] = (opened, end)
                at = end
            at += 1
        return found

    def _opened(self, line: str, gm: bool) -> tuple[Shape, dict[str, Any]] | None:
        for shape in self.verbs.get(self._verb(line) or "", ()):
            if shape.rule.closing and shape.rule.gm == gm:
                slots = shape.fit(line)
                if slots is not None:
                    return shape, slots
        return None

    def _line(self, number: int, line: str, gm: bool, packaged: bool) -> Iterator[Line]:
        if len(line) > LONGEST_LINE:
            problem = f"a line may have at most {LONGEST_LINE} characters, this one has {len(line)}"
            yield Line(number, line[:80], problem=Problem(number, problem))
            return
        parts = [part.strip() for part in line.split(";")]
        if len(parts) > 1 and all(self._verb(part) for part in parts if part):
            for part in parts:
                if part:
                    yield self._one(number, typography.bare(part), gm, packaged)
        else:
            yield self._one(number, line, gm, packaged)

    def _verb(self, line: str) -> str | None:
        """Return the verb a line begins with, in Latin letters where they only look so."""
        word = _SEPARATED.split(line, 1)[0].upper()
        if word in self.verbs:
            return word
        if self._alias(word) in self.verbs:
            return self._alias(word)
        twin = typography.look_alike(word)
        return twin if twin in self.verbs else None

    def _alias(self, word: str) -> str:
        """Return the usage lines' word for one of another language; any other as it is."""
        # Russian writes Ё or Е as it likes.
        return self.aliases.get(word.upper().replace("Ё", "Е"), word)

    def _one(self, number: int, line: str, gm: bool, packaged: bool) -> Line:
        first = _SEPARATED.split(line, 1)[0]
        if self._alias(first) != first:
            said = _WORD.sub(lambda found: self._alias(found[0]), line)
            return self._one(number, said, gm, packaged)._replace(text=line)
        verb = self._verb(line)
        if verb is None:
            return self._chat_or_slip(number, line, gm)
        if not line.isascii():
            first, *rest = line.split(" ")
            if first.upper() not in self.verbs:
                first = typography.look_alike(first)
            line = " ".join([first, *map(typography.latin, rest)])
        shapes = self.verbs[verb]
        if "__" in line:
            form, line = line, _FORM_BLANK.sub(" ", line).strip()
            line = re.sub(" {2,}", " ", line)
            # As it was sent, a form's line holds no order; nor does one that is half filled in.
            if not any(shape.is_filled(line) for shape in shapes):
                return Line(number, form)
        if any(
            shape.rule.chat and re.fullmatch(shape.rule.chat, line, re.IGNORECASE)
            for shape in shapes
        ):
            return Line(number, line)
        for shape in shapes:
            slots = shape.fit(line, packaged)
            if slots is not None and shape.rule.gm == gm:
                return _made(shape, slots, number, line)
            if slots is not None:
                whose = "a player's" if gm else "the game master's"
                return _refused(number, line, f"{verb} is {whose} order")
        if is_prose(line):
            return Line(number, line)
        usages = " or ".join(shape.told for shape in shapes if shape.rule.gm == gm)
        odd = typography.odd_letters(line)
        hint = f"; not Latin, though they look so: {odd}" if odd else ""
        usages = usages or shapes[0].told
        return _refused(number, line, f"not understood; the order is: {usages}{hint}")

    def _chat_or_slip(self, number: int, line: str, gm: bool) -> Line:
        """Part chat from an order gone wrong: a verb misspelt, or a lone label."""
        word, _, rest = line.partition(" ")
        word = typography.look_alike(word.rstrip(":")).upper()
        if 2 <= len(word) <= _LONGEST_VERB and word.isalpha():
            alike = {
                verb for left in typography.thinned(word) for verb in self._slips.get(left, ())
            }
            for verb in sorted(alike):
                if _is_slip(word, verb) and any(
                    shape.rule.gm == gm and shape.fit(f"{verb} {rest}".strip()) is not None
                    for shape in self.verbs[verb]
                ):
                    meant = f"{verb} {rest}".strip()
                    return _refused(number, line, f"not understood; did you mean {meant}?")
        if self._lone and self._lone[0].fullmatch(line):
            for shape in self._lone[1]:
                if shape.fit(f"{shape.rule.verb} {line}", True):
                    hint = f"did you mean {shape.rule.verb} {line}?"
                    return _refused(number, line, f"not understood; {hint}")
        return Line(number, line)


def _is_slip(word: str, verb: str) -> bool:
    """Tell whether a word may be meant for a verb, a long one with two letters left out too."""
    if typography.near(word, verb):
        return True
    left_out = len(verb) - len(word) if len(verb) > 5 and word[0] == verb[0] else 0
    return left_out == 2 and typography.distance(word, verb) == 2


def _made(shape: Shape, slots: Mapping[str, Any], number: int, line: str) -> Line:
    return Line(number, line, order=shape.rule.make(**slots, line=number))


def _refused(number: int, line: str, message: str) -> Line:
    return Line(number, line, problem=Problem(number, message))
