"""pbem: the play-by-email processor."""

__version__ = "0.1.0"
