"""From completed options to who may come in, and who may do what.

Keys are read with the first token that needs them: the options' checks have found them good, and their library is slow
to load.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kapi.api.authorizer import Authorizer, RuleSource
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.errors import APIError
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.authn import authenticator
from kapi.authn.anonymous import Anonymous
from kapi.authn.authenticator import Authenticator
from kapi.authn.bearer import BearerToken
from kapi.authn.ca_bundle import CABundle
from kapi.authn.request_header import HeaderNames, RequestHeader
from kapi.authn.service_account import LAST_USED_LABEL, ServiceAccountTokens, bound_tokens, legacy_tokens
from kapi.authn.token_file import TokenFile
from kapi.authn.token_issuer import TokenIssuer
from kapi.authn.tokens import TokenAuthenticator, Tokens
from kapi.authn.x509 import ClientCertificate
from kapi.authz.basic import AlwaysAllow, AlwaysAllowPaths, AlwaysDeny, PrivilegedGroup
from kapi.authz.node import NodeAuthorizer
from kapi.authz.node_graph import NodeGraph
from kapi.authz.rbac import RBAC
from kapi.authz.union import Union
from kapi.kube.issuer_discovery import KEYS, IssuerDiscovery
from kapi.kube.security import Security, StoreGetter
from kapi.options.complete import CompletedOptions
from kapi.registry.store import Store
from kapi.resources.authentication.tokenrequests import TokenRequests
from kapi.server.loopback import LoopbackClient
from kapi.telemetry.log import log

if TYPE_CHECKING:
    from kapi.authn.signing_keys import PublicKey, SigningKey


class Gatekeepers(NamedTuple):
    """Who is asked about every request, and what the Kube server needs of them."""

    authenticator: Authenticator
    security: Security
    loopback: LoopbackClient


def gatekeepers(completed: CompletedOptions, clock: Clock) -> Gatekeepers:
    """Raises what unreadable files raise: CABundleError, TokenFileError."""
    stores: dict[GroupResource, Store] = {}
    keys, loopback, rbac, nodes = Keys(completed), LoopbackClient(), RBAC(), NodeGraph()
    tokens = Tokens(
        _token_kinds(completed, ServiceAccounts(keys, loopback, clock, stores)),
        completed.service_accounts.audiences,
        clock,
    )
    authorizer, rule_sources = _authorizer(completed, {"RBAC": rbac, "Node": NodeAuthorizer(nodes)})
    security = Security(
        tokens=tokens,
        authorizer=authorizer,
        rule_sources=rule_sources,
        rbac=rbac,
        nodes=nodes,
        token_requests=_token_requests(completed, keys, clock, stores),
        discovery=_discovery(completed, keys),
        stores=stores,
    )
    return Gatekeepers(_authenticator(completed, tokens, clock), security, loopback)


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


def _authenticator(completed: CompletedOptions, tokens: Tokens, clock: Clock) -> Authenticator:
    """In upstream's order: front proxies, client certificates, tokens, and last nobody."""
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
    return authenticator.Union(asked, anonymous=Anonymous() if completed.anonymous_auth else None)


def _token_kinds(completed: CompletedOptions, accounts: ServiceAccounts) -> list[TokenAuthenticator]:
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
        )
        used = LastUse(accounts.client, accounts.clock)
        kinds.append(legacy_tokens(checked, used, lookup=options.service_account_lookup))
        if given.issuers:
            kinds.append(bound_tokens(given.issuers, checked))
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


class _Mode(Authorizer, RuleSource, Protocol):
    """An authorizer that can tell what it allows."""


def _authorizer(completed: CompletedOptions, modes: Mapping[str, _Mode]) -> tuple[Authorizer, tuple[RuleSource, ...]]:
    """The privileged group first, then the modes in their order; whether the server is well may be asked by all."""
    known: dict[str, _Mode] = {**modes, "AlwaysAllow": AlwaysAllow(), "AlwaysDeny": AlwaysDeny()}
    asked = [known[mode] for mode in completed.authorization_modes]
    names = ["", *(mode.lower() if mode in modes else "" for mode in completed.authorization_modes)]
    return Union([PrivilegedGroup(), *asked, AlwaysAllowPaths()], names), tuple(asked)


def _token_requests(
    completed: CompletedOptions, keys: Keys, clock: Clock, stores: dict[GroupResource, Store]
) -> TokenRequests | None:
    """None where nothing is signed: without an issuer or a key there is no TokenRequest."""
    given = completed.service_accounts
    if not given.issuers or given.signing_key_file is None:
        return None
    return TokenRequests(
        issuer=TokenIssuer(given.issuers[0], keys.signing),
        audiences=given.audiences,
        longest=int(given.max_token_expiration),
        extend=completed.options.authentication.service_account_extend_token_expiration,
        clock=clock,
        stores=stores,
    )


def _discovery(completed: CompletedOptions, keys: Keys) -> IssuerDiscovery | None:
    """As upstream: only an issuer that others can reach by its URL is told of."""
    issuers = completed.service_accounts.issuers
    if not issuers or not issuers[0].startswith("https://"):
        return None
    port = completed.options.secure_serving.secure_port
    uri = completed.options.authentication.service_account_jwks_uri
    return IssuerDiscovery(
        issuer=issuers[0], keys_uri=uri or f"https://{completed.external_host}:{port}{KEYS}", keys=keys.public
    )
