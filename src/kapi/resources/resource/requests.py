"""What a claim asks for: devices by class and selectors, constraints between them, their configuration."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.fields import FieldError, invalid, required
from kapi.api.names import dns_subdomain, long_name
from kapi.api.objects import Object
from kapi.resources.resource.configurations import check_configuration
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import declared_full_name, label
from kapi.resources.resource.selectors import check_selectors
from kapi.resources.resource.taints import check_tolerations

MOST_REQUESTS = 32
_MOST_CHOICES = 8
_NAMES = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_MODES = ("All", "ExactCount")


def default_claim(spec: Object | None) -> None:
    for request in ((spec or {}).get("devices") or {}).get("requests") or []:
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or [])):
            if wanted is None:
                continue
            if not wanted.get("allocationMode"):
                wanted["allocationMode"] = "ExactCount"
            if wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1


def drop_unserved(spec: Object | None) -> None:
    """Attributes that are computed by expressions are not served."""
    for request in ((spec or {}).get("devices") or {}).get("requests") or []:
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or [])):
            if wanted is not None:
                wanted.pop("derivedAttributes", None)


def request_names(spec: Object) -> frozenset[str]:
    """All names by which parts of a claim can be referred to."""
    names: set[str] = set()
    for request in (spec.get("devices") or {}).get("requests") or []:
        name = request.get("name", "")
        names.add(name)
        names |= {f"{name}/{choice.get('name', '')}" for choice in request.get("firstAvailable") or []}
    return frozenset(names)


def check_claim(found: Findings, spec: Object, path: str) -> None:
    devices, names = spec.get("devices") or {}, request_names(spec)
    requests, at = devices.get("requests") or [], f"{path}.devices"
    if found.each(requests, MOST_REQUESTS, f"{at}.requests", lambda request, p: _check_request(found, request, p)):
        found.distinct(requests, f"{at}.requests", lambda request: request.get("name"))
    found.each(
        devices.get("constraints"), 32, f"{at}.constraints", lambda item, p: _check_constraint(found, item, names, p)
    )

    def check_config(config: Object, p: str) -> None:
        check_references(found, config.get("requests"), names, f"{p}.requests")
        check_configuration(found, config, p)

    found.each(devices.get("config"), 32, f"{at}.config", check_config)


def _check_request(found: Findings, request: Object, path: str) -> None:
    exactly, choices = request.get("exactly"), request.get("firstAvailable") or []
    found.add(*label(request.get("name", ""), f"{path}.name"))
    if exactly is None and not choices:
        found.add(required(path, "exactly one of `exactly` or `firstAvailable` is required"))
    elif exactly is not None and choices:
        why = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        found.add(invalid(path, None, why))
        unchosen = Findings()
        _check_exactly(unchosen, exactly, path)
        _check_choices(unchosen, choices, path)
        # As upstream: code leaves the two at that, declared rules do not.
        found.declare(*unchosen.declared)
    elif exactly is not None:
        _check_exactly(found, exactly, path)
    else:
        _check_choices(found, choices, path)


def _check_exactly(found: Findings, exactly: Object, path: str) -> None:
    found.add(*_class_name(exactly, f"{path}.exactly.deviceClassName", dns_subdomain))
    _check_wanted(found, exactly, f"{path}.exactly")


def _check_choices(found: Findings, choices: list[Object], path: str) -> None:
    if found.each(choices, _MOST_CHOICES, f"{path}.firstAvailable", lambda c, p: _check_choice(found, c, p)):
        found.distinct(choices, f"{path}.firstAvailable", lambda choice: choice.get("name"))


def _check_choice(found: Findings, choice: Object, path: str) -> None:
    found.add(*label(choice.get("name", ""), f"{path}.name"))
    found.declare(*_class_name(choice, f"{path}.deviceClassName", long_name))
    _check_wanted(found, choice, path)


def _class_name(wanted: Object, path: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    name = wanted.get("deviceClassName", "")
    return [invalid(path, name, e) for e in check(name)] if name else [required(path)]


def _check_wanted(found: Findings, wanted: Object, path: str) -> None:
    check_selectors(found, wanted.get("selectors"), f"{path}.selectors")
    mode, count = wanted["allocationMode"], wanted.get("count", 0)
    if mode == "All" and count:
        found.add(invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'"))
    elif mode == "ExactCount" and count <= 0:
        found.add(invalid(f"{path}.count", count, "must be greater than zero"))
    found.choice(mode, _MODES, f"{path}.allocationMode")
    check_tolerations(found, wanted.get("tolerations"), f"{path}.tolerations")


def _check_constraint(found: Findings, constraint: Object, names: frozenset[str], path: str) -> None:
    check_references(found, constraint.get("requests"), names, f"{path}.requests")
    given = [field for field in ("matchAttribute", "distinctAttribute") if constraint.get(field) is not None]
    for field in given:
        found.declare(*declared_full_name(constraint[field], f"{path}.{field}"))
    if not given:
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        found.add(required(path, why))


def check_references(found: Findings, references: list[str] | None, names: frozenset[str], path: str) -> None:
    if found.each(references, MOST_REQUESTS, path, lambda name, p: check_reference(found, name, names, p)):
        found.distinct(references, path)


def check_reference(found: Findings, name: str, names: frozenset[str], path: str) -> None:
    segments = name.split("/")
    if len(segments) <= 2:
        found.add(*(e for segment in segments for e in label(segment, path)))
    if name not in names:
        found.add(invalid(path, name, _NAMES))
