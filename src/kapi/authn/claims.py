"""From a token's claims to a user: by the claims' names, or by expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kapi.api.user import User
from kapi.authn.configuration import JWTConfig
from kapi.authn.configuration import Mapping as ClaimMapping
from kapi.authn.id_tokens import TokenError

if TYPE_CHECKING:
    from kapi.cel.environment import Program

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_GO_KINDS = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}


class UserMapping:
    """Expressions are compiled once; a configuration without any does without CEL."""

    def __init__(self, config: JWTConfig) -> None:
        self._config = config
        self._username = _compiled(config.username)
        self._groups = _compiled(config.groups)
        self._uid = _compiled(config.uid)
        self._extra = [(key, _compiled(ClaimMapping(expression=text)), text) for key, text in config.extra]
        self._rules = _Rules(config) if config.claim_rules or config.user_rules else None

    def user(self, claims: Mapping[str, Any]) -> User:
        """In upstream's order: who it is, then whether they may be. Raises TokenError."""
        config = self._config
        value = _Lazy(claims)
        name = _username(claims, config.username) if self._username is None else self._by_expression(value)
        groups = self._group_names(claims, value)
        uid = _text(claims, config.uid.claim, "uid claim") if config.uid.claim else self._uid_by_expression(value)
        extra = self._extras(claims, value)
        user = User(name=name, uid=uid, groups=groups, extra=extra)
        _check_required(claims, config.required_claims)
        if self._rules is not None:
            self._rules.check(value, user)
        return user

    def _by_expression(self, claims: _Lazy) -> str:
        name = claims.evaluate(self._username, "username claim expression")
        if not isinstance(name, str):
            said = "username claim expression must return a string"
            raise TokenError(f"oidc: error evaluating username claim expression: {said}")
        if not name:
            raise TokenError("oidc: empty username via CEL expression is not allowed")
        return name

    def _group_names(self, claims: Mapping[str, Any], value: _Lazy) -> tuple[str, ...]:
        mapping = self._config.groups
        if mapping.claim and mapping.claim in claims:
            return _groups(claims[mapping.claim], mapping)
        return () if self._groups is None else value.text_list(self._groups, "group claim expression")

    def _uid_by_expression(self, claims: _Lazy) -> str:
        if self._uid is None:
            return ""
        uid = claims.evaluate(self._uid, "uid claim expression")
        if not isinstance(uid, str):
            raise TokenError("oidc: error evaluating uid claim expression: uid claim expression must return a string")
        return uid

    def _extras(self, claims: Mapping[str, Any], value: _Lazy) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(claims.get("jti"), str):
            extra[CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
        for key, program, text in self._extra:
            values = value.text_list(program, f"extra claim expression: {text}")
            if values:
                extra[key] = values
        return extra


class _Lazy:
    """The claims as expressions see them, made when the first looks."""

    def __init__(self, claims: Mapping[str, Any]) -> None:
        self._claims = claims
        self._value: Any = None

    def evaluate(self, program: Program | None, what: str) -> Any:
        from kapi.authn.claim_expressions import ExpressionError, claims_value, evaluate

        assert program is not None, "asked for only where there is an expression"
        if self._value is None:
            self._value = claims_value(self._claims)
        try:
            return evaluate(program, claims=self._value)
        except ExpressionError as error:
            raise TokenError(f"oidc: error evaluating {what}: {error}") from None

    def text_list(self, program: Program | None, what: str) -> tuple[str, ...]:
        from kapi.authn.claim_expressions import ExpressionError, text_list

        try:
            return text_list(self.evaluate(program, what))
        except ExpressionError as error:
            raise TokenError(f"oidc: error evaluating {what}: {error}") from None


class _Rules:
    """What claims and users must be, with the message for those that are not."""

    def __init__(self, config: JWTConfig) -> None:
        from kapi.authn.claim_expressions import compile_claim_rule, compile_user_rule

        self._claims = [(compile_claim_rule(text), message) for text, message in config.claim_rules]
        self._user = [(compile_user_rule(text), message) for text, message in config.user_rules]

    def check(self, claims: _Lazy, user: User) -> None:
        from kapi.authn.claim_expressions import ExpressionError, evaluate, user_value

        for program, message in self._claims:
            if not claims.evaluate(program, "claim validation expression"):
                raise _failed("claim validation expression", program, message)
        value = user_value(user) if self._user else {}
        for program, message in self._user:
            try:
                kept = evaluate(program, user=value)
            except ExpressionError as error:
                raise TokenError(f"oidc: error evaluating user info validation rule: {error}") from None
            if not kept:
                raise _failed("user info validation rule", program, message)


def _failed(what: str, program: Program, message: str) -> TokenError:
    said = f"validation expression '{program.expression}' failed: {message}"
    return TokenError(f"oidc: error evaluating {what}: {said}")


def _compiled(mapping: ClaimMapping) -> Program | None:
    if not mapping.expression:
        return None
    from kapi.authn.claim_expressions import compile_mapping  # CEL is slow to import

    return compile_mapping(mapping.expression)


# By name


def _username(claims: Mapping[str, Any], mapping: ClaimMapping) -> str:
    name = _text(claims, mapping.claim, "username claims")
    if mapping.claim == "email" and "email_verified" in claims:
        verified = claims["email_verified"]
        if not isinstance(verified, (bool, type(None))):
            raise TokenError(f"oidc: parse 'email_verified' claim: {_mismatch(verified, 'bool')}")
        if not verified:
            raise TokenError("oidc: email not verified")
    return mapping.prefix + name


def _groups(value: Any, mapping: ClaimMapping) -> tuple[str, ...]:
    """As upstream: a text is a list of one."""
    if value is None:
        return ()
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(group, str) for group in found):
        raise TokenError(f'oidc: parse groups claim "{mapping.claim}": {_mismatch(value, "string")}')
    return tuple(mapping.prefix + group for group in found)


def _check_required(claims: Mapping[str, Any], required: tuple[tuple[str, str], ...]) -> None:
    for claim, wanted in required:
        if claim not in claims:
            raise TokenError(f"oidc: required claim {claim} not present in ID token")
        value = claims[claim]
        if not isinstance(value, str):
            raise TokenError(f"oidc: parse claim {claim}: {_mismatch(value, 'string')}")
        if value != wanted:
            raise TokenError(f"oidc: required claim {claim} value does not match. Got = {value}, want = {wanted}")


def _text(claims: Mapping[str, Any], claim: str, what: str) -> str:
    """A claim that is null is empty, as Go reads it."""
    if claim not in claims:
        raise TokenError(f'oidc: parse {what} "{claim}": claim not present')
    value = claims[claim]
    if not isinstance(value, (str, type(None))):
        raise TokenError(f'oidc: parse {what} "{claim}": {_mismatch(value, "string")}')
    return value or ""


def _mismatch(value: Any, wanted: str) -> str:
    return f"json: cannot unmarshal {_GO_KINDS.get(type(value), 'null')} into Go value of type {wanted}"
