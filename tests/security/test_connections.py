"""Requests that hide another one, and upgrades that come to nothing."""

from __future__ import annotations

import pytest

ROOT = b"Authorization: Bearer root-token\r\n"
ALICE = b"Authorization: Bearer alice-token\r\n"
HIDDEN = b"GET /api/v1/namespaces/default/secrets HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
WEBSOCKET = (
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"
)
EXEC = b"GET /api/v1/namespaces/default/pods/shell/exec?command=id&stdout=1 HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        b"Content-Length: 0\r\nContent-Length: 90\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: +0\r\n\r\n",
        b"Content-Length: 0\n\r\n\r\n",
    ],
)
def test_a_request_whose_end_is_in_doubt_takes_its_connection_along(raw, framing):
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\n" + ROOT
    (answer,) = raw(head + framing + HIDDEN)
    assert answer[:3] in (b"400", b"501")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (EXEC + ROOT + WEBSOCKET + b"\r\n", b"404"),
        (EXEC + ALICE + WEBSOCKET + b"\r\n", b"403"),
        (EXEC.replace(b"GET", b"POST") + ROOT + b"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", b"404"),
        (b"GET /api HTTP/1.1\r\nHost: x\r\n" + ROOT + WEBSOCKET + b"\r\n", b"200"),
        (
            b"GET /api HTTP/1.1\r\nHost: x\r\n"
            + ROOT
            + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
            b"200",
        ),
    ],
)
def test_after_an_upgrade_that_was_refused_everything_is_a_request_of_its_own(raw, request_, status):
    """There is nobody behind the connection, and what comes next has to say who it is."""
    refused, following = raw(request_ + HIDDEN)
    assert refused.startswith(status)
    assert following.startswith(b"403")
    assert b'User \\"system:anonymous\\"' in following


def test_to_read_a_pods_exec_is_not_to_run_commands(root, guarded):
    """A WebSocket begins with a GET: it needs the permission to create, too."""
    name, rules = "exec-reader", [{"apiGroups": [""], "resources": ["pods/exec", "pods/attach"], "verbs": ["get"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    root.create(f"{roles}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}
    root.create(
        f"{roles}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    )
    with guarded.client("reader") as reader:
        for subresource in ("exec", "attach"):
            path = f"/api/v1/namespaces/default/pods/shell/{subresource}?command=id"
            status, body = reader.call("GET", path, connection="Upgrade", upgrade="websocket")
            assert (status, body["reason"]) == (403, "Forbidden")
            assert body["message"].startswith('pods "shell" is forbidden: ')
        assert reader.call("POST", "/api/v1/namespaces/default/pods/shell/exec?command=id")[0] == 403
