"""How long refused clients are asked to stay away."""

from __future__ import annotations

from kapi.flowcontrol.retry_after import LONGEST, RetryAfter


def refuse(retry_after, seconds, each):
    for second in seconds:
        for _ in range(each):
            retry_after.refused(second)


def test_the_first_may_come_back_after_a_second():
    retry_after = RetryAfter()
    retry_after.refused(1000.0)
    assert retry_after.seconds == 1


def test_many_refusals_keep_clients_away_longer_up_to_a_limit():
    retry_after = RetryAfter()
    refuse(retry_after, range(1000, 1002), 10)
    assert retry_after.seconds == 2
    refuse(retry_after, range(1002, 1200), 10)
    assert retry_after.seconds == LONGEST


def test_when_refusals_become_rare_they_may_come_back_sooner():
    retry_after = RetryAfter()
    refuse(retry_after, range(1000, 1010), 10)
    high = retry_after.seconds
    refuse(retry_after, (1100, 1200), 1)
    assert retry_after.seconds == high - 2
