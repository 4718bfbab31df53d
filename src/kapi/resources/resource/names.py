"""Names in this group: drivers, pools, devices, attributes. As code checks them, and as declared rules do."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, invalid, required, too_long
from kapi.api.names import dns_label, dns_subdomain, label_key, long_name, long_name_caseless
from kapi.resources.podspec.volume_sources import validate_driver_name

_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_is_identifier = re.compile(_IDENTIFIER + r"\Z").match
_is_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z").match
_BAD_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    f"or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '{_IDENTIFIER}')"
)
_POOL, _DOMAIN, _ID = 253, 63, 32

driver_name = validate_driver_name


def declared_driver_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [invalid(path, name, e) for e in long_name_caseless(name)]
    if len(name) > _DOMAIN:
        errors.append(FieldError("FieldValueTooLong", path, f"may not be more than {_DOMAIN} characters"))
    return errors


def pool_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _POOL)] if len(name.encode()) > _POOL else []
    return errors + [invalid(path, part, e) for part in name.split("/") for e in dns_subdomain(part)]


def declared_pool_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _POOL)] if len(name.encode()) > _POOL else []
    for i, part in enumerate(name.split("/")):
        if not part:
            errors.append(invalid(path, name, f"segment {i}: must not be empty"))
        else:
            errors += [invalid(path, part, f"segment {i}: {e}") for e in long_name(part)]
    return errors


def label(name: str, path: str) -> list[FieldError]:
    """A device's name, a request's."""
    return [invalid(path, name, e) for e in dns_label(name)]


def qualified_name(name: str, path: str) -> list[FieldError]:
    """An attribute or a capacity, of the driver's own or another domain."""
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier(name, path)
    if len(parts) > 2:
        return []
    domain, rest = parts
    errors = driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return errors + (_identifier(rest, path) if rest else [invalid(path, "", "the name must not be empty")])


def declared_full_name(name: str, path: str) -> list[FieldError]:
    """An attribute with its domain."""
    parts = name.split("/")
    errors: list[FieldError] = []
    if len(parts) == 2:
        domain, rest = parts
        if not domain:
            errors.append(invalid(path, "", "prefix must not be empty"))
        else:
            errors += [too_long(path, _DOMAIN)] if len(domain.encode()) > _DOMAIN else []
            errors += [invalid(path, domain, f"prefix: {e}") for e in long_name(domain)]
        errors += _identifier(rest, path) if rest else [invalid(path, "", "name must not be empty")]
    elif len(parts) == 1:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors += [*_identifier(name, path), invalid(path, name, why)]
    return errors


def _identifier(name: str, path: str) -> list[FieldError]:
    errors = [too_long(path, _ID)] if len(name.encode()) > _ID else []
    return errors if _is_identifier(name) else [*errors, invalid(path, name, _BAD_IDENTIFIER)]


def declared_uuid(uid: str, path: str) -> list[FieldError]:
    return [] if _is_uuid(uid) else [invalid(path, uid, "must be a lowercase UUID in 8-4-4-4-12 format")]


def extended_resource(name: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if "/" not in name:
        errors.append(invalid(path, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'"))
    elif "kubernetes.io/" in name:
        errors.append(invalid(path, name, 'must not have "kubernetes.io/" domain'))
    if name.startswith("requests."):
        errors.append(invalid(path, name, 'must not have "requests." prefix'))
    return errors + [invalid(path, name, e) for e in label_key(f"requests.{name}")]
