"""What is wrong with an EncryptionConfiguration, all at once and in upstream's words. No secret is ever shown."""

from __future__ import annotations

import base64
import binascii
from typing import Any
from urllib.parse import urlsplit

from kapi.api.duration import format_duration
from kapi.api.fields import FieldError, go_quote, invalid, required
from kapi.storage.encryption.configuration import (
    KMS,
    EncryptionConfiguration,
    Key,
    Provider,
    parse_group_resource,
)

ANY = "*"
NO_PROVIDER = (
    "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
)  # fmt: skip
_MORE_THAN_ONE = (
    "more than one provider specified in a single element, should split into different list elements"
)  # fmt: skip
_EVENTS = (
    "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
)
_OVERLAP = (
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be "
    "masked"
)
_WITHOUT_API = ("apiserveripinfo", "serviceipallocations", "servicenodeportallocations")
_AES_SIZES = (16, 24, 32)
_SECRETBOX_SIZES = (32,)
_GO_NAMES = {"aesgcm": "AESGCM", "aescbc": "AESCBC", "secretbox": "Secretbox", "identity": "Identity", "kms": "KMS"}


def validate(configuration: EncryptionConfiguration, *, reload: bool) -> list[FieldError]:
    if not configuration.resources:
        return [_at_least_one("resources", "resources")]
    errors: list[FieldError] = []
    kms_names: set[str] = set()
    for i, entry in enumerate(configuration.resources):
        resources, providers = f"resources[{i}].resources", f"resources[{i}].providers"
        if not entry.resources:
            errors.append(_at_least_one(resources, resources))
        errors += _overlaps(entry.resources, resources)
        for j, name in enumerate(entry.resources):
            if problem := _name_problem(name):
                errors.append(invalid(f"{resources}[{j}]", name, problem))
        if not entry.providers:
            errors.append(_at_least_one(providers, providers))
        for j, provider in enumerate(entry.providers):
            errors += _provider(provider, f"{providers}[{j}]", kms_names, reload=reload)
    return errors


def _at_least_one(path: str, what: str) -> FieldError:
    return required(path, f"at least one {what} is required")


def _overlaps(names: tuple[str, ...], path: str) -> list[FieldError]:
    resources = [parse_group_resource(name) for name in names]
    errors = []
    if len(set(resources)) < len(resources):
        errors.append(invalid(path, list(names), "the same resource cannot be specified multiple times"))
    for i, one in enumerate(resources):
        others = [other for j, other in enumerate(resources) if j != i and other != one]
        everything = one == (ANY, ANY) and others
        if everything or any(one.group == o.group and ANY in (one.resource, o.resource) for o in others):
            errors.append(invalid(path, list(names), _OVERLAP))
            break
    return errors


def _name_problem(name: str) -> str:
    group, resource = parse_group_resource(name)
    if name.lower() != name:
        return "resource name should not contain capital letters"
    if name == ANY:
        return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
    if name in _WITHOUT_API:
        return "resources which do not have REST API/s cannot be encrypted"
    if group == "events.k8s.io":
        return _EVENTS
    if group == "extensions":
        return "'extensions' group has been removed and cannot be used for encryption"
    if group == ANY and resource != ANY:
        return "encrypting the same resource across groups is not supported"
    return ""


def _provider(provider: Provider, path: str, kms_names: set[str], *, reload: bool) -> list[FieldError]:
    named = {
        "kms": provider.kms is not None,
        "aesgcm": provider.aesgcm is not None,
        "aescbc": provider.aescbc is not None,
        "secretbox": provider.secretbox is not None,
        "identity": provider.identity,
    }
    errors: list[FieldError] = []
    found = [name for name, given in named.items() if given]
    if len(found) != 1:
        shown: dict[str, Any] = {_GO_NAMES[name]: {} if named[name] else None for name in _GO_NAMES}
        errors.append(invalid(path, shown, _MORE_THAN_ONE if found else NO_PROVIDER))
    if provider.kms is not None:
        errors += _kms(provider.kms, f"{path}.kms", kms_names, reload=reload)
        kms_names.add(provider.kms.name)
    elif provider.aesgcm is not None:
        errors += _keys(provider.aesgcm, f"{path}.aesgcm.keys", _AES_SIZES)
    elif provider.aescbc is not None:
        errors += _keys(provider.aescbc, f"{path}.aescbc.keys", _AES_SIZES)
    elif provider.secretbox is not None:
        errors += _keys(provider.secretbox, f"{path}.secretbox.keys", _SECRETBOX_SIZES)
    return errors


def _keys(keys: tuple[Key, ...], path: str, sizes: tuple[int, ...]) -> list[FieldError]:
    if not keys:
        return [_at_least_one(path, "keys")]
    return [error for i, key in enumerate(keys) for error in _key(key, f"{path}[{i}]", sizes)]


def _key(key: Key, path: str, sizes: tuple[int, ...]) -> list[FieldError]:
    errors = []
    if not key.name:
        errors.append(required(f"{path}.name", "name is a mandatory field for a key"))
    if not key.secret:
        return [*errors, required(f"{path}.secret", "secret is a mandatory field for a key")]
    try:
        secret = base64.b64decode(key.secret, validate=True)
    except (binascii.Error, ValueError):
        return [*errors, invalid(f"{path}.secret", "REDACTED", "secrets must be base64 encoded")]
    if len(secret) not in sizes:
        expected = f"[{' '.join(map(str, sizes))}]"
        detail = f"secret is not of the expected length, got {len(secret)}, expected one of {expected}"
        errors.append(invalid(f"{path}.secret", "REDACTED", detail))
    return errors


def _kms(kms: KMS, path: str, names: set[str], *, reload: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if not kms.name:
        errors.append(required(f"{path}.name", "name is a mandatory field for a provider"))
    if kms.api_version != "v1" and ":" in kms.name:
        errors.append(invalid(f"{path}.name", kms.name, f"invalid KMS provider name {kms.name}, must not contain ':'"))
    if (reload or kms.api_version != "v1") and kms.name in names:
        detail = f"duplicate KMS provider name {kms.name}, names must be unique"
        errors.append(invalid(f"{path}.name", kms.name, detail))
    if kms.timeout <= 0:
        errors.append(invalid(f"{path}.timeout", format_duration(kms.timeout), "timeout should be a positive value"))
    errors += _endpoint(kms.endpoint, f"{path}.endpoint")
    if kms.api_version != "v1" and kms.cache_size is not None:
        errors.append(invalid(f"{path}.cachesize", kms.cache_size, "cachesize is not supported in v2"))
    if kms.api_version == "v1" and kms.cache_size == 0:
        detail = "cachesize should be a positive value, or negative to disable"
        errors.append(invalid(f"{path}.cachesize", kms.cache_size, detail))
    if kms.api_version not in ("v1", "v2"):
        # Upstream names the field here, not its value.
        detail = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"
        errors.append(invalid(f"{path}.apiVersion", kms.api_version, detail))
    return errors


def _endpoint(endpoint: str, path: str) -> list[FieldError]:
    if not endpoint:
        return [invalid(path, "", "endpoint is a mandatory field for a kms")]
    try:
        scheme = urlsplit(endpoint).scheme
    except ValueError as error:
        return [invalid(path, endpoint, f"invalid endpoint for kms provider, error: {error}")]
    if scheme != "unix":
        detail = f"unsupported scheme {go_quote(scheme)} for KMS provider, only unix is supported"
        return [invalid(path, endpoint, detail)]
    return []
