"""From completed options to who may come in: every kind of credential, in upstream's order.

Keys are read with the first token that needs them: the options' checks have found them good, and their library is slow
to load.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.errors import APIError
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.authn import authenticator
from kapi.authn.anonymous import Anonymous, AnonymousOnPaths
from kapi.authn.authenticator import Authenticator
from kapi.authn.bearer import BearerToken
from kapi.authn.ca_bundle import CABundle
from kapi.authn.request_header import HeaderNames, RequestHeader
from kapi.authn.service_account import LAST_USED_LABEL, ServiceAccountTokens, bound_tokens, legacy_tokens
from kapi.authn.service_account_metrics import ServiceAccountMetrics
from kapi.authn.token_file import TokenFile
from kapi.authn.tokens import TokenAuthenticator, Tokens
from kapi.authn.websocket import WebSocketToken
from kapi.authn.x509 import ClientCertificate
from kapi.kube.security import StoreGetter
from kapi.options.complete import CompletedOptions
from kapi.registry.store import Store
from kapi.telemetry.log import log
from kapi.telemetry.metrics import Registry

if TYPE_CHECKING:
    from kapi.authn.configuration import AnonymousConfig
    from kapi.authn.signing_keys import PublicKey, SigningKey


class Keys:
    """The keys of service account tokens."""

    def __init__(self, completed: CompletedOptions) -> None:
        files = completed.service_accounts
        self.signing_file = files.signing_key_file
        self.files = files.key_files or ((files.signing_key_file,) if files.signing_key_file else ())
        self.public = cache(self._public)
        self.signing = cache(self._signing)

    def _public(self) -> list[PublicKey]:
        from kapi.authn.signing_keys import load_public_keys  # slow to import

        found = {key.id: key for path in self.files for key in load_public_keys(path)}
        return list(found.values())

    def _signing(self) -> SigningKey:
        from kapi.authn.signing_keys import SigningKey  # slow to import

        assert self.signing_file is not None, "tokens are only issued where there is a key to sign them with"
        return SigningKey.load(self.signing_file)


class ServiceAccounts(NamedTuple):
    """What service account tokens are checked with."""

    keys: Keys
    client: Client
    clock: Clock
    stores: dict[GroupResource, Store]
    registry: Registry


def build_authenticator(
    completed: CompletedOptions, tokens: Tokens, clock: Clock, anonymous: AnonymousConfig | None
) -> Authenticator:
    """In upstream's order: front proxies, client certificates, tokens, and last nobody.

    `anonymous` is what a configuration file says of those; where it says nothing, the flag does.
    """
    options = completed.options.authentication
    asked: list[Authenticator] = []
    if options.requestheader_client_ca_file:
        names = HeaderNames(
            user=options.requestheader_username_headers,
            uid=options.requestheader_uid_headers,
            group=options.requestheader_group_headers,
            extra_prefix=options.requestheader_extra_headers_prefix,
        )
        bundle = CABundle(Path(options.requestheader_client_ca_file), clock)
        asked.append(RequestHeader(bundle, options.requestheader_allowed_names, names, clock))
    if options.client_ca_file:
        asked.append(ClientCertificate(CABundle(Path(options.client_ca_file), clock), clock))
    asked.append(BearerToken(tokens))
    asked.append(WebSocketToken(tokens))
    if anonymous is None:
        return authenticator.Union(asked, anonymous=Anonymous() if completed.anonymous_auth else None)
    nobody = AnonymousOnPaths(anonymous.paths) if anonymous.paths else Anonymous()
    return authenticator.Union(asked, anonymous=nobody if anonymous.enabled else None)


def local_tokens(completed: CompletedOptions, accounts: ServiceAccounts) -> list[TokenAuthenticator]:
    """The kinds that this server vouches for itself. Those that others vouch for come after them."""
    options, given = completed.options.authentication, completed.service_accounts
    kinds: list[TokenAuthenticator] = []
    if options.token_auth_file:
        kinds.append(TokenFile.load(Path(options.token_auth_file), given.audiences))
    if accounts.keys.files:
        checked = ServiceAccountTokens(
            keys=accounts.keys.public,
            audiences=given.audiences,
            clock=accounts.clock,
            get=StoreGetter(accounts.stores),
            metrics=ServiceAccountMetrics(accounts.registry),
        )
        used = LastUse(accounts.client, accounts.clock)
        kinds.append(legacy_tokens(checked, used, lookup=options.service_account_lookup))
        if given.issuers:
            kinds.append(bound_tokens(given.issuers, checked))
    if options.enable_bootstrap_token_auth:
        from kapi.authn.bootstrap import BootstrapTokens  # only where it is asked for

        kinds.append(BootstrapTokens(StoreGetter(accounts.stores), given.audiences, accounts.clock))
    return kinds


class LastUse:
    """Notes on a secret the day its token was last used."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def __call__(self, secret: Object) -> None:
        metadata = secret["metadata"]
        today = rfc3339(self._clock.now())[:10]
        if (metadata.get("labels") or {}).get(LAST_USED_LABEL) == today:
            return
        path = f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}"
        patch = {"metadata": {"uid": metadata["uid"], "labels": {LAST_USED_LABEL: today}}}
        try:
            await self._client.patch(path, patch)
        except APIError as error:
            # The token is good all the same; the label only helps to find unused ones.
            log.warning("legacy_token_use_not_noted", secret=path, error=error.message)
