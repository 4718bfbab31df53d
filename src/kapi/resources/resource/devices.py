"""Devices of a slice: their attributes and capacities, their taints, the nodes that can reach them."""

from __future__ import annotations

import re

from kapi.api.fields import duplicate, invalid, required, too_long, too_many
from kapi.api.names import dns_subdomain, short_name
from kapi.api.objects import Object
from kapi.resources.podspec.scheduling import validate_node_selector
from kapi.resources.resource.bindings import check_binding_conditions
from kapi.resources.resource.capacities import check_capacity
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import label, qualified_name
from kapi.resources.resource.taints import check_taint

_MOST_DEVICES, _MOST_ADVANCED, _MOST_TAINTS = 128, 64, 16
_MOST_TOGETHER, _MOST_VALUES, _LONGEST_VALUE, _LONGEST_KEY = 32, 48, 64, 63 + 1 + 32
_SCALARS = ("int", "bool", "string", "version")
_KINDS = (*_SCALARS, "ints", "bools", "strings", "versions")
_NUMBER, _PRE, _BUILD = r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)", "[0-9a-zA-Z-]+"
_is_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRE}(\.{_PRE})*)?(\+{_BUILD}(\.{_BUILD})*)?\Z", re.ASCII
).match
_PER_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)


def check_devices(found: Findings, spec: Object, old_spec: Object | None, path: str) -> None:
    devices = spec.get("devices") or []
    advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    most = _MOST_ADVANCED if advanced else _MOST_DEVICES
    if len(devices) > most:
        found.add(too_many(path, len(devices), most))
        return
    former = {device.get("name"): device for device in (old_spec or {}).get("devices") or []}
    for i, device in enumerate(devices):
        per_device = bool(spec.get("perDeviceNodeSelection"))
        _check_device(found, device, former.get(device.get("name")), f"{path}[{i}]", per_device=per_device)
    names = [device.get("name") for device in devices]
    found.add(*(duplicate(f"{path}[{i}]", name) for i, name in enumerate(names) if name in names[:i]))


def _check_device(found: Findings, device: Object, old: Object | None, path: str, *, per_device: bool) -> None:
    attributes, capacities = device.get("attributes") or {}, device.get("capacity") or {}
    found.add(*label(device.get("name", ""), f"{path}.name"))
    together = len(attributes) + len(capacities)
    if together > _MOST_TOGETHER:
        why = f"the total number of attributes and capacities must not exceed {_MOST_TOGETHER}"
        found.add(invalid(path, together, why))
    for name, attribute in attributes.items():
        found.add(*qualified_name(name, f"{path}.attributes"))
        _check_attribute(found, attribute, f"{path}.attributes[{_shortened(name)}]")
    if old is None or old.get("capacity") != device.get("capacity"):
        for name, capacity in capacities.items():
            found.add(*qualified_name(name, f"{path}.capacity"))
            shared = bool(device.get("allowMultipleAllocations"))
            check_capacity(found, capacity, f"{path}.capacity[{_shortened(name)}]", shared=shared)
    if old is None or old.get("taints") != device.get("taints"):
        _check_taints(found, device.get("taints") or [], f"{path}.taints")
    _check_counters(found, device.get("consumesCounters") or [], f"{path}.consumesCounters")
    if per_device:
        chosen = check_nodes(found, device, path)
        if not chosen:
            found.add(required(path, _PER_DEVICE))
        elif len(chosen) > 1:
            found.add(invalid(path, f"{{{', '.join(chosen)}}}", _PER_DEVICE))
    elif any(device.get(field) is not None for field in ("nodeName", "nodeSelector", "allNodes")):
        why = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in "
            "the ResourceSlice spec"
        )
        found.add(invalid(path, None, why))
    check_binding_conditions(found, device, path)


def _shortened(key: str) -> str:
    if len(key) <= _LONGEST_KEY:
        return key
    left = _LONGEST_KEY - 3
    return f"{key[: (left + 1) // 2]}...{key[len(key) - left // 2 :]}"


def _check_attribute(found: Findings, attribute: Object, path: str) -> None:
    given = [kind for kind in _KINDS if attribute.get(kind) is not None]
    text, version = attribute.get("string"), attribute.get("version")
    if text is not None and len(text.encode()) > _LONGEST_VALUE:
        found.add(too_long(f"{path}.string", _LONGEST_VALUE))
    if version is not None:
        if not _is_version(version):
            found.add(invalid(f"{path}.version", version, "must be a string compatible with semver.org spec 2.0.0"))
        if len(version.encode()) > _LONGEST_VALUE:
            found.add(too_long(f"{path}.version", _LONGEST_VALUE))
    kinds = ", ".join(f"`{kind}`" for kind in _KINDS)
    if not given:
        found.declare(invalid(path, "", f"must specify one of: {kinds}"))
    elif len(given) > 1:
        found.declare(invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {kinds}"))


def _check_taints(found: Findings, taints: list[Object], path: str) -> None:
    if len(taints) > _MOST_TAINTS:
        found.add(too_many(path, len(taints), _MOST_TAINTS))
        return
    for i, taint in enumerate(taints):
        check_taint(found, taint, f"{path}[{i}]")


def _check_counters(found: Findings, consumptions: list[Object], path: str) -> None:
    def check(consumption: Object, at: str) -> None:
        check_counter_set(found, consumption, at, "counterSet")

    if found.each(consumptions, 2, path, check):
        found.distinct(consumptions, path, lambda consumption: consumption.get("counterSet"))


def check_counter_set(found: Findings, holder: Object, path: str, name_field: str) -> None:
    name, counters = holder.get(name_field, ""), holder.get("counters") or {}
    problems = [invalid(f"{path}.{name_field}", name, e) for e in short_name(name)]
    found.declare(*(problems if name else [required(f"{path}.{name_field}")]))
    if not counters:
        found.declare(required(f"{path}.counters"))
    elif len(counters) > 32:
        found.add(too_many(f"{path}.counters", len(counters), 32))
    else:
        found.declare(*(invalid(f"{path}.counters", key, e) for key in counters for e in short_name(key)))


def check_nodes(found: Findings, holder: Object, path: str, *, empty: str = "must not be empty") -> list[str]:
    """Which nodes can reach a device: the ways that are used to say so."""
    chosen = []
    node, selector, everywhere = holder.get("nodeName"), holder.get("nodeSelector"), holder.get("allNodes")
    if node:
        chosen.append("`nodeName`")
        found.add(*(invalid(f"{path}.nodeName", node, e) for e in dns_subdomain(node)))
    elif node is not None:
        found.add(invalid(f"{path}.nodeName", node, empty))
    if selector is not None:
        chosen.append("`nodeSelector`")
        found.add(*validate_node_selector(selector, f"{path}.nodeSelector"))
    if everywhere:
        chosen.append("`allNodes`")
    elif everywhere is not None:
        found.add(invalid(f"{path}.allNodes", everywhere, "must be either unset or set to true"))
    return chosen
