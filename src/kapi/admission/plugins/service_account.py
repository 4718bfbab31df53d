"""ServiceAccount: every pod runs as a service account of its namespace, and is given that account's token."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator

from kapi.admission.chain import Hook, mutating, validating
from kapi.api.errors import Forbidden
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes, Operation
from kapi.storage.cacher.entry import Entry

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
# A namespace's default account is made a moment after the namespace.
_TRIES, _PAUSE = 10, 0.1


class ServiceAccount:
    """`account` looks up a service account by namespace and name."""

    name = "ServiceAccount"
    operations: frozenset[Operation] = frozenset(("CREATE", "UPDATE"))

    def __init__(self, account: Callable[[str, str], Awaitable[Entry | None]]) -> None:
        self._account = account

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, *self.operations, at=None),
            validating(self.validate, *self.operations, at=None),
        )

    async def mutate(self, attributes: Attributes) -> None:
        pod = attributes.object
        if not _concerns(attributes) or attributes.operation != "CREATE" or pod is None:
            return
        if _is_mirror(pod):
            _check_mirror(attributes, pod)
            return
        spec = pod["spec"]
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT
        account = await self._found(attributes, spec["serviceAccountName"])
        if _automounts(account, spec):
            _mount_token(spec)
        if not spec.get("imagePullSecrets"):
            inherited = [{"name": s.get("name", "")} for s in account.get("imagePullSecrets") or ()]
            if inherited:
                spec["imagePullSecrets"] = inherited

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.object
        if not _concerns(attributes) or pod is None:
            return
        spec = pod["spec"]
        is_ephemeral = attributes.operation == "UPDATE" and attributes.subresource == "ephemeralcontainers"
        if not is_ephemeral and attributes.operation != "CREATE":
            return
        if _is_mirror(pod):
            _check_mirror(attributes, pod)
            return
        name = spec.get("serviceAccountName")
        if not name:
            place = f"{attributes.namespace}/{pod['metadata'].get('name', '')}"
            raise _refused(attributes, f"no service account specified for pod {place}")
        account = await self._found(attributes, name)
        if (account["metadata"].get("annotations") or {}).get(_ENFORCED) in _TRUE:
            kinds = (("ephemeralContainers", "ephemeral container"),) if is_ephemeral else _CONTAINERS
            _check_references(attributes, account, spec, kinds)

    async def _found(self, attributes: Attributes, name: str) -> Object:
        for left in reversed(range(_TRIES if name == _DEFAULT else 1)):
            entry = await self._account(attributes.namespace, name)
            if entry is not None:
                return _decoded(entry)
            if left:
                await asyncio.sleep(_PAUSE)
        place = f"{attributes.namespace}/{name}"
        raise _refused(attributes, f'error looking up service account {place}: serviceaccount "{name}" not found')


def _decoded(entry: Entry) -> Object:
    """The account, decoded once for all pods; nothing here changes it."""
    if entry.renderings is None:
        entry.renderings = {}
    found = entry.renderings.get("account")
    if found is None:
        found = entry.renderings["account"] = entry.object
    account: Object = found
    return account


def _concerns(attributes: Attributes) -> bool:
    return attributes.resource.group_resource == ("", "pods") and attributes.subresource in ("", "ephemeralcontainers")


def _refused(attributes: Attributes, why: str) -> Forbidden:
    return Forbidden(attributes.resource.group_resource, attributes.name, why)


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
                    raise _refused(attributes, f'{what} secret.secretName="{name}" {tail} secret')
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
