"""The known-answer files of the auction, each played and compared."""

from pathlib import Path

import pytest

from pbem import judge

CASES = sorted((Path(__file__).parent.parent / "cases" / "offices").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case_comes_out_as_its_file_says(path: Path) -> None:
    assert judge.check(path) == []


def test_there_are_case_files_for_every_rule() -> None:
    rules = {path.name[:2] for path in CASES}
    assert {f"{number:02}" for number in range(1, 12)} - rules == set()
