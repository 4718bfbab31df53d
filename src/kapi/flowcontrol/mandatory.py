"""The flow schemas and priority levels without which no server can do, and what they always say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapi.api.objects import Object

_EVERYTHING: Object = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _group(name: str) -> Object:
    return {"kind": "Group", "group": {"name": name}}


FLOW_SCHEMAS: Mapping[str, Any] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": [_group("system:masters")], **_EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": [_group("system:unauthenticated"), _group("system:authenticated")], **_EVERYTHING}],
    },
}
PRIORITY_LEVELS: Mapping[str, Any] = {
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}
