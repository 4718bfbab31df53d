"""From completed options to tokens that somebody else vouches for: OpenID providers, and a webhook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kapi.api.clock import Clock
from kapi.authn.tokens import TokenAuthenticator
from kapi.options.complete import CompletedOptions
from kapi.telemetry.metrics import Registry

if TYPE_CHECKING:
    from kapi.authn.configuration import AnonymousConfig, AuthenticationConfig
    from kapi.authn.oidc import JWTAuthenticator, JWTAuthenticators
    from kapi.authn.reloading import ConfigurationWatch
    from kapi.authn.webhook import TokenWebhook


class ExternalTokens(NamedTuple):
    """`watch` follows the file that configures them, `anonymous` is what it says of those without a credential."""

    kinds: list[TokenAuthenticator]
    watch: ConfigurationWatch | None = None
    anonymous: AnonymousConfig | None = None


def external_tokens(completed: CompletedOptions, registry: Registry, clock: Clock) -> ExternalTokens:
    """Providers before the webhook, as upstream. Raises ConfigurationError, KubeconfigError."""
    options = completed.options.authentication
    kinds: list[TokenAuthenticator] = []
    watch, anonymous = None, None
    if options.authentication_config or options.oidc_issuer_url:
        config = options.authentication()
        builder = _Issuers(completed, registry, clock)
        issuers = builder.authenticators(config)
        kinds.append(issuers)
        anonymous = config.anonymous
        if options.authentication_config:
            watch = builder.watch(issuers)
    if options.authentication_token_webhook_config_file:
        kinds.append(_webhook(completed, clock))
    return ExternalTokens(kinds, watch, anonymous)


class _Issuers:
    """What all issuers of a server are made with."""

    def __init__(self, completed: CompletedOptions, registry: Registry, clock: Clock) -> None:
        from kapi.authn.oidc_metrics import OIDCMetrics  # only where there are issuers
        from kapi.server.identity import api_server_id

        self._completed = completed
        self._registry = registry
        self._clock = clock
        self._metrics = OIDCMetrics(registry, api_server_id(), clock.now)

    def authenticators(self, config: AuthenticationConfig) -> JWTAuthenticators:
        from kapi.authn.oidc import JWTAuthenticators

        return JWTAuthenticators(self._build(config), self._completed.service_accounts.audiences)

    def watch(self, issuers: JWTAuthenticators) -> ConfigurationWatch:
        from kapi.authn.reloading import ConfigurationWatch
        from kapi.codec.configuration import WatchedFile
        from kapi.server.identity import api_server_id
        from kapi.telemetry.config_reloads import ConfigReloads

        file = WatchedFile(Path(self._completed.options.authentication.authentication_config), self._clock)
        reloads = ConfigReloads(self._registry, "authentication", api_server_id(), self._clock.now)
        return ConfigurationWatch(file, issuers, self._build, reloads, self._completed.service_accounts.issuers)

    def _build(self, config: AuthenticationConfig) -> list[JWTAuthenticator]:
        from kapi.authn.id_tokens import ALGORITHMS
        from kapi.authn.oidc import JWTAuthenticator

        options = self._completed.options.authentication
        # As upstream: a file accepts every algorithm that fits a key.
        algorithms = ALGORITHMS if options.authentication_config else options.oidc_signing_algs
        return [JWTAuthenticator(jwt, algorithms, self._clock, self._metrics) for jwt in config.jwt]


def _webhook(completed: CompletedOptions, clock: Clock) -> TokenWebhook:
    from kapi.authn.webhook import TokenWebhook, WebhookConfig  # only where there is one
    from kapi.proxy.kubeconfig import load_server
    from kapi.server.identity import user_agent
    from kapi.wire.client import HTTPClient

    options = completed.options.authentication
    config = WebhookConfig(
        version=options.authentication_token_webhook_version,
        audiences=completed.service_accounts.audiences,
        ttl=options.authentication_token_webhook_cache_ttl,
        user_agent=user_agent(),
    )
    client = HTTPClient(load_server(Path(options.authentication_token_webhook_config_file)))
    return TokenWebhook(client, config, clock)
