"""The admission configuration file and webhooks: credentials for them, and the image policy's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import Client, Server
from tests.webhook_server import WebhookServer


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[WebhookServer]:
    with WebhookServer(tmp_path) as server:
        yield server


def configured(tmp_path: Path, plugin: str, configuration: Any) -> str:
    """The flag that names a file with this plugin's configuration."""
    file = tmp_path / "admission.json"
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": plugin, "configuration": configuration}],
    }
    file.write_text(json.dumps(document))
    return f"--admission-control-config-file={file}"


def credentials(tmp_path: Path, *users: tuple[str, str]) -> dict[str, str]:
    file = tmp_path / "webhooks.kubeconfig"
    file.write_text(json.dumps({"users": [{"name": name, "user": {"token": token}} for name, token in users]}))
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration"}
    return {**kind, "kubeConfigFile": str(file)}


def allow(review: Any) -> Any:
    response = {"uid": review["request"]["uid"], "allowed": True}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


def test_a_webhook_is_asked_with_the_credentials_of_its_host(
    tmp_path: Path, webhook: WebhookServer, new_server: Callable[..., Server]
) -> None:
    users = (("*", "for-all"), (f"127.0.0.1:{webhook.port}", "for-this"), ("*.0.0.1:1", "for-another"))
    server = new_server(configured(tmp_path, "ValidatingAdmissionWebhook", credentials(tmp_path, *users))).start()
    webhook.replies["/v"] = allow
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    hook = {
        "name": "v.example.com",
        "clientConfig": webhook.client_config("/v"),
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    group = "admissionregistration.k8s.io/v1"
    configuration = {"apiVersion": group, "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "v"}}
    with server.client() as client:
        client.create(f"/apis/{group}/validatingwebhookconfigurations", {**configuration, "webhooks": [hook]})
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        client.create("/api/v1/namespaces/default/configmaps", body)
    assert [headers["authorization"] for headers in webhook.headers] == ["Bearer for-this"]


def test_a_relative_path_to_credentials_stops_the_start(tmp_path: Path, new_server: Callable[..., Server]) -> None:
    configuration = {**credentials(tmp_path), "kubeConfigFile": "webhooks.kubeconfig"}
    server = new_server(configured(tmp_path, "MutatingAdmissionWebhook", configuration)).launch()
    assert server.exit_status() == 1
    assert 'kubeConfigFile must be an absolute file path, but got "webhooks.kubeconfig"' in server.said.replace(
        "\\", ""
    )


class TestImagePolicy:
    @pytest.fixture
    def start(self, tmp_path: Path, webhook: WebhookServer, new_server: Callable[..., Server]) -> Callable[..., Server]:
        def start(**policy: Any) -> Server:
            cluster = {"server": f"{webhook.url}/images", "certificate-authority": str(webhook.ca_file)}
            file = tmp_path / "images.kubeconfig"
            file.write_text(json.dumps({"clusters": [{"name": "images", "cluster": cluster}]}))
            configuration = {"imagePolicy": {"kubeConfigFile": str(file), "retryBackoff": 1, **policy}}
            return new_server(
                configured(tmp_path, "ImagePolicyWebhook", configuration),
                "--enable-admission-plugins=ImagePolicyWebhook",
                "--disable-admission-plugins=ServiceAccount",
            ).launch()

        return start

    @staticmethod
    def create(client: Client, name: str, image: str) -> tuple[int, Any]:
        metadata = {"name": name, "annotations": {"ticket.image-policy.k8s.io/break-glass": "7", "other": "x"}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"containers": [{"name": "c", "image": image}]},
        }
        return client.call("POST", "/api/v1/namespaces/default/pods", pod)

    def test_images_are_allowed_and_refused(self, webhook: WebhookServer, start: Callable[..., Server]) -> None:
        def judge(review: Any) -> Any:
            bad = [c["image"] for c in review["spec"]["containers"] if "bad" in c["image"]]
            return {**review, "status": {"allowed": not bad, "reason": f"never {bad[0]}" if bad else ""}}

        webhook.replies["/images"] = judge
        server = start()
        server.logged('"ready"')
        with server.client() as client:
            assert self.create(client, "a", "good:1")[0] == 201
            assert self.create(client, "b", "good:1")[0] == 201
            status, refusal = self.create(client, "c", "bad:1")
        assert status == 403
        assert refusal["message"] == (
            'pods "c" is forbidden: image policy webhook backend denied one or more images: never bad:1'
        )
        asked = [review["spec"] for _, review in webhook.seen]
        annotations = {"ticket.image-policy.k8s.io/break-glass": "7"}
        assert asked == [
            {"containers": [{"image": image}], "annotations": annotations, "namespace": "default"}
            for image in ("good:1", "bad:1")
        ]

    @pytest.mark.parametrize(("default_allow", "status"), [(True, 201), (False, 403)])
    def test_a_webhook_that_is_down(self, start: Callable[..., Server], default_allow: bool, status: int) -> None:
        server = start(defaultAllow=default_allow)
        server.logged('"ready"')
        with server.client() as client:
            assert self.create(client, "a", "good:1")[0] == status

    def test_limits_of_its_settings(self, start: Callable[..., Server]) -> None:
        server = start(allowTTL=3600)
        assert server.exit_status() == 1
        assert "valid value is between 1s and 30m0s, got 1h0m0s" in server.said
