"""The daemon: what wakes it, what it waits for, what it survives, and how it ends."""

from pbem.daemon import LONGEST_BACK_OFF, back_off


def test_fact_109_after_failures_the_daemon_waits_longer_and_never_more_than_five_minutes() -> None:
    longest = LONGEST_BACK_OFF.total_seconds()
    assert longest == 300
    for failures in range(1, 40):
        full = min(2.0**failures, longest)
        waits = {back_off(failures) for _ in range(20)}
        assert all(full / 2 <= wait <= full for wait in waits)
        # Many daemons that lost one server don't come back at one moment.
        assert len(waits) > 1


def test_fact_110_a_refused_log_in_is_left_alone_for_minutes_at_once() -> None:
    assert all(150 <= back_off(1, lasting=True) <= 300 for _ in range(20))
