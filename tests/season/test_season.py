"""A season under a made-up clock: matches of all games, players as they are, nothing unaccounted.

Time jumps from one thing that happens to the next: a mail lies in the mailbox, a tick comes. The
machine is off for a week in between. `PBEM_SEASON=40x52` plays so many matches for so many weeks.
"""

import email
import heapq
import itertools
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from zoneinfo import ZoneInfo

from sqlalchemy import Engine, func, select

from pbem import brakes, gm, making, matches, rounds, store
from pbem import game as games
from pbem.config import Config
from pbem.store import Letter, Match, Message, Seat, Sheet, Turn
from tests.conftest import mail

BEGIN = datetime(2026, 9, 28, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
DAY, WEEK = timedelta(days=1), timedelta(days=7)
ZONES = ("Europe/Berlin", "America/New_York")
OPTIONS: dict[str, dict[str, object]] = {"hexem": {"turns": 12}, "offices": {"rounds": 5}}
SETTINGS: Sequence[dict[str, object]] = (
    {},
    {"grace": "6h"},
    {"late": "next"},
    {"early": "all-in"},
    {"early": "ready", "nmr_limit": 1},
    {"grace": "12h", "absences": 9},
)


@dataclass(frozen=True)
class Sent:
    """A mail that a player sent: when it was received, and the orders it holds (`None`: none)."""

    seat: str
    at: datetime
    orders: str | None


@dataclass
class Season:
    """The world outside: its clock, its post, its players, and what they did."""

    house: Config
    engine: Engine
    rng: Random
    now: datetime
    off: tuple[datetime, datetime]
    agenda: list[tuple[datetime, int, str, tuple[str, bytes]]] = field(default_factory=list)
    counter: "itertools.count[int]" = field(default_factory=itertools.count)
    mails: dict[str, list[Sent]] = field(default_factory=dict)
    planned: set[tuple[str, int, datetime | None]] = field(default_factory=set)
    laid: int = 0
    ran: list[tuple[str, datetime, datetime | None]] = field(default_factory=list)

    def at(self, time: datetime, what: str, match: str = "", raw: bytes = b"") -> None:
        """Have something happen at a time."""
        heapq.heappush(self.agenda, (time, next(self.counter), what, (match, raw)))

    def begin(self, slot: int) -> None:
        """Begin a match in a slot: game, zone and settings go by its number."""
        number = next(self.counter)
        key = sorted(games.installed())[slot % 4]
        name = f"{key}-{slot}-{number}"
        seats = ("Ann", "Bob", "Cleo", "Дмитрий")[: 2 + slot % 3]
        plan = making.Plan(
            game=key,
            match=name,
            players=tuple(
                making.Player(seat, (f"{name}.{at}@example.org",)) for at, seat in enumerate(seats)
            ),
            options={
                "seed": name,
                "trust": "address",
                **OPTIONS.get(key, {}),
                **SETTINGS[slot % len(SETTINGS)],
            },
            schedules=(("weekly Sun 20:00", "weekly Wed 03:30", "every 5 days 18:00")[slot % 3],),
            zone=ZONES[slot % 2],
        )
        with store.writing(self.engine) as session:
            making.begin(session, plan, self.now)
        self.mails[name] = []

    def mail(self, match: str, seat: Seat, at: datetime, text: str, orders: str | None) -> None:
        """Have a player's mail come at a time."""
        raw = mail(
            text,
            sender=f"{seat.position} <{seat.addresses[0].address}>",
            subject=f"[{match}] my orders",
            number=next(self.counter),
            Date=format_datetime(at),
        )
        self.at(at, "mail", match, raw)
        self.mails[match].append(Sent(seat.name, at, orders))

    def lay(self, raw: bytes) -> None:
        """Lay a mail into the mailbox, as received now."""
        self.laid += 1
        path = self.house.folder / "mail" / "in" / "new" / f"{self.laid}.host"
        path.write_bytes(raw)
        os.utime(path, (self.now.timestamp(), self.now.timestamp()))

    def plan(self) -> None:
        """Plan what the players of every match do in a phase that is new, or has a new deadline."""
        with store.writing(self.engine) as session:
            for match in session.scalars(select(Match).where(Match.status == "running")):
                if (match.name, match.turn, match.deadline) in self.planned:
                    continue
                self.planned.add((match.name, match.turn, match.deadline))
                assert match.deadline is not None
                self._plan(matches.phase(session, match), match.deadline)

    def _plan(self, phase: matches.Phase, deadline: datetime) -> None:
        match = phase.match
        for seat in match.seats:
            if seat.addresses and seat.name in phase.waiting:
                self._player(phase, seat, deadline)
            if not seat.addresses:
                self.at(self.now + HOUR, "replace", match.name)
        gm_bot = games.optional(phase.game, "gm_bot")
        if gm_bot and (lines := gm_bot(phase.state, self.rng)):
            self.at(deadline - 10 * HOUR, "gm", match.name, lines.encode())
        for tick in (deadline - 23 * HOUR, deadline + MINUTE, deadline + 2 * MINUTE):
            self.at(tick, "tick")
        # A match that waits for somebody is looked at again, and one that somebody may hurry on.
        for hours in (7, 13, 25):
            self.at(deadline + hours * HOUR, "tick")

    def _player(self, phase: matches.Phase, seat: Seat, deadline: datetime) -> None:
        name, left = phase.match.name, max(deadline - self.now, HOUR)

        def sheet() -> str:
            bot = games.optional(phase.game, "bot")
            return str(bot(phase.state, seat.name, self.rng)).strip() or "NO ORDERS"

        def send(at: datetime, more: str = "") -> None:
            orders = sheet()
            text = f"Hello Gia,\n\n{orders}\n{more}\nBest,\n{seat.name}\n"
            self.mail(name, seat, at, text, orders)

        early = deadline - left * self.rng.uniform(0.1, 0.9)
        match self.rng.choices(range(8), (60, 10, 8, 8, 8, 2, 8, 6))[0]:
            case 0:
                send(early, "READY\n" if self.rng.random() < 0.5 else "")
            case 1:
                for part in sorted(self.rng.uniform(0.05, 0.9) for _ in range(3)):
                    send(deadline - left * (1 - part))
            case 2:
                send(deadline - SECOND)
            case 3:
                send(deadline + SECOND)
            case 4:
                self.mail(name, seat, early, "PRESS TO ALL\nYou cheat!\nEND PRESS\n", None)
                send(early + MINUTE)
            case 5:
                self.mail(name, seat, early, "I have had enough.\nRESIGN\n", None)
            case 6:
                self.mail(name, seat, early, "What a lovely game this is.", None)
            case _:
                # He has vanished.
                pass

    def tick(self) -> None:
        """Tick, unless the machine is off; no match runs more than one turn in it."""
        if self.off[0] <= self.now < self.off[1]:
            return
        with store.reading(self.engine) as session:
            due = dict(session.execute(select(Match.name, Match.deadline)).all())
        done = rounds.tick(self.engine, self.house, self.now)
        assert done.fetched.away == []
        assert max(Counter(ran.match for ran in done.ran).values(), default=1) == 1
        for ran in done.ran:
            assert ran.outcome in ("ran", "waiting", "overdue"), ran
            if ran.outcome == "ran":
                self.ran.append((ran.match, self.now, due[ran.match]))
            elif ran.outcome == "overdue" and ran.news:
                self.at(self.now + 2 * HOUR, "resume", ran.match)

    def obey(self, match: str, text: str) -> list[gm.Done]:
        """Have the game master order something, where the match still goes on."""
        with store.writing(self.engine) as session:
            row = store.match_named(session, match, lock=True)
            assert row is not None
            return gm.obey(session, row, text, self.now) if row.status == "running" else []

    def play(self, until: datetime) -> None:
        """Let happen what happens, in order."""
        self.plan()
        while self.agenda and self.agenda[0][0] <= until:
            self.now, _, what, (match, raw) = heapq.heappop(self.agenda)
            self.now = self.now.replace(microsecond=0)
            if what == "mail":
                self.lay(raw)
                self.at(self.now + self.rng.choice((1, 5, 300)) * MINUTE, "tick")
            elif what == "gm":
                self.obey(match, raw.decode())
            elif what == "replace":
                self._replace(match)
            elif what == "resume" and self.now >= self.off[1]:
                with store.writing(self.engine) as session:
                    if match in brakes.overdue(session, self.now):
                        row = store.match_named(session, match, lock=True)
                        assert row is not None
                        assert (brakes.resume(session, row, self.now) or BEGIN) > self.now
            elif what == "tick":
                self.tick()
            if not self.off[0] <= self.now < self.off[1]:
                self.plan()

    def _replace(self, match: str) -> None:
        with store.reading(self.engine) as session:
            row = store.match_named(session, match)
            assert row is not None
            vacant = [seat.name for seat in row.seats if not seat.addresses]
        for seat in vacant:
            number = next(self.counter)
            self.obey(match, f"REPLACE {seat} WITH New {seat} new{number}@example.org")


def _size() -> tuple[int, int]:
    count, _, weeks = os.environ.get("PBEM_SEASON", "4x6").partition("x")
    return int(count), int(weeks)


def test_a_season_accounts_for_every_order_and_letter(engine: Engine, house: Config) -> None:
    count, weeks = _size()
    gone = BEGIN + (weeks // 2) * WEEK + 2 * DAY
    season = Season(house, engine, Random("a season"), BEGIN, (gone, gone + WEEK))
    for slot in range(count):
        season.begin(slot)
    for week in range(1, weeks + 1):
        season.play(BEGIN + week * WEEK)
        with store.reading(engine) as session:
            on = set(session.scalars(select(Match.name).where(Match.status != "over")))
        season.now = max(season.now, BEGIN + week * WEEK)
        for slot in range(count):
            if not any(name.split("-")[1] == str(slot) for name in on):
                season.begin(slot)
    # All that lies in the mailbox or waits to be sent goes its way.
    season.now = max(season.now, season.off[1]) + MINUTE
    for _ in range(3):
        season.tick()
        season.now += 2 * MINUTE
    assert len(season.ran) >= count * weeks // 4
    _every_mail_is_accounted_for(season)
    _every_letter_is_accounted_for(season)
    _every_turn_went_by_the_sheets_that_came_in_time(season)
    _every_match_can_be_played_again(season)
    _every_deadline_makes_sense(season)


def _every_mail_is_accounted_for(season: Season) -> None:
    with store.reading(season.engine) as session:
        status = Counter(session.scalars(select(Message.status)))
        assert sum(status.values()) == season.laid
        assert set(status) <= {"filed", "answered", "late", "rejected"}, status
        # Who left and wrote again is nobody's player any more; nobody else is turned away.
        rejected = session.scalars(select(Message).where(Message.status == "rejected")).all()
        present = select(store.Address.address)
        addresses = set(session.scalars(present))
        assert not [one.sender for one in rejected if one.sender in addresses]
        receipts = select(func.count()).where(Letter.kind == "receipt")
        answered = status["filed"] + status["answered"] + status["late"]
        left = select(func.count()).where(store.Entry.what == "resigned")
        assert session.scalar(receipts) == answered - (session.scalar(left) or 0)
    lying = [path.name for path in (season.house.folder / "mail" / "in" / "new").iterdir()]
    assert lying == []


def _every_letter_is_accounted_for(season: Season) -> None:
    with store.reading(season.engine) as session:
        letters = session.scalars(select(Letter)).all()
        assert {one.status for one in letters} <= {"sent", "dropped"}
        assert all(one.why for one in letters if one.status == "dropped")
        sent = [one for one in letters if one.status == "sent"]
        # One report a turn to each seat that somebody had when it was run.
        for kind in ("report", "over", "welcome"):
            twice = Counter(
                (one.seat_id, one.turn, one.recipient) for one in letters if one.kind == kind
            )
            assert max(twice.values(), default=1) == 1
        for turn in session.scalars(select(Turn).where(Turn.number > 0)):
            told = {
                one.seat_id
                for one in letters
                if one.match_id == turn.match_id
                and one.turn == turn.number
                and one.kind in ("report", "over")
            }
            seats = session.get_one(Match, turn.match_id).seats
            assert told <= {seat.id for seat in seats}
            vacant = len(seats) - len(told)
            assert vacant <= sum(
                1
                for entry in session.scalars(
                    select(store.Entry).where(
                        store.Entry.match_id == turn.match_id, store.Entry.what == "resigned"
                    )
                )
            )
    out = list((season.house.folder / "mail" / "out" / "new").iterdir())
    assert len(out) == len(sent)
    ids = [email.message_from_bytes(path.read_bytes())["Message-ID"] for path in out]
    assert len(set(ids)) == len(ids)


def _every_turn_went_by_the_sheets_that_came_in_time(season: Season) -> None:
    """Hold the orders of each turn against what was mailed, by a reckoning of its own.

    Of a turn that was run at its deadline, without waiting, the newest sheet received by then and
    after the turn before counts, to the second, and none that came later.
    """
    compared = late = 0
    with store.reading(season.engine) as session:
        for name, ran_at, deadline in season.ran:
            match = store.match_named(session, name)
            assert match is not None
            query = select(Turn).where(Turn.match_id == match.id, Turn.ran == ran_at)
            turn = session.scalars(query).one()
            before = store.turn_of(session, match, turn.number - 1)
            assert before is not None
            assert deadline is not None
            cutoff = min(ran_at, deadline)
            grammar = games.named(match.game).GRAMMAR
            came = {
                one.seat
                for one in season.mails[name]
                if one.orders is not None and before.ran <= one.at <= cutoff
            }
            sent = [seat for seat in before.orders if seat and seat not in before.missing]
            deserted = 2 * sum(seat not in came for seat in sent) > len(sent)
            for seat in match.seats:
                if session.scalar(
                    select(func.count()).where(
                        store.Tenure.seat_id == seat.id, store.Tenure.ended.is_not(None)
                    )
                ):
                    continue
                mine = [
                    one
                    for one in season.mails[name]
                    if one.seat == seat.name and one.orders is not None
                ]
                in_time = [one for one in mine if before.ran <= one.at <= cutoff]
                after = [one for one in mine if cutoff < one.at <= ran_at]
                used = turn.orders.get(seat.name)
                if in_time and used is not None and not after:
                    newest = max(in_time, key=lambda one: one.at)
                    lawful = [text for text in (newest.orders or "",) if text != "NO ORDERS"]
                    wanted = grammar.read("\n".join(lawful)).orders
                    assert grammar.read(used).orders == wanted, (name, turn.number, seat.name)
                    compared += 1
                if after and not in_time and ran_at - deadline < 5 * MINUTE and turn.number > 1:
                    late += 1
                    waits = deserted or match.settings["grace"] != "0"
                    assert (used is None) or waits or match.settings["late"] == "next"
        assert compared > len(season.ran) // 2
        assert late or len(season.ran) < 20
        sheets = session.scalars(select(Sheet).where(Sheet.message_id.is_not(None))).all()
        assert len({one.message_id for one in sheets}) == len(sheets)


def _every_match_can_be_played_again(season: Season) -> None:
    with store.reading(season.engine) as session:
        for match in session.scalars(select(Match)):
            game = games.named(match.game)
            seats = [seat.name for seat in match.seats]
            state = game.setup(seats, match.options, games.chance(match.seed, 0, "setup"))
            query = select(Turn).where(Turn.match_id == match.id).order_by(Turn.number)
            for number, turn in enumerate(session.scalars(query)):
                assert turn.number == number
                if number:
                    texts: dict[str | None, str] = {
                        seat: turn.orders.get(seat, "") for seat in seats
                    }
                    texts[None] = turn.orders.get("", "")
                    state = games.play(game, state, texts, match.seed, number).state
                assert json.dumps(game.dump(state)) == json.dumps(turn.state)


def _every_deadline_makes_sense(season: Season) -> None:
    """Hold that phases last long enough, and end when the wall clock says so."""
    hours = {
        "weekly Sun 20:00": (20, 0),
        "weekly Wed 03:30": (3, 30),
        "every 5 days 18:00": (18, 0),
    }
    with store.reading(season.engine) as session:
        for match in session.scalars(select(Match)):
            query = select(Turn).where(Turn.match_id == match.id, Turn.deadline.is_not(None))
            for turn in session.scalars(query):
                assert turn.deadline is not None
                local = turn.deadline.astimezone(ZoneInfo(match.zone))
                assert (local.hour, local.minute) == hours[match.schedules[0]]
                assert turn.number == 0 or turn.deadline - turn.ran > 2 * DAY
