"""ResourceSlices: the devices that a driver has, in pools, and the nodes that can use them."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, required
from kapi.api.objects import Object
from kapi.registry.resource import Resource, metadata_fields
from kapi.registry.strategy import Strategy, bump_generation, start_generation
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.resource.devices import check_counter_set, check_devices, check_nodes
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import driver_name, pool_name
from kapi.resources.resource.taints import default_taint

_ONE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_LISTS = ("bools", "ints", "strings", "versions")


def default(new: Object) -> None:
    for device in new["spec"].get("devices") or []:
        for taint in device.get("taints") or []:
            default_taint(taint)


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)
    _drop_unserved(new["spec"])


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)
    _drop_unserved(new["spec"])


def _drop_unserved(spec: Object) -> None:
    """Lists as attributes, mappings to what nodes allocate and the like are not served."""
    spec.pop("partitionTypeAttribute", None)
    spec.pop("skipNodeOperations", None)
    for device in spec.get("devices") or []:
        device.pop("nodeAllocatableResources", None)
        for attribute in (device.get("attributes") or {}).values():
            for field in _LISTS:
                attribute.pop(field, None)
        for consumption in device.get("consumesCounters") or []:
            consumption.pop("compatibilityGroups", None)


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate(new["spec"], None)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate(new["spec"], old["spec"])


def _validate(spec: Object, former: Object | None) -> list[FieldError]:
    found = Findings()
    driver, pool = spec.get("driver", ""), spec.get("pool") or {}
    found.add(*driver_name(driver, "spec.driver"))
    _check_pool(found, pool, "spec.pool")
    if former is not None:
        _check_settled(found, spec, former)
    _check_nodes(found, spec)
    if spec.get("sharedCounters") and spec.get("devices"):
        found.add(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    check_devices(found, spec, former, "spec.devices")
    counters, path = spec.get("sharedCounters"), "spec.sharedCounters"
    if found.each(counters, 8, path, lambda counter, at: check_counter_set(found, counter, at, "name")):
        found.distinct(counters, path, lambda counter: counter.get("name"))
    return found.all


def _check_pool(found: Findings, pool: Object, path: str) -> None:
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    found.add(*pool_name(pool.get("name", ""), f"{path}.name"))
    if count <= 0:
        found.add(invalid(f"{path}.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        found.add(invalid(f"{path}.generation", generation, "must be greater than or equal to zero"))


def _check_settled(found: Findings, spec: Object, former: Object) -> None:
    name, old_name = (spec.get("pool") or {}).get("name"), (former.get("pool") or {}).get("name")
    changes = (("pool.name", name, old_name), *((f, spec.get(f), former.get(f)) for f in ("driver", "nodeName")))
    found.add(*(invalid(f"spec.{field}", new, "field is immutable") for field, new, old in changes if new != old))


def _check_nodes(found: Findings, spec: Object) -> None:
    chosen = check_nodes(found, spec, "spec", empty="must be either unset or set to a non-empty string")
    terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if spec.get("nodeSelector") is not None and len(terms) != 1:
        why = "must have exactly one node selector term"
        found.add(invalid("spec.nodeSelector.nodeSelectorTerms", go_struct(terms), why))
    each = spec.get("perDeviceNodeSelection")
    if each:
        chosen.append("`perDeviceNodeSelection`")
    elif each is not None:
        found.add(invalid("spec.perDeviceNodeSelection", each, "must be either unset or set to true"))
    if not chosen:
        found.add(required("spec", _ONE))
    elif len(chosen) > 1:
        found.add(invalid("spec", f"{{{', '.join(chosen)}}}", f"{_ONE}, but multiple fields are set"))


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    driver = new["spec"].get("driver", "")
    if driver == driver.lower():
        return []
    return [f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters']


def fields_of(decoded: Object) -> dict[str, str]:
    spec = decoded["spec"]
    return {
        **metadata_fields(decoded),
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.driver": spec.get("driver", ""),
        "spec.pool.name": (spec.get("pool") or {}).get("name", ""),
    }


RESOURCE = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceSlice",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
    ),
    columns=(
        NAME,
        Column("Node", field_value("spec", "nodeName")),
        Column("Driver", field_value("spec", "driver")),
        Column("Pool", field_value("spec", "pool", "name")),
        AGE,
    ),
    fields_of=fields_of,
    field_names=("spec.nodeName", "spec.driver", "spec.pool.name"),
    unknown_field="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
    returns_deleted=True,
)
