"""The servers that some faults need: those of the tests of the post."""

from tests.post.conftest import authority, dovecot

__all__ = ["authority", "dovecot"]
