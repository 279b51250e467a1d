"""Finding the name that was meant: by any case, without accents, by its beginning."""

from collections.abc import Collection

from pbem import typography


def choose(said: str, names: Collection[str], what: str) -> tuple[str | None, str]:
    """Find the one name that was meant: `(name, "")`, or `(None, a sentence that asks)`.

    Case and accents don't matter. A whole name beats a prefix; a prefix has three letters or more
    and fits one name only. A near miss is asked back, never taken.
    """
    found = meant(said, names)
    if len(found) == 1:
        return found[0], ""
    if found:
        both = " or ".join(found[:4])
        return None, f"{said} may be {both}: write more of the name"
    wanted = typography.key(said)
    close = [name for name in names if typography.near(wanted, typography.key(name))]
    if close:
        return None, f"no {what} is called {said}; did you mean {' or '.join(close[:3])}?"
    if 0 < len(names) <= 12:
        return None, f"no {what} is called {said}; there are: {', '.join(names)}"
    return None, f"no {what} is called {said}"


def meant(said: str, names: Collection[str]) -> list[str]:
    """Return the names that what was said may mean: the whole ones, else those it begins."""
    wanted = typography.key(said)
    whole = [name for name in names if typography.key(name) == wanted]
    if whole or len(wanted) < 3:
        return whole
    return [name for name in names if typography.key(name).startswith(wanted)]
