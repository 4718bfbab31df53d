"""What is allowed in a pod spec but probably not meant: told to the client as warnings."""

from __future__ import annotations

from kapi.api.formats import ip_warnings
from kapi.api.names import label_value
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.resources.podspec.annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD, app_armor_profile
from kapi.resources.podspec.context import containers_with_path
from kapi.resources.podspec.overlaps import overlap_warnings

DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
}
_DEPRECATED_VOLUMES = {
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_USE_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_USE_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'


def template_warnings(template: Object, path: str) -> list[str]:
    """`path` is the template's field. Whatever else an update changes, it is warned about its template again."""
    return _warnings(template.get("spec") or {}, template.get("metadata") or {}, f"{path}.", is_template=True)


def pod_warnings(pod: Object) -> list[str]:
    return _warnings(pod.get("spec") or {}, pod["metadata"], "", is_template=False)


def _warnings(spec: Object, metadata: Object, prefix: str, *, is_template: bool) -> list[str]:
    """`prefix` is what a path starts with: empty for a pod."""
    path, get = f"{prefix}spec", spec.get
    annotations = metadata.get("annotations") or {}
    found = _scheduling_warnings(spec, path)
    if annotations:
        at = f"{prefix}metadata.annotations"
        found += [f"{at}[{k}]: {text}" for k, text in _DEPRECATED_ANNOTATIONS.items() if k in annotations]
    if get("volumes"):
        found += _volume_warnings(spec["volumes"], f"{path}.volumes")
        found += overlap_warnings(spec["volumes"])
    found += _duplicates(get("hostAliases") or (), "ip", f"{path}.hostAliases")
    found += _duplicates(get("imagePullSecrets") or (), "name", f"{path}.imagePullSecrets")
    for i, secret in enumerate(get("imagePullSecrets") or ()):
        if not secret.get("name"):
            found.append(f'{path}.imagePullSecrets[{i}].name: invalid empty name ""')
    found += _fractions(get("overhead"), f"{path}.overhead")
    if annotations:
        found += _seccomp_warnings(spec, annotations, prefix)
    for container, at in containers_with_path(spec, path):
        if annotations:
            found += _profile_warnings(container, spec, annotations, prefix, is_template=is_template)
        found += _resource_warnings(container.get("resources"), f"{at}.resources")
        if container.get("env"):
            found += _env_warnings(container["env"], f"{at}.env")
    found += _port_warnings(spec, path)
    if (get("terminationGracePeriodSeconds") or 0) < 0:
        at = f"{path}.terminationGracePeriodSeconds"
        found.append(f"{at}: must be >= 0; negative values are invalid and will be treated as 1")
    if get("affinity"):
        found += _affinity_warnings(spec["affinity"], f"{path}.affinity")
    return found + _address_warnings(spec, path)


def _scheduling_warnings(spec: Object, path: str) -> list[str]:
    selector = spec.get("nodeSelector")
    found = [
        f"{path}.nodeSelector[{key}]: {DEPRECATED_NODE_LABELS[key]}"
        for key in selector or ()
        if key in DEPRECATED_NODE_LABELS
    ]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity")
    if affinity:
        at = f"{path}.affinity.nodeAffinity"
        for i, term in enumerate((affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
            found += _term_warnings(term, f"{at}.{_REQUIRED}.nodeSelectorTerms[{i}]", check_values=False)
        for i, term in enumerate(affinity.get(_PREFERRED) or ()):
            preference = term.get("preference") or {}
            found += _term_warnings(preference, f"{at}.{_PREFERRED}[{i}].preference", check_values=True)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at, key = f"{path}.topologySpreadConstraints[{i}]", constraint.get("topologyKey")
        if key in DEPRECATED_NODE_LABELS:
            found.append(f"{at}.topologyKey: {key} is {DEPRECATED_NODE_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            found.append(f"{at}.labelSelector: {_NO_SELECTOR}")
    return found


def _term_warnings(term: Object, path: str, *, check_values: bool) -> list[str]:
    found: list[str] = []
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        at, key = f"{path}.matchExpressions[{i}]", expression.get("key")
        if key in DEPRECATED_NODE_LABELS:
            found.append(f"{at}.key: {key} is {DEPRECATED_NODE_LABELS[key]}")
        if check_values:
            for j, value in enumerate(expression.get("values") or ()):
                found += [f"{at}.values[{j}]: {value} is invalid, {e}" for e in label_value(value)]
    return found


def _volume_warnings(volumes: list[Object], path: str) -> list[str]:
    found: list[str] = []
    for i, volume in enumerate(volumes):
        found += [f"{path}[{i}].{text}" for kind, text in _DEPRECATED_VOLUMES.items() if volume.get(kind) is not None]
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if template is not None:
            amount = (((template.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage")
            at = f"{path}[{i}].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]"
            if amount and Quantity.parse(amount).milli_value % 1000:
                found.append(f'{at}: fractional byte value "{amount}" is invalid, must be an integer')
    return found


def _duplicates(items: list[Object] | tuple[()], field: str, path: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for i, item in enumerate(items):
        value = item.get(field) or ""
        if value in seen:
            found.append(f'{path}[{i}].{field}: duplicate {field} "{value}"')
        seen.add(value)
    return found


def _fractions(amounts: dict[str, str] | None, path: str) -> list[str]:
    if not amounts:
        return []
    return [
        f'{path}[{name}]: fractional byte value "{amounts[name]}" is invalid, must be an integer'
        for name in ("memory", "ephemeral-storage")
        if name in amounts and Quantity.parse(amounts[name]).milli_value % 1000
    ]


def _resource_warnings(resources: Object | None, path: str) -> list[str]:
    if not resources:
        return []
    found: list[str] = []
    for name in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            amount = (resources.get(kind) or {}).get(name)
            if amount is not None:
                found += _fractions({name: amount}, f"{path}.{kind}")
    return found


def _seccomp_warnings(spec: Object, annotations: dict[str, str], prefix: str) -> list[str]:
    if (spec.get("securityContext") or {}).get("seccompProfile") is not None or SECCOMP_POD not in annotations:
        return []
    return [f"{prefix}metadata.annotations[{SECCOMP_POD}]: {_USE_SECCOMP}"]


def _profile_warnings(
    container: Object, spec: Object, annotations: dict[str, str], prefix: str, *, is_template: bool
) -> list[str]:
    found: list[str] = []
    security, name = container.get("securityContext") or {}, container.get("name") or ""
    key = SECCOMP_CONTAINER + name
    if key in annotations and security.get("seccompProfile") is None:
        found.append(f"{prefix}metadata.annotations[{key}]: {_USE_SECCOMP}")
    key = APP_ARMOR + name
    # A pod's are told when its fields are filled in from them.
    if is_template and key in annotations and security.get("appArmorProfile") is None:
        profile = (spec.get("securityContext") or {}).get("appArmorProfile")
        if profile is None or profile != app_armor_profile(annotations[key]):
            found.append(f"{prefix}metadata.annotations[{key}]: {_USE_APP_ARMOR}")
    return found


def app_armor_warning(name: str) -> str:
    """For a pod whose container's profile comes from an annotation."""
    return f"metadata.annotations[{APP_ARMOR}{name}]: {_USE_APP_ARMOR}"


def _env_warnings(variables: list[Object], path: str) -> list[str]:
    """A later definition hides an earlier one, unless it is made of it."""
    found: list[str] = []
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name = variable.get("name") or ""
        if name in seen:
            reference, value = f"$({name})", variable.get("value") or ""
            if variable.get("valueFrom") is not None or value == reference or reference not in value:
                text = f'hides previous definition of "{name}", which may be dropped when using apply'
                found.append(f"{path}[{i}]: {text}")
        seen.add(name)
    return found


def _port_warnings(spec: Object, path: str) -> list[str]:
    found: list[str] = []
    names: list[str] = []
    by_number: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    first: dict[str, str] = {}
    for container, at in containers_with_path(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            here, name = f"{at}.ports[{i}]", port.get("name")
            if port.get("hostIP") and not port.get("hostPort"):
                found.append(f"{here}: hostIP set without hostPort: {_go_port(port)}")
            others = by_number.setdefault((port.get("containerPort") or 0, port.get("protocol") or ""), [])
            for other, known in others:
                text = _conflict(port, known)
                if text:
                    found.append(f"{here}: {text} port definition with {other}")
            others.append((here, port))
            if name and name in first:
                text = f'duplicate port name "{name}" with {first[name]}, services and probes that select ports by name'
                names.append(f"{here}: {text} will use {first[name]}")
            elif name:
                first[name] = here
    return found + names


def _conflict(port: Object, other: Object) -> str:
    address, number = port.get("hostIP") or "", port.get("hostPort") or 0
    other_address, other_number = other.get("hostIP") or "", other.get("hostPort") or 0
    if (address, number) == (other_address, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    return "dangerously ambiguous" if number == other_number and not (address and other_address) else ""


def _go_port(port: Object) -> str:
    fields = ("name", "hostPort", "containerPort", "protocol", "hostIP")
    values = " ".join(f"{f[0].upper()}{f[1:]}:{port.get(f, 0 if 'Port' in f else '')}" for f in fields)
    return f"{{{values}}}"


def _affinity_warnings(affinity: Object, path: str) -> list[str]:
    found: list[str] = []
    for field in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(field) or {}
        for i, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                found.append(f"{path}.{field}.{_REQUIRED}[{i}].labelSelector: {_NO_SELECTOR}")
        for i, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                at = f"{path}.{field}.{_PREFERRED}[{i}].podAffinityTerm.labelSelector"
                found.append(f"{at}: {_NO_SELECTOR}")
    return found


def _address_warnings(spec: Object, path: str) -> list[str]:
    found: list[str] = []
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        found += ip_warnings(server, f"{path}.dnsConfig.nameservers[{i}]")
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        found += ip_warnings(alias.get("ip") or "", f"{path}.hostAliases[{i}].ip")
    return found
