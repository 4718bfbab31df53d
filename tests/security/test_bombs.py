"""Small requests that would be large, deep or slow: each is answered, and the server goes on."""

from __future__ import annotations

import json
from itertools import islice, product

import pytest

from tests.security.definitions import DEFINITIONS, definition, establish

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
YAML = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n"
HEAD = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bomb"},"data":'


def many_owners(kind: str = "A") -> list[dict[str, str]]:
    return [{"apiVersion": "v1", "kind": kind, "name": "x", "uid": f"u{i}"} for i in range(12_000)]


@pytest.fixture(autouse=True)
def still_serving(root):
    yield
    assert root.text("/readyz") == (200, "ok")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (HEAD + b'{"a":' * 200_000 + b"1" + b"}" * 200_000 + b"}", "application/json"),
        (HEAD + b"[" * 1_000_000, "application/json"),
        (b"[" * 2_000_000, "application/json"),
        (YAML + b"data: " + b"[" * 500_000, "application/yaml"),
        (YAML + b"data: " + b"{a: " * 300_000, "application/yaml"),
        (YAML + b"data:\n" + b"".join(b" " * i + b"a:\n" for i in range(1500)), "application/yaml"),
    ],
)
def test_depth(root, body, kind):
    status, answer = root.call("POST", CONFIGMAPS, body, content_type=kind)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert "max depth" in answer["message"]


@pytest.mark.parametrize("kind", ["merge-patch+json", "strategic-merge-patch+json", "json-patch+json"])
def test_depth_in_patches(root, kind):
    root.call("POST", CONFIGMAPS, {"metadata": {"name": "deep"}})
    deep = b'{"a":' * 200_000 + b"1" + b"}" * 200_000
    body = b'[{"op":"add","path":"/data","value":' + deep + b"}]" if kind.startswith("json-") else deep
    status, _ = root.call("PATCH", f"{CONFIGMAPS}/deep", body, content_type=f"application/{kind}")
    assert status in (400, 422)


def test_aliases_that_multiply(root):
    layers = b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    for i in range(1, 12):
        layers += b"a%d: &a%d [%b]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9))
    status, answer = root.call("POST", CONFIGMAPS, YAML + layers, content_type="application/yaml")
    assert status == 400
    assert "excessive aliasing" in answer["message"]
    merges = b"a: &a {x: 1}\nb: {" + b",".join([b"<<: *a"] * 100_000) + b"}\n"
    assert root.call("POST", CONFIGMAPS, YAML + merges, content_type="application/yaml")[0] == 400


@pytest.mark.parametrize("number", [b"9" * 500_000, b"-" + b"1" * 500_000, b"1e" + b"9" * 500_000])
def test_numbers_with_many_digits(root, number):
    """Python refuses to read more than 4300 digits, with an error that is nobody's business."""
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bomb","generation":' + number + b"}}"
    status, answer = root.call("POST", CONFIGMAPS, body)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert "set_int_max_str_digits" not in answer["message"]


@pytest.mark.parametrize("scalar", [b"0x" + b"f" * 500_000, b"0" + b"7" * 500_000, b"1" + b":59" * 200_000])
def test_numbers_with_many_digits_in_yaml(root, scalar):
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb, generation: " + scalar + b"}\n"
    status, answer = root.call("POST", CONFIGMAPS, body, content_type="application/yaml")
    assert status == 400
    assert "set_int_max_str_digits" not in answer["message"]


@pytest.mark.parametrize(
    "query",
    [
        "limit=" + "9" * 5000,
        "timeoutSeconds=" + "9" * 5000 + "&watch=1",
        "timeout=" + "9" * 5000 + "s",
        "timeout=1." + "9" * 5000 + "x",
        "labelSelector=" + "(" * 20_000,
        "labelSelector=a+in+(" + "," * 20_000,
        "fieldSelector=" + "a!=" * 10_000,
        "continue=" + "A" * 20_000,
    ],
)
def test_queries(root, query):
    status, answer = root.call("GET", f"{CONFIGMAPS}?{query}")
    assert status == 400
    assert "set_int_max_str_digits" not in answer["message"]


@pytest.mark.parametrize("quantity", ["9" * 200_000, "0." + "0" * 200_000 + "1", "1e999999999", "1E" + "9" * 5000])
def test_quantities(root, quantity):
    body = {"metadata": {"name": "bomb"}, "spec": {"hard": {"pods": quantity}}}
    assert root.call("POST", "/api/v1/namespaces/default/resourcequotas", body)[0] in (400, 422)


def test_halves_of_surrogates_are_replaced_and_never_stored(root):
    """Python's strings can hold them, UTF-8 cannot: an answer could not be written."""
    body = rb'{"metadata":{"name":"surrogate","annotations":{"a":"\ud800","b":"\udfff\ud800"}},"data":{"k":"x\udc00"}}'
    status, created = root.call("POST", CONFIGMAPS, body)
    assert status == 201
    assert created["metadata"]["annotations"]["a"] == "\ufffd"
    assert root.get(f"{CONFIGMAPS}/surrogate")["data"] == {"k": "x\ufffd"}
    response = root.send("POST", f"{CONFIGMAPS}?fieldValidation=Warn", rb'{"metadata":{"name":"half"},"\ud800":1}')
    response.read()
    assert response.status == 201
    assert response.getheader("warning") is not None


def colliding(count: int) -> list[str]:
    """Names whose hashes fall together, for whoever hashes without a secret: strings of two halves that hash alike."""
    return ["".join(halves) for halves in islice(product(("Aa", "BB"), repeat=14), count)]


def test_keys_that_would_collide_are_as_good_as_others(root):
    """Hashes are keyed with a secret of the process: what collides elsewhere does not here."""
    labels = dict.fromkeys(colliding(10_000), "x")
    created = root.create(CONFIGMAPS, {"metadata": {"name": "collide", "labels": labels}, "data": labels})
    assert len(created["data"]) == len(created["metadata"]["labels"]) == 10_000
    query = "&".join(f"{name}=1" for name in colliding(1000))
    assert root.call("GET", f"{CONFIGMAPS}/collide?{query}")[0] == 200
    headers = dict.fromkeys(colliding(80), "x")
    assert root.call("GET", f"{CONFIGMAPS}/collide", **headers)[0] == 200


def test_a_field_name_cannot_write_headers(root):
    """Unknown fields are told in Warning headers."""
    body = json.dumps({"metadata": {"name": "warned"}, "a\r\nSet-Cookie: b=c\r\n\r\n<html>": 1, 'q"\\': 1}).encode()
    response = root.send("POST", f"{CONFIGMAPS}?fieldValidation=Warn", body)
    response.read()
    assert response.status == 201
    assert response.getheader("set-cookie") is None
    assert all("\n" not in value and "<html>" not in value.partition("unknown")[0] for value in response.msg.values())


def test_long_lists_are_compared_in_time(root):
    """Each of 12,000 elements, searched among all the others, would take minutes."""
    path = f"{CONFIGMAPS}/owned"
    root.create(CONFIGMAPS, {"metadata": {"name": "owned", "ownerReferences": many_owners()}})
    order = [{"uid": owner["uid"]} for owner in many_owners()]
    body = {"metadata": {"$setElementOrder/ownerReferences": order, "ownerReferences": many_owners("B")}}
    status, patched = root.call("PATCH", path, body, content_type="application/strategic-merge-patch+json")
    assert status == 200
    assert {owner["kind"] for owner in patched["metadata"]["ownerReferences"]} == {"B"}
    gone = [{"$patch": "delete", "uid": owner["uid"]} for owner in many_owners()]
    body = {"metadata": {"ownerReferences": gone}}
    status, patched = root.call("PATCH", path, body, content_type="application/strategic-merge-patch+json")
    assert status == 200
    assert not patched["metadata"].get("ownerReferences")
    finalizers = [f"a.example.com/{i % 20_000}" for i in range(60_000)]
    body = {"metadata": {"finalizers": finalizers}}
    for _ in range(2):
        status, _ = root.call("PATCH", path, body, content_type="application/strategic-merge-patch+json")
        assert status == 200


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/data/a", "value": "x"}] * 10_001,
        [{"op": "add", "path": "/data", "value": {"a": "x" * 10_000}}]
        + [{"op": "copy", "from": "/data", "path": f"/data/c{i}"} for i in range(100)],
        [{"op": "add", "path": "/" + "a/" * 100_000, "value": 1}],
        [{"op": "add", "path": "/metadata/finalizers/" + "9" * 5000, "value": "x"}],
    ],
)
def test_json_patches_that_grow(root, operations):
    root.call("POST", CONFIGMAPS, {"metadata": {"name": "grown"}})
    body = json.dumps(operations).encode()
    status, _ = root.call("PATCH", f"{CONFIGMAPS}/grown", body, content_type="application/json-patch+json")
    assert status in (413, 422)


def test_a_pattern_that_backtracks_elsewhere_does_not_here(root):
    pattern = {"type": "string", "pattern": "^(a+)+$"}
    spec = {"type": "object", "properties": {"s": pattern}}
    establish(root, definition("bombs.example.com", "patterns", {"type": "object", "properties": {"spec": spec}}))
    body = {"apiVersion": "bombs.example.com/v1", "kind": "Patterns", "metadata": {"name": "p"}}
    path = "/apis/bombs.example.com/v1/namespaces/default/patterns"
    assert root.call("POST", path, body | {"spec": {"s": "a" * 100_000 + "!"}})[0] == 422
    assert root.call("POST", path, body | {"spec": {"s": "a" * 100_000}})[0] == 201


@pytest.mark.parametrize(
    "rule",
    [
        "self.all(a, self.all(b, self.all(c, self.all(d, a == b && c == d))))",
        "self.map(a, self.map(b, self.map(c, [a, b, c]))).size() > 0",
        "[1,2,3].all(x, " * 30 + "true" + ")" * 30,
        "(" * 5000 + "true" + ")" * 5000,
        "'" + "x" * 100 + "'.matches('(.*)(.*)(.*)(.*)(.*)x{1000}{1000}')",
    ],
)
def test_an_expression_that_would_cost_too_much_is_not_installed(root, rule):
    items = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": rule}]}
    new = definition("bombs.example.com", "costs", {"type": "object", "properties": {"l": items}})
    status, answer = root.call("POST", DEFINITIONS, new)
    assert (status, answer["reason"]) == (422, "Invalid")
