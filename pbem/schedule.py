"""When is the deadline: schedules, durations, pauses and times of day in a match's own zone.

All functions are pure. Moments are aware datetimes in UTC, cut to whole seconds; what people write
and read is the time on the wall of an IANA zone. One rule holds wherever a written time meets
daylight saving: a time that the clock skips means the first moment after the gap, and a time that
the clock shows twice means the first of the two.
"""

import difflib
import re
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

# The time of day where a schedule names none.
EVENING = time(20, 0)

_UNITS = {"h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_PART = r"(\d{1,9})\s*(w(?:eeks?)?|d(?:ays?)?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:econds?)?)"
_DURATION = re.compile(rf"{_PART}(?:\s*{_PART})*", re.IGNORECASE)
_LONGEST = timedelta(days=3_660)
_YEARS = range(1970, 2200)
_FORMS = "'weekly Sun 20:00', 'every 3 days 20:00', 'daily 20:00' or 'after 48h'"


@dataclass(frozen=True)
class Weekly:
    """On certain days of the week (0 is Monday; all seven: daily) at a time of day."""

    weekdays: tuple[int, ...]
    at: time


@dataclass(frozen=True)
class Every:
    """So many dates after the one on which the phase begins, at a time of day."""

    days: int
    at: time


@dataclass(frozen=True)
class After:
    """So many days by the wall clock, then so much time, after the phase begins."""

    days: int
    rest: timedelta


@dataclass(frozen=True)
class Schedule:
    """A rule for the deadlines of one kind of phase, or of all others where `phase` is empty."""

    phase: str
    rule: Weekly | Every | After


@dataclass(frozen=True)
class Pause:
    """Dates without a deadline, from the first to the last."""

    first: date
    last: date


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


def parse(text: str) -> Schedule:
    """Read one schedule, such as `weekly Sun 20:00`, or `score: after 48h` for one phase.

    Where it names no time of day, 20:00 is meant; `daily` alone is thus every evening at 20:00.
    Several weekdays may be named (`weekly Mon Thu 20:00`). Raise `ValueError` with a sentence that
    names fault, place and remedy.
    """
    named = re.fullmatch(r"\s*([^\W\d][\w-]*)\s*:(.*)", text, re.DOTALL)
    phase, rule = named.groups() if named else ("", text)
    try:
        return Schedule(phase.lower(), _rule(rule))
    except ValueError as error:
        raise ValueError(f"schedule {text!r}: {error}") from None


def parse_all(texts: Iterable[str]) -> Mapping[str, Schedule]:
    """Read a match's schedules, by phase; the one for all other phases has the key `""`.

    Raise `ValueError` where one can't be read, or two are for the same phase.
    """
    found: dict[str, Schedule] = {}
    for text in texts:
        schedule = parse(text)
        if schedule.phase in found:
            whose = f"the phase {schedule.phase}" if schedule.phase else "all phases"
            raise ValueError(f"schedule {text!r}: it is the second one for {whose}; leave one out")
        found[schedule.phase] = schedule
    return found


def parse_duration(text: str) -> timedelta:
    """Read a duration such as `48h`, `90m`, `2d`, `1w`, `1d 12h`, `2 days` or `0`; a day is 24 h.

    Raise `ValueError` where it is none, or longer than ten years.
    """
    days, rest = _duration(text)
    return timedelta(days=days) + rest


def parse_time(text: str, zone: ZoneInfo) -> datetime:
    """Read an ISO 8601 time and return it in UTC; without an offset it is the zone's wall time.

    Raise `ValueError` where it is none, or has no time of day.
    """
    written = re.sub(r"\s+(?=[+-]\d|Z$)", "", text.strip().upper())
    remedy = "write it as 2026-12-06T20:00+01:00, or without +01:00 for the time in " + zone.key
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise ValueError(f"{text!r} is no time; {remedy}") from None
    if len(written) <= len("2026-12-06"):
        raise ValueError(f"{text!r} has no time of day; {remedy}")
    if moment.year not in _YEARS:
        raise ValueError(f"{text!r} is in no year from 1970 to 2199; {remedy}")
    if moment.tzinfo is None:
        return _moment(moment.date(), moment.time(), zone)
    return moment.astimezone(UTC).replace(microsecond=0)


def parse_pause(text: str) -> Pause:
    """Read a date, or a range of them such as `2026-12-24..2027-01-02`, without deadlines.

    Raise `ValueError` where it is none, or ends before it begins.
    """
    first, dots, last = (part.strip() for part in text.partition(".."))
    try:
        pause = Pause(date.fromisoformat(first), date.fromisoformat(last if dots else first))
    except ValueError:
        raise ValueError(
            f"pause {text!r}: that is no date; write 2026-12-24 or 2026-12-24..2027-01-02"
        ) from None
    if pause.last < pause.first:
        raise ValueError(f"pause {text!r}: it ends before it begins; put the earlier date first")
    return pause


def parse_zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name; raise `ValueError` that suggests one where none is."""
    try:
        # This one means another zone on every machine.
        if name != "localtime":
            return ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    near = _near_zones(name)
    remedy = f"did you mean {' or '.join(near)}?" if near else "write it as in Europe/Berlin"
    raise ValueError(f"no time zone is called {name!r}; {remedy}")


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
    return _moment(day, at, zone)


def later(deadline: datetime, text: str, zone: ZoneInfo) -> datetime:
    """Return the deadline moved on by a duration: days by the wall clock, hours as they pass.

    Raise `ValueError` where it is no duration, or nothing.
    """
    days, rest = _duration(text)
    if not days and not rest:
        raise ValueError(f"{text!r} is no time at all; write it as in 24h or 2d")
    local = deadline.astimezone(zone)
    return (
        _moment(local.date() + timedelta(days=days), local.time(), zone) if days else deadline
    ) + rest


def odd_time(text: str, zone: ZoneInfo) -> str:
    """Say what is odd about a written time without offset: the clock skips it, or shows it twice.

    Empty where nothing is, or where it is no time.
    """
    try:
        written = datetime.fromisoformat(text.strip().upper())
        moment = parse_time(text, zone).astimezone(zone)
    except ValueError:
        return ""
    if written.tzinfo is not None:
        return ""
    if moment.replace(tzinfo=None) != written.replace(microsecond=0):
        return f"the clocks of {zone.key} skip that time: {moment:%H:%M} is meant, right after it"
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        return f"the clocks of {zone.key} show that time twice: the first of the two is meant"
    return ""


def told(deadline: datetime, zone: ZoneInfo, now: datetime) -> Told:
    """Return what a letter says of a deadline to a reader in that zone."""
    local = deadline.astimezone(zone)
    away = deadline.replace(microsecond=0) - now.replace(microsecond=0)
    minutes = int(abs(away).total_seconds()) // 60
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    return Told(local, _offset(local), zone.key, away < timedelta(), days, hours, minutes)


def _rule(text: str) -> Weekly | Every | After:
    first, *words = text.split() or [""]
    match first.lower(), words:
        case "weekly", [_, *_]:
            days = [word for word in words if not word[0].isdigit()]
            if not days:
                raise ValueError(f"no weekday is named; write one, as in 'weekly Sun {words[0]}'")
            weekdays = sorted({_weekday(day) for day in days})
            return Weekly(tuple(weekdays), _time_of_day(words[len(days) :]))
        case "daily", _:
            return Weekly(tuple(range(7)), _time_of_day(words))
        case "every", [count, unit, *at] if unit.lower() in ("day", "days"):
            if not re.fullmatch(r"[1-9]\d{0,2}", count):
                raise ValueError(f"{count!r} is no number of days from 1 to 999; mend the number")
            return Every(int(count), _time_of_day(at))
        case "after", [_, *_]:
            days_on, rest = _duration(" ".join(words))
            if not days_on and not rest:
                raise ValueError("a phase must last longer than nothing; write a longer duration")
            return After(days_on, rest)
    raise ValueError(f"that is no schedule; write {_FORMS}")


def _weekday(word: str) -> int:
    said = word.rstrip(",").lower()
    for number, weekday in enumerate(WEEKDAYS):
        if len(said) >= 3 and weekday.lower().startswith(said):
            return number
    shown = ", ".join(weekday[:3] for weekday in WEEKDAYS)
    raise ValueError(f"{word!r} is no weekday; write one of {shown}")


def _time_of_day(words: Sequence[str]) -> time:
    if not words:
        return EVENING
    said = " ".join(words)
    found = re.fullmatch(r"(\d{1,2}):(\d{2})", said)
    if not found or int(found[1]) > 23 or int(found[2]) > 59:
        raise ValueError(f"{said!r} is no time of day; write it from 00:00 to 23:59")
    return time(int(found[1]), int(found[2]))


def _duration(text: str) -> tuple[int, timedelta]:
    """Read a duration as calendar days and the time beyond them."""
    said = text.strip()
    if said != "0" and not _DURATION.fullmatch(said):
        raise ValueError(f"{text!r} is no duration; write it as in 90m, 48h, 2d or 1w")
    days, rest = 0, timedelta()
    for count, unit in re.findall(_PART, said, re.IGNORECASE):
        if unit[0].lower() in "wd":
            days += int(count) * (7 if unit[0].lower() == "w" else 1)
        else:
            rest += int(count) * _UNITS[unit[0].lower()]
    if days > _LONGEST.days or timedelta(days=days) + rest > _LONGEST:
        raise ValueError(f"{text!r} is longer than ten years; write a shorter duration")
    return days, rest


def _near_zones(name: str) -> list[str]:
    """Find up to three zones that a wrong name may mean: by case, by city, or by a slip."""
    said = name.strip().lower().replace(" ", "_")
    names = sorted(zoneinfo.available_timezones() - {"localtime"})
    zones = {zone.lower(): zone for zone in names}
    if said in zones:
        return [zones[said]]
    cities = [zone for low, zone in zones.items() if said and low.endswith("/" + said)]
    # The longest first: "America/New_York" rather than an old alias.
    cities.sort(key=len, reverse=True)
    return cities[:1] or [zones[low] for low in difflib.get_close_matches(said, zones, 2, 0.75)]


def _moments(rule: Weekly | Every | After, now: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the moments in UTC a rule gives, one a date, in order, for ten years."""
    local = now.astimezone(zone)
    dates = (local.date() + timedelta(days=days) for days in range(_LONGEST.days))
    match rule:
        case Weekly(weekdays, at):
            yield from (_moment(day, at, zone) for day in dates if day.weekday() in weekdays)
        case Every(days, at):
            first = local.date() + timedelta(days=days)
            yield from (_moment(day, at, zone) for day in dates if day >= first)
        case After(days, rest):
            begin = _moment(local.date() + timedelta(days=days), local.time(), zone)
            moment = (begin if days else now) + rest
            yield moment
            due = moment.astimezone(zone)
            later = (due.date() + timedelta(days=days) for days in range(1, _LONGEST.days))
            yield from (_moment(day, due.time(), zone) for day in later)


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return the moment in UTC of a wall time: the first of two, the first after a gap."""
    wall = datetime.combine(day, at.replace(microsecond=0), zone)
    # In a gap `fold=0` counts by the old offset and lands after it, `fold=1` before it (PEP 495).
    moment, before = (wall.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    if moment.astimezone(zone).replace(tzinfo=None) == wall.replace(tzinfo=None):
        return moment
    offset = before.astimezone(zone).utcoffset()
    while moment - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(moment - before) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            moment = middle
    return moment


def _clock(local: datetime) -> str:
    return f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"


def _offset(local: datetime) -> str:
    minutes = int((local.utcoffset() or timedelta()).total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
