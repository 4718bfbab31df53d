"""What events say about requests, at every level."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kapi.wire.pki import ensure_service_account_keys
from tests.audit.conftest import Audited, policy_file
from tests.server_process import Client, Server

BASE = "/api/v1/namespaces/default"
MAPS = f"{BASE}/configmaps"
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
RULES = [
    {"level": "None", "nonResourceURLs": ["/readyz*"]},
    {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "pods"]}]},
    {"level": "Request", "resources": [{"group": "", "resources": ["services"]}]},
    {"level": "RequestResponse", "resources": [{"group": "", "resources": ["configmaps", "serviceaccounts/token"]}]},
    {"level": "Metadata", "omitStages": ["ResponseStarted"]},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    folder = tmp_path_factory.mktemp("audited")
    log = folder / "audit.log"
    policy = policy_file(folder, RULES, omitStages=["RequestReceived"], omitManagedFields=True)
    private, _ = ensure_service_account_keys(folder)
    running = Server(
        folder,
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={private}",
        f"--service-account-key-file={private}",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={log}",
        "--authorization-mode=RBAC",
    )
    try:
        yield Audited(running.start(), log)
    finally:
        running.end()


@pytest.fixture
def admin(server: Audited) -> Iterator[Client]:
    with server.server.client() as client:
        yield client


def config_map(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def without_times(event: dict[str, Any]) -> dict[str, Any]:
    times = {name: event.pop(name) for name in ("requestReceivedTimestamp", "stageTimestamp")}
    assert all(MICRO_TIME.fullmatch(time) for time in times.values())
    assert times["requestReceivedTimestamp"] <= times["stageTimestamp"]
    return event


def test_metadata_says_who_did_what_to_what(server: Audited, admin: Client) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "who"}, "stringData": {"a": "hush"}}
    admin.call("POST", f"{BASE}/secrets?dryRun=All", secret, audit_id="who", user_agent="me/1")
    assert without_times(server.event("who")) == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "who",
        "stage": "ResponseComplete",
        "requestURI": f"{BASE}/secrets?dryRun=All",
        "verb": "create",
        "user": {
            "username": "admin",
            "groups": ["system:masters", "system:authenticated"],
            "extra": server.event("who")["user"]["extra"],
        },
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "me/1",
        "objectRef": {"resource": "secrets", "namespace": "default", "name": "who", "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201},
        "annotations": {"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""},
    }
    assert "hush" not in server.log.read_text()


def test_the_fields_come_in_upstreams_order(server: Audited, admin: Client) -> None:
    admin.call("POST", f"{MAPS}?dryRun=All", config_map("order"), audit_id="order", user_agent="me")
    assert list(server.event("order")) == [
        *("kind", "apiVersion", "level", "auditID", "stage", "requestURI", "verb", "user", "sourceIPs", "userAgent"),
        *("objectRef", "responseStatus", "requestObject", "responseObject"),
        *("requestReceivedTimestamp", "stageTimestamp", "annotations"),
    ]


def test_request_has_the_object_that_was_sent_but_not_the_answer(server: Audited, admin: Client) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sent"}, "spec": {"ports": [{"port": 80}]}}
    admin.call("POST", f"{BASE}/services?dryRun=All", service, audit_id="sent")
    event = server.event("sent")
    assert event["requestObject"]["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert "namespace" not in event["requestObject"]["metadata"]
    assert "responseObject" not in event


def test_an_update_refers_to_the_version_it_was_sent_with(server: Audited, admin: Client) -> None:
    created = admin.create(MAPS, config_map("versioned"))
    admin.call("PUT", f"{MAPS}/versioned", created, audit_id="versioned")
    reference = server.event("versioned")["objectRef"]
    assert reference["uid"] == created["metadata"]["uid"]
    assert reference["resourceVersion"] == created["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    ],
)
def test_objects_are_json_without_managed_fields_however_they_are_answered(
    server: Audited, admin: Client, accept: str
) -> None:
    admin.call("POST", MAPS, config_map("shown", data={"a": "b"}))
    sent = f"one-{accept}"
    admin.send("GET", f"{MAPS}/shown", accept=accept, audit_id=sent).read()
    shown = server.event(sent)["responseObject"]
    obj = shown["rows"][0]["object"] if shown["kind"] == "Table" else shown
    assert obj["metadata"]["name"] == "shown"
    assert "managedFields" not in obj["metadata"]


@pytest.mark.parametrize("media_type", ["application/json", "application/vnd.kubernetes.protobuf"])
def test_lists_are_without_managed_fields_too(server: Audited, admin: Client, media_type: str) -> None:
    admin.call("POST", MAPS, config_map("listed"))
    admin.send("GET", MAPS, accept=media_type, audit_id=f"list-{media_type}").read()
    listed = server.event(f"list-{media_type}")["responseObject"]
    assert listed["kind"] == "ConfigMapList"
    assert "listed" in [item["metadata"]["name"] for item in listed["items"]]
    assert not any("managedFields" in item["metadata"] for item in listed["items"])


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("application/merge-patch+json", b'{"data": {"x": "1"}}', {"data": {"x": "1"}}),
        (
            "application/json-patch+json",
            b'[{"op": "add", "path": "/data", "value": {}}]',
            [{"op": "add", "path": "/data", "value": {}}],
        ),
        (
            "application/apply-patch+yaml",
            b"apiVersion: v1\nkind: ConfigMap\ndata: {key: '2'}\n",
            {"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "2"}},
        ),
    ],
)
def test_a_patch_is_shown_as_json(server: Audited, admin: Client, kind: str, body: bytes, shown: Any) -> None:
    admin.call("POST", MAPS, config_map("patched"))
    query = "fieldManager=f&force=true" if "apply" in kind else ""
    admin.call("PATCH", f"{MAPS}/patched?{query}", body, content_type=kind, audit_id=f"patch-{kind}")
    event = server.event(f"patch-{kind}")
    assert event["requestObject"] == shown
    assert event["responseObject"]["metadata"]["name"] == "patched"


def test_a_patch_that_cannot_be_read_is_not_shown(server: Audited, admin: Client) -> None:
    admin.call("PATCH", f"{MAPS}/x", b"{", content_type="application/merge-patch+json", audit_id="bad-patch")
    event = server.event("bad-patch")
    assert "requestObject" not in event
    assert event["responseStatus"]["code"] == 400


def test_a_deletion_tells_its_options_and_its_success(server: Audited, admin: Client) -> None:
    admin.call("POST", MAPS, config_map("gone"))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    admin.call("DELETE", f"{MAPS}/gone", options, audit_id="gone")
    event = server.event("gone")
    assert event["requestObject"] == {**options, "apiVersion": "meta.k8s.io/__internal"}
    assert event["responseStatus"]["status"] == "Success"
    assert event["responseStatus"]["details"]["name"] == "gone"
    assert event["responseObject"]["kind"] == "Status"


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"])
def test_a_failure_has_its_status_at_every_level(server: Audited, admin: Client, accept: str) -> None:
    admin.send("GET", f"{BASE}/secrets/nosuch", accept=accept, audit_id=f"missing-{accept}").read()
    assert server.event(f"missing-{accept}")["responseStatus"] == {
        "metadata": {},
        "status": "Failure",
        "message": 'secrets "nosuch" not found',
        "reason": "NotFound",
        "details": {"name": "nosuch", "kind": "secrets"},
        "code": 404,
    }


def test_a_body_that_is_refused_unread_is_not_shown(server: Audited) -> None:
    with server.server.client("eve") as eve:
        eve.call("POST", MAPS, config_map("secret-plan"), audit_id="refused")
    event = server.event("refused")
    assert "requestObject" not in event
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert event["responseObject"]["reason"] == "Forbidden"


def test_failed_authentication_is_one_event_without_a_user(server: Audited) -> None:
    with server.server.client("", token="wrong") as nobody:
        nobody.call("GET", MAPS, audit_id="nobody")
    event = server.event("nobody")
    assert (event["stage"], event["user"]) == ("ResponseStarted", {})
    assert event["responseStatus"]["reason"] == "Unauthorized"
    assert "annotations" not in event


def test_a_timeout_that_cannot_be_read_is_audited_before_anyone_is_known(server: Audited, admin: Client) -> None:
    admin.call("GET", f"{MAPS}?timeout=soon", audit_id="soon")
    event = server.event("soon")
    assert (event["stage"], event["user"], event["responseStatus"]["code"]) == ("ResponseStarted", {}, 400)


def test_impersonation_names_both(server: Audited, admin: Client) -> None:
    headers = {"Impersonate-User": "zoe", "Impersonate-Group": "system:masters", "Impersonate-Extra-Scope": "s"}
    admin.call("GET", MAPS, audit_id="as-zoe", **headers)
    event = server.event("as-zoe")
    assert event["user"]["username"] == "admin"
    assert event["impersonatedUser"] == {
        "username": "zoe",
        "groups": ["system:masters", "system:authenticated"],
        "extra": {"scope": ["s"]},
    }
    assert "authenticationMetadata" not in event


def test_constrained_impersonation_names_its_constraint(server: Audited, admin: Client) -> None:
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "constrained"}}
    group = "/apis/rbac.authorization.k8s.io/v1"
    users = {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]}
    maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "impersonate-on:user-info:list"]}
    admin.create(f"{group}/clusterroles", {**rbac, "kind": "ClusterRole", "rules": [users, maps]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "constrained"}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "adam"}]
    binding = {**rbac, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
    admin.create(f"{group}/clusterrolebindings", binding)
    with server.server.client("adam") as adam:
        adam.call("GET", MAPS, audit_id="constrained", **{"Impersonate-User": "zoe"})
    event = server.event("constrained")
    assert event["impersonatedUser"]["username"] == "zoe"
    assert event["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}


def test_the_names_of_issued_tokens_are_noted_but_metadata_has_no_token(server: Audited, admin: Client) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "issued"}}
    admin.create(f"{BASE}/serviceaccounts", account)
    _, answer = admin.call("POST", f"{BASE}/serviceaccounts/issued/token", {}, audit_id="issued")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    token = answer["status"]["token"]
    admin.call(
        "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {**review, "spec": {"token": token}}, audit_id="r"
    )
    assert server.event("issued")["annotations"]["authentication.kubernetes.io/issued-credential-id"].startswith("JTI=")
    assert token not in json.dumps(server.event("r"))


@pytest.mark.parametrize(
    ("headers", "ips"),
    [
        ({"X-Forwarded-For": "1.2.3.4, 5.6.7.8"}, ["1.2.3.4", "5.6.7.8", "127.0.0.1"]),
        ({"X-Forwarded-For": "1.2.3.4", "X-Real-Ip": "1.2.3.4"}, ["1.2.3.4", "127.0.0.1"]),
        ({"X-Real-Ip": "9.9.9.9"}, ["9.9.9.9", "127.0.0.1"]),
        ({"X-Forwarded-For": "127.0.0.1"}, ["127.0.0.1"]),
        ({"X-Forwarded-For": "unknown, ::ffff:1.2.3.4, 2001:DB8::1"}, ["1.2.3.4", "2001:db8::1", "127.0.0.1"]),
        ({"X-Forwarded-For": "010.0.0.1, 1.2.3"}, ["10.0.0.1", "127.0.0.1"]),
    ],
)
def test_proxies_are_named(server: Audited, admin: Client, headers: dict[str, str], ips: list[str]) -> None:
    ident = f"ips-{sorted(headers.items())}"
    admin.call("GET", MAPS, audit_id=ident, **headers)
    assert server.event(ident)["sourceIPs"] == ips


def test_a_long_user_agent_is_cut_and_a_foreign_one_kept(server: Audited, admin: Client) -> None:
    admin.call("GET", MAPS, audit_id="long", user_agent="x" * 2000)
    assert server.event("long")["userAgent"] == "x" * 1024 + "...TRUNCATED"
    admin.call("GET", MAPS, audit_id="foreign", user_agent="\u00fc".encode().decode("latin-1"))
    assert server.event("foreign")["userAgent"] == "\u00fc"


@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Table;v=v1;g=meta.k8s.io"])
def test_a_refusal_in_a_form_that_was_not_asked_for_has_a_code_alone(
    server: Audited, admin: Client, accept: str
) -> None:
    response = admin.send("GET", f"{MAPS}/nosuch", audit_id=accept, accept=accept)
    response.read()
    event = server.event(accept)
    assert event["responseStatus"] == {"metadata": {}, "code": response.status}
    assert "responseObject" not in event


def test_the_end_of_the_chain_has_a_code_alone(server: Audited, admin: Client) -> None:
    admin.send("GET", "/nosuch", audit_id="nosuch").read()
    event = server.event("nosuch")
    assert event["responseStatus"] == {"metadata": {}, "code": 404}
    assert "objectRef" not in event


def test_what_the_policy_does_not_want_is_not_written(server: Audited, admin: Client) -> None:
    admin.send("GET", "/readyz", audit_id="ready").read()
    assert server.events("ready") == []


def test_a_large_list_is_written_whole(server: Audited, admin: Client) -> None:
    for i in range(2001):
        admin.send("POST", f"{MAPS}", config_map(f"many-{i}")).read()
    whole = admin.get(MAPS)
    admin.send("GET", MAPS, audit_id="large", accept_encoding="gzip").read()
    # The event follows the last byte, so ask for something else first.
    admin.get("/version")
    items = server.event("large")["responseObject"]["items"]
    assert len(items) == len(whole["items"]) > 2000


def test_a_watch_has_a_beginning_and_an_end(audited: Callable[..., Audited]) -> None:
    running = audited([{"level": "RequestResponse"}])
    with running.server.client() as admin:
        watching = admin.send("GET", f"{MAPS}?watch=1&timeoutSeconds=1", audit_id="watch")
        begun = [event["stage"] for event in running.events("watch")]
        watching.read()
    assert running.server.stop() == 0
    events = running.events("watch")
    assert begun == ["RequestReceived", "ResponseStarted"]
    assert [event["stage"] for event in events] == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert [event.get("responseStatus") for event in events] == [None, *[{"metadata": {}, "code": 200}] * 2]
    assert events[0]["requestReceivedTimestamp"] == events[0]["stageTimestamp"]
    assert not any("responseObject" in event for event in events)


def test_watches_that_shutdown_ends_are_complete(audited: Callable[..., Audited]) -> None:
    running = audited([{"level": "Metadata"}])
    with running.server.client() as admin:
        watching = admin.send("GET", f"{MAPS}?watch=1", audit_id="watch")
        assert running.server.stop() == 0
        watching.close()
    assert [event["stage"] for event in running.events("watch")][-1] == "ResponseComplete"


def test_a_client_that_leaves_is_written_down(audited: Callable[..., Audited]) -> None:
    running = audited([{"level": "Metadata", "omitStages": ["RequestReceived"]}])
    with running.server.client() as admin:
        admin.send("GET", f"{MAPS}?watch=1", audit_id="left")
    with running.server.client() as admin:
        admin.get(MAPS)
    assert running.server.stop() == 0
    assert [event["stage"] for event in running.events("left")] == ["ResponseStarted", "ResponseComplete"]


def test_managed_fields_are_kept_where_nobody_omits_them(audited: Callable[..., Audited]) -> None:
    running = audited([{"level": "RequestResponse", "omitStages": ["RequestReceived"]}])
    with running.server.client() as admin:
        admin.call("POST", MAPS, config_map("kept", data={"a": "b"}), audit_id="kept")
    assert running.event("kept")["responseObject"]["metadata"]["managedFields"]


def test_the_use_of_a_deprecated_api_is_noted(server: Audited, admin: Client) -> None:
    admin.call("GET", f"{BASE}/endpoints", audit_id="deprecated")
    assert server.event("deprecated")["annotations"]["k8s.io/deprecated"] == "true"


def test_metrics_count_levels_and_events(server: Audited, admin: Client) -> None:
    admin.call("GET", f"{BASE}/secrets")
    _, metrics = admin.text("/metrics")
    assert re.search(r"^apiserver_audit_event_total [1-9]", metrics, re.MULTILINE)
    assert re.search(r'^apiserver_audit_level_total\{level="Metadata"\} [1-9]', metrics, re.MULTILINE)
    assert re.search(r"^apiserver_audit_requests_rejected_total 0$", metrics, re.MULTILINE)


def test_without_a_policy_the_log_stays_empty(tmp_path: Path, new_server: Callable[..., Server]) -> None:
    log = tmp_path / "new" / "audit.log"
    server = new_server(f"--audit-log-path={log}").start()
    with server.client() as admin:
        admin.get(MAPS)
        _, metrics = admin.text("/metrics")
    assert log.read_text() == ""
    assert "apiserver_audit_event_total 0" in metrics
