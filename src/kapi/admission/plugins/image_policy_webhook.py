"""ImagePolicyWebhook: a webhook of its own judges the images of every pod."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import orjson

from kapi.admission.chain import Hook, validating
from kapi.admission.configuration import ConfigurationError
from kapi.admission.refusal import forbidden
from kapi.admission.resources import PODS
from kapi.admission.services import Services
from kapi.api.clock import Clock
from kapi.api.duration import format_duration
from kapi.api.expiring import ExpiringCache
from kapi.api.objects import Object
from kapi.proxy.backoff import AUTH_BACKOFF, with_backoff
from kapi.proxy.hook_clients import USER_AGENT
from kapi.proxy.kubeconfig import KubeconfigError, load_server
from kapi.proxy.reviews import ReviewError, send_review
from kapi.registry.attributes import Attributes
from kapi.wire.client import HTTPClient

_PREFIX = "imagepolicywebhook.image-policy.k8s.io/"
_EPHEMERAL = "ephemeralcontainers"
_TIMEOUT, _CACHED = 30.0, 1024
_SECOND, _MILLISECOND = 1_000_000_000, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    kube_config: Path
    allow_ttl: float
    deny_ttl: float
    backoff: float
    default_allow: bool

    @classmethod
    def of(cls, configuration: Object | None) -> Settings:
        """Raises ConfigurationError."""
        policy = (configuration or {}).get("imagePolicy")
        if not isinstance(policy, dict):
            raise ConfigurationError("no config specified")
        return cls(
            kube_config=Path(str(policy.get("kubeConfigFile") or "")),
            allow_ttl=_within(policy.get("allowTTL"), _SECOND, 300, (1, 1800)),
            deny_ttl=_within(policy.get("denyTTL"), _SECOND, 30, (1, 1800)),
            backoff=_within(policy.get("retryBackoff"), _MILLISECOND, 500, (1, 300_000)),
            default_allow=bool(policy.get("defaultAllow")),
        )


def _within(given: object, unit: int, default: int, limits: tuple[int, int]) -> float:
    """In seconds. Zero asks for the default, and less for none."""
    value = given if isinstance(given, int) else 0
    if value < 0:
        return 0.0
    value = value or default
    if not limits[0] <= value <= limits[1]:
        low, high, shown = (format_duration(n * unit) for n in (*limits, value))
        raise ConfigurationError(f"valid value is between {low} and {high}, got {shown}")
    return value * unit / _SECOND


class ImagePolicyWebhook:
    name = "ImagePolicyWebhook"

    def __init__(self, settings: Settings, client: HTTPClient, clock: Clock) -> None:
        self._settings = settings
        self._client = client
        self._backoff = replace(AUTH_BACKOFF, seconds=settings.backoff)
        self._known: ExpiringCache[bytes, Object] = ExpiringCache(_CACHED, clock)  # by what was asked

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", of=[PODS], at=("", _EPHEMERAL)),)

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.object or {}
        fields = ("ephemeralContainers",) if attributes.subresource else ("initContainers", "containers")
        containers = [c for field in fields for c in pod["spec"].get(field) or ()]
        spec: Object = {"containers": [{"image": c.get("image", "")} for c in containers]}
        annotations = {k: v for k, v in (pod["metadata"].get("annotations") or {}).items() if _is_meant(k)}
        if annotations:
            spec["annotations"] = annotations
        spec["namespace"] = attributes.namespace
        try:
            status = await self._judged(spec)
        except ReviewError as error:
            if not self._settings.default_allow:
                raise forbidden(attributes, str(error)) from None
            attributes.call.annotations[f"{_PREFIX}failed-open"] = "true"
            return
        for key, value in (status.get("auditAnnotations") or {}).items():
            attributes.call.annotations[_PREFIX + key] = value
        if not status.get("allowed"):
            reason = status.get("reason")
            told = f"image policy webhook backend denied one or more images: {reason}" if reason else ""
            raise forbidden(attributes, told or "one or more images rejected by webhook backend")

    async def _judged(self, spec: Object) -> Object:
        key = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        known = self._known.get(key)
        if known is not None:
            return known
        status = await with_backoff(self._backoff, lambda: self._ask(spec))
        settings = self._settings
        self._known.put(key, status, settings.allow_ttl if status.get("allowed") else settings.deny_ttl)
        return status

    async def _ask(self, spec: Object) -> Object:
        review: Object = {"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview", "spec": spec}
        returned = await send_review(self._client, "", review, timeout=_TIMEOUT, user_agent=USER_AGENT)
        status: Object = returned.get("status") or {}
        return status


def _is_meant(annotation: str) -> bool:
    return ".image-policy.k8s.io/" in annotation


def build(services: Services, configuration: Object | None) -> ImagePolicyWebhook:
    settings = Settings.of(configuration)
    try:
        server = load_server(settings.kube_config)
    except KubeconfigError as error:
        raise ConfigurationError(str(error)) from None
    return ImagePolicyWebhook(settings, HTTPClient(server), services.clock)
