"""The deadline as a calendar part, which a reader's calendar takes in and moves when it moves."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any


def calendar(facts: Mapping[str, Any], summary: str) -> bytes:
    """Write the deadline of `facts` as iCalendar, METHOD:PUBLISH (RFC 5546, 3.2.1).

    The UID is the seat's, the same in every letter. SEQUENCE counts the minutes at which the
    letter was written: it must grow when a deadline is moved or a turn undone, where a turn's
    number would not.
    """
    host = facts["address"].rpartition("@")[2]
    uid = f"{facts['match']}-{_token(facts['seat'])}@{host}"
    about = _about(summary, facts["written"], facts["deadline"]["utc"], facts["address"])
    return _with(about, "UID", uid)


@lru_cache(maxsize=1)
def _about(summary: str, *deadline: str) -> bytes:
    """Write what is the same for all readers of a match, with an UID that is left empty."""
    return _with(_event(*deadline), "SUMMARY", summary)


@lru_cache(maxsize=1)
def _event(written: str, deadline: str, address: str) -> bytes:
    """Write what many matches have in common, with an UID and a summary that are left empty."""
    from icalendar import Calendar, Event, vCalAddress

    now = datetime.fromisoformat(written)
    event = Event()
    event.add("uid", "")
    event.add("dtstamp", now)
    event.add("dtstart", datetime.fromisoformat(deadline))
    event.add("sequence", int(now.timestamp()) // 60)
    event.add("summary", "")
    event.add("organizer", vCalAddress(f"mailto:{address}"))
    event.add("status", "CONFIRMED")
    event.add("transp", "TRANSPARENT")
    made = Calendar()
    made.add("prodid", "-//pbem//play by email//EN")
    made.add("version", "2.0")
    made.add("method", "PUBLISH")
    made.add_component(event)
    return bytes(made.to_ical())


def _with(event: bytes, name: str, text: str) -> bytes:
    """Fill in a property that was left empty."""
    from icalendar import vText
    from icalendar.parser import Contentline, Parameters

    line: Any = Contentline.from_parts(name, Parameters(), vText(text))
    return event.replace(f"\r\n{name}:\r\n".encode(), b"\r\n%b\r\n" % line.to_ical())


def _token(seat: str) -> str:
    """Return a seat's name in ASCII letters, different for different names."""
    return "".join(c if c.isascii() and c.isalnum() else f".{ord(c):x}." for c in seat)
