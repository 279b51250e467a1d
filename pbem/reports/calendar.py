"""The deadline as a calendar part, which a reader's calendar takes in and moves when it moves."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any


def calendar(facts: Mapping[str, Any], summary: str) -> bytes:
    """Write the deadline of `facts` as iCalendar, METHOD:PUBLISH (RFC 5546, 3.2.1).

    The UID is the seat's, the same in every letter. SEQUENCE counts the minutes at which the
    letter was written: it must grow when a deadline is moved or a turn undone, where a turn's
    number would not.
    """
    from icalendar import Calendar, Event, vCalAddress

    written = datetime.fromisoformat(facts["written"])
    event = Event()
    host = facts["address"].rpartition("@")[2]
    event.add("uid", f"{facts['match']}-{_token(facts['seat'])}@{host}")
    event.add("dtstamp", written)
    event.add("dtstart", datetime.fromisoformat(facts["deadline"]["utc"]))
    event.add("sequence", int(written.timestamp()) // 60)
    event.add("summary", summary)
    event.add("organizer", vCalAddress(f"mailto:{facts['address']}"))
    event.add("status", "CONFIRMED")
    event.add("transp", "TRANSPARENT")
    made = Calendar()
    made.add("prodid", "-//pbem//play by email//EN")
    made.add("version", "2.0")
    made.add("method", "PUBLISH")
    made.add_component(event)
    return bytes(made.to_ical())


def _token(seat: str) -> str:
    """Return a seat's name in ASCII letters, different for different names."""
    return "".join(c if c.isascii() and c.isalnum() else f".{ord(c):x}." for c in seat)
