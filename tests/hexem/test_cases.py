"""The case files of Hexem, each played and compared."""

from pathlib import Path

import pytest

from pbem import judge

CASES = sorted((Path(__file__).parent.parent / "cases" / "hexem").glob("*.json"))


def test_there_are_cases() -> None:
    assert len(CASES) >= 57


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path) -> None:
    assert judge.check(path) == []
