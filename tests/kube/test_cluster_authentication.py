"""What other servers must know of this cluster's clients: told in a ConfigMap, added to what is there, put back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kapi.wire.pki import Authority
from tests.server_process import Client, Server

CONFIGS = "/api/v1/namespaces/kube-system/configmaps"
NAME = "extension-apiserver-authentication"


def states(client: Client) -> Iterator[Any]:
    response = client.send("GET", f"{CONFIGS}?watch=true&fieldSelector=metadata.name={NAME}")
    while line := response.readline():
        event = json.loads(line)
        if event["type"] != "DELETED":
            yield event["object"]


def data_when(client: Client, wanted: Callable[[dict[str, str]], object]) -> dict[str, str]:
    found: dict[str, str] = next(state["data"] for state in states(client) if wanted(state["data"]))
    client.connection.close()
    return found


def test_without_a_front_proxy_only_the_clients_ca_is_told(shared_server: Server) -> None:
    with shared_server.client() as client:
        data = data_when(client, lambda _: True)
    assert data == {"client-ca-file": shared_server.authority.ensure().read_text()}


def test_the_front_proxys_ca_and_headers_are_told(new_server: Callable[..., Server], tmp_path: Path) -> None:
    proxy = Authority(tmp_path / "proxy").ensure()
    server = new_server(
        f"--requestheader-client-ca-file={proxy}",
        "--requestheader-allowed-names=front-proxy,other",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    ).start()
    with server.client() as client:
        data = data_when(client, lambda data: "requestheader-client-ca-file" in data)
    assert data == {
        "client-ca-file": server.authority.ensure().read_text(),
        "requestheader-client-ca-file": proxy.read_text(),
        "requestheader-allowed-names": '["front-proxy","other"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-uid-headers": "[]",
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }


def test_what_another_server_told_stays_and_what_is_deleted_comes_back(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = new_server().start()
    own = server.authority.ensure().read_text()
    other = Authority(tmp_path / "other").ensure().read_text()
    with server.client() as client:
        found = next(states(client))
        client.connection.close()
    with server.client() as client:
        status, body = client.call("PUT", f"{CONFIGS}/{NAME}", {**found, "data": {"client-ca-file": other}})
        assert status == 200, body
        data = data_when(client, lambda data: own in data.get("client-ca-file", ""))
        assert data == {"client-ca-file": other + own}
    with server.client() as client:
        client.call("DELETE", f"{CONFIGS}/{NAME}")
        assert data_when(client, lambda _: True) == {"client-ca-file": own}
