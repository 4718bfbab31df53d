"""Custom resources, defined and waited for."""

from __future__ import annotations

import json
from typing import Any

from tests.server_process import Client

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(group: str, plural: str, schema: dict[str, Any], scope: str = "Namespaced") -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "kind": plural.capitalize()}
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }


def establish(client: Client, new: dict[str, Any]) -> None:
    created = client.create(DEFINITIONS, new)
    response = client.send("GET", f"{DEFINITIONS}?watch=1&fieldSelector=metadata.name={created['metadata']['name']}")
    while True:
        conditions = json.loads(response.readline())["object"]["status"].get("conditions") or ()
        if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
            break
    response.close()
    client.connection.close()
