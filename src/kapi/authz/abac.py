"""ABAC: attribute-based policies from a file, one JSON object per line. Whoever one of them matches is allowed.

The older form has no version, and its fields at the top: there what is left out matches everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from kapi.api.authorizer import ALLOW, Decision, KnownRules, PromptAuthorizer, Verdict
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import ALL_AUTHENTICATED, User
from kapi.authz.rules import ANY, url_covers
from kapi.telemetry.log import log

_GROUP = "abac.authorization.kubernetes.io"
_UNVERSIONED = ("", f"{_GROUP}/v0")
_READING = ("get", "list", "watch")
_NO_MATCH = Verdict(Decision.NO_OPINION, "No policy matched.")


class PolicyFileError(Exception):
    """The policy file cannot be used; the message says why."""


class Policy(NamedTuple):
    """Who may do what; an empty user and group match nobody."""

    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    non_resource_path: str = ""

    def is_for(self, user: User) -> bool:
        if self.user not in ("", ANY, user.name):
            return False
        if self.group not in ("", ANY) and self.group not in user.groups:
            return False
        return bool(self.user or self.group)

    def allows(self, attributes: RequestInfo) -> bool:
        if self.readonly and attributes.verb not in _READING:
            return False
        if not attributes.is_resource_request:
            return url_covers(self.non_resource_path, attributes.path)
        return (
            self.namespace in (ANY, attributes.namespace)
            and self.resource in (ANY, attributes.resource)
            and self.api_group in (ANY, attributes.api_group)
        )


class ABAC(PromptAuthorizer):
    """An Authorizer, and who knows all rules of a user."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self._policies = tuple(policies)

    @classmethod
    def load(cls, path: Path) -> ABAC:
        """Raises PolicyFileError."""
        try:
            lines = path.read_text("utf-8").split("\n")
        except OSError as error:
            raise PolicyFileError(f"open {path}: {(error.strerror or str(error)).lower()}") from error
        except UnicodeDecodeError as error:
            raise PolicyFileError(f"error reading policy file {path}: {error}") from error
        policies, unversioned = [], False
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.strip().startswith("#"):
                continue
            try:
                document = _document(line)
                policies.append(_policy(document))
            except ValueError as error:
                raise PolicyFileError(f"error reading policy file {path}, line {number}: {line}: {error}") from error
            unversioned = unversioned or document.get("apiVersion", "") == ""
        if unversioned:
            log.warning("unversioned_abac_policies", path=str(path))
        return cls(policies)

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict:
        for policy in self._policies:
            if policy.is_for(user) and policy.allows(attributes):
                return ALLOW
        return _NO_MATCH

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        rules: list[Object] = []
        for policy in self._policies:
            if not policy.is_for(user) or policy.namespace not in (ANY, namespace):
                continue
            verbs = list(_READING) if policy.readonly else [ANY]
            if policy.resource:
                rules.append({"verbs": verbs, "apiGroups": [policy.api_group], "resources": [policy.resource]})
            if policy.non_resource_path:
                rules.append({"verbs": verbs, "nonResourceURLs": [policy.non_resource_path]})
        return KnownRules(rules)


def _document(line: str) -> Object:
    from kapi.codec.yaml import load  # only where there is a policy

    document: Any = load(line.encode())[0]
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    return document


def _policy(document: Object) -> Policy:
    """As upstream's decoder: without a version or kind, or of version v0, it is of the older form."""
    version, kind = _text(document, "apiVersion"), _text(document, "kind")
    if version in _UNVERSIONED and kind in ("", "Policy"):
        return _converted(document)
    if version != f"{_GROUP}/v1beta1" or kind != "Policy":
        raise ValueError(f'no kind "{kind}" is registered for version "{version}"')
    spec = document.get("spec") or {}
    if not isinstance(spec, dict):
        raise ValueError("spec is no object")
    return Policy(
        user=_text(spec, "user"),
        group=_text(spec, "group"),
        readonly=_flag(spec, "readonly"),
        api_group=_text(spec, "apiGroup"),
        resource=_text(spec, "resource"),
        namespace=_text(spec, "namespace"),
        non_resource_path=_text(spec, "nonResourcePath"),
    )


def _converted(old: Object) -> Policy:
    user, group = _text(old, "user"), _text(old, "group")
    namespace, resource = _text(old, "namespace"), _text(old, "resource")
    if ANY in (user, group) or not (user or group):
        user, group = "", ALL_AUTHENTICATED
    return Policy(
        user=user,
        group=group,
        readonly=_flag(old, "readonly"),
        api_group=ANY,
        resource=resource or ANY,
        namespace=namespace or ANY,
        non_resource_path=ANY if not namespace and not resource else "",
    )


def _text(fields: Object, name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is no string")
    return value


def _flag(fields: Object, name: str) -> bool:
    value = fields.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise ValueError(f"{name} is no boolean")
    return value
