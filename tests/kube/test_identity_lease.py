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
        client.create(LEASES, {"metadata": {"name": "unsaid", "labels": labels}, "spec": {"holderIdentity": "x"}})
        client.create(LEASES, {"metadata": {"name": "there", "labels": labels}, "spec": in_force})
        client.create(LEASES, {"metadata": {"name": "other"}, "spec": long_ago})
    assert server.stop() == 0
    server.start()
    # The first renewal of the restarted server is by a new holder; the removal may be before or after it.
    with server.client() as client:
        version = client.get(LEASES)["metadata"]["resourceVersion"]
        names = {item["metadata"]["name"] for item in client.get(LEASES)["items"]}
        response = client.send("GET", f"{LEASES}?watch=true&resourceVersion={version}")
        while names & {"gone", "unsaid"}:
            event = json.loads(response.readline())
            if event["type"] == "DELETED":
                names.remove(event["object"]["metadata"]["name"])
        client.connection.close()
    assert {"there", "other", api_server_id()} <= names
