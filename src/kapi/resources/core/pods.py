"""Pods: containers that run together on a node."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.names import dns_label
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, bump_generation, copy_field, keep_status, start_generation
from kapi.resources.core import pod_binding, pod_connect, pod_eviction, pod_resize, pod_status, pod_update
from kapi.resources.core.pod_conditions import set_condition
from kapi.resources.core.pod_table import COLUMNS, row_conditions
from kapi.resources.core.pod_validation import validate
from kapi.resources.podspec.annotations import APP_ARMOR, app_armor_profile
from kapi.resources.podspec.context import containers_with_path
from kapi.resources.podspec.defaults import default_pod_spec, round_requirements, round_resources
from kapi.resources.podspec.disabled import drop_disabled_fields
from kapi.resources.podspec.resources import default_pod_resources, quality_of_service
from kapi.resources.podspec.scheduling import merge_label_keys
from kapi.resources.podspec.security import validate_app_armor
from kapi.resources.podspec.warnings import app_armor_warning, pod_warnings

_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def default(pod: Object) -> None:
    """A pod's spec as a template's, and what only a pod is given."""
    spec = pod.get("spec")
    if spec is None:
        spec = pod["spec"] = {"containers": None}
    period = spec.get("terminationGracePeriodSeconds")
    if period is not None and period < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.get("resources")
            if resources and resources.get("limits"):
                resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    if not port.get("hostPort") and port.get("containerPort"):
                        port["hostPort"] = port["containerPort"]
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    default_pod_spec(spec)
    status = pod.get("status")
    if status:
        _default_status(status)


def _default_status(status: Object) -> None:
    """The single address and the list of them say the same; the single one wins."""
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address:
        if not addresses or addresses[0].get("ip") != address:
            status["podIPs"] = [{"ip": address}]
    elif addresses:
        status["podIP"] = addresses[0].get("ip", "")
    for field in _STATUSES:
        for container in status.get(field) or ():
            round_resources(container.get("allocatedResources"))
            round_requirements(container.get("resources") or {})
    round_resources(status.get("allocatedResources"))
    round_requirements(status.get("resources") or {})


def prepare_for_create(call: Call, pod: Object) -> None:
    spec = pod["spec"]
    start_generation(pod)
    pod["status"] = status = {"phase": "Pending"}
    drop_disabled_fields(spec, pod["metadata"])
    if spec.get("schedulingGates"):
        set_condition(status, _GATED, pod["metadata"]["creationTimestamp"])
    merge_label_keys(pod)
    if pod["metadata"].get("annotations"):
        _fill_app_armor(call, pod)
    default_pod_resources(spec)
    status["qosClass"] = quality_of_service(spec)


def _fill_app_armor(call: Call, pod: Object) -> None:
    """Profiles that are still named by annotations go into the fields, with a word about it."""
    spec, annotations = pod["spec"], pod["metadata"]["annotations"]
    if (spec.get("os") or {}).get("name") == "windows":
        return
    of_pod = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container, _ in containers_with_path(spec, "spec"):
        name = container.get("name", "")
        annotation = annotations.get(APP_ARMOR + name)
        if annotation is None or (container.get("securityContext") or {}).get("appArmorProfile") is not None:
            continue
        profile = app_armor_profile(annotation)
        if profile is not None and validate_app_armor(profile, ""):
            profile = None
        if profile is not None and profile != of_pod:
            container["securityContext"] = {**(container.get("securityContext") or {}), "appArmorProfile": profile}
        if profile is None or profile != of_pod:
            call.warn(app_armor_warning(name))


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    if new["spec"].get("resources") is None:
        copy_field(new["spec"], old["spec"], "resources")
    drop_disabled_fields(new["spec"], new["metadata"], old["spec"])
    bump_generation(new, old)


def prepare_for_ephemeral_update(_: Call, new: Object, old: Object) -> None:
    """Only the ephemeral containers come from the client."""
    spec = dict(old["spec"])
    copy_field(spec, new["spec"], "ephemeralContainers")
    new["spec"] = spec
    copy_field(new, old, "status")
    pod_resize.keep_metadata(new, old)
    drop_disabled_fields(spec, new["metadata"], old["spec"])
    bump_generation(new, old)


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    """On create only."""
    if old is not None:
        return []
    problems = dns_label(new["metadata"].get("name", ""))
    found = pod_warnings(new)
    if problems:
        text = (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label "
            f"is recommended: [{' '.join(problems)}]"
        )
        found.insert(0, text)
    return found


def grace_period(_: Call, pod: Object, requested: int | None) -> int:
    """As long as its spec says; a pod that does not run, or no longer, needs no time."""
    spec, status = pod["spec"], pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    period = requested if requested is not None else spec.get("terminationGracePeriodSeconds") or 0
    return max(period, 1) if period < 0 else period


def fields_of(pod: Object) -> dict[str, str]:
    """`spec.host` is what clients once called the node's name."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    addresses, node = status.get("podIPs"), spec.get("nodeName", "")
    return {
        **metadata_fields(pod),
        "spec.host": node,
        "spec.nodeName": node,
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": addresses[0].get("ip", "") if addresses else "",
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


RESOURCE = Resource(
    group="",
    version="v1",
    kind="Pod",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        prepare_for_update=prepare_for_update,
        validate_update=pod_update.validate_update,
        warnings=warnings,
        grace_period=grace_period,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=pod_status.prepare_for_update,
                validate_update=pod_status.validate_update,
                warnings=pod_status.warnings,
                grace_period=grace_period,
                reset=excluding("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
            )
        ),
        "ephemeralcontainers": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=prepare_for_ephemeral_update,
                validate_update=pod_update.validate_ephemeral_update,
                grace_period=grace_period,
            )
        ),
        "resize": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=pod_resize.prepare_for_update,
                validate_update=pod_resize.validate_update,
                grace_period=grace_period,
            )
        ),
        "binding": Subresource(verbs=(), action=pod_binding.ACTION),
        "eviction": Subresource(verbs=(), action=pod_eviction.ACTION),
        "log": Subresource(verbs=("get",), connect=pod_connect.LOG),
        "exec": Subresource(verbs=(), connect=pod_connect.EXEC),
        "attach": Subresource(verbs=(), connect=pod_connect.ATTACH),
        "portforward": Subresource(verbs=(), connect=pod_connect.PORT_FORWARD),
        "proxy": Subresource(verbs=(), connect=pod_connect.PROXY),
    },
    columns=COLUMNS,
    row_conditions=row_conditions,
    fields_of=fields_of,
    field_names=(
        "spec.host",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    returns_deleted=True,
)
