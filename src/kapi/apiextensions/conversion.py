"""How objects of one version become objects of another: by a webhook, or by a function of this process.

What a conversion answers is not taken on trust: it may change labels and annotations of the metadata and nothing else
in it, and what it was given must come back in the same order, of the kind and in the version asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import orjson

from kapi.api.fields import go_quote
from kapi.api.names import label_key, label_value
from kapi.api.objects import Object
from kapi.api.uid import new_uid
from kapi.apiextensions.definition import Definition
from kapi.proxy.hook_clients import USER_AGENT, HookClients
from kapi.proxy.reviews import ReviewError, send_review
from kapi.wire.client import CallError

TIMEOUT = 30.0
_GROUP = "apiextensions.k8s.io"
_KNOWN_VERSIONS = ("v1", "v1beta1")
_KEPT = ("name", "namespace", "uid")

# Takes an object and the apiVersion it is wanted in, and returns it in that version.
Function: TypeAlias = Callable[[Object, str], Object]
# The function registered for a definition, by the definition's name.
Functions: TypeAlias = Callable[[str], Function | None]


class ConversionFailed(Exception):
    """Nothing was converted; the message is upstream's."""


class Converter(Protocol):
    async def __call__(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        """Each object in that version. Raises ConversionFailed."""


class ByWebhook:
    def __init__(self, webhook: Object, clients: HookClients) -> None:
        self._config: Object = webhook.get("clientConfig") or {}
        versions = webhook.get("conversionReviewVersions") or ()
        self._version = next((version for version in versions if version in _KNOWN_VERSIONS), "v1")
        self._clients = clients

    async def __call__(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        if not objects:
            return []
        subject = f"conversion webhook for {objects[0]['apiVersion']}, Kind={objects[0]['kind']}"
        try:
            converted = await self._ask(objects, api_version)
        except (ReviewError, CallError) as error:
            raise ConversionFailed(f"{subject} failed: {error}") from None
        if len(converted) != len(objects):
            raise ConversionFailed(f"{subject} returned {len(converted)} objects, expected {len(objects)}")
        for index, (before, after) in enumerate(zip(objects, converted, strict=True)):
            problem = _problem(before, after, api_version)
            if problem:
                raise ConversionFailed(f"{subject} returned invalid converted object at index {index}: {problem}")
        return [_with_own_metadata(before, after, subject) for before, after in zip(objects, converted, strict=True)]

    async def _ask(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        identity = new_uid()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"{_GROUP}/{self._version}",
            "request": {"uid": identity, "desiredAPIVersion": api_version, "objects": list(objects)},
        }
        hook = self._clients.of(self._config)
        path = f"{hook.path}?timeout=30s"
        returned = await send_review(hook.client, path, review, timeout=TIMEOUT, user_agent=USER_AGENT)
        response = returned.get("response")
        if not isinstance(response, dict):
            raise ReviewError("no response provided")
        if response.get("uid") != identity:
            raise ReviewError(f'expected response.uid="{identity}", got {go_quote(str(response.get("uid") or ""))}')
        result = response.get("result") or {}
        if result.get("status") != "Success":
            status = result.get("status") or ""
            raise ReviewError(result.get("message") or f"response.result.status was '{status}', not 'Success'")
        return response.get("convertedObjects") or []


class ByFunction:
    def __init__(self, name: str, function: Function) -> None:
        self._subject = f"conversion function for {name}"
        self._function = function

    async def __call__(self, objects: Sequence[Object], api_version: str) -> list[Object]:
        converted = []
        for before in objects:
            # It may work in place: what it is given is its own.
            after = self._function(orjson.loads(orjson.dumps(before)), api_version)
            if isinstance(after, dict):
                after.setdefault("kind", before["kind"])
                after["apiVersion"] = api_version
            problem = _problem(before, after, api_version)
            if problem:
                raise ConversionFailed(f"{self._subject} returned an invalid object: {problem}")
            converted.append(_with_own_metadata(before, after, self._subject))
        return converted


class Conversions:
    """Which definitions need more than another name for their versions, and what does it for them."""

    def __init__(self, clients: HookClients, functions: Functions) -> None:
        self._clients = clients
        self._functions = functions

    def of(self, definition: Definition) -> Converter | None:
        """A function registered for the definition stands in for whatever it asks for."""
        function = self._functions(definition.name) if len(definition.versions) > 1 else None
        if function is not None:
            return ByFunction(definition.name, function)
        return ByWebhook(definition.webhook, self._clients) if definition.by_webhook else None


def _problem(before: Object, after: object, api_version: str) -> str:
    if not isinstance(after, dict):
        return f"unexpected type {type(after).__name__}"
    if after.get("apiVersion") != api_version:
        return f"invalid groupVersion (expected {api_version}, received {after.get('apiVersion') or ''})"
    if after.get("kind") != before["kind"]:
        return f"invalid kind (expected {before['kind']}, received {after.get('kind') or ''})"
    metadata = after.get("metadata")
    if not isinstance(metadata, dict):
        return "missing metadata in converted object"
    own = before["metadata"]
    for field in _KEPT:
        if (metadata.get(field) or "") != (own.get(field) or ""):
            named = "UID" if field == "uid" else field
            return f"must have the same {named}: {own.get(field) or ''} != {metadata.get(field) or ''}"
    return ""


def _with_own_metadata(before: Object, after: Object, subject: str) -> Object:
    """As upstream: a conversion has a say in labels and annotations only."""
    metadata = dict(before["metadata"])
    for field in ("labels", "annotations"):
        given = after["metadata"].get(field)
        problem = _malformed(field, given)
        if problem:
            raise ConversionFailed(f"{subject} returned invalid metadata: {problem}")
        metadata.pop(field, None)
        if given:
            metadata[field] = given
    return {**after, "metadata": metadata}


def _malformed(field: str, given: object) -> str:
    if given is None:
        return ""
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        return f"invalid metadata.{field} in converted object: must be a map of strings to strings"
    for key, value in given.items():
        problems = label_key(key) + (label_value(value) if field == "labels" else [])
        if problems:
            return f"invalid metadata.{field} in converted object: {go_quote(key)}: {problems[0]}"
    return ""
