"""Times: RFC 3339 as Go's layouts read it, UTC as Kubernetes writes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.times import TimeError, canonical_micro_time, canonical_time

MICRO = "2006-01-02T15:04:05.000000Z07:00"
SECONDS = "2006-01-02T15:04:05Z07:00"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00Z"),
        ("2024-05-01T10:00:00.999Z", "2024-05-01T10:00:00Z"),
        ("2024-05-01T10:00:00+02:00", "2024-05-01T08:00:00Z"),
        ("2024-02-29T23:30:00-01:00", "2024-03-01T00:30:00Z"),
        ("0001-01-01T00:00:00Z", ""),
    ],
)
def test_times_are_written_in_utc_with_whole_seconds(text: str, written: str) -> None:
    assert canonical_time(text) == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f'parsing time "" as "{SECONDS}": cannot parse "" as "2006"'),
        ("yesterday", f'parsing time "yesterday" as "{SECONDS}": cannot parse "yesterday" as "2006"'),
        ('é"\n', f'parsing time "\\xc3\\xa9\\"\\x0a" as "{SECONDS}": cannot parse "\\xc3\\xa9\\"\\x0a" as "2006"'),
        ("2024-05-01", f'parsing time "2024-05-01" as "{SECONDS}": cannot parse "" as "T"'),
        ("2024-13-01T10:00:00Z", 'parsing time "2024-13-01T10:00:00Z": month out of range'),
        ("2023-02-29T10:00:00Z", 'parsing time "2023-02-29T10:00:00Z": day out of range'),
        ("2024-05-01T25:00:00Z", 'parsing time "2024-05-01T25:00:00Z": hour out of range'),
        ("2024-05-01T10:00:00Zx", 'parsing time "2024-05-01T10:00:00Zx": extra text: "x"'),
        ("2024-05-01T10:00:00", f'parsing time "2024-05-01T10:00:00" as "{SECONDS}": cannot parse "" as "Z07:00"'),
    ],
)
def test_other_text_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(TimeError) as caught:
        canonical_time(text)
    assert str(caught.value) == message


def test_micro_times_need_exactly_six_digits() -> None:
    assert canonical_micro_time("2024-05-01T10:00:00.123456+01:00") == "2024-05-01T09:00:00.123456Z"
    with pytest.raises(TimeError) as caught:
        canonical_micro_time("2024-05-01T10:00:00Z")
    assert str(caught.value) == f'parsing time "2024-05-01T10:00:00Z" as "{MICRO}": cannot parse "Z" as ".000000"'


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-12 * 60, 12 * 60))
def test_any_zone_means_the_same_instant(wall: datetime, minutes: int) -> None:
    local = wall.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert (
        canonical_time(local.isoformat()) == local.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    )


@given(st.text(max_size=40))
def test_no_text_does_worse_than_being_refused(text: str) -> None:
    for read in (canonical_time, canonical_micro_time):
        try:
            read(text)
        except TimeError as error:
            assert str(error).startswith("parsing time ")
