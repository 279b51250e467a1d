"""A scripted player for rehearsals, and a game master's scores to go with it."""

from random import Random

from pbem.games.empires.state import State


def bot(state: State, seat: str, rng: Random) -> str:
    """Return a plausible order text for a seat, from what it may know; empty with nothing to do.

    It likes each empire a little more or less than its strength, bids on the few it likes best in
    proportion, raises in a contest while that is worth it to it, and names its order of choice.
    """
    if seat not in state.free or state.phase not in ("bid", "pick"):
        return ""
    worth = {empire: sp * rng.uniform(1.0, 1.7) + 2 for empire, sp in state.open.items()}
    gain = {empire: worth[empire] - sp for empire, sp in state.open.items()}
    liked = sorted(state.open, key=gain.__getitem__, reverse=True)
    if state.phase == "pick":
        return f"PICK {liked[0]}"
    lines = []
    for empire in liked[:4]:
        least = state.least(seat, empire)
        if least is not None and least <= worth[empire] + 2:
            lines.append(f"BID {empire} {max(least, int(rng.uniform(least, worth[empire] + 2)))}")
    return "\n".join([*lines, f"PREFER {', '.join(liked[:3])}"])


def gm_bot(state: State, rng: Random) -> str:
    """Return the game master's plausible scores in phase `score`, else an empty text.

    Strong empires and late epochs score more, as on the board.
    """
    if state.phase != "score":
        return ""
    lines = []
    for seat in state.seats:
        claim = state.claims.get(seat)
        strength = state.empires[claim.empire] if claim else 0
        points = round(strength * rng.uniform(0.9, 1.7)) + rng.randint(0, 3 * state.epoch)
        lines.append(f"SCORE {seat} {points}")
    return "\n".join(lines)
