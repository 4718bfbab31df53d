"""kubectl, as people type it, against a real server. Skipped where kubectl is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.clients.kubectl import Kubectl
from tests.server_process import Server

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")

MANIFEST = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  labels: {{team: blue}}
data:
  sky: blue
"""


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    path = tmp_path / "manifest.yaml"
    path.write_text(MANIFEST.format(name="colours"))
    return str(path)


def test_the_version_is_that_of_the_api(kubectl: Kubectl) -> None:
    assert kubectl.json("version")["serverVersion"]["gitVersion"] == "v1.37.0"


def test_cluster_info_says_where_it_runs(kubectl: Kubectl, shared_server: Server) -> None:
    assert f"Kubernetes control plane is running at {shared_server.url}\n" in kubectl("cluster-info")


def test_the_resources_are_discovered(kubectl: Kubectl) -> None:
    lines = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    assert ["configmaps", "cm", "v1", "true", "ConfigMap"] in lines
    assert ["namespaces", "ns", "v1", "false", "Namespace"] in lines
    assert ["apiservices", "apiregistration.k8s.io/v1", "false", "APIService"] in lines
    assert "v1" in kubectl("api-versions").split()


def test_a_manifest_is_created_once(kubectl: Kubectl, manifest: str) -> None:
    assert kubectl("create", "-f", manifest) == "configmap/colours created\n"
    again = kubectl.run("create", "-f", manifest)
    assert again.returncode == 1
    assert 'configmaps "colours" already exists' in again.stderr


def test_unknown_fields_are_refused(kubectl: Kubectl) -> None:
    refused = kubectl.run("create", "-f", "-", text=MANIFEST.format(name="odd") + "dta: {}\n")
    assert refused.returncode == 1
    assert 'unknown field "dta"' in refused.stderr


def test_one_object_in_every_form(kubectl: Kubectl, manifest: str) -> None:
    kubectl("create", "-f", manifest)
    assert yaml.safe_load(kubectl("get", "cm", "colours", "-o", "yaml"))["data"] == {"sky": "blue"}
    assert kubectl.json("get", "cm/colours")["metadata"]["labels"] == {"team": "blue"}
    assert kubectl("get", "configmaps", "-o", "name") == "configmap/colours\n"
    header, row = (line.split() for line in kubectl("get", "cm", "-o", "wide").splitlines())
    assert (header, row[:2]) == (["NAME", "DATA", "AGE"], ["colours", "1"])
    assert kubectl("get", "cm", "-l", "team=red", "-o", "name") == ""
    assert kubectl("get", "cm", "colours", "-o", "jsonpath={.data.sky}") == "blue"
    assert "sky" in kubectl("describe", "cm", "colours")


def test_apply_changes_what_the_manifest_says(kubectl: Kubectl, manifest: str) -> None:
    assert kubectl("apply", "-f", manifest) == "configmap/colours created\n"
    assert kubectl("apply", "-f", manifest) == "configmap/colours unchanged\n"
    text = MANIFEST.format(name="colours").replace("sky: blue", "sea: green")
    assert kubectl("apply", "-f", "-", text=text) == "configmap/colours configured\n"
    assert kubectl.json("get", "cm", "colours")["data"] == {"sea": "green"}


def test_server_side_apply_names_the_owner_of_a_conflicting_field(kubectl: Kubectl) -> None:
    text = MANIFEST.format(name="owned")
    applied = "configmap/owned serverside-applied\n"
    assert kubectl("apply", "--server-side", "-f", "-", text=text) == applied
    theirs = ("apply", "--server-side", "--field-manager=someone", "-f", "-")
    red = text.replace("sky: blue", "sky: red")
    refused = kubectl.run(*theirs, text=red)
    assert refused.returncode == 1
    assert 'conflict with "kubectl": .data.sky' in refused.stderr
    assert kubectl(*theirs, "--force-conflicts", text=red) == applied
    assert kubectl.json("get", "cm", "owned")["data"] == {"sky": "red"}


def test_labels_annotations_and_the_three_patches(kubectl: Kubectl, manifest: str) -> None:
    kubectl("create", "-f", manifest)
    assert kubectl("label", "cm", "colours", "team=red", "--overwrite") == "configmap/colours labeled\n"
    assert kubectl("annotate", "cm", "colours", "why=because") == "configmap/colours annotated\n"
    kubectl("patch", "cm", "colours", "-p", '{"data":{"sea":"green"}}')
    kubectl("patch", "cm", "colours", "--type=merge", "-p", '{"data":{"sky":null}}')
    kubectl("patch", "cm", "colours", "--type=json", "-p", '[{"op":"add","path":"/data/sun","value":"red"}]')
    seen = kubectl.json("get", "cm", "colours")
    assert seen["data"] == {"sea": "green", "sun": "red"}
    assert seen["metadata"]["labels"] == {"team": "red"}
    assert seen["metadata"]["annotations"] == {"why": "because"}


def test_a_replace_with_an_old_version_is_a_conflict(kubectl: Kubectl, manifest: str) -> None:
    kubectl("create", "-f", manifest)
    old = kubectl("get", "cm", "colours", "-o", "yaml")
    kubectl("label", "cm", "colours", "changed=yes")
    refused = kubectl.run("replace", "-f", "-", text=old)
    assert refused.returncode == 1
    assert "the object has been modified" in refused.stderr


def test_literals_become_objects(kubectl: Kubectl) -> None:
    """kubectl sends these as protobuf."""
    assert kubectl("create", "configmap", "colours", "--from-literal=sky=blue") == "configmap/colours created\n"
    assert kubectl.json("get", "cm", "colours")["data"] == {"sky": "blue"}
    kubectl("create", "secret", "generic", "password", "--from-literal=word=open")
    assert kubectl.json("get", "secret", "password")["data"] == {"word": "b3Blbg=="}


def test_a_watch_prints_every_change(kubectl: Kubectl) -> None:
    with kubectl.start("get", "cm", "-w", "--no-headers", "--output-watch-events") as watching:
        assert watching.stdout is not None
        try:
            # The watch may begin before or after the first object is there: both print it.
            kubectl("create", "-f", "-", text=MANIFEST.format(name="one"))
            assert watching.stdout.readline().split()[:2] == ["ADDED", "one"]
            kubectl("label", "cm", "one", "changed=yes")
            assert watching.stdout.readline().split()[:2] == ["MODIFIED", "one"]
            kubectl("delete", "cm", "one")
            assert watching.stdout.readline().split()[:2] == ["DELETED", "one"]
        finally:
            watching.terminate()


def test_deleting_waits_for_the_end_and_by_label_takes_all(kubectl: Kubectl) -> None:
    for name in ("one", "two"):
        kubectl("create", "-f", "-", text=MANIFEST.format(name=name))
    assert kubectl("delete", "cm", "one") == 'configmap "one" deleted\n'
    kubectl("delete", "cm", "-l", "team=blue")
    assert kubectl("get", "cm", "-o", "name") == ""
    missing = kubectl.run("get", "cm", "one")
    assert missing.returncode == 1
    assert missing.stderr == 'Error from server (NotFound): configmaps "one" not found\n'


def test_a_namespace_that_is_deleted_takes_nothing_more(kubectl: Kubectl, manifest: str) -> None:
    kubectl("create", "namespace", "leaving")
    kubectl("delete", "namespace", "leaving", "--wait=false")
    assert kubectl("get", "ns", "leaving", "--no-headers").split()[1] == "Terminating"
    refused = kubectl.run("create", "-n", "leaving", "-f", manifest)
    assert refused.returncode == 1
    assert "because it is being terminated" in refused.stderr


def test_what_was_created_survives_a_restart(new_server: Callable[..., Server], tmp_path: Path, manifest: str) -> None:
    server = new_server().start()
    kubectl = Kubectl(server, tmp_path, "default")
    kubectl("apply", "-f", manifest)
    before = kubectl.json("get", "cm", "colours")
    assert server.stop() == 0
    refused = kubectl.run("get", "cm", "colours")
    assert refused.returncode == 1
    assert "refused" in refused.stderr
    server.start()
    assert kubectl.json("get", "cm", "colours") == before
    assert kubectl("apply", "-f", manifest) == "configmap/colours unchanged\n"
