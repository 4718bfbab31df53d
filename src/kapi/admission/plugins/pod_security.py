"""PodSecurity: pods keep to the level that their namespace enforces; it warns of, or notes, what breaks others.

Whatever makes pods by a template is never refused, but whoever writes it is warned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

from kapi.admission.chain import Hook, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.podsecurity.configuration import PodSecurityConfiguration, read
from kapi.admission.podsecurity.pod import Pod
from kapi.admission.podsecurity.policy import MODES, PREFIX, PRIVILEGED, LevelVersion, Policy, is_stricter, policy_of
from kapi.admission.podsecurity.standards import violations
from kapi.admission.refusal import all_of, forbidden
from kapi.admission.resources import NAMESPACES, PODS
from kapi.admission.services import Services
from kapi.api.errors import InternalError, Invalid
from kapi.api.fields import FieldError
from kapi.api.gvk import GroupKind
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes
from kapi.storage.cacher.entry import Entry

_MOST_PODS = 3000  # that are looked at when a namespace's level changes
_ENFORCED = f"{PREFIX}enforce-policy"


class _Read(NamedTuple):
    """A namespace's policy, what is wrong with its labels, and what it enforces where that is nothing."""

    policy: Policy
    errors: list[FieldError]
    harmless: str


def _template(found: Object) -> Object | None:
    template: Object | None = (found.get("spec") or {}).get("template")
    return template


def _job_template(found: Object) -> Object | None:
    return _template((found.get("spec") or {}).get("jobTemplate") or {})


_TEMPLATES: Mapping[tuple[str, str], Callable[[Object], Object | None]] = {
    ("", "podtemplates"): lambda found: found.get("template"),
    ("", "replicationcontrollers"): _template,
    ("apps", "replicasets"): _template,
    ("apps", "deployments"): _template,
    ("apps", "statefulsets"): _template,
    ("apps", "daemonsets"): _template,
    ("batch", "jobs"): _template,
    ("batch", "cronjobs"): _job_template,
}


class PodSecurity:
    name = "PodSecurity"

    def __init__(self, lookup: Lookup, configuration: PodSecurityConfiguration) -> None:
        self._lookup = lookup
        self._configuration = configuration
        self._exempts = bool(configuration.namespaces or configuration.usernames)

    def hooks(self) -> tuple[Hook, ...]:
        return (
            validating(self.on_namespace_create, "CREATE", of=(NAMESPACES,)),
            validating(self.on_namespace_update, "UPDATE", of=(NAMESPACES,)),
            validating(self.on_pod, "CREATE", of=(PODS,)),
            validating(self.on_pod, "UPDATE", of=(PODS,), at=("", "ephemeralcontainers", "resize")),
            validating(self.on_template, "CREATE", "UPDATE", of=_TEMPLATES),
        )

    # Namespaces

    def on_namespace_create(self, attributes: Attributes) -> None:
        namespace = attributes.object or {}
        policy, errors = self._labels(namespace)
        if errors:
            raise _invalid(attributes, errors)
        self._warn_of_exemption(attributes, namespace, policy)

    def on_namespace_update(self, attributes: Attributes) -> Awaitable[None] | None:
        new, old = attributes.object or {}, attributes.old_object or {}
        if (new["metadata"].get("labels") or {}) == (old["metadata"].get("labels") or {}):
            return None
        policy, errors = self._labels(new)
        former, old_errors = self._labels(old)
        if errors and errors != old_errors:
            raise _invalid(attributes, errors)
        enforce = policy.enforce
        if enforce == former.enforce or enforce.level == PRIVILEGED:
            return None
        if enforce.version == former.enforce.version and not is_stricter(enforce.level, former.enforce.level):
            return None
        if new["metadata"]["name"] in self._configuration.namespaces:
            self._warn_of_exemption(attributes, new, policy)
            return None
        return self._warn_of_pods(attributes, enforce)

    def _labels(self, namespace: Object) -> tuple[Policy, list[FieldError]]:
        return policy_of(namespace["metadata"].get("labels") or {}, self._configuration.defaults)

    def _warn_of_exemption(self, attributes: Attributes, namespace: Object, policy: Policy) -> None:
        name = namespace["metadata"].get("name", "")
        if name not in self._configuration.namespaces:
            return
        if policy.is_privileged or policy.equivalent(self._configuration.defaults):
            return
        labels = namespace["metadata"].get("labels") or {}
        ignored = ", ".join(
            f"{mode}={policy.of(mode)}"
            for mode in MODES
            if policy.of(mode).level != PRIVILEGED and (PREFIX + mode in labels or f"{PREFIX}{mode}-version" in labels)
        )
        attributes.call.warn(
            f'namespace "{name}" is exempt from Pod Security, and the policy ({ignored}) will be ignored'
        )

    async def _warn_of_pods(self, attributes: Attributes, enforce: LevelVersion) -> None:
        """Of the pods there are already: they stay, but could not come today."""
        name = (attributes.object or {})["metadata"]["name"]
        pods = self._one_per_owner(await self._lookup.list(PODS, name))
        found: dict[str, list[str]] = {}
        for pod in pods[:_MOST_PODS]:
            reasons = ", ".join(v.reason for v in violations(enforce, Pod(pod["metadata"], pod["spec"])))
            if reasons:
                found.setdefault(reasons, []).append(pod["metadata"]["name"])
        if len(pods) > _MOST_PODS:
            attributes.call.warn(
                f"new PodSecurity enforce level only checked against the first {_MOST_PODS} of {len(pods)} "
                "existing pods"
            )
        if found:
            attributes.call.warn(
                f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{enforce}"'
            )
        for warning in sorted(f"{_counted(names)}: {reasons}" for reasons, names in found.items()):
            attributes.call.warn(warning)

    def _one_per_owner(self, entries: Iterable[Entry]) -> list[Object]:
        """One pod of each controller first, for its others are likely the same."""
        first: list[Object] = []
        rest: list[Object] = []
        seen: set[str] = set()
        for pod in map(decoded, entries):
            if pod["spec"].get("runtimeClassName") in self._configuration.runtime_classes:
                continue
            owner = next((o for o in pod["metadata"].get("ownerReferences") or () if o.get("controller")), None)
            if owner is None or owner["uid"] not in seen:
                first.append(pod)
            else:
                rest.append(pod)
            if owner is not None:
                seen.add(owner["uid"])
        return first + rest

    # Pods and templates

    def on_pod(self, attributes: Attributes) -> Awaitable[None] | None:
        if self._is_exempt(attributes):
            return None
        entry = self._lookup.cached(NAMESPACES, "", attributes.namespace)
        if entry is None:
            return self._on_pod_later(attributes)
        self._check_pod(attributes, entry)
        return None

    async def _on_pod_later(self, attributes: Attributes) -> None:
        entry = await self._lookup.get(NAMESPACES, "", attributes.namespace)
        if entry is None:
            raise InternalError(f'failed to lookup namespace "{attributes.namespace}"')
        self._check_pod(attributes, entry)

    def _check_pod(self, attributes: Attributes, entry: Entry) -> None:
        policy, errors, harmless = self._policy(entry)
        if harmless:
            attributes.call.annotations[_ENFORCED] = harmless
            return
        new, old = attributes.object or {}, attributes.old_object
        if old is None or _is_significant(new["spec"], old["spec"]):
            self._evaluate(attributes, Pod(new["metadata"], new["spec"]), policy, errors, enforce=True)

    def on_template(self, attributes: Attributes) -> Awaitable[None] | None:
        if self._is_exempt(attributes):
            return None
        entry = self._lookup.cached(NAMESPACES, "", attributes.namespace)
        if entry is None:
            return self._on_template_later(attributes)
        self._check_template(attributes, entry)
        return None

    async def _on_template_later(self, attributes: Attributes) -> None:
        entry = await self._lookup.get(NAMESPACES, "", attributes.namespace)
        if entry is None:
            attributes.call.annotations[f"{PREFIX}error"] = f'failed to lookup namespace "{attributes.namespace}"'
        else:
            self._check_template(attributes, entry)

    def _check_template(self, attributes: Attributes, entry: Entry) -> None:
        policy, errors, _ = self._policy(entry)
        if not errors and policy.warn.level == policy.audit.level == PRIVILEGED:
            return
        template = _TEMPLATES[attributes.resource.group_resource](attributes.object or {})
        if template is not None:
            pod = Pod(template.get("metadata") or {}, template.get("spec") or {})
            self._evaluate(attributes, pod, policy, errors, enforce=False)

    def _policy(self, entry: Entry) -> _Read:
        """Read from a namespace's labels once."""
        if entry.renderings is None:
            entry.renderings = {}
        found: _Read | None = entry.renderings.get("pod security")
        if found is None:
            policy, errors = policy_of(entry.labels, self._configuration.defaults)
            harmless = str(policy.enforce) if policy.is_privileged and not errors else ""
            found = entry.renderings["pod security"] = _Read(policy, errors, harmless)
        return found

    def _is_exempt(self, attributes: Attributes) -> bool:
        if not self._exempts:
            return False
        exempt = ""
        if attributes.namespace in self._configuration.namespaces:
            exempt = "namespace"
        elif attributes.call.user.name in self._configuration.usernames:
            exempt = "user"
        if exempt:
            attributes.call.annotations[f"{PREFIX}exempt"] = exempt
        return bool(exempt)

    def _evaluate(
        self, attributes: Attributes, pod: Pod, policy: Policy, errors: list[FieldError], *, enforce: bool
    ) -> None:
        notes = attributes.call.annotations
        if pod.spec.get("runtimeClassName") in self._configuration.runtime_classes:
            notes[f"{PREFIX}exempt"] = "runtimeClass"
            return
        if errors:
            notes[f"{PREFIX}error"] = f"Failed to parse policy: {all_of([str(e) for e in errors])}"
        refused = _told(policy.enforce, pod) if enforce else ""
        if enforce:
            notes[_ENFORCED] = str(policy.enforce)
        if noted := _told(policy.audit, pod):
            notes[f"{PREFIX}audit-violations"] = f'would violate PodSecurity "{policy.audit}": {noted}'
        if refused:
            raise forbidden(attributes, f'violates PodSecurity "{policy.enforce}": {refused}')
        if warned := _told(policy.warn, pod):
            attributes.call.warn(f'would violate PodSecurity "{policy.warn}": {warned}')


def _told(wanted: LevelVersion, pod: Pod) -> str:
    return ", ".join(map(str, violations(wanted, pod)))


def _is_significant(new: Object, old: Object) -> bool:
    """Only other images, and further containers, make a pod another one."""
    for kind in ("containers", "initContainers"):
        images = [[c.get("image") for c in spec.get(kind) or ()] for spec in (new, old)]
        if images[0] != images[1]:
            return True
    former = {c.get("name"): c.get("image") for c in old.get("ephemeralContainers") or ()}
    return any(
        c.get("name") not in former or former[c.get("name")] != c.get("image")
        for c in new.get("ephemeralContainers") or ()
    )


def _counted(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"


def _invalid(attributes: Attributes, errors: list[FieldError]) -> Invalid:
    return Invalid(GroupKind("", "Namespace"), (attributes.object or {})["metadata"].get("name", ""), errors)


def build(services: Services, configuration: Object | None) -> PodSecurity:
    return PodSecurity(services.lookup, read(configuration))
