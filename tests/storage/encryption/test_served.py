"""A server with encryption, by its public API and by the bytes in its file."""

from __future__ import annotations

import json
import sqlite3

import pytest

from tests.storage.encryption.vault import key, keyed

SECRETS = "/api/v1/namespaces/default/secrets"


def write(path, *providers, resources=("secrets",)):
    content = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    path.write_text(json.dumps(content | {"resources": [{"resources": resources, "providers": providers}]}))


def secret(name):
    return {"metadata": {"name": name}, "data": {"word": "c2VzYW1l"}}


def stored(server, name):
    with sqlite3.connect(f"file:{server.folder / 'data' / 'kapi.db'}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT value FROM log WHERE key LIKE ? ORDER BY rev", (f"%/{name}",)).fetchall()
    database.close()
    return rows[-1][0]


def test_a_secret_is_not_in_plain_in_the_file_moves_to_a_new_key_and_is_told_of_without_it(new_server, tmp_path):
    file = tmp_path / "encryption.json"
    write(file, keyed("aesgcm", key("old", "a")))
    server = new_server(f"--encryption-provider-config={file}").start()
    with server.client() as client:
        client.create(SECRETS, secret("a"))
        client.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "plain"}, "data": {"a": "b"}})
        assert client.get(f"{SECRETS}/a")["data"] == {"word": "c2VzYW1l"}
        assert "transformation_operations_total" in client.text("/metrics")[1]
    server.stop()
    for path in (server.folder / "data").iterdir():
        assert b"c2VzYW1l" not in path.read_bytes(), path
    assert stored(server, "a").startswith(b"k8s:enc:aesgcm:v1:old:")
    assert stored(server, "plain").startswith(b"{")

    write(file, keyed("secretbox", key("new", "b")), keyed("aesgcm", key("old", "a")))
    server.start()
    with server.client() as client:
        status, body = client.call("PUT", f"{SECRETS}/a", client.get(f"{SECRETS}/a"))
        assert status == 200, body
        client.create(SECRETS, secret("b"))
    server.stop()
    assert stored(server, "a").startswith(b"k8s:enc:secretbox:v1:new:")

    write(file, keyed("secretbox", key("other", "b")))
    server.start()
    why = "no matching key was found for the provided Secretbox transformer"
    where = "/registry/secrets/default/a"
    report = (
        f"StorageError: corrupt object, Code: 7, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"data from the storage is not transformable revision=0: {why}"
    )
    with server.client() as client:
        status, body = client.call("GET", f"{SECRETS}/a")
        assert (status, body["reason"]) == (500, "InternalError")
        assert body["message"] == f"Internal error occurred: {report.replace('/registry', '')}"
        status, body = client.call("GET", SECRETS)
        assert (status, body["reason"]) == (500, "StorageReadError")
        assert body["message"] == f"failed to read one or more secrets from the storage: {report} (and 1 more)"
        assert body["details"]["causes"][0] == {
            "reason": "UnexpectedServerResponse",
            "message": report,
            "field": where,
        }
        status, body = client.call("DELETE", f"{SECRETS}/a")
        assert status == 500
        client.create(SECRETS, secret("c"))
        assert client.get(f"{SECRETS}/c")["data"] == {"word": "c2VzYW1l"}
    server.stop()
    assert stored(server, "a").startswith(b"k8s:enc:secretbox:v1:new:"), "nothing is lost"


def test_a_configuration_that_cannot_be_used_keeps_the_server_from_starting(new_server, tmp_path):
    file = tmp_path / "encryption.json"
    write(file, keyed("aesgcm", key("short", "a", 5)))
    server = new_server(f"--encryption-provider-config={file}").launch()
    assert server.exit_status() != 0
    assert "secret is not of the expected length, got 5, expected one of [16 24 32]" in server.said


def test_a_plugin_is_asked_after_by_healthz_and_readyz_but_not_by_livez(new_server, tmp_path, plugin):
    file = tmp_path / "encryption.json"
    write(file, plugin.provider(), resources=("*.*",))
    server = new_server(f"--encryption-provider-config={file}").start()
    with server.client() as client:
        assert client.text("/healthz/kms-providers") == (200, "ok")
        assert "[+]kms-providers ok" in client.text("/readyz?verbose")[1]
        assert "kms-providers" not in client.text("/livez?verbose")[1]
        client.create(SECRETS, secret("a"))
        plugin.stop()
        assert client.get(f"{SECRETS}/a")["data"] == {"word": "c2VzYW1l"}
    server.stop()
    assert stored(server, "a").startswith(b"k8s:enc:kms:v2:vault:")
    assert stored(server, "default").startswith(b"k8s:enc:kms:v2:vault:"), "every resource is encrypted"


def test_reloading_has_its_hook_and_its_check_whatever_the_providers(new_server, tmp_path):
    file = tmp_path / "encryption.json"
    write(file, keyed("aescbc", key("a", "a")))
    server = new_server(f"--encryption-provider-config={file}", "--encryption-provider-config-automatic-reload").start()
    with server.client() as client:
        said = client.text("/readyz?verbose")[1]
    assert "[+]kms-providers ok" in said
    assert "[+]poststarthook/start-encryption-provider-config-automatic-reload ok" in said


@pytest.mark.etcd
def test_on_etcd_two_servers_read_and_watch_what_the_other_has_encrypted(new_server, tmp_path, etcd, plugin):
    file = tmp_path / "encryption.json"
    write(file, plugin.provider(), resources=("secrets", "widgets.example.com"))
    flags = (
        f"--encryption-provider-config={file}",
        f"--etcd-servers={etcd.url}",
        f"--etcd-prefix=/{tmp_path.name}",
    )
    one, two = new_server(*flags).start(), new_server(*flags).start()
    with one.client() as first, two.client() as second:
        since = second.get(SECRETS)["metadata"]["resourceVersion"]
        first.create(SECRETS, secret("a"))
        response = second.send("GET", f"{SECRETS}?watch=1&resourceVersion={since}&timeoutSeconds=20")
        event = json.loads(response.readline())
        assert (event["type"], event["object"]["data"]) == ("ADDED", {"word": "c2VzYW1l"})
    assert plugin.calls.count("Decrypt") == 1


def test_what_cannot_be_read_is_removed_by_who_insists(new_server, tmp_path):
    file, insisting = tmp_path / "encryption.json", {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    write(file, keyed("aesgcm", key("lost", "a")))
    server = new_server(f"--encryption-provider-config={file}").start()
    with server.client() as client:
        client.create(SECRETS, secret("a"))
        status, answer = client.call("DELETE", f"{SECRETS}/a", insisting)
        assert (status, answer["reason"]) == (409, "Conflict")
        assert "unsafe deletion is not allowed because the object is decodable from storage" in answer["message"]
    server.stop()
    write(file, keyed("aesgcm", key("found", "b")))
    server.start()
    with server.client() as client:
        assert client.call("DELETE", f"{SECRETS}/a")[0] == 500
        status, answer = client.call("DELETE", f"{SECRETS}/a", {**insisting, "gracePeriodSeconds": 0})
        assert status == 422
        assert "cannot be set together with .gracePeriodSeconds" in answer["message"]
        assert client.call("DELETE", SECRETS, insisting)[0] == 422
        assert client.call("DELETE", f"{SECRETS}/a", {**insisting, "dryRun": ["All"]})[0] == 200
        status, answer = client.call("DELETE", f"{SECRETS}/a", insisting)
        assert (status, answer["details"]) == (200, {"name": "a", "kind": "Secret"})
        assert client.call("DELETE", f"{SECRETS}/a", insisting)[0] == 404
        assert client.get(SECRETS)["items"] == []


def test_who_may_delete_may_not_therefore_insist(new_server, tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('admintoken,admin,1,"system:masters"\nusertoken,alice,2\n')
    server = new_server(f"--token-auth-file={tokens}", "--authorization-mode=RBAC").start()
    group = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rule = {"verbs": ["delete"], "apiGroups": [""], "resources": ["secrets"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "r"}, "roleRef": role, "subjects": [{"kind": "User", "name": "alice"}]}
    with server.client("", token="admintoken") as admin, server.client("", token="usertoken") as alice:
        admin.create(f"{group}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
        admin.create(f"{group}/rolebindings", binding)
        admin.create(SECRETS, secret("a"))
        insisting = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
        status, answer = alice.call("DELETE", f"{SECRETS}/a", insisting)
        assert status == 403
        assert answer["message"] == (
            'secrets "a" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: '
        )
        assert alice.call("DELETE", f"{SECRETS}/a")[0] == 200
