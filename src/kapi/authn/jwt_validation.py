"""What may be wrong with one issuer of the authentication configuration. Errors are worded and placed as upstream's."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kapi.api.fields import FieldError, duplicate, invalid, required
from kapi.api.names import validate_domain_prefixed_path
from kapi.api.objects import Object

if TYPE_CHECKING:
    from collections.abc import Callable

    from kapi.cel.environment import Program

_BOTH = "claim and expression can't both be set"
_EITHER = "claim or expression is required"
_NO_PREFIX = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
_RESERVED = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
_UNVERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in "
    "claimMappings.username.expression"
)
_MATCH_ANY = "MatchAny"


def validate_jwt(item: Object, path: str, disallowed: Sequence[str]) -> list[FieldError]:
    return _Validation(item, path).run(disallowed)


class _Validation:
    """Programs that compiled are kept: a rule about all of them comes last."""

    def __init__(self, item: Object, path: str) -> None:
        self._item = item
        self._path = path
        self._found: list[FieldError] = []
        self._username: Program | None = None
        self._others: list[Program] = []

    def run(self, disallowed: Sequence[str]) -> list[FieldError]:
        self._found += _issuer(self._item.get("issuer") or {}, f"{self._path}.issuer", disallowed)
        self._claim_rules(f"{self._path}.claimValidationRules")
        self._mappings(self._item.get("claimMappings") or {}, f"{self._path}.claimMappings")
        self._user_rules(f"{self._path}.userValidationRules")
        return self._found

    def _claim_rules(self, path: str) -> None:
        from kapi.authn.claim_expressions import compile_claim_rule  # CEL is slow to import

        claims: set[str] = set()
        expressions: set[str] = set()
        for index, rule in enumerate(self._item.get("claimValidationRules") or ()):
            where = f"{path}[{index}]"
            claim, expression = (rule.get(field) or "" for field in ("claim", "expression"))
            if claim and expression:
                self._found.append(invalid(where, claim, _BOTH))
            elif claim:
                self._found += _claim_rule(rule, where, claims)
                claims.add(claim)
            elif not expression:
                self._found.append(required(where, _EITHER))
            else:
                if rule.get("requiredValue"):
                    why = "may not be specified when expression is set"
                    self._found.append(invalid(f"{where}.requiredValue", rule["requiredValue"], why))
                program = self._distinct(f"{where}.expression", expression, expressions, compile_claim_rule)
                self._others += [program] if program is not None else []

    def _mappings(self, mappings: Object, path: str) -> None:
        username, groups, uid = (mappings.get(field) or {} for field in ("username", "groups", "uid"))
        self._username = self._prefixed(username, f"{path}.username", needed=True)
        self._prefixed(groups, f"{path}.groups", needed=False)
        if uid.get("claim") and uid.get("expression"):
            self._found.append(invalid(f"{path}.uid", "", _BOTH))
        elif uid.get("expression"):
            self._mapping(f"{path}.uid.expression", uid["expression"])
        self._extra(mappings.get("extra") or (), f"{path}.extra")
        self._check_email(f"{path}.username.expression", username.get("expression") or "")

    def _prefixed(self, mapping: Object, path: str, *, needed: bool) -> Program | None:
        claim, expression, prefix = (mapping.get(field) for field in ("claim", "expression", "prefix"))
        if claim and expression:
            self._found.append(invalid(path, "", _BOTH))
        elif expression:
            if prefix is not None:
                self._found.append(invalid(f"{path}.prefix", prefix, "may not be specified when expression is set"))
            return self._mapping(f"{path}.expression", expression)
        elif claim:
            if prefix is None:
                self._found.append(required(f"{path}.prefix", _NO_PREFIX))
        elif needed:
            self._found.append(required(path, _EITHER))
        return None

    def _extra(self, extra: Sequence[Object], path: str) -> None:
        keys: set[str] = set()
        for index, mapping in enumerate(extra):
            where, key = f"{path}[{index}]", mapping.get("key") or ""
            self._found += validate_domain_prefixed_path(f"{where}.key", key)
            if key != key.lower():
                self._found.append(invalid(f"{where}.key", key, "must be lowercase"))
            if _is_reserved(key):
                self._found.append(invalid(f"{where}.key", key, _RESERVED))
            if key in keys:
                self._found.append(duplicate(f"{where}.key", key))
                continue
            keys.add(key)
            if not mapping.get("valueExpression"):
                self._found.append(required(f"{where}.valueExpression"))
                continue
            program = self._mapping(f"{where}.valueExpression", mapping["valueExpression"])
            self._others += [program] if program is not None else []

    def _check_email(self, path: str, expression: str) -> None:
        """Who is known by an address must have shown that it is theirs."""
        if self._username is None:
            return
        from kapi.authn.claim_expressions import uses_claim

        programs = [self._username, *self._others]
        if uses_claim(self._username, "email") and not any(uses_claim(p, "email_verified") for p in programs):
            self._found.append(invalid(path, expression, _UNVERIFIED))

    def _user_rules(self, path: str) -> None:
        from kapi.authn.claim_expressions import compile_user_rule

        expressions: set[str] = set()
        for index, rule in enumerate(self._item.get("userValidationRules") or ()):
            where, expression = f"{path}[{index}].expression", rule.get("expression") or ""
            if expression:
                self._distinct(where, expression, expressions, compile_user_rule)
            else:
                self._found.append(required(where))

    def _distinct(
        self, path: str, expression: str, seen: set[str], compile: Callable[[str], Program]
    ) -> Program | None:
        if expression in seen:
            self._found.append(duplicate(path, expression))
            return None
        seen.add(expression)
        return self._compiled(path, expression, compile)

    def _mapping(self, path: str, expression: str) -> Program | None:
        from kapi.authn.claim_expressions import compile_mapping

        return self._compiled(path, expression, compile_mapping)

    def _compiled(self, path: str, expression: str, compile: Callable[[str], Program]) -> Program | None:
        from kapi.authn.claim_expressions import ExpressionError

        try:
            return compile(expression)
        except ExpressionError as error:
            self._found.append(invalid(path, expression, str(error)))
            return None


def _claim_rule(rule: Object, path: str, seen: set[str]) -> Iterator[FieldError]:
    if rule.get("message"):
        yield invalid(f"{path}.message", rule["message"], "may not be specified when claim is set")
    if rule["claim"] in seen:
        yield duplicate(f"{path}.claim", rule["claim"])


def _is_reserved(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and f".{domain}".endswith((".kubernetes.io", ".k8s.io"))


# The issuer


def _issuer(issuer: Object, path: str, disallowed: Sequence[str]) -> Iterator[FieldError]:
    url, discovery = (issuer.get(field) or "" for field in ("url", "discoveryURL"))
    if url:
        yield from _url(f"{path}.url", url, disallowed)
    else:
        yield required(f"{path}.url")
    if discovery:
        if url and url.rstrip("/") == discovery.rstrip("/"):
            yield invalid(f"{path}.discoveryURL", discovery, "discoveryURL must be different from URL")
        yield from _url(f"{path}.discoveryURL", discovery, ())
    yield from _audiences(path, issuer.get("audiences") or [], issuer.get("audienceMatchPolicy") or "")
    authority, egress = (issuer.get(field) or "" for field in ("certificateAuthority", "egressSelectorType"))
    if authority and (problem := authority_problem(authority)):
        yield invalid(f"{path}.certificateAuthority", "<omitted>", problem)
    if egress and egress not in ("controlplane", "cluster"):
        yield invalid(f"{path}.egressSelectorType", egress, "egress selector must be either controlplane or cluster")


def _url(path: str, url: str, disallowed: Sequence[str]) -> Iterator[FieldError]:
    if url in disallowed:
        listed = " ".join(sorted(disallowed))
        yield invalid(path, url, f"URL must not overlap with disallowed issuers: [{listed}]")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        yield invalid(path, url, str(error))
        return
    if parts.scheme != "https":
        yield invalid(path, url, "URL scheme must be https")
    if "@" in parts.netloc:
        yield invalid(path, url, "URL must not contain a username or password")
    if parts.query:
        yield invalid(path, url, "URL must not contain a query")
    if parts.fragment:
        yield invalid(path, url, "URL must not contain a fragment")


def _audiences(path: str, audiences: Sequence[str], policy: str) -> Iterator[FieldError]:
    if not audiences:
        yield required(f"{path}.audiences", f"at least one {path}.audiences is required")
        return
    seen: set[str] = set()
    for index, audience in enumerate(audiences):
        if not audience:
            yield required(f"{path}.audiences[{index}]")
        if audience in seen:
            yield duplicate(f"{path}.audiences[{index}]", audience)
        seen.add(audience)
    if len(audiences) > 1 and policy != _MATCH_ANY:
        why = "audienceMatchPolicy must be MatchAny for multiple audiences"
        yield invalid(f"{path}.audienceMatchPolicy", policy, why)
    if len(audiences) == 1 and policy not in ("", _MATCH_ANY):
        why = "audienceMatchPolicy must be empty or MatchAny for single audience"
        yield invalid(f"{path}.audienceMatchPolicy", policy, why)


def authority_problem(pem: str) -> str:
    """Empty when it holds certificates."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (ssl.SSLError, ValueError):
        return "data does not contain any valid RSA or ECDSA certificates"
    return ""
