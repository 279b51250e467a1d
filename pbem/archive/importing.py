"""A match made from an export: its turns, orders, history and who played; all of it or nothing.

Addresses and keys are in no export. So every seat is vacant at first, nobody waits for one, and a
match that was running is held until its game master has named its players.
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from sqlalchemy import null
from sqlalchemy.orm import Session

from pbem import game as games
from pbem import identity, players, schedule, settings, store
from pbem.archive.form import shown
from pbem.archive.verifying import first_difference, options_of
from pbem.game import Game, Json
from pbem.store import Absence, Entry, Match, Seat, Sheet, Tenure, Turn

HELD = "it was imported; name its players by ADDRESS or REPLACE first"


def bring(
    session: Session, record: Json, name: str, now: datetime, *, unverified: bool = False
) -> Match:
    """Make the match that a record tells of, under a name; return it.

    An exported match that is over is as it was; of one that is taken though it does not come out
    as it stands (`unverified`) the history says so. Raise `ValueError`, the session untouched, for
    a name that is taken, a record that is not whole, what the game or a setting refuses, and,
    unless `unverified`, turns that are not what seed and orders give.
    """
    if store.match_named(session, name):
        raise ValueError(f"a match {name} is there already; choose another name with --as NAME")
    if not record["whole"] or record["seed"] is None:
        raise ValueError(
            "it holds only what is public of the match; ask its game master for a whole export"
        )
    game = games.named(record["game"])
    _check_seats(game, record["seats"])
    record = {
        **record,
        "options": options_of(game, record),
        "settings": _settings(record["settings"]),
        "schedules": _schedules(game, record["schedules"]),
        "zone": schedule.parse_zone(record["zone"]).key,
    }
    _check_standing(record)
    record["turns"] = [_loaded(game, record, turn, "turn") for turn in record["turns"]]
    record["undone"] = [_loaded(game, record, turn, "undone turn") for turn in record["undone"]]
    difference = first_difference(record)
    if difference and not unverified:
        raise ValueError(f"{difference}; --unverified takes the match as the file has it")
    match = _match(record, name, now)
    session.add(match)
    session.flush()
    seats = _seats(session, match, record)
    _add_turns(session, match, record)
    _add_sheets(session, match, record, seats)
    _add_habits(session, record, seats)
    for entry in record["history"]:
        time = _moment(entry["time"])
        session.add(
            Entry(
                match_id=match.id,
                time=time,
                who=entry["who"],
                what=entry["what"],
                facts=entry["facts"],
            )
        )
        # History is told in the order of its rows.
        session.flush()
    if difference:
        facts = {"unverified": True, "difference": str(difference)}
        store.record(session, match, now, "gm", "imported", **facts)
    if match.status == "held":
        store.record(session, match, now, "program", "held", why=HELD)
    session.flush()
    return match


def _check_seats(game: Game, names: list[str]) -> None:
    """Raise `ValueError` where a seat has a name that a new match would refuse."""
    for number, name in enumerate(names):
        if fault := players.fault_of_name(name, names[:number], game):
            raise ValueError(f"seats[{number}], {shown(name)}: {fault}")


def _settings(given: Json) -> dict[str, Any]:
    known = [option for option in settings.SETTINGS if option.name != "seed"]
    return games.read_options(known, given, "a match")


def _schedules(game: Game, texts: list[str]) -> list[str]:
    games.check_phases(game, schedule.parse_all(texts))
    return texts


def _check_standing(record: Json) -> None:
    """Raise `ValueError` unless status, phase and turns of a match agree."""
    status, phase, turns = record["status"], record["phase"], record["turns"]
    numbers = [turn["number"] for turn in turns]
    if numbers != list(range(len(turns))):
        raise ValueError(f"turns: numbered from 0, each once, is needed, not {numbers[:20]}")
    if record["turn"] != max(0, len(turns) - 1):
        raise ValueError(f"turn: it is {record['turn']}, but the last of turns is {len(turns) - 1}")
    if any(turn["number"] < 1 for turn in record["undone"]):
        raise ValueError("undone: the set-up is never taken back")
    begun = status in ("running", "held")
    if (begun and not turns) or (status == "open" and (turns or phase != "open")):
        raise ValueError(f"status: a match with {len(turns)} turns in phase {phase} isn't {status}")
    if turns and phase != turns[-1]["state"].get("phase"):
        raise ValueError(f"phase: it is {phase}, but the last turn left another one")
    if (status == "over") != (phase == "over"):
        raise ValueError(f"status: in phase {phase} a match isn't {status}")
    if status == "open" and not record["open_seats"]:
        raise ValueError("open_seats: a match that is open has one at least")


def _loaded(game: Game, record: Json, turn: Json, place: str) -> Json:
    """Return a turn with its state as the game reads and writes it."""
    try:
        state = game.load(turn["state"], record["seats"], record["options"])
        return {**turn, "state": game.dump(state)}
    # A game may stumble over what no match ever came to, instead of refusing it.
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
        raise ValueError(f"{place} {turn['number']}, state: {said}") from None


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written)


def _moment_or_none(written: str | None) -> datetime | None:
    return None if written is None else _moment(written)


def _match(record: Json, name: str, now: datetime) -> Match:
    status = "held" if record["status"] == "running" else record["status"]
    present = record.get("present", {})
    last = record["turns"][-1]["ran"] if record["turns"] else record["created"]
    return Match(
        name=name,
        game=record["game"],
        status=status,
        options=record["options"],
        settings=record["settings"],
        schedules=record["schedules"],
        zone=record["zone"],
        seed=record["seed"],
        phase=record["phase"],
        turn=record["turn"],
        deadline=_moment_or_none(record["deadline"]),
        began=min(_moment(present.get("began", last)), now),
        put_off=present.get("put_off", False),
        reminded=_moment_or_none(present.get("reminded")),
        why=HELD if status == "held" else "",
        key=identity.new_key(),
        open_seats=record["open_seats"],
        created=_moment(record["created"]),
    )


def _seats(session: Session, match: Match, record: Json) -> dict[str, Seat]:
    """Add the seats, all of them vacant, and who had each from when to when."""
    seats: dict[str, Seat] = {}
    for position, name in enumerate(record["seats"]):
        people = [one["person"] for one in record["players"] if one["seat"] == name]
        person = people[-1] if people else name
        seats[name] = Seat(
            position=position, name=name, person=person, key=identity.new_key(), match=match
        )
        session.add(seats[name])
    session.flush()
    for one in record["players"]:
        session.add(
            Tenure(
                seat_id=seats[one["seat"]].id,
                person=one["person"],
                addresses=[],
                from_turn=one["from_turn"],
                began=_moment(one["began"]),
                ended=_moment_or_none(one["ended"]),
            )
        )
        session.flush()
    return seats


def _add_turns(session: Session, match: Match, record: Json) -> None:
    # Left to itself the column would be true; of turns that were taken back it is null.
    parts: dict[str, Any] = {"turns": True, "undone": null()}
    for part, live in parts.items():
        for turn in record[part]:
            session.add(
                Turn(
                    match_id=match.id,
                    live=live,
                    number=turn["number"],
                    phase=turn["phase"],
                    state=turn["state"],
                    events=turn["events"],
                    orders=turn["orders"],
                    problems=turn["problems"],
                    missing=turn["missing"],
                    ran=_moment(turn["ran"]),
                    deadline=_moment_or_none(turn["deadline"]),
                )
            )
            session.flush()


def _add_sheets(session: Session, match: Match, record: Json, seats: Mapping[str, Seat]) -> None:
    """Add the sheets that came; what was published has none: those that each turn was run with."""
    for sheet in record["sheets"] or _run_with(record):
        session.add(
            Sheet(
                match_id=match.id,
                seat_id=seats[sheet["seat"]].id if sheet["seat"] else None,
                turn=sheet["turn"],
                text=sheet["text"],
                received=_moment(sheet["received"]),
                late=sheet["late"],
                standing=sheet["standing"],
                withdrawn=sheet["withdrawn"],
            )
        )
        session.flush()


def _add_habits(session: Session, record: Json, seats: Mapping[str, Seat]) -> None:
    """Add which letters each player wants, and when he is away; files of older programs lack it."""
    for one in record.get("present", {"seats": []})["seats"]:
        seat = seats[one["seat"]]
        seat.mail, seat.language, seat.ready = one["mail"], one["language"], one["ready"]
        for absence in one["absences"]:
            days = (date.fromisoformat(absence["first"]), date.fromisoformat(absence["last"]))
            seat.absences.append(
                Absence(
                    first=days[0],
                    last=days[1],
                    granted=absence["granted"],
                    moved=absence["moved"],
                    declared=_moment(absence["declared"]),
                )
            )
            session.flush()


def _run_with(record: Json) -> list[Json]:
    return [
        {
            "seat": seat,
            "turn": turn["number"] - 1,
            "text": text,
            "received": turn["ran"],
            "late": False,
            "standing": False,
            "withdrawn": False,
        }
        for turn in record["turns"][1:]
        for seat, text in turn["orders"].items()
        if seat not in turn["missing"]
    ]
