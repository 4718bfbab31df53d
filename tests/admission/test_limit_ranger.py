from __future__ import annotations

from typing import Any


def limit(place: Any, **item: Any) -> None:
    spec = {"limits": [{"type": "Container", **item}]}
    place.made("limitranges", {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": spec})


def pod(**resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": resources}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}


def test_what_a_container_leaves_open_is_filled_in_and_noted(place: Any) -> None:
    limit(place, default={"cpu": "500m"}, defaultRequest={"cpu": "100m", "memory": "1Mi"})
    made = place.made("pods", pod(requests={"memory": "2Mi"}))
    resources = made["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m", "memory": "2Mi"}}
    assert made["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    )


def test_all_that_is_out_of_limits_is_told_at_once(place: Any) -> None:
    limit(place, min={"cpu": "50m"}, max={"cpu": "1"}, maxLimitRequestRatio={"cpu": "2"})
    assert place.refusal("pods", pod(requests={"cpu": "10m"}, limits={"cpu": "3"})) == (
        'pods "p" is forbidden: [minimum cpu usage per Container is 50m, but request is 10m, '
        "maximum cpu usage per Container is 1, but limit is 3, "
        "cpu max limit to request ratio per Container is 2, but provided ratio is 300.000000]"
    )
