"""Authorization flags: what a user may do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from kapi.options import checks
from kapi.options.flag import flag
from kapi.options.kinds import DURATION, STRING, STRINGS

MODES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")
_VERSIONS = ("v1", "v1beta1")
# These and a configuration file exclude each other.
_REPLACED = (
    "authorization-mode",
    "authorization-webhook-config-file",
    "authorization-webhook-version",
    "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl",
)


def _modes(values: tuple[str, ...]) -> str | None:
    for value in values:
        if value not in MODES:
            return f'"{value}" is not a valid mode'
    if len(set(values)) != len(values):
        quoted = " ".join(f'"{value}"' for value in values)
        return f"[{quoted}] has mode specified more than once"
    return None


def _version(value: str) -> str | None:
    if value in _VERSIONS:
        return None
    return f'is an unsupported webhook authorizer version "{value}", supported versions are "v1", "v1beta1"'


@dataclass(kw_only=True, eq=False, repr=False)
class AuthorizationOptions:
    """The authorization flags, with their defaults."""

    section: ClassVar[str] = "authorization"

    authorization_config: str = flag(
        STRING,
        "The file that configures the authorizers, read again when it changes. Not together with "
        "--authorization-mode and --authorization-webhook-*.",
    )
    authorization_mode: tuple[str, ...] = flag(
        STRINGS,
        f"The authorizers to ask, in order, comma separated: {', '.join(MODES)}. Unset: AlwaysAllow.",
        check=_modes,
    )
    authorization_policy_file: str = flag(
        STRING, "The policy of the ABAC mode: a file with one JSON object per line.", check=checks.readable
    )
    authorization_webhook_cache_authorized_ttl: float = flag(
        DURATION, "For how long the webhook's consents are kept.", default=300.0
    )
    authorization_webhook_cache_unauthorized_ttl: float = flag(
        DURATION, "For how long the webhook's refusals are kept.", default=30.0
    )
    authorization_webhook_config_file: str = flag(
        STRING, "The kubeconfig of the webhook that authorizes.", check=checks.readable
    )
    authorization_webhook_version: str = flag(
        STRING, "The version of SubjectAccessReview to send.", default="v1beta1", check=_version
    )

    def validate(self) -> list[str]:
        errors = []
        modes, policy, webhook = (
            self.authorization_mode,
            self.authorization_policy_file,
            self.authorization_webhook_config_file,
        )
        if "ABAC" in modes and not policy:
            errors.append("authorization-mode ABAC's authorization policy file not passed")
        if "Webhook" in modes and not webhook:
            errors.append("authorization-mode Webhook's authorization config file not passed")
        if policy and "ABAC" not in modes and not self.authorization_config:
            errors.append("cannot specify --authorization-policy-file without mode ABAC")
        if webhook and "Webhook" not in modes and not self.authorization_config:
            errors.append("cannot specify --authorization-webhook-config-file without mode Webhook")
        return errors

    def configuration_problems(self, given: frozenset[str]) -> list[str]:
        """What is wrong with the configuration file, or with having one, where these flags are given."""
        if not self.authorization_config:
            return []
        if not given.isdisjoint(_REPLACED):
            return [
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* "
                "flags are defined"
            ]
        from kapi.authz.configuration import load  # only where there is one
        from kapi.codec.configuration import ConfigurationError

        try:
            load(Path(self.authorization_config))
        except ConfigurationError as error:
            return [str(error)]
        return []
