"""The authorization configuration file: which authorizers are asked, in which order, and how webhooks are.

What is wrong with it is told as upstream tells it, all at once.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kapi.api.authorizer import Decision
from kapi.api.duration import SECOND, format_duration, parse_duration
from kapi.api.fields import FieldError, duplicate, go_struct, invalid, not_supported, required, too_many
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.authz.rules import aggregate
from kapi.authz.webhook import WebhookConfig
from kapi.codec.configuration import DURATION, FLAG, TEXT, ConfigurationError, ListOf, Struct, decode

MODES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")
VERSIONS = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_IN_CLUSTER, _FILE = "InClusterConfig", "KubeConfigFile"
_LONGEST_TIMEOUT = 30 * SECOND
_MOST_CONDITIONS = 64

_WEBHOOK = Struct(
    "WebhookConfiguration",
    {
        "authorizedTTL": DURATION,
        "cacheAuthorizedRequests": FLAG,
        "unauthorizedTTL": DURATION,
        "cacheUnauthorizedRequests": FLAG,
        "timeout": DURATION,
        "subjectAccessReviewVersion": TEXT,
        "matchConditionSubjectAccessReviewVersion": TEXT,
        "failurePolicy": TEXT,
        "connectionInfo": Struct("WebhookConnectionInfo", {"type": TEXT, "kubeConfigFile": TEXT}),
        "matchConditions": ListOf(Struct("WebhookMatchCondition", {"expression": TEXT})),
    },
)
_AUTHORIZER = Struct("AuthorizerConfiguration", {"type": TEXT, "name": TEXT, "webhook": _WEBHOOK})
_SHAPE = Struct("AuthorizationConfiguration", {"authorizers": ListOf(_AUTHORIZER)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizerConfig:
    """`webhook` is there for the Webhook mode alone."""

    mode: str
    name: str
    webhook: WebhookConfig | None = None


def load(path: Path) -> tuple[AuthorizerConfig, ...]:
    """Raises ConfigurationError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"open {path}: {(error.strerror or str(error)).lower()}") from None
    return read(data)


def read(data: bytes, required_modes: Iterable[str] = ()) -> tuple[AuthorizerConfig, ...]:
    """`required_modes` must be among them: what a server began with it keeps. Raises ConfigurationError."""
    try:
        document = decode(data, _SHAPE, VERSIONS) if data else {}
    except ConfigurationError as error:
        raise ConfigurationError(f"failed to load AuthorizationConfiguration from file: {error}") from None
    authorizers = [item or {} for item in document.get("authorizers") or ()]
    problems = list(map(str, _validate(authorizers)))
    if not problems:
        problems = list(_wrong_names(authorizers))
        missing = sorted(set(required_modes) - {item["type"] for item in authorizers} - {"Webhook"})
        if missing:
            problems.append(f"missing required types: [{' '.join(missing)}]")
    if problems:
        raise ConfigurationError(aggregate(problems))
    return tuple(_config(item) for item in authorizers)


def _config(item: Object) -> AuthorizerConfig:
    webhook = item.get("webhook")
    return AuthorizerConfig(
        mode=item["type"], name=item["name"], webhook=None if webhook is None else _webhook_config(webhook)
    )


def _webhook_config(webhook: Object) -> WebhookConfig:
    info = webhook["connectionInfo"]
    if info["type"] == _IN_CLUSTER:
        raise ConfigurationError(f"connectionInfo.type {_IN_CLUSTER} cannot be used by kube-apiserver itself")
    kept = webhook.get("cacheAuthorizedRequests") is not False
    kept_refusals = webhook.get("cacheUnauthorizedRequests") is not False
    return WebhookConfig(
        kubeconfig=info["kubeConfigFile"],
        version=webhook["subjectAccessReviewVersion"],
        timeout=_nanoseconds(webhook, "timeout") / SECOND,
        authorized_ttl=_nanoseconds(webhook, "authorizedTTL") / SECOND if kept else 0,
        unauthorized_ttl=_nanoseconds(webhook, "unauthorizedTTL") / SECOND if kept_refusals else 0,
        on_failure=Decision.DENY if webhook["failurePolicy"] == "Deny" else Decision.NO_OPINION,
        match_conditions=tuple(condition["expression"] for condition in webhook.get("matchConditions") or ()),
    )


_DEFAULTS = {"authorizedTTL": 300 * SECOND, "unauthorizedTTL": 30 * SECOND}


def _nanoseconds(webhook: Object, field: str) -> int:
    return parse_duration(webhook.get(field) or "0s") or _DEFAULTS.get(field, 0)


# Validation


def _validate(authorizers: list[Object]) -> Iterator[FieldError]:
    if not authorizers:
        yield required("authorizers", "at least one authorization mode must be defined")
    modes: set[str] = set()
    names: set[str] = set()
    for index, item in enumerate(authorizers):
        path, mode, name = f"authorizers[{index}]", item.get("type") or "", item.get("name") or ""
        if not mode:
            yield required(f"{path}.type")
        elif mode not in MODES:
            yield not_supported(f"{path}.type", mode, MODES)
        elif mode in modes and mode != "Webhook":
            yield duplicate(f"{path}.type", mode)
        else:
            modes.add(mode)
            yield from _validate_name(f"{path}.name", name, names)
            names.add(name)
            yield from _validate_settings(path, mode, item.get("webhook"))


def _validate_name(path: str, name: str, names: set[str]) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    elif name in names:
        yield duplicate(path, name)
    elif problems := dns_subdomain(name):
        yield invalid(path, name, f"authorizer name is invalid: {', '.join(problems)}")


def _validate_settings(path: str, mode: str, webhook: Object | None) -> Iterator[FieldError]:
    if mode != "Webhook":
        if webhook is not None:
            yield invalid(f"{path}.webhook", "non-null", "may only be specified when type=Webhook")
    elif webhook is None:
        yield required(f"{path}.webhook", "required when type=Webhook")
    else:
        # As upstream: these paths leave the webhook out.
        yield from _validate_times(path, webhook)
        yield from _validate_choices(path, webhook)
        yield from _validate_connection(f"{path}.connectionInfo", webhook.get("connectionInfo") or {})
        yield from _validate_conditions(f"{path}.matchConditions", webhook.get("matchConditions") or [])


def _validate_times(path: str, webhook: Object) -> Iterator[FieldError]:
    timeout = _nanoseconds(webhook, "timeout")
    if not timeout:
        yield required(f"{path}.timeout")
    elif not 0 < timeout <= _LONGEST_TIMEOUT:
        yield invalid(f"{path}.timeout", format_duration(timeout), "must be > 0s and <= 30s")
    for field in _DEFAULTS:
        kept = _nanoseconds(webhook, field)
        if kept < 0:
            yield invalid(f"{path}.{field}", format_duration(kept), "must be > 0s")


def _validate_choices(path: str, webhook: Object) -> Iterator[FieldError]:
    choices: Mapping[str, tuple[str, ...]] = {
        "subjectAccessReviewVersion": ("v1", "v1beta1"),
        "matchConditionSubjectAccessReviewVersion": ("v1",),
        "failurePolicy": ("NoOpinion", "Deny"),
    }
    for field, allowed in choices.items():
        value = webhook.get(field) or ""
        if value and value not in allowed:
            yield not_supported(f"{path}.{field}", value, allowed, in_order=True)
        elif not value and field != "matchConditionSubjectAccessReviewVersion":
            yield required(f"{path}.{field}")
        elif not value and webhook.get("matchConditions"):
            yield required(f"{path}.{field}", "required if match conditions are specified")


def _validate_connection(path: str, info: Object) -> Iterator[FieldError]:
    kind, file = info.get("type") or "", info.get("kubeConfigFile")
    if not kind:
        yield required(f"{path}.type")
    elif kind == _IN_CLUSTER:
        if file is not None:
            yield invalid(f"{path}.kubeConfigFile", file, "can only be set when type=KubeConfigFile")
    elif kind != _FILE:
        shown = go_struct({"type": kind, "kubeConfigFile": file})
        yield not_supported(f"{path}.type", shown, (_IN_CLUSTER, _FILE), in_order=True)
    elif not file:
        yield required(f"{path}.kubeConfigFile")
    elif problem := _file_problem(Path(file)):
        yield invalid(f"{path}.kubeConfigFile", file, problem)


def _file_problem(path: Path) -> str:
    if not path.is_absolute():
        return "must be an absolute path"
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"error loading file: stat {path}: {(error.strerror or str(error)).lower()}"
    return "" if stat.S_ISREG(mode) else "must be a regular file"


def _validate_conditions(path: str, conditions: list[Object]) -> Iterator[FieldError]:
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
        return
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        where, expression = f"{path}[{index}].expression", condition.get("expression") or ""
        if not expression.strip():
            yield required(where)
        elif expression in seen:
            yield duplicate(where, expression)
        else:
            seen.add(expression)
            yield from _compile_problem(where, expression)


def _compile_problem(path: str, expression: str) -> Iterator[FieldError]:
    from kapi.authz.match_conditions import compile_condition  # CEL is slow to import
    from kapi.cel.policies import PolicyError

    try:
        compile_condition(expression)
    except PolicyError as error:
        yield invalid(path, expression, str(error))


def _wrong_names(authorizers: list[Object]) -> Iterator[str]:
    """As upstream: only webhooks choose their names."""
    for item in authorizers:
        mode, name = item["type"], item["name"]
        if mode != "Webhook" and name != mode.lower():
            yield f"expected name {mode.lower()} for authorizer {mode} instead of {name}"
