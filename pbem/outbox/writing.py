"""Writing a letter: from its facts to the bytes of a message, with the token its answer bears."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from pbem import game as games
from pbem import identity, matches, store
from pbem.config import Config
from pbem.game import Event
from pbem.outbox.facts import facts_of, received
from pbem.outbox.outlived import SHOW_A_TURN, is_undone
from pbem.outbox.rows import turn_shown
from pbem.store import Letter, Match, Seat

if TYPE_CHECKING:
    from pbem.reports import Envelope


def compose(session: Session, config: Config, letter: Letter, now: datetime) -> bytes:
    """Return a letter as the bytes of a message (RFC 5322), made from its facts.

    The same letter gives the same bytes at every try, but for how far away the deadline is.
    Raise `TemplateFault` where a template is broken.
    """
    from pbem.reports import mime, words

    said = words(letter.kind, _facts(session, config, letter, now), config.templates_folder)
    return mime(said, _envelope(config, letter))


def _facts(session: Session, config: Config, letter: Letter, now: datetime) -> dict[str, Any]:
    match, seat = letter.match, letter.seat
    facts: dict[str, Any] = {"match": None, "game": None, "title": "pbem", "seat": None}
    if match is not None:
        turn = turn_shown(session, match, letter.turn)
        shown = letter.kind in SHOW_A_TURN or bool(letter.facts.get("forecast"))
        facts = facts_of(session, config, match, turn, seat, now, shown=shown)
    facts |= {
        **letter.facts,
        "person": letter.person or config.game_master.name,
        "gm": not letter.recipient,
        "address": config.mail.address,
        "written": letter.created.isoformat(),
    }
    if match is not None and "answers" in letter.facts:
        answers = letter.facts["answers"]
        facts["answers"] = {**answers, "received": received(answers["received"], match)}
    if letter.kind not in ("report", "over", "press"):
        # Of what was written in the phase before, the report has told.
        facts.pop("press", None)
    if letter.kind == "reminder":
        # So it has of what became of the orders then.
        facts.pop("notes", None)
    if letter.facts.get("forecast") and seat is not None:
        facts["forecast"] = _forecast(session, letter, seat)
    if seat is not None and letter.facts.get("asked"):
        # What all may be asked takes long to import, and few letters answer a question.
        from pbem.outbox.questions import sections

        facts["sections"] = sections(session, config, seat, letter.facts["asked"], now)
    if letter.kind == "digest":
        facts["sections"] = _digested(session, config, letter, now)
    return facts


def _digested(
    session: Session, config: Config, letter: Letter, now: datetime
) -> list[dict[str, str]]:
    """Return the letters that a digest holds, as text, without what it has itself.

    One whose turn was undone meanwhile tells nothing that is still true.
    """
    from pbem.reports import words

    found = []
    for number in letter.facts["letters"]:
        held = session.get_one(Letter, number)
        if is_undone(session, held):
            continue
        facts = _facts(session, config, held, now) | {"digested": True}
        said = words(held.kind, facts, config.templates_folder)
        found.append({"title": said.subject, "text": said.text.strip()})
    return found


def _forecast(session: Session, letter: Letter, seat: Seat) -> list[Event] | None:
    """Return what a seat's sheet would do if nobody else moved, where the game can tell."""
    match = seat.match
    game = games.named(match.game)
    forecast = games.optional(game, "forecast")
    turn = store.turn_of(session, match, letter.turn)
    sheet = session.scalar(
        select(store.Sheet).where(store.Sheet.message_id == letter.answers_id).limit(1)
    )
    if forecast is None or sheet is None or turn is None:
        return None
    _, state = matches.load_state(match, turn)
    lawful, _ = game.check(state, seat.name, game.GRAMMAR.read(sheet.text).orders)
    return list(forecast(state, seat.name, lawful))


def _bears(letter: Letter) -> tuple[Match, str] | None:
    """Return for which match a letter bears a token, and which: its seat's, its applicant's, or
    (for neither) the game master's; `None` where it bears none."""
    match, seat = letter.match, letter.seat
    if match is None:
        return None
    if seat is not None and letter.kind == "address":
        asked = letter.recipient
        return match, identity.address_token(match.name, seat.name, seat.key, asked)
    whose = seat or letter.applicant
    return (match, matches.token(match, whose)) if whose or not letter.recipient else None


def _envelope(config: Config, letter: Letter) -> "Envelope":
    from pbem.reports import Envelope

    mail = config.mail
    match, bears = letter.match, _bears(letter)
    reply_to, message_id = mail.address, f"<pbem.{letter.id}@{mail.host}>"
    if match and bears:
        token = bears[1]
        reply_to = identity.address(mail.address, match.name, token, mail.plus_addressing)
        message_id = identity.message_id(match.name, token, letter.id, mail.host)
    answered_id = letter.answers.message_id if letter.answers else None
    # All letters of a match hang on one root, which is itself never sent.
    root = f"<{match.name}.match@{mail.host}>" if match else None
    return Envelope(
        sender=(f"{config.game_master.name} ({match.name})" if match else "pbem", mail.address),
        recipient=(
            letter.person or config.game_master.name,
            letter.recipient or config.game_master.address,
        ),
        reply_to=reply_to,
        message_id=message_id,
        date=letter.created,
        list_id=f"{match.name if match else 'pbem'}.{mail.host}",
        auto="auto-replied" if letter.kind in ("receipt", "confirm") else "auto-generated",
        in_reply_to=answered_id or root,
        references=[one for one in (root, answered_id) if one],
    )


def return_path(config: Config, letter: Letter) -> str:
    """Return the envelope sender: a plus address with the token, so that a bounce says whose it
    is."""
    bears = _bears(letter)
    if bears is None:
        return config.mail.address
    mailbox, plus = config.mail.address, config.mail.plus_addressing
    return identity.address(mailbox, bears[0].name, bears[1], plus)
