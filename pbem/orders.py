"""The order language: rules as data, the reader of order lines, and the finder of names.

Reading knows form only: which usage line a line fits. What is lawful a game's `check` says.
A player's mistake is a `Problem`, never an exception.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from pbem import typography

MOST_LINES = 1000
LONGEST_LINE = 8000


@dataclass(frozen=True)
class Order:
    """An order as read: its subclasses add the slots of their usage line as fields.

    `line` is the 1-based line it stood on; it rides along and doesn't count in equality.
    """

    line: int = field(default=0, compare=False, kw_only=True)


class Problem(NamedTuple):
    """What is wrong with a line, in a sentence for its writer; `line` is 1-based."""

    line: int
    message: str


@dataclass(frozen=True)
class Kind:
    """A kind of slot: what fits it, how its text becomes a value, what a reader calls it."""

    pattern: str
    read: Callable[[str], Any] = str


@dataclass(frozen=True)
class Rule:
    """One order: a usage line that is pattern, help text and error message at once.

    In a usage line words in capitals stand for themselves; `<name>` or `<name:kind>` is a slot;
    `[…]` may be left out; `<x> [<x> …]` and `<x>, <x>, …` are lists; `… END WORD` takes the lines
    up to that one as the slot `body`. A slot whose name is a kind has that kind, any other is text.
    `make` gets the slots by name, and `line`. With `gm` it is an order of the game master's.
    Lines that fit the expression `chat` are everyday words that begin like it (`Good luck!`).
    """

    usage: str
    make: Callable[..., Order]
    help: str
    gm: bool = False
    chat: str = ""

    @property
    def verb(self) -> str:
        """The word the order begins with."""
        return self.usage.split()[0]

    @property
    def shown(self) -> str:
        """The usage line as a reader is shown it, without the kinds of its slots."""
        return re.sub(r"<(\w+):\w+>", r"<\1>", self.usage)

    @property
    def closing(self) -> str | None:
        """The line that ends the order's block of lines, or `None` where it has none."""
        _, block, closing = self.usage.partition(" … END")
        return "END" + closing if block else None


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


KINDS = {
    # A name may stand in angle brackets, as in a usage line; what goes on after them is one quoted.
    "text": Kind(r"(?=\S*[^\W\d_])(?:<[^<>]{1,98}>|[^\s<](?:.{0,98}?\S)?)"),
    "int": Kind(r"[+-]?\d{1,12}", int),
    "word": Kind(r"[^\W\d_]+"),
}

_REPEATED = re.compile(r"<(\w+)(?::(\w+))?>(?: \[<\1> …\]|(,) <\1>, …)")
_PIECE = re.compile(r"<(\w+)(?::(\w+))?>|(\[)|(\])|([^\s<>\[\]]+)")
# Between a word and a slot: a blank, a colon, an equals sign, or a free-standing dash.
_BEFORE_SLOT = r"(?: ?[:=] ?| -{1,3} | )"
_BEFORE_WORD = r"[,;:]? "
_SEPARATED = re.compile(r"[ :=,]")
_LONGEST_VERB = 14
_FORM_BLANK = re.compile("_{2,}")
_PROSE = re.compile(r"([^\W\d_]+)[,.] ([^\W\d_]+)")


class _Shape(NamedTuple):
    """A rule made ready to read with: its expressions, and its slots with their kinds."""

    rule: Rule
    patterns: tuple[re.Pattern[str], ...]
    slots: Mapping[str, Kind]
    repeated: Mapping[str, str]


@dataclass(frozen=True)
class Grammar:
    """The orders of a game (or those common to all), as data.

    `kinds` adds slot kinds to `KINDS`. `units` may stand beside a number and mean nothing
    (`30 VP`, `£30`). `packaged` gives, for a slot, the names that count while no match says which
    exist. `lone` names a kind that, alone on a line, looks like an order without its verb.
    """

    rules: Sequence[Rule]
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    units: Sequence[str] = ()
    packaged: Mapping[str, Callable[[], Collection[str]]] = field(default_factory=dict)
    lone: str | None = None

    def __or__(self, other: "Grammar") -> "Grammar":
        """Return a grammar with the rules of both, this one's first."""
        return Grammar(
            (*self.rules, *other.rules),
            {**other.kinds, **self.kinds},
            (*self.units, *other.units),
            {**other.packaged, **self.packaged},
            self.lone or other.lone,
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
        shape = self._by_class[type(order)]
        usage = shape.rule.usage.partition(" … END")[0]
        usage = _REPEATED.sub(r"<\1>", usage)
        value: Mapping[str, Any] = {f.name: getattr(order, f.name) for f in fields(order)}
        optional = re.compile(r" ?\[([^\]]*)\]")

        def said(found: re.Match[str]) -> str:
            thing = value[found[1]]
            if isinstance(thing, tuple):
                return shape.repeated.get(found[1], " ").join(map(str, thing))
            return str(thing)

        def kept(found: re.Match[str]) -> str:
            slots = re.findall(r"<(\w+)", found[1])
            return f" {found[1]}" if all(value[slot] is not None for slot in slots) else ""

        return re.sub(r"<(\w+)(?::\w+)?>", said, optional.sub(kept, usage))

    @cached_property
    def verbs(self) -> Mapping[str, tuple[_Shape, ...]]:
        """The rules by the word they begin with."""
        found: dict[str, tuple[_Shape, ...]] = {}
        for rule in self.rules:
            found[rule.verb] = (*found.get(rule.verb, ()), self._shape(rule))
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
    def _lone(self) -> tuple[re.Pattern[str], Sequence[_Shape]] | None:
        """What a line of nothing but `lone` slots looks like, and the rules it may be meant for."""
        kind = self.kinds[self.lone] if self.lone else None
        if kind is None:
            return None
        row = f"(?:{kind.pattern})(?:[ ,]+(?:{kind.pattern}))*"
        shapes = [s for of in self.verbs.values() for s in of if kind in s.slots.values()]
        return re.compile(row, re.IGNORECASE), shapes

    @cached_property
    def _by_class(self) -> Mapping[Any, _Shape]:
        return {shape.rule.make: shape for shapes in self.verbs.values() for shape in shapes}

    def _kind(self, name: str, kind: str | None) -> Kind:
        wanted = kind or name
        return self.kinds.get(wanted) or KINDS.get(wanted) or KINDS["text"]

    def _shape(self, rule: Rule) -> _Shape:
        usage = rule.usage.partition(" … END")[0]
        slots = {name: self._kind(name, kind) for name, kind, *_ in _PIECE.findall(usage) if name}
        repeated = {found[1]: ", " if found[3] else " " for found in _REPEATED.finditer(usage)}
        usage = _REPEATED.sub(lambda found: found[0].split(">")[0] + ">", usage)
        usages = [usage]
        # A name and a number may change places: BID 30 Romans.
        swapped = re.sub(r"(<(\w+)>) (<\w+:int>)$", r"\3 \1", usage)
        if swapped != usage and slots[re.findall(r"<(\w+)>", swapped)[-1]] is KINDS["text"]:
            usages.append(swapped)
        patterns = tuple(self._pattern(usage, slots, repeated) for usage in usages)
        return _Shape(rule, patterns, slots, repeated)

    def _pattern(
        self, usage: str, slots: Mapping[str, Kind], repeated: Mapping[str, str]
    ) -> re.Pattern[str]:
        signs = "|".join(re.escape(unit) for unit in self.units if not unit.isalnum())
        units = "|".join(re.escape(unit) for unit in self.units)
        before = f"(?:(?:{signs}) ?)?" if signs else ""
        after = f"(?: ?(?:{units})(?!\\w))?" if units else ""
        parts: list[str] = []
        for found in _PIECE.finditer(usage):
            name, _, opening, closing, word = found.groups()
            if opening:
                parts.append("(?:")
            elif closing:
                parts.append(")?")
            elif name:
                kind = slots[name]
                body = kind.pattern if name not in repeated else ".+"
                slot = f"(?P<{name}>{body})"
                if kind is KINDS["int"]:
                    slot = before + slot + after
                parts.append(_BEFORE_SLOT + slot)
            else:
                parts.append((_BEFORE_WORD if parts else "") + re.escape(word))
        return re.compile("".join(parts), re.IGNORECASE)

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
    ) -> dict[int, tuple[tuple[_Shape, dict[str, Any]], int]]:
        """Find the blocks of lines: by first line, its rule and slots, and the closing line.

        A block that is never closed ends after the last line.
        """
        found: dict[int, tuple[tuple[_Shape, dict[str, Any]], int]] = {}
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

    def _opened(self, line: str, gm: bool) -> tuple[_Shape, dict[str, Any]] | None:
        for shape in self.verbs.get(self._verb(line) or "", ()):
            if shape.rule.closing and shape.rule.gm == gm:
                slots = self._fit(shape, line, False)
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
        twin = typography.look_alike(word)
        return twin if twin in self.verbs else None

    def _one(self, number: int, line: str, gm: bool, packaged: bool) -> Line:
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
            if not any(self._is_filled(shape, line) for shape in shapes):
                return Line(number, form)
        if any(
            shape.rule.chat and re.fullmatch(shape.rule.chat, line, re.IGNORECASE)
            for shape in shapes
        ):
            return Line(number, line)
        for shape in shapes:
            slots = self._fit(shape, line, packaged)
            if slots is not None and shape.rule.gm == gm:
                return _made(shape, slots, number, line)
            if slots is not None:
                whose = "a player's" if gm else "the game master's"
                return _refused(number, line, f"{verb} is {whose} order")
        if _is_prose(line):
            return Line(number, line)
        usages = " or ".join(shape.rule.shown for shape in shapes if shape.rule.gm == gm)
        odd = typography.odd_letters(line)
        hint = f"; not Latin, though they look so: {odd}" if odd else ""
        usages = usages or shapes[0].rule.shown
        return _refused(number, line, f"not understood; the order is: {usages}{hint}")

    def _is_filled(self, shape: _Shape, line: str) -> bool:
        """Tell whether a form's line, its blanks taken out, says more than the form itself."""
        fits = self._fit(shape, line, False) is not None
        return fits and bool(set(line.upper().split()) - set(re.findall(r"\w+", shape.rule.usage)))

    def _fit(self, shape: _Shape, line: str, packaged: bool) -> dict[str, Any] | None:
        """Return the slots' values where a line fits a rule to its last word, else `None`."""
        for pattern in shape.patterns:
            found = pattern.fullmatch(line)
            if not found:
                continue
            slots: dict[str, Any] = {}
            for name, said in found.groupdict().items():
                value = self._value(shape, name, said, packaged)
                if value is _MISFIT:
                    break
                slots[name] = value
            else:
                return slots
        return None

    def _value(self, shape: _Shape, name: str, said: str | None, packaged: bool) -> Any:
        if said is None:
            return None
        kind = shape.slots[name]
        if name in shape.repeated:
            comma = shape.repeated[name] == ", "
            items = re.split(r" ?[,>] ?" if comma else r"(?: and | & |[ ,])+", said)
            items = [item for item in items if item]
            if not items or not all(re.fullmatch(kind.pattern, item, re.I) for item in items):
                return _MISFIT
        else:
            items = [said]
            if kind is KINDS["text"] and _is_prose(said):
                return _MISFIT
        if packaged and name in shape.repeated and name not in self.packaged and _is_prose(said):
            return _MISFIT
        if packaged and name in self.packaged:
            names = self.packaged[name]()
            if not all(len(_meant(item, names)) == 1 for item in items):
                return _MISFIT
        try:
            values = [kind.read(item) for item in items]
        except ValueError:
            return _MISFIT
        return tuple(values) if name in shape.repeated else values[0]

    def _chat_or_slip(self, number: int, line: str, gm: bool) -> Line:
        """Part chat from an order gone wrong: a verb misspelt, or a lone label."""
        word, _, rest = line.partition(" ")
        word = typography.look_alike(word.rstrip(":")).upper()
        if 3 <= len(word) <= _LONGEST_VERB and word.isalpha():
            alike = {
                verb for left in typography.thinned(word) for verb in self._slips.get(left, ())
            }
            for verb in sorted(alike):
                if typography.near(word, verb) and any(
                    shape.rule.gm == gm
                    and self._fit(shape, f"{verb} {rest}".strip(), False) is not None
                    for shape in self.verbs[verb]
                ):
                    return _refused(number, line, f"not understood; did you mean {verb} {rest}?")
        if self._lone and self._lone[0].fullmatch(line):
            for shape in self._lone[1]:
                if self._fit(shape, f"{shape.rule.verb} {line}", True):
                    hint = f"did you mean {shape.rule.verb} {line}?"
                    return _refused(number, line, f"not understood; {hint}")
        return Line(number, line)


_MISFIT = object()


def _made(shape: _Shape, slots: Mapping[str, Any], number: int, line: str) -> Line:
    return Line(number, line, order=shape.rule.make(**slots, line=number))


def _is_prose(text: str) -> bool:
    return any(a.islower() and b.islower() for a, b in _PROSE.findall(text))


def _refused(number: int, line: str, message: str) -> Line:
    return Line(number, line, problem=Problem(number, message))


def choose(said: str, names: Collection[str], what: str) -> tuple[str | None, str]:
    """Find the one name that was meant: `(name, "")`, or `(None, a sentence that asks)`.

    Case and accents don't matter. A whole name beats a prefix; a prefix has three letters or more
    and fits one name only. A near miss is asked back, never taken.
    """
    meant = _meant(said, names)
    if len(meant) == 1:
        return meant[0], ""
    if meant:
        both = " or ".join(meant[:4])
        return None, f"{said} may be {both}: write more of the name"
    wanted = typography.key(said)
    close = [name for name in names if typography.near(wanted, typography.key(name))]
    if close:
        return None, f"no {what} is called {said}; did you mean {' or '.join(close[:3])}?"
    if 0 < len(names) <= 12:
        return None, f"no {what} is called {said}; there are: {', '.join(names)}"
    return None, f"no {what} is called {said}"


def _meant(said: str, names: Collection[str]) -> list[str]:
    """Return the names that what was said may mean: the whole ones, else those it begins."""
    wanted = typography.key(said)
    whole = [name for name in names if typography.key(name) == wanted]
    if whole or len(wanted) < 3:
        return whole
    return [name for name in names if typography.key(name).startswith(wanted)]
