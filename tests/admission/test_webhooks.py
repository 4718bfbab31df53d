"""Admission webhooks: what they are sent, what their answers do, and what happens when they fail. Over real TLS."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kapi.wire.pki import ensure_self_signed
from tests.admission.conftest import Place
from tests.server_process import Server
from tests.webhook_server import WebhookServer

GROUP = "admissionregistration.k8s.io/v1"
PLURALS = {
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
}
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def answer(**response: Any) -> Callable[[Any], Any]:
    """A webhook that always says this."""

    def reply(review: Any) -> Any:
        said = {"uid": review["request"]["uid"], "allowed": True, **response}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": said}

    return reply


def patch(*operations: Any) -> Callable[[Any], Any]:
    return answer(patchType="JSONPatch", patch=base64.b64encode(json.dumps(operations).encode()).decode())


def config_map(name: str, **content: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **content}


class Webhooks:
    """Webhooks for the objects of one namespace, gone when the test is."""

    def __init__(self, place: Place, server: WebhookServer) -> None:
        self.place = place
        self.server = server
        self._made: list[str] = []

    def register(self, kind: str, path: str, **fields: Any) -> None:
        webhook = {
            "name": f"{path.strip('/')}.example.com",
            "clientConfig": self.server.client_config(path),
            "rules": [CONFIG_MAPS],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.place.name}},
            **fields,
        }
        name = f"{path.strip('/')}-{self.place.name}"
        body = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "webhooks": [webhook]}
        self.place.client.create(f"/apis/{GROUP}/{PLURALS[kind]}", body)
        self._made.append(f"/apis/{GROUP}/{PLURALS[kind]}/{name}")

    def validating(self, path: str, reply: Callable[[Any], Any], **fields: Any) -> None:
        self.server.replies[path] = reply
        self.register("ValidatingWebhookConfiguration", path, **fields)

    def mutating(self, path: str, reply: Callable[[Any], Any], **fields: Any) -> None:
        self.server.replies[path] = reply
        self.register("MutatingWebhookConfiguration", path, **fields)

    def create(self, body: Any, query: str = "") -> tuple[int, Any]:
        return self.place.client.call("POST", self.place.path("configmaps") + query, body)

    def called(self) -> list[str]:
        return [path for path, _ in self.server.taken()]

    def end(self) -> None:
        for path in self._made:
            self.place.client.call("DELETE", path)


@pytest.fixture
def webhooks(place: Place, tmp_path: Path) -> Iterator[Webhooks]:
    with WebhookServer(tmp_path) as server:
        made = Webhooks(place, server)
        yield made
        made.end()


def test_a_configuration_counts_for_the_very_next_request(webhooks: Webhooks) -> None:
    webhooks.validating(
        "/no", answer(allowed=False, status={"message": "not today", "code": 409, "reason": "Conflict"})
    )
    status, refusal = webhooks.create(config_map("a"))
    assert (status, refusal["reason"]) == (409, "Conflict")
    assert refusal["message"] == 'admission webhook "no.example.com" denied the request: not today'
    webhooks.end()
    assert webhooks.create(config_map("a"))[0] == 201


def test_a_patch_is_decoded_defaulted_and_validated(webhooks: Webhooks) -> None:
    webhooks.mutating(
        "/patch", patch({"op": "add", "path": "/data", "value": {"a": "b"}}, {"op": "add", "path": "/odd", "value": 1})
    )
    status, made = webhooks.create(config_map("a"))
    assert status == 201 and made["data"] == {"a": "b"} and "odd" not in made
    webhooks.server.replies["/patch"] = patch({"op": "add", "path": "/data", "value": {"not/good": ""}})
    assert webhooks.create(config_map("b"))[0] == 422
    webhooks.server.replies["/patch"] = patch({"op": "add", "path": "/data", "value": 7})
    status, refusal = webhooks.create(config_map("c"))
    assert status == 500
    assert "cannot unmarshal number into Go struct field ConfigMap.data" in refusal["message"]
    names = [item["metadata"]["name"] for item in webhooks.place.client.get(webhooks.place.path("configmaps"))["items"]]
    assert names == ["a"]


def test_a_patch_cannot_leave_the_namespace(webhooks: Webhooks) -> None:
    webhooks.mutating("/away", patch({"op": "replace", "path": "/metadata/namespace", "value": "kube-system"}))
    assert webhooks.create(config_map("a"))[0] == 400


def test_a_patch_cannot_evade_what_validates(webhooks: Webhooks) -> None:
    """A mutating webhook runs before quota, validation and validating webhooks: they judge its result."""
    webhooks.mutating("/label", patch({"op": "add", "path": "/metadata/labels", "value": {"team": "x"}}))
    webhooks.validating("/judge", answer(), objectSelector={"matchLabels": {"team": "x"}})
    assert webhooks.create(config_map("a"))[0] == 201
    assert webhooks.called() == ["/label", "/judge"]
    body = {"metadata": {"labels": {"team": "y"}}}
    path = webhooks.place.path("configmaps/a")
    for kind in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
        assert webhooks.place.client.call("PATCH", path, body, content_type=kind)[0] == 200
        assert webhooks.called() == ["/label", "/judge"]


def test_a_webhook_that_asks_for_it_sees_what_later_ones_did(webhooks: Webhooks) -> None:
    def count(review: Any) -> Any:
        seen = (review["request"]["object"].get("data") or {}).get("seen", "")
        return patch({"op": "add", "path": "/data", "value": {"seen": seen + "a"}})(review)

    def add(review: Any) -> Any:
        seen = (review["request"]["object"].get("data") or {}).get("seen", "")
        return patch({"op": "add", "path": "/data", "value": {"seen": seen + "b"}})(review)

    webhooks.mutating("/a-count", count, reinvocationPolicy="IfNeeded")
    webhooks.mutating("/b-add", add)
    assert webhooks.create(config_map("a"))[1]["data"] == {"seen": "aba"}
    assert webhooks.called() == ["/a-count", "/b-add", "/a-count"]


def test_a_webhook_that_is_down_fails_the_request_or_is_passed_over(webhooks: Webhooks) -> None:
    webhooks.validating("/down", lambda _: (503, b"{}"))
    status, refusal = webhooks.create(config_map("a"))
    assert status == 500
    assert refusal["message"] == (
        'Internal error occurred: failed calling webhook "down.example.com": failed to call webhook: the server is '
        "currently unable to handle the request"
    )
    webhooks.end()
    webhooks.validating("/open", lambda _: (503, b"{}"), failurePolicy="Ignore")
    webhooks.mutating("/open", lambda _: (503, b"{}"), failurePolicy="Ignore")
    assert webhooks.create(config_map("a"))[0] == 201
    metrics = webhooks.place.client.text("/metrics")[1]
    assert 'apiserver_admission_webhook_fail_open_count{name="open.example.com",type="validating"} 1' in metrics


def test_an_answer_larger_than_it_may_be_is_a_failure(webhooks: Webhooks) -> None:
    webhooks.validating("/large", lambda _: (200, b" " * (3 * 1024 * 1024 + 1)))
    status, refusal = webhooks.create(config_map("a"))
    assert status == 500 and refusal["message"].endswith("http: response body too large")


def test_a_webhook_cannot_lock_its_own_configuration(webhooks: Webhooks) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    webhooks.validating("/all", answer(allowed=False), rules=[everything])
    assert webhooks.create(config_map("a"))[0] == 400
    webhooks.end()
    assert webhooks.create(config_map("a"))[0] == 201


def test_reviews_are_not_put_before_webhooks(webhooks: Webhooks) -> None:
    rule = {
        "apiGroups": ["authentication.k8s.io", "authorization.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
    }
    webhooks.validating("/reviews", answer(allowed=False), rules=[rule], namespaceSelector={})
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    status, body = webhooks.place.client.call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (status, webhooks.called()) == (201, []), body


def test_match_conditions_choose_requests(webhooks: Webhooks) -> None:
    conditions = [{"name": "data", "expression": "has(object.data) && size(object.data) > 1"}]
    webhooks.validating("/many", answer(allowed=False), matchConditions=conditions)
    assert webhooks.create(config_map("a", data={"x": ""}))[0] == 201
    assert webhooks.create(config_map("b", data={"x": "", "y": ""}))[0] == 400


def test_a_dry_run_is_told(webhooks: Webhooks) -> None:
    webhooks.validating("/dry", answer(), sideEffects="NoneOnDryRun")
    assert webhooks.create(config_map("a"), "?dryRun=All")[0] == 201
    ((_, review),) = webhooks.server.taken()
    assert review["request"]["dryRun"] is True


def test_an_object_without_a_conversion_is_sent_in_the_version_that_was_asked_for(webhooks: Webhooks) -> None:
    rule = {"apiGroups": ["autoscaling"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["*"]}
    webhooks.mutating("/hpa", patch({"op": "add", "path": "/spec/minReplicas", "value": 2}), rules=[rule])
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}},
    }
    made = webhooks.place.made("horizontalpodautoscalers", scaler, "apis/autoscaling/v1")
    assert (made["apiVersion"], made["spec"]["minReplicas"]) == ("autoscaling/v1", 2)
    request = webhooks.server.taken()[0][1]["request"]
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v2", "v1")


def test_a_service_is_asked_where_it_can_be_reached(webhooks: Webhooks) -> None:
    config = {"service": {"namespace": webhooks.place.name, "name": "hook", "path": "/x"}}
    webhooks.validating("/service", answer(), clientConfig=config)
    host = f"https://hook.{webhooks.place.name}.svc:443/x?timeout=10s"
    assert webhooks.create(config_map("a"))[1]["message"].endswith(f'Post "{host}": service "hook" not found')
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"}, "spec": {"ports": [{"port": 80}]}}
    webhooks.place.made("services", service)
    assert webhooks.create(config_map("a"))[1]["message"].endswith('no service port 443 found for service "hook"')


def test_a_path_is_cleaned_before_it_is_asked(webhooks: Webhooks) -> None:
    config = {"service": {"namespace": webhooks.place.name, "name": "hook", "port": 8443}}
    webhooks.validating("/service", answer(), clientConfig=config)
    host = f"https://hook.{webhooks.place.name}.svc:8443/?timeout=10s"
    assert webhooks.create(config_map("a"))[1]["message"].endswith(f'Post "{host}": service "hook" not found')


def test_certificates_that_can_not_be_read_make_no_client(webhooks: Webhooks) -> None:
    webhooks.validating("/x", answer(), clientConfig={"url": "https://127.0.0.1:9/x", "caBundle": "Zm9v"})
    why = "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block"
    assert webhooks.create(config_map("a"))[1]["message"].endswith(why)


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Callable[[str], Any]]:
    """The client configs of webhooks written with a web framework, in a process of their own."""
    certificate, key = ensure_self_signed(tmp_path, "application", "localhost", [], ["127.0.0.1"])
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    command = [sys.executable, "-m", "tests.admission.webhook_application", str(certificate), str(key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield lambda path: {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
        process.kill()


def test_two_webhooks_of_a_web_framework_judge_many_writes_at_once(
    webhooks: Webhooks, shared_server: Server, application: Callable[[str], Any]
) -> None:
    def create(number: int) -> int:
        with shared_server.client() as client:
            body = config_map(f"n{number}", data={"number": str(number)})
            return client.call("POST", webhooks.place.path("configmaps"), body)[0]

    webhooks.register("MutatingWebhookConfiguration", "/m", clientConfig=application("/mutate"))
    webhooks.register("ValidatingWebhookConfiguration", "/v", clientConfig=application("/validate"))
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(create, range(200)))
    assert statuses == [201, 400] * 100
    items = webhooks.place.client.get(webhooks.place.path("configmaps"))["items"]
    assert len(items) == 100 and all(item["data"]["by"] == "webhook" for item in items)
