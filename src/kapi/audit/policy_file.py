"""The audit policy's file: read, checked and turned into rules. Its errors are worded as upstream's."""

from __future__ import annotations

from pathlib import Path

from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.gvk import GroupVersionKind
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.audit.policy import LEVELS, STAGES, Decision, GroupResources, Policy, Rule
from kapi.codec.decode import Parsed, Unrecognised
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import META, named_type
from kapi.schema.types import Field, GoField, Type
from kapi.telemetry.log import Log

_POLICY = GroupVersionKind("audit.k8s.io", "v1", "Policy")
_SCHEME = "k8s.io/apiserver/pkg/audit/scheme.go:30"


class PolicyError(ValueError):
    """The policy cannot be used; the message says why."""


def load_policy(path: str, log: Log) -> Policy:
    """The policy in a file. Raises PolicyError."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        why = f"open {path}: {(error.strerror or str(error)).lower()}"
        raise PolicyError(f'loading audit policy file: failed to read file path "{path}": {why}') from None
    try:
        return read_policy(content, log)
    except PolicyError as error:
        raise PolicyError(f"loading audit policy file: {error}: from file {path}") from None


def read_policy(content: bytes, log: Log) -> Policy:
    document = _decode(content, log)
    errors = _problems(document)
    if errors:
        texts = [str(error) for error in errors]
        raise PolicyError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    if not document.get("rules"):
        raise PolicyError("loaded illegal policy with 0 rules")
    omit_stages = frozenset(document.get("omitStages") or ())
    omit_managed = bool(document.get("omitManagedFields"))
    return Policy(
        rules=tuple(_rule(rule, omit_stages, omit_managed_fields=omit_managed) for rule in document["rules"]),
        otherwise=Decision(omit_stages=omit_stages, omit_managed_fields=omit_managed),
    )


def _rule(rule: Object, omit_stages: frozenset[str], *, omit_managed_fields: bool) -> Rule:
    own = rule.get("omitManagedFields")
    return Rule(
        decision=Decision(
            level=LEVELS[rule["level"]],
            label=rule["level"],
            omit_stages=omit_stages.union(rule.get("omitStages") or ()),
            omit_managed_fields=omit_managed_fields if own is None else own,
        ),
        users=frozenset(rule.get("users") or ()),
        user_groups=frozenset(rule.get("userGroups") or ()),
        verbs=frozenset(rule.get("verbs") or ()),
        resources=tuple(
            GroupResources(
                group=item.get("group", ""),
                resources=frozenset(item.get("resources") or ()),
                resource_names=frozenset(item.get("resourceNames") or ()),
            )
            for item in rule.get("resources") or ()
        ),
        namespaces=frozenset(rule.get("namespaces") or ()),
        non_resource_urls=tuple(rule.get("nonResourceURLs") or ()),
    )


# Reading


def _decode(content: bytes, log: Log) -> Object:
    """The document, checked by its type; what only strict reading minds is told in the log, as upstream does."""
    try:
        parsed = Parsed(content, "application/yaml")
        gvk = parsed.interpret()
    except Unrecognised as error:
        raise PolicyError(f"failed decoding: {error}") from None
    for missing, name in ((not gvk.kind, "Kind"), (not gvk.version, "apiVersion")):
        if missing:
            text = content.decode("utf-8", "replace")
            raise PolicyError(f"failed decoding: Object '{name}' is missing in '{text}'")
    if gvk != _POLICY:
        what = f'no kind "{gvk.kind}" is registered for version "{gvk.group_version}" in scheme "{_SCHEME}"'
        raise PolicyError(f"failed decoding: {what}")
    try:
        document, problems = parsed.settle(_policy_type(), "Strict")
    except TypeMismatch as mismatch:
        raise PolicyError(f"failed decoding: {mismatch.message}") from None
    if problems:
        log.warning("audit_policy_contains_errors", problems=f"strict decoding error: {', '.join(problems)}")
    return document


def _policy_type() -> Type:
    resources = _struct("GroupResources", group=_text(), resources=_texts(), resourceNames=_texts())
    rule = _struct(
        "PolicyRule",
        level=_text("v1.Level"),
        users=_texts(),
        userGroups=_texts(),
        verbs=_texts(),
        resources=_many(resources, "[]v1.GroupResources"),
        namespaces=_texts(),
        nonResourceURLs=_texts(),
        omitStages=_texts("v1.Stage"),
        omitManagedFields=_field(Type("boolean"), "bool", pointer=True),
    )
    return _struct(
        "Policy",
        kind=_text(),
        apiVersion=_text(),
        metadata=_field(named_type(f"{META}.ObjectMeta"), "v1.ObjectMeta"),
        rules=_many(rule, "[]v1.PolicyRule"),
        omitStages=_texts("v1.Stage"),
        omitManagedFields=_field(Type("boolean"), "bool"),
    )


def _struct(name: str, **fields: Field) -> Type:
    return Type("object", name=f"v1.{name}", fields=fields)


def _field(type_: Type, go_type: str, *, pointer: bool = False) -> Field:
    return Field("", lambda: type_, go=GoField(go_type, pointer, omit_empty=True, omit_zero=False, via=()))


def _text(go_type: str = "string") -> Field:
    return _field(Type("string"), go_type)


def _many(element: Type, go_type: str) -> Field:
    return _field(Type("list", element=lambda: element), go_type)


def _texts(element: str = "string") -> Field:
    return _many(Type("string"), f"[]{element}")


# Validation


def _problems(document: Object) -> list[FieldError]:
    errors = _stage_problems(document, "omitStages")
    for i, rule in enumerate(document.get("rules") or ()):
        errors += _rule_problems(rule or {}, f"rules[{i}]")
    return errors


def _rule_problems(rule: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    level = rule.get("level") or ""
    if not level:
        errors.append(required(f"{path}.level"))
    elif level not in LEVELS:
        errors.append(not_supported(f"{path}.level", level, tuple(LEVELS)))
    urls = rule.get("nonResourceURLs") or []
    for i, url in enumerate(urls):
        errors += _url_problems(url, f"{path}.nonResourceURLs[{i}]")
    for resources in rule.get("resources") or ():
        errors += _resource_problems(resources, f"{path}.resources")
    errors += _stage_problems(rule, f"{path}.omitStages")
    if urls and (rule.get("resources") or rule.get("namespaces")):
        why = "rules cannot apply to both regular resources and non-resource URLs"
        errors.append(invalid(f"{path}.nonResourceURLs", urls, why))
    return errors


def _url_problems(url: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if url == "*":
        return errors
    if not url.startswith("/"):
        errors.append(invalid(path, url, "non-resource URL rules must begin with a '/' character"))
    if "*" in url[:-1]:
        errors.append(invalid(path, url, "non-resource URL wildcards '*' must be the final character of the rule"))
    return errors


def _resource_problems(resources: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    group = resources.get("group", "")
    if group not in ("", "*") and (found := dns_subdomain(group)):
        errors.append(invalid(f"{path}.group", group, ",".join(found)))
    names = resources.get("resourceNames")
    if names and not resources.get("resources"):
        errors.append(invalid(f"{path}.resourceNames", names, "using resourceNames requires at least one resource"))
    return errors


def _stage_problems(holder: Object, path: str) -> list[FieldError]:
    why = f"allowed stages are {','.join(STAGES)}"
    stages = holder.get("omitStages") or ()
    return [invalid(f"{path}[{i}]", stage, why) for i, stage in enumerate(stages) if stage not in STAGES]
