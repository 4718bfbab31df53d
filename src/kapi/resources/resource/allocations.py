"""What became of a claim: which devices were given, who may use them, and how the devices are."""

from __future__ import annotations

from typing import Any

from kapi.api.addresses import ip_text, parse_cidr
from kapi.api.fields import FieldError, forbidden, go_struct, invalid, required, too_long, too_many
from kapi.api.objects import Object
from kapi.resources.podspec.scheduling import validate_node_selector
from kapi.resources.policy.conditions import validate_conditions
from kapi.resources.resource.bindings import check_binding_conditions
from kapi.resources.resource.configurations import check_configuration, check_raw
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import (
    declared_driver_name,
    declared_pool_name,
    declared_uuid,
    driver_name,
    label,
    pool_name,
)
from kapi.resources.resource.requests import check_reference, check_references, request_names
from kapi.resources.resource.taints import check_tolerations

_MOST_USERS = 256
_MOST_CONDITIONS = 8
_MOST_IPS = 16
_ADDRESS = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


def check_status(found: Findings, new: Object, old: Object) -> None:
    status, former, path = new.get("status") or {}, old.get("status") or {}, "status"
    allocation, users = status.get("allocation"), status.get("reservedFor") or []
    settled = former.get("allocation")
    if allocation is not None and settled is not None and allocation != settled:
        found.declare(invalid(f"{path}.allocation", None, "field cannot be modified once set"))
    if found.each(users, _MOST_USERS, f"{path}.reservedFor", lambda user, p: _check_user(found, user, p)):
        found.distinct(users, f"{path}.reservedFor", lambda user: user.get("uid"))
    given = allocated(status)
    for i, device in enumerate(status.get("devices") or []):
        _check_device(found, device, given, f"{path}.devices[{i}]")
    found.distinct(status.get("devices"), f"{path}.devices", device_id)
    if users and allocation is None:
        found.add(forbidden(f"{path}.reservedFor", "may not be specified when `allocated` is not set"))
    elif new["metadata"].get("deletionTimestamp") and any(u not in (former.get("reservedFor") or []) for u in users):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        found.add(forbidden(f"{path}.reservedFor", why))
    if allocation is not None and settled is None:
        _check_allocation(found, allocation, request_names(new["spec"]), f"{path}.allocation")


def device_id(device: Object) -> tuple[str, ...]:
    return tuple(device.get(field) or "" for field in ("driver", "pool", "device", "shareID"))


def allocated(status: Object) -> set[tuple[str, ...]]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
    return {device_id(result) for result in results}


def _check_user(found: Findings, user: Object, path: str) -> None:
    found.add(*(required(f"{path}.{field}") for field in ("resource", "name", "uid") if not user.get(field)))


def _check_allocation(found: Findings, allocation: Object, names: frozenset[str], path: str) -> None:
    devices, at = allocation.get("devices") or {}, f"{path}.devices"
    found.each(devices.get("results"), 32, f"{at}.results", lambda result, p: _check_result(found, result, names, p))

    def check_config(config: Object, p: str) -> None:
        found.choice(config.get("source", ""), ("FromClaim", "FromClass"), f"{p}.source")
        check_references(found, config.get("requests"), names, f"{p}.requests")
        check_configuration(found, config, p)

    found.each(devices.get("config"), 64, f"{at}.config", check_config)
    if allocation.get("nodeSelector") is not None:
        found.add(*validate_node_selector(allocation["nodeSelector"], f"{path}.nodeSelector"))


def _check_result(found: Findings, result: Object, names: frozenset[str], path: str) -> None:
    check_reference(found, result.get("request", ""), names, f"{path}.request")
    found.add(*label(result.get("device", ""), f"{path}.device"))
    check_binding_conditions(found, result, path)
    found.declare(*declared_driver_name(result.get("driver", ""), f"{path}.driver"))
    found.declare(*declared_pool_name(result.get("pool", ""), f"{path}.pool"))
    check_tolerations(found, result.get("tolerations"), f"{path}.tolerations")
    if result.get("shareID") is not None:
        found.declare(*declared_uuid(result["shareID"], f"{path}.shareID"))


def _check_device(found: Findings, device: Object, given: set[tuple[str, ...]], path: str) -> None:
    found.add(*driver_name(device.get("driver", ""), f"{path}.driver"))
    found.add(*pool_name(device.get("pool", ""), f"{path}.pool"))
    found.add(*label(device.get("device", ""), f"{path}.device"))
    if device.get("shareID") is not None:
        found.declare(*declared_uuid(device["shareID"], f"{path}.shareID"))
    identity = device_id(device)
    if identity not in given:
        shown: Any = dict(zip(("driver", "pool", "device", "shareID"), identity, strict=True))
        found.add(invalid(path, go_struct(shown), "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > _MOST_CONDITIONS:
        found.add(too_many(f"{path}.conditions", len(conditions), _MOST_CONDITIONS))
    found.add(*validate_conditions(conditions, f"{path}.conditions"))
    if device.get("data") is not None:
        found.add(*check_raw(device["data"], f"{path}.data"))
    if device.get("networkData") is not None:
        _check_network(found, device["networkData"], f"{path}.networkData")


def _check_network(found: Findings, network: Object, path: str) -> None:
    for field, most in (("interfaceName", 256), ("hardwareAddress", 128)):
        if len(network.get(field, "").encode()) > most:
            found.declare(too_long(f"{path}.{field}", most))
    ips = network.get("ips")
    if found.each(ips, _MOST_IPS, f"{path}.ips", lambda ip, p: found.add(*_interface_address(ip, p))):
        found.distinct(ips, f"{path}.ips")


def _interface_address(value: str, path: str) -> list[FieldError]:
    cidr = parse_cidr(value)
    if cidr is None:
        return [invalid(path, value, _ADDRESS)]
    canonical = f"{ip_text(cidr.family, cidr.address)}/{cidr.bits}"
    return [] if value == canonical else [invalid(path, value, f'must be in canonical form ("{canonical}")')]
