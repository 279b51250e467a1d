"""What was found last: kept for the same objects, found again for others."""

from itertools import count

from pbem import last


def test_it_is_found_again_only_for_other_objects() -> None:
    times = count()

    @last.kept
    def found(*given: object, **named: object) -> int:
        return next(times) + len(given) + len(named)

    one, two, like_one = [1], [2], [1]
    assert found(one, two) == 2
    assert found(one, two) == 2
    assert found(like_one, two) == 3
    assert found(one, two) == 4
    assert found(one) == 4
    assert found() == 4
    assert found() == 4
    assert found(one) == 6
    assert found(one, name=1) == 8
    assert found(one, name=2) == 9
    assert found(one) == 6
