"""EncryptionConfiguration (apiserver.config.k8s.io/v1): read strictly, defaulted, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from kapi.api.duration import DurationError, parse_duration
from kapi.api.fields import go_quote
from kapi.api.gvk import GroupResource

_API_VERSION = "apiserver.config.k8s.io/v1"
_KIND = "EncryptionConfiguration"
_DEFAULT_TIMEOUT = 3 * 10**9
_DEFAULT_CACHE_SIZE = 1000

# What may be written: a dict for an object, a list of one for a list, a type for a value.
_Schema: TypeAlias = "dict[str, _Schema] | list[_Schema] | type"
_KEYS: _Schema = {"keys": [{"name": str, "secret": str}]}
_KMS: _Schema = {"apiVersion": str, "name": str, "cachesize": int, "endpoint": str, "timeout": str}
_PROVIDER: _Schema = {"aesgcm": _KEYS, "aescbc": _KEYS, "secretbox": _KEYS, "identity": {}, "kms": _KMS}
_SCHEMA: _Schema = {
    "apiVersion": str,
    "kind": str,
    "resources": [{"resources": [str], "providers": [_PROVIDER]}],
}
_GO_KINDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class ConfigurationError(ValueError):
    """The configuration cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    secret: str  # in base64

    def __repr__(self) -> str:
        return f"Name: {self.name}, Secret: [REDACTED]"


@dataclass(frozen=True, slots=True, kw_only=True)
class KMS:
    api_version: str
    name: str
    cache_size: int | None
    endpoint: str
    timeout: int  # nanoseconds

    @property
    def timeout_seconds(self) -> float:
        return self.timeout / 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One of these is set, in a valid configuration."""

    aesgcm: tuple[Key, ...] | None = None
    aescbc: tuple[Key, ...] | None = None
    secretbox: tuple[Key, ...] | None = None
    identity: bool = False
    kms: KMS | None = None


@dataclass(frozen=True, slots=True)
class ResourceConfiguration:
    resources: tuple[str, ...]
    providers: tuple[Provider, ...]


@dataclass(frozen=True, slots=True)
class EncryptionConfiguration:
    resources: tuple[ResourceConfiguration, ...]


def parse_group_resource(text: str) -> GroupResource:
    """`resource.group`, as schema.ParseGroupResource reads it."""
    resource, _, group = text.partition(".")
    return GroupResource(group, resource)


def read_file(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        why = f"open {path}: {(error.strerror or str(error)).lower()}"
        raise ConfigurationError(
            f"error while loading file: error reading encryption provider configuration file {go_quote(path)}: {why}"
        ) from None
    if not data:
        raise ConfigurationError(
            f"error while loading file: encryption provider configuration file {go_quote(path)} is empty"
        )
    return data


def content_hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def decode(data: bytes, path: str) -> EncryptionConfiguration:
    """The configuration with its defaults; not validated."""
    try:
        return _configuration(_document(data))
    except (ConfigurationError, DurationError) as error:
        raise ConfigurationError(
            f"error decoding encryption provider configuration file {go_quote(path)}: {error}"
        ) from None


def _document(data: bytes) -> dict[str, Any]:
    from kapi.codec.yaml import YAMLError, load

    try:
        document, duplicates = load(data)
    except YAMLError as error:
        raise ConfigurationError(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(document, dict):
        raise ConfigurationError("couldn't get version/kind; json parse error: it is no object")
    version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if not kind:
        raise ConfigurationError("Object 'Kind' is missing")
    if not version:
        raise ConfigurationError("Object 'apiVersion' is missing")
    if (version, kind) != (_API_VERSION, _KIND):
        raise ConfigurationError(
            f'no kind "{kind}" is registered for version "{version}" in the configuration\'s scheme'
        )
    problems = [duplicates] if duplicates else []
    problems += _problems(_SCHEMA, document, "")
    if problems:
        raise ConfigurationError(f"strict decoding error: {', '.join(problems)}")
    return document


def _problems(schema: _Schema, value: Any, path: str) -> Iterator[str]:
    """Unknown fields; a value of a wrong type is raised."""
    if value is None:
        return
    if isinstance(schema, dict):
        _expect(dict, value, path)
        for name, item in value.items():
            inner = f"{path}.{name}" if path else name
            if name not in schema:
                yield f'unknown field "{inner}"'
            else:
                yield from _problems(schema[name], item, inner)
    elif isinstance(schema, list):
        _expect(list, value, path)
        for index, item in enumerate(value):
            yield from _problems(schema[0], item, f"{path}[{index}]")
    else:
        _expect(schema, value, path)


def _expect(kind: type, value: Any, path: str) -> None:
    if type(value) is not kind:
        found = _GO_KINDS.get(type(value), "value")
        raise ConfigurationError(f"json: cannot unmarshal {found} into Go struct field {_KIND}.{path}")


def _configuration(document: dict[str, Any]) -> EncryptionConfiguration:
    return EncryptionConfiguration(
        tuple(
            ResourceConfiguration(
                tuple(name or "" for name in item.get("resources") or ()),
                tuple(_provider(provider or {}) for provider in item.get("providers") or ()),
            )
            for item in (entry or {} for entry in document.get("resources") or ())
        )
    )


def _provider(item: dict[str, Any]) -> Provider:
    return Provider(
        aesgcm=_keys(item.get("aesgcm")),
        aescbc=_keys(item.get("aescbc")),
        secretbox=_keys(item.get("secretbox")),
        identity=item.get("identity") is not None,
        kms=_kms(item["kms"]) if item.get("kms") is not None else None,
    )


def _keys(item: dict[str, Any] | None) -> tuple[Key, ...] | None:
    if item is None:
        return None
    return tuple(
        Key(key.get("name") or "", key.get("secret") or "") for key in (k or {} for k in item.get("keys") or ())
    )


def _kms(item: dict[str, Any]) -> KMS:
    version, timeout, cache_size = item.get("apiVersion") or "v1", item.get("timeout"), item.get("cachesize")
    if cache_size is None and version == "v1":
        cache_size = _DEFAULT_CACHE_SIZE
    return KMS(
        api_version=version,
        name=item.get("name") or "",
        cache_size=cache_size,
        endpoint=item.get("endpoint") or "",
        timeout=parse_duration(timeout) if timeout is not None else _DEFAULT_TIMEOUT,
    )
