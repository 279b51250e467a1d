"""The tables: matches, seats and who sits on them, mails, sheets, turns, letters, history.

All times are UTC in whole seconds. The queue is the database: what waits to be done is a row.
"""

from datetime import date, datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, MetaData, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from pbem.store.columns import Day, Json, Name, Utc, Words, name_columns


class Base(DeclarativeBase):
    """The tables' base, with names for every constraint from the first day."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_N_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012  (SQLAlchemy reads it off the class)
        datetime: Utc(),
        date: Day(),
        dict[str, Any]: Json(dict),
        list[Any]: Json(list),
    }


class Match(Base):
    """A match: `status` is open, running, held or over; `turn` counts the phases run.

    `key` makes the game master's token for it, `open_seats` are still to be joined. Its phase began
    at `began`, and is to be run at the next tick whatever the deadline with `early` (all that are
    due are ready, or who was asked has answered) or `run_now` (the game master says so). Beyond its
    deadline it waits for who is missing until `waits_until`; `put_off` tells that the first turn
    was, once. `reminded` is the deadline that reminders have gone out for, `alarm` names what the
    game master was last told about it: both so that nobody is told twice. `why` says what is wrong.
    """

    __tablename__ = "matches"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Name(32), unique=True)
    game: Mapped[str] = mapped_column(Name(64))
    status: Mapped[str] = mapped_column(Name(16), index=True)
    options: Mapped[dict[str, Any]]
    settings: Mapped[dict[str, Any]]
    schedules: Mapped[list[Any]]
    zone: Mapped[str] = mapped_column(Name(64))
    seed: Mapped[str] = mapped_column(Words)
    phase: Mapped[str] = mapped_column(Name(32))
    turn: Mapped[int] = mapped_column(default=0)
    deadline: Mapped[datetime | None] = mapped_column(index=True)
    began: Mapped[datetime]
    waits_until: Mapped[datetime | None]
    early: Mapped[bool] = mapped_column(default=False)
    run_now: Mapped[bool] = mapped_column(default=False)
    put_off: Mapped[bool] = mapped_column(default=False)
    reminded: Mapped[datetime | None]
    tries: Mapped[int] = mapped_column(default=0)
    alarm: Mapped[str] = mapped_column(Name(100), default="")
    why: Mapped[str] = mapped_column(Words, default="")
    key: Mapped[str] = mapped_column(Name(64))
    open_seats: Mapped[int] = mapped_column(default=0)
    created: Mapped[datetime]

    seats: Mapped[list["Seat"]] = relationship(
        back_populates="match", order_by="Seat.position", cascade="all, delete-orphan"
    )


class Seat(Base):
    """A seat of a match and the person on it; its key makes its token.

    One without addresses is vacant. `ready` holds for the phase the match is in. `mail` is ALL,
    REPORTS, DIGEST or NONE: which letters the player wants.
    """

    __tablename__ = "seats"
    __table_args__ = (
        UniqueConstraint("match_id", "name"),
        UniqueConstraint("match_id", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    position: Mapped[int]
    name: Mapped[str] = mapped_column(Name(80))
    person: Mapped[str] = mapped_column(Words)
    key: Mapped[str] = mapped_column(Name(64))
    ready: Mapped[bool] = mapped_column(default=False)
    mail: Mapped[str] = mapped_column(Name(16), default="ALL")
    language: Mapped[str] = mapped_column(Name(16), default="")

    match: Mapped[Match] = relationship(back_populates="seats")
    addresses: Mapped[list["Address"]] = relationship(
        back_populates="seat", order_by="Address.id", cascade="all, delete-orphan"
    )
    absences: Mapped[list["Absence"]] = relationship(
        order_by="Absence.id", cascade="all, delete-orphan"
    )


class Address(Base):
    """An address a seat's player writes from; letters go to the first. `folded` is compared."""

    __tablename__ = "addresses"
    __table_args__ = (UniqueConstraint("seat_id", "folded"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seats.id"))
    address: Mapped[str] = mapped_column(Name(320))
    folded: Mapped[str] = mapped_column(Name(320), index=True)
    bounces: Mapped[int] = mapped_column(default=0)

    seat: Mapped[Seat] = relationship(back_populates="addresses")


class Tenure(Base):
    """How long a person had a seat: from the turn `from_turn` on; `ended` is null while he has it.

    `addresses` are those the person had when it began, folded.
    """

    __tablename__ = "tenures"

    id: Mapped[int] = mapped_column(primary_key=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seats.id"), index=True)
    person: Mapped[str] = mapped_column(Words)
    addresses: Mapped[list[Any]]
    from_turn: Mapped[int]
    began: Mapped[datetime]
    ended: Mapped[datetime | None]


class Absence(Base):
    """Dates on which a seat's player is away, by the match's zone, from the first to the last.

    `granted` tells that they are within the days a player has: such a one moves the deadline, once
    (`moved`); any other leaves the seat to its standing orders.
    """

    __tablename__ = "absences"

    id: Mapped[int] = mapped_column(primary_key=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seats.id"), index=True)
    first: Mapped[date]
    last: Mapped[date]
    granted: Mapped[bool]
    moved: Mapped[bool] = mapped_column(default=False)
    declared: Mapped[datetime]


class Applicant(Base):
    """Somebody who wants a seat of a match; his key makes the token of the letters to him.

    `status`: asked (has to confirm by a reply), waiting (on the list, for this match's next seat),
    seated, gone.
    """

    __tablename__ = "applicants"
    __table_args__ = (UniqueConstraint("match_id", "folded"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    person: Mapped[str] = mapped_column(Words)
    address: Mapped[str] = mapped_column(Name(320))
    folded: Mapped[str] = mapped_column(Name(320), index=True)
    key: Mapped[str] = mapped_column(Name(64))
    status: Mapped[str] = mapped_column(Name(16), index=True)
    asked: Mapped[datetime]
    confirmed: Mapped[datetime | None]


class Message(Base):
    """A mail that came, raw, and what became of it.

    `status`: filed (orders taken), answered (none taken), held (waits for a confirmation), late,
    gm (the game master's, to be carried out), ignored (automatic, our own, a copy), bounced,
    rejected (nobody we know), refused (beyond a limit), shunted (our own code failed: `why` is the
    traceback).
    """

    __tablename__ = "messages"
    __table_args__ = (Index("ix_messages_place", "source", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    identity: Mapped[str] = mapped_column(Name(64), unique=True)
    source: Mapped[str] = mapped_column(Name(200))
    key: Mapped[str] = mapped_column(Name(250))
    message_id: Mapped[str] = mapped_column(Words)
    sender: Mapped[str] = mapped_column(Words)
    subject: Mapped[str] = mapped_column(Words)
    recipient: Mapped[str] = mapped_column(Words)
    received: Mapped[datetime]
    stored: Mapped[datetime] = mapped_column(index=True)
    raw: Mapped[bytes] = mapped_column(LargeBinary, deferred=True)
    status: Mapped[str] = mapped_column(Name(16), index=True)
    why: Mapped[str] = mapped_column(Words, default="")
    match_id: Mapped[int | None] = mapped_column(ForeignKey("matches.id"), index=True)
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seats.id"))


class Sheet(Base):
    """A sheet of orders as it came, for the phase that follows `turn`; the newest one counts.

    One without a seat is the game master's. One that is `late` or `withdrawn` doesn't count; a
    `standing` one also counts in later turns for which none came.
    """

    __tablename__ = "sheets"
    __table_args__ = (Index("ix_sheets_place", "match_id", "turn", "seat_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seats.id"))
    turn: Mapped[int]
    text: Mapped[str] = mapped_column(Words)
    received: Mapped[datetime]
    message_id: Mapped[int | None] = mapped_column(ForeignKey("messages.id"))
    late: Mapped[bool] = mapped_column(default=False)
    standing: Mapped[bool] = mapped_column(default=False)
    withdrawn: Mapped[bool] = mapped_column(default=False)


class Turn(Base):
    """The state after `number` phases run, with what happened in the last and the orders it took.

    `missing` names the seats from which no sheet came though they could have ordered something;
    who of them is in `orders` had a standing one.

    `phase` is the one that was run (`setup` for number 0). `live` is true, or null once undone, so
    that the constraint holds for those that stand.
    """

    __tablename__ = "turns"
    __table_args__ = (UniqueConstraint("match_id", "number", "live"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"))
    number: Mapped[int]
    live: Mapped[bool | None] = mapped_column(default=True)
    phase: Mapped[str] = mapped_column(Name(32))
    state: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    events: Mapped[list[Any]] = mapped_column(deferred=True)
    orders: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    problems: Mapped[dict[str, Any]] = mapped_column(deferred=True)
    missing: Mapped[list[Any]]
    ran: Mapped[datetime]
    deadline: Mapped[datetime | None]


class Letter(Base):
    """A letter to be sent or sent, as facts: its words are made when it leaves.

    It goes to a seat's player, to an applicant, or (with neither) to the game master: then its
    `recipient` is empty until it leaves.
    `status`: queued, sent, dropped (outlived its use), failed (given up), bounced.
    """

    __tablename__ = "letters"
    __table_args__ = (
        Index("ix_letters_queue", "status", "due"),
        Index("ix_letters_recipient", "recipient", "kind", "created"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int | None] = mapped_column(ForeignKey("matches.id"), index=True)
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seats.id"), index=True)
    applicant_id: Mapped[int | None] = mapped_column(ForeignKey("applicants.id"))
    kind: Mapped[str] = mapped_column(Name(32))
    recipient: Mapped[str] = mapped_column(Name(320))
    person: Mapped[str] = mapped_column(Words)
    answers_id: Mapped[int | None] = mapped_column(ForeignKey("messages.id"))
    turn: Mapped[int | None]
    facts: Mapped[dict[str, Any]]
    created: Mapped[datetime]
    status: Mapped[str] = mapped_column(Name(16), default="queued")
    due: Mapped[datetime]
    tries: Mapped[int] = mapped_column(default=0)
    sent: Mapped[datetime | None]
    why: Mapped[str] = mapped_column(Words, default="")

    match: Mapped[Match | None] = relationship(viewonly=True)
    seat: Mapped[Seat | None] = relationship(viewonly=True)
    applicant: Mapped["Applicant | None"] = relationship(viewonly=True)
    answers: Mapped["Message | None"] = relationship(viewonly=True)


class Entry(Base):
    """An entry in a match's history: when, who, what."""

    __tablename__ = "history"

    id: Mapped[int] = mapped_column(primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("matches.id"), index=True)
    time: Mapped[datetime]
    who: Mapped[str] = mapped_column(Name(80))
    what: Mapped[str] = mapped_column(Name(32))
    facts: Mapped[dict[str, Any]]


class Mark(Base):
    """Something the program remembers of its own work: the last tick, a mailbox's cursor."""

    __tablename__ = "marks"

    name: Mapped[str] = mapped_column(Name(200), primary_key=True)
    value: Mapped[dict[str, Any]]


name_columns(Base.metadata)
