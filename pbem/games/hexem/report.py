"""What a report says beyond the view: standings, what happened, the reader's front, his chances."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from pbem import colours, last
from pbem.game import Event, Json
from pbem.games.hexem import board
from pbem.games.hexem.drawing import drawn, letters
from pbem.games.hexem.picture import Entry, colour, country_colour, picture, steps
from pbem.games.hexem.state import NOBODY, State, armies, hexes, most

# More musters in a row than this that moved a player's armies among his own hexes are told in one
# sentence, and so are more that moved nothing.
_MOVES_TOLD = 3
# More of a player's battles than this are only counted, and so are more of his other musters: it is
# beyond any turn played in earnest, and keeps a letter small when somebody orders thousands.
_MUSTERS_TOLD = 250
# So many hexes of the front, and so many chances, are listed.
_LISTED = 12


def page(state: State, seat: str | None, events: Sequence[Event]) -> dict[str, Any]:
    """Gather what the templates need beyond the view, as JSON; `seat` is the reader's, or `None`.

    `board`, `letters`, `changed`: the board in characters, its letters, the hexes that changed
    hands. `standings`, `neutral`: a row a seat, best first, and the neutral hexes. `me`: the
    reader's own row, if he has one. `countries`: while they are bid for. `bids`, `bid_on`, `given`,
    `left`: what was bid, for which countries, who got what, what stays neutral. `grown`: whether a
    turn was run. `order`, `dice`, `moves`: who moved when, and what each muster did. `front`,
    `chances`: the reader's hexes beside others, and the hexes one muster of his would take. `over`:
    how the match ended, if it did by itself. `picture`: the layout of the picture.
    """
    common = _common(state, *events)
    front, chances = [], []
    if seat is not None and state.phase == "muster":
        front, chances = _fronts(state)[seat], _chances(state)[seat]
    return {
        **common,
        "me": next((row for row in common["standings"] if row["seat"] == seat), None),
        "front": _listed(front),
        "chances": _listed(chances),
    }


@last.kept
def _common(state: State, *events: Event) -> dict[str, Any]:
    """Gather what is the same for all readers."""
    changed = frozenset(_changed(state, events))
    standings = _standings(state, events)
    countries = _countries(state) if state.phase == "countries" else []
    facts = _by_kind(events)
    orders = facts.get("order", [{"order": [], "dice": []}])[-1]
    mustered = {row["seat"] for row in orders["order"] if row["musters"]}
    legend = countries or standings
    named = "country" if countries else "seat"
    entries = [Entry(row[named], row["text"], row["colour"]) for row in legend]
    neutral = {"hexes": state.owners.count(NOBODY), "armies": armies_of(state, NOBODY)}
    if neutral["hexes"] and not countries:
        text = f"neutral: {_held(neutral['hexes'], neutral['armies'])}"
        entries.append(Entry("neutral", text, colours.NEUTRAL))
    return {
        "board": drawn(state, changed),
        "letters": letters(state.seats),
        "changed": sorted(changed, key=board.place),
        "standings": standings,
        "neutral": neutral,
        "countries": countries,
        "bids": facts.get("bids", []),
        "bid_on": sorted({name for bid in facts.get("bids", []) for name in bid["bids"]}),
        "given": facts.get("country", []),
        "left": [name for fact in facts.get("neutral", []) for name in fact["countries"]],
        "order": orders["order"],
        "dice": [group for group in orders["dice"] if group[0] in mustered],
        "moves": _moves(events),
        "grown": "growth" in facts,
        "over": facts.get("over", [None])[-1],
        "picture": picture(state, tuple(entries), changed, steps(events)),
    }


def armies_of(state: State, owner: int) -> int:
    """Count the armies of one owner, by place among the seats, or `NOBODY`."""
    return sum(n for at, n in zip(state.owners, state.armies, strict=True) if at == owner)


def _by_kind(events: Iterable[Event]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        if event.kind != "muster":
            found.setdefault(event.kind, []).append(event.facts)
    return found


def _musters(events: Iterable[Event]) -> list[Mapping[str, Any]]:
    return [event.facts for event in events if event.kind == "muster"]


def _changed(state: State, events: Iterable[Event]) -> set[str]:
    """Return the hexes whose owner differs from the one at the start of the turn."""
    before: dict[str, str | None] = {}
    for fact in _musters(events):
        if fact["result"] == "won":
            before.setdefault(fact["hex"], fact["owner"])
    names = (*state.seats, None)
    places = board.places(state.labels)
    return {label for label, owner in before.items() if names[state.owners[places[label]]] != owner}


def _standings(state: State, events: Sequence[Event]) -> list[Json]:
    """Return a row a seat, best first; changes are those of the turn, `None` where none was run."""
    held, strength = hexes(state), armies(state)
    won: Counter[str | None] = Counter()
    fallen: Counter[str | None] = Counter()
    for fact in _musters(events):
        if fact["result"] == "won":
            won[fact["seat"]] += 1
            won[fact["owner"]] -= 1
            fallen[fact["owner"]] += fact["defenders"]
        elif fact["result"] == "lost":
            fallen[fact["seat"]] += fact["armies"]
    ran = any(event.kind == "growth" for event in events)
    signs = letters(state.seats)
    rows = [
        {
            "seat": name,
            "letter": signs[name],
            "colour": colour(at),
            "hexes": held[name],
            "armies": strength[name],
            "hexes_change": won[name] if ran else None,
            "armies_change": held[name] - fallen[name] if ran else None,
            "out": state.phase != "countries" and not held[name],
            "text": f"{name} has {_held(held[name], strength[name])}",
        }
        for at, name in enumerate(state.seats)
    ]
    return sorted(rows, key=lambda row: (-row["hexes"], -row["armies"]))


def _held(held: int, strength: int) -> str:
    return f"{_hexes(held)}, {strength} {'army' if strength == 1 else 'armies'}"


def _hexes(number: int) -> str:
    return f"{number} {'hex' if number == 1 else 'hexes'}"


def _countries(state: State) -> list[Json]:
    names = board.countries(state.countries)
    signs, limits = letters(names), most(state)
    size = Counter(state.countries)
    borders: dict[str, set[str]] = {name: set() for name in names}
    for at, near in enumerate(board.neighbours(state.labels)):
        here = state.countries[at]
        if here is not None:
            others = {state.countries[other] for other in near} - {here}
            borders[here].update(name for name in others if name is not None)
    return [
        {
            "country": name,
            "letter": signs[name],
            "colour": country_colour(at),
            "hexes": size[name],
            "armies": limits[name] + size[name],
            "most": limits[name],
            "borders": [other for other in names if other in borders[name]],
            "text": f"{name} has {_hexes(size[name])}, bids up to {limits[name]}",
        }
        for at, name in enumerate(names)
    ]


def _moves(events: Iterable[Event]) -> list[Json]:
    """Return player by player what the musters did, long runs of those without battle folded."""
    told = [event for event in events if event.kind in ("muster", "out")]
    moves: list[Json] = []
    by_seat = groupby(told, lambda e: e.facts["seat" if e.kind == "muster" else "by"])
    for seat, done in by_seat:
        steps: list[Json] = []
        number = more = 0
        room = {"battle": _MUSTERS_TOLD, "join": _MUSTERS_TOLD, "nothing": _MUSTERS_TOLD}
        for does, run in groupby(done, _does):
            if does == "out":
                steps += [{"kind": "out", **event.facts} for event in run]
                continue
            musters = list(run)
            first = number + 1
            number += len(musters)
            kept = [
                {"kind": "muster", **event.facts, "number": at}
                for at, event in enumerate(musters[: room[does]], first)
            ]
            room[does] -= len(kept)
            cut = len(musters) - len(kept)
            if kept and does != "battle" and len(musters) > _MOVES_TOLD:
                fold = {"kind": "fold", "result": does, "seat": seat, "musters": kept, "more": cut}
                steps.append({**fold, "first": first, "number": number})
            else:
                steps += kept
                more += cut
        moves.append({"seat": seat, "steps": steps, "more": more})
    return moves


def _does(event: Event) -> str:
    """Return what is told of an event in one run: `join`, `nothing`, `battle` or `out`."""
    if event.kind == "out":
        return "out"
    result: str = event.facts["result"]
    return "battle" if result in ("won", "lost") else result


@last.kept
def _sides(state: State) -> list[dict[int, int]]:
    """Return for each hex the armies that each owner could muster at it, by owner."""
    owners, armies = state.owners, state.armies
    found = []
    for around in board.neighbours(state.labels):
        sides: dict[int, int] = {}
        for near in around:
            owner = owners[near]
            sides[owner] = sides.get(owner, 0) + armies[near]
        found.append(sides)
    return found


@last.kept
def _fronts(state: State) -> dict[str, list[Json]]:
    """Return each seat's hexes next to other players, the most endangered first.

    Each has the strongest neighbour and what he could muster there; `falls` where that would do.
    """
    rows: dict[str, list[Json]] = {seat: [] for seat in state.seats}
    for at, sides in enumerate(_sides(state)):
        me, number = state.owners[at], state.armies[at]
        rivals = {owner: n for owner, n in sides.items() if owner not in (me, NOBODY)}
        if me != NOBODY and rivals:
            rival = max(rivals, key=lambda owner: rivals[owner])
            rows[state.seats[me]].append(
                {
                    "hex": state.labels[at],
                    "armies": number,
                    "rival": state.seats[rival],
                    "strength": rivals[rival],
                    "falls": rivals[rival] >= 3 * number,
                    "gather": sides.get(me, 0),
                }
            )
    for found in rows.values():
        found.sort(key=lambda row: (not row["falls"], -row["strength"] / max(1, row["armies"])))
    return rows


@last.kept
def _chances(state: State) -> dict[str, list[Json]]:
    """Return, by seat, the hexes of others that one muster of his would take today."""
    rows: dict[str, list[Json]] = {seat: [] for seat in state.seats}
    for at, sides in enumerate(_sides(state)):
        owner, number = state.owners[at], state.armies[at]
        holder = None if owner == NOBODY else state.seats[owner]
        for other, gather in sides.items():
            if other not in (owner, NOBODY) and gather and gather >= 3 * number:
                rows[state.seats[other]].append(
                    {"hex": state.labels[at], "owner": holder, "armies": number, "gather": gather}
                )
    for found in rows.values():
        found.sort(key=lambda row: (row["owner"] is None, -row["gather"]))
    return rows


def _listed(rows: Sequence[Json]) -> Json:
    return {"hexes": rows[:_LISTED], "more": max(0, len(rows) - _LISTED)}
