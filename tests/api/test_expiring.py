"""A cache whose entries expire."""

from __future__ import annotations

from kapi.api.expiring import ExpiringCache


class FakeClock:
    time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


def test_an_entry_is_there_until_its_time_is_over() -> None:
    clock = FakeClock()
    cache: ExpiringCache[str, int] = ExpiringCache(2, clock)
    cache.put("a", 1, 10)
    clock.time = 9.9
    assert cache.get("a") == 1
    clock.time = 10
    assert cache.get("a") is None


def test_what_is_to_be_kept_for_no_time_is_not_kept() -> None:
    cache: ExpiringCache[str, int] = ExpiringCache(2, FakeClock())
    cache.put("a", 1, 0)
    assert cache.get("a") is None


def test_when_it_is_full_the_oldest_goes() -> None:
    cache: ExpiringCache[str, int] = ExpiringCache(2, FakeClock())
    for key in ("a", "b", "a", "c"):
        cache.put(key, 1, 10)
    assert [cache.get(key) for key in "abc"] == [1, None, 1]
