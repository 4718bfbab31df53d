"""ResourceClaimTemplates: what claims are made from, one for each pod."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.resources.podspec.claims import validate_template_metadata
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.requests import check_claim, default_claim, drop_unserved


def default(new: Object) -> None:
    default_claim(new["spec"].get("spec"))


def prepare_for_create(_: Call, new: Object) -> None:
    drop_unserved(new["spec"].get("spec"))


def prepare_for_update(_: Call, new: Object, __: Object) -> None:
    drop_unserved(new["spec"].get("spec"))


def validate(_: Call, new: Object) -> list[FieldError]:
    return _check(new).all


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    if new["spec"] == old["spec"]:
        return []
    found = _check(new)
    found.add(invalid("spec", go_struct(new["spec"]), "field is immutable"))
    return found.all


def _check(template: Object) -> Findings:
    found, spec = Findings(), template["spec"]
    found.add(*validate_template_metadata(spec.get("metadata") or {}, "spec.metadata"))
    check_claim(found, spec.get("spec") or {}, "spec.spec")
    return found


RESOURCE = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceClaimTemplate",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
    ),
    returns_deleted=True,
)
