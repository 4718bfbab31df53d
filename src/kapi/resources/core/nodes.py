"""Nodes: the machines that pods run on. Whoever creates one may report its status at once."""

from __future__ import annotations

import re

from kapi.api.addresses import cidr_warnings, parse_cidr, validate_cidr
from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, forbidden, go_struct, internal, invalid, required
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, copy_field
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.keys import config_map_key
from kapi.resources.core.proxies import NODE_PROXY
from kapi.resources.core.resource_lists import validate_amount
from kapi.resources.core.taints import validate_taints
from kapi.resources.podspec.defaults import round_resources

_ROLE_PREFIX = "node-role.kubernetes.io/"
_is_feature = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z0-9]+)*\Z").match
_CIDRS_KEPT = 'node updates may not change podCIDR except from "" to valid'
_ONE_SOURCE = "exactly one reference subfield must be non-nil"


def default(new: Object) -> None:
    spec, status = new.setdefault("spec", {}), new.setdefault("status", {})
    _default_cidrs(spec)
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])
    round_resources(status.get("capacity"))
    round_resources(status.get("allocatable"))


def _default_cidrs(spec: Object) -> None:
    """The single range is the first of the list; when they differ, the single one counts."""
    single, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not several or several[0] != single):
        spec["podCIDRs"] = [single]
    elif several and not single:
        spec["podCIDR"] = several[0]


def prepare_for_create(_: Call, new: Object) -> None:
    # Configuration from a ConfigMap is gone from Kubernetes.
    new["spec"].pop("configSource", None)
    new["status"].pop("config", None)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "status")
    if not old.get("spec", {}).get("configSource"):
        new["spec"].pop("configSource", None)


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    if not old.get("status", {}).get("config"):
        new["status"].pop("config", None)


def validate(_: Call, new: Object) -> list[FieldError]:
    spec, status = new["spec"], new["status"]
    # As upstream: taints are reported below metadata.
    errors = validate_taints(spec.get("taints") or [], "metadata.taints")
    errors += _validate_resources(status)
    swap = (status.get("nodeInfo", {}).get("swap") or {}).get("capacity")
    if swap is not None and swap <= 0:
        errors.append(invalid("metadata.nodeSwapStatus.capacity", swap, "must be greater than 0"))
    errors += _validate_features(status.get("declaredFeatures") or [])
    return errors + _validate_cidrs(spec.get("podCIDRs") or [], "spec.podCIDRs")


def _validate_cidrs(ranges: list[str], path: str) -> list[FieldError]:
    errors = [e for i, value in enumerate(ranges) for e in validate_cidr(f"{path}[{i}]", value)]
    if len(ranges) < 2:
        return errors
    parsed = [parse_cidr(value) for value in ranges]
    if None in parsed:
        first = parsed.index(None)
        why = (
            f"invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{first}]: <nil> (invalid CIDR "
            f"address: {ranges[first]})"
        )
        errors.append(internal(path, why))
    families = {cidr.family for cidr in parsed if cidr is not None}
    if len(ranges) > 2 or len(families) < 2 or None in parsed:
        errors.append(invalid(path, ranges, "may specify no more than one CIDR for each IP family"))
    return errors


def _validate_resources(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("capacity", "allocatable"):
        for name, amount in (status.get(field) or {}).items():
            errors += validate_amount(name, amount, f"status.{field}.{name}")
    return errors


def _validate_features(features: list[str]) -> list[FieldError]:
    path = "status.declaredFeatures"
    errors: list[FieldError] = []
    for i, feature in enumerate(features):
        if len(feature.encode()) > 253:
            text = f'invalid feature name "{feature}": must be no more than 253 characters'
            errors.append(invalid(f"{path}[{i}]", feature, text))
        elif not _is_feature(feature):
            text = (
                f'invalid feature name "{feature}": must start with an UpperCamelCase segment, with subsequent '
                "segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric "
                "characters and slashes"
            )
            errors.append(invalid(f"{path}[{i}]", feature, text))
        following = features[i + 1] if i + 1 < len(features) else None
        if following == feature:
            errors.append(duplicate(f"{path}[{i + 1}]", following))
        elif following is not None and feature > following:
            errors.append(invalid(f"{path}[{i + 1}]", following, "list must be sorted alphabetically"))
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    return validate(call, new) + validate_status_update(call, new, old)


def validate_status_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    spec, status, former = new["spec"], new["status"], old.get("spec", {})
    errors = _validate_resources(status) + _validate_features(status.get("declaredFeatures") or [])
    seen: list[Object] = []
    for i, address in enumerate(status.get("addresses") or []):
        if address in seen:
            errors.append(duplicate(f"status.addresses[{i}]", go_struct(address)))
        seen.append(address)
    if former.get("podCIDRs") and former["podCIDRs"] != spec.get("podCIDRs"):
        errors.append(forbidden("spec.podCIDRs", _CIDRS_KEPT))
    if former.get("providerID") and former["providerID"] != spec.get("providerID"):
        what = "modified" if spec.get("providerID") else "cleared"
        errors.append(invalid("spec.providerID", None, f"field cannot be {what} once set"))
    errors += _validate_config(spec, status)
    errors += validate_taints(spec.get("taints") or [], "metadata.taints")
    if spec.get("externalID") != former.get("externalID"):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def _validate_config(spec: Object, status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    source = spec.get("configSource")
    if source is not None:
        errors += _validate_source(source, "spec.configSource", reported=False)
    for field in ("assigned", "active", "lastKnownGood"):
        source = (status.get("config") or {}).get(field)
        if source is not None:
            errors += _validate_source(source, f"status.config.{field}", reported=True)
    return errors


def _validate_source(source: Object, path: str, *, reported: bool) -> list[FieldError]:
    """Where a node's configuration comes from: a node reports which version, a user may not demand one."""
    wanted = source.get("configMap")
    if wanted is None:
        return [invalid(path, go_struct(source), _ONE_SOURCE)]
    at = f"{path}.configMap"
    errors: list[FieldError] = []
    for field in ("uid", "resourceVersion"):
        if reported and not wanted.get(field):
            errors.append(required(f"{at}.{field}"))
        elif not reported and wanted.get(field):
            errors.append(forbidden(f"{at}.{field}", f"{field} must not be set in spec"))
    for field, check in (("namespace", dns_label), ("name", dns_subdomain), ("kubeletConfigKey", config_map_key)):
        value = wanted.get(field, "")
        errors += [invalid(f"{at}.{field}", value, e) for e in check(value)] if value else [required(f"{at}.{field}")]
    return errors


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    spec = new["spec"]
    found = []
    if spec.get("configSource"):
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for i, value in enumerate(spec.get("podCIDRs") or []):
        found += cidr_warnings(f"spec.podCIDRs[{i}]", value)
    return found


def fields_of(decoded: Object) -> dict[str, str]:
    unschedulable = "true" if decoded.get("spec", {}).get("unschedulable") else "false"
    return {**metadata_fields(decoded), "spec.unschedulable": unschedulable}


def _status(node: Object) -> str:
    ready = [c.get("status") for c in node.get("status", {}).get("conditions") or [] if c.get("type") == "Ready"]
    shown = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return f"{shown},SchedulingDisabled" if node.get("spec", {}).get("unschedulable") else shown


def _roles(node: Object) -> str:
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(role for role in roles if role)) or "<none>"


def _address(node: Object, kind: str) -> str:
    for address in node.get("status", {}).get("addresses") or []:
        if address.get("type") == kind:
            found: str = address.get("address", "")
            return found
    return "<none>"


def _info(node: Object, field: str) -> str:
    found: str = node.get("status", {}).get("nodeInfo", {}).get(field, "")
    return found


def _kernel(node: Object) -> str:
    architecture = _info(node, "architecture")
    kernel = _info(node, "kernelVersion") or "<unknown>"
    return f"{kernel} ({architecture})" if architecture else kernel


RESOURCE = Resource(
    group="",
    version="v1",
    kind="Node",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={
        "proxy": Subresource(verbs=(), connect=NODE_PROXY),
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=prepare_for_status_update,
                validate_update=validate_status_update,
                reset=excluding("spec"),
            )
        ),
    },
    columns=(
        NAME,
        Column("Status", _status),
        Column("Roles", _roles),
        AGE,
        Column("Version", field_value("status", "nodeInfo", "kubeletVersion")),
        Column("Internal-IP", lambda node: _address(node, "InternalIP"), priority=1),
        Column("External-IP", lambda node: _address(node, "ExternalIP"), priority=1),
        Column("OS-Image", lambda node: _info(node, "osImage") or "<unknown>", priority=1),
        Column("Kernel-Version", _kernel, priority=1),
        Column("Container-Runtime", lambda node: _info(node, "containerRuntimeVersion") or "<unknown>", priority=1),
    ),
    fields_of=fields_of,
    field_names=("spec.unschedulable",),
    prefix="minions",
)
