"""The game master's orders: those of the game are filed for the turn, others change the match."""

from datetime import datetime

from sqlalchemy.orm import Session

from pbem import game as games
from pbem import store
from pbem.game import Json
from pbem.store import Match, Sheet


def order(session: Session, match: Match, text: str, now: datetime) -> Json:
    """File the game master's lines for the phase a match is in; say what was refused.

    They add to the lines filed before: a game takes the last of two that say the same.
    """
    game = games.named(match.game)
    turn = store.turn_of(session, match)
    if turn is None:
        raise ValueError(f"{match.name} has no turn {match.turn}; the database is damaged")
    reading = game.GRAMMAR.read(text, gm=True)
    state = game.load(turn.state, [seat.name for seat in match.seats], match.options)
    lawful, unlawful = game.check(state, None, reading.orders)
    problems = [*reading.problems, *unlawful]
    if lawful:
        earlier = store.gm_orders(session, match)
        session.add(
            Sheet(
                match_id=match.id,
                seat_id=None,
                turn=match.turn,
                text="\n".join([*([earlier] if earlier else []), *map(game.GRAMMAR.write, lawful)]),
                received=now,
            )
        )
        store.record(session, match, now, "gm", "orders", turn=match.turn)
    return {
        "taken": [game.GRAMMAR.write(one) for one in lawful],
        "refused": [[problem.line, problem.message] for problem in problems],
    }
