"""The authentication configuration file: whose JSON Web Tokens are accepted, as which users, and who is anonymous.

What is wrong with it is told as upstream tells it, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kapi.api.fields import FieldError, duplicate, go_struct, invalid, too_many
from kapi.api.objects import Object
from kapi.authn.jwt_validation import validate_jwt
from kapi.codec.configuration import FLAG, TEXT, ConfigurationError, ListOf, Struct, decode

VERSIONS = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_MOST_ISSUERS = 64

_EXPRESSION = {"claim": TEXT, "expression": TEXT}
_PREFIXED = Struct("PrefixedClaimOrExpression", {**_EXPRESSION, "prefix": TEXT})
_ISSUER = Struct(
    "Issuer",
    {
        "url": TEXT,
        "discoveryURL": TEXT,
        "certificateAuthority": TEXT,
        "audiences": ListOf(TEXT),
        "audienceMatchPolicy": TEXT,
        "egressSelectorType": TEXT,
    },
)
_MAPPINGS = Struct(
    "ClaimMappings",
    {
        "username": _PREFIXED,
        "groups": _PREFIXED,
        "uid": Struct("ClaimOrExpression", _EXPRESSION),
        "extra": ListOf(Struct("ExtraMapping", {"key": TEXT, "valueExpression": TEXT})),
    },
)
_RULE = Struct("ClaimValidationRule", {**_EXPRESSION, "requiredValue": TEXT, "message": TEXT})
_JWT = Struct(
    "JWTAuthenticator",
    {
        "issuer": _ISSUER,
        "claimValidationRules": ListOf(_RULE),
        "claimMappings": _MAPPINGS,
        "userValidationRules": ListOf(Struct("UserValidationRule", {"expression": TEXT, "message": TEXT})),
    },
)
_ANONYMOUS = Struct(
    "AnonymousAuthConfig",
    {"enabled": FLAG, "conditions": ListOf(Struct("AnonymousAuthCondition", {"path": TEXT}))},
)
_SHAPE = Struct("AuthenticationConfiguration", {"jwt": ListOf(_JWT), "anonymous": _ANONYMOUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """Where a part of the user comes from: a claim, with a prefix, or an expression; or from nowhere."""

    claim: str = ""
    prefix: str = ""
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JWTConfig:
    """One issuer. Rules are expressions with the message for those who fail them."""

    url: str
    audiences: tuple[str, ...]
    username: Mapping
    discovery_url: str = ""
    certificate_authority: str = ""
    groups: Mapping = Mapping()
    uid: Mapping = Mapping()
    extra: tuple[tuple[str, str], ...] = ()
    required_claims: tuple[tuple[str, str], ...] = ()
    claim_rules: tuple[tuple[str, str], ...] = ()
    user_rules: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymousConfig:
    """Without paths, everywhere."""

    enabled: bool
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationConfig:
    """`anonymous` is None where the file leaves that to the flag."""

    jwt: tuple[JWTConfig, ...] = ()
    anonymous: AnonymousConfig | None = None


def load(path: Path, disallowed: Sequence[str] = ()) -> AuthenticationConfig:
    """Raises ConfigurationError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = f"open {path}: {(error.strerror or str(error)).lower()}"
        raise ConfigurationError(_not_loaded(path, problem)) from None
    try:
        document = _decode(data)
    except ConfigurationError as error:
        raise ConfigurationError(_not_loaded(path, str(error))) from None
    return _checked(document, disallowed)


def read(data: bytes, disallowed: Sequence[str] = ()) -> AuthenticationConfig:
    """`disallowed` are issuers of which somebody else takes care. Raises ConfigurationError."""
    return _checked(_decode(data), disallowed)


def from_document(jwt: Object, disallowed: Sequence[str] = ()) -> JWTConfig:
    """One issuer, as the file would have it. Raises ConfigurationError."""
    return _checked({"jwt": [jwt]}, disallowed).jwt[0]


def _not_loaded(path: Path, problem: str) -> str:
    return f'failed to load authentication configuration from file "{path}": {problem}'


def _decode(data: bytes) -> Object:
    if not data:
        raise ConfigurationError("empty config data")
    return decode(data, _SHAPE, VERSIONS)


def _checked(document: Object, disallowed: Sequence[str]) -> AuthenticationConfig:
    problems = list(map(str, _validate(document, disallowed)))
    if problems:
        together = problems[0] if len(problems) == 1 else f"[{', '.join(dict.fromkeys(problems))}]"
        raise ConfigurationError(f"invalid authentication configuration: {together}")
    anonymous = document.get("anonymous")
    return AuthenticationConfig(
        jwt=tuple(_jwt_config(item) for item in document.get("jwt") or ()),
        anonymous=None if anonymous is None else _anonymous_config(anonymous),
    )


def _validate(document: Object, disallowed: Sequence[str]) -> Iterator[FieldError]:
    issuers = [item or {} for item in document.get("jwt") or ()]
    if len(issuers) > _MOST_ISSUERS:
        yield too_many("jwt", len(issuers), _MOST_ISSUERS)
        return
    seen: dict[str, set[str]] = {"url": set(), "discoveryURL": set()}
    for index, item in enumerate(issuers):
        yield from validate_jwt(item, f"jwt[{index}]", disallowed)
        for field, known in seen.items():
            value = (item.get("issuer") or {}).get(field) or ""
            if value in known:
                yield duplicate(f"jwt[{index}].issuer.{field}", value)
            if value or field == "url":
                known.add(value)
    anonymous = document.get("anonymous") or {}
    if anonymous.get("conditions") and not anonymous.get("enabled"):
        shown = go_struct(anonymous["conditions"])
        yield invalid("anonymous.conditions", shown, "enabled should be set to true when conditions are defined")


def _anonymous_config(anonymous: Object) -> AnonymousConfig:
    paths = tuple(condition.get("path") or "" for condition in anonymous.get("conditions") or ())
    return AnonymousConfig(enabled=bool(anonymous.get("enabled")), paths=paths)


def _jwt_config(item: Object) -> JWTConfig:
    issuer, mappings = item["issuer"], item["claimMappings"]
    rules = item.get("claimValidationRules") or ()
    if egress := issuer.get("egressSelectorType"):
        # As upstream says it where no egress selectors are configured: here they never are.
        raise ConfigurationError(f'oidc: egress lookup required with egress selector type "{egress}"')
    return JWTConfig(
        url=issuer["url"],
        discovery_url=issuer.get("discoveryURL") or "",
        certificate_authority=issuer.get("certificateAuthority") or "",
        audiences=tuple(issuer["audiences"]),
        username=_mapping(mappings["username"]),
        groups=_mapping(mappings.get("groups") or {}),
        uid=_mapping(mappings.get("uid") or {}),
        extra=tuple((extra["key"], extra["valueExpression"]) for extra in mappings.get("extra") or ()),
        required_claims=tuple((rule["claim"], rule.get("requiredValue") or "") for rule in rules if rule.get("claim")),
        claim_rules=tuple((r["expression"], r.get("message") or "") for r in rules if r.get("expression")),
        user_rules=tuple((r["expression"], r.get("message") or "") for r in item.get("userValidationRules") or ()),
    )


def _mapping(given: Object) -> Mapping:
    return Mapping(
        claim=given.get("claim") or "", prefix=given.get("prefix") or "", expression=given.get("expression") or ""
    )
