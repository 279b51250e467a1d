"""How a match is made: of which game, who plays in it, and what is set for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from pbem import game as games
from pbem import identity, matches, players, schedule, settings, store
from pbem.store import Match, Seat


@dataclass(frozen=True, slots=True)
class Player:
    """Who takes a seat: the seat's name and the addresses its player writes from."""

    seat: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A match to be made, as the game master asked for it, not yet checked.

    `open_seats` more seats than players are to be joined by mail.
    """

    game: str
    match: str
    players: tuple[Player, ...]
    options: Mapping[str, Any]
    schedules: tuple[str, ...] = ()
    zone: str = "UTC"
    open_seats: int = 0


def begin(session: Session, plan: Plan, now: datetime) -> Match:
    """Make a match; one without open seats begins, with a welcome to each seat.

    Raise `ValueError` naming what can't be: an unknown game, option, zone or schedule, a name that
    is taken, seats the game can't do with.
    """
    game = games.named(plan.game)
    if store.match_named(session, plan.match):
        raise ValueError(f"a match {plan.match} is there already; choose another name")
    names = {option.name for option in settings.SETTINGS}
    ours = {name: value for name, value in plan.options.items() if name in names}
    kept = games.read_options(settings.SETTINGS, ours, "a match")
    theirs = {name: value for name, value in plan.options.items() if name not in names}
    options = games.read_options(game.OPTIONS, theirs, game.KEY)
    schedule.parse_zone(plan.zone)
    games.check_phases(game, schedule.parse_all(plan.schedules))
    seed = kept.pop("seed") or settings.new_seed()
    named = [player.seat for player in plan.players]
    for number, name in enumerate(named):
        fault = players.fault_of_name(name, named[:number], game)
        if fault:
            raise ValueError(f"seat {name!r}: {fault}")
    # Whether the game can be played with so many seats is told now, not when the last has come.
    seats = [*named, *(f"open seat {number + 1}" for number in range(plan.open_seats))]
    game.setup(seats, options, games.chance(seed, 0, "setup"))
    match = Match(
        name=plan.match,
        game=game.KEY,
        status="open",
        options=options,
        settings=kept,
        schedules=list(plan.schedules),
        zone=plan.zone,
        seed=seed,
        phase="open",
        turn=0,
        began=now,
        key=identity.new_key(),
        open_seats=plan.open_seats,
        created=now,
    )
    session.add(match)
    session.flush()
    for position, player in enumerate(plan.players):
        seat = Seat(position=position, name=player.seat, match=match)
        players.take(session, seat, player.seat, player.addresses, now)
    store.record(session, match, now, "gm", "made", open_seats=plan.open_seats)
    if not plan.open_seats:
        matches.set_up(session, match, now)
        return match
    facts = {
        "about": f"You have a seat in {match.name}",
        "sentences": [f"It begins when all seats are taken; open: {plan.open_seats}."],
    }
    matches.tell(session, match, "notice", facts, now)
    return match
