"""Alembic's way in: runs on the connection it is given, or on a database of its own in memory."""

from alembic import context
from sqlalchemy import create_engine
from sqlalchemy.engine import Connection

from pbem.store import Base


def run(connection: Connection) -> None:
    """Run the migrations on a connection."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with create_engine("sqlite://").connect() as connection:
        run(connection)
