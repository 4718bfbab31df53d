"""Every kind with all its fields, as JSON and as the bytes that Go writes for it, where these are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kapi.api.gvk import GroupVersion, GroupVersionKind
from kapi.codec.decode import PROTOBUF, decode_object
from kapi.codec.protobuf import encode_object, supports
from kapi.schema.loader import all_resources

OBJECTS = Path(__file__).resolve().parents[3] / "shared" / "fixtures" / "objects"

pytestmark = pytest.mark.skipif(not OBJECTS.is_dir(), reason="needs the objects beside the checkout")


def objects() -> list[tuple[str, dict[str, Any], bytes]]:
    found = []
    for path in sorted(OBJECTS.glob("*.json")):
        value = json.loads(path.read_text())
        if supports(value.get("apiVersion", ""), value.get("kind", "")):
            found.append((path.stem, value, path.with_suffix(".pb").read_bytes()))
    return found


def test_every_served_kind_has_a_message() -> None:
    missing = [
        f"{r.group}/{r.version} {kind}"
        for r in all_resources()
        for kind in ((r.kind, f"{r.kind}List") if "list" in r.verbs else (r.kind,))
        if not supports(str(GroupVersion(r.group, r.version)), kind)
    ]
    assert not missing
    assert len(objects()) > 70


@pytest.mark.parametrize(("name", "value", "data"), objects(), ids=lambda v: v if isinstance(v, str) else "")
def test_an_object_with_all_its_fields_is_written_as_go_writes_it(
    name: str, value: dict[str, Any], data: bytes
) -> None:
    assert encode_object(value) == data


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [o for o in objects() if o[1]["kind"] != "APIVersions"],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_an_object_with_all_its_fields_is_read_as_its_json(name: str, value: dict[str, Any], data: bytes) -> None:
    gvk = GroupVersionKind(*GroupVersion.parse(value["apiVersion"]), value["kind"])
    from_json = decode_object(json.dumps(value).encode(), "application/json", gvk, "Strict").object
    assert decode_object(data, PROTOBUF, gvk).object == from_json
