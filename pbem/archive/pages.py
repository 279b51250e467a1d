"""The pages of a match, made from its published record: bytes by file name, nothing is written.

A page is held under `LARGEST` bytes: what would make it larger stands on a page of its own or, of
sheets beyond all measure, only in the download.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from markupsafe import Markup

from pbem import game as games
from pbem import settings
from pbem.archive import chart, telling
from pbem.game import Json
from pbem.reports.templates import environment, read, render, said

# The most bytes of a page. The parts below are cut where together they would come near it.
LARGEST = 300_000
_MOST_PRESS = 60_000
_MOST_ORDERS = 70_000
_MOST_ENTRIES = 400
_LONG_VALUE = 120

COLOURS = (
    "#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #8C6D31 #555555".split()  # by seat, 1 to 8
)

Files = dict[str, bytes]


class Pages:
    """The pages of one match: its published record, and where templates are looked for first."""

    def __init__(self, record: Json, name: str, folder: Path | None = None) -> None:
        self.record = record
        self.name = name
        self.folder = folder
        self.zone = ZoneInfo(record["zone"])
        self.numbers = [turn["number"] for turn in record["turns"]]
        self._game = games.named(record["game"])

    def headline(self, turn: Json) -> str:
        """Return what a turn brought, in a line."""
        return telling.headline(self.record, turn, self.folder)

    def turn(self, turn: Json, headline: str, undone: int = 0) -> Files:
        """Return the page of a turn, with its picture; of one taken back, the how manieth."""
        number = turn["number"]
        base = f"turn-{number}-undone-{undone}" if undone else f"turn-{number}"
        chapter = None if undone else games.optional(self._game, "chapter")
        facts: Json = chapter(self.record, number) if chapter else {}
        files: Files = {}
        picture = None
        if not facts.get("drawn"):
            picture = self._picture(turn, base, files)
        reports = self._reports(turn)
        press = [] if undone else self.press_before(number)
        shown = list(_within(press, _MOST_PRESS))
        context = {
            **self._common(),
            "number": number,
            "numbers": self.numbers,
            "turn": turn,
            "headline": headline,
            "undone": undone,
            "previous": number - 1 if not undone and number - 1 in self.numbers else None,
            "next": number + 1 if not undone and number + 1 in self.numbers else None,
            "missing": turn["missing"],
            "notes": [] if undone else self.notes(number),
            "picture": picture,
            "report": Markup(telling.report(self.record, turn, self.folder)),
            "chapter": self._part("chapter.html", facts, turn) if chapter else "",
            "sheets": list(self._sheets(turn, facts.get("became", {}), bool(undone))),
            "press": shown,
            "more_press": len(press) - len(shown),
            "reports": reports,
            "reports_page": None,
            "case": None,
        }
        page = self._rendered("turn", context)
        if len(page) > LARGEST and reports:
            context |= {"reports": [], "reports_page": f"{base}-reports.html"}
            page = self._rendered("turn", context)
            files[f"{base}-reports.html"] = self._rendered(
                "reports", {**context, "reports": reports}
            )
        return {f"{base}.html": page, **files}

    def match(self, headlines: Mapping[int, str], undone: Sequence[Json]) -> Files:
        """Return the page of the match, and those of its press and of a long history.

        `undone` has, for each turn taken back, its `href`, `number` and `ran`.
        """
        record = self.record
        course = games.optional(self._game, "course")
        facts: Json = course(record) if course else {}
        press = self.all_press()
        history = self.history()
        parts = [history[at : at + _MOST_ENTRIES] for at in range(0, len(history), _MOST_ENTRIES)]
        context = {
            **self._common(),
            "state": state_of(record),
            "charts": [self._chart(one) for one in facts.get("charts", ())],
            "course": self._part("course.html", facts, None) if course else "",
            "turns": [{**turn, "headline": headlines[turn["number"]]} for turn in record["turns"]],
            "undone": undone,
            "options": self._options(),
            "press": len(press),
            "history": parts[0] if parts else [],
            "more": len(parts) > 1,
        }
        files = {"index.html": self._rendered("match", context)}
        for number, entries in enumerate(parts[1:], 2):
            context |= {"history": entries, "number": number, "pages": len(parts)}
            files[f"history-{number}.html"] = self._rendered("history", context)
        return {**files, **self._press_pages(press)}

    def script(self) -> str | None:
        """Return the script of the game's own parts, where it brings one."""
        return read(f"{self.record['game']}/archive.js", self.folder, self.record["game"])

    def press_before(self, number: int) -> list[Json]:
        """Return the press of the phase that a turn ended."""
        return [one for one in self.all_press() if one["turn"] == number]

    def all_press(self) -> list[Json]:
        """Return all press, in reading order, each with its `turn`: the one that it came before."""
        return [
            {
                "id": _lasting("p", one),
                "time": one["time"],
                "by": one["facts"]["by"],
                "to": one["facts"]["to"],
                "text": one["facts"]["text"],
                "turn": one["facts"]["turn"] + 1,
                "private": one["facts"]["seen_by"] is not None,
            }
            for one in self.record["history"]
            if one["what"] == "press"
        ]

    def history(self) -> list[Json]:
        """Return the history's entries, each with a lasting `id` and, of press, its `address`."""
        found = []
        for one in self.record["history"]:
            entry = {**one, "id": _lasting("h", one)}
            if one["what"] == "press":
                entry["address"] = f"{self._page_before(one['facts']['turn'] + 1)}{_press_id(one)}"
            found.append(entry)
        return found

    def _page_before(self, number: int) -> str:
        return f"turn-{number}.html" if number in self.numbers else "press.html"

    def _common(self) -> Json:
        record = self.record
        has_script = self.script() is not None
        return {
            "record": record,
            "seats": record["seats"],
            "program": record["program"],
            "name": self.name,
            "root": "../",
            "when": lambda moment: telling.shown_time(moment, self.zone),
            "script": f"{record['game']}.js" if has_script else None,
        }

    def _rendered(self, kind: str, context: Mapping[str, Any]) -> bytes:
        env = environment(self.folder, self.record["game"], True)
        return render(env, f"archive/{kind}.html", context).encode()

    def _part(self, name: str, facts: Json, turn: Json | None) -> Markup:
        """Render a game's own part of a page; empty where it has no template for it."""
        record = self.record
        context = {
            "record": record,
            "page": facts,
            "turn": turn,
            "seats": record["seats"],
            "colours": {
                seat: COLOURS[at % len(COLOURS)] for at, seat in enumerate(record["seats"])
            },
            "number": turn["number"] if turn else None,
            "last": self.numbers[-1] if self.numbers else 0,
        }
        env = environment(self.folder, record["game"], True)
        return Markup(render(env, (f"{record['game']}/{name}",), context).strip())

    def _chart(self, one: Json) -> Json:
        seats = [seat for seat in self.record["seats"] if seat in one["seats"]]
        length = max((len(one["seats"][seat]) for seat in seats), default=0)
        rows = [
            [values[at] if at < len(values) else None for values in map(one["seats"].get, seats)]
            for at in range(length)
        ]
        svg = chart.drawn(one, self.record["seats"])
        return {"title": one["title"], "svg": svg, "seats": seats, "rows": rows}

    def _picture(self, turn: Json, base: str, files: Files) -> Json | None:
        svg, alt = telling.picture(self.record, turn, self.folder)
        size = re.search(r'<svg[^>]* width="([\d.]+)" height="([\d.]+)"', svg)
        if not svg or not size:
            return None
        files[f"{base}.svg"] = svg.encode()
        width, height = (round(float(one)) for one in size.groups())
        return {"src": f"{base}.svg", "alt": alt, "width": width, "height": height}

    def _reports(self, turn: Json) -> list[Json]:
        if not self.record["whole"]:
            return []
        return [
            {"seat": seat, "text": telling.report_of(self.record, turn, seat, self.folder)}
            for seat in self.record["seats"]
        ]

    def notes(self, number: int) -> list[str]:
        """Return what all were told of the game master's looking at sealed orders before a turn."""
        notes = []
        for one in self.record["history"]:
            if one["what"] in ("looked", "previewed", "exported"):
                if one["facts"].get("turn") != number - 1:
                    continue
                if one["what"] == "looked":
                    whose = one["facts"]["seat"]
                    notes.append(f"The game master read the sealed orders of {whose}.")
                elif one["what"] == "previewed":
                    notes.append("The game master looked at what the turn would do beforehand.")
        return list(dict.fromkeys(notes))

    def _sheets(self, turn: Json, became: Mapping[str, Any], undone: bool) -> Iterator[Json]:
        """Yield each seat's orders in a turn, a line each, and the game master's."""
        room = _MOST_ORDERS // max(len(self.record["seats"]), 1)
        for position, seat in enumerate((*self.record["seats"], "")):
            is_missing = seat in turn["missing"]
            if seat not in turn["orders"] and not is_missing:
                continue
            lines = telling.fates(self.record, turn, seat, became.get(seat, {}))
            shown = list(_within(lines, room))[: telling.MOST_LINES]
            note = ""
            if is_missing:
                note = "No orders came." if undone else telling.stood_in(self.record, turn, seat)
            elif not lines:
                note = "An empty sheet: no orders, on purpose."
            yield {
                "position": position + 1 if seat else 0,
                "seat": seat,
                "note": note,
                "lines": shown,
                "more": len(lines) - len(shown),
            }

    def _press_pages(self, press: Sequence[Json]) -> Files:
        pages: list[list[Json]] = []
        rest = list(press)
        while rest:
            page = list(_within(rest, 3 * _MOST_PRESS)) or rest[:1]
            pages.append(page)
            rest = rest[len(page) :]
        files: Files = {}
        for number, page in enumerate(pages, 1):
            turns = dict.fromkeys(one["turn"] for one in page)
            groups = [
                {
                    "turn": turn,
                    "stands": turn in self.numbers,
                    "press": [one for one in page if one["turn"] == turn],
                }
                for turn in turns
            ]
            context = {"groups": groups, "number": number, "pages": len(pages)}
            files[f"press{f'-{number}' if number > 1 else ''}.html"] = self._rendered(
                "press", {**self._common(), **context}
            )
        return files

    def _options(self) -> list[Json]:
        """Return the options and settings of the match in words, the game's own first."""
        helps = {
            one.name: one.help
            for one in (*self._game.OPTIONS, *settings.SETTINGS)
            if one.name != "seed"
        }
        given = {**self.record["options"], **self.record["settings"]}
        found = []
        for name, text in helps.items():
            if name in given:
                value = said(given[name])
                is_long = len(value) > _LONG_VALUE or "\n" in value
                help_text = text[:1].upper() + text[1:]
                found.append({"help": help_text, "value": value, "long": is_long})
        return found


def state_of(record: Json) -> str:
    """Say how a match stands, in a sentence or two."""
    last = record["turn"]
    match record["status"]:
        case "open":
            return "Open: seats are to be joined."
        case "held":
            return f"Held after turn {last}: the clock stands still."
        case "over" if record["winners"]:
            winners = said(record["winners"])
            won = "has won" if len(record["winners"]) == 1 else "have won"
            return f"Over after {last} {'turn' if last == 1 else 'turns'}: {winners} {won}."
        case "over":
            return f"Over after {last} {'turn' if last == 1 else 'turns'}."
    return f"Running, after turn {last}; the phase to come is {record['phase']}."


def _lasting(kind: str, entry: Json) -> str:
    """Return an entry's address within its page, the same however many entries come to stand
    before it: those that are private until the match is over do."""
    facts = {key: value for key, value in entry["facts"].items() if key != "seen_by"}
    told = repr((entry["time"], entry["who"], entry["what"], sorted(facts.items(), key=str)))
    return kind + sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _press_id(entry: Json) -> str:
    return f"#{_lasting('p', entry)}"


def _within(items: Sequence[Any], room: int) -> Iterator[Any]:
    """Yield those of some items that fit into so many bytes, from the first on."""
    for item in items:
        # What stands round each weighs some two hundred bytes more.
        room -= len(str(item).encode("utf-8", "replace")) + 200
        if room < 0:
            return
        yield item
