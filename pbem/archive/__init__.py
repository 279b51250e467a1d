"""The archive of a match: all that was, as one value; what of it is public; and that it is true."""

from pbem.archive.record import published, recorded

__all__ = ["published", "recorded"]
