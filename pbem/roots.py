"""Where templates are looked for, and what is the same only while none of them changes."""

import os
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def roots(folder: Path | None, game: str | None) -> list[Path]:
    """List the folders that exist, in the order they are looked in.

    The game master's `folder` comes first, then ours, then that of the package that brings the
    game.
    """
    points = entry_points(group="pbem.games", name=game) if game else ()
    first = [folder] if folder else []
    return [root for root in (*first, _packaged(), *_brought(points)) if root.is_dir()]


def fingerprint(folder: Path | None, *others: Path) -> str:
    """Return what is the same only while all templates of all games are, and all files that stand
    in some other folders."""
    found = sha256()
    first = [folder] if folder else []
    brought = _brought(sorted(entry_points(group="pbem.games"), key=lambda point: point.name))
    for root in dict.fromkeys([*first, _packaged(), *brought, *others]):
        for place, folders, names in os.walk(root):
            folders[:] = sorted(one for one in folders if one != "__pycache__")
            for name in sorted(names):
                path = f"{place}{os.sep}{name}"
                with open(path, "rb") as file:  # noqa: PTH123  (it is done at every build)
                    found.update(b"\0".join((path.encode(), file.read(), b"")))
    return found.hexdigest()


def _packaged() -> Path:
    """Return the folder of our own templates."""
    # In a wheel the templates stand inside the package, in the source tree beside it.
    inside = _HERE / "templates"
    return inside if inside.is_dir() else _HERE.parent / "templates"


def _brought(points: Iterable[EntryPoint]) -> list[Path]:
    """List the folders of templates that packages bring with games."""
    found = []
    for point in points:
        spec = find_spec(point.module)
        package = spec and (spec.name if spec.submodule_search_locations else spec.parent)
        home = find_spec(package) if package else None
        places = (home and home.submodule_search_locations) or ()
        found += [Path(place) / "templates" for place in places]
    return found
