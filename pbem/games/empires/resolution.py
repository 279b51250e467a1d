"""The resolution of a round step by step: the rule that decided, the figures, the result."""

from collections.abc import Mapping, Sequence
from typing import Any

from pbem.game import Event, Json
from pbem.games.empires.page import story
from pbem.games.empires.paid import bids_of

Bids = Mapping[str, Mapping[str, int]]


def steps(turn: Mapping[str, Any]) -> list[Json]:
    """Return what a turn decided, in order: `item` (of the story), and the `grounds` for it.

    A ground is the number of a rule with the figures it went by, the lesser first, and whose they
    are. A claim is not `told` where the bids that decided it are hidden.
    """
    events = [Event(event["kind"], event["facts"]) for event in turn["events"]]
    bids = bids_of(turn) or {}
    out: list[str] = []
    found: list[Json] = []
    for item in story(events):
        grounds = _grounds(item, bids, out)
        # What the grounds tell the sentence needn't.
        plain = {key: None if key in ("why", "alike") else value for key, value in item.items()}
        told = item["kind"] != "claim" or bool(grounds)
        found.append({"item": plain, "grounds": grounds, "told": told})
        if item["kind"] == "claim":
            out.append(item["seat"])
    return found


def figures(best: Sequence[int], other: Sequence[int]) -> str:
    """Compare two lists of bids, the longest first, up to the figure that decides (rule 3)."""
    length = max(len(best), len(other))
    pairs = zip(_filled(other, length), _filled(best, length), strict=True)
    said: list[str] = []
    for less, more in pairs:
        said.append(f"{less} {'=' if less == more else '<'} {more}")
        if less != more:
            break
    return ", ".join(said)


def _filled(numbers: Sequence[int], length: int) -> list[int]:
    return [*numbers, *[0] * (length - len(numbers))]


def _ground(rule: str, said: str = "", names: Sequence[str] = ()) -> Json:
    """Return a rule with its figures; `names` are whose they are, in their order."""
    return {"rule": rule, "figures": said, "names": list(names)}


def _grounds(item: Mapping[str, Any], bids: Bids, out: Sequence[str]) -> list[Json]:
    match item["kind"]:
        case "claim":
            return _claim(item, bids, out)
        case "contest":
            return _contest(item)
        case "blocked":
            best = item["amount"]
            less = [bids.get(seat, {}).get(item["empire"], 0) for seat in item["others"]]
            said = [f"{amount} {'=' if amount == best else '<'} {best}" for amount in less]
            return [_ground("4a", ", ".join(said), [*item["others"], item["seat"]])]
        case "dice":
            return [_ground(item["rule"], "", item["order"])]
        case "without":
            return [_ground("4c")]
        case "next_round":
            return [_ground("4b")]
        case "asked":
            return [_ground("5")]
    return []


def _claim(item: Mapping[str, Any], bids: Bids, out: Sequence[str]) -> list[Json]:
    seat, empire, price, why = item["seat"], item["empire"], item["price"], item["why"]
    if item["by"] == "dice":
        return [_ground("4c", f"2 × {price // 2} = {price}")]
    if item["by"] != "bid":
        return [_ground("5a" if item["by"] == "roll" else "5", f"strength {price}")]
    if why is None:
        return []
    grounds: list[Json] = []
    if why["passed"]:
        struck = [f"{bids.get(who, {}).get(empire, 0)} struck out" for who in why["passed"]]
        grounds.append(_ground("2", ", ".join(struck), why["passed"]))
    if why["tied"]:
        best, other = why["compared"].values()
        grounds.append(_ground("3", figures(best, other), [why["tied"][0], seat]))
    else:
        live = {
            who: mine[empire]
            for who, mine in bids.items()
            if who not in (seat, *out) and mine.get(empire)
        }
        nearest = max(live, key=live.__getitem__, default=None)
        if nearest:
            grounds.append(_ground("1", f"{live[nearest]} < {price}", [nearest, seat]))
        else:
            grounds.append(_ground("1", f"only {price}", [seat]))
    if why["left"]:
        led = [seat] * (1 + len(why["left"]))
        grounds.append(_ground("2a", " = ".join([str(price)] * len(led)), [seat]))
    return grounds


def _contest(item: Mapping[str, Any]) -> list[Json]:
    alike = item["alike"]
    grounds: list[Json] = []
    if alike and alike["lost"]:
        best, other = alike["compared"].values()
        said = figures(best, other)
        grounds.append(_ground("3", said, [alike["lost"][0], alike["seats"][0]]))
    bids = [item["minimum"], *(alike["references"] if alike else ())]
    said = ", ".join(" = ".join([str(bid)] * len(item["seats"])) for bid in bids)
    return [*grounds, _ground("4", said, item["seats"])]
