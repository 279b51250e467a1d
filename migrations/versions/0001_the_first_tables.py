"""the first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "marks",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_marks")),
    )
    op.create_table(
        "matches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("game", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("schedules", sa.JSON(), nullable=False),
        sa.Column("zone", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("phase", sa.String(length=32), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("deadline", sa.DateTime(), nullable=True),
        sa.Column("began", sa.DateTime(), nullable=False),
        sa.Column("waits_until", sa.DateTime(), nullable=True),
        sa.Column("early", sa.Boolean(), nullable=False),
        sa.Column("run_now", sa.Boolean(), nullable=False),
        sa.Column("put_off", sa.Boolean(), nullable=False),
        sa.Column("reminded", sa.DateTime(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("alarm", sa.String(length=100), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("open_seats", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_matches")),
        sa.UniqueConstraint("name", name=op.f("uq_matches_name")),
    )
    with op.batch_alter_table("matches", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_matches_deadline"), ["deadline"], unique=False)
        batch_op.create_index(batch_op.f("ix_matches_status"), ["status"], unique=False)

    op.create_table(
        "applicants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("address", sa.String(length=320), nullable=False),
        sa.Column("folded", sa.String(length=320), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("asked", sa.DateTime(), nullable=False),
        sa.Column("confirmed", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_applicants_match_id_matches")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_applicants")),
        sa.UniqueConstraint("match_id", "folded", name=op.f("uq_applicants_match_id_folded")),
    )
    with op.batch_alter_table("applicants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_applicants_folded"), ["folded"], unique=False)
        batch_op.create_index(batch_op.f("ix_applicants_status"), ["status"], unique=False)

    op.create_table(
        "history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("time", sa.DateTime(), nullable=False),
        sa.Column("who", sa.String(length=80), nullable=False),
        sa.Column("what", sa.String(length=32), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_history_match_id_matches")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_history")),
    )
    with op.batch_alter_table("history", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_history_match_id"), ["match_id"], unique=False)

    op.create_table(
        "seats",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("ready", sa.Boolean(), nullable=False),
        sa.Column("mail", sa.String(length=16), nullable=False),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_seats_match_id_matches")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_seats")),
        sa.UniqueConstraint("match_id", "name", name=op.f("uq_seats_match_id_name")),
        sa.UniqueConstraint("match_id", "position", name=op.f("uq_seats_match_id_position")),
    )
    op.create_table(
        "turns",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=True),
        sa.Column("phase", sa.String(length=32), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("orders", sa.JSON(), nullable=False),
        sa.Column("problems", sa.JSON(), nullable=False),
        sa.Column("missing", sa.JSON(), nullable=False),
        sa.Column("ran", sa.DateTime(), nullable=False),
        sa.Column("deadline", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_turns_match_id_matches")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turns")),
        sa.UniqueConstraint(
            "match_id", "number", "live", name=op.f("uq_turns_match_id_number_live")
        ),
    )
    op.create_table(
        "absences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("seat_id", sa.Integer(), nullable=False),
        sa.Column("first", sa.Date(), nullable=False),
        sa.Column("last", sa.Date(), nullable=False),
        sa.Column("granted", sa.Boolean(), nullable=False),
        sa.Column("moved", sa.Boolean(), nullable=False),
        sa.Column("declared", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name=op.f("fk_absences_seat_id_seats")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_absences")),
    )
    with op.batch_alter_table("absences", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_absences_seat_id"), ["seat_id"], unique=False)

    op.create_table(
        "addresses",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("seat_id", sa.Integer(), nullable=False),
        sa.Column("address", sa.String(length=320), nullable=False),
        sa.Column("folded", sa.String(length=320), nullable=False),
        sa.Column("bounces", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name=op.f("fk_addresses_seat_id_seats")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_addresses")),
        sa.UniqueConstraint("seat_id", "folded", name=op.f("uq_addresses_seat_id_folded")),
    )
    with op.batch_alter_table("addresses", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_addresses_folded"), ["folded"], unique=False)

    op.create_table(
        "messages",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("identity", sa.String(length=64), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("recipient", sa.Text(), nullable=False),
        sa.Column("received", sa.DateTime(), nullable=False),
        sa.Column("stored", sa.DateTime(), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=True),
        sa.Column("seat_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_messages_match_id_matches")
        ),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name=op.f("fk_messages_seat_id_seats")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("identity", name=op.f("uq_messages_identity")),
    )
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_messages_match_id"), ["match_id"], unique=False)
        batch_op.create_index("ix_messages_place", ["source", "key"], unique=False)
        batch_op.create_index(batch_op.f("ix_messages_status"), ["status"], unique=False)
        batch_op.create_index(batch_op.f("ix_messages_stored"), ["stored"], unique=False)

    op.create_table(
        "tenures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("seat_id", sa.Integer(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("addresses", sa.JSON(), nullable=False),
        sa.Column("from_turn", sa.Integer(), nullable=False),
        sa.Column("began", sa.DateTime(), nullable=False),
        sa.Column("ended", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name=op.f("fk_tenures_seat_id_seats")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenures")),
    )
    with op.batch_alter_table("tenures", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tenures_seat_id"), ["seat_id"], unique=False)

    op.create_table(
        "letters",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=True),
        sa.Column("seat_id", sa.Integer(), nullable=True),
        sa.Column("applicant_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("recipient", sa.String(length=320), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("answers_id", sa.Integer(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent", sa.DateTime(), nullable=True),
        sa.Column("why", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["answers_id"], ["messages.id"], name=op.f("fk_letters_answers_id_messages")
        ),
        sa.ForeignKeyConstraint(
            ["applicant_id"], ["applicants.id"], name=op.f("fk_letters_applicant_id_applicants")
        ),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_letters_match_id_matches")
        ),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name=op.f("fk_letters_seat_id_seats")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letters")),
    )
    with op.batch_alter_table("letters", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_letters_match_id"), ["match_id"], unique=False)
        batch_op.create_index("ix_letters_queue", ["status", "due"], unique=False)
        batch_op.create_index(
            "ix_letters_recipient", ["recipient", "kind", "created"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_letters_seat_id"), ["seat_id"], unique=False)

    op.create_table(
        "sheets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("match_id", sa.Integer(), nullable=False),
        sa.Column("seat_id", sa.Integer(), nullable=True),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("received", sa.DateTime(), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=True),
        sa.Column("late", sa.Boolean(), nullable=False),
        sa.Column("standing", sa.Boolean(), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["match_id"], ["matches.id"], name=op.f("fk_sheets_match_id_matches")
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_sheets_message_id_messages")
        ),
        sa.ForeignKeyConstraint(["seat_id"], ["seats.id"], name=op.f("fk_sheets_seat_id_seats")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sheets")),
    )
    with op.batch_alter_table("sheets", schema=None) as batch_op:
        batch_op.create_index("ix_sheets_place", ["match_id", "turn", "seat_id"], unique=False)


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("sheets", schema=None) as batch_op:
        batch_op.drop_index("ix_sheets_place")

    op.drop_table("sheets")
    with op.batch_alter_table("letters", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_letters_seat_id"))
        batch_op.drop_index("ix_letters_recipient")
        batch_op.drop_index("ix_letters_queue")
        batch_op.drop_index(batch_op.f("ix_letters_match_id"))

    op.drop_table("letters")
    with op.batch_alter_table("tenures", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_tenures_seat_id"))

    op.drop_table("tenures")
    with op.batch_alter_table("messages", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_messages_stored"))
        batch_op.drop_index(batch_op.f("ix_messages_status"))
        batch_op.drop_index("ix_messages_place")
        batch_op.drop_index(batch_op.f("ix_messages_match_id"))

    op.drop_table("messages")
    with op.batch_alter_table("addresses", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_addresses_folded"))

    op.drop_table("addresses")
    with op.batch_alter_table("absences", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_absences_seat_id"))

    op.drop_table("absences")
    op.drop_table("turns")
    op.drop_table("seats")
    with op.batch_alter_table("history", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_history_match_id"))

    op.drop_table("history")
    with op.batch_alter_table("applicants", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_applicants_status"))
        batch_op.drop_index(batch_op.f("ix_applicants_folded"))

    op.drop_table("applicants")
    with op.batch_alter_table("matches", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_matches_status"))
        batch_op.drop_index(batch_op.f("ix_matches_deadline"))

    op.drop_table("matches")
    op.drop_table("marks")
