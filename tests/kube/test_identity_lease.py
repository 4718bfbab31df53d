"""The Lease of a server: held while it runs; those of servers that are gone are removed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

from kapi.server.identity import api_server_id
from tests.server_process import Client, Server

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
IDENTITY = "apiserver.kubernetes.io/identity"


def wait_for(client: Client, name: str, wanted: Callable[[Any], object]) -> Any:
    response = client.send("GET", f"{LEASES}?watch=true&fieldSelector=metadata.name={name}")
    while line := response.readline():
        event = json.loads(line)
        if wanted(event):
            client.connection.close()
            return event["object"]
    raise AssertionError(f"the watch on {name} ended")


def test_a_server_holds_a_lease_by_its_name(shared_server: Server) -> None:
    with shared_server.client() as client:
        lease = wait_for(client, api_server_id(), lambda event: event["type"] == "ADDED")
    assert lease["metadata"]["labels"] == {IDENTITY: "kube-apiserver", "kubernetes.io/hostname": socket.gethostname()}
    assert lease["spec"]["holderIdentity"].startswith(f"{api_server_id()}_")
    assert lease["spec"]["leaseDurationSeconds"] == 3600
    assert lease["spec"]["renewTime"]


def test_leases_that_have_run_out_are_removed_at_the_start_and_others_stay(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    labels = {IDENTITY: "kube-apiserver"}
    long_ago = {"renewTime": "2020-01-01T00:00:00.000000Z", "leaseDurationSeconds": 3600, "holderIdentity": "x"}
    in_force = {**long_ago, "renewTime": "2120-01-01T00:00:00.000000Z"}
    with server.client() as client:
        client.create(LEASES, {"metadata": {"name": "gone", "labels": labels}, "spec": long_ago})
        client.create(LEASES, {"metadata": {"name": "gone-too", "labels": labels}, "spec": {"holderIdentity": "x"}})
        client.create(LEASES, {"metadata": {"name": "there", "labels": labels}, "spec": in_force})
        client.create(LEASES, {"metadata": {"name": "other"}, "spec": long_ago})
    assert server.stop() == 0
    server.start()
    names: set[str] = set()
    with server.client() as client:
        response = client.send("GET", f"{LEASES}?watch=true")
        # Those come before the others, which are waited for.
        while names & {"gone", "gone-too"} or not {"there", "other", api_server_id()} <= names:
            event = json.loads(response.readline())
            name = event["object"]["metadata"]["name"]
            if event["type"] == "DELETED":
                names.discard(name)
            else:
                names.add(name)
        client.connection.close()
        left = {item["metadata"]["name"] for item in client.get(LEASES)["items"]}
    assert left & {"gone", "gone-too", "there", "other"} == {"there", "other"}
