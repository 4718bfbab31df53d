"""Secrets, service accounts, namespaces and leases: small rules that clients rely on."""

from __future__ import annotations

import base64
from typing import Any

import pytest


def secret(kind: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "type": kind, "stringData": data}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("true", "json: cannot unmarshal bool into Go value of type map[string]interface {}"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)
def test_a_docker_configuration_is_a_json_object_and_is_not_shown_when_it_is_none(
    api: Any, content: str, why: str
) -> None:
    answer = api.create("v1:secrets", secret("kubernetes.io/dockercfg", **{".dockercfg": content}))
    assert answer.problems == [f'data[.dockercfg]: Invalid value: "<secret contents redacted>": {why}']


def test_a_type_of_a_clients_own_demands_nothing(api: Any) -> None:
    assert api.made("v1:secrets", secret("kubernetes.io/dockercfgs", a="{"))["data"] == {"a": "ew=="}


def test_bytes_may_be_given_one_by_one(api: Any) -> None:
    given = secret("Opaque") | {"data": {"a": [104, None, 105]}}
    assert api.made("v1:secrets", given)["data"] == {"a": base64.b64encode(b"h\0i").decode()}


def test_a_certificate_that_does_not_fit_its_key_is_warned_of(api: Any) -> None:
    answer = api.create("v1:secrets", secret("kubernetes.io/tls", **{"tls.crt": "c", "tls.key": "k"}))
    assert answer.status == 201
    assert answer.warnings == ["tls: failed to find any PEM data in certificate input"]


def test_the_type_of_a_secret_stays(api: Any) -> None:
    made = api.made("v1:secrets", secret("Opaque", a="b"))
    assert made["data"] == {"a": base64.b64encode(b"b").decode()}
    assert api.put("v1:secrets/s", {**made, "type": "other"}).problems == [
        'type: Invalid value: "other": field is immutable'
    ]


def test_a_service_account_names_its_secrets_and_nothing_more(api: Any) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "a", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        "secrets": [{"name": "s", "namespace": "elsewhere", "kind": "Secret"}],
    }
    answer = api.create("v1:serviceaccounts", account)
    assert answer.body["secrets"] == [{"name": "s"}]
    assert answer.warnings[0].startswith("metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"serviceAccountName": "a", "imagePullSecrets": [{"name": "bad"}], "containers": [{"image": "i"}]},
    }
    refused = api.create("v1:pods", pod)
    assert refused.status == 403, "what it refers to is judged before the pod is"
    assert 'imagePullSecrets[0].name="bad" is not allowed because service account a' in refused.body["message"]


def test_finalizers_of_a_namespace_are_checked_one_by_one_when_they_are_set(cluster: Any) -> None:
    body = {"kind": "Namespace", "spec": {"finalizers": ["hold"]}}
    assert cluster.problems("v1:namespaces", body) == [
        'spec.finalizers: Invalid value: "hold": name is neither a standard finalizer name nor is it fully qualified'
    ]
    made = cluster.made("v1:namespaces", {"kind": "Namespace"})
    made["spec"]["finalizers"] = ["kubernetes", "hold"]
    answer = cluster.call("PUT", f"v1:namespaces/{cluster.name}/finalize", made)
    assert [problem.partition(":")[0] for problem in answer.problems] == ["spec.finalizers[1]"]


def test_an_object_without_a_namespace_is_taken_without_the_one_it_names(cluster: Any) -> None:
    metadata = {"name": cluster.name, "namespace": "default"}
    assert "namespace" not in cluster.made("v1:nodes", {"kind": "Node", "metadata": metadata})["metadata"]


def test_elections_that_the_server_would_coordinate_are_dropped(api: Any) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"strategy": "OldestEmulationVersion", "preferredHolder": "n", "holderIdentity": "m"},
    }
    assert api.made("coordination.k8s.io/v1:leases", lease)["spec"] == {"holderIdentity": "m"}


def test_components_are_asked_when_their_status_is(cluster: Any) -> None:
    answer = cluster.call("GET", "v1:componentstatuses")
    assert answer.warnings == ["v1 ComponentStatus is deprecated in v1.19+"]
    health = {item["metadata"]["name"]: item["conditions"][0]["status"] for item in answer.body["items"]}
    assert health.keys() == {"scheduler", "controller-manager", "etcd-0"} and health["etcd-0"] == "True"
    for query, message in (
        ("fieldSelector=a", "invalid selector: 'a'; can't understand 'a'"),
        (
            "fieldSelector=a%3Db",
            '"a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
    ):
        refused = cluster.call("GET", f"v1:componentstatuses?{query}")
        assert (refused.status, refused.body["message"]) == (400, message)
    missing = cluster.call("GET", "v1:componentstatuses/none")
    assert (missing.status, missing.body["message"]) == (404, 'componentstatus "none" not found')


def test_an_update_that_would_create_names_no_uid(api: Any) -> None:
    lease = {"metadata": {"name": "l", "uid": "mine"}, "spec": {}}
    refused = api.put("coordination.k8s.io/v1:leases/l", lease)
    assert refused.status == 409
    assert refused.body["message"].endswith("UID in precondition: mine, UID in object meta: ")
    del lease["metadata"]["uid"]
    assert api.put("coordination.k8s.io/v1:leases/l", lease).status == 201


@pytest.mark.parametrize(
    ("path", "spec", "status"),
    [
        ("coordination.k8s.io/v1:leases", {}, 201),
        ("policy/v1:poddisruptionbudgets", {"minAvailable": 1}, 201),
        ("v1:serviceaccounts", None, 422),
    ],
)
def test_not_every_kind_wants_finalizers_with_a_domain(api: Any, path: str, spec: Any, status: int) -> None:
    made = api.create(path, {"metadata": {"name": "f", "finalizers": ["mine"]}, **({"spec": spec} if spec else {})})
    assert made.status == status, made.body
    if status == 201:
        assert api.patch(f"{path}/f", {"metadata": {"labels": {"a": "b"}}}).status == 200


def test_a_time_of_deletion_is_not_the_clients_to_set(api: Any) -> None:
    api.made("v1:configmaps", {"metadata": {"name": "c"}})
    when = {"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}
    assert api.patch("v1:configmaps/c", when).problems == [
        'metadata.deletionTimestamp: Invalid value: "2024-01-01T00:00:00Z": field is immutable'
    ]


def test_a_create_names_no_version_unless_it_is_a_dry_run(api: Any) -> None:
    named = {"metadata": {"name": "c", "resourceVersion": "5"}}
    assert api.create("v1:configmaps", named).status == 500
    assert api.create("v1:configmaps?dryRun=All", named).status == 201


def test_an_update_is_judged_by_what_is_there_and_then_by_what_changes(api: Any) -> None:
    api.made("v1:configmaps", {"metadata": {"name": "c"}})
    odd = {"metadata": {"uid": "other", "labels": {"a": "b c"}, "finalizers": ["x y", "z"]}}
    fields = [problem.partition(":")[0] for problem in api.patch("v1:configmaps/c", odd).problems]
    assert fields == [f"metadata.{f}" for f in ("labels", "finalizers", "uid", "finalizers[0]", "finalizers[1]")]


def test_references_that_cannot_be_told_apart_are_nobodys(api: Any) -> None:
    made = api.made("v1:serviceaccounts", {"metadata": {"name": "s"}, "secrets": [{}]})
    assert "managedFields" not in made["metadata"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s", "labels": {"a": "b"}}}
    apply = "application/apply-patch+yaml"
    answer = api.call("PATCH", "v1:serviceaccounts/s?fieldManager=m", account, content_type=apply)
    assert (answer.status, answer.body["message"]) == (
        500,
        f"failed to create manager for existing fields: failed to convert new object ({api.namespace}/s; /v1, "
        "Kind=ServiceAccount) to smd typed: .secrets: element 0: associative list with keys has an element that omits "
        'all key fields ["name"] (and doesn\'t have default values for any key fields)',
    )


def test_managers_stay_when_references_cannot_be_told_apart(api: Any) -> None:
    made = api.made("v1:serviceaccounts", {"metadata": {"name": "s"}, "secrets": [{"name": "a"}]})
    put = api.put("v1:serviceaccounts/s", {"metadata": {"name": "s"}, "secrets": [{}]}).body
    assert put["secrets"] == [{}]
    assert put["metadata"]["managedFields"] == made["metadata"]["managedFields"] != []


def test_nothing_is_applied_to_references_that_cannot_be_told_apart(api: Any) -> None:
    made = api.made("v1:serviceaccounts", {"metadata": {"name": "s"}, "secrets": [{"name": "a"}]})
    changed = api.patch("v1:serviceaccounts/s", {"secrets": [{}]})
    assert changed.body["metadata"]["managedFields"] == made["metadata"]["managedFields"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}, "secrets": [{"name": "b"}]}
    apply = "application/apply-patch+yaml"
    answer = api.call("PATCH", "v1:serviceaccounts/s?fieldManager=m", account, content_type=apply)
    assert answer.status == 500
    assert answer.body["message"].startswith(
        f"failed to create typed live object ({api.namespace}/s; /v1, Kind=ServiceAccount): .secrets: element 0: "
    )
