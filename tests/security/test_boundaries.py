"""Names, scopes and ways to write: none leads out of where it belongs."""

from __future__ import annotations

import json

import pytest

from tests.security.definitions import definition, establish

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
SERVICES = "/api/v1/namespaces/default/services"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"


@pytest.mark.parametrize(
    "name", ["..", ".", "a/b", "../../secrets/default/x", "a%2fb", "a\x00b", "é", "a\nb", "\ud800"]
)
def test_a_name_cannot_leave_its_place_in_the_store(root, name):
    body = json.dumps({"metadata": {"name": name}}).encode()
    status, answer = root.call("POST", CONFIGMAPS, body)
    assert (status, answer["reason"]) == (422, "Invalid")
    status, answer = root.call("POST", "/api/v1/namespaces", body)
    assert (status, answer["reason"]) == (422, "Invalid")


@pytest.mark.parametrize("name", ["..", "a/b", "%2e%2e", "../x"])
def test_a_name_with_few_rules_cannot_either(root, name):
    status, answer = root.call("POST", ROLES, {"metadata": {"name": name}})
    assert (status, answer["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "%2e%2e",
        "..%2fsecrets%2fboundary",
        "..%2f..%2f..%2fsecrets%2fdefault%2fboundary",
        "%252e%252e%252fboundary",
        "boundary%00",
        "%00boundary",
        "boundary%2f..%2fboundary",
        "./boundary",
        "%5c..%5cboundary",
        "boundar%c3%bd",
        "%ff",
    ],
)
def test_a_path_cannot_reach_what_it_does_not_name(root, path):
    status, _ = root.call("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "boundary"}})
    assert status in (201, 409)
    status, _ = root.call("POST", CONFIGMAPS, {"metadata": {"name": "boundary"}})
    assert status in (201, 409)
    for method in ("GET", "DELETE"):
        response = root.send(method, f"{CONFIGMAPS}/{path}")
        response.read()
        assert response.status in (400, 404, 405)
    assert root.get(f"{CONFIGMAPS}/boundary")["kind"] == "ConfigMap"


def test_names_that_differ_in_a_nul_are_two(root):
    root.create(ROLES, {"metadata": {"name": "nul\x00x"}})
    assert root.call("GET", f"{ROLES}/nul")[0] == 404
    root.create(ROLES, {"metadata": {"name": "nul"}})
    assert root.call("DELETE", f"{ROLES}/nul")[0] == 200
    assert root.get(f"{ROLES}/nul%00x")["metadata"]["name"] == "nul\x00x"
    seen, token = [], ""
    while True:
        page = root.get(f"{ROLES}?limit=1&continue={token}")
        seen += [item["metadata"]["name"] for item in page["items"]]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert seen.count("nul\x00x") == 1
    assert len(seen) == len(set(seen))


def test_a_custom_resource_is_served_in_its_own_scope_only(root):
    """A grant in one namespace must not reach cluster-wide objects, nor the other way round."""
    base = "/apis/boundary.example.com/v1"
    schema = {"type": "object"}
    establish(root, definition("boundary.example.com", "wides", schema, "Cluster"))
    establish(root, definition("boundary.example.com", "narrows", schema))
    wide = {"apiVersion": "boundary.example.com/v1", "kind": "Wides", "metadata": {"name": "w"}}
    narrow = {"apiVersion": "boundary.example.com/v1", "kind": "Narrows", "metadata": {"name": "n"}}
    root.create(f"{base}/wides", wide)
    root.create(f"{base}/namespaces/default/narrows", narrow)
    for method, path, body in (
        ("GET", f"{base}/namespaces/default/wides", None),
        ("GET", f"{base}/namespaces/default/wides/w", None),
        ("POST", f"{base}/namespaces/default/wides", wide),
        ("PUT", f"{base}/namespaces/default/wides/w", wide),
        ("DELETE", f"{base}/namespaces/default/wides/w", None),
        ("DELETE", f"{base}/namespaces/default/wides", None),
        ("GET", f"{base}/narrows/n", None),
        ("POST", f"{base}/narrows", narrow),
        ("DELETE", f"{base}/narrows/n", None),
    ):
        response = root.send(method, path, body)
        response.read()
        assert response.status in (404, 405), (method, path)
    other = narrow | {"metadata": {"name": "n2", "namespace": "kube-system"}}
    assert root.call("POST", f"{base}/namespaces/default/narrows", other)[0] == 400
    assert root.get(f"{base}/wides/w")["metadata"]["name"] == "w"


def test_no_way_to_write_goes_around_admission(root):
    """DenyServiceExternalIPs is asked, whatever the verb, the media type or the subresource."""
    spec = {"ports": [{"port": 80}]}
    outside = {"externalIPs": ["8.8.8.8"]}
    root.create(SERVICES, {"metadata": {"name": "kept"}, "spec": spec})
    live = root.get(f"{SERVICES}/kept")
    identity = {"apiVersion": "v1", "kind": "Service"}
    new = identity | {"metadata": {"name": "new"}, "spec": spec | outside}
    kept = identity | {"metadata": {"name": "kept"}, "spec": outside}
    operation = [{"op": "add", "path": "/spec/externalIPs", "value": ["8.8.8.8"]}]
    for method, path, body, kind in (
        ("POST", SERVICES, new, "application/json"),
        ("PUT", f"{SERVICES}/kept", live | {"spec": live["spec"] | outside}, "application/json"),
        ("PATCH", f"{SERVICES}/kept", {"spec": outside}, MERGE),
        ("PATCH", f"{SERVICES}/kept", {"spec": outside}, STRATEGIC),
        ("PATCH", f"{SERVICES}/kept", operation, JSON_PATCH),
        ("PATCH", f"{SERVICES}/kept?fieldManager=m&force=true", kept, APPLY),
        ("PATCH", f"{SERVICES}/new?fieldManager=m", new, APPLY),
        ("PATCH", f"{SERVICES}/kept?dryRun=All", {"spec": outside}, MERGE),
    ):
        status, answer = root.call(method, path, body, content_type=kind)
        assert status == 403, (method, path, answer)
        assert "Use of external IPs is denied by admission control" in answer["message"]
    status, _ = root.call("PATCH", f"{SERVICES}/kept/status", {"spec": outside}, content_type=MERGE)
    assert status == 200, "a status is written, but nothing of the spec"
    assert "externalIPs" not in root.get(f"{SERVICES}/kept")["spec"]
    assert root.call("GET", f"{SERVICES}/new")[0] == 404


def test_to_change_is_not_to_create(root, guarded):
    """An apply or an update that creates needs the permission to create."""
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": [""], "resources": ["configmaps", "leases"], "verbs": ["get", "patch", "update"]}]
    root.create(f"{roles}/clusterroles", {"metadata": {"name": "changer"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "changer"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "changer"}
    root.create(
        f"{roles}/clusterrolebindings", {"metadata": {"name": "changer"}, "roleRef": reference, "subjects": [subject]}
    )
    new = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "changed"}}
    with guarded.client("changer") as changer:
        status, answer = changer.call("PATCH", f"{CONFIGMAPS}/changed?fieldManager=m", new, content_type=APPLY)
        assert status == 403
        assert "cannot create resource" in answer["message"]
    assert root.call("GET", f"{CONFIGMAPS}/changed")[0] == 404
