"""Whole matches of Alphabet Auction, by chance and by scripted players: what always holds."""

import json
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem import game as games
from pbem.games import alphabet

NAMES = ("Ida", "Olle", "Petra", "Runa", "Sven", "Tove")


def sheet(state, seat, rng):
    """Return a sheet of orders by chance, good ones and bad ones, many of them mirrored."""

    def some(times):
        letters = state.hands[seat] or "E"
        return ", ".join(rng.choice(letters) for _ in range(times))

    others = [name for name in state.seats if name != seat]
    lines = []
    for _ in range(rng.randrange(12)):
        kind = rng.randrange(5)
        if kind == 0:
            group = rng.choice([*state.groups, 99])
            lines.append(f"BID {group} {rng.randrange(0, 120)}")
        elif kind == 1:
            lines.append(f"CLAIM {' '.join(rng.sample(state.words, rng.randint(1, 4)))}")
        elif kind == 2:
            lines.append(f"POT {some(1)}")
        elif kind == 3:
            goods = rng.choice(["NOTHING", f"£{rng.randrange(60)}", some(2)])
            lines.append(f"TRADE WITH {rng.choice(others)} GIVE {goods} GET £{rng.randrange(5)}")
        else:
            lines.append(
                rng.choice(["", "hello", "BIDD 4 4", "CLAIM RYE", alphabet.bot(state, seat, rng)])
            )
    return "\n".join(lines)


def mirrored(texts, seats):
    """Let every second trade be written by the other seat too."""
    more = {seat: [text] for seat, text in texts.items()}
    for seat, text in texts.items():
        for order in alphabet.GRAMMAR.read(text).orders[::2]:
            if type(order).__name__ == "Trade" and order.seat in seats:
                more[order.seat].append(f"TRADE WITH {seat} GIVE {order.price} GET {order.goods}")
    return {seat: "\n".join(lines) for seat, lines in more.items()}


def tiles_of(state):
    """Count the letters in hands and groups on offer."""
    letters = "".join(state.hands.values()) + "".join(g.letters for g in state.groups.values())
    return Counter(letters)


def check_turn(before, done):
    """Hold a turn against what every turn keeps."""
    after, kinds = done.state, [event.kind for event in done.events]
    facts = {kind: [e.facts for e in done.events if e.kind == kind] for kind in kinds}
    paid = sum(each["pounds"] for each in facts.get("sold", []))
    income = sum(each["pounds"] for each in facts.get("income", [])) * len(after.seats)
    assert sum(after.money.values()) == sum(before.money.values()) + income - paid
    assert min(after.money.values()) >= 0
    used = Counter("".join(each["word"] for each in facts.get("claim", [])))
    new = Counter("".join(g["letters"] for each in facts.get("groups", []) for g in each["groups"]))
    lost = Counter(
        "".join(e["letters"] for k in ("unsold", "held") for e in facts.get(k, []) if e["gone"])
    )
    if before.phase == "last":
        lost += Counter("".join(group.letters for group in before.groups.values()))
    assert tiles_of(after) == tiles_of(before) - used - lost + new
    scored = sum(each["points"] for each in facts.get("claim", []))
    assert sum(after.points.values()) == sum(before.points.values()) + scored
    assert all(len(set(words)) == len(words) for words in after.claimed.values())
    assert all(set(before.claimed[seat]) <= set(after.claimed[seat]) for seat in after.seats)
    old = max(before.groups, default=0)
    assert all(number in before.groups or number > old for number in after.groups)
    for seat, found in done.problems.items():
        assert all(problem.line >= 1 and problem.message for problem in found), seat


def play(seats, options, seed, write):
    """Play a match to its end; return its turns in JSON."""
    options = games.read_options(alphabet.OPTIONS, options, "alphabet")
    state = alphabet.setup(seats, options, games.chance(seed, 0, "setup"))
    turns = [alphabet.dump(state)]
    for number in range(1, 8):
        assert alphabet.waiting(state) == list(seats)
        assert (state.phase, state.round) == ("last" if number == 7 else "play", number)
        texts = write(state, number)
        done = games.play(alphabet, state, texts, seed, number)
        check_turn(state, done)
        kept = json.loads(json.dumps(alphabet.dump(state)))
        again = games.play(alphabet, alphabet.load(kept, seats, options), texts, seed, number)
        assert again == done
        state = done.state
        turns.append(json.loads(json.dumps(alphabet.dump(state))))
    assert state.phase == "over" and alphabet.waiting(state) == []
    return turns


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32), st.sampled_from(["open", "secret"]))
def test_a_match_by_chance_keeps_money_and_letters_and_ends(seats, seed, hidden):
    def write(state, number):
        rng = Random(f"{seed} {number}")
        texts = {seat: sheet(state, seat, rng) for seat in state.seats}
        return mirrored(texts, state.seats)

    play(NAMES[:seats], {"hands": hidden}, str(seed), write)


@pytest.mark.parametrize("hands", ["open", "secret"])
@pytest.mark.parametrize("listed", ["towns", "ten", "music"])
def test_scripted_players_play_a_match_worth_reading(hands, listed):
    def write(state, number):
        rng = Random(number)
        return {seat: alphabet.bot(state, seat, rng) for seat in state.seats}

    turns = play(NAMES[:4], {"hands": hands, "words": listed}, "bots", write)
    assert sum(map(len, turns[-1]["claimed"].values())) >= 5
    assert turns == play(NAMES[:4], {"hands": hands, "words": listed}, "bots", write)


def test_scripted_players_write_lawful_orders_and_agree_on_swaps():
    seats, swapped = NAMES[:4], 0
    state = alphabet.setup(
        seats, {"words": "towns", "hands": "open"}, games.chance("s", 0, "setup")
    )
    for number in range(1, 8):
        rng = Random(number)
        texts = {seat: alphabet.bot(state, seat, rng) for seat in seats}
        done = games.play(alphabet, state, texts, "s", number)
        assert not any(done.problems.values())
        swapped += sum(event.kind == "trade" for event in done.events)
        state = done.state
    assert swapped >= 1


def test_a_scripted_player_looks_at_his_own_hand_only_where_hands_are_secret():
    options = {"words": "towns", "hands": "secret"}
    data = {"phase": "play", "round": 3, "groups": {"9": {"letters": "ADEHKS"}}}
    one = alphabet.load({**data, "hands": {"Ida": "ERY", "Olle": "B"}}, NAMES[:2], options)
    two = alphabet.load({**data, "hands": {"Ida": "ERY", "Olle": "Q"}}, NAMES[:2], options)
    assert alphabet.bot(one, "Ida", Random(1)) == alphabet.bot(two, "Ida", Random(1))


def test_another_seed_draws_other_groups_and_the_same_seed_the_same():
    options = {"words": "towns", "hands": "open"}
    first, again, other = (
        alphabet.setup(NAMES, options, games.chance(seed, 0, "setup")) for seed in ("a", "a", "b")
    )
    assert first == again and first.groups != other.groups
