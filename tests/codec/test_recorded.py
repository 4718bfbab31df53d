"""Every recorded refusal of a body, word for word, where the recordings are at hand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kapi.api.errors import BadRequest
from kapi.api.gvk import GroupVersionKind
from kapi.codec.decode import Strictness, decode_object
from kapi.schema.loader import resource_facts

SHARED = Path(__file__).resolve().parents[3] / "shared"
PATH = re.compile(r"(?:POST|PUT) /(?:api|apis/([^/]+))/(v[^/]+)(?:/namespaces/[^/]+)?/(\w+)(?:/[^/?]+)?(?:\?.*)?")
ABOUT_THE_BODY = re.compile("cannot be handled as|is unrecognized|the API version in the data")

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the recordings beside the checkout")


def steps(*folders: str) -> Iterator[tuple[str, GroupVersionKind, bytes, Any]]:
    for path in sorted(p for folder in folders for p in (SHARED / "wire" / folder).glob("*.json")):
        for index, step in enumerate(json.loads(path.read_text())):
            match = PATH.fullmatch(step["step"]["do"])
            facts = resource_facts(match[1] or "", match[2], match[3]) if match else None
            body = step["step"].get("body")
            if facts is not None and body is not None and isinstance(step["answer"]["body"], dict):
                data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                data = re.sub(rb"\$\{(.)\*(\d+)\}", lambda m: m[1] * int(m[2]), data)
                yield f"{path.name}#{index}", GroupVersionKind(facts.group, facts.version, facts.kind), data, step


def strictness_of(request: str) -> Strictness:
    asked = re.search("fieldValidation=(Strict|Warn|Ignore)", request)
    return asked[1] if asked else "Warn"  # type: ignore[return-value]


def test_recorded_refusals_are_repeated_word_for_word() -> None:
    checked = 0
    for name, gvk, data, step in steps("resources", "semantics", "admission"):
        message = step["answer"]["body"].get("message") or ""
        if step["answer"]["status"] == 400 and ABOUT_THE_BODY.search(message):
            with pytest.raises(BadRequest) as caught:
                decode_object(
                    data, step["step"].get("type") or "application/json", gvk, strictness_of(step["step"]["do"])
                )
            assert caught.value.message == message, name
            checked += 1
    assert checked > 250


def test_recorded_warnings_about_fields_are_repeated() -> None:
    checked = 0
    for name, gvk, data, step in steps("resources", "semantics", "admission"):
        if step["answer"]["status"] in (200, 201):
            media_type = step["step"].get("type") or "application/json"
            found = decode_object(data, media_type, gvk, strictness_of(step["step"]["do"]))
            texts = [json.loads(f'"{w[7:-1]}"') for w in step["answer"]["warnings"]]
            assert found.warnings == [t for t in texts if re.match("unknown field|duplicate field|line [0-9]+:", t)], (
                name
            )
            checked += bool(found.warnings)
    assert checked > 50
