"""A match as it stands: its state, who is due, whose sheet counts, who is told, how it began.

The use cases meet here: mail is filed, turns are run and the game master's orders obeyed by what
these functions tell. None of them runs a turn: one that is to be run at the next tick is marked
so in its row (`early`, `run_now`), and `turns` does it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import deadlines, identity, store
from pbem import game as games
from pbem.faults import Damaged
from pbem.game import Game
from pbem.store import Applicant, Match, Message, Seat, Sheet, Turn


@dataclass(frozen=True)
class Phase:
    """The phase a match is in: its state, who may order in it, and the sheets that count so far.

    `sheets` are those that came for it, `gm` the game master's. Where a seat has sent none there
    are `standing` ones, kept from earlier turns, and `away` names the seats whose players said that
    they are away at the deadline. Sheets are by seat name.
    """

    match: Match
    game: Game
    turn: Turn
    state: Any
    waiting: tuple[str, ...]
    deciding: tuple[str, ...]
    sheets: Mapping[str, Sheet]
    gm: Sheet | None
    standing: Mapping[str, Sheet]
    away: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """The seats from which no sheet came though they could order something."""
        return tuple(seat for seat in self.waiting if seat not in self.sheets)

    def sheet_of(self, seat: str) -> Sheet | None:
        """Return the sheet that would count for a seat if the turn were run now."""
        return self.sheets.get(seat) or self.standing.get(seat)

    def lawful_lines(self, seat: str) -> list[str]:
        """Return the lawful orders of that sheet, as the game writes them."""
        sheet = self.sheet_of(seat)
        if sheet is None:
            return []
        read = self.game.GRAMMAR.read(sheet.text).orders
        lawful, _ = self.game.check(self.state, seat, read)
        return [self.game.GRAMMAR.write(order) for order in lawful]

    @property
    def awaited(self) -> tuple[str, ...]:
        """The missing seats that somebody waits for: not the vacant, the away, those with a
        standing sheet."""
        covered = {*self.standing, *self.away, *self._vacant}
        return tuple(seat for seat in self.missing if seat not in covered)

    @cached_property
    def orders(self) -> dict[str, str]:
        """The order texts the phase would be run with, by seat; `""` is the game master's.

        From who sent none it is his standing sheet, else what the game does by itself for such a
        seat.
        """
        orders = {name: sheet.text for name, sheet in self.sheets.items()}
        default = games.optional(self.game, "default_orders")
        for seat in self.missing:
            if seat in self.standing:
                orders[seat] = self.standing[seat].text
            elif default:
                orders[seat] = default(self.state, seat)
        if self.gm and self.gm.text:
            orders[""] = self.gm.text
        return orders

    @property
    def is_early(self) -> bool:
        """Whether the phase is to be run before its deadline, all that are due having done so.

        That is where who was asked has answered, where the game master has entered all he is to,
        where the last one waited for has sent his orders, and as the setting `early` has it.
        """
        if self.deciding:
            return all(seat in self.sheets for seat in self.deciding)
        is_entered = games.optional(self.game, "is_entered")
        if is_entered and self.gm:
            given = self.game.GRAMMAR.read(self.gm.text, gm=True).orders
            if is_entered(self.state, self.game.check(self.state, None, given)[0]):
                return True
        if self.match.waits_until is not None:
            return not self.awaited
        due = [seat for seat in self.waiting if seat not in self._vacant]
        match self.match.settings.get("early"):
            case "ready":
                return bool(due) and all(seat in self._ready for seat in due)
            case "all-in":
                return bool(due) and not self.awaited
        return False

    @cached_property
    def _vacant(self) -> set[str]:
        return {seat.name for seat in self.match.seats if not seat.addresses}

    @cached_property
    def _ready(self) -> set[str]:
        return {seat.name for seat in self.match.seats if seat.ready}


class Arrival(NamedTuple):
    """Whether a sheet counts that came at some time, and for which turn (`None`: for none).

    `verdict` is `in time`, `late`, or `locked` (others are waited for, and this seat's orders are
    in); `why` says it in a sentence where it is not in time.
    """

    verdict: Literal["in time", "late", "locked"]
    turn: int | None
    why: str = ""


def load_state(match: Match, turn: Turn, seats: Sequence[str] | None = None) -> tuple[Game, Any]:
    """Return a match's game and the state a turn left; raise `ValueError` where it is damaged.

    The names of the seats may be given, where their rows aren't needed.
    """
    game = games.named(match.game)
    if seats is None:
        seats = [seat.name for seat in match.seats]
    options = dict(match.options)
    # A game may stumble over what it never wrote in any way.
    try:
        return game, game.load(turn.state, seats, options)
    except Exception as error:
        fault = error if isinstance(error, Damaged) else f"{type(error).__name__}: {error}"
        why = f"the state after turn {turn.number} can't be read: {fault}"
        remedy = f"{'take it back with UNDO, or ' if turn.number else ''}restore a backup"
        raise ValueError(f"{match.name}: {why}; {remedy}") from error


def phase(session: Session, match: Match) -> Phase:
    """Gather what there is to know of the phase a match is in.

    Raise `ValueError` for a match that has none, being open, or whose state can't be read.
    """
    turn = store.turn_of(session, match, read="state")
    if turn is None:
        raise ValueError(f"{match.name} has not begun; it waits for players")
    names = {seat.id: seat.name for seat in store.seats_of(session, match)}
    game, state = load_state(match, turn, tuple(names.values()))
    waiting = tuple(game.waiting(state))
    came = store.newest_sheets(session, match)
    sheets = {names[number]: sheet for number, sheet in came.items() if number is not None}
    # What counts where a seat has sent none is not looked for where all have.
    all_sent = all(seat in sheets for seat in waiting)
    kept = {} if all_sent else store.standing_sheets(session, match)
    return Phase(
        match=match,
        game=game,
        turn=turn,
        state=state,
        waiting=waiting,
        deciding=tuple(games.deciding(game, state)),
        sheets=sheets,
        gm=came.get(None),
        standing={
            names[number]: sheet
            for number, sheet in kept.items()
            if number is not None and names[number] in waiting
        },
        away=() if all_sent else _away(match),
    )


def _away(match: Match) -> tuple[str, ...]:
    if match.deadline is None:
        return ()
    day = match.deadline.astimezone(deadlines.zone_of(match)).date()
    return tuple(
        seat.name
        for seat in match.seats
        if any(absence.first <= day <= absence.last for absence in seat.absences)
    )


def settle(session: Session, match: Match) -> None:
    """Mark whether a match is to be run at the next tick, after anything that may have changed it.

    Called after a sheet was filed or withdrawn, the game master's too, and after READY.
    """
    match.early = (
        match.status == "running" and _may_be_early(match) and phase(session, match).is_early
    )


def _may_be_early(match: Match) -> bool:
    """Tell whether a match can at all be run before its deadline by what its players do."""
    by_setting = match.settings.get("early") in ("ready", "all-in")
    game = games.named(match.game)
    asks = games.optional(game, "deciding") or games.optional(game, "is_entered")
    return by_setting or asks is not None or match.waits_until is not None


def arrival(session: Session, match: Match, seat: Seat, received: datetime) -> Arrival:
    """Tell whether orders that were received at some time count, and for which turn.

    They are in time at or before the deadline's second, and while the clock stands still. Beyond
    the deadline those of a seat that is waited for are (`grace`); all others are then locked.
    """
    turn = store.turn_of(session, match)
    late_next = match.settings.get("late") == "next"
    if turn is not None and received < turn.ran:
        why = "the turn it was written for had been run when it was read"
        return Arrival("late", match.turn if late_next else None, why)
    if match.status == "held" or match.deadline is None or received <= match.deadline:
        return Arrival("in time", match.turn)
    if received <= (match.waits_until or match.deadline + deadlines.grace(match)):
        if seat.id not in store.newest_sheets(session, match):
            return Arrival("in time", match.turn)
        why = "the deadline is past; others are waited for, and your orders are in and locked"
        return Arrival("locked", None, why)
    return Arrival("late", match.turn + 1 if late_next else None, "received after the deadline")


def file(
    session: Session,
    match: Match,
    seat: Seat,
    text: str,
    received: datetime,
    *,
    message: Message | None = None,
    standing: bool = False,
) -> Arrival:
    """File a sheet as a seat's, if it isn't locked; one that is late is kept and doesn't count.

    It comes to count where the deadline is moved beyond its receipt, or, with `late = "next"`,
    once the turn was run. An empty text is a sheet too: NO ORDERS.
    """
    came = arrival(session, match, seat, received)
    if came.verdict == "locked":
        return came
    gone = came.turn is None and (turn := store.turn_of(session, match)) and received < turn.ran
    if not gone:
        session.add(
            Sheet(
                match_id=match.id,
                seat_id=seat.id,
                # A late sheet belongs to the phase it missed until that has been run.
                turn=match.turn,
                text=text,
                received=received,
                message_id=message.id if message else None,
                late=came.verdict == "late" and came.turn != match.turn,
                standing=standing,
            )
        )
        settle(session, match)
    return came


def move_deadline(
    session: Session, match: Match, deadline: datetime | None, now: datetime, who: str, why: str
) -> None:
    """Move the deadline of the phase a match is in; all seats are told why.

    Sheets that came too late for the old one count again, tries that failed no more.
    """
    match.deadline, match.waits_until, match.alarm = deadline, None, ""
    if match.status == "running":
        match.tries, match.why = 0, ""
    store.record(
        session, match, now, who, "deadline", deadline=deadline and deadline.isoformat(), why=why
    )
    adopt(session, match)
    tell(session, match, "deadline", {"why": why}, now, turn=match.turn)


def adopt(session: Session, match: Match, *seats: Seat) -> None:
    """Have late sheets count after all, as the phase is still to be run: some seats', or all."""
    query = select(Sheet).where(
        Sheet.match_id == match.id, Sheet.turn == match.turn, Sheet.late, Sheet.seat_id.is_not(None)
    )
    wanted = {seat.id for seat in seats or match.seats}
    for sheet in session.scalars(query):
        if sheet.seat_id in wanted:
            sheet.late = False
    settle(session, match)


def tell(
    session: Session,
    match: Match,
    kind: str,
    facts: Mapping[str, Any],
    now: datetime,
    *,
    turn: int | None = None,
) -> None:
    """Queue a letter to the player of every seat."""
    store.queue_all(session, kind, facts, now, match=match, turn=turn)


def tell_gm(
    session: Session,
    match: Match,
    now: datetime,
    about: str,
    sentences: Sequence[str],
    remedies: Sequence[str] = (),
) -> None:
    """Queue a notice to the game master: what it is about, what there is to say, what he can do."""
    facts = {"about": about, "sentences": list(sentences), "remedies": list(remedies)}
    store.queue_apart(session, "notice", facts, now, match=match)


def alarm(session: Session, match: Match, now: datetime, about: str, *said: Any) -> bool:
    """Tell the game master of something that hinders a match, once for its deadline.

    Returns whether he was told now; `said` is as for `tell_gm`.
    """
    key = f"{about[:60]} {match.deadline}"
    if match.alarm == key:
        return False
    match.alarm = key
    tell_gm(session, match, now, about, *said)
    return True


def run_line(match: Match) -> str:
    """Return the game master's order that runs this very phase, and no other."""
    return f"RUN NOW {match.phase} {match.turn}"


def set_up(session: Session, match: Match, now: datetime) -> None:
    """Begin a match whose seats are all taken: first state, deadline, a welcome to each seat.

    Raise `ValueError` where its game can't be played with these seats and options.
    """
    game = games.named(match.game)
    seats = [seat.name for seat in match.seats]
    state = game.setup(seats, match.options, games.chance(match.seed, 0, "setup"))
    match.status, match.phase, match.turn, match.open_seats = "running", state.phase, 0, 0
    deadlines.begin_phase(session, match, now, games.deciding(game, state), first=True)
    session.add(match)
    session.flush()
    store.add_turn(
        session,
        match,
        phase="setup",
        state=game.dump(state),
        events=[],
        orders={},
        problems={},
        missing=[],
        ran=now,
    )
    store.record(session, match, now, "gm", "begun", seed_hash=seed_hash(match.seed))
    tell(session, match, "welcome", {}, now, turn=0)


def seed_hash(seed: str) -> str:
    """Return what is published of a secret seed: its SHA-256."""
    return hashlib.sha256(seed.encode()).hexdigest()


def token(match: Match, whose: Seat | Applicant | None) -> str:
    """Return the token of a seat, of an applicant, or (`None`) of a match's game master."""
    if isinstance(whose, Seat):
        return identity.token(match.name, whose.name, whose.key)
    if whose is not None:
        return identity.token(match.name, f"applicant {whose.id}", whose.key)
    return identity.token(match.name, "gm", match.key)
