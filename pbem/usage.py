"""Usage lines: an order's form as data, how a line fits it, and how an order is written by it."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from pbem import names


@dataclass(frozen=True)
class Order:
    """An order as read: its subclasses add the slots of their usage line as fields.

    `line` is the 1-based line it stood on; it rides along and doesn't count in equality.
    """

    line: int = field(default=0, compare=False, kw_only=True)


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
_PROSE = re.compile(r"([^\W\d_]+)[,.] ([^\W\d_]+)")
# A kind of which only some words are.
_CHOICE = re.compile(r"[A-Z]+(?:\|[A-Z]+)+")
_MISFIT = object()

Packaged = Mapping[str, Callable[[], Collection[str]]]


@dataclass(frozen=True)
class Shape:
    """A rule made ready to read with: its expressions, its slots with their kinds, its lists.

    `repeated` has what parts the items of each list; `packaged` the names that count for a slot
    while no match says which exist.
    """

    rule: Rule
    patterns: tuple[re.Pattern[str], ...]
    slots: Mapping[str, Kind]
    repeated: Mapping[str, str]
    packaged: Packaged

    @property
    def told(self) -> str:
        """The usage line as shown to who has missed it: with the words of a slot that has few."""
        told = self.rule.shown
        for name, kind in self.slots.items():
            if _CHOICE.fullmatch(kind.pattern):
                *words, last = kind.pattern.split("|")
                told += f", where {name} is {', '.join(words)} or {last}"
        return told

    def fit(self, line: str, packaged: bool = False) -> dict[str, Any] | None:
        """Return the slots' values where a line fits the rule to its last word, else `None`.

        With `packaged`, a name counts where it is a packaged one, or where its slot has none.
        """
        for pattern in self.patterns:
            found = pattern.fullmatch(line)
            if not found:
                continue
            slots: dict[str, Any] = {}
            for name, said in found.groupdict().items():
                value = self._value(name, said, packaged)
                if value is _MISFIT:
                    break
                slots[name] = value
            else:
                return slots
        return None

    def is_filled(self, line: str) -> bool:
        """Tell whether a form's line, its blanks taken out, says more than the form itself."""
        form = set(re.findall(r"\w+", self.rule.usage))
        return self.fit(line) is not None and bool(set(line.upper().split()) - form)

    def write(self, order: Order) -> str:
        """Write an order as the usage line has it, its slots filled in."""
        usage = self.rule.usage.partition(" … END")[0]
        usage = _REPEATED.sub(r"<\1>", usage)
        value: Mapping[str, Any] = {f.name: getattr(order, f.name) for f in fields(order)}
        optional = re.compile(r" ?\[([^\]]*)\]")

        def said(found: re.Match[str]) -> str:
            thing = value[found[1]]
            if isinstance(thing, tuple):
                return self.repeated.get(found[1], " ").join(map(str, thing))
            return str(thing)

        def kept(found: re.Match[str]) -> str:
            slots = re.findall(r"<(\w+)", found[1])
            return f" {found[1]}" if all(value[slot] is not None for slot in slots) else ""

        return re.sub(r"<(\w+)(?::\w+)?>", said, optional.sub(kept, usage))

    def _value(self, name: str, said: str | None, packaged: bool) -> Any:
        if said is None:
            return None
        kind = self.slots[name]
        if name in self.repeated:
            comma = self.repeated[name] == ", "
            items = re.split(r" ?[,>] ?" if comma else r"(?: and | & |[ ,])+", said)
            items = [item for item in items if item]
            if not items or not all(re.fullmatch(kind.pattern, item, re.I) for item in items):
                return _MISFIT
        else:
            items = [said]
            if kind is KINDS["text"] and is_prose(said):
                return _MISFIT
        if packaged and name in self.repeated and name not in self.packaged and is_prose(said):
            return _MISFIT
        if packaged and name in self.packaged:
            there = self.packaged[name]()
            if not all(len(names.meant(item, there)) == 1 for item in items):
                return _MISFIT
        try:
            values = [kind.read(item) for item in items]
        except ValueError:
            return _MISFIT
        return tuple(values) if name in self.repeated else values[0]


def shape(rule: Rule, kinds: Mapping[str, Kind], units: Sequence[str], packaged: Packaged) -> Shape:
    """Make a rule ready to read with; `units` may stand beside a number and mean nothing."""

    def kind_of(name: str, kind: str) -> Kind:
        wanted = kind or name
        return kinds.get(wanted) or KINDS.get(wanted) or KINDS["text"]

    usage = rule.usage.partition(" … END")[0]
    slots = {name: kind_of(name, kind) for name, kind, *_ in _PIECE.findall(usage) if name}
    repeated = {found[1]: ", " if found[3] else " " for found in _REPEATED.finditer(usage)}
    usage = _REPEATED.sub(lambda found: found[0].split(">")[0] + ">", usage)
    usages = [usage]
    # A name and a number may change places: BID 30 Romans.
    swapped = re.sub(r"(<(\w+)>) (<\w+:int>)$", r"\3 \1", usage)
    if swapped != usage and slots[re.findall(r"<(\w+)>", swapped)[-1]] is KINDS["text"]:
        usages.append(swapped)
    patterns = tuple(_pattern(usage, slots, repeated, units) for usage in usages)
    return Shape(rule, patterns, slots, repeated, packaged)


def _pattern(
    usage: str, slots: Mapping[str, Kind], repeated: Mapping[str, str], units: Sequence[str]
) -> re.Pattern[str]:
    signs = "|".join(re.escape(unit) for unit in units if not unit.isalnum())
    all_units = "|".join(re.escape(unit) for unit in units)
    before = f"(?:(?:{signs}) ?)?" if signs else ""
    after = f"(?: ?(?:{all_units})(?!\\w))?" if all_units else ""
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


def is_prose(text: str) -> bool:
    """Tell whether a text reads like running prose: a comma or stop between lower-case words."""
    return any(a.islower() and b.islower() for a, b in _PROSE.findall(text))
