"""Containers: what each must satisfy by itself and among the others."""

from __future__ import annotations

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required, too_many
from kapi.api.formats import port_name, port_number
from kapi.api.names import dns_label
from kapi.api.objects import Object
from kapi.resources.podspec.context import Context
from kapi.resources.podspec.env import validate_env, validate_env_from
from kapi.resources.podspec.mounts import validate_mounts
from kapi.resources.podspec.probes import validate_probes
from kapi.resources.podspec.resources import validate_requirements
from kapi.resources.podspec.security import validate_security_context

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_RESIZED = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_ONLY_RESTARTABLE = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"
# In the order of upstream's type.
_NO_EPHEMERAL_FIELDS = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


def validate_containers(containers: list[Object], context: Context, path: str) -> list[FieldError]:
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        errors += _validate_container(container, context, at)
        name = container.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        errors += validate_probes(container, context, at)
        errors += _validate_restart_policy(container, at)
    return errors + _validate_host_ports(containers, path)


def validate_init_containers(
    containers: list[Object], regular: list[Object], context: Context, path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    names = {c.get("name") or "" for c in regular}
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        errors += _validate_container(container, context, at)
        errors += _validate_restart_policy(container, at)
        name = container.get("name") or ""
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            names.add(name)
        errors += _validate_host_ports([container], path)
        if container.get("restartPolicy") == "Always":
            errors += validate_probes(container, context, at)
            continue
        errors += [
            forbidden(f"{at}.{field}", _ONLY_RESTARTABLE)
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
            if container.get(field) is not None
        ]
        detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
        errors += [
            invalid(f"{at}.resizePolicy[{j}].restartPolicy", "RestartContainer", detail)
            for j, policy in enumerate(container.get("resizePolicy") or ())
            if policy.get("restartPolicy") == "RestartContainer"
        ]
    return errors


def validate_ephemeral_containers(
    containers: list[Object], others: list[Object], context: Context, path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    other_names = {c.get("name") or "" for c in others}
    names = set(other_names)
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        errors += _validate_container(container, context, at)
        errors += validate_image(container, at)
        name, target = container.get("name") or "", container.get("targetContainerName")
        if name in names:
            errors.append(duplicate(f"{at}.name", name))
        names.add(name)
        if target and target not in other_names:
            errors.append(not_found(f"{at}.targetContainerName", target))
        errors += [forbidden(f"{at}.{f}", _NOT_EPHEMERAL) for f in _NO_EPHEMERAL_FIELDS if _is_set(container, f)]
        errors += [
            forbidden(f"{at}.volumeMounts[{j}].{field}", _NOT_EPHEMERAL)
            for j, mount in enumerate(container.get("volumeMounts") or ())
            for field in ("subPath", "subPathExpr")
            if mount.get(field)
        ]
    return errors


def _is_set(container: Object, field: str) -> bool:
    value = container.get(field)
    return bool(value) if field in ("resources", "ports") else value is not None


def validate_image(container: Object, path: str) -> list[FieldError]:
    """Of a pod, not of a template: its image is about to be pulled."""
    image = container.get("image") or ""
    if image == image.strip():
        return []
    return [invalid(f"{path}.image", image, "must not have leading or trailing whitespace")]


def _validate_container(container: Object, context: Context, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    get = container.get
    name = get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        errors += [invalid(f"{path}.name", name, e) for e in dns_label(name)]
    if not get("image"):
        errors.append(required(f"{path}.image"))
    policy = get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        at = f"{path}.terminationMessagePolicy"
        errors.append(not_supported(at, policy, _MESSAGE_POLICIES, in_order=True) if policy else required(at))
    if get("ports"):
        errors += _validate_ports(container["ports"], f"{path}.ports")
    if get("env"):
        errors += validate_env(container["env"], f"{path}.env")
    if get("envFrom"):
        errors += validate_env_from(container["envFrom"], f"{path}.envFrom")
    if get("volumeMounts") or get("volumeDevices"):
        errors += validate_mounts(container, context, path)
    errors += validate_pull_policy(get("imagePullPolicy"), f"{path}.imagePullPolicy")
    if get("resources"):
        errors += validate_requirements(container["resources"], context.claims, f"{path}.resources")
    if get("resizePolicy"):
        errors += _validate_resize_policy(container["resizePolicy"], context, f"{path}.resizePolicy")
    if get("securityContext") is not None:
        errors += validate_security_context(container["securityContext"], context, f"{path}.securityContext")
    return errors


def validate_pull_policy(policy: str | None, path: str) -> list[FieldError]:
    if policy in PULL_POLICIES:
        return []
    return [not_supported(path, policy, PULL_POLICIES) if policy else required(path)]


def _validate_ports(ports: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, port in enumerate(ports):
        name, number, host = port.get("name"), port.get("containerPort"), port.get("hostPort")
        if name:
            problems = port_name(name)
            if problems:
                errors += [invalid(f"{path}[{i}].name", name, e) for e in problems]
            elif name in names:
                errors.append(duplicate(f"{path}[{i}].name", name))
            names.add(name)
        if not number:
            errors.append(required(f"{path}[{i}].containerPort"))
        else:
            errors += [invalid(f"{path}[{i}].containerPort", number, e) for e in port_number(number)]
        if host:
            errors += [invalid(f"{path}[{i}].hostPort", host, e) for e in port_number(host)]
        protocol = port.get("protocol")
        if protocol not in _PROTOCOLS:
            at = f"{path}[{i}].protocol"
            errors.append(not_supported(at, protocol, _PROTOCOLS) if protocol else required(at))
    return errors


def _validate_host_ports(containers: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    taken: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                place = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if place in taken:
                    errors.append(duplicate(f"{path}[{i}].ports[{j}].hostPort", place))
                taken.add(place)
    return errors


def _validate_resize_policy(policies: list[Object], context: Context, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            errors.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)
        for value, supported in ((name, _RESIZED), (restart, _RESIZE_POLICIES)):
            if value not in supported:
                errors.append(not_supported(path, value, supported) if value else required(path))
        if context.restart_policy == "Never" and restart != "NotRequired":
            errors.append(invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
    return errors


def _validate_restart_policy(container: Object, path: str) -> list[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None and not rules:
        return []
    errors: list[FieldError] = []
    at = f"{path}.restartPolicy"
    if policy is None:
        errors.append(required(at, "must specify restartPolicy when restart rules are used"))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(at, policy, _RESTART_POLICIES))
    if len(rules) > 20:
        errors.append(too_many(f"{path}.restartPolicyRules", len(rules), 20))
    for i, rule in enumerate(rules):
        errors += _validate_restart_rule(rule, f"{path}.restartPolicyRules[{i}]")
    return errors


def _validate_restart_rule(rule: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if rule.get("action") not in _RULE_ACTIONS:
        errors.append(not_supported(f"{path}.action", rule.get("action") or "", _RULE_ACTIONS))
    codes = rule.get("exitCodes")
    if codes is None:
        errors.append(required(f"{path}.exitCodes", "must be specified"))
        return errors
    if codes.get("operator") not in _OPERATORS:
        errors.append(not_supported(f"{path}.exitCodes.operator", codes.get("operator") or "", _OPERATORS))
    values = codes.get("values") or ()
    if len(values) > 255:
        errors.append(too_many(f"{path}.exitCodes.values", len(values), 255))
    return errors
