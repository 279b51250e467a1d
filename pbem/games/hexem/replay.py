"""The board as frames to step through: where it is drawn, how it begins, what each step changes.

A frame gives each hex, in board order, a mark (whose it is) and its armies. A page has the first
frame, and of each step only what it changes; the script of the pages does the rest.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pbem import colours
from pbem.game import Json
from pbem.games.hexem import board
from pbem.games.hexem.drawing import letters

# A hex is as wide as twice this, and its corners are this far from its middle: near enough to
# regular, and whole numbers keep the page small.
_HALF, _CORNER = 26, 30
_ROW = 45
_CORNERS = ((0, -30), (26, -15), (26, 15), (0, 30), (-26, 15), (-26, -15))
# The neighbours to the right and below, each with the two corners of the side to it.
_SIDES = (
    ((2 * _HALF, 0), _CORNERS[1], _CORNERS[2]),
    ((_HALF, _ROW), _CORNERS[2], _CORNERS[3]),
    ((-_HALF, _ROW), _CORNERS[3], _CORNERS[4]),
)
# A pennant for what changed hands, clear of all that is written in a hex.
_FLAG = "M11.5 21.5V9L20 12.5L13.5 16V21.5Z"
_MARGIN = 6

Hex = tuple[int, int]


class Marks(NamedTuple):
    """Whose a hex may be: seats, then countries while they are bid for, then nobody."""

    seats: tuple[str, ...]
    countries: tuple[str, ...]

    @property
    def nobody(self) -> int:
        """The mark of a hex that is nobody's."""
        return len(self.seats) + len(self.countries)

    def listed(self) -> list[Json]:
        """Return all marks in order, each with its name, letter and colour (1 to 8, 0 is grey)."""
        of_seats, of_countries = letters(self.seats), letters(self.countries)
        return [
            *(_mark(seat, of_seats[seat], at) for at, seat in enumerate(self.seats)),
            # Not a seat's colour, as far as there are others: a country may be no seat's yet.
            *(
                _mark(name, of_countries[name], at)
                for at, name in enumerate(self.countries, len(self.seats))
            ),
            {"name": None, "letter": "–", "colour": 0},
        ]


def _mark(name: str, letter: str, at: int) -> Json:
    return {"name": name, "letter": letter, "colour": at % len(colours.SEATS) + 1}


def labels(state: Json) -> tuple[str, ...]:
    """Return the labels of a stored state in board order."""
    return board.ordered(tuple(state["hexes"]))


def marks(seats: Sequence[str], state: Json) -> Marks:
    """Return the marks of a match, from any of its stored states."""
    named = (state["hexes"][label].get("country") for label in labels(state))
    return Marks(tuple(seats), board.countries(tuple(named)))


def frame(known: Marks, order: Sequence[str], state: Json) -> list[Hex]:
    """Return mark and armies of each hex of a stored state."""
    hexes = [state["hexes"][label] for label in order]
    by_seat = {seat: at for at, seat in enumerate(known.seats)}
    by_country = {name: len(known.seats) + at for at, name in enumerate(known.countries)}
    bidding = all(one["owner"] is None for one in hexes)
    return [
        (
            by_country.get(one.get("country"), known.nobody)
            if bidding
            else by_seat.get(one["owner"], known.nobody),
            one["armies"],
        )
        for one in hexes
    ]


def grown(before: Sequence[Hex]) -> list[Hex]:
    """Return a frame after every hex has gained an army (rule 5)."""
    return [(mark, armies + 1) for mark, armies in before]


def mustered(
    known: Marks, places: Mapping[str, int], before: Sequence[Hex], fact: Mapping[str, Any]
) -> list[Hex]:
    """Return a frame after a muster, from its facts (rule 4)."""
    after = list(before)
    for source in fact["from"].split():
        mark, _ = after[places[source]]
        after[places[source]] = mark, 0
    at = places[fact["hex"]]
    mark, armies = before[at]
    if fact["result"] == "won":
        after[at] = known.seats.index(fact["seat"]), fact["armies"]
    elif fact["result"] == "join":
        after[at] = mark, armies + fact["armies"]
    return after


def changes(before: Sequence[Hex], after: Sequence[Hex]) -> str:
    """Write what a step changes: `3.0.12` gives hex 3 the mark 0 and 12 armies."""
    pairs = enumerate(zip(before, after, strict=True))
    return " ".join(f"{at}.{new[0]}.{new[1]}" for at, (old, new) in pairs if old != new)


def turned(before: Sequence[Hex], after: Sequence[Hex]) -> str:
    """Write what a whole turn changes: `+` where every hex grew first, then what differs."""
    plain, growth = changes(before, after), changes(grown(before), after)
    return f"+ {growth}".rstrip() if len(growth) < len(plain) else plain


def begin(first: Sequence[Hex]) -> str:
    """Write a whole frame, as mark and armies of each hex."""
    return " ".join(f"{mark}.{armies}" for mark, armies in first)


def drawn(known: Marks, order: Sequence[str], shown: Sequence[Hex]) -> Json:
    """Lay the board out: its size, its hexes with their middles, the borders between owners.

    `flag` marks a hex that changed hands, drawn about its middle as `corners` are.
    `fronts` and `edges` are SVG paths: borders of two seats, and of a seat and nobody.
    """
    at = [board.place(label) for label in order]
    top, left = min(row for row, _ in at), min(column for _, column in at)
    # A board whose first row is an odd one would else begin half a hex from its edge.
    shift = 0 if any(column == left and not row % 2 for row, column in at) else _HALF
    middles = [
        (
            _MARGIN + _HALF * (2 * (column - left) + row % 2 + 1) - shift,
            _MARGIN + _CORNER + _ROW * (row - top),
        )
        for row, column in at
    ]
    listed = known.listed()
    fronts, edges = _borders(known, middles, [mark for mark, _ in shown])
    return {
        "width": max(x for x, _ in middles) + _HALF + _MARGIN,
        "height": max(y for _, y in middles) + _CORNER + _MARGIN,
        "hexes": [
            {"label": label, "x": x, "y": y, "armies": armies, **listed[mark]}
            for label, (x, y), (mark, armies) in zip(order, middles, shown, strict=True)
        ],
        "marks": listed,
        "corners": " ".join(f"{x},{y}" for x, y in _CORNERS),
        "flag": _FLAG,
        "fronts": fronts,
        "edges": edges,
    }


def _borders(known: Marks, middles: Sequence[Hex], shown: Sequence[int]) -> tuple[str, str]:
    fronts: list[str] = []
    edges: list[str] = []
    at = {middle: number for number, middle in enumerate(middles)}
    for (x, y), mark in zip(middles, shown, strict=True):
        for (dx, dy), first, last in _SIDES:
            other = at.get((x + dx, y + dy))
            if other is not None and shown[other] != mark:
                line = f"M{x + first[0]} {y + first[1]}L{x + last[0]} {y + last[1]}"
                (edges if known.nobody in (mark, shown[other]) else fronts).append(line)
    return "".join(fronts), "".join(edges)


def played(
    known: Marks, order: Sequence[str], before: Sequence[Hex], told: Iterable[Json]
) -> list[Json]:
    """Return the steps of a turn of musters, each event with what it changes and where.

    `set` are the changes, `at` and `from` the places of the hex and of those its armies left.
    Events beside musters and growth change nothing on the board and have no step of their own:
    they stand as `then` with the step before them.
    """
    places = {label: at for at, label in enumerate(order)}
    steps: list[Json] = []
    now = list(before)
    for event in told:
        fact = event["facts"]
        if event["kind"] == "muster":
            after = mustered(known, places, now, fact)
            sources = [places[source] for source in fact["from"].split()]
            where: Json = {"at": places[fact["hex"]], "from": sources}
        elif event["kind"] == "growth":
            after, where = grown(now), {"at": None, "from": []}
        else:
            if steps:
                steps[-1]["then"].append({"kind": event["kind"], **fact})
            continue
        change = "+" if event["kind"] == "growth" else changes(now, after)
        steps.append({"kind": event["kind"], "facts": fact, "set": change, "then": [], **where})
        now = after
    return steps


def given(
    order: Sequence[str], before: Sequence[Hex], last: Sequence[Hex], turn: Json
) -> list[Json]:
    """Return the steps of the countries given out, from the frame before it to the one after."""
    countries = [turn["state"]["hexes"][label].get("country") for label in order]
    steps: list[Json] = []
    now = list(before)
    for event in turn["events"]:
        fact = event["facts"]
        if event["kind"] not in ("country", "neutral"):
            continue
        names = fact["countries"] if event["kind"] == "neutral" else [fact["country"]]
        each = zip(countries, now, last, strict=True)
        after = [new if country in names else old for country, old, new in each]
        step = {"kind": event["kind"], "facts": fact, "set": changes(now, after)}
        steps.append({**step, "then": [], "at": None, "from": []})
        now = after
    return steps
