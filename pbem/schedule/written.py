"""What people write of time, read: schedules, durations, pauses, zones, times of day."""

import difflib
import re
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# The time of day where a schedule names none.
EVENING = time(20, 0)

_UNITS = {"h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_PART = r"(\d{1,9})\s*(w(?:eeks?)?|d(?:ays?)?|h(?:ours?)?|m(?:in(?:ute)?s?)?|s(?:econds?)?)"
_DURATION = re.compile(rf"{_PART}(?:\s*{_PART})*", re.IGNORECASE)
LONGEST = timedelta(days=3_660)
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


def parse(text: str) -> Schedule:
    """Read one schedule, such as `weekly Sun 20:00`, or `score: after 48h` for one phase.

    Where it names no time of day, 20:00 is meant; `daily` alone is thus every evening at 20:00.
    Several weekdays may be named (`weekly Mon Thu 20:00`). Raise `ValueError` with a sentence that
    names fault, place and remedy.
    """
    # A database that was written into by hand may hold a number, or a list.
    if not isinstance(text, str):
        raise ValueError(f"schedule {text!r:.60}: that is no schedule; write {_FORMS}")
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
    days, rest = calendar_duration(text)
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
        return moment_of(moment.date(), moment.time(), zone)
    return moment.astimezone(UTC).replace(microsecond=0)


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


def parse_pause(text: str, what: str = "pause") -> Pause:
    """Read a date, or a range of them such as `2026-12-24..2027-01-02`, without deadlines.

    Raise `ValueError` where it is none, or ends before it begins; `what` is how it is called then.
    """
    first, dots, last = (part.strip() for part in text.partition(".."))
    try:
        pause = Pause(date.fromisoformat(first), date.fromisoformat(last if dots else first))
    except ValueError:
        raise ValueError(
            f"{what} {text!r}: that is no date; write 2026-12-24 or 2026-12-24..2027-01-02"
        ) from None
    if pause.last < pause.first:
        raise ValueError(f"{what} {text!r}: it ends before it begins; put the earlier date first")
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
            days_on, rest = calendar_duration(" ".join(words))
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


def calendar_duration(text: str) -> tuple[int, timedelta]:
    """Read a duration as calendar days and the time beyond them; raise `ValueError` for none."""
    said = text.strip()
    if said != "0" and not _DURATION.fullmatch(said):
        raise ValueError(f"{text!r} is no duration; write it as in 90m, 48h, 2d or 1w")
    days, rest = 0, timedelta()
    for count, unit in re.findall(_PART, said, re.IGNORECASE):
        if unit[0].lower() in "wd":
            days += int(count) * (7 if unit[0].lower() == "w" else 1)
        else:
            rest += int(count) * _UNITS[unit[0].lower()]
    if days > LONGEST.days or timedelta(days=days) + rest > LONGEST:
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


def moment_of(day: date, at: time, zone: ZoneInfo) -> datetime:
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
