"""What a report says beyond the view: the turn in order, a hand's words, the groups as tiles."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from pbem.game import Event, Json
from pbem.games.alphabet import words
from pbem.games.alphabet.state import INCOME, State, multiplier, winners

# The picture, in pixels: a tile, the gap after it, and the place of a group with its two lines.
_TILE, _GAP = 38, 4
_CELL_WIDTH, _CELL_HEIGHT, _MARGIN = 330, 70, 16
_NUMBER_WIDTH = 52


def page(state: State, seat: str | None, events: Sequence[Event]) -> Json:
    """Return the facts of a report for a seat (`None`: the public), as JSON.

    `story` is the turn just played, by rule; `groups` are on offer now; `hand` is the reader's own
    (`None` for the public); `standings` and `words` are tables; `picture` has the places of tiles.
    """
    seen = [event for event in events if event.seen_by is None or seat in event.seen_by]
    playing = state.phase == "play"
    groups = _groups(state, seat) if playing else []
    return {
        "round": state.round,
        "playing": playing,
        "over": state.phase == "over",
        "income": INCOME if state.round > 1 else 0,
        "times": multiplier(state.round) if state.round > 1 and state.phase != "over" else None,
        "story": _story(state, seen),
        "groups": groups,
        "hand": _hand(state, seat) if seat is not None else None,
        "standings": _standings(state, seat),
        "words": [
            {"word": word, "by": [name for name in state.seats if word in state.claimed[name]]}
            for word in state.words
        ],
        "winners": winners(state) if state.phase == "over" else [],
        "picture": _picture(groups),
    }


def _spaced(letters: str) -> str:
    return " ".join(letters)


def _runs(letters: str) -> str:
    """Return sorted letters with equal ones together: `AA B EEE`."""
    return " ".join("".join(run) for _, run in groupby(letters))


def _knows(state: State, seat: str | None, whose: str) -> bool:
    """Tell whether a seat may know another's letters and money (`hands`)."""
    return whose == seat or not state.secret or state.phase == "over"


def _story(state: State, events: Sequence[Event]) -> Json:
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        by_kind.setdefault(event.kind, []).append(event.facts)
    lots = [
        {"kind": event.kind, "spaced": _spaced(event.facts["letters"]), **event.facts}
        for event in events
        if event.kind in ("sold", "held", "unsold")
    ]
    claims: dict[str, list[Mapping[str, Any]]] = {}
    for facts in by_kind.get("claim", ()):
        claims.setdefault(facts["seat"], []).append(facts)
    ended = "over" in by_kind
    return {
        "round": state.round if ended or "ended" in by_kind else state.round - 1,
        "income": sum(facts["pounds"] for facts in by_kind.get("income", ())),
        "trades": by_kind.get("trade", []),
        "claims": [
            {
                "seat": seat,
                "words": [{"word": facts["word"], "points": facts["points"]} for facts in formed],
                "points": sum(facts["points"] for facts in formed),
                "times": formed[0]["times"],
            }
            for seat, formed in claims.items()
        ],
        "pot": by_kind.get("pot", []),
        "share": by_kind.get("share", []),
        "lots": lots,
        "over": ended,
        "stopped": "ended" in by_kind,
    }


def _groups(state: State, seat: str | None) -> list[Json]:
    """List the groups on offer, with the words each would complete for the reader's hand."""
    hand = state.hands[seat] if seat is not None else ""
    open_words = _open_words(state, seat) if seat is not None else ()
    within = [word for word in open_words if not words.holds(hand, word)]
    return [
        {
            "number": number,
            "letters": group.letters,
            "spaced": _spaced(group.letters),
            "only": list(group.only) if group.only else None,
            "biddable": seat is not None and (not group.only or seat in group.only),
            "makes": [word for word in within if words.holds(hand + group.letters, word)],
        }
        for number, group in state.groups.items()
    ]


def _open_words(state: State, seat: str) -> list[str]:
    return [word for word in state.words if word not in state.claimed[seat]]


def _hand(state: State, seat: str) -> Json:
    """Return the reader's own letters and money, and which words he has and nearly has."""
    hand, times = state.hands[seat], multiplier(state.round)
    lacking = {word: words.missing(word, hand) for word in _open_words(state, seat)}
    ready = [word for word, letters in lacking.items() if not letters]
    nearly = [(word, letters) for word, letters in lacking.items() if len(letters) == 1]
    return {
        "letters": hand,
        "runs": _runs(hand),
        "money": state.money[seat],
        "purse": state.money[seat] + (INCOME if state.round > 1 else 0),
        "ready": [{"word": word, "points": len(word) * times} for word in ready],
        "nearly": [{"word": word, "lacks": letter} for word, letter in nearly],
    }


def _standings(state: State, seat: str | None) -> list[Json]:
    """List the seats by points, equal ones at an equal place and in seat order."""
    ranked = sorted(state.seats, key=lambda name: -state.points[name])
    return [
        {
            "place": 1 + sum(points > state.points[name] for points in state.points.values()),
            "seat": name,
            "me": name == seat,
            "points": state.points[name],
            "claimed": list(state.claimed[name]),
            "money": state.money[name] if _knows(state, seat, name) else None,
            "hand": _runs(state.hands[name]) if _knows(state, seat, name) else None,
            "letters": len(state.hands[name]) if _knows(state, seat, name) else None,
        }
        for name in ranked
    ]


def _picture(groups: Sequence[Json]) -> Json:
    """Return where the tiles of the groups on offer are drawn; `groups` is empty without any."""
    columns = 1 if len(groups) <= 3 else 2 if len(groups) <= 16 else 3
    rows = -(-len(groups) // columns)
    drawn = []
    for at, group in enumerate(groups):
        column, row = divmod(at, rows)
        left, top = _MARGIN + column * _CELL_WIDTH, _MARGIN + row * _CELL_HEIGHT
        drawn.append(
            {
                "number": group["number"],
                "x": left,
                "y": top,
                "only": group["only"],
                "tiles": list(_tiles(group["letters"], left + _NUMBER_WIDTH)),
            }
        )
    return {
        "width": 2 * _MARGIN + columns * _CELL_WIDTH,
        "height": _MARGIN + rows * _CELL_HEIGHT,
        "tile": _TILE,
        "groups": drawn,
    }


def _tiles(letters: str, left: int) -> Iterable[Json]:
    for place, letter in enumerate(letters):
        x = left + place * (_TILE + _GAP)
        yield {"letter": letter, "x": x, "middle": x + _TILE // 2}
