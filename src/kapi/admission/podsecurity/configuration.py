"""The configuration of Pod Security: what holds where labels say nothing, and who is exempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kapi.admission.configuration import ConfigurationError, check_kind
from kapi.admission.podsecurity.policy import (
    BAD_LEVEL,
    BAD_VERSION,
    LATEST,
    MODES,
    PRIVILEGED,
    LevelVersion,
    Policy,
    parse_level,
    parse_version,
)
from kapi.admission.refusal import all_of
from kapi.api.fields import FieldError, duplicate, invalid
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object

_VERSIONS = tuple(f"pod-security.admission.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSecurityConfiguration:
    defaults: Policy = field(default_factory=Policy)
    usernames: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()


def read(configuration: Object | None) -> PodSecurityConfiguration:
    """Raises ConfigurationError."""
    if configuration is None:
        return PodSecurityConfiguration()
    check_kind(configuration, "PodSecurityConfiguration", _VERSIONS)
    errors: list[FieldError] = []
    defaults, exemptions = configuration.get("defaults") or {}, configuration.get("exemptions") or {}
    policy = Policy(**{mode: _level_version(defaults, mode, errors) for mode in MODES})
    exempt = {name: _exempt(exemptions, name, check, errors) for name, check in _EXEMPTIONS}
    if errors:
        raise ConfigurationError(all_of([str(error) for error in errors]))
    return PodSecurityConfiguration(
        defaults=policy,
        usernames=exempt["usernames"],
        runtime_classes=exempt["runtimeClasses"],
        namespaces=exempt["namespaces"],
    )


def _level_version(defaults: Object, mode: str, errors: list[FieldError]) -> LevelVersion:
    text = defaults.get(mode) or PRIVILEGED
    level = parse_level(text)
    if level is None:
        errors.append(invalid(f"defaults.{mode}", text, BAD_LEVEL))
    text = defaults.get(f"{mode}-version") or "latest"
    version = parse_version(text)
    if version is None:
        errors.append(invalid(f"defaults.{mode}-version", text, BAD_VERSION))
    return LevelVersion(level or PRIVILEGED, LATEST if version is None else version)


def _exempt(
    exemptions: Object, name: str, check: Callable[[str], list[str]], errors: list[FieldError]
) -> frozenset[str]:
    found: set[str] = set()
    for i, item in enumerate(exemptions.get(name) or ()):
        path = f"exemptions.{name}[{i}]"
        problems = check(item)
        if problems:
            errors.append(invalid(path, item, ", ".join(problems)))
        elif item in found:
            errors.append(duplicate(path, item))
        found.add(item)
    return frozenset(found)


def _username(name: str) -> list[str]:
    return [] if name else ["username must not be empty"]


_EXEMPTIONS = (("namespaces", dns_label), ("runtimeClasses", dns_subdomain), ("usernames", _username))
