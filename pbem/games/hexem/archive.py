"""What the archive shows of a match of Hexem: its whole course, and each turn as a chapter."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from pbem.game import Event, Json
from pbem.games.hexem import replay
from pbem.games.hexem.became import became
from pbem.games.hexem.report import page
from pbem.games.hexem.state import load
from pbem.games.hexem.tally import Losses, borders, fronts, losses, matrix

# So many musters of a turn are told one by one; a page with more would be too great to load.
MOST_STEPS = 600

_TOLD = ("muster", "out", "growth")
# How high the small curves are that show a front over time.
_HIGH = 26


def course(record: Json) -> Json:
    """Return the facts of the match's page from its published record.

    `charts`: hexes and armies of each seat after each turn. `board`: as the last turn left
    it; `start` and `steps` lead from the first board to it, a step a turn, each with what it
    changes (`set`), who `took` how many hexes from whom, and who went `out`. `fronts`: every two
    seats that ever shared one, with its length after each turn. `losses`: who lost what to whom.
    """
    seats, turns = record["seats"], record["turns"]
    known, order = _board(record)
    frames = [replay.frame(known, order, turn["state"]) for turn in turns]
    owners = [_owners(order, turn["state"]) for turn in turns]
    sides = borders(order)
    front = [fronts(sides, each) for each in owners]
    strength = [_armies(turn["state"]) for turn in turns]
    counted = [Counter(each) for each in owners]
    lost = Losses(Counter(), Counter())
    for turn in turns:
        for total, more in zip(lost, losses(_musters(turn)), strict=True):
            total.update(more)
    return {
        "charts": [
            _chart("Hexes", "hexes", seats, counted),
            _chart("Armies", "armies", seats, strength),
        ],
        "board": replay.drawn(known, order, frames[-1]),
        "legend": _legend(record, len(turns) - 1),
        "start": replay.begin(frames[0]),
        "steps": [
            {
                "number": turn["number"],
                "set": replay.turned(before, after),
                "took": _took(seats, losses(_musters(turn))),
                "out": [event["facts"]["seat"] for event in _events(turn, "out")],
                "given": [event["facts"] for event in _events(turn, "country")],
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
    `more`: musters beyond those told. `changed`: the places of hexes that changed hands. `losses`:
    of this turn. `fronts`: every two seats that share one, before and after. `standings`,
    `neutral`, `order`, `dice`, `grown`, `over`: as a report has them. `drawn`: that the page has a
    picture of its own.
    """
    at = _place(record, number)
    seats, turn = record["seats"], record["turns"][at]
    known, order = _board(record)
    last = replay.frame(known, order, turn["state"])
    state = load(turn["state"], seats, record["options"])
    told = page(state, None, [Event(e["kind"], e["facts"], None) for e in turn["events"]])
    first = last
    steps: list[Json] = []
    if at and not any(_events(turn, "ended")):
        first = replay.frame(known, order, record["turns"][at - 1]["state"])
        steps = _steps(known, order, first, last, turn)
    kept, more = _cut(steps)
    sides = borders(order)
    front = fronts(sides, _owners(order, turn["state"]))
    before = record["turns"][at - 1]["state"] if at else turn["state"]
    return {
        "became": became(turn),
        "board": replay.drawn(known, order, last),
        "legend": _legend(record, at),
        "changed": [order.index(label) for label in told["changed"]],
        "start": replay.begin(first),
        "steps": kept,
        "more": more,
        "losses": matrix(losses(_musters(turn)), seats),
        "fronts": _fronts(seats, [fronts(sides, _owners(order, before)), front]),
        "drawn": True,
        **{key: told[key] for key in _REPORTED},
    }


# What a report has too.
_REPORTED = ("standings", "neutral", "order", "dice", "grown", "over")


def _place(record: Json, number: int) -> int:
    return next(at for at, turn in enumerate(record["turns"]) if turn["number"] == number)


def _board(record: Json) -> tuple[replay.Marks, tuple[str, ...]]:
    state = record["turns"][0]["state"]
    return replay.marks(record["seats"], state), replay.labels(state)


def _events(turn: Json, kind: str) -> Iterable[Json]:
    return (event for event in turn["events"] if event["kind"] == kind)


def _musters(turn: Json) -> Iterable[Json]:
    return (event["facts"] for event in _events(turn, "muster"))


def _owners(order: Sequence[str], state: Json) -> list[str | None]:
    return [state["hexes"][label]["owner"] for label in order]


def _armies(state: Json) -> Counter[str | None]:
    found: Counter[str | None] = Counter()
    for one in state["hexes"].values():
        found[one["owner"]] += one["armies"]
    return found


def _chart(title: str, unit: str, seats: Sequence[str], counted: Sequence[Counter[Any]]) -> Json:
    values = {seat: [each[seat] for each in counted] for seat in seats}
    return {"title": title, "unit": unit, "seats": values}


def _legend(record: Json, at: int) -> list[Json]:
    """Return whose each mark on the board is, with hexes and armies after a turn."""
    known, order = _board(record)
    state = record["turns"][at]["state"]
    hexes: Counter[int] = Counter()
    armies: Counter[int] = Counter()
    for mark, number in replay.frame(known, order, state):
        hexes[mark] += 1
        armies[mark] += number
    return [
        {
            **mark,
            "mark": at,
            "hexes": hexes[at],
            "armies": armies[at],
            "seat": at < len(known.seats),
        }
        for at, mark in enumerate(known.listed())
    ]


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
