"""Service account tokens: signed by this cluster, good for as long as what they are bound to exists.

Two kinds. Tokens from TokenRequest name their account, and a pod, secret or node if they are bound to one, each with
its uid. Legacy tokens lie in a secret, and are good for as long as they lie there.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from kapi.api.clock import Clock
from kapi.api.errors import NotFound, Unauthorized
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.times import parse_time
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.jwt import LEEWAY, UnverifiedToken, VerificationKey, read_unverified
from kapi.authn.service_account_metrics import ServiceAccountMetrics
from kapi.authn.tokens import Authenticated, shared_audiences

LEGACY_ISSUER = "kubernetes/serviceaccount"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
NODE_NAME = "authentication.kubernetes.io/node-name"
LAST_USED_LABEL = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE_LABEL = "kubernetes.io/legacy-token-invalid-since"
_ACCOUNTS, _SECRETS = GroupResource("", "serviceaccounts"), GroupResource("", "secrets")
_PODS, _NODES = GroupResource("", "pods"), GroupResource("", "nodes")
_SUBJECT = "service account token"
_INVALIDATED = "service account token has been invalidated"
_LEGACY_CLAIM = "kubernetes.io/serviceaccount/"
_AUTO_GENERATED = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated "
    "secret-based tokens."
)


class Getter(Protocol):
    async def __call__(self, resource: GroupResource, namespace: str, name: str) -> Object | None:
        """The object as it is now; None when it is not there."""


class LegacyTokenUsed(Protocol):
    async def __call__(self, secret: Object) -> None:
        """Note on the secret that its token was used today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountTokens:
    """What both kinds need. `audiences` are those of this API; `keys` are asked for with the first token."""

    keys: Callable[[], Sequence[VerificationKey]]
    audiences: tuple[str, ...]
    clock: Clock
    get: Getter
    metrics: ServiceAccountMetrics


# What a check finds out besides is added to the notes, for the audit log; of refused tokens it is told nothing.
Notes: TypeAlias = dict[str, str]
Validate = Callable[[str, UnverifiedToken, Notes], Awaitable["Authenticated"]]


class _Verified:
    """The part that both kinds share: issuer, signature, audiences."""

    def __init__(self, issuers: Sequence[str], tokens: ServiceAccountTokens, validate: Validate) -> None:
        self._issuers = frozenset(issuers)
        self._tokens = tokens
        self._validate = validate

    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated | None:
        read = read_unverified(token)
        if read is None or read.issuer not in self._issuers:
            return None
        read.verify(self._tokens.keys())
        notes: Notes = {}
        if not read.audiences:
            notes["authentication.k8s.io/legacy-token"] = _text(read.claims, "sub")
            self._tokens.metrics.legacy.inc()
        own = read.audiences or self._tokens.audiences
        wanted = audiences or self._tokens.audiences
        shared = shared_audiences(own, wanted)
        if not shared and self._tokens.audiences:
            raise Unauthorized(
                f"token audiences {_go_list(own)} is invalid for the target audiences {_go_list(wanted)}"
            )
        return (await self._validate(token, read, notes))._replace(audiences=shared, notes=notes)


def bound_tokens(issuers: Sequence[str], tokens: ServiceAccountTokens) -> _Verified:
    """Tokens that TokenRequest gave out."""

    async def validate(_: str, read: UnverifiedToken, notes: Notes) -> Authenticated:
        now = tokens.clock.now()
        read.check_times(now, _SUBJECT)
        user = await _bound_user(tokens, read)
        _check_staleness(tokens, read, int(now), notes)
        return Authenticated(user)

    return _Verified(issuers, tokens, validate)


def _check_staleness(tokens: ServiceAccountTokens, read: UnverifiedToken, now: int, notes: Notes) -> None:
    """Whether a token that was given a longer life than it was asked for is still used past the shorter one."""
    after = _mapping(read.claims.get("kubernetes.io")).get("warnafter")
    if not isinstance(after, (int, float)) or not after:
        return
    if now <= after:
        tokens.metrics.valid.inc()
        return
    tokens.metrics.stale.inc()
    notes["authentication.k8s.io/stale-token"] = (
        f"subject: {_text(read.claims, 'sub')}, seconds after warning threshold: {now - int(after)}"
    )


async def _bound_user(tokens: ServiceAccountTokens, read: UnverifiedToken) -> User:
    claims = _mapping(read.claims.get("kubernetes.io"))
    namespace = _text(claims, "namespace")
    account = _mapping(claims.get("serviceaccount"))
    name, uid = _text(account, "name"), _text(account, "uid")
    if not name:
        raise Unauthorized("resource name may not be empty")
    found = await tokens.get(_ACCOUNTS, namespace, name)
    if found is None:
        raise Unauthorized(NotFound(_ACCOUNTS, name).message)
    _check_uid(found, uid, "service account UID ({found}) does not match claim ({claimed})")
    if _deleted(found, tokens.clock.now() - LEEWAY):
        raise Unauthorized(f"service account {namespace}/{name} has been deleted")
    extra: dict[str, tuple[str, ...]] = {}
    if "secret" in claims:
        await _bound(tokens, _SECRETS, "secret", namespace, _mapping(claims["secret"]))
    pod, node = _mapping(claims.get("pod")), _mapping(claims.get("node"))
    if pod:
        await _bound(tokens, _PODS, "pod", namespace, pod)
        extra |= _names("pod", pod)
    if node:
        # With a pod, the node is where it runs, as it was when the token was made; the pod's end ends both.
        if not pod:
            await _bound(tokens, _NODES, "node", "", node)
        extra |= _names("node", node)
    if _text(read.claims, "jti"):
        extra[CREDENTIAL_ID] = (f"JTI={_text(read.claims, 'jti')}",)
    return service_account_user(namespace, name, uid, extra)


def _names(kind: str, reference: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    prefix = f"authentication.kubernetes.io/{kind}"
    names = {f"{prefix}-name": _text(reference, "name"), f"{prefix}-uid": _text(reference, "uid")}
    return {key: (value,) for key, value in names.items() if value}


async def _bound(
    tokens: ServiceAccountTokens, resource: GroupResource, kind: str, namespace: str, reference: Mapping[str, Any]
) -> None:
    found = await tokens.get(resource, namespace, _text(reference, "name"))
    if found is None:
        raise Unauthorized(_INVALIDATED)
    text = f"{kind} UID ({{found}}) does not match service account {kind} ref claim ({{claimed}})"
    _check_uid(found, _text(reference, "uid"), text)
    if _deleted(found, tokens.clock.now() - LEEWAY):
        raise Unauthorized(_INVALIDATED)


def legacy_tokens(tokens: ServiceAccountTokens, used: LegacyTokenUsed, *, lookup: bool = True) -> _Verified:
    """Tokens in secrets. Without `lookup` their signature is enough."""

    async def validate(token: str, read: UnverifiedToken, notes: Notes) -> Authenticated:
        claims = {c: _text(read.claims, _LEGACY_CLAIM + c) for c in _LEGACY_NAMES}
        _check_legacy_claims(_text(read.claims, "sub"), claims)
        namespace, name, uid = (claims[c] for c in ("namespace", "service-account.name", "service-account.uid"))
        warnings = await _look_up(tokens, used, token, claims, notes) if lookup else ()
        return Authenticated(service_account_user(namespace, name, uid, {}), (), warnings)

    return _Verified((LEGACY_ISSUER,), tokens, validate)


_LEGACY_NAMES = {
    "namespace": "namespace",
    "secret.name": "secretName",
    "service-account.name": "serviceAccountName",
    "service-account.uid": "serviceAccountUID",
}


def _check_legacy_claims(subject: str, claims: Mapping[str, str]) -> None:
    if not subject:
        raise Unauthorized("sub claim is missing")
    for claim, called in _LEGACY_NAMES.items():
        if not claims[claim]:
            raise Unauthorized(f"{called} claim is missing")
    if subject != f"system:serviceaccount:{claims['namespace']}:{claims['service-account.name']}":
        raise Unauthorized("sub claim is invalid")


async def _look_up(
    tokens: ServiceAccountTokens, used: LegacyTokenUsed, token: str, claims: Mapping[str, str], notes: Notes
) -> tuple[str, ...]:
    """What the bearer is to be warned of; Unauthorized when the token is no longer the one that was issued."""
    namespace, name = claims["namespace"], claims["service-account.name"]
    secret = await tokens.get(_SECRETS, namespace, claims["secret.name"])
    if secret is None or secret["metadata"].get("deletionTimestamp"):
        raise Unauthorized("Token has been invalidated")
    if b64decode((secret.get("data") or {}).get("token", "")) != token.encode():
        raise Unauthorized("Token does not match server's copy")
    account = await tokens.get(_ACCOUNTS, namespace, name)
    if account is None:
        raise Unauthorized(NotFound(_ACCOUNTS, name).message)
    if account["metadata"].get("deletionTimestamp"):
        raise Unauthorized(f"ServiceAccount {namespace}/{name} has been deleted")
    _check_uid(account, claims["service-account.uid"], "ServiceAccount UID ({found}) does not match claim ({claimed})")
    await used(secret)
    named = secret["metadata"]["name"]
    if (secret["metadata"].get("labels") or {}).get(INVALID_SINCE_LABEL):
        tokens.metrics.invalid.inc()
        raise Unauthorized(
            f"the token in secret {namespace}/{named} for service account {namespace}/{name} has "
            "been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or "
            f"remove the '{INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token"
        )
    if any(s.get("name") == named for s in account.get("secrets") or ()):
        notes["authentication.k8s.io/legacy-token-autogenerated-secret"] = named
        tokens.metrics.generated.inc()
        return (_AUTO_GENERATED,)
    notes["authentication.k8s.io/legacy-token-manual-secret"] = named
    tokens.metrics.manual.inc()
    return ()


def service_account_user(namespace: str, name: str, uid: str, extra: Mapping[str, tuple[str, ...]]) -> User:
    return as_authenticated(
        User(
            name=f"system:serviceaccount:{namespace}:{name}",
            uid=uid,
            groups=("system:serviceaccounts", f"system:serviceaccounts:{namespace}"),
            extra=extra,
        )
    )


def _check_uid(found: Object, claimed: str, text: str) -> None:
    uid = found["metadata"].get("uid", "")
    if uid != claimed:
        raise Unauthorized(text.format(found=uid, claimed=claimed))


def _deleted(found: Object, before: float) -> bool:
    """Whether its deletion was asked for before that time."""
    text = found["metadata"].get("deletionTimestamp")
    when = parse_time(text) if text else None
    return when is not None and when.timestamp() < before


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""


def _go_list(texts: Sequence[str]) -> str:
    return "[" + " ".join(f'"{text}"' for text in texts) + "]"
