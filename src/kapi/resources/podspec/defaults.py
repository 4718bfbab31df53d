"""What a pod spec says when it says nothing. Written in place; a field's declared default is the schema's business."""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.api.quantity import Quantity, QuantityError
from kapi.resources.podspec.images import pull_policy

_MODE = 0o644
_TOKEN_SECONDS = 3600
_MILLI = -3
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")


def default_pod_template(template: Object) -> None:
    """Fill in the spec of a template, which always has one."""
    spec = template.get("spec")
    if spec is None:
        spec = template["spec"] = {"containers": None}
    default_pod_spec(spec)


def default_pod_spec(spec: Object) -> None:
    """Fill in what the client left out of a spec: a pod's, or a template's."""
    _sync_service_account(spec)
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            default_container(container)
    if "overhead" in spec:
        round_resources(spec["overhead"])
    if "resources" in spec:
        round_requirements(spec["resources"])


def _sync_service_account(spec: Object) -> None:
    """The old name of the field follows the new one."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for env in container.get("env") or ():
        _default_field_ref(env.get("valueFrom"))
    resources = container.get("resources")
    if resources:
        round_requirements(resources)
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            _default_probe(probe)
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for name in _HOOKS:
            _default_http_get(lifecycle.get(name))


def _default_probe(probe: Object) -> None:
    if not probe.get("timeoutSeconds"):
        probe["timeoutSeconds"] = 1
    if not probe.get("periodSeconds"):
        probe["periodSeconds"] = 10
    if not probe.get("successThreshold"):
        probe["successThreshold"] = 1
    if not probe.get("failureThreshold"):
        probe["failureThreshold"] = 3
    _default_http_get(probe)


def _default_http_get(handler: Object | None) -> None:
    action = handler.get("httpGet") if handler else None
    if action is not None:
        if not action.get("path"):
            action["path"] = "/"
        if not action.get("scheme"):
            action["scheme"] = "HTTP"


def _default_field_ref(source: Object | None) -> None:
    reference = source.get("fieldRef") if source else None
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def default_volume(volume: Object) -> None:
    """A volume without a source is an empty directory."""
    is_empty = True
    for kind, source in volume.items():
        if kind != "name" and source is not None:
            is_empty = False
            fill = _VOLUMES.get(kind)
            if fill is not None:
                fill(source)
    if is_empty:
        volume["emptyDir"] = {}


def _default_mode(source: Object) -> None:
    if source.get("defaultMode") is None:
        source["defaultMode"] = _MODE


def _default_downward_api(source: Object) -> None:
    _default_mode(source)
    for item in source.get("items") or ():
        _default_field_ref(item)


def _default_projected(source: Object) -> None:
    _default_mode(source)
    for projection in source.get("sources") or ():
        for item in (projection.get("downwardAPI") or {}).get("items") or ():
            _default_field_ref(item)
        token = projection.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = _TOKEN_SECONDS


def _default_host_path(source: Object) -> None:
    if source.get("type") is None:
        source["type"] = ""


def _default_image(source: Object) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference") or "")


def _default_ephemeral(source: Object) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return
    spec = template.get("spec")
    if spec is None:
        spec = template["spec"] = {"resources": {}}
    if spec.get("volumeMode") is None:
        spec["volumeMode"] = "Filesystem"
    if spec.get("resources"):
        round_requirements(spec["resources"])


_VOLUMES = {
    "configMap": _default_mode,
    "downwardAPI": _default_downward_api,
    "ephemeral": _default_ephemeral,
    "hostPath": _default_host_path,
    "image": _default_image,
    "projected": _default_projected,
    "secret": _default_mode,
}


def round_requirements(requirements: Object) -> None:
    """The same for limits and requests."""
    for field in ("limits", "requests"):
        if field in requirements:
            round_resources(requirements[field])


def round_resources(resources: dict[str, Any] | None) -> None:
    """Nothing finer than a thousandth is kept: amounts are rounded up to it."""
    if not resources:
        return
    for name, text in resources.items():
        try:
            quantity = Quantity.parse(text)
        except QuantityError:
            continue
        if quantity.exponent < _MILLI:
            resources[name] = str(quantity.round_up(_MILLI))
