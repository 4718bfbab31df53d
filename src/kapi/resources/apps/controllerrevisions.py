"""ControllerRevisions: the past states of a stateful or daemon set. Their data never changes."""

from __future__ import annotations

import orjson

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, required
from kapi.api.gvk import GroupVersion
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.registry.metadata import validate_object_meta
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.workload.rules import IMMUTABLE, nonnegative


def validate(_: Call, new: Object) -> list[FieldError]:
    errors = nonnegative(new.get("revision"), "revision")
    data = new.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate_object_meta(new["metadata"], namespaced=True, validate_name=dns_subdomain)
    errors += nonnegative(new.get("revision"), "revision")
    # As upstream: the text is compared, so the order of keys counts.
    if orjson.dumps(new.get("data")) != orjson.dumps(old.get("data")):
        errors.append(invalid("data", new.get("data"), IMMUTABLE))
    return errors


def controller(decoded: Object) -> str:
    for owner in decoded["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = GroupVersion.parse(owner["apiVersion"]).group
            kind = f"{owner['kind']}.{group}" if group else owner["kind"]
            return f"{kind.lower()}/{owner['name']}"
    return "<none>"


RESOURCE = Resource(
    group="apps",
    version="v1",
    kind="ControllerRevision",
    strategy=Strategy(validate=validate, validate_update=validate_update),
    columns=(NAME, Column("Controller", controller), Column("Revision", field_value("revision", absent=0)), AGE),
)
