"""What happens: countries are given out, armies muster, and everything grows (rules 1 to 5)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from random import Random
from typing import Any

from pbem import game
from pbem.game import Event, Orders, Outcome
from pbem.games.hexem import board
from pbem.games.hexem.grammar import Bid, Muster
from pbem.games.hexem.state import NOBODY, State, check_countries, hexes, winners
from pbem.usage import Order

MOST_SEATS = 26


def setup(seats: Sequence[str], options: Mapping[str, Any], rng: Random) -> State:  # noqa: ARG001 - the set-up has no dice
    """Lay the board out, its countries to be bid for; raise `ValueError` where it is too small."""
    game.check_seats(seats, 2, MOST_SEATS)
    text = options.get("board")
    if text is None:
        if str(len(seats)) not in board.PACKAGED:
            raise ValueError(
                f"no board for {len(seats)} seats is packaged: give one with the option board"
            )
        text = str(len(seats))
    laid = board.read(board.packaged(text) if text in board.PACKAGED else text)
    state = State(
        "countries",
        0,
        tuple(seats),
        laid.labels,
        (NOBODY,) * len(laid.labels),
        laid.armies,
        laid.countries,
        options.get("turns"),
        options.get("share"),
    )
    check_countries(state)
    return state


def adjudicate(state: State, orders: Orders, rng: Random) -> Outcome:
    """Give the countries out, or run a turn of musters, with all seats' lawful orders."""
    if state.phase == "countries":
        after, events = _countries(state, orders, rng)
    elif state.phase == "muster":
        after, events = _turn(state, orders, rng)
    else:
        after, events = state, []
    return Outcome(after, events, {})


def forecast(state: State, seat: str, orders: Sequence[Order]) -> Sequence[Event]:
    """Say what a seat's lawful orders would do on today's board if nobody else moved."""
    if state.phase == "countries":
        table = [(bid, seat, country) for country, bid in _bids(orders).items() if bid]
        top = max((bid for bid, _, _ in table), default=0)
        best = [country for bid, _, country in table if bid == top]
        return [_given(seat, best[0], top)] if len(best) == 1 else []
    if state.phase == "muster":
        return _muster_all(state, [(seat, _labels(orders))])[1]
    return []


def _bids(orders: Iterable[Order]) -> dict[str, int]:
    return {order.country: order.armies for order in orders if isinstance(order, Bid)}


def _labels(orders: Iterable[Order]) -> list[str]:
    return [label for order in orders if isinstance(order, Muster) for label in order.hex]


def _countries(state: State, orders: Orders, rng: Random) -> tuple[State, list[Event]]:
    """Give the countries out by bids and dice (rule 1), and take the prices off (rule 2)."""
    bids = {seat: _bids(orders.get(seat, ())) for seat in state.seats}
    events = [Event("bids", {"seat": seat, "bids": bids[seat]}) for seat in state.seats]
    open_countries = list(board.countries(state.countries))
    bidders = list(state.seats)
    got: dict[str, str] = {}
    armies = list(state.armies)
    while True:
        table = [(bids[s].get(c, 0), s, c) for s in bidders for c in open_countries]
        top = max((bid for bid, _, _ in table), default=0)
        if top == 0:
            break
        pairs = [(seat, country) for bid, seat, country in table if bid == top]
        # No die is cast for a single pair, so that the next draw is the same everywhere.
        seat, country = rng.choice(pairs) if len(pairs) > 1 else pairs[0]
        tied = [list(pair) for pair in pairs] if len(pairs) > 1 else []
        events.append(_given(seat, country, top, tied=tied))
        _pay(state.countries, armies, country, top)
        got[country] = seat
        bidders.remove(seat)
        open_countries.remove(country)
    if bidders:
        dealt = list(open_countries)
        if len(dealt) > 1:
            rng.shuffle(dealt)
        for seat, country in zip(bidders, dealt, strict=False):
            dealt_from = open_countries if len(dealt) > 1 else []
            events.append(_given(seat, country, 0, dealt_from=dealt_from))
            got[country] = seat
    left = [country for country in open_countries if country not in got]
    if left:
        events.append(Event("neutral", {"countries": left}))
    number = {country: state.seats.index(seat) for country, seat in got.items()}
    owners = tuple(number.get(country or "", NOBODY) for country in state.countries)
    after = replace(state, phase="muster", turn=1, owners=owners, armies=tuple(armies))
    return after, events


def _given(
    seat: str,
    country: str,
    price: int,
    *,
    tied: Sequence[Sequence[str]] = (),
    dealt_from: Sequence[str] = (),
) -> Event:
    """Return the event of a country given, by dice among `tied` bids or `dealt_from` those left."""
    facts = {"seat": seat, "country": country, "price": price}
    return Event("country", {**facts, "dice": list(tied), "dealt_from": list(dealt_from)})


def _pay(countries: Sequence[str | None], armies: list[int], country: str, price: int) -> None:
    """Take a price off a country, each army from its largest stack, the first of equals (rule 2).

    Stacks above some level come down to it, and the first of those there give one more: found
    by halving, for a price may be a million.
    """
    held = [at for at, name in enumerate(countries) if name == country]
    low, high = 1, max(armies[at] for at in held)
    while low < high:
        level = (low + high) // 2
        if sum(max(0, armies[at] - level) for at in held) <= price:
            high = level
        else:
            low = level + 1
    for at in held:
        if armies[at] > low:
            price -= armies[at] - low
            armies[at] = low
    for at in held:
        if price and armies[at] == low:
            armies[at] -= 1
            price -= 1


def _turn(state: State, orders: Orders, rng: Random) -> tuple[State, list[Event]]:
    musters = {seat: _labels(orders.get(seat, ())) for seat in state.seats}
    order, events = _order(state, musters, rng)
    state, happened = _muster_all(state, [(seat, musters[seat]) for seat in order])
    events += happened
    # Rule 5: growth comes last, for neutral hexes too.
    armies = tuple([number + 1 for number in state.armies])
    state = replace(state, turn=state.turn + 1, armies=armies)
    events.append(Event("growth", {"hexes": len(armies)}))
    why = _ending(state)
    if why:
        state = replace(state, phase="over")
        events.append(Event("over", {"winners": list(winners(state)), "why": why}))
    return state, events


def _order(
    state: State, musters: Mapping[str, Sequence[str]], rng: Random
) -> tuple[list[str], list[Event]]:
    """Put the players in order: fewest musters, then fewer hexes, then dice (rule 3)."""
    held = hexes(state)
    playing = [seat for seat in state.seats if held[seat]]

    def rank(seat: str) -> tuple[int, int]:
        return len(musters[seat]), held[seat]

    order: list[str] = []
    dice: list[list[str]] = []
    for _, tied in groupby(sorted(playing, key=rank), rank):
        group = list(tied)
        if len(group) > 1:
            rng.shuffle(group)
            dice.append(group)
        order += group
    ranks = [{"seat": seat, "musters": len(musters[seat]), "hexes": held[seat]} for seat in order]
    return order, [Event("order", {"order": ranks, "dice": dice})]


def _muster_all(
    state: State, orders: Sequence[tuple[str, Sequence[str]]]
) -> tuple[State, list[Event]]:
    """Carry out musters, player by player (rule 4).

    One plain loop over lists: it must do some 200,000 musters a second on a board of any size.
    """
    labels, seats = state.labels, (*state.seats, None)
    places, near = board.places(labels), board.neighbours(labels)
    owners, armies = list(state.owners), list(state.armies)
    held = Counter(owners)
    events: list[Event] = []
    for seat, mustered in orders:
        me = state.seats.index(seat)
        for label in mustered:
            at = places[label]
            owner, defenders, attackers = owners[at], armies[at], 0
            sources = []
            for neighbour in near[at]:
                if owners[neighbour] == me and (arriving := armies[neighbour]):
                    attackers += arriving
                    armies[neighbour] = 0
                    sources.append(labels[neighbour])
            if not attackers:
                result = "nothing"
            elif owner == me:
                armies[at] = defenders + attackers
                result = "join"
            elif attackers >= 3 * defenders:
                owners[at] = me
                armies[at] = attackers
                held[me] += 1
                held[owner] -= 1
                result = "won"
            else:
                result = "lost"
            facts = {
                "seat": seat,
                "hex": label,
                # One text, not a list: a dict of plain values costs the garbage collector nothing.
                "from": " ".join(sources),
                "armies": attackers,
                "owner": seats[owner],
                "defenders": defenders,
                "result": result,
            }
            events.append(Event("muster", facts))
            if result == "won" and owner != NOBODY and not held[owner]:
                events.append(Event("out", {"seat": seats[owner], "by": seat}))
    return replace(state, owners=tuple(owners), armies=tuple(armies)), events


def _ending(state: State) -> str:
    """Say by what a match is over after a turn: `last`, `turns`, `share`; empty if it goes on."""
    held = hexes(state)
    if sum(1 for number in held.values() if number) < 2:
        return "last"
    if state.turns is not None and state.turn > state.turns:
        return "turns"
    # As a fraction of what was written, for 0.29 of 100 hexes is a little less than 29.
    if state.share is not None and max(held.values()) > Fraction(str(state.share)) * len(
        state.labels
    ):
        return "share"
    return ""
