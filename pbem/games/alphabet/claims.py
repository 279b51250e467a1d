"""Rule 3: words formed from letters in hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pbem.game import Event, Outcome
from pbem.games.alphabet import words
from pbem.games.alphabet.sheet import Claim
from pbem.games.alphabet.state import State, multiplier
from pbem.orders import Problem


def form(state: State, orders: Mapping[str, Sequence[Claim]]) -> Outcome:
    """Take each seat's words in the order written; a word not all in hand is refused."""
    hands, points, claimed = dict(state.hands), dict(state.points), dict(state.claimed)
    events = []
    problems: dict[str | None, list[Problem]] = {}
    for seat in state.seats:
        for claim in orders.get(seat, ()):
            faults = []
            for word in claim.word:
                lacking = words.missing(word, hands[seat])
                if word in claimed[seat]:
                    faults.append(f"you have claimed {word} already")
                elif lacking:
                    faults.append(f"for {word} your hand lacks {', '.join(lacking)}")
                else:
                    worth = len(word) * multiplier(state.round)
                    hands[seat] = words.without(hands[seat], word)
                    points[seat] += worth
                    claimed[seat] = (*claimed[seat], word)
                    events.append(_event(state, seat, word, worth))
            if faults:
                problems.setdefault(seat, []).append(Problem(claim.line, "; ".join(faults)))
    return Outcome(replace(state, hands=hands, points=points, claimed=claimed), events, problems)


def _event(state: State, seat: str, word: str, worth: int) -> Event:
    times = multiplier(state.round)
    return Event(
        "claim", {"seat": seat, "word": word, "points": worth, "times": times, "rule": "3"}
    )
