"""What a player asked for by HELP, STATUS, RULES or ORDERS?, in words, as it is when it leaves."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import commands, matches
from pbem import game as games
from pbem.config import Config
from pbem.store import Absence, Seat
from pbem.usage import Rule

Section = dict[str, str]


def sections(
    session: Session, config: Config, seat: Seat, asked: Sequence[str], now: datetime
) -> list[Section]:
    """Return the answers to what a seat asked, each with a title."""
    made = []
    for question in asked:
        match question:
            case "HELP":
                made.append({"title": "What you may order", "text": _help(seat)})
            case "RULES":
                made.append({"title": "The rules", "text": _rules(config, seat)})
            case "STATUS":
                text = _status(session, seat, now)
                made.append({"title": f"How {seat.match.name} stands", "text": text})
            case "ORDERS?":
                made.append({"title": "Your orders as they stand", "text": _orders(session, seat)})
    return made


def _help(seat: Seat) -> str:
    grammar = games.named(seat.match.game).GRAMMAR
    rules = [*grammar.rules, *commands.PLAYER.rules]
    return "\n".join(_usage(rule) for rule in rules if not rule.gm)


def _usage(rule: Rule) -> str:
    # With words behind it on the same line no usage line is an order, however it is quoted.
    return f"{rule.shown}: {rule.help[:1].upper()}{rule.help[1:].rstrip('.')}"


def _rules(config: Config, seat: Seat) -> str:
    from pbem.reports import rules

    said = rules(seat.match.game, seat.match.options, config.templates_folder)
    return said.rstrip() or "This game brings no rules in words; HELP tells what you may order."


def _status(session: Session, seat: Seat, now: datetime) -> str:
    """Return what a seat may know of where its match stands; of other seats' orders nothing."""
    match = seat.match
    lines = [f"{games.named(match.game).TITLE}, {match.status}; you play {seat.name}."]
    if match.status in ("running", "held"):
        phase = matches.phase(session, match)
        lines.append(f"Turns run: {match.turn}. The phase now: {match.phase}.")
        sent = seat.name in phase.sheets
        due = seat.name in phase.waiting
        lines.append(
            "Your orders are in."
            if sent
            else "Your standing orders will count."
            if seat.name in phase.standing
            else "Your orders are awaited."
            if due
            else "You have nothing to decide in this phase."
        )
        if match.settings.get("early") == "ready":
            lines.append(f"You are {'' if seat.ready else 'not '}ready.")
    query = select(Absence).where(Absence.seat_id == seat.id, Absence.last >= now.date())
    for absence in session.scalars(query.order_by(Absence.first)):
        lines.append(f"You are away from {absence.first} to {absence.last}.")
    people = ", ".join(
        one.name if one.name == one.person else f"{one.name} ({one.person})" for one in match.seats
    )
    lines += [f"Who plays: {people}.", f"Your letters: MAIL {seat.mail}."]
    return "\n".join(lines)


def _orders(session: Session, seat: Seat) -> str:
    """Return a seat's sheet as the turn would take it now."""
    match = seat.match
    if match.status not in ("running", "held"):
        return f"None: {match.name} is {match.status}."
    phase = matches.phase(session, match)
    sheet = phase.sheet_of(seat.name)
    if sheet is None:
        return "There are none."
    written = "\n".join(phase.lawful_lines(seat.name))
    how = "They stand: they also count in later turns.\n" if sheet.standing else ""
    return how + (written or "Nothing, on purpose.")
