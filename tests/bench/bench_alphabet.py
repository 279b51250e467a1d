"""How long Alphabet Auction takes: a turn of usual size, and many lines of trades."""

import time
from random import Random

from pbem import game as games
from pbem.games import alphabet

SEATS = ("Ida", "Olle", "Petra", "Runa", "Sven", "Tove")
OPTIONS = {"words": "towns", "hands": "open"}


def usual() -> float:
    """Return the mean milliseconds of a turn of six scripted players, reading left out."""
    state, spent = alphabet.setup(SEATS, OPTIONS, Random(1)), 0.0
    for number in range(1, 8):
        rng = Random(number)
        orders = {}
        for seat in SEATS:
            reading = alphabet.GRAMMAR.read(alphabet.bot(state, seat, rng))
            orders[seat] = alphabet.check(state, seat, reading.orders)[0]
        begun = time.perf_counter()
        state = alphabet.adjudicate(state, orders, games.chance("b", number, state.phase)).state
        spent += time.perf_counter() - begun
    return spent * 1000 / 7


def traded(lines: int, one: str, other: str) -> float:
    """Return the milliseconds of a turn with so many trades, each written by both seats."""
    data = {"phase": "play", "round": 2, "hands": {"Ida": "AB", "Olle": "CD"}}
    state = alphabet.load(data, SEATS, OPTIONS)
    texts = {"Ida": ("Olle", one, other), "Olle": ("Ida", other, one)}
    orders = {}
    for seat, (partner, goods, price) in texts.items():
        text = "\n".join(
            f"TRADE WITH {partner} GIVE {goods} GET {price}".replace("#", str(at % 140 + 1))
            for at in range(lines)
        )
        reading = alphabet.GRAMMAR.read(text)
        orders[seat] = alphabet.check(state, seat, reading.orders)[0]
    begun = time.perf_counter()
    alphabet.adjudicate(state, orders, Random(1))
    return (time.perf_counter() - begun) * 1000


if __name__ == "__main__":
    print(f"a turn of six: {usual():.2f} ms")
    for lines in (250, 500, 1000):
        print(f"{lines} trades done: {traded(lines, 'A', 'A'):.1f} ms")
        print(f"{lines} trades of money: {traded(lines, '£#', '£#'):.1f} ms")
        print(f"{lines} trades in vain: {traded(lines, 'Q, £#', 'C'):.1f} ms")
