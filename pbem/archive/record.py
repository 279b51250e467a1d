"""The record of a match: all that was, as one JSON value, and what of it everybody may know.

What comes after, pages and downloads, only ever sees a published record: all secrecy of the archive
is in `published`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import __version__, matches, store
from pbem import game as games
from pbem.game import Game, Json
from pbem.store import Entry, Match, Sheet, Tenure, Turn

FORMAT = 1
PROGRAM = f"pbem {__version__}"

# Facts of the history that leave the database in no form: where people write from, which stored
# mail was meant, and the traces of our own code.
_NEVER = ("address", "added", "message", "trace")

# Some mail programs call who has written no name by his address; and people write some to others.
_ADDRESS = re.compile(r"[^\s@<>()\[\]\",:;]+@[\w-]+(?:\.[\w-]+)+")
NAMELESS = "a player"

# What all players are told of, by what it is, with the facts that they are told. An entry of any
# other kind is the game master's alone until the match is over.
_TOLD: Mapping[str, tuple[str, ...]] = {
    "made": ("open_seats",),
    "joined": (),
    "begun": ("seed_hash",),
    "deadline": ("deadline", "why"),
    "waits": ("until",),
    "run": ("turn", "phase"),
    "no orders": ("turn",),
    "failed": (),
    "held": (),
    "released": (),
    "run now": ("phase", "turn"),
    "looked": ("seat", "turn"),
    "previewed": ("turn",),
    "exported": ("turn",),
    "imported": ("unverified",),
    "undone": ("turns", "back_to"),
    "set": ("option", "value"),
    "said": ("text",),
    "replaced": ("seat", "person"),
    "dropped": ("seat", "person"),
    "resigned": ("seat", "person"),
    "ended": ("turn",),
    "over": ("winners",),
    "press": ("by", "to", "text", "turn", "seen_by"),
}


def recorded(session: Session, match: Match) -> Json:
    """Return all there is to know of a match, secrets included, in the form of an export.

    Never in it are addresses, keys, mails and their Message-IDs. Its keys stand in a fixed order,
    so that equal matches give equal bytes.
    """
    game = games.named(match.game)
    seats = [seat.name for seat in match.seats]
    names = {seat.id: seat.name for seat in match.seats}
    turns = select(Turn).where(Turn.match_id == match.id)
    live = list(session.scalars(turns.where(Turn.live.is_(True)).order_by(Turn.number)))
    undone = session.scalars(turns.where(Turn.live.is_(None)).order_by(Turn.id))
    stood = [_turn(turn) for turn in live]
    winners: list[str] = []
    if match.status == "over" and live:
        winners = list(game.winners(game.load(live[-1].state, seats, match.options)))
    return {
        "format": FORMAT,
        "program": PROGRAM,
        "whole": True,
        "match": match.name,
        "game": match.game,
        "title": game.TITLE,
        "seats": seats,
        "options": dict(match.options),
        "settings": dict(match.settings),
        "zone": match.zone,
        "schedules": list(match.schedules),
        "status": match.status,
        "phase": match.phase,
        "turn": match.turn,
        "open_seats": match.open_seats,
        "deadline": _time(match.deadline),
        "created": _time(match.created),
        "winners": winners,
        "seed": match.seed,
        "seed_sha256": matches.seed_hash(match.seed),
        "orders_sha256": games.digest([turn["orders"] for turn in stood]),
        "players": _players(session, names),
        "turns": stood,
        "undone": [_turn(turn) for turn in undone],
        "sheets": _sheets(session, match, names),
        "history": _history(session, match),
        "present": _present(match),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _present(match: Match) -> Json:
    """Return what holds for the moment, so that a match goes on elsewhere as it stood here.

    Nobody but the game master is told it: when a player is away, which letters he wants.
    """
    return {
        "began": _time(match.began),
        "put_off": match.put_off,
        "reminded": _time(match.reminded),
        "seats": [
            {
                "seat": seat.name,
                "mail": seat.mail,
                "language": seat.language,
                "ready": seat.ready,
                "absences": [
                    {
                        "first": str(one.first),
                        "last": str(one.last),
                        "granted": one.granted,
                        "moved": one.moved,
                        "declared": _time(one.declared),
                    }
                    for one in seat.absences
                ],
            }
            for seat in match.seats
        ],
    }


def _players(session: Session, names: Mapping[int, str]) -> list[Json]:
    """Return who had which seat from which turn on, by seat and time."""
    tenures = session.scalars(
        select(Tenure).where(Tenure.seat_id.in_(names)).order_by(Tenure.began, Tenure.id)
    )
    places = list(names)
    return [
        {
            "seat": names[one.seat_id],
            "person": _named(one.person),
            "from_turn": one.from_turn,
            "began": _time(one.began),
            "ended": _time(one.ended),
        }
        for one in sorted(tenures, key=lambda tenure: places.index(tenure.seat_id))
    ]


def _turn(turn: Turn) -> Json:
    orders = dict(turn.orders)
    return {
        "number": turn.number,
        "phase": turn.phase,
        "state": dict(turn.state),
        "events": list(turn.events),
        "orders": orders,
        "orders_sha256": games.digest(orders),
        "problems": dict(turn.problems),
        "missing": list(turn.missing),
        "ran": _time(turn.ran),
        "deadline": _time(turn.deadline),
    }


def _sheets(session: Session, match: Match, names: Mapping[int, str]) -> list[Json]:
    """Return all sheets that came, in the order they did; the game master's seat is empty."""
    query = select(Sheet).where(Sheet.match_id == match.id).order_by(Sheet.id)
    return [
        {
            "seat": "" if sheet.seat_id is None else names[sheet.seat_id],
            "turn": sheet.turn,
            "text": sheet.text,
            "received": _time(sheet.received),
            "late": sheet.late,
            "standing": sheet.standing,
            "withdrawn": sheet.withdrawn,
        }
        for sheet in session.scalars(query)
    ]


def _history(session: Session, match: Match) -> list[Json]:
    query = select(Entry).where(Entry.match_id == match.id).order_by(Entry.id)
    return [
        {
            "time": _time(entry.time),
            "who": entry.who,
            "what": entry.what,
            "facts": {
                key: _named(fact) if key in ("person", "why") else fact
                for key, fact in entry.facts.items()
                if key not in _NEVER
            },
        }
        for entry in session.scalars(query)
    ]


def _named(text: str) -> str:
    """Return a name, or words that name somebody, less addresses; of one nothing else is left."""
    return _ADDRESS.sub(NAMELESS, text)


def opened(session: Session, match: Match, now: datetime) -> Json:
    """Return a match's record for its game master, and write down that he opened it.

    Of a match that is over nothing is written: no sealed orders are in it. Else the next report
    tells all players, as where he reads a single sheet.
    """
    if match.status != "over":
        store.record(session, match, now, "gm", "exported", turn=match.turn)
        session.flush()
    return recorded(session, match)


def published(record: Json) -> Json:
    """Return what everybody may know of a match by its record; what is public already stays.

    Once the match is over that is everything (`whole`), unless its setting `reveal` is never; but
    for sheets that were overtaken, what was written to the game master alone, who wrote without
    his name, what the program itself stumbled over, and when who is away or which letters he wants.
    Until then it is what the game shows of each state and event to nobody in particular, and what
    all players were told; and of the options those that tell nothing of what it hides
    (`known_options`). No address that somebody wrote or was called by is ever in it, unless he
    wrote it among his orders.
    """
    if not record["whole"]:
        return record
    record = {key: value for key, value in record.items() if key != "present"}
    if record["status"] == "over" and record["settings"].get("reveal") != "never":
        return {**record, "sheets": [], "history": list(_opened(record["history"]))}
    game = games.named(record["game"])
    known = games.optional(game, "known_options")
    options = known(record["options"]) if known else record["options"]
    secret = record["options"].keys() - options.keys()
    public = {
        **record,
        "whole": False,
        "options": options,
        "seed": None,
        "turns": [_shown(game, record, turn) for turn in record["turns"]],
        # The orders of a turn that was taken back stand again, and it shows what they would do.
        "undone": [],
        "sheets": [],
        "history": [_told(entry) for entry in record["history"] if _is_told(entry, secret)],
    }
    # Few orders can be meant, and each could be tried on a digest.
    public.pop("orders_sha256", None)
    return public


def _opened(history: Sequence[Json]) -> list[Json]:
    """Return the history of a match that is over, as all may read it."""
    found: list[Json] = []
    for entry in history:
        facts: Json = dict(entry["facts"])
        if entry["what"] == "press":
            if facts["seen_by"] is not None and facts["to"] == "GM":
                continue
            if not entry["who"] and facts["seen_by"] is not None:
                # The writer comes first among those who may read it.
                facts["seen_by"] = facts["seen_by"][1:]
        elif entry["who"] == "program" and entry["what"] in ("failed", "held"):
            del facts["why"]
        found.append({**entry, "facts": _less_addresses(facts)})
    return found


def _is_told(entry: Json, secret: Collection[str]) -> bool:
    facts = entry["facts"]
    is_secret = entry["what"] == "set" and facts.get("option") in secret
    return entry["what"] in _TOLD and facts.get("seen_by") is None and not is_secret


def _told(entry: Json) -> Json:
    told = _TOLD[entry["what"]]
    facts = {key: entry["facts"][key] for key in told if key in entry["facts"]}
    return {**entry, "facts": _less_addresses(facts)}


def _less_addresses(facts: Json) -> Json:
    """Return facts with no address in a text: who wrote it to some has not shown it to all."""
    text = facts.get("text")
    return {**facts, "text": _ADDRESS.sub("(an address)", text)} if text else facts


def _shown(game: Game, record: Json, turn: Json) -> Json:
    """Return a turn as the public may know it: no orders or problems, no event of single seats."""
    return {
        **{key: value for key, value in turn.items() if key != "orders_sha256"},
        "state": _public(game, game.load(turn["state"], record["seats"], record["options"]), turn),
        "events": [event for event in turn["events"] if event["seen_by"] is None],
        "orders": {},
        "problems": {},
    }


def _public(game: Game, state: Any, turn: Json) -> Json:
    """Return the public view of a state; a game shows all of one that is over.

    Where orders are never revealed that would be too much: it is shown as in the phase before,
    with the winners, and what each seat has come to, the numbers by seat.
    """
    view = game.view(state, None)
    if state.phase != "over":
        return view
    as_before = game.view(replace(state, phase=turn["phase"]), None)
    return {
        key: value if isinstance(value, dict) and _are_numbers(value.values()) else as_before[key]
        for key, value in view.items()
        if key in as_before
    } | {"phase": "over", "winners": list(game.winners(state))}


def _are_numbers(values: Any) -> bool:
    return all(isinstance(value, int | float) for value in values)
