"""Every check of the Pod Security Standards, by `tests/golden/podsecurity`: level and version, pod, what it violates.

The rows change a pod that satisfies the restricted level: its container, its spec, its annotations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kapi.admission.podsecurity.pod import Pod
from kapi.admission.podsecurity.policy import LevelVersion, parse_version
from kapi.admission.podsecurity.standards import BASELINE_CHECKS, RESTRICTED_CHECKS, violations

GOLDEN = Path(__file__).parent.parent / "golden" / "podsecurity"
HARDENED = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
ROWS = [(path.stem, *row) for path in sorted(GOLDEN.glob("*.json")) for row in json.loads(path.read_text())]


def pod_of(changes: dict[str, Any]) -> Pod:
    own = changes.get("container", {})
    context = {k: v for k, v in {**HARDENED, **own.get("securityContext", {})}.items() if v is not None}
    container = {"name": "c", "image": "x", **own, "securityContext": context}
    return Pod({"annotations": changes.get("annotations", {})}, {"containers": [container], **changes.get("spec", {})})


@pytest.mark.parametrize(("check", "wanted", "changes", "expected"), ROWS)
def test_a_pod_violates_what_the_standards_say(
    check: str, wanted: str, changes: dict[str, Any], expected: list[str]
) -> None:
    level, _, version = wanted.partition(":")
    found = violations(LevelVersion(level, parse_version(version) or 0), pod_of(changes))
    assert [str(violation) for violation in found] == expected


def test_every_check_has_a_pod_that_passes_and_one_that_does_not() -> None:
    ids = {check.id for check in (*BASELINE_CHECKS, *RESTRICTED_CHECKS)}
    assert ids == {name for name, _, _, expected in ROWS if expected}
    assert ids == {name for name, _, _, expected in ROWS if not expected}
