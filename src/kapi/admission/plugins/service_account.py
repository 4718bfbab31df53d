"""ServiceAccount: every pod runs as a service account of its namespace, and is given that account's token."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Iterator

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.lookup import Lookup, decoded, unaskable
from kapi.admission.refusal import forbidden as _refused
from kapi.admission.resources import PODS, SERVICE_ACCOUNTS
from kapi.admission.services import Services
from kapi.api.errors import APIError
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_DEFAULT = "default"
_VOLUME = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
# Recognised by clients as a token that may be used past its expiry for a while.
_TOKEN_SECONDS = 3607
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_CONTAINERS = (("initContainers", "init container"), ("containers", "container"))
# A namespace's default account is made a moment after the namespace: it is waited for, a second in all as upstream.
_PAUSES = (0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.363)


class ServiceAccount:
    name = "ServiceAccount"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, "CREATE", of=(PODS,)),
            validating(self.validate, "CREATE", of=(PODS,)),
            validating(self.validate, "UPDATE", of=(PODS,), at=("ephemeralcontainers",)),
        )

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        pod = attributes.object or {}
        if _is_mirror(pod):
            _check_mirror(attributes, pod)
            return None
        spec = pod["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT
        account = self._known(attributes, spec["serviceAccountName"])
        if account is None:
            return self._provide_later(attributes, spec)
        _provide(account, spec)
        _check_account(attributes, account)
        return None

    async def _provide_later(self, attributes: Attributes, spec: Object) -> None:
        account = await self._found(attributes, spec["serviceAccountName"])
        _provide(account, spec)
        _check_account(attributes, account)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        pod = attributes.object or {}
        if _is_mirror(pod):
            _check_mirror(attributes, pod)
            return None
        name = pod["spec"].get("serviceAccountName")
        if not name:
            place = f"{attributes.namespace}/{pod['metadata'].get('name', '')}"
            raise _refused(attributes, f"no service account specified for pod {place}")
        account = self._known(attributes, name)
        if account is None:
            return self._validate_later(attributes, name)
        _check_account(attributes, account)
        return None

    async def _validate_later(self, attributes: Attributes, name: str) -> None:
        _check_account(attributes, await self._found(attributes, name))

    def _known(self, attributes: Attributes, name: str) -> Object | None:
        entry = self._lookup.cached(SERVICE_ACCOUNTS, attributes.namespace, name)
        return None if entry is None else decoded(entry)

    async def _found(self, attributes: Attributes, name: str) -> Object:
        place = f"{attributes.namespace}/{name}"
        why = unaskable(name)
        if why:
            raise _refused(attributes, f"error looking up service account {place}: {why}")
        for pause in (0.0, *(_PAUSES if name == _DEFAULT else ())):
            if pause:
                await asyncio.sleep(pause)
            entry = await self._lookup.get(SERVICE_ACCOUNTS, attributes.namespace, name)
            if entry is not None:
                return decoded(entry)
        raise _refused(attributes, f'error looking up service account {place}: serviceaccount "{name}" not found')


def _provide(account: Object, spec: Object) -> None:
    """What a pod has of its account."""
    if _automounts(account, spec):
        _mount_token(spec)
    if not spec.get("imagePullSecrets"):
        inherited = [{"name": s.get("name", "")} for s in account.get("imagePullSecrets") or ()]
        if inherited:
            spec["imagePullSecrets"] = inherited


def _check_account(attributes: Attributes, account: Object) -> None:
    if (account["metadata"].get("annotations") or {}).get(_ENFORCED) in _TRUE:
        kinds = (("ephemeralContainers", "ephemeral container"),) if attributes.subresource else _CONTAINERS
        _check_references(attributes, account, (attributes.object or {})["spec"], kinds)


def _is_mirror(pod: Object) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or ())


def _check_mirror(attributes: Attributes, pod: Object) -> None:
    """A mirror pod shows what a kubelet runs by itself: nothing from the API is in it."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise _refused(attributes, "a mirror pod may not reference service accounts")
    if any(_secret_names(spec)):
        raise _refused(attributes, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                raise _refused(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _secret_names(spec: Object) -> Iterator[str]:
    yield from (s.get("name", "") for s in spec.get("imagePullSecrets") or ())
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            yield from (name for _, name in _environment_secrets(container))
    for volume in spec.get("volumes") or ():
        yield (volume.get("secret") or {}).get("secretName", "")
        for source in volume.values():
            if isinstance(source, dict):
                yield ((source.get("secretRef") or source.get("nodePublishSecretRef")) or {}).get("name", "")
                for projection in source.get("sources") or ():
                    yield (projection.get("secret") or {}).get("name", "")


def _environment_secrets(container: Object) -> Iterator[tuple[str, str]]:
    """Where a container's environment names a secret, and which."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')} ", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom ", source["secretRef"].get("name", "")


def _check_references(
    attributes: Attributes, account: Object, spec: Object, kinds: tuple[tuple[str, str], ...]
) -> None:
    """An account that says so lends only the secrets that it lists."""
    listed = {s.get("name") for s in account.get("secrets") or ()}
    tail = f"is not allowed because service account {account['metadata']['name']} does not reference that"
    if kinds is _CONTAINERS:
        for volume in spec.get("volumes") or ():
            name = (volume.get("secret") or {}).get("secretName")
            if name is not None and name not in listed:
                raise _refused(attributes, f'volume with secret.secretName="{name}" {tail} secret')
    for field, shown in kinds:
        for container in spec.get(field) or ():
            for where, name in _environment_secrets(container):
                if name not in listed:
                    what = f"{shown} {container.get('name', '')} with {where}referencing"
                    why = f'{what} secret.secretName="{name}" {tail} secret'
                    # As upstream: of an ephemeral container it is told as a failure of the server.
                    raise APIError(why) if attributes.subresource else _refused(attributes, why)
    if kinds is _CONTAINERS:
        pulled = {s.get("name") for s in account.get("imagePullSecrets") or ()}
        for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
            name = secret.get("name", "")
            if name not in pulled:
                raise _refused(attributes, f'imagePullSecrets[{i}].name="{name}" {tail} imagePullSecret')


def _automounts(account: Object, spec: Object) -> bool:
    """The pod decides, then the account."""
    for holder in (spec, account):
        wanted = holder.get("automountServiceAccountToken")
        if wanted is not None:
            return bool(wanted)
    return True


def _mount_token(spec: Object) -> None:
    """Into every container that has nothing mounted there yet."""
    volumes = spec.get("volumes") or []
    name = next((v["name"] for v in volumes if (v.get("name") or "").startswith(_VOLUME)), "")
    is_new = not name
    name = name or _VOLUME + "".join(random.choices(_ALPHABET, k=5))
    is_needed = False
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}]
                is_needed = True
    if is_new and is_needed:
        spec["volumes"] = [*volumes, {"name": name, "projected": token_source()}]


def token_source() -> Object:
    """The token, what to trust the API server by, and the namespace."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


def build(services: Services, _: Object | None) -> ServiceAccount:
    return ServiceAccount(services.lookup)
