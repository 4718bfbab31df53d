"""What a pod spec must satisfy. Every error is found, in upstream's order and words.

A stored spec was valid when it was stored, so one that an update leaves alone is not looked at again.
"""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, not_found, not_supported, required, too_long
from kapi.api.formats import dns_subdomain_with_underscore, inclusive_range, ip_address
from kapi.api.names import dns_label, dns_subdomain, label_key, validate_annotations, validate_labels
from kapi.api.objects import Object
from kapi.resources.podspec.annotations import MIRROR, validate_pod_annotations, validate_profiles_match
from kapi.resources.podspec.claims import validate_device_claims
from kapi.resources.podspec.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from kapi.resources.podspec.context import Context, containers_with_path
from kapi.resources.podspec.resources import validate_pod_resources, validate_requirements
from kapi.resources.podspec.scheduling import (
    validate_affinity,
    validate_gates,
    validate_spread,
    validate_tolerations,
)
from kapi.resources.podspec.security import validate_os, validate_pod_security_context
from kapi.resources.podspec.volumes import validate_volumes
from kapi.resources.podspec.windows import validate_host_process

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_NAMESERVERS, _SEARCH_PATHS, _SEARCH_LENGTH = 3, 32, 2048
_MAX_INT32 = 0x7FFFFFFF


def validate_pod_template(call: Call, template: Object, path: str, old: Object | None = None) -> list[FieldError]:
    """`old` is the template being replaced, if any."""
    if old is not None and template == old:
        return []
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = metadata.get("annotations") or {}
    errors = validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    if annotations:
        errors += validate_annotations(annotations, f"{path}.annotations")
        errors += validate_pod_annotations(annotations, spec, f"{path}.annotations")
    errors += validate_pod_spec(call, spec, None, f"{path}.spec")
    errors += validate_profiles_match(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", detail))
    return errors


def validate_pod_spec(
    call: Call, spec: Object, metadata: Object | None, path: str, old: Object | None = None
) -> list[FieldError]:
    """`metadata` is the pod's; None in a template. `old` is the spec being replaced, if any."""
    if old is not None and spec == old:
        return []
    get = spec.get
    context = _context(call, spec, metadata)
    errors: list[FieldError] = []
    if get("terminationGracePeriodSeconds") is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    if get("volumes"):
        errors += validate_volumes(spec["volumes"], context, f"{path}.volumes")
    if get("resourceClaims"):
        errors += validate_device_claims(spec["resourceClaims"], context, f"{path}.resourceClaims")
    containers, first = get("containers") or [], get("initContainers") or []
    errors += validate_containers(containers, context, f"{path}.containers")
    if first:
        errors += validate_init_containers(first, containers, context, f"{path}.initContainers")
    if get("ephemeralContainers"):
        others = [*containers, *first]
        at = f"{path}.ephemeralContainers"
        errors += validate_ephemeral_containers(spec["ephemeralContainers"], others, context, at)
    errors += validate_pod_resources(spec, context.claims, path)
    if get("hostNetwork"):
        errors += _validate_host_network(containers, context, f"{path}.containers")
    errors += _validate_placement(spec, path)
    errors += validate_host_process(spec, context, path)
    errors += _validate_host(spec, path)
    errors += _validate_names(spec, path)
    if get("os") is not None:
        errors += validate_os(spec, path)
    return errors + _validate_file_references(spec, path)


def _context(call: Call, spec: Object, metadata: Object | None) -> Context:
    claims = spec.get("resourceClaims")
    return Context(
        is_pod=metadata is not None,
        allow_privileged=call.settings.allow_privileged,
        pod_name=(metadata or {}).get("name") or "",
        is_mirror=MIRROR in ((metadata or {}).get("annotations") or ()),
        grace_period=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy") or "",
        host_users=spec.get("hostUsers") is not False,
        claims=frozenset(c["name"] for c in claims if c.get("name")) if claims else frozenset(),
    )


def _validate_host_network(containers: list[Object], context: Context, path: str) -> list[FieldError]:
    """On the host's network a container's ports are the host's; a template may leave that to be filled in."""
    detail = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{path}[{i}].ports[{j}].hostPort", port.get("hostPort") or 0, detail)
        for i, container in enumerate(containers)
        for j, port in enumerate(container.get("ports") or ())
        if (context.is_pod or port.get("hostPort")) and (port.get("hostPort") or 0) != port.get("containerPort")
    ]


def _validate_placement(spec: Object, path: str) -> list[FieldError]:
    get = spec.get
    errors = _validate_choice(get("restartPolicy"), RESTART_POLICIES, f"{path}.restartPolicy")
    errors += _validate_choice(get("dnsPolicy"), DNS_POLICIES, f"{path}.dnsPolicy")
    if get("nodeSelector"):
        errors += validate_labels(spec["nodeSelector"], f"{path}.nodeSelector")
    if get("securityContext"):
        errors += validate_pod_security_context(spec["securityContext"], spec, f"{path}.securityContext")
    if get("shareProcessNamespace") and get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, detail))
    if get("affinity"):
        errors += validate_affinity(spec["affinity"], f"{path}.affinity")
    errors += _validate_dns(spec, f"{path}.dnsConfig")
    for i, gate in enumerate(get("readinessGates") or ()):
        kind = gate.get("conditionType") or ""
        errors += [invalid(f"{path}.readinessGates[{i}].conditionType", kind, e) for e in label_key(kind)]
    if get("schedulingGates"):
        errors += validate_gates(spec["schedulingGates"], f"{path}.schedulingGates")
    if get("topologySpreadConstraints"):
        errors += validate_spread(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    return errors


def _validate_choice(value: str | None, supported: tuple[str, ...], path: str) -> list[FieldError]:
    if value in supported:
        return []
    return [not_supported(path, value, supported, in_order=True) if value else required(path)]


def _validate_dns(spec: Object, path: str) -> list[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", detail)]
    if not config:
        return []
    errors: list[FieldError] = []
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _NAMESERVERS:
        errors.append(invalid(f"{path}.nameservers", servers, f"must not have more than {_NAMESERVERS} nameservers"))
    for i, server in enumerate(servers):
        errors += [invalid(f"{path}.nameservers[{i}]", server, e) for e in ip_address(server)]
    if len(searches) > _SEARCH_PATHS:
        errors.append(invalid(f"{path}.searches", searches, f"must not have more than {_SEARCH_PATHS} search paths"))
    if len(" ".join(searches).encode()) > _SEARCH_LENGTH:
        detail = f"must not have more than {_SEARCH_LENGTH} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, detail))
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            errors += [invalid(f"{path}.searches[{i}]", name, e) for e in dns_subdomain_with_underscore(name)]
    errors += [
        required(f"{path}.options[{i}]", "must not be empty")
        for i, option in enumerate(config.get("options") or ())
        if not option.get("name")
    ]
    return errors


def _validate_host(spec: Object, path: str) -> list[FieldError]:
    """What a pod may share with its host, and be called by it."""
    get = spec.get
    errors: list[FieldError] = []
    if get("hostUsers") is False:
        detail = "when `hostUsers` is false"
        for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if get(field):
                errors.append(forbidden(f"{path}.{shown}", detail))
        for container, at in containers_with_path(spec, path):
            if container.get("volumeDevices"):
                errors.append(forbidden(f"{at}.volumeDevices", detail))
    name = get("hostnameOverride")
    if name is not None:
        at = f"{path}.hostnameOverride"
        for field in ("setHostnameAsFQDN", "hostNetwork"):
            if get(field):
                errors.append(forbidden(at, f"may not be specified when {field} is true"))
        if len(name.encode()) > 64:
            errors.append(too_long(at, 64))
        errors += [invalid(at, name, e) for e in dns_subdomain(name)]
    return errors


def _validate_names(spec: Object, path: str) -> list[FieldError]:
    """The scalars, in upstream's order."""
    get = spec.get
    errors: list[FieldError] = []
    for field in ("serviceAccountName", "nodeName"):
        name = get(field)
        if name:
            errors += [invalid(f"{path}.{field}", name, e) for e in dns_subdomain(name)]
    deadline = get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, inclusive_range(1, _MAX_INT32)))
    for field in ("hostname", "subdomain"):
        name = get(field)
        if name:
            errors += [invalid(f"{path}.{field}", name, e) for e in dns_label(name)]
    if get("tolerations"):
        errors += validate_tolerations(spec["tolerations"], f"{path}.tolerations")
    for i, alias in enumerate(get("hostAliases") or ()):
        at, address = f"{path}.hostAliases[{i}]", alias.get("ip") or ""
        errors += [invalid(f"{at}.ip", address, e) for e in ip_address(address)]
        for j, name in enumerate(alias.get("hostnames") or ()):
            errors += [invalid(f"{at}.hostnames[{j}]", name, e) for e in dns_subdomain(name)]
    if get("priorityClassName"):
        name = spec["priorityClassName"]
        errors += [invalid(f"{path}.priorityClassName", name, e) for e in dns_subdomain(name)]
    if get("runtimeClassName") is not None:
        name = spec["runtimeClassName"]
        errors += [invalid(f"{path}.runtimeClassName", name, e) for e in dns_subdomain(name)]
    if get("preemptionPolicy") is not None:
        errors += _validate_choice(spec["preemptionPolicy"], PREEMPTION_POLICIES, f"{path}.preemptionPolicy")
    if get("overhead"):
        errors += validate_requirements({"limits": spec["overhead"]}, frozenset(), f"{path}.overhead")
    return errors


def _validate_file_references(spec: Object, path: str) -> list[FieldError]:
    """Environment variables may come from files in empty directories of the pod."""
    errors: list[FieldError] = []
    for container, at in containers_with_path(spec, path):
        for i, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name, where = reference.get("volumeName") or "", f"{at}.env[{i}].valueFrom.fileKeyRef.volumeName"
            volume = next((v for v in spec.get("volumes") or () if v.get("name") == name), None)
            if volume is None:
                errors.append(not_found(where, name))
            elif volume.get("emptyDir") is None:
                errors.append(invalid(where, name, "referenced volume must be of type emptyDir"))
    return errors
