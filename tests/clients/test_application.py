"""A realistic application through its life with kubectl: applied, unchanged, changed, rolled out, pruned, deleted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.clients.kubectl import Kubectl

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")

MANIFEST = Path(__file__).parent / "manifests" / "web-app.yaml"
OBJECTS = [
    "serviceaccount/shop",
    "configmap/shop-settings",
    "secret/shop-database",
    "role.rbac.authorization.k8s.io/shop",
    "rolebinding.rbac.authorization.k8s.io/shop",
    "deployment.apps/shop",
    "service/shop",
    "ingress.networking.k8s.io/shop",
    "horizontalpodautoscaler.autoscaling/shop",
    "poddisruptionbudget.policy/shop",
    "networkpolicy.networking.k8s.io/shop-database",
    "service/shop-database",
    "statefulset.apps/shop-database",
    "cronjob.batch/shop-cleanup",
]

# kubectl patches these at every apply: stringData, $retainKeys, replaced lists and selectors, "0.5" for "500m".
ALWAYS_PATCHED = {
    "secret/shop-database",
    "deployment.apps/shop",
    "poddisruptionbudget.policy/shop",
    "networkpolicy.networking.k8s.io/shop-database",
    "statefulset.apps/shop-database",
}


@pytest.fixture
def new_release(tmp_path: Path) -> str:
    """The next version: a new image, another replica, another setting, a smaller budget."""
    text = MANIFEST.read_text()
    for old, new in (
        ("shop:1.0", "shop:2.0"),
        ("replicas: 2", "replicas: 3"),
        ("LOG_LEVEL: info", "LOG_LEVEL: debug"),
        ("  - {name: metrics, port: 9090, targetPort: metrics}\n", ""),
        ("maxUnavailable: 1\n", "maxUnavailable: 25%\n"),
    ):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "next.yaml"
    path.write_text(text)
    return str(path)


def outcomes(printed: str) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in printed.splitlines())


def apply_flags(how: str) -> list[str]:
    return ["apply", "--server-side"] if how == "server" else ["apply"]


@pytest.mark.parametrize("how", ["client", "server"])
def test_an_application_is_applied_changed_and_deleted(kubectl: Kubectl, new_release: str, how: str) -> None:
    apply = apply_flags(how)
    first, same, next_ = {
        "client": ("created", "unchanged", "configured"),
        "server": ("serverside-applied",) * 3,
    }[how]
    assert outcomes(kubectl(*apply, "-f", str(MANIFEST))) == dict.fromkeys(OBJECTS, first)
    versions = {item: version(kubectl, item) for item in OBJECTS}

    again = outcomes(kubectl(*apply, "-f", str(MANIFEST)))
    assert again == {item: next_ if item in ALWAYS_PATCHED else same for item in OBJECTS}
    assert {item: version(kubectl, item) for item in OBJECTS} == versions
    server_side = ["--server-side"] if how == "server" else []
    assert kubectl.run("diff", *server_side, "-f", str(MANIFEST)).returncode == 0

    coming = kubectl.run("diff", *server_side, "-f", new_release)
    assert coming.returncode == 1
    assert "+  LOG_LEVEL: debug" in coming.stdout
    assert coming.stdout.count("+        image: registry.example/shop:2.0") == 2

    done = outcomes(kubectl(*apply, "-f", new_release))
    assert done["deployment.apps/shop"] == next_
    assert done["role.rbac.authorization.k8s.io/shop"] == same
    deployment = kubectl.json("get", "deploy", "shop")
    assert deployment["metadata"]["generation"] == 2
    assert [port["name"] for port in kubectl.json("get", "svc", "shop")["spec"]["ports"]] == ["http"]
    assert kubectl.json("get", "sts", "shop-database")["spec"]["replicas"] == 3
    assert kubectl.json("get", "pdb", "shop")["spec"]["maxUnavailable"] == "25%"
    changed = {item for item in OBJECTS if version(kubectl, item) != versions[item]}
    assert changed == {
        "configmap/shop-settings",
        "deployment.apps/shop",
        "service/shop",
        "poddisruptionbudget.policy/shop",
        "statefulset.apps/shop-database",
        "cronjob.batch/shop-cleanup",
    }

    kubectl("delete", "-f", new_release)
    for item in OBJECTS:
        assert kubectl("get", item, "--ignore-not-found", "-o", "name") == ""


def version(kubectl: Kubectl, item: str) -> str:
    return kubectl("get", item, "-o", "jsonpath={.metadata.resourceVersion}")


def test_an_application_is_filled_in_as_kubernetes_does(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(MANIFEST))
    pod = kubectl.json("get", "deploy", "shop")["spec"]["template"]["spec"]
    assert (pod["restartPolicy"], pod["dnsPolicy"], pod["schedulerName"]) == (
        "Always",
        "ClusterFirst",
        "default-scheduler",
    )
    assert pod["serviceAccount"] == "shop"
    web = pod["containers"][0]
    assert web["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "http", "scheme": "HTTP"}
    assert web["imagePullPolicy"] == "IfNotPresent"
    assert web["env"][2]["valueFrom"]["resourceFieldRef"] == {"divisor": "0", "resource": "limits.memory"}
    claim = kubectl.json("get", "sts", "shop-database")["spec"]["volumeClaimTemplates"][0]
    assert (claim["kind"], claim["spec"]["volumeMode"], claim["status"]) == (
        "PersistentVolumeClaim",
        "Filesystem",
        {"phase": "Pending"},
    )
    assert kubectl.json("get", "secret", "shop-database")["data"] == {
        "password": "Y29ycmVjdCBob3JzZQ==",
        "username": "c2hvcA==",
    }
    assert kubectl.json("get", "netpol", "shop-database")["spec"]["ingress"][0]["ports"] == [
        {"port": 5432, "protocol": "TCP"}
    ]
    assert kubectl.json("get", "rolebinding", "shop")["subjects"][0]["name"] == "shop"
    assert kubectl.json("get", "svc", "shop-database")["spec"]["clusterIPs"] == ["None"]


def test_an_application_is_printed(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", str(MANIFEST))
    shown = {
        line.split()[0]: line.split()[1:]
        for line in kubectl("get", "-f", str(MANIFEST), "--no-headers").splitlines()
        if line
    }
    assert shown["deployment.apps/shop"][:3] == ["0/3", "0", "0"]
    assert shown["statefulset.apps/shop-database"][0] == "0/2"
    assert shown["ingress.networking.k8s.io/shop"][:3] == ["public", "shop.example.org", "80,"]
    assert shown["poddisruptionbudget.policy/shop"][:3] == ["N/A", "1", "0"]
    assert shown["service/shop-database"][:4] == ["ClusterIP", "None", "<none>", "5432/TCP"]
    assert shown["cronjob.batch/shop-cleanup"][:5] == ["30", "3", "*", "*", "*"]
    hpa = " ".join(shown["horizontalpodautoscaler.autoscaling/shop"])
    assert hpa.startswith("Deployment/shop cpu: <unknown>/70%, <unknown>/100 3 20 0")
    for item in OBJECTS:
        assert item.rpartition("/")[2] in kubectl("describe", item).splitlines()[0]


def test_a_rollout_of_the_application(kubectl: Kubectl, new_release: str) -> None:
    kubectl("apply", "-f", str(MANIFEST))
    kubectl("apply", "-f", new_release)
    done = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
    for kind, count in (("deploy/shop", {"observedGeneration": 2}), ("sts/shop-database", {"observedGeneration": 2})):
        revisions = {"currentRevision": "r", "updateRevision": "r"} if kind.startswith("sts") else {}
        patch = json.dumps({"status": done | count | revisions})
        kubectl("patch", kind, "--subresource=status", "--type=merge", "-p", patch)
    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/shop", "--timeout=10s")
    told = kubectl("rollout", "status", "sts/shop-database", "--timeout=10s")
    assert "partitioned roll out complete: 3 new pods have been updated" in told
    assert kubectl("get", "deploy", "shop", "--no-headers").split()[1] == "3/3"


def test_what_left_a_kustomization_is_pruned(kubectl: Kubectl, tmp_path: Path) -> None:
    folder = tmp_path / "kustomization"
    folder.mkdir()
    labels = {"pairs": {"release": "shop"}}
    (folder / "kustomization.yaml").write_text(json.dumps({"resources": ["app.yaml"], "labels": [labels]}))
    parts = MANIFEST.read_text().split("---\n")
    (folder / "app.yaml").write_text("---\n".join(parts))
    prune = ("apply", "--prune", "-l", "release=shop", "-k", str(folder))
    kubectl(*prune)
    kept = [part for part in parts if "kind: CronJob" not in part and "kind: Ingress" not in part]
    (folder / "app.yaml").write_text("---\n".join(kept))
    gone = {"cronjob.batch/shop-cleanup pruned", "ingress.networking.k8s.io/shop pruned"}
    assert {line for line in kubectl(*prune).splitlines() if line.endswith(" pruned")} == gone
    assert kubectl("get", "cj,ing", "-o", "name") == ""


def test_a_wrong_field_anywhere_is_named(kubectl: Kubectl) -> None:
    text = (
        MANIFEST.read_text()
        .replace("maxSurge: 1", "maxSurg: 1")
        .replace("port: 5432}]\n  egress", "port: 99999}]\n  egress")
    )
    refused = kubectl.run("apply", "-f", "-", text=text)
    assert refused.returncode == 1
    assert 'unknown field "spec.strategy.rollingUpdate.maxSurg"' in refused.stderr
    assert (
        "spec.ingress[0].ports[0].port: Invalid value: 99999: must be between 1 and 65535, inclusive" in refused.stderr
    )
