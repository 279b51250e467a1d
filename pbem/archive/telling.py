"""A turn of a published record, told as letters tell it: the same facts, by the same templates."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pbem import game as games
from pbem import orders, typography
from pbem.game import Event, Game, Json
from pbem.reports.letters import fragment, part

# Of a sheet more lines than this are only in the download.
MOST_LINES = 400


class Fate(NamedTuple):
    """A line of a sheet and what became of it.

    `kind` is `order`, `refused`, `part` (carried out in part) or `chat`; `told` says it in words.
    """

    number: int
    text: str
    kind: str
    told: str


class Told(NamedTuple):
    """A turn as all could read of it: a line, the report as markup, a picture and its words."""

    headline: str
    report: str
    picture: str
    alt: str


def told(record: Json, turn: Json, folder: Path | None = None) -> Told:
    """Tell a turn as its public report does; without a picture where there is none."""
    facts = _facts(record, turn, None)
    headline = " ".join(part("headline.txt", facts, folder).split())
    picture = fragment("picture.svg", facts, folder)
    return Told(
        headline[:1].upper() + headline[1:],
        framed(fragment("report.html", facts, folder)),
        picture,
        " ".join(part("picture.txt", facts, folder).split()) if picture else "",
    )


def report_of(record: Json, turn: Json, seat: str, folder: Path | None = None) -> str:
    """Return the report that a seat had of a turn, as text; for records that are whole."""
    return part("report.txt", _facts(record, turn, seat), folder)


def _facts(record: Json, turn: Json, seat: str | None) -> dict[str, Any]:
    """Return what the templates of a letter to a seat (`None`: the public) are given of a turn."""
    game = games.named(record["game"])
    state = state_of(game, record, turn)
    events = [Event(one["kind"], one["facts"], one["seen_by"]) for one in turn["events"]]
    over = turn["state"].get("phase") == "over"
    seen = [one for one in events if over or one.seen_by is None or seat in one.seen_by]
    page = games.optional(game, "page")
    has_state = state is not None
    return {
        "match": record["match"],
        "title": record["title"],
        "game": record["game"],
        "seats": record["seats"],
        "players": record["players"],
        "options": record["options"],
        "seat": seat,
        "person": "",
        "turn": turn["number"],
        "phase": turn["state"].get("phase", record["phase"]),
        "view": game.view(state, seat) if has_state and record["whole"] else turn["state"],
        "page": page(state, seat, seen) if page and has_state else {},
        "events": seen,
        "winners": list(game.winners(state)) if over and has_state else [],
    }


def state_of(game: Game, record: Json, turn: Json) -> Any:
    """Return a turn's state as far as the record shows it, or `None` where a game needs more."""
    try:
        return game.load(turn["state"], record["seats"], record["options"])
    # What a public view lacks is each game's own affair: `ValueError`, `KeyError`, `TypeError` …
    except Exception:
        if record["whole"]:
            raise
        return None


_PARTS = re.compile(
    r'<(?P<table>table class="data")>|<(?P<end>/table)>|<(?P<pre>pre class="drawing")>'
    r"|<th(?P<th>[^>]*)></th>|<h[23][^>]*>(?P<heading>.*?)</h[23]>",
    re.DOTALL,
)


def framed(markup: str) -> str:
    """Make a report of the letters fit for a page: what is wide scrolls in itself, by keyboard too.

    The markup is that of our templates, in which all data is escaped.
    """
    heading = "Table"

    def frame(found: re.Match[str]) -> str:
        nonlocal heading
        if found["table"]:
            return (
                f'<div class="scroll" tabindex="0" role="group" aria-label="{heading}">{found[0]}'
            )
        if found["end"]:
            return f"{found[0]}</div>"
        if found["pre"]:
            return f'<pre class="drawing" tabindex="0" aria-label="{heading}" role="group">'
        if found["th"] is not None:
            return f"<td{found['th']}></td>"
        heading = re.sub(r"<[^>]*>", "", found["heading"]).replace('"', "&quot;")
        return found[0]

    return _PARTS.sub(frame, markup)


def fates(record: Json, turn: Json, seat: str, became: Mapping[Any, str]) -> list[Fate]:
    """Return the lines of a seat's orders (`""`: the game master's) and what became of each.

    Lines are numbered as in the problems; empty ones are left out. `became` is what the game says
    of a line, by its number.
    """
    text = turn["orders"].get(seat, "")
    game = games.named(record["game"])
    said = {int(number): told for number, told in became.items()}
    refused: dict[int, list[str]] = {}
    for number, message in turn["problems"].get(seat, ()):
        refused.setdefault(number, []).append(message)
    are_orders = {line.number for line in _read(game, text, seat == "") if line.order}
    carried_out = "carried out"
    if ended(turn):
        carried_out = "not carried out: the game master ended the match"
        said = {}
    found = []
    for number, line in numbered(text):
        why = "; ".join(dict.fromkeys(refused.get(number, ())))
        if why and said.get(number):
            found.append(Fate(number, line, "part", f"{said[number]}; in part refused: {why}"))
        elif why:
            found.append(Fate(number, line, "refused", f"refused: {why}"))
        elif number in said or number in are_orders:
            found.append(Fate(number, line, "order", said.get(number, carried_out)))
        elif not seat and games.is_ended(line):
            found.append(Fate(number, line, "order", "carried out: the match was over"))
        else:
            found.append(Fate(number, line, "chat", "no order"))
    return found


def ended(turn: Json) -> bool:
    """Tell whether the game master ended the match instead of a turn, by the events of that."""
    return any(one["kind"] == "ended" and one["facts"] == {"by": "gm"} for one in turn["events"])


def numbered(text: str) -> list[tuple[int, str]]:
    """Return the lines of a sheet that aren't empty, with their numbers, from 1."""
    return [(at, line) for at, line in enumerate(typography.lines(text), 1) if line.strip()]


def _read(game: Game, text: str, gm: bool) -> Sequence[orders.Line]:
    return game.GRAMMAR.read(text, gm=gm).lines


def stood_in(record: Json, turn: Json, seat: str) -> str:
    """Say what stood in for the orders of a seat that sent none."""
    if seat not in turn["orders"]:
        return "No orders came."
    game = games.named(record["game"])
    default = games.optional(game, "default_orders")
    before = next((one for one in record["turns"] if one["number"] == turn["number"] - 1), None)
    state = state_of(game, record, before) if default and before and record["whole"] else None
    if default and state is not None and default(state, seat) == turn["orders"][seat]:
        return "No orders came; these are what the game does by itself."
    return "No orders came; these are the standing orders."


def shown_time(moment: str, zone: Any) -> str:
    """Return a time of the record as a reader of the archive is shown it, in the match's zone."""
    local = datetime.fromisoformat(moment).astimezone(zone)
    offset = f"{local:%z}"
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M} UTC{offset[:3]}:{offset[3:]}"
