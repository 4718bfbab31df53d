"""The webhook: what is sent to it, how often, and what its failures mean to requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.audit.conftest import Audited, Webhook, policy_file
from tests.server_process import Server

MAPS = "/api/v1/namespaces/default/configmaps"
RULES = [
    {"level": "None", "users": ["system:apiserver"]},
    {"level": "None", "nonResourceURLs": ["*"]},
    {"level": "Metadata", "omitStages": ["RequestReceived"]},
]
STRICT = [*RULES[:2], {"level": "Metadata", "omitStages": ["ResponseComplete"]}]
AT_ONCE = ("--audit-webhook-batch-max-size=1", "--audit-webhook-initial-backoff=1ms")


def test_events_are_posted_as_a_list(audited: Callable[..., Audited], webhook: Webhook) -> None:
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", "--audit-webhook-batch-max-size=2")
    with running.server.client() as admin:
        for ident in ("one", "two"):
            admin.call("GET", MAPS, audit_id=ident)
    sent = webhook.lists.get(timeout=30)
    assert {key: sent[key] for key in ("kind", "apiVersion", "metadata")} == {
        "kind": "EventList",
        "apiVersion": "audit.k8s.io/v1",
        "metadata": {},
    }
    logged = [{k: v for k, v in event.items() if k not in ("kind", "apiVersion")} for event in running.events()]
    assert sent["items"] == logged
    assert [item["auditID"] for item in logged] == ["one", "two"]
    headers = webhook.server.headers[0]
    assert headers["authorization"] == "Bearer sesame"
    assert headers["content-type"] == "application/json"


def test_what_waits_is_sent_before_the_server_ends(audited: Callable[..., Audited], webhook: Webhook) -> None:
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", "--audit-webhook-batch-max-wait=1h")
    with running.server.client() as admin:
        admin.call("GET", MAPS, audit_id="last")
    assert running.server.stop() == 0
    assert webhook.event("last")["verb"] == "list"


def test_what_fails_is_sent_again(audited: Callable[..., Audited], webhook: Webhook) -> None:
    webhook.statuses = [500, 404, 429, 503]
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", *AT_ONCE)
    with running.server.client() as admin:
        admin.call("GET", MAPS, audit_id="again")
    assert webhook.event("again")
    assert len(webhook.server.seen) == 5


def test_events_are_given_up_after_five_attempts(audited: Callable[..., Audited], webhook: Webhook) -> None:
    webhook.statuses = [500] * 5
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", *AT_ONCE)
    with running.server.client() as admin:
        admin.call("GET", MAPS, audit_id="lost")
        line = running.server.logged("audit_plugin_failed")
        _, metrics = admin.text("/metrics")
        admin.call("GET", MAPS, audit_id="found")
    assert "the webhook answered with status code 500" in line
    assert 'apiserver_audit_error_total{plugin="webhook"} 1' in metrics
    assert webhook.event("found")
    assert [event["auditID"] for event in running.events()] == ["lost", "found"]


def test_a_shutdown_does_not_wait_for_pauses(audited: Callable[..., Audited], webhook: Webhook) -> None:
    webhook.statuses = [500] * 4
    flags = ("--audit-webhook-batch-max-size=1", "--audit-webhook-initial-backoff=1h")
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", *flags)
    with running.server.client() as admin:
        admin.call("GET", MAPS, audit_id="late")
    assert running.server.stop() == 0
    assert webhook.event("late")


def test_a_blocking_webhook_has_the_event_before_the_client_has_its_answer(
    audited: Callable[..., Audited], webhook: Webhook
) -> None:
    flag = "--audit-webhook-mode=blocking"
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", flag, *AT_ONCE)
    with running.server.client() as admin:
        admin.call("GET", MAPS, audit_id="first")
        assert webhook.lists.get_nowait()["items"][0]["auditID"] == "first"
        webhook.statuses = [500] * 5
        status, _ = admin.call("GET", MAPS)
    assert status == 200


def test_a_strict_webhook_that_is_gone_fails_requests(audited: Callable[..., Audited], webhook: Webhook) -> None:
    flag = "--audit-webhook-mode=blocking-strict"
    running = audited(STRICT, f"--audit-webhook-config-file={webhook.kubeconfig}", flag, *AT_ONCE)
    with running.server.client() as admin:
        assert admin.text(MAPS)[0] == 200
        webhook.statuses = [500] * 5
        status, text = admin.text(MAPS)
        assert (status, text) == (500, f'Internal Server Error: "{MAPS}": failed to store audit event\n')
        assert admin.text(MAPS)[0] == 200
        _, metrics = admin.text("/metrics")
    assert re.search(r"^apiserver_audit_requests_rejected_total 1$", metrics, re.MULTILINE)


def test_a_full_buffer_loses_events_but_no_request(audited: Callable[..., Audited], webhook: Webhook) -> None:
    flags = ("--audit-webhook-batch-buffer-size=1", "--audit-webhook-batch-max-wait=1h")
    running = audited(RULES, f"--audit-webhook-config-file={webhook.kubeconfig}", *flags)
    with running.server.client() as admin:
        for _ in range(3):
            admin.get(MAPS)
        _, metrics = admin.text("/metrics")
    assert 'apiserver_audit_error_total{plugin="buffered"} 2' in metrics
    assert "audit buffer queue blocked" in running.server.logged("audit_plugin_failed")


def test_a_kubeconfig_that_cannot_be_read_stops_the_start(tmp_path: Path, new_server: Callable[..., Server]) -> None:
    policy = policy_file(tmp_path, RULES)
    server = new_server(f"--audit-policy-file={policy}", "--audit-webhook-config-file=/no/such").launch()
    assert server.exit_status() == 1
    assert "Error: initializing audit webhook: " in server.said
