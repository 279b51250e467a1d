"""What the archive shows of a match of Hexem: its whole course, and each turn as a chapter."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from pbem.game import Json
from pbem.games.hexem import replay
from pbem.games.hexem.became import became
from pbem.games.hexem.tally import Losses, borders, fronts, losses, matrix

# So many musters of a turn are told one by one; a page with more would be too great to load.
MOST_STEPS = 600

_TOLD = ("muster", "out", "growth")
# How high the small curves are that show a front over time.
_HIGH = 26


def course(record: Json) -> Json:
    """Return the facts of the match's page from its published record.

    `charts`: hexes and armies of each seat after each turn, from when countries are given out.
    `board`: as the last turn left
    it; `start` and `steps` lead from the first board to it, a step a turn, each with what it
    changes (`set`), who `took` how many hexes from whom, and who went `out`. `fronts`: every two
    seats that ever shared one, with its length after each turn. `losses`: who lost what to whom.
    Of a match that has not begun there is nothing.
    """
    seats, turns = record["seats"], record["turns"]
    if not turns:
        return {}
    known, order = _board(record)
    frames = [replay.frame(known, order, turn["state"]) for turn in turns]
    owners = [_owners(order, turn["state"]) for turn in turns]
    sides = borders(order)
    front = [fronts(sides, each) for each in owners]
    strength = [_armies(turn["state"]) for turn in turns]
    counted = [Counter(each) for each in owners]
    lost = Losses(Counter(), Counter())
    for turn in turns:
        for total, more in zip(lost, losses(_facts(turn, "muster")), strict=True):
            total.update(more)
    return {
        "charts": [
            {"title": title, "unit": title.lower(), "seats": values}
            for title, each in (("Hexes", counted), ("Armies", strength))
            if (values := _values(seats, owners, each))
        ],
        "board": replay.drawn(known, order, frames[-1]),
        "legend": _legend(known, frames[-1], None),
        "start": replay.begin(frames[0]),
        "steps": [
            {
                "number": turn["number"],
                "set": replay.turned(before, after),
                "took": _took(seats, losses(_facts(turn, "muster"))),
                "out": [fact["seat"] for fact in _facts(turn, "out")],
                "given": list(_facts(turn, "country")),
            }
            for turn, before, after in zip(turns[1:], frames, frames[1:], strict=False)
        ],
        "fronts": _fronts(seats, front),
        "losses": matrix(lost, seats),
    }


def chapter(record: Json, number: int) -> Json:
    """Return the facts of a turn's page from the published record.

    `became`: what became of each order line. `board`: at the end of the turn; `start` and `steps`
    lead from its beginning to it, a step a muster in the order played, or a country given.
    `more`: musters beyond those told. `legend`: whose each mark is, with its change where a turn
    was run (`grown`). `changed`: the places of hexes that changed hands. `order`, `dice`: who moved
    when, and why. `losses`: of this turn. `fronts`: every two seats that share one, before and
    after. `over`: how the match ended, if by itself. `drawn`: that the page has its own picture.
    """
    at = next(at for at, turn in enumerate(record["turns"]) if turn["number"] == number)
    seats, turn = record["seats"], record["turns"][at]
    known, order = _board(record)
    before = record["turns"][at - 1]["state"] if at else turn["state"]
    first, last = (replay.frame(known, order, one) for one in (before, turn["state"]))
    owners = [_owners(order, one) for one in (before, turn["state"])]
    moved: Json = next(_facts(turn, "order"), {"order": [], "dice": []})
    mustered = {row["seat"] for row in moved["order"] if row["musters"]}
    grown = any(_facts(turn, "growth"))
    is_run = at > 0 and not any(_facts(turn, "ended"))
    kept, more = _cut(_steps(known, order, first, last, turn) if is_run else [])
    changed = [place for place, (one, two) in enumerate(zip(*owners, strict=True)) if one != two]
    sides = borders(order)
    return {
        "became": became(turn),
        "board": replay.drawn(known, order, last),
        "legend": _legend(known, last, first if grown else None),
        "changed": changed if grown else [],
        "start": replay.begin(first),
        "steps": kept,
        "more": more,
        "grown": grown,
        "order": moved["order"],
        "dice": [group for group in moved["dice"] if group[0] in mustered],
        "losses": matrix(losses(_facts(turn, "muster")), seats),
        "fronts": _fronts(seats, [fronts(sides, each) for each in owners]),
        "over": next(_facts(turn, "over"), None),
        "drawn": True,
    }


def _board(record: Json) -> tuple[replay.Marks, tuple[str, ...]]:
    state = record["turns"][0]["state"]
    return replay.marks(record["seats"], state), replay.labels(state)


def _facts(turn: Json, kind: str) -> Iterator[Json]:
    return (event["facts"] for event in turn["events"] if event["kind"] == kind)


def _owners(order: Sequence[str], state: Json) -> list[str | None]:
    return [state["hexes"][label]["owner"] for label in order]


def _armies(state: Json) -> Counter[str | None]:
    found: Counter[str | None] = Counter()
    for one in state["hexes"].values():
        found[one["owner"]] += one["armies"]
    return found


def _values(
    seats: Sequence[str],
    owners: Sequence[Sequence[str | None]],
    counted: Sequence[Counter[Any]],
) -> dict[str, list[int | None]]:
    """Return each seat's number after each turn; there is none while all hexes are nobody's."""
    is_held = [any(each) for each in owners]
    if not any(is_held):
        return {}
    pairs = list(zip(is_held, counted, strict=True))
    return {seat: [each[seat] if held else None for held, each in pairs] for seat in seats}


def _legend(
    known: replay.Marks, shown: Sequence[replay.Hex], before: Sequence[replay.Hex] | None
) -> list[Json]:
    """Return whose each mark on a board is, its hexes and armies, and how they have changed."""
    hexes, armies = _held(shown)
    old_hexes, old_armies = _held(before or shown)
    return [
        {
            **mark,
            "is_seat": at < len(known.seats),
            "is_country": len(known.seats) <= at < known.nobody,
            "hexes": hexes[at],
            "armies": armies[at],
            "hexes_change": hexes[at] - old_hexes[at],
            "armies_change": armies[at] - old_armies[at],
        }
        for at, mark in enumerate(known.listed())
    ]


def _held(shown: Sequence[replay.Hex]) -> tuple[Counter[int], Counter[int]]:
    """Count the hexes and the armies of every mark."""
    hexes: Counter[int] = Counter()
    armies: Counter[int] = Counter()
    for mark, number in shown:
        hexes[mark] += 1
        armies[mark] += number
    return hexes, armies


def _took(seats: Sequence[str], lost: Losses) -> list[Json]:
    """Return who took hexes in a turn, how many from whom; neutral hexes come last."""
    return [
        {"by": by, "from": [{"seat": of, "hexes": number} for of, number in taken]}
        for by in seats
        if (taken := [(of, lost.hexes[by, of]) for of in (*seats, None) if lost.hexes[by, of]])
    ]


def _fronts(seats: Sequence[str], over_time: Sequence[Counter[tuple[str, str]]]) -> list[Json]:
    """Return every two seats that ever shared a front, the longest now first."""
    place = {seat: at for at, seat in enumerate(seats)}
    pairs = {pair for each in over_time for pair in each}
    rows: list[Json] = []
    for pair in pairs:
        values = [each[pair] for each in over_time]
        longest = max(values)
        one, other = sorted(pair, key=place.__getitem__)
        row = {"one": one, "other": other, "values": values, "longest": longest}
        rows.append({**row, "when": values.index(longest), "curve": _curve(values, longest)})
    rows.sort(key=lambda row: (place[row["one"]], place[row["other"]]))
    rows.sort(key=lambda row: (-row["values"][-1], -row["longest"]))
    return rows


def _curve(values: Sequence[int], longest: int) -> str:
    """Return a small curve of some numbers as an SVG path, a step a turn, from 0 to the longest."""
    heights = [round(_HIGH * (1 - value / longest)) for value in values]
    path = f"M0 {heights[0]}"
    for height, level in groupby(heights[1:]):
        path += f"V{height}h{len(list(level))}"
    return path


def _steps(
    known: replay.Marks,
    order: Sequence[str],
    first: Sequence[replay.Hex],
    last: Sequence[replay.Hex],
    turn: Json,
) -> list[Json]:
    """Return the steps of a turn: musters and growth, or the countries as they were given."""
    if turn["phase"] == "countries":
        return replay.given(order, first, last, turn)
    told = [event for event in turn["events"] if event["kind"] in _TOLD]
    return replay.played(known, order, first, told)


def _cut(steps: Sequence[Json]) -> tuple[list[Json], int]:
    """Keep so many steps that a page can bear; the last of them, growth, is always kept.

    What the steps left out changed is laid into that last one, so that a replay ends as the turn.
    """
    more = len(steps) - MOST_STEPS
    if more <= 0:
        return list(steps), 0
    *told, last = steps
    changed: dict[str, str] = {}
    for step in told[MOST_STEPS - 1 :]:
        changed |= {each.partition(".")[0]: each for each in step["set"].split()}
    merged = " ".join([*changed.values(), last["set"]])
    return [*told[: MOST_STEPS - 1], {**last, "set": merged}], more
