"""TokenRequests, the `token` subresource of service accounts: a token for an account, bound to something if asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.clock import Clock, rfc3339
from kapi.api.fields import FieldError, go_quote, invalid
from kapi.api.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.authn.token_issuer import Bound, TokenIssuer
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Action, Subresource
from kapi.registry.store import Store, Target

GVK = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")
_KIND = GroupKind(GVK.group, GVK.kind)
_SHORTEST, _DEFAULT, _LONGEST = 10 * 60, 60 * 60, 1 << 32
# As upstream: tokens of just this life, which kubelets ask for, are given a year, and count as stale after it.
_EXTENDED, _YEAR = 3607, 365 * 24 * 3600
_BINDABLE = {
    "Pod": GroupResource("", "pods"),
    "Secret": GroupResource("", "secrets"),
    "Node": GroupResource("", "nodes"),
}
_WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_WEBHOOK_GATE = "APIServerWebhookAuthenticationToken"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRequests:
    """`stores` may be empty until the server has its own. `longest` is in seconds; zero is no limit."""

    issuer: TokenIssuer
    audiences: tuple[str, ...]
    longest: int
    extend: bool
    clock: Clock
    stores: Mapping[GroupResource, Store]

    def subresource(self) -> Subresource:
        return Subresource(verbs=("create",), action=Action(gvk=GVK, run=self._run, default=_default))

    async def _run(self, call: Call, store: Store, target: Target, request: Object, _: WriteOptions) -> Object:
        metadata, spec = request["metadata"], request["spec"]
        _check_name(metadata, target)
        account = (await store.get(target.namespace, target.name)).object
        _check_uid(metadata, account)
        if not spec.get("audiences"):
            spec["audiences"] = list(self.audiences)
        now = self.clock.now()
        found = _validate(spec)
        if found:
            raise errors.Invalid(_KIND, "", found)
        bound = await self._bound(target, spec.get("boundObjectRef"))
        if self.longest and spec["expirationSeconds"] > self.longest:
            wanted, spec["expirationSeconds"] = spec["expirationSeconds"], self.longest
            call.warn(f"requested expiration of {wanted} seconds shortened to {self.longest} seconds")
        seconds, warn_after = spec["expirationSeconds"], 0
        if self._extends(bound, spec):
            seconds, warn_after = _YEAR, seconds
        token, identity = self.issuer.issue(account, bound, spec["audiences"], int(now), seconds, warn_after)
        call.annotations["authentication.kubernetes.io/issued-credential-id"] = f"JTI={identity}"
        named = {"name": target.name, "namespace": target.namespace, "uid": account["metadata"]["uid"]}
        request["metadata"] = {**metadata, **named, "creationTimestamp": rfc3339(now)}
        request["status"] = {"token": token, "expirationTimestamp": rfc3339(now + spec["expirationSeconds"])}
        return request

    def _extends(self, bound: Bound, spec: Object) -> bool:
        if not self.extend or bound.pod is None or spec["expirationSeconds"] != _EXTENDED:
            return False
        return all(audience in self.audiences for audience in spec["audiences"])

    async def _bound(self, target: Target, reference: Object | None) -> Bound:
        if reference is None:
            return Bound()
        kind, name = reference.get("kind", ""), reference.get("name", "")
        group_version = _group_version(reference)
        if group_version.group or kind not in _BINDABLE:
            disabled = f" (feature gate {_WEBHOOK_GATE} is disabled)" if _is_webhook(reference) else ""
            named = _type_name(group_version, kind) + disabled
            raise errors.BadRequest(f"cannot bind token to object of type {named}")
        if not name:
            raise errors.BadRequest("Name parameter required.")
        found = await self._get(_BINDABLE[kind], "" if kind == "Node" else target.namespace, name)
        bound = await self._bound_to(kind, target, found)
        uid = found["metadata"].get("uid", "")
        if reference.get("uid") and reference["uid"] != uid:
            why = (
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. The "
                "object might have been deleted and then recreated"
            )
            raise errors.Conflict(GroupResource(group_version.group, kind), name, why)
        return bound

    async def _bound_to(self, kind: str, target: Target, found: Object) -> Bound:
        if kind == "Secret":
            return Bound(secret=found)
        if kind == "Node":
            return Bound(node=found)
        spec = found.get("spec") or {}
        if spec.get("serviceAccountName") != target.name:
            raise errors.BadRequest(
                f"cannot bind token for serviceaccount {go_quote(target.name)} to pod running with different "
                "serviceaccount name."
            )
        node = spec.get("nodeName")
        if not node:
            return Bound(pod=found)
        try:
            return Bound(pod=found, node=await self._get(_BINDABLE["Node"], "", node))
        except errors.NotFound:
            return Bound(pod=found, node={"metadata": {"name": node}})

    async def _get(self, resource: GroupResource, namespace: str, name: str) -> Object:
        store = self.stores.get(resource)
        if store is None:
            raise errors.NotFound(resource, name)
        return (await store.get(namespace, name)).object


def _default(request: Object) -> None:
    spec = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _DEFAULT


def _check_name(metadata: Object, target: Target) -> None:
    if metadata.get("name") and metadata["name"] != target.name:
        why = "must match the service account name if specified"
        raise errors.Invalid(_KIND, target.name, [invalid("metadata.name", metadata["name"], why)])


def _check_uid(metadata: Object, account: Object) -> None:
    wanted, found = metadata.get("uid"), account["metadata"]["uid"]
    if wanted and wanted != found:
        why = f"the UID in the token request ({wanted}) does not match the UID of the service account ({found})"
        raise errors.Conflict(GroupResource(*_KIND), account["metadata"]["name"], why)


def _validate(spec: Object) -> list[FieldError]:
    found: list[FieldError] = []
    seconds = spec["expirationSeconds"]
    if seconds < _SHORTEST:
        found.append(invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _LONGEST:
        found.append(invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds"))
    return found + _validate_attestations(spec)


def _validate_attestations(spec: Object) -> list[FieldError]:
    attestations = spec.get("attestations")
    if _is_webhook(spec.get("boundObjectRef") or {}):
        if len((attestations or {}).get("admissionReviewAPIGroups") or ()) == 1:
            return []
        detail = "webhook bound requests require exactly one admissionReviewAPIGroups attestation"
    elif attestations is None:
        return []
    else:
        detail = "attestations may only be specified with a webhook bound object reference"
    return [invalid("spec.attestations", attestations, detail)]


def _is_webhook(reference: Object) -> bool:
    group = reference.get("apiVersion", "").partition("/")[0]
    return group == "admissionregistration.k8s.io" and reference.get("kind") in _WEBHOOKS


def _group_version(reference: Object) -> GroupVersion:
    """As upstream: what is no apiVersion counts as none."""
    try:
        return GroupVersion.parse(reference.get("apiVersion", ""))
    except ValueError:
        return GroupVersion("", "")


def _type_name(group_version: GroupVersion, kind: str) -> str:
    """As Go prints a GroupVersionKind."""
    return f"{group_version.group}/{group_version.version}, Kind={kind}"
