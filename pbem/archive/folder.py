"""The folder an archive stands in: which files in it are ours, and how one is put in its place.

A manifest names every file before it is written, so that nothing of anybody else is ever
overwritten or removed, and a build that was cut short is mended by the next.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbem.faults import Wrong

if TYPE_CHECKING:
    from pbem.game import Json

# A match's name is that of its folder too, and must lead nowhere else.
MATCH = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
MATCH_FORM = "a-z, 0-9 and -, at most 32, beginning with a letter or digit"

MANIFEST = ".pbem-archive.json"
FORMAT = 1

# The names that files of a match may have, with the turn's number where they are a turn's.
_NAMES = re.compile(
    r"turn-(?P<turn>\d+)(-undone-\d+)?(-reports|-chapter)?\.html|turn-(?P<other>\d+)\.(svg|case\.json)"
    r"|(index|course|figures|turns|press|press-\d+|history-\d+)\.html|feed\.xml|search\.js"
    r"|match\.(json|sqlite)"
)


def manifest(folder: Path) -> "Json":
    """Return what is known of the archive in a folder; of one that is new, nothing.

    Raise `Wrong` for a manifest of a newer program, or one that is none.
    """
    path = folder / MANIFEST
    try:
        found: Any = json.loads(path.read_bytes())
        if found["format"] == FORMAT and {"matches", "common", "claimed"} <= set(found):
            return dict(found)
    except FileNotFoundError:
        return {"format": FORMAT, "matches": {}, "common": {}, "claimed": []}
    except OSError as error:
        raise Wrong(f"{path}: {error.strerror}; choose another folder with --out") from None
    except (ValueError, TypeError, KeyError):
        pass
    raise Wrong(
        f"{path}: not of this program's making, or damaged; choose another folder with --out, or "
        f"delete {folder} to have all of it built again"
    )


def write_manifest(folder: Path, known: "Json") -> None:
    """Write down what is known of an archive."""
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
    place(folder, MANIFEST, text.encode())


def ours(known: "Json") -> set[str]:
    """Return the files that are ours, or may be, by their names from the archive's folder."""
    units = [unit for match in known["matches"].values() for unit in match["units"].values()]
    named = [name for unit in (*units, *known["common"].values()) for name in unit["files"]]
    return {*named, *known["claimed"]}


def check_free(folder: Path, known: "Json", names: Iterable[str]) -> None:
    """Raise `Wrong` where a file that isn't ours stands in the place of one to be written."""
    mine = ours(known)
    for name in names:
        if name not in mine and (folder / name).exists():
            remedy = "choose another folder with --out, or move it away"
            raise Wrong(f"{folder / name}: not of this archive; {remedy}")


def standing(folder: Path, match: str, turns: int) -> Iterator[str]:
    """Yield the files in a match's folder that have names of ours, by name from the archive's
    folder: those that a build of the match, after so many turns, is about to write."""
    home = folder / match
    for path in sorted(home.iterdir()) if home.is_dir() else ():
        found = _NAMES.fullmatch(path.name)
        if found and int(found["turn"] or found["other"] or 0) <= turns:
            yield f"{match}/{path.name}"


def place(folder: Path, name: str, content: bytes) -> bool:
    """Put a file in its place, whole or not at all; tell whether it was another before.

    Raise `Wrong` where it can't be written.
    """
    path = folder / name
    beside = _beside(path)
    try:
        if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
            beside.unlink(missing_ok=True)
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        remedy = "choose another folder with --out, or make room in it"
        raise Wrong(f"{path}: {error.strerror}; {remedy}") from None
    return True


def remove(folder: Path, names: Iterable[str]) -> int:
    """Remove files of ours, and folders that are left empty; return how many files there were."""
    gone = 0
    for name in names:
        path = folder / name
        try:
            gone += path.is_file()
            path.unlink(missing_ok=True)
            _beside(path).unlink(missing_ok=True)
        except OSError as error:
            raise Wrong(f"{path}: {error.strerror}; remove it by hand") from None
        if path.parent != folder and path.parent.is_dir() and not any(path.parent.iterdir()):
            path.parent.rmdir()
    return gone


def _beside(path: Path) -> Path:
    """Return where a file is written before it is put in its place."""
    return path.with_name(f".{path.name}.new")


def is_intact(folder: Path, unit: Mapping[str, Any]) -> bool:
    """Tell whether all files of a unit are there, in the size they were written."""
    for name, size in unit["files"].items():
        try:
            if (folder / name).stat().st_size != size:
                return False
        except OSError:
            return False
    return True
