"""VolumeAttachments: that a volume shall be attached to a node, and whether it is."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, required, too_long
from kapi.api.formats import inclusive_range
from kapi.api.names import dns_subdomain, long_name_caseless
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, keep_all_but_status, keep_status
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.volume_specs import default_volume_spec, validate_volume_spec
from kapi.resources.podspec.volume_sources import validate_driver_name

_MAX_METADATA_BYTES = 256 * 1024
_MAX_MESSAGE_BYTES = 1024
_TOO_LONG = FieldError("FieldValueTooLong", "spec.attacher", "may not be more than 63 characters")
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def default(new: Object) -> None:
    inline = (new["spec"].get("source") or {}).get("inlineVolumeSpec")
    if inline is not None:
        default_volume_spec(inline)
        if not inline.get("capacity"):
            inline.pop("capacity", None)


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"attached": False}


def validate(_: Call, new: Object) -> list[FieldError]:
    errors, attacher = _validate_rest(new), new["spec"].get("attacher", "")
    # As upstream's declared rules, which come last.
    if not attacher:
        return [*errors, required("spec.attacher")]
    errors += [invalid("spec.attacher", attacher, e) for e in long_name_caseless(attacher)]
    return errors if len(attacher) <= 63 else [*errors, _TOO_LONG]


def _validate_rest(new: Object) -> list[FieldError]:
    """All but the attacher."""
    spec, status = new["spec"], new.get("status") or {}
    source, node = spec.get("source") or {}, spec.get("nodeName", "")
    errors = _validate_source(source)
    errors += [invalid("spec.nodeName", node, e) for e in dns_subdomain(node)]
    errors += _validate_status(status)
    volume = source.get("persistentVolumeName")
    if volume is not None:
        errors += [invalid("spec.source.persistentVolumeName", volume, e) for e in dns_subdomain(volume)]
    return errors


def _validate_source(source: Object) -> list[FieldError]:
    inline, name, path = source.get("inlineVolumeSpec"), source.get("persistentVolumeName"), "spec.source"
    if inline is None and name is None:
        return [required(path, _ONE_SOURCE)]
    if inline is not None and name is not None:
        return [forbidden(path, _ONE_SOURCE)]
    if inline is not None:
        return validate_volume_spec(inline, "", f"{path}.inlineVolumeSpec", inline=True)
    why = "must specify non empty persistentVolumeName"
    return [] if name else [required(f"{path}.persistentVolumeName", why)]


def _validate_status(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > _MAX_METADATA_BYTES:
        errors.append(too_long("status.attachmentMetadata", _MAX_METADATA_BYTES))
    for field in ("attachError", "detachError"):
        problem = status.get(field) or {}
        if len(problem.get("message", "").encode()) > _MAX_MESSAGE_BYTES:
            errors.append(too_long(f"status.{field}.message", _MAX_MESSAGE_BYTES))
        code = problem.get("errorCode")
        if code is not None and code < 0:
            errors.append(invalid(f"status.{field}.errorCode", code, inclusive_range(0, (1 << 31) - 1)))
    return errors


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    """As upstream: of a spec that changed, declared rules tell just that; code tells the rest."""
    errors = validate_driver_name(new["spec"].get("attacher", ""), "spec.attacher") + _validate_rest(new)
    return errors if new["spec"] == old["spec"] else [*errors, invalid("spec", None, "field is immutable")]


RESOURCE = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttachment",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=keep_all_but_status,
                validate_update=validate_update,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Attacher", field_value("spec", "attacher"), format="name"),
        Column("PV", field_value("spec", "source", "persistentVolumeName")),
        Column("Node", field_value("spec", "nodeName")),
        Column("Attached", field_value("status", "attached", absent=False), type="boolean"),
        AGE,
    ),
    returns_deleted=True,
)
