"""Ingresses and their classes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

GROUP = "apis/networking.k8s.io/v1"
CLASSES = f"/{GROUP}/ingressclasses"
MERGE = {"content_type": "application/merge-patch+json"}
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}


def ingress(name: str, annotations: Any = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations or {}}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def rule(path: Any, host: str = "a.example.com") -> dict[str, Any]:
    return {"host": host, "http": {"paths": [{"backend": BACKEND, **path}]}}


PATH = "spec.rules[0].http.paths[0]"


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"),
        ({"rules": [rule({"path": "/"})]}, f"{PATH}.pathType: Required value: pathType must be specified"),
        (
            {"rules": [rule({"path": "x", "pathType": "Exact"})]},
            f'{PATH}.path: Invalid value: "x": must be an absolute path',
        ),
        (
            {"rules": [rule({"path": "/a//b/..", "pathType": "Prefix"})]},
            f"{PATH}.path: Invalid value: \"/a//b/..\": must not contain '//'",
        ),
        (
            {"rules": [rule({"path": "/", "pathType": "Odd"})]},
            f'{PATH}.pathType: Unsupported value: "Odd": supported values: "Exact", "ImplementationSpecific", "Prefix"',
        ),
        (
            {"rules": [{"host": "10.0.0.1"}]},
            'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        ),
        ({"rules": [{"host": "*.*.b"}]}, "a wildcard DNS-1123 subdomain must start with '*.'"),
        ({"defaultBackend": {}}, 'spec.defaultBackend: Invalid value: "": resource or service backend is required'),
        (
            {"defaultBackend": {"service": {"name": "web"}}},
            "spec.defaultBackend: Required value: port name or number is required",
        ),
        (
            {"defaultBackend": {"service": {"name": "web", "port": {"number": 1, "name": "x"}}}},
            'spec.defaultBackend: Invalid value: "": cannot set both port name & port number',
        ),
        (
            {"defaultBackend": {"resource": {"kind": "a/b", "name": ""}}},
            "spec.defaultBackend.resource.kind: Invalid value: \"a/b\": may not contain '/'",
        ),
        ({"defaultBackend": BACKEND, "tls": [{"secretName": "A_b"}]}, "spec.tls[0].secretName: Invalid value"),
    ],
)
def test_rules_that_lead_nowhere_are_refused(namespace: Any, spec: Any, wrong: str) -> None:
    found = namespace.messages("POST", namespace.path("ingresses", group=GROUP), ingress("bad", **spec))
    assert any(wrong in text for text in found), found


def test_the_old_annotation_is_warned_of_and_may_not_contradict(namespace: Any) -> None:
    path = namespace.path("ingresses", group=GROUP)
    old = {"kubernetes.io/ingress.class": "a"}
    response = namespace.client.send("POST", path, ingress("old", old, defaultBackend=BACKEND))
    response.read()
    assert 'annotation \\"kubernetes.io/ingress.class\\" is deprecated' in response.headers["Warning"]
    both = ingress("both", old, defaultBackend=BACKEND, ingressClassName="b")
    assert namespace.messages("POST", path, both) == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are '
        "specified"
    ]


def test_hosts_addresses_and_ports_are_shown(namespace: Any) -> None:
    path = namespace.path("ingresses", group=GROUP)
    rules = [{"host": f"{c}.example.com"} for c in "abcd"]
    namespace.client.create(path, ingress("many", rules=rules, tls=[{"hosts": ["a.example.com"]}]))
    namespace.client.create(path, ingress("any", defaultBackend=BACKEND, ingressClassName="x"))
    points = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}, {"hostname": "lb.example.com"}]}}}
    assert namespace.client.call("PATCH", f"{path}/any/status", points, **MERGE)[0] == 200
    _, table = namespace.client.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [row["cells"][:5] for row in table["rows"]] == [
        ["any", "x", "*", "192.0.2.2,lb.example.com", "80"],
        ["many", "<none>", "a.example.com,b.example.com,c.example.com + 1 more...", "", "80, 443"],
    ]


def test_a_spec_is_counted_and_a_status_is_not(namespace: Any) -> None:
    path = namespace.path("ingresses", group=GROUP)
    namespace.client.create(path, ingress("counted", defaultBackend=BACKEND))
    points = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}]}}}
    _, one = namespace.client.call("PATCH", f"{path}/counted/status", points, **MERGE)
    assert one["metadata"]["generation"] == 1
    _, two = namespace.client.call("PATCH", f"{path}/counted", {"spec": {"ingressClassName": "x"}}, **MERGE)
    assert (two["metadata"]["generation"], two["status"]) == (2, one["status"])


def ingress_class(controller: str, parameters: Any = None) -> dict[str, Any]:
    spec = {"controller": controller, **({"parameters": parameters} if parameters else {})}
    name = f"c-{uuid.uuid4().hex[:8]}"
    return {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    ("controller", "parameters", "wrong"),
    [
        ("", None, "spec.controller: Required value"),
        ("plain", None, 'must be a domain-prefixed path (such as "acme.io/foo")'),
        ("a.io/b c", None, 'spec.controller: Invalid value: "b c": Invalid path'),
        ("a.io/" + "b" * 250, None, "spec.controller: Too long: may not be more than 250 bytes"),
        ("a.io/b", {"kind": "K", "name": "n", "scope": "Namespace"}, "`parameters.scope` is set to 'Namespace'"),
        ("a.io/b", {"kind": "K", "name": "n", "namespace": "x"}, "`parameters.scope` is set to 'Cluster'"),
        ("a.io/b", {"kind": "K", "name": "n", "scope": "Odd"}, 'supported values: "Cluster", "Namespace"'),
    ],
)
def test_a_class_names_its_controller_and_parameters(
    namespace: Any, controller: str, parameters: Any, wrong: str
) -> None:
    found = namespace.messages("POST", CLASSES, ingress_class(controller, parameters))
    assert any(wrong in text for text in found), found


def test_what_the_parameters_of_a_class_lack_is_reported_last(namespace: Any) -> None:
    found = namespace.messages("POST", CLASSES, ingress_class("a.io/b", {"kind": "", "namespace": "x"}))
    fields = [text.partition(":")[0].removeprefix("spec.parameters.") for text in found]
    assert fields == ["namespace", "kind", "name"]


def test_the_controller_of_a_class_stays(namespace: Any) -> None:
    made = namespace.client.create(CLASSES, ingress_class("a.io/b", {"apiGroup": "g.io", "kind": "K", "name": "n"}))
    path = f"{CLASSES}/{made['metadata']['name']}"
    try:
        assert made["spec"]["parameters"]["scope"] == "Cluster"
        changed = {"spec": {"controller": "a.io/c"}}
        assert namespace.messages("PATCH", path, changed, **MERGE) == [
            'spec.controller: Invalid value: "a.io/c": field is immutable'
        ]
        marked = {"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}}
        namespace.client.call("PATCH", path, marked, **MERGE)
        _, table = namespace.client.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        assert table["rows"][0]["cells"][:3] == [f"{made['metadata']['name']} (default)", "a.io/b", "K.g.io/n"]
    finally:
        namespace.client.call("DELETE", path)


def test_an_empty_list_of_rules_is_shown_when_it_is_all_there_is_and_never_stored(namespace: Any) -> None:
    path = namespace.path("ingresses", group=GROUP)
    assert namespace.messages("POST", path, ingress("empty", rules=[])) == [
        "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified"
    ]
    made = namespace.client.create(path, ingress("empty", rules=[], defaultBackend=BACKEND))
    assert made["spec"] == {"defaultBackend": BACKEND}
    status, same = namespace.client.call("PUT", f"{path}/empty", ingress("empty", rules=[], defaultBackend=BACKEND))
    assert (status, same["metadata"]["generation"]) == (200, 1)


def test_rules_that_an_update_empties_are_nobodys(namespace: Any) -> None:
    path = namespace.path("ingresses", group=GROUP)
    made = namespace.client.call("POST", path, ingress("emptied", defaultBackend=BACKEND, rules=[{"host": "a.b"}]))[1]
    made["spec"]["rules"] = []
    _, answer = namespace.client.call("PUT", f"{path}/emptied", made)
    (entry,) = answer["metadata"]["managedFields"]
    assert "rules" not in answer["spec"]
    assert list(entry["fieldsV1"]["f:spec"]) == ["f:defaultBackend"]
