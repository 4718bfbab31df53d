"""From completed options to who may do what: the authorizers, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kapi.api.authorizer import Authorizer, RuleSource
from kapi.api.clock import Clock
from kapi.authz.basic import AlwaysAllow, AlwaysDeny, PrivilegedGroup
from kapi.authz.metrics import AuthorizerMetrics
from kapi.authz.union import Member, RuleUnion, Union
from kapi.options.complete import CompletedOptions
from kapi.telemetry.metrics import Registry

if TYPE_CHECKING:
    from kapi.authz.configuration import AuthorizerConfig
    from kapi.authz.reloading import Authorizers
    from kapi.authz.webhook import Surroundings, Webhook, WebhookConfig


class Mode(Authorizer, RuleSource, Protocol):
    """An authorizer that can tell what it allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """What authorizers are made with: `modes` are those that exist once, by name."""

    completed: CompletedOptions
    modes: Mapping[str, Mode]
    registry: Registry
    clock: Clock

    def build(self) -> tuple[Authorizer, RuleSource]:
        """Raises PolicyFileError, KubeconfigError, ConfigurationError."""
        options = self.completed.options.authorization
        metrics = AuthorizerMetrics(self.registry)
        if options.authorization_config:
            return _Configured(self, metrics, Path(options.authorization_config)).build()
        known = self.known(abac="ABAC" in self.completed.authorization_modes)
        if "Webhook" in self.completed.authorization_modes:
            known["Webhook"] = _webhook("default", _flags(self.completed), self.surroundings(metrics))
        names = ("default" if mode == "Webhook" else mode.lower() for mode in self.completed.authorization_modes)
        asked = [Member(known[m], name, m) for m, name in zip(self.completed.authorization_modes, names, strict=True)]
        return _union(asked, metrics), RuleUnion([known[member.mode] for member in asked])

    def known(self, *, abac: bool) -> dict[str, Mode]:
        known: dict[str, Mode] = {**self.modes, "AlwaysAllow": AlwaysAllow(), "AlwaysDeny": AlwaysDeny()}
        if abac:
            from kapi.authz.abac import ABAC  # only where there is a policy

            known["ABAC"] = ABAC.load(Path(self.completed.options.authorization.authorization_policy_file))
        return known

    def surroundings(self, metrics: AuthorizerMetrics) -> Surroundings:
        # Only where there are webhooks.
        from kapi.authz.webhook import Surroundings
        from kapi.proxy.kubeconfig import load_server
        from kapi.server.identity import user_agent
        from kapi.wire.client import HTTPClient

        return Surroundings(
            metrics=metrics,
            clock=self.clock,
            user_agent=user_agent(),
            connect=lambda file: HTTPClient(load_server(Path(file))),
        )


def _union(asked: Sequence[Member], metrics: AuthorizerMetrics) -> Union:
    """The privileged group first."""
    return Union([Member(PrivilegedGroup()), *asked], metrics.decisions)


def _webhook(name: str, config: WebhookConfig, surroundings: Surroundings) -> Webhook:
    from kapi.authz.webhook import Webhook

    return Webhook(name, config, surroundings)


def _flags(completed: CompletedOptions) -> WebhookConfig:
    from kapi.authz.webhook import WebhookConfig

    options = completed.options.authorization
    return WebhookConfig(
        kubeconfig=options.authorization_webhook_config_file,
        version=options.authorization_webhook_version,
        authorized_ttl=options.authorization_webhook_cache_authorized_ttl,
        unauthorized_ttl=options.authorization_webhook_cache_unauthorized_ttl,
    )


class _Configured:
    """The authorizers of a configuration file. Modes that are not webhooks outlive its changes."""

    def __init__(self, given: Authorization, metrics: AuthorizerMetrics, path: Path) -> None:
        self._given = given
        self._metrics = metrics
        self._path = path
        self._known: dict[str, Mode] = {}
        self._around = given.surroundings(metrics)

    def build(self) -> tuple[Authorizer, RuleSource]:
        from kapi.authz.configuration import read
        from kapi.authz.reloading import ReloadingAuthorizer
        from kapi.codec.configuration import WatchedFile
        from kapi.server.identity import api_server_id
        from kapi.telemetry.config_reloads import ConfigReloads

        file = WatchedFile(self._path, self._given.clock)
        known = self._given.known(abac=any(item.mode == "ABAC" for item in read(file.data)))
        self._known = {item.mode: known[item.mode] for item in read(file.data) if item.mode != "Webhook"}
        reloads = ConfigReloads(self._given.registry, "authorization", api_server_id(), self._given.clock.now)
        reloading = ReloadingAuthorizer(file, self._authorizers, reloads)
        return reloading, reloading

    def _authorizers(self, data: bytes) -> Authorizers:
        """Raises ConfigurationError."""
        from kapi.authz.configuration import read
        from kapi.authz.reloading import Authorizers
        from kapi.authz.webhook import Webhook
        from kapi.codec.configuration import ConfigurationError
        from kapi.proxy.kubeconfig import KubeconfigError

        made: list[Mode] = []
        configs = read(data, self._known)
        try:
            for item in configs:
                made.append(self._authorizer(item))
        except KubeconfigError as error:
            raise ConfigurationError(str(error)) from None

        def close() -> None:
            for authorizer in made:
                if isinstance(authorizer, Webhook):
                    authorizer.close()

        asked = [Member(mode, item.name, item.mode) for mode, item in zip(made, configs, strict=True)]
        return Authorizers(_union(asked, self._metrics), RuleUnion(made), close)

    def _authorizer(self, item: AuthorizerConfig) -> Mode:
        from kapi.codec.configuration import ConfigurationError

        if item.webhook is not None:
            return _webhook(item.name, item.webhook, self._around)
        if item.mode not in self._known:
            raise ConfigurationError(
                f"authorizer type {item.mode} is not allowed if it was not enabled at initial server startup"
            )
        return self._known[item.mode]
