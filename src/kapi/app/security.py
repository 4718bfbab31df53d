"""From completed options to who may come in, who may do what, and what the Kube server serves of both."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from kapi.api.clock import Clock
from kapi.api.gvk import GroupResource
from kapi.app.authentication import Keys, ServiceAccounts, build_authenticator, local_tokens
from kapi.app.authorization import Authorization, Mode
from kapi.app.external_tokens import external_tokens
from kapi.authn.authenticator import Authenticator
from kapi.authn.token_issuer import TokenIssuer
from kapi.authn.tokens import Tokens
from kapi.authz.node import NodeAuthorizer
from kapi.authz.node_graph import NodeGraph
from kapi.authz.rbac import RBAC
from kapi.kube.cluster_authentication import AuthenticationInfo
from kapi.kube.issuer_discovery import KEYS, IssuerDiscovery
from kapi.kube.security import Security
from kapi.options.complete import CompletedOptions
from kapi.registry.store import Store
from kapi.resources.authentication.tokenrequests import TokenRequests
from kapi.server.loopback import LoopbackClient
from kapi.telemetry.metrics import Registry


class Gatekeepers(NamedTuple):
    """Who is asked about every request, and what the Kube server needs of them.

    `watch` follows the configuration file of authentication, if there is one, for as long as the server runs.
    """

    authenticator: Authenticator
    security: Security
    loopback: LoopbackClient
    watch: Callable[[], Coroutine[Any, Any, None]] | None


def gatekeepers(completed: CompletedOptions, clock: Clock, registry: Registry) -> Gatekeepers:
    """Raises what unreadable files raise: CABundleError, TokenFileError, PolicyFileError,
    KubeconfigError, ConfigurationError."""
    stores: dict[GroupResource, Store] = {}
    keys, loopback, rbac, nodes = Keys(completed), LoopbackClient(), RBAC(), NodeGraph()
    external = external_tokens(completed, registry, clock)
    local = local_tokens(completed, ServiceAccounts(keys, loopback, clock, stores, registry))
    tokens = Tokens([*local, *external.kinds], completed.service_accounts.audiences, clock)
    modes: dict[str, Mode] = {"RBAC": rbac, "Node": NodeAuthorizer(nodes)}
    authorization = Authorization(completed=completed, modes=modes, registry=registry, clock=clock)
    authorizer, rules = authorization.build()
    security = Security(
        tokens=tokens,
        authorizer=authorizer,
        rules=rules,
        rbac=rbac,
        nodes=nodes,
        token_requests=_token_requests(completed, keys, clock, stores),
        discovery=_discovery(completed, keys),
        told=_told(completed),
        stores=stores,
    )
    return Gatekeepers(
        build_authenticator(completed, tokens, clock, external.anonymous),
        security,
        loopback,
        None if external.watch is None else external.watch.run,
    )


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


def _told(completed: CompletedOptions) -> AuthenticationInfo:
    options = completed.options.authentication
    return AuthenticationInfo(
        client_ca_file=options.client_ca_file,
        header_ca_file=options.requestheader_client_ca_file,
        headers={
            "requestheader-username-headers": options.requestheader_username_headers,
            "requestheader-uid-headers": options.requestheader_uid_headers,
            "requestheader-group-headers": options.requestheader_group_headers,
            "requestheader-extra-headers-prefix": options.requestheader_extra_headers_prefix,
            "requestheader-allowed-names": options.requestheader_allowed_names,
        },
    )
