"""Authorization flags: what a user may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options import checks
from kapi.options.flag import Refused, flag
from kapi.options.kinds import DURATION, STRING, STRINGS

MODES = ("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")
_MISSING = ("Webhook",)
_NO_WEBHOOK = Refused("requests are not sent to a webhook for authorization yet")


def _modes(values: tuple[str, ...]) -> str | None:
    for value in values:
        if value not in MODES:
            return f'"{value}" is not a valid mode'
        if value in _MISSING:
            return f"{value} is not there yet; the other modes are accepted"
    if len(set(values)) != len(values):
        quoted = " ".join(f'"{value}"' for value in values)
        return f"[{quoted}] has mode specified more than once"
    return None


@dataclass(kw_only=True, eq=False, repr=False)
class AuthorizationOptions:
    """The authorization flags, with their defaults."""

    section: ClassVar[str] = "authorization"

    authorization_config: str = flag(
        STRING,
        "The file that configures the authorizers.",
        standing=Refused("the authorization configuration file is not read yet"),
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
        DURATION, "For how long the webhook's consents are kept.", default=300.0, standing=_NO_WEBHOOK
    )
    authorization_webhook_cache_unauthorized_ttl: float = flag(
        DURATION, "For how long the webhook's refusals are kept.", default=30.0, standing=_NO_WEBHOOK
    )
    authorization_webhook_config_file: str = flag(
        STRING, "The kubeconfig of the webhook that authorizes.", standing=_NO_WEBHOOK
    )
    authorization_webhook_version: str = flag(
        STRING, "The version of SubjectAccessReview to send.", default="v1beta1", standing=_NO_WEBHOOK
    )

    def validate(self) -> list[str]:
        errors = []
        if "ABAC" in self.authorization_mode and not self.authorization_policy_file:
            errors.append("authorization-mode ABAC's authorization policy file not passed")
        if self.authorization_policy_file and "ABAC" not in self.authorization_mode:
            errors.append("cannot specify --authorization-policy-file without mode ABAC")
        return errors
