"""The archive of a match: all that was, as one value; what of it is public; and that it is true."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pbem.archive.record import published, recorded

__all__ = ["published", "recorded"]


def __getattr__(name: str) -> Any:
    """Import what makes records when it is asked for: a site in which nothing has changed makes
    none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pbem.archive import record

    return getattr(record, name)
