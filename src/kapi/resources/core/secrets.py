"""Secrets: data that is not for everyone's eyes."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import orjson

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, required, too_long
from kapi.api.objects import Object
from kapi.codec.json_syntax import syntax_error
from kapi.patch.values import json_type
from kapi.registry.resource import Resource, metadata_fields
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.keys import config_map_key

MAX_BYTES = 1024 * 1024
_REDACTED = "<secret contents redacted>"
_IMMUTABLE = "field is immutable when `immutable` is set"
# Data that a type demands.
_DEMANDS: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_DOCKER = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")


def default(new: Object) -> None:
    if not new.get("type"):
        new["type"] = "Opaque"
    # stringData is written, never read: it overrides data.
    plain = new.pop("stringData", None)
    if plain:
        data = new.setdefault("data", {})
        for key, value in plain.items():
            data[key] = base64.b64encode(value.encode()).decode()


def validate(_: Call, new: Object) -> list[FieldError]:
    data: dict[str, str] = new.get("data") or {}
    errors: list[FieldError] = []
    for key in sorted(data):
        errors += [invalid(f"data[{key}]", key, e) for e in config_map_key(key)]
    if sum(len(base64.b64decode(value)) for value in data.values()) > MAX_BYTES:
        errors.append(too_long("data", MAX_BYTES))
    return errors + _validate_type(new, data)


def _validate_type(new: Object, data: dict[str, str]) -> list[FieldError]:
    kind = new.get("type", "")
    if kind == "kubernetes.io/service-account-token":
        account = (new["metadata"].get("annotations") or {}).get("kubernetes.io/service-account.name")
        path = "metadata.annotations[kubernetes.io/service-account.name]"
        return [] if account else [required(path)]
    if kind == "kubernetes.io/basic-auth":
        if "username" not in data and "password" not in data:
            return [required("data[username]"), required("data[password]")]
        return []
    if kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        return [required("data[ssh-privatekey]")]
    missing = [required(f"data[{key}]") for key in _DEMANDS.get(kind, ()) if key not in data]
    return missing or _validate_json(kind, data)


def _validate_json(kind: str, data: dict[str, str]) -> list[FieldError]:
    """Docker's configurations are JSON objects; what is wrong with them is told without showing them."""
    if kind not in _DOCKER:
        return []
    key = _DEMANDS[kind][0]
    text = base64.b64decode(data[key])
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        why = syntax_error(text)
        return [invalid(f"data[{key}]", _REDACTED, why)] if why is not None else []
    if isinstance(content, dict) or content is None:
        return []
    why = f"json: cannot unmarshal {json_type(content)} into Go value of type map[string]interface {{}}"
    return [invalid(f"data[{key}]", _REDACTED, why)]


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if new.get("type") != old.get("type"):
        errors.append(invalid("type", new.get("type"), "field is immutable"))
    if old.get("immutable"):
        if not new.get("immutable"):
            errors.append(forbidden("immutable", _IMMUTABLE))
        if (new.get("data") or {}) != (old.get("data") or {}):
            errors.append(forbidden("data", _IMMUTABLE))
    return errors + validate(call, new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    """An update that leaves out the type means the same one."""
    if not new.get("type"):
        new["type"] = old.get("type")


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    if new.get("type") != "kubernetes.io/tls":
        return []
    # Only needed for these.
    from kapi.resources.core.tls_pairs import pair_problem

    data = new.get("data") or {}
    problem = pair_problem(*(base64.b64decode(data.get(key, "")) for key in _DEMANDS["kubernetes.io/tls"]))
    return [problem] if problem else []


def fields_of(decoded: Object) -> dict[str, str]:
    return {**metadata_fields(decoded), "type": decoded.get("type", "")}


RESOURCE = Resource(
    group="",
    version="v1",
    kind="Secret",
    strategy=Strategy(
        default=default,
        validate=validate,
        validate_update=validate_update,
        prepare_for_update=prepare_for_update,
        warnings=warnings,
    ),
    columns=(
        NAME,
        Column("Type", field_value("type")),
        Column("Data", lambda decoded: len(decoded.get("data") or ())),
        AGE,
    ),
    fields_of=fields_of,
    field_names=("type",),
)
