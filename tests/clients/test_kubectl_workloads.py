"""kubectl on workloads: the commands that read, compare, scale, wait and explain."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.clients.kubectl import Kubectl
from tests.server_process import Server

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        ports: [{containerPort: 80}]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: one}}
spec:
  containers:
  - {name: main, image: "main:1"}
"""


def rolled_out(kubectl: Kubectl, **status: int) -> None:
    """Say what the deployment controller would."""
    generation = kubectl.json("get", "deploy", "web")["metadata"]["generation"]
    patch = {"status": {"observedGeneration": generation, **status}}
    kubectl("patch", "deploy", "web", "--subresource=status", "--type=merge", "-p", json.dumps(patch))


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_deployment_is_printed_narrow_and_wide(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", text=DEPLOYMENT) == "deployment.apps/web created\n"
    narrow = rows(kubectl("get", "deploy"))
    assert narrow[0] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert narrow[1][:4] == ["web", "0/2", "0", "0"]
    wide = rows(kubectl("get", "deploy", "-o", "wide", "--show-labels"))
    assert wide[0][5:] == ["CONTAINERS", "IMAGES", "SELECTOR", "LABELS"]
    assert wide[1][5:] == ["web", "web:1", "app=web", "app=web"]
    assert kubectl("get", "deploy", "-o", "name") == "deployment.apps/web\n"
    assert "deployment.apps/web" in kubectl("get", "all", "-o", "name").splitlines()


def test_columns_templates_and_order_of_ones_own(kubectl: Kubectl) -> None:
    for name, replicas in (("web", 2), ("api", 5), ("job", 1)):
        text = DEPLOYMENT.replace("name: web\n  labels", f"name: {name}\n  labels")
        kubectl("create", "-f", "-", text=text.replace("replicas: 2", f"replicas: {replicas}"))
    columns = "custom-columns=N:.metadata.name,R:.spec.replicas"
    assert rows(kubectl("get", "deploy", "--no-headers", "-o", columns, "--sort-by={.spec.replicas}")) == [
        ["job", "1"],
        ["web", "2"],
        ["api", "5"],
    ]
    template = "{{range .items}}{{.metadata.name}} {{end}}"
    assert kubectl("get", "deploy", "-o", f"go-template={template}") == "api job web "
    assert kubectl("get", "deploy", "--field-selector=metadata.name!=web", "-o", "name").split() == [
        "deployment.apps/api",
        "deployment.apps/job",
    ]


def test_describing_tells_about_an_object_and_its_events(kubectl: Kubectl, own_namespace: str) -> None:
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    uid = kubectl.json("get", "deploy", "web")["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": own_namespace},
        "involvedObject": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "web",
            "namespace": own_namespace,
            "uid": uid,
        },
        "reason": "Noted",
        "message": "as it should be",
        "type": "Normal",
    }
    kubectl("create", "-f", "-", text=json.dumps(event))
    told = kubectl("describe", "deploy", "web")
    assert "Replicas:               2 desired | 0 updated | 0 total | 0 available | 0 unavailable" in told
    assert "25% max unavailable, 25% max surge" in told
    assert "Noted" in told
    assert "as it should be" in kubectl("events", "--for=deployment/web")
    assert "deployment/web" in kubectl("get", "events", "--field-selector=reason=Noted")


def test_an_edit_is_a_patch(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/replicas: 2/replicas: 4/; s/web:1/web:2/' \"$1\"\n")
    editor.chmod(0o755)
    kubectl.environment["KUBE_EDITOR"] = str(editor)
    assert kubectl("edit", "deploy", "web") == "deployment.apps/web edited\n"
    spec = kubectl.json("get", "deploy", "web")["spec"]
    assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (4, "web:2")
    assert "Edit cancelled, no changes made." in kubectl.run("edit", "deploy", "web").stderr


def test_scaling_minds_the_current_number(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    assert kubectl("scale", "deploy", "web", "--replicas=3") == "deployment.apps/web scaled\n"
    refused = kubectl.run("scale", "deploy", "web", "--current-replicas=2", "--replicas=9")
    assert refused.returncode == 1
    assert "Expected replicas to be 2, was 3" in refused.stderr
    assert kubectl.json("get", "deploy", "web", "--subresource=scale")["spec"] == {"replicas": 3}
    negative = {"spec": {"replicas": -1}}
    refused = kubectl.run("patch", "deploy", "web", "--subresource=scale", "--type=merge", "-p", json.dumps(negative))
    assert "must be greater than or equal to 0" in refused.stderr


def test_a_rollout_is_followed_to_its_end(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    waiting = kubectl.run("rollout", "status", "deploy/web", "--watch=false")
    assert waiting.stdout == "Waiting for deployment spec update to be observed...\n"
    with kubectl.start("rollout", "status", "deploy/web", "--timeout=20s") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "Waiting for deployment spec update to be observed...\n"
        rolled_out(kubectl, replicas=2, updatedReplicas=1)
        line = following.stdout.readline()
        assert "1 out of 2 new replicas have been updated" in line
        rolled_out(kubectl, replicas=2, updatedReplicas=2, readyReplicas=2, availableReplicas=2)
        assert following.stdout.read().splitlines()[-1] == 'deployment "web" successfully rolled out'
        assert following.wait() == 0


def test_the_history_of_a_rollout_is_its_replica_sets(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    assert "No rollout history found." in kubectl("rollout", "history", "deploy/web")
    deployment = kubectl.json("get", "deploy", "web")
    for revision in ("1", "2"):
        labels = {"app": "web", "pod-template-hash": f"h{revision}"}
        template = deployment["spec"]["template"]
        template["metadata"]["labels"] = labels
        template["spec"]["containers"][0]["image"] = f"web:{revision}"
        controller = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
        made = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"web-{revision}",
                "labels": labels,
                "annotations": {
                    "deployment.kubernetes.io/revision": revision,
                    "kubernetes.io/change-cause": f"reason {revision}",
                },
                "ownerReferences": [controller | {"uid": deployment["metadata"]["uid"]}],
            },
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        }
        kubectl("create", "-f", "-", text=json.dumps(made))
    assert rows(kubectl("rollout", "history", "deploy/web"))[2:4] == [["1", "reason", "1"], ["2", "reason", "2"]]
    assert "web:1" in kubectl("rollout", "history", "deploy/web", "--revision=1")
    assert kubectl("rollout", "undo", "deploy/web", "--to-revision=2") == "deployment.apps/web rolled back\n"
    containers = kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"]
    assert containers[0]["image"] == "web:2"


def test_images_restarts_and_pauses(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    assert kubectl("set", "image", "deploy/web", "web=web:9") == "deployment.apps/web image updated\n"
    kubectl("set", "env", "deploy/web", "COLOUR=blue")
    kubectl("set", "resources", "deploy/web", "--limits=cpu=200m,memory=64Mi")
    kubectl("rollout", "restart", "deploy/web")
    kubectl("rollout", "pause", "deploy/web")
    spec = kubectl.json("get", "deploy", "web")["spec"]
    assert spec["paused"] is True
    assert "kubectl.kubernetes.io/restartedAt" in spec["template"]["metadata"]["annotations"]
    container = spec["template"]["spec"]["containers"][0]
    assert container["image"] == "web:9"
    assert container["env"] == [{"name": "COLOUR", "value": "blue"}]
    assert container["resources"] == {"limits": {"cpu": "200m", "memory": "64Mi"}}
    kubectl("rollout", "resume", "deploy/web")
    assert "paused" not in kubectl.json("get", "deploy", "web")["spec"]


def test_waiting_for_a_condition_a_value_and_an_end(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=POD)
    late = kubectl.run("wait", "pod/one", "--for=condition=Ready", "--timeout=0s")
    assert late.returncode == 1
    waits = {
        "--for=condition=Ready": "pod/one condition met\n",
        "--for=jsonpath={.status.phase}=Running": "pod/one condition met\n",
    }
    waiting = {flag: kubectl.start("wait", "pod/one", flag, "--timeout=20s") for flag in waits}
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    kubectl("patch", "pod", "one", "--subresource=status", "-p", json.dumps(status))
    for flag, process in waiting.items():
        assert process.communicate(timeout=20)[0] == waits[flag]
    with kubectl.start("wait", "pod/one", "--for=delete", "--timeout=20s") as gone:
        kubectl("delete", "pod", "one", "--now")
        assert gone.wait(20) == 0


def test_a_dry_run_on_the_server_changes_nothing(kubectl: Kubectl) -> None:
    dry = "--dry-run=server"
    assert kubectl("create", dry, "-f", "-", text=DEPLOYMENT) == "deployment.apps/web created (server dry run)\n"
    assert kubectl("get", "deploy", "-o", "name") == ""
    shown = yaml.safe_load(kubectl("create", dry, "-o", "yaml", "-f", "-", text=DEPLOYMENT))
    assert shown["spec"]["strategy"]["type"] == "RollingUpdate"
    kubectl("create", "-f", "-", text=DEPLOYMENT)
    before = kubectl.json("get", "deploy", "web")
    forced = ("apply", dry, "--server-side", "--force-conflicts", "-f", "-")
    shown = kubectl(*forced, text=DEPLOYMENT.replace("web:1", "web:2"))
    assert shown == "deployment.apps/web serverside-applied (server dry run)\n"
    assert kubectl("label", dry, "deploy", "web", "a=b") == "deployment.apps/web labeled (server dry run)\n"
    assert kubectl("delete", dry, "deploy", "web") == 'deployment.apps "web" deleted (server dry run)\n'
    assert kubectl.json("get", "deploy", "web") == before
    refused = kubectl.run("apply", dry, "-f", "-", text=DEPLOYMENT.replace("replicas: 2", "replicas: -2"))
    assert "spec.replicas: Invalid value: -2: must be greater than or equal to 0" in refused.stderr


def test_a_list_in_chunks_is_the_whole_list(kubectl: Kubectl) -> None:
    many = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n:02}"}} for n in range(23)]
    kubectl("create", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": many}))
    wanted = [f"configmap/c{n:02}" for n in range(23)]
    for size in ("1", "5", "23", "500", "0"):
        assert kubectl("get", "cm", f"--chunk-size={size}", "-o", "name").split() == wanted
    assert len(kubectl("get", "cm", "--chunk-size=5", "--no-headers").splitlines()) == 23


def test_the_difference_between_a_manifest_and_what_runs(kubectl: Kubectl) -> None:
    absent = kubectl.run("diff", "-f", "-", text=DEPLOYMENT)
    assert (absent.returncode, "+  name: web" in absent.stdout) == (1, True)
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    assert kubectl.run("diff", "-f", "-", text=DEPLOYMENT).returncode == 0
    changed = kubectl.run("diff", "-f", "-", text=DEPLOYMENT.replace("web:1", "web:2"))
    assert changed.returncode == 1
    lines = [line.strip() for line in changed.stdout.splitlines() if line.startswith(("+ ", "- "))]
    assert "-      - image: web:1" in lines
    assert "+      - image: web:2" in lines


def test_fields_are_explained(kubectl: Kubectl) -> None:
    told = kubectl("explain", "deployment.spec.strategy")
    assert "FIELD: strategy <DeploymentStrategy>" in told
    assert "rollingUpdate\t<RollingUpdateDeployment>" in told
    assert "containers\t<[]Container> -required-" in kubectl("explain", "pod.spec")
    assert "averageUtilization" in kubectl("explain", "hpa.spec.metrics.resource", "--recursive")
    assert "GROUP:      batch" in kubectl("explain", "cronjob", "--api-version=batch/v1")
    unknown = kubectl.run("explain", "pod.spec.nothing")
    assert (unknown.returncode, 'field "nothing" does not exist' in unknown.stderr) == (1, True)


def test_kinds_are_found_by_verb_group_and_short_name(kubectl: Kubectl) -> None:
    apps = kubectl("api-resources", "--api-group=apps", "-o", "name").split()
    assert sorted(apps) == [f"{name}.apps" for name in sorted(APPS)]
    cluster = kubectl("api-resources", "--namespaced=false", "--verbs=list,watch,delete", "-o", "name").split()
    assert {"nodes", "persistentvolumes", "clusterroles.rbac.authorization.k8s.io"} <= set(cluster)
    assert "pods" not in cluster
    for short in ("po", "svc", "deploy", "sts", "ds", "cj", "hpa", "ing", "netpol", "pdb", "pvc", "sa", "quota"):
        assert kubectl("get", short, "-o", "name", "--ignore-not-found") in ("", "serviceaccount/default\n")
    unknown = kubectl.run("get", "nothings")
    assert 'the server doesn\'t have a resource type "nothings"' in unknown.stderr


APPS = ("controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets")


def test_who_am_i_and_what_may_i(kubectl: Kubectl) -> None:
    assert ["Username", "admin"] in rows(kubectl("auth", "whoami"))
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert ["*.*", "[]", "[]", "[*]"] in rows(kubectl("auth", "can-i", "--list"))


def test_permissions_follow_roles(new_server: Callable[..., Server], tmp_path: Path) -> None:
    kubectl = Kubectl(new_server("--authorization-mode=RBAC").start(), tmp_path, "default")
    may = ("auth", "can-i", "--as=bob")
    assert kubectl.run(*may, "list", "pods").stdout == "no\n"
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "bob", "--role=reader", "--user=bob")
    assert kubectl(*may, "list", "pods") == "yes\n"
    assert kubectl.run(*may, "delete", "pods").stdout == "no\n"
    refused = kubectl.run("--as=bob", "get", "secrets")
    assert refused.stderr.startswith('Error from server (Forbidden): secrets is forbidden: User "bob" cannot list')
    assert "No resources found" in kubectl.run("--as=bob", "get", "pods").stderr


def test_a_client_side_apply_becomes_a_server_side_one(kubectl: Kubectl) -> None:
    """kubectl moves what it owned by then to the manager of the apply, and keeps its annotation under another."""
    kubectl("apply", "-f", "-", text=DEPLOYMENT)
    kubectl("apply", "--server-side", "-f", "-", text=DEPLOYMENT.replace("ports: [{containerPort: 80}]", ""))
    seen = kubectl.json("get", "deploy", "web", "--show-managed-fields")
    assert "ports" not in seen["spec"]["template"]["spec"]["containers"][0]
    managers = [(entry["manager"], entry["operation"]) for entry in seen["metadata"]["managedFields"]]
    assert managers == [("kubectl-last-applied", "Apply"), ("kubectl", "Apply")]
    assert (
        kubectl.run(
            "diff", "--server-side", "-f", "-", text=DEPLOYMENT.replace("ports: [{containerPort: 80}]", "")
        ).returncode
        == 0
    )


def test_objects_made_by_generators(kubectl: Kubectl) -> None:
    """What `kubectl create KIND` sends is accepted as it is."""
    made = {
        "role.rbac.authorization.k8s.io/r": ("role", "r", "--verb=get,list", "--resource=pods"),
        "rolebinding.rbac.authorization.k8s.io/rb": ("rolebinding", "rb", "--role=r", "--user=bob"),
        "serviceaccount/robot": ("serviceaccount", "robot"),
        "job.batch/once": ("job", "once", "--image=main:1", "--", "true"),
        "cronjob.batch/often": ("cronjob", "often", "--image=main:1", "--schedule=*/5 * * * *", "--", "true"),
        "service/plain": ("service", "clusterip", "plain", "--tcp=80:8080"),
        "service/outside": ("service", "nodeport", "outside", "--tcp=80"),
        "ingress.networking.k8s.io/door": ("ingress", "door", "--rule=example.org/*=plain:80"),
        "poddisruptionbudget.policy/floor": ("pdb", "floor", "--selector=app=web", "--min-available=50%"),
        "resourcequota/limits": ("quota", "limits", "--hard=secrets=100"),
        "secret/tls": ("secret", "generic", "tls", "--from-literal=a=b"),
        "deployment.apps/quick": ("deployment", "quick", "--image=main:1", "--replicas=2"),
    }
    for name, arguments in made.items():
        assert kubectl("create", *arguments) == f"{name} created\n"
    kubectl("expose", "deploy", "quick", "--port=80", "--name=exposed")
    kubectl("autoscale", "deploy", "quick", "--min=1", "--max=3", "--cpu-percent=50")
    kubectl("run", "alone", "--image=main:1")
    kubectl("create", "job", "now", "--from=cronjob/often")


def test_what_needs_a_node_says_so(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", text=POD)
    assert rows(kubectl("get", "pod", "-o", "wide", "--no-headers"))[0][:4] == ["one", "0/1", "Pending", "0"]
    assert kubectl("logs", "one") == ""
    refused = kubectl.run("exec", "one", "--", "true")
    assert refused.returncode == 1
    assert "pod one does not have a host assigned" in refused.stderr


def test_a_replace_by_force_is_a_new_object(kubectl: Kubectl, shared_server: Server) -> None:
    kubectl("create", "-f", "-", text=POD)
    before = kubectl.json("get", "pod", "one")["metadata"]["uid"]
    refused = kubectl.run("replace", "-f", "-", text=POD.replace("name: main", "name: other"))
    assert "pod updates may not change fields" in refused.stderr
    kubectl("replace", "--force", "--grace-period=0", "-f", "-", text=POD.replace("name: main", "name: other"))
    after = kubectl.json("get", "pod", "one")
    assert after["metadata"]["uid"] != before
    assert after["spec"]["containers"][0]["name"] == "other"
