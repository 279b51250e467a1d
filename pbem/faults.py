"""The ways a command can fail that its user can mend, each said in one line."""


class Wrong(Exception):
    """Wrong usage, config or database: names the fault, the place and the remedy (exit 2)."""


class Away(Exception):
    """A mailbox, server or database that could not be reached; it may work later (exit 75)."""


class Damaged(Exception):
    """A value in the database that somebody has damaged by hand; the others are sound (exit 1)."""
