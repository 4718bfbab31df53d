"""Query parameters: read as upstream's conversion reads them, refused in its words."""

from __future__ import annotations

import re
from typing import NamedTuple

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required, too_long
from kapi.api.gvk import GroupKind
from kapi.api.objects import Object, Revision
from kapi.api.selectors import (
    FieldSelector,
    InvalidSelector,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)
from kapi.registry.options import DeleteOptions, WriteOptions, check_delete_options, dry_run_problems
from kapi.registry.resource import Resource

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1
_LONGEST = 100  # digits, leading zeros included
_DIGITS = re.compile(r"[0-9]+").fullmatch
_IGNORE_READ_ERRORS = "ignoreStoreReadErrorWithClusterBreakingPotential"


def first(call: Call, name: str) -> str | None:
    values = call.params.get(name)
    return values[0] if values else None


def boolean(call: Call, name: str) -> bool:
    """Present and not false: a value that is neither counts as true."""
    value = first(call, name)
    return value is not None and value.lower() not in ("false", "0")


def integer(call: Call, name: str) -> int | None:
    """As strconv.ParseInt reads it, and complains."""
    value = first(call, name)
    if value is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+", value):
        raise errors.BadRequest(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    # Python refuses to read numbers of thousands of digits.
    number = int(value) if len(value) < _LONGEST else _HIGH + 1
    if not _LOW <= number <= _HIGH:
        raise errors.BadRequest(f'strconv.ParseInt: parsing "{value}": value out of range')
    return number


class InvalidResourceVersion(errors.APIError):
    """A version that is not a number: as upstream, a 500 without a reason."""

    def __init__(self, text: str) -> None:
        why = "value out of range" if _DIGITS(text) else "invalid syntax"
        super().__init__(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}')


def revision(text: str | None) -> Revision | None:
    """A resourceVersion: None when unset or empty."""
    if not text:
        return None
    if not _DIGITS(text) or len(text) > _LONGEST or int(text) >= 1 << 64:
        raise InvalidResourceVersion(text)
    return Revision(int(text))


class ListOptions(NamedTuple):
    labels: LabelSelector
    fields: FieldSelector
    resource_version: str
    match: str
    limit: int
    token: str
    timeout: int | None
    bookmarks: bool
    initial_events: bool | None


def list_options(call: Call, resource: Resource, *, watch: bool) -> ListOptions:
    """ListOptions of a list, a watch or a deletecollection, validated."""
    # As upstream: a watch through the legacy path is checked as a list, and gets no bookmarks.
    watch = watch and boolean(call, "watch")
    limit = integer(call, "limit")
    timeout = integer(call, "timeoutSeconds")
    try:
        labels = parse_label_selector(first(call, "labelSelector") or "")
        fields = parse_field_selector(first(call, "fieldSelector") or "")
    except InvalidSelector as error:
        raise errors.BadRequest(str(error)) from None
    check_known_fields(resource, fields)
    initial = first(call, "sendInitialEvents")
    options = ListOptions(
        labels=labels,
        fields=fields,
        resource_version=first(call, "resourceVersion") or "",
        match=first(call, "resourceVersionMatch") or "",
        limit=limit or 0,
        token=first(call, "continue") or "",
        timeout=timeout,
        bookmarks=watch and boolean(call, "allowWatchBookmarks"),
        initial_events=None if initial is None else boolean(call, "sendInitialEvents"),
    )
    found = _watch_problems(options) if watch else _list_problems(options)
    if found:
        raise errors.Invalid(GroupKind("meta.k8s.io", "ListOptions"), "", found)
    return options


def check_known_fields(resource: Resource, fields: FieldSelector) -> None:
    # As upstream: who has fields of their own says which of the general ones there are besides.
    particular = bool(resource.field_names) or resource.untyped is not None
    for requirement in fields.requirements:
        name = requirement.field
        if name == "metadata.namespace":
            known = not particular or (resource.names.namespaced and resource.namespace_selectable)
        else:
            known = name == "metadata.name" or name in resource.field_names
        if not known:
            if particular:
                raise errors.BadRequest(resource.unknown_field.format(requirement.field))
            raise errors.BadRequest(
                f'"{requirement.field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
            )


def _watch_problems(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    at = "resourceVersionMatch"
    if options.initial_events is not None:
        if options.match != "NotOlderThan":
            found.append(forbidden(at, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    elif options.match:
        found.append(forbidden(at, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"))
    if options.match and options.match != "NotOlderThan":
        found.append(not_supported(at, options.match, ["NotOlderThan"]))
    # As upstream: a watch from any state asks for initial events, and so for a match.
    from_any = options.initial_events is None and options.resource_version in ("", "0")
    if options.token and (options.match or from_any):
        found.append(forbidden(at, "resourceVersionMatch is forbidden when continue is provided"))
    return found


def _list_problems(options: ListOptions) -> list[FieldError]:
    found: list[FieldError] = []
    at = "resourceVersionMatch"
    if options.match:
        if not options.resource_version:
            found.append(forbidden(at, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.token:
            found.append(forbidden(at, "resourceVersionMatch is forbidden when continue is provided"))
        if options.match not in ("Exact", "NotOlderThan"):
            found.append(not_supported(at, options.match, ["Exact", "NotOlderThan", ""], in_order=True))
        if options.match == "Exact" and options.resource_version == "0":
            detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            found.append(forbidden(at, detail))
    if options.initial_events is not None:
        found.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return found


def write_options(call: Call, kind: str, *, apply: bool = False) -> WriteOptions:
    """CreateOptions, UpdateOptions or PatchOptions."""
    manager = first(call, "fieldManager") or ""
    dry_run = call.params.get("dryRun", [])
    validation = first(call, "fieldValidation") or ""
    force = boolean(call, "force") if "force" in call.params else None
    found: list[FieldError] = []
    if kind == "PatchOptions":
        found += _apply_problems(manager, force, apply=apply)
    found += _manager_problems(manager)
    found += dry_run_problems(dry_run)
    if validation not in ("", "Ignore", "Warn", "Strict"):
        found.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
    if found:
        raise errors.Invalid(GroupKind("meta.k8s.io", kind), "", found)
    return WriteOptions(
        dry_run=bool(dry_run),
        field_manager=manager,
        field_validation=validation or "Warn",  # type: ignore[arg-type]
        force=bool(force),
    )


def _apply_problems(manager: str, force: bool | None, *, apply: bool) -> list[FieldError]:
    if apply:
        return [] if manager else [required("fieldManager", "is required for apply patch")]
    return [] if force is None else [forbidden("force", "may not be specified for non-apply patch")]


def _manager_problems(manager: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(manager.encode()) > 128:
        found.append(too_long("fieldManager", 128))
    if manager.isprintable():
        return found
    for i, c in enumerate(manager):
        if not c.isprintable():
            text = f"invalid character U+{ord(c):04X} (at position {i})"
            found.append(FieldError("FieldValueInvalid", "fieldManager", text, manager))
    return found


def delete_options(call: Call, body: Object | None) -> DeleteOptions:
    """DeleteOptions from the body, or from the query when there is none."""
    if body is not None:
        options, dry_run = _from_body(body)
    else:
        dry_run = call.params.get("dryRun", [])
        is_one = call.info.verb == "delete"  # of a collection, the version says what to list
        options = DeleteOptions(
            grace_period=integer(call, "gracePeriodSeconds"),
            uid=(first(call, "uid") or None) if is_one else None,
            resource_version=(first(call, "resourceVersion") or None) if is_one else None,
            orphan_dependents=boolean(call, "orphanDependents") if "orphanDependents" in call.params else None,
            propagation_policy=first(call, "propagationPolicy"),
            ignore_read_errors=boolean(call, _IGNORE_READ_ERRORS),
        )
    if not call.settings.features.get("AllowUnsafeMalformedObjectDeletion", True):
        options.ignore_read_errors = False
    options.dry_run = bool(dry_run)
    ignoring = _with_ignored_errors(call, options, body) if options.ignore_read_errors else []
    check_delete_options(options, dry_run, ignoring)
    return options


def _with_ignored_errors(call: Call, options: DeleteOptions, body: Object | None) -> list[FieldError]:
    """Nothing that an object would have to be read for can be asked as well."""
    given = {
        "propagationPolicy": options.propagation_policy,
        "orphanDependents": options.orphan_dependents,
        "gracePeriodSeconds": options.grace_period,
        "preconditions": options.uid or options.resource_version or (body or {}).get("preconditions"),
    }
    found = [
        invalid(_IGNORE_READ_ERRORS, True, f"cannot be set together with .{name}")
        for name, value in given.items()
        if value is not None
    ]
    if not found and call.info.verb == "deletecollection":
        detail = "is not allowed with DELETECOLLECTION, try again after removing the option"
        return [invalid(_IGNORE_READ_ERRORS, True, detail)]
    return found


def _from_body(body: Object) -> tuple[DeleteOptions, list[str]]:
    preconditions = body.get("preconditions") or {}
    options = DeleteOptions(
        grace_period=body.get("gracePeriodSeconds"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        orphan_dependents=body.get("orphanDependents"),
        propagation_policy=body.get("propagationPolicy"),
        ignore_read_errors=bool(body.get(_IGNORE_READ_ERRORS)),
    )
    return options, body.get("dryRun") or []
