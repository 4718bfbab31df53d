"""What has no namespace is not found in one, however often it has been asked for where it is."""

from __future__ import annotations

from tests.server_process import Server


def test_no_namespace_is_reached_through_another(shared_server: Server) -> None:
    with shared_server.client() as client:
        for name in ("default", "kube-system"):
            assert client.get(f"/api/v1/namespaces/{name}")["metadata"]["name"] == name
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            status, _ = client.call(method, "/api/v1/namespaces/default/namespaces/kube-system", {})
            assert status == 404, method
