"""Legacy token clean-up: tokens in Secrets, made for accounts and used by nobody, are marked and later deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.authn.service_account import INVALID_SINCE_LABEL, LAST_USED_LABEL
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.work_queue import WorkQueue

# As upstream: a token must not have been used for a year; a year after it was marked it goes.
_UNUSED = timedelta(days=365)
_DAY_SECONDS = 24 * 3600.0
# Nothing urgent: the start has other things to do.
_FIRST_SECONDS = 60.0
_TRACKING = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking"
_TOKEN = "kubernetes.io/service-account-token"
_EVERYTHING = "all"


def start(context: Context) -> list[WorkQueue]:
    async def reconcile(key: str) -> None:
        queue.add_after(key, _DAY_SECONDS)
        await clean_up(context.client, datetime.fromtimestamp(context.clock.now(), UTC))

    queue = WorkQueue(names.LEGACY_TOKENS, reconcile)
    queue.add_after(_EVERYTHING, _FIRST_SECONDS)
    return [queue]


async def clean_up(client: Client, now: datetime) -> None:
    tracked = await _tracked_since(client)
    if tracked is None or now < tracked + _UNUSED:
        return
    before = now - _UNUSED
    mounted: dict[str, set[str]] = {}
    for secret in (await client.list("/api/v1/secrets", fieldSelector=f"type={_TOKEN}"))["items"]:
        if not _is_old(secret, before) or not await _is_generated(client, secret):
            continue
        namespace = secret["metadata"]["namespace"]
        if namespace not in mounted:
            pods = (await client.list(f"/api/v1/namespaces/{namespace}/pods"))["items"]
            mounted[namespace] = {name for pod in pods for name in _secrets_of(pod)}
        if secret["metadata"]["name"] not in mounted[namespace]:
            await _mark_or_delete(client, secret, now, before)


async def _tracked_since(client: Client) -> datetime | None:
    """Since when the use of tokens is noted; the day after, to be sure."""
    try:
        since = ((await client.get(_TRACKING)).get("data") or {}).get("since", "")
    except errors.NotFound:
        return None
    day = _day(since)
    return None if day is None else day + timedelta(days=1)


def _is_old(secret: Object, before: datetime) -> bool:
    metadata = secret["metadata"]
    if metadata.get("deletionTimestamp") or datetime.fromisoformat(metadata["creationTimestamp"]) >= before:
        return False
    last_used = (metadata.get("labels") or {}).get(LAST_USED_LABEL)
    if last_used is None:
        return True
    day = _day(last_used)
    return day is not None and last_used < f"{before:%Y-%m-%d}"


async def _is_generated(client: Client, secret: Object) -> bool:
    """Whether its account lists it: then nobody asked for it in particular."""
    metadata = secret["metadata"]
    annotations = metadata.get("annotations") or {}
    name = annotations.get("kubernetes.io/service-account.name")
    if not name:
        return False
    try:
        account = await client.get(f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{name}")
    except errors.NotFound:
        return False
    uid = annotations.get("kubernetes.io/service-account.uid")
    if uid and uid != account["metadata"]["uid"]:
        return False
    return any(listed.get("name") == metadata["name"] for listed in account.get("secrets") or ())


def _secrets_of(pod: Object) -> Iterator[str]:
    """The names of Secrets that a pod refers to, wherever it does."""
    spec = pod.get("spec") or {}
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            for source in container.get("envFrom") or ():
                yield (source.get("secretRef") or {}).get("name", "")
            for variable in container.get("env") or ():
                yield ((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name", "")
    for volume in spec.get("volumes") or ():
        yield (volume.get("secret") or {}).get("secretName", "")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name", "")
        for told in volume.values():
            if isinstance(told, dict):
                yield (told.get("secretRef") or told.get("nodePublishSecretRef") or {}).get("name", "")


async def _mark_or_delete(client: Client, secret: Object, now: datetime, before: datetime) -> None:
    metadata = secret["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/secrets/{metadata['name']}"
    since = (metadata.get("labels") or {}).get(INVALID_SINCE_LABEL, "")
    try:
        if _day(since) is None:
            labels = {INVALID_SINCE_LABEL: f"{now:%Y-%m-%d}"}
            await client.patch(path, {"metadata": {"uid": metadata["uid"], "labels": labels}})
        elif since < f"{before:%Y-%m-%d}":
            held = {"resourceVersion": metadata["resourceVersion"]}
            await client.delete(path, {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": held})
    except (errors.NotFound, errors.Conflict):
        return


def _day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
