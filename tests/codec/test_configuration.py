"""Configuration files: what changes are noticed, and when. What is wrong with one is told with those that use them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kapi.codec.configuration import DURATION, NUMBER, TEXT, ConfigurationError, ListOf, Struct, WatchedFile, decode

SHAPE = Struct("Thing", {"count": NUMBER, "names": ListOf(TEXT), "wait": DURATION})


class FakeClock:
    time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "thing.yaml"
    path.write_bytes(b"one")
    return path


def test_a_change_is_noticed_once_and_not_before_a_second_has_passed(path: Path, clock: FakeClock) -> None:
    file = WatchedFile(path, clock)
    path.write_bytes(b"another")
    assert not file.changed()
    clock.time = 1.0
    assert file.changed()
    assert file.data == b"another"
    clock.time = 2.0
    assert not file.changed()


def test_a_file_that_was_only_touched_has_not_changed(path: Path, clock: FakeClock) -> None:
    file = WatchedFile(path, clock)
    os.utime(path, (1, 1))
    clock.time = 1.0
    assert not file.changed()


def test_a_file_that_is_gone_is_read_when_it_is_back(path: Path, clock: FakeClock) -> None:
    file = WatchedFile(path, clock)
    path.unlink()
    clock.time = 1.0
    with pytest.raises(FileNotFoundError):
        file.changed()
    path.write_bytes(b"back again")
    clock.time = 2.0
    assert file.changed()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("count: 1.5", "json: cannot unmarshal number into Go struct field Thing.count of type int32"),
        ("count: true", "json: cannot unmarshal bool into Go struct field Thing.count of type int32"),
        ("names: a", "json: cannot unmarshal string into Go struct field Thing.names of type []"),
        ("names: [a, {}]", "json: cannot unmarshal object into Go struct field Thing.names of type string"),
        ("wait: 3", "json: cannot unmarshal number into Go struct field Thing.wait of type string"),
        ("other: 3\nmore: 4", 'strict decoding error: unknown field "more", unknown field "other"'),
    ],
)
def test_a_value_of_another_type_is_told_as_go_tells_it(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        decode(f"apiVersion: a/v1\nkind: Thing\n{text}".encode(), SHAPE, ["a/v1"])
    assert str(caught.value) == said


def test_what_is_null_is_not_there() -> None:
    assert decode(b"{apiVersion: a/v1, kind: Thing, names: null, count: 3}", SHAPE, ["a/v1"]) == {
        "names": None,
        "count": 3,
    }
