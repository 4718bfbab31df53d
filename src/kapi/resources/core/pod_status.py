"""pods/status: what kubelets and controllers report."""

from __future__ import annotations

from kapi.api.addresses import parse_ip
from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, forbidden, internal_error, invalid, not_supported, required, too_long
from kapi.api.formats import inclusive_range, ip_address, ip_warnings, user_id
from kapi.api.names import dns_label, dns_subdomain, label_key
from kapi.api.objects import Object
from kapi.registry.strategy import copy_field
from kapi.resources.core.pod_update import validate_annotation_updates

_SYSTEM_CONDITIONS = frozenset(("PodScheduled", "Ready", "Initialized"))
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_HEALTHS = ("Healthy", "Unhealthy", "Unknown")
_KEPT_CLAIMS = ("resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses")
_ONE_PER_FAMILY = "may specify no more than one IP for each IP family"
_MAX_UINT32 = 0xFFFFFFFF


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    new["spec"] = old["spec"]
    copy_field(new["metadata"], old["metadata"], "ownerReferences")
    status, former = new.setdefault("status", {}), old["status"]
    if not status.get("qosClass"):
        copy_field(status, former, "qosClass")
    for field in _KEPT_CLAIMS:
        if status.get(field) is None:
            copy_field(status, former, field)
    # Features that are off.
    for field in ("nodeAllocatableResourceClaimStatuses", "volumeHealth"):
        if field not in former:
            status.pop(field, None)
    _keep_observed_generations(status, former)


def _keep_observed_generations(status: Object, former: Object) -> None:
    """Who does not know of observed generations does not erase them."""
    if not status.get("observedGeneration"):
        copy_field(status, former, "observedGeneration")
    known: dict[str, list[int]] = {}
    for condition in former.get("conditions") or ():
        known.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration") or 0)
    for condition in status.get("conditions") or ():
        generations = known.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    status, former, spec = new["status"], old["status"], old["spec"]
    errors = validate_annotation_updates(new, old)
    errors += _validate_conditions(status.get("conditions") or [], "status.conditions")
    errors += _validate_nomination(status, former, spec)
    if status.get("observedGeneration", 0) < 0:
        detail = "must be a non-negative integer"
        errors.append(invalid("status.observedGeneration", status["observedGeneration"], detail))
    if status.get("qosClass") != former.get("qosClass"):
        errors.append(invalid("status.qosClass", status.get("qosClass", ""), "field is immutable"))
    if not _all_could_restart(spec):
        for field, kind in zip(_STATUSES[:2], ("containers", "initContainers"), strict=True):
            containers = {c.get("name"): c for c in spec.get(kind) or ()}
            errors += _validate_transitions(status, former, field, containers, spec)
    errors += _validate_transitions(status, former, _STATUSES[2], {}, spec)
    errors += _validate_claims(status, spec)
    errors += _validate_addresses(status, former)
    return errors + _validate_container_statuses(status, spec)


def _validate_conditions(conditions: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, condition in enumerate(conditions):
        generation, kind = condition.get("observedGeneration", 0), condition.get("type", "")
        if generation < 0:
            errors.append(invalid(f"{path}[{i}].observedGeneration", generation, "must be a non-negative integer"))
        if kind not in _SYSTEM_CONDITIONS:
            errors += [invalid(f"{path}[{i}].Type", kind, e) for e in label_key(kind)]
    return errors


def _validate_nomination(status: Object, former: Object, spec: Object) -> list[FieldError]:
    name = status.get("nominatedNodeName")
    if not name or name == former.get("nominatedNodeName"):
        return []
    errors = [invalid("status.nominatedNodeName", name, e) for e in dns_subdomain(name)]
    if spec.get("nodeName"):
        detail = "may not be set on pods that are already bound to a node"
        errors.append(forbidden("status.nominatedNodeName", detail))
    return errors


def _all_could_restart(spec: Object) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _validate_transitions(
    status: Object, former: Object, field: str, containers: dict[str | None, Object], spec: Object
) -> list[FieldError]:
    """A container that has ended runs again only if its restart policy says so."""
    errors: list[FieldError] = []
    now = {s.get("name"): s for s in reversed(status.get(field) or [])}
    for i, was in enumerate(former.get(field) or ()):
        ended = (was.get("state") or {}).get("terminated")
        current = now.get(was.get("name"))
        if ended is None or current is None or (current.get("state") or {}).get("terminated") is not None:
            continue
        container = containers.get(was.get("name"))
        if container is None or not _restarts(container, spec, ended.get("exitCode", 0)):
            errors.append(forbidden(f"status.{field}[{i}].state", "may not be transitioned to non-terminated state"))
    return errors


def _restarts(container: Object, spec: Object, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes") or {}
            if (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
                return True
    policy = policy or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _validate_claims(status: Object, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        path, name = f"status.resourceClaimStatuses[{i}]", claim.get("name", "")
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{path}.name", name, detail))
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        target = claim.get("resourceClaimName")
        if target is not None:
            errors += [invalid(f"{path}.resourceClaimName", target, e) for e in dns_subdomain(target)]
    extended = status.get("extendedResourceClaimStatus")
    return errors if extended is None else errors + _validate_extended(extended, spec)


def _validate_extended(extended: Object, spec: Object) -> list[FieldError]:
    path = "status.extendedResourceClaimStatus"
    errors: list[FieldError] = []
    containers = {c.get("name"): c for kind in ("initContainers", "containers") for c in spec.get(kind) or ()}
    mappings = extended.get("requestMappings") or []
    if not mappings:
        errors.append(required(f"{path}.requestMappings", "at least one request mapping is required"))
    seen: set[tuple[str, ...]] = set()
    fields = ("containerName", "resourceName", "requestName")
    for i, mapping in enumerate(mappings):
        at = f"{path}.requestMappings[{i}]"
        name, resource, request = (mapping.get(field, "") for field in fields)
        if name not in containers:
            detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            errors.append(invalid(f"{at}.containerName", name, detail))
        elif resource not in ((containers[name].get("resources") or {}).get("requests") or {}):
            detail = (
                "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
                "spec.containers.resources.requests"
            )
            errors.append(invalid(f"{at}.resourceName", resource, detail))
        errors += [invalid(f"{path}.requestName", request, e) for e in dns_label(request)]
        if (name, resource, request) in seen:
            errors += [duplicate(f"{at}.{field}", mapping.get(field, "")) for field in fields]
        seen.add((name, resource, request))
    claim = extended.get("resourceClaimName")
    if not claim:
        errors.append(required(f"{path}.resourceClaimName"))
        return errors
    return errors + [invalid(f"{path}.resourceClaimName", claim, e) for e in dns_subdomain(claim)]


def _validate_addresses(status: Object, former: Object) -> list[FieldError]:
    errors = _validate_family(status, former, "podIPs")
    pod_ip, pod_ips = status.get("podIP"), status.get("podIPs") or []
    if bool(pod_ip) != bool(pod_ips):
        detail = "podIP and podIPs must either both be set or both be unset"
        errors.append(invalid("status.podIPs", pod_ips or None, detail))
    elif pod_ips and pod_ips[0].get("ip") != pod_ip:
        errors.append(invalid("status.podIPs[0].ip", pod_ips[0].get("ip", ""), "must be equal to `podIP`"))
    host_ips = status.get("hostIPs") or []
    if host_ips and host_ips[0].get("ip") != status.get("hostIP"):
        errors.append(invalid("status.hostIPs[0].ip", host_ips[0].get("ip", ""), "must be equal to `hostIP`"))
    return errors + _validate_family(status, former, "hostIPs")


def _validate_family(status: Object, former: Object, field: str) -> list[FieldError]:
    addresses = [a.get("ip", "") for a in status.get(field) or ()]
    known = {a.get("ip") for a in former.get(field) or ()}
    errors = [
        invalid(f"status.{field}[{i}]", address, e)
        for i, address in enumerate(addresses)
        if address not in known
        for e in ip_address(address)
    ]
    if len(addresses) > 1:
        errors += _validate_pair(addresses, f"status.{field}")
    return errors


def _validate_pair(addresses: list[str], path: str) -> list[FieldError]:
    """More than one address means one of each family."""
    errors: list[FieldError] = []
    families = [ip and ip.family for ip in map(parse_ip, addresses)]
    if None in families:
        bad = families.index(None)
        detail = f"failed to check for dual stack with error:invalid IP[{bad}]: {addresses[bad]}"
        errors.append(internal_error(path, detail))
    if None in families or len(families) > 2 or families[0] == families[1]:
        errors.append(invalid(path, [{"IP": address} for address in addresses], _ONE_PER_FAMILY))
    return errors


def _validate_container_statuses(status: Object, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    windows = (spec.get("os") or {}).get("name") == "windows"
    for field in _STATUSES:
        for i, container in enumerate(status.get(field) or ()):
            user = (container.get("user") or {}).get("linux")
            path = f"status.{field}[{i}].user.linux"
            if user is not None and windows:
                errors.append(forbidden(path, "cannot be set for a windows pod"))
            elif user is not None:
                errors += _validate_user(user, path)
    for field, kind in zip(_STATUSES[:2], ("containers", "initContainers"), strict=True):
        containers = {c.get("name"): c for c in spec.get(kind) or ()}
        for i, container in enumerate(status.get(field) or ()):
            path = f"status.{field}[{i}].allocatedResourcesStatus"
            errors += _validate_healths(container, containers.get(container.get("name")), path)
    for i, container in enumerate(status.get(_STATUSES[2]) or ()):
        if container.get("allocatedResourcesStatus"):
            path = f"status.{_STATUSES[2]}[{i}].allocatedResourcesStatus"
            errors.append(forbidden(path, "must not be specified in container status"))
    return errors


def _validate_user(user: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    uid, gid = user.get("uid", 0), user.get("gid", 0)
    if not 0 <= uid <= _MAX_UINT32:
        errors.append(invalid(f"{path}.uid", uid, inclusive_range(0, _MAX_UINT32)))
    errors += [invalid(f"{path}.gid", gid, e) for e in user_id(gid)]
    for i, group in enumerate(user.get("supplementalGroups") or ()):
        errors += [invalid(f"{path}.supplementalGroups[{i}]", group, e) for e in user_id(group)]
    return errors


def _validate_healths(status: Object, container: Object | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, allocated in enumerate(status.get("allocatedResourcesStatus") or ()):
        name = allocated.get("name", "")
        detail = _unknown_resource(name, container) if container is not None else ""
        if detail:
            errors.append(invalid(f"{path}[{i}].name", name, detail))
        seen: set[str] = set()
        for j, resource in enumerate(allocated.get("resources") or ()):
            at, identity = f"{path}[{i}].resources[{j}]", resource.get("resourceID", "")
            health, message = resource.get("health", ""), resource.get("message")
            if health not in _HEALTHS:
                errors.append(not_supported(f"{at}.health", health, _HEALTHS))
            if message == "":
                errors.append(required(f"{at}.message", "must be non-empty if specified"))
            elif message is not None and len(message.encode()) > 1024:
                errors.append(too_long(f"{at}.message", 1024))
            if identity in seen:
                errors.append(duplicate(f"{at}.resourceID", identity))
            seen.add(identity)
    return errors


def _unknown_resource(name: str, container: Object) -> str:
    resources = container.get("resources") or {}
    if not name.startswith("claim:"):
        known = name in (resources.get("requests") or {})
        return "" if known else "must match one of the container's resource requests"
    for claim in resources.get("claims") or ():
        request = claim.get("request")
        if name == f"claim:{claim.get('name', '')}" + (f"/{request}" if request else ""):
            return ""
    return (
        "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
        "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
    )


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    return [
        text
        for field in ("podIPs", "hostIPs")
        for i, address in enumerate(new["status"].get(field) or ())
        for text in ip_warnings(address.get("ip", ""), f"status.{field}[{i}].ip")
    ]
