"""The walk against answers and objects of a real server, where they are at hand."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kapi.schema.compile import decode
from kapi.schema.loader import UnknownType, type_of
from kapi.schema.types import Type

SHARED = Path(__file__).resolve().parents[3] / "shared"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recordings beside the checkout")


def typed(value: Any) -> Type | None:
    if not isinstance(value, dict) or not isinstance(value.get("apiVersion"), str):
        return None
    group, _, version = value["apiVersion"].rpartition("/")
    try:
        return type_of(group, version, value["kind"])
    except UnknownType:
        return None


def answers() -> Iterator[tuple[str, Any]]:
    for path in sorted(SHARED.glob("wire/*/*.json")):
        steps = json.loads(path.read_text())
        for index, step in enumerate(steps if isinstance(steps, list) else ()):
            if step["step"]["do"].partition(" ")[0] in ("POST", "PUT") and step["answer"]["status"] in (200, 201):
                yield f"{path.name}#{index}", step["answer"].get("body")


def test_every_object_with_all_fields_set_survives_unchanged() -> None:
    checked = 0
    for path in sorted(SHARED.glob("fixtures/objects/*.json")):
        value = json.loads(path.read_text())
        type_ = typed(value)
        if type_ is not None:
            before = copy.deepcopy(value)
            assert decode(type_, value) == [], path.name
            assert value == before, path.name
            checked += 1
    assert checked > 70


def test_every_answer_of_the_real_server_survives_unchanged() -> None:
    checked = 0
    for name, value in answers():
        type_ = typed(value)
        if type_ is not None:
            before = copy.deepcopy(value)
            assert decode(type_, value) == [], name
            assert value == before, name
            checked += 1
    assert checked > 1500
