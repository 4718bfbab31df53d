"""A write as those see it who are asked about it: the fields of an AdmissionRequest but for the objects themselves."""

from __future__ import annotations

from kapi.admission.matching import Match
from kapi.admission.resources import NAMESPACES
from kapi.api.objects import Object
from kapi.api.user import User
from kapi.registry.attributes import Attributes
from kapi.registry.options import DeleteOptions, WriteOptions

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def admission_request(attributes: Attributes, match: Match) -> Object:
    """`match` is the version that is asked about; the request's own is told beside it."""
    request: Object = {
        "kind": match.kind._asdict(),
        "resource": match.resource._asdict(),
        "subResource": attributes.subresource,
        "requestKind": attributes.kind._asdict(),
        "requestResource": attributes.resource._asdict(),
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": namespace_of(attributes),
        "operation": attributes.operation,
        "userInfo": user_info(attributes.call.user),
        "dryRun": attributes.options.dry_run,
        "options": operation_options(attributes),
    }
    return {name: value for name, value in request.items() if value != ""}


def namespace_of(attributes: Attributes) -> str:
    """As upstream: a namespace is in itself."""
    if not attributes.namespace and attributes.resource.group_resource == NAMESPACES:
        return attributes.name
    return attributes.namespace


def user_info(user: User) -> Object:
    info: Object = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {name: value for name, value in info.items() if value}


def operation_options(attributes: Attributes) -> Object | None:
    """The options of the operation, as their kind says them; a connection has none."""
    kind = _OPTIONS.get(attributes.operation)
    if kind is None:
        return None
    options = attributes.options
    told: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if isinstance(options, DeleteOptions):
        return told | _deletion(options)
    validation = attributes.call.params.get("fieldValidation")
    return told | _write(options) | ({"fieldValidation": validation[0]} if validation else {})


def _write(options: WriteOptions) -> Object:
    told: Object = {"dryRun": ["All"]} if options.dry_run else {}
    if options.field_manager:
        told["fieldManager"] = options.field_manager
    return told


def _deletion(options: DeleteOptions) -> Object:
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    told: Object = {
        "gracePeriodSeconds": options.grace_period,
        "preconditions": {k: v for k, v in preconditions.items() if v is not None} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.propagation_policy,
        "dryRun": ["All"] if options.dry_run else None,
    }
    return {name: value for name, value in told.items() if value is not None}
