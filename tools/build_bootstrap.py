"""Builds the objects that a fresh server creates by itself, from facts about a running one.

    python tools/build_bootstrap.py FACTS_DIR src/kapi/kube/data

One file for each hook that creates them: the objects by resource (`clusterroles.rbac.authorization.k8s.io`), whole but
for what only the moment knows: uid and times. Who manages their fields is worked out here, so that nothing is left to
do at start but to store them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kapi.patch.apply.update import track_update
from kapi.schema.compile import decode
from kapi.schema.loader import type_of

Json = dict[str, Any]

_PRODUCER = "api-priority-and-fairness-config-producer-v1"
_CONSUMER = "api-priority-and-fairness-config-consumer-v1"
_FILES = {
    "rbac": ("rbac.authorization.k8s.io", ("clusterroles", "clusterrolebindings", "roles", "rolebindings")),
    "flow_control": ("flowcontrol.apiserver.k8s.io", ("prioritylevelconfigurations", "flowschemas")),
    "priority_classes": ("scheduling.k8s.io", ("priorityclasses",)),
}
_KINDS = {
    "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
    "roles": "Role",
    "rolebindings": "RoleBinding",
    "prioritylevelconfigurations": "PriorityLevelConfiguration",
    "flowschemas": "FlowSchema",
    "priorityclasses": "PriorityClass",
}
_DANGLING = {"f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}}


def whole(fact: Json, group: str, kind: str) -> Json:
    """The object as the store will hold it."""
    version = f"{group}/v1"
    status = fact.pop("status", None)
    new: Json = {"kind": kind, "apiVersion": version, **fact}
    type_ = type_of(group, "v1", kind)
    if decode(type_, new):
        raise SystemExit(f"{kind} {fact['metadata']['name']} has fields that the schema does not know")
    manager = _PRODUCER if group.startswith("flowcontrol") else "kube-apiserver"
    new.pop("status", None)
    track_update(None, new, type_, manager=manager, api_version=version, now="")
    if status is not None:
        new["status"] = status
        for condition in status.get("conditions", []):
            del condition["lastTransitionTime"]
    if not group.startswith("rbac"):
        new["metadata"]["generation"] = 1
    if kind == "FlowSchema":
        new["metadata"]["managedFields"].insert(0, condition_entry(version))
    for entry in new["metadata"]["managedFields"]:
        entry.pop("time", None)
    return new


def condition_entry(version: str) -> Json:
    """Whoever reads the configuration says whether a flow schema's priority level is there."""
    return {
        "manager": _CONSUMER,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {'k:{"type":"Dangling"}': {".": {}, **_DANGLING}}}},
        "subresource": "status",
    }


def main() -> None:
    facts, out = map(Path, sys.argv[1:])
    found: dict[str, list[Json]] = json.loads((facts / "bootstrap.json").read_text())
    out.mkdir(exist_ok=True)
    for name, (group, plurals) in _FILES.items():
        data = {
            f"{plural}.{group}": [whole(fact, group, _KINDS[plural]) for fact in found[f"/apis/{group}/v1/{plural}"]]
            for plural in plurals
        }
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
        (out / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
