"""What admission has to say in events: annotations of webhooks and policies."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.audit.conftest import Audited
from tests.webhook_server import WebhookServer

BASE = "/api/v1/namespaces/default"
GROUP = "admissionregistration.k8s.io/v1"
RULES = [
    {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets"]}]},
    {"level": "Request", "resources": [{"group": "", "resources": ["configmaps"]}]},
]
OPERATIONS = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]


def label(review: Any) -> Any:
    said = {
        "uid": review["request"]["uid"],
        "allowed": True,
        "auditAnnotations": {"seen": "yes", "no key": "x"},
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(OPERATIONS).encode()).decode(),
    }
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": said}


def webhook(name: str, **client: Any) -> Any:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets", "configmaps"]}
    return {
        "name": f"{name}.example.com",
        "clientConfig": client,
        "rules": [rule],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "admissionReviewVersions": ["v1"],
    }


def test_webhooks_annotate_and_their_patches_are_told_from_the_request_level_on(
    audited: Callable[..., Audited], tmp_path: Path
) -> None:
    running = audited(RULES, omitStages=["RequestReceived"])
    with WebhookServer(tmp_path) as hooks, running.server.client() as admin:
        hooks.replies["/label"] = label
        webhooks = [webhook("label", **hooks.client_config("/label")), webhook("gone", **hooks.client_config("/gone"))]
        body = {"apiVersion": GROUP, "kind": "MutatingWebhookConfiguration", "metadata": {"name": "c"}}
        admin.create(f"/apis/{GROUP}/mutatingwebhookconfigurations", {**body, "webhooks": webhooks})
        for kind in ("Secret", "ConfigMap"):
            obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}}
            admin.call("POST", f"{BASE}/{kind.lower()}s", obj, audit_id=kind)
    told = {
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "",
        "label.example.com/seen": "yes",
        "failed-open.mutation.webhook.admission.k8s.io/round_0_index_1": "gone.example.com",
    }
    for index, (name, changed) in enumerate((("label", True), ("gone", False))):
        note = {"configuration": "c", "webhook": f"{name}.example.com", "mutated": changed}
        told[f"mutation.webhook.admission.k8s.io/round_0_index_{index}"] = json.dumps(note, separators=(",", ":"))
    patched = {"configuration": "c", "webhook": "label.example.com", "patch": OPERATIONS, "patchType": "JSONPatch"}
    key = "patch.webhook.admission.k8s.io/round_0_index_0"
    assert running.event("Secret")["annotations"] == told
    assert running.event("ConfigMap")["annotations"] == told | {key: json.dumps(patched, separators=(",", ":"))}
    # What was sent is told as it was sent.
    assert running.event("ConfigMap")["requestObject"]["metadata"] == {"name": "x"}
