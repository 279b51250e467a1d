"""A turn of a match as a case file, so that one can ask what else might have come of it.

The dice of a case go by the place of a turn in it, those of a match by the number of the phase. So
that both are the same a case begins at the set-up, and has all turns that stand up to the one asked
for; turns that were taken back are left out, as are the dice they had.
"""

from pbem.game import Json


def case(record: Json, number: int) -> Json:
    """Return a case file of a match up to a turn, by its record, which has to be whole.

    Each turn has the orders it was run with, standing ones and the game's own included; the last
    has what came of it, to compare with: it comes of all before. Raise
    `ValueError` where the match has no such turn, or the record lacks orders and seed.
    """
    if not record["whole"] or record["seed"] is None:
        raise ValueError("orders and seed are not public; no case can be made without them")
    most = len(record["turns"]) - 1
    if not 1 <= number <= most:
        there_are = f"has turns 1 to {most}" if most > 0 else "has run no turn yet"
        raise ValueError(f"{record['match']} {there_are}")
    last = record["turns"][number]
    refused = {
        seat: sorted({line for line, _ in last["problems"].get(seat, ())})
        for seat in record["seats"]
    }
    return {
        "game": record["game"],
        "title": f"{record['match']}, turn {number}",
        "seats": record["seats"],
        # An option that is null was left at its default; not every reader takes it as a value.
        "options": {k: value for k, value in record["options"].items() if value is not None},
        "seed": record["seed"],
        "turns": [
            *(_turn(turn) for turn in record["turns"][1:number]),
            {**_turn(last), "expect": {"state": last["state"], "refused": refused}},
        ],
    }


def _turn(turn: Json) -> Json:
    return {
        "phase": turn["phase"],
        "number": turn["number"],
        "orders": {seat: text for seat, text in turn["orders"].items() if seat},
        "gm": turn["orders"].get("", ""),
    }
