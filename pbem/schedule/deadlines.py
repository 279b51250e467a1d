"""When is the deadline: of a phase that begins now, or of one that is moved; and how it is told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from pbem.schedule.written import (
    LONGEST,
    WEEKDAYS,
    After,
    Every,
    Pause,
    Schedule,
    Weekly,
    calendar_duration,
    moment_of,
)

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True)
class Told:
    """A deadline in the parts a letter tells it by; `str()` puts them into plain English.

    `local` is the deadline in the reader's zone, `offset` its difference from UTC (`UTC+01:00`).
    `days`, `hours` and `minutes` are how far it is away, cut down, or how long ago if `past`.
    """

    local: datetime
    offset: str
    zone: str
    past: bool
    days: int
    hours: int
    minutes: int

    def __str__(self) -> str:
        weekday, month = WEEKDAYS[self.local.weekday()], MONTHS[self.local.month - 1]
        day = f"{weekday} {self.local.day} {month} {self.local.year}"
        return f"{day}, {_clock(self.local)} ({self.offset}, {self.zone}), {self.distance}"

    @property
    def distance(self) -> str:
        """How far away it is, in its two largest units: `in 5 days 3 hours`, `2 hours ago`."""
        counts = ((self.days, "day"), (self.hours, "hour"), (self.minutes, "minute"))
        begun = next((at for at, (count, _) in enumerate(counts) if count), None)
        if begun is None:
            return "just now" if self.past else "in less than a minute"
        shown = [(count, unit) for count, unit in counts[begun : begun + 2] if count]
        far = " ".join(f"{count} {unit}{'s' if count > 1 else ''}" for count, unit in shown)
        return f"{far} ago" if self.past else f"in {far}"


def next_deadline(
    schedules: Mapping[str, Schedule],
    phase: str,
    now: datetime,
    zone: ZoneInfo,
    pause: Sequence[Pause] = (),
) -> datetime | None:
    """Return the deadline in UTC of a phase that begins now; `None` where no schedule is for it.

    It is always later than now, true to the wall clock of the zone, and never on a paused date:

    - `weekly`, `daily`: the first such day and time after now that is not paused.
    - `every n days`: n dates after today's, at that time; if paused, the first date after.
    - `after`: days and weeks by the wall clock (`after 1w` keeps the time of day over a change of
      the clock), hours and minutes as they pass; if paused, the same time on the first date after.

    A turn that ran early is the caller's to tell: with its old deadline for now, no phase gets
    shorter. Raise `ValueError` where ten years hold no date without pause.
    """
    schedule = schedules.get(phase) or schedules.get("")
    if schedule is None:
        return None
    now = now.astimezone(UTC).replace(microsecond=0)
    for moment in _moments(schedule.rule, now, zone):
        day = moment.astimezone(zone).date()
        if moment > now and not any(span.first <= day <= span.last for span in pause):
            return moment
    raise ValueError("the pauses leave no date for a deadline within ten years; take one out")


def fair_deadline(
    schedules: Mapping[str, Schedule],
    phase: str,
    now: datetime,
    zone: ZoneInfo,
    pause: Sequence[Pause] = (),
) -> datetime | None:
    """Return the deadline of a phase that begins now because a turn was run, late or early.

    It is `next_deadline`'s, or the one after it where that leaves less than half of the time from
    the one to the other: nobody gets a day for a week's phase since the machine was off.
    """
    first = next_deadline(schedules, phase, now, zone, pause)
    if first is None:
        return None
    second = next_deadline(schedules, phase, first, zone, pause)
    return second if second and (first - now) * 2 < second - first else first


def day_after(deadline: datetime, day: date, zone: ZoneInfo, pause: Sequence[Pause]) -> datetime:
    """Return the deadline moved to the same time of day on the first date after `day` that is
    not paused."""
    at = deadline.astimezone(zone).time()
    day += timedelta(days=1)
    while any(span.first <= day <= span.last for span in pause):
        day += timedelta(days=1)
    return moment_of(day, at, zone)


def later(deadline: datetime, text: str, zone: ZoneInfo) -> datetime:
    """Return the deadline moved on by a duration: days by the wall clock, hours as they pass.

    Raise `ValueError` where it is no duration, or nothing.
    """
    days, rest = calendar_duration(text)
    if not days and not rest:
        raise ValueError(f"{text!r} is no time at all; write it as in 24h or 2d")
    local = deadline.astimezone(zone)
    return (
        moment_of(local.date() + timedelta(days=days), local.time(), zone) if days else deadline
    ) + rest


def told(deadline: datetime, zone: ZoneInfo, now: datetime) -> Told:
    """Return what a letter says of a deadline to a reader in that zone."""
    local = deadline.astimezone(zone)
    away = deadline.replace(microsecond=0) - now.replace(microsecond=0)
    minutes = int(abs(away).total_seconds()) // 60
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    return Told(local, _offset(local), zone.key, away < timedelta(), days, hours, minutes)


def _moments(rule: Weekly | Every | After, now: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the moments in UTC a rule gives, one a date, in order, for ten years."""
    local = now.astimezone(zone)
    dates = (local.date() + timedelta(days=days) for days in range(LONGEST.days))
    match rule:
        case Weekly(weekdays, at):
            yield from (moment_of(day, at, zone) for day in dates if day.weekday() in weekdays)
        case Every(days, at):
            first = local.date() + timedelta(days=days)
            yield from (moment_of(day, at, zone) for day in dates if day >= first)
        case After(days, rest):
            begin = moment_of(local.date() + timedelta(days=days), local.time(), zone)
            moment = (begin if days else now) + rest
            yield moment
            due = moment.astimezone(zone)
            later = (due.date() + timedelta(days=days) for days in range(1, LONGEST.days))
            yield from (moment_of(day, due.time(), zone) for day in later)


def _clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def _offset(local: datetime) -> str:
    minutes = int((local.utcoffset() or timedelta()).total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
