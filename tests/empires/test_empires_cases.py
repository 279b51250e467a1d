"""The case files of Empires: every expectation in them is met."""

from pathlib import Path

import pytest

from pbem import judge

FILES = sorted((Path(__file__).parent.parent / "cases" / "empires").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_case(path):
    case = judge.read(path)
    assert judge.differences(case, judge.play(case)) == []


def test_there_are_cases():
    assert len(FILES) >= 76
