"""Volumes, claims and attributes classes that are in use stay, seen through the API of a real server."""

from __future__ import annotations

from tests.controllers.world import Object, World

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/data"},
    "persistentVolumeReclaimPolicy": "Retain",
}


def user_of(claim: str, node: str = "") -> Object:
    spec: Object = {
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}],
    }
    return {"metadata": {"name": "user"}, "spec": {**spec, **({"nodeName": node} if node else {})}}


def test_a_claim_that_nobody_uses_goes_at_once(world: World) -> None:
    made = world.create("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": CLAIM})
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    world.create("pods", user_of("c"))  # not scheduled: no kubelet will start it any more
    world.delete("persistentvolumeclaims/c")
    world.until_gone("persistentvolumeclaims/c")


def test_a_claim_stays_while_a_scheduled_pod_uses_it(world: World) -> None:
    world.create("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": CLAIM})
    world.create("persistentvolumeclaims", {"metadata": {"name": "other"}, "spec": CLAIM})
    world.create("pods", user_of("c", node="n"))
    world.delete("persistentvolumeclaims/c")
    world.delete("persistentvolumeclaims/other")
    world.until_gone("persistentvolumeclaims/other")
    assert world.exists("persistentvolumeclaims/c")
    world.delete("pods/user", gracePeriodSeconds=0)
    world.until_gone("persistentvolumeclaims/c")


def test_a_volume_stays_while_it_is_bound(world: World) -> None:
    name = f"v-{world.namespace}"
    world.create("persistentvolumes", {"metadata": {"name": name}, "spec": VOLUME})
    world.patch(f"persistentvolumes/{name}/status", {"status": {"phase": "Bound"}})
    world.delete(f"persistentvolumes/{name}")
    world.create("persistentvolumes", {"metadata": {"name": f"{name}-free"}, "spec": VOLUME})
    world.delete(f"persistentvolumes/{name}-free")
    world.until_gone(f"persistentvolumes/{name}-free")
    assert world.exists(f"persistentvolumes/{name}")
    world.patch(f"persistentvolumes/{name}/status", {"status": {"phase": "Released"}})
    world.until_gone(f"persistentvolumes/{name}")


def test_an_attributes_class_stays_while_a_claim_names_it(world: World) -> None:
    name = f"c-{world.namespace}"
    world.create("volumeattributesclasses", {"metadata": {"name": name}, "driverName": "d", "parameters": {"a": "b"}})
    spec = {**CLAIM, "volumeAttributesClassName": name}
    world.create("persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": spec})
    world.delete(f"volumeattributesclasses/{name}")
    assert world.exists(f"volumeattributesclasses/{name}")
    world.delete("persistentvolumeclaims/c")
    world.until_gone(f"volumeattributesclasses/{name}")
