"""What all matches of an archive share: the index page, the feed of all, style sheet, scripts."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from pbem import __version__
from pbem.archive import feed
from pbem.archive.match_page import state_of
from pbem.game import Json
from pbem.reports.templates import environment, read, render

if TYPE_CHECKING:
    from pbem.archive.site import Place

_GROUPS = (
    ("running", "Running", ("running", "held")),
    ("open", "Open to be joined", ("open",)),
    ("over", "Over", ("over",)),
)


def common(place: "Place", cards: Sequence[Json], entries: Sequence[Json]) -> dict[str, bytes]:
    """Return the files that stand beside the matches' folders, by name."""
    shown = [
        {"unverified": False, **card, "state": state_of(card), "dates": _dates(card)}
        for card in sorted(cards, key=lambda card: card["last"], reverse=True)
    ]
    groups = [
        {"id": key, "title": title, "cards": [one for one in shown if one["status"] in status]}
        for key, title, status in _GROUPS
    ]
    context = {
        "name": place.name,
        "cards": shown,
        "groups": groups,
        "program": f"pbem {__version__}",
        "root": "",
        "seats": [],
        "when": str,
    }
    env = environment(place.templates, None, True)
    files = {
        "index.html": render(env, "archive/index.html", context).encode(),
        "feed.xml": feed.feed(place.name, "", entries, place.url, place.name),
    }
    for name in ("style.css", "archive.js"):
        files[name] = (read(f"archive/{name}", place.templates) or "").encode()
    for key in sorted({card["game"] for card in cards}):
        script = read(f"{key}/archive.js", place.templates, key)
        if script is not None:
            files[f"{key}.js"] = script.encode()
    return files


def _dates(card: Json) -> str:
    began, last = _day(card["began"], card["zone"]), _day(card["last"], card["zone"])
    if card["deadline"]:
        return f"since {began}; orders due {_day(card['deadline'], card['zone'])}"
    return f"{began} to {last}" if card["status"] == "over" else f"since {began}"


def _day(moment: str, zone: str) -> str:
    local = datetime.fromisoformat(moment).astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y}"
