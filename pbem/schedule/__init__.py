"""When is the deadline: schedules, durations, pauses and times of day in a match's own zone.

All functions are pure. Moments are aware datetimes in UTC, cut to whole seconds; what people write
and read is the time on the wall of an IANA zone. One rule holds wherever a written time meets
daylight saving: a time that the clock skips means the first moment after the gap, and a time that
the clock shows twice means the first of the two.
"""

from pbem.schedule.deadlines import (
    MONTHS,
    Told,
    day_after,
    fair_deadline,
    later,
    next_deadline,
    told,
)
from pbem.schedule.written import (
    EVENING,
    WEEKDAYS,
    After,
    Every,
    Pause,
    Schedule,
    Weekly,
    odd_time,
    parse,
    parse_all,
    parse_duration,
    parse_pause,
    parse_time,
    parse_zone,
)

__all__ = [
    "EVENING",
    "MONTHS",
    "WEEKDAYS",
    "After",
    "Every",
    "Pause",
    "Schedule",
    "Told",
    "Weekly",
    "day_after",
    "fair_deadline",
    "later",
    "next_deadline",
    "odd_time",
    "parse",
    "parse_all",
    "parse_duration",
    "parse_pause",
    "parse_time",
    "parse_zone",
    "told",
]
