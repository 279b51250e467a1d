"""What was found last is kept, for the letters of a match are written one after the other."""

from collections.abc import Callable
from functools import wraps
from operator import is_
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")


def kept(find: Callable[Given, Found]) -> Callable[Given, Found]:
    """Keep what a function found last for as long as it is called with the very same objects.

    They need not be hashable, and must not be changed, and so must what is found not be. To be
    called without names for its arguments.
    """
    last: list[tuple[tuple[object, ...], Found]] = []

    @wraps(find)
    def found(*args: Given.args, **kwargs: Given.kwargs) -> Found:
        if last:
            before, known = last[0]
            if len(before) == len(args) and all(map(is_, before, args)):
                return known
        last[:] = [(args, find(*args, **kwargs))]
        return last[0][1]

    return found
