"""Rules 4 and 6 and new groups: letters that go into the pot, and come out of pot and bag."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from pbem.game import Event, Outcome
from pbem.games.alphabet import words
from pbem.games.alphabet.sheet import Pot
from pbem.games.alphabet.state import Group, State
from pbem.orders import Problem

GROUP_SIZE = 6


def put_in(state: State, orders: Mapping[str, Sequence[Pot]]) -> tuple[Outcome, dict[str, str]]:
    """Take a letter from each hand that offers one (rule 4); return the pot too, by seat.

    Of several lines the first whose letter is in hand counts.
    """
    hands = dict(state.hands)
    pot: dict[str, str] = {}
    problems: dict[str | None, list[Problem]] = {}
    for seat in state.seats:
        for order in orders.get(seat, ()):
            if seat in pot:
                fault = "one letter a turn goes into the pot, and yours is in it"
            elif order.letter not in hands[seat]:
                fault = f"there is no {order.letter} in your hand"
            else:
                pot[seat] = order.letter
                hands[seat] = words.without(hands[seat], order.letter)
                continue
            problems.setdefault(seat, []).append(Problem(order.line, fault))
    events = [
        Event("pot", {"seat": seat, "letter": letter, "rule": "4"}) for seat, letter in pot.items()
    ]
    return Outcome(replace(state, hands=hands), events, problems), pot


def share_out(state: State, pot: Mapping[str, str], rng: Random) -> Outcome:
    """Deal the pot's letters, sorted and then shuffled, to who put one in (rule 6)."""
    letters = sorted(pot.values())
    rng.shuffle(letters)
    dealt = dict(zip(pot, letters, strict=True))
    hands = {
        seat: words.with_letters(hand, dealt.get(seat, "")) for seat, hand in state.hands.items()
    }
    events = [
        Event("share", {"seat": seat, "letter": letter, "put_in": pot[seat], "rule": "6"})
        for seat, letter in dealt.items()
    ]
    return Outcome(replace(state, hands=hands), events, {})


def draw_groups(state: State, first: int, rng: Random) -> Outcome:
    """Draw one group more than there are seats, numbered from `first`, each in its turn.

    A group's letters are drawn one by one from the tiles in the bag that differ from those it has
    already. Where the bag has fewer than six different letters, a full bag is added to it first.
    """
    bag, drawn = state.bag, {}
    for number in range(first, first + len(state.seats) + 1):
        if len(set(bag)) < GROUP_SIZE:
            bag = words.with_letters(bag, words.FULL_BAG)
        letters = ""
        while len(letters) < GROUP_SIZE:
            letter = rng.choice([tile for tile in bag if tile not in letters])
            bag = bag.replace(letter, "", 1)
            letters += letter
        drawn[number] = Group("".join(sorted(letters)))
    facts = {
        "round": state.round,
        "groups": [{"group": number, "letters": group.letters} for number, group in drawn.items()],
    }
    after = replace(state, bag=bag, groups={**state.groups, **drawn})
    return Outcome(after, [Event("groups", facts)], {})
