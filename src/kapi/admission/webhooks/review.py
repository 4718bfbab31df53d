"""One webhook is asked about one request: the review that is sent, and what its answer is worth."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapi.admission.matching import Match
from kapi.admission.request import admission_request
from kapi.admission.services import Services
from kapi.admission.versions import NotConverted
from kapi.admission.webhooks.registered import Webhook
from kapi.api.duration import format_duration
from kapi.api.errors import APIError, BadRequest, InternalError, Timeout
from kapi.api.fields import go_quote
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.api.uid import new_uid
from kapi.proxy.hook_clients import USER_AGENT, NoClient
from kapi.proxy.reviews import ReviewError, send_review
from kapi.registry.attributes import Attributes
from kapi.telemetry.log import log
from kapi.wire.client import CallError

_GROUP = "admission.k8s.io"
_OUT_OF_TIME = "request did not complete within requested timeout"


class WebhookFailed(Exception):
    """The webhook could not be asked, or answered nonsense: what its failure policy is about."""

    def __init__(self, webhook: Webhook, why: str, code: int = 0) -> None:
        super().__init__(f"failed calling webhook {go_quote(webhook.name)}: {why}")
        self.code = code


class Denied(APIError):
    """What a webhook says no with, in its own words and by its own code."""

    def __init__(self, webhook: Webhook, status: Mapping[str, Any]) -> None:
        by = f"admission webhook {go_quote(webhook.name)} denied the request"
        words = status.get("message") or status.get("reason")
        super().__init__(f"{by}: {words}" if words else f"{by} without explanation", details=status.get("details"))
        self.reason = status.get("reason") or ""
        code = status.get("code")
        self.code = code if isinstance(code, int) and code >= 400 else 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`patch` is as it came, not decoded; empty when there is none."""

    allowed: bool
    status: Object
    warnings: Sequence[str]
    annotations: Mapping[str, str]
    patch: bytes = b""
    patch_type: str = ""


async def ask(webhook: Webhook, attributes: Attributes, match: Match, services: Services) -> Answer:
    """Raises WebhookFailed, and what ends the request whatever the failure policy says."""
    if attributes.options.dry_run and not webhook.harmless_in_dry_run:
        raise BadRequest(f"admission webhook {go_quote(webhook.name)} does not support dry run")
    if not webhook.review_version:
        raise WebhookFailed(webhook, "webhook does not accept known AdmissionReview versions (v1, v1beta1)")
    identity = new_uid()
    review: Object = {
        "kind": "AdmissionReview",
        "apiVersion": f"{_GROUP}/{webhook.review_version}",
        "request": {"uid": identity, **await _request(attributes, match, services)},
    }
    try:
        response = await _send(webhook, attributes, review, services)
    except NoClient as error:
        raise WebhookFailed(webhook, f"could not get REST client: {error}") from None
    except (ReviewError, CallError) as error:
        code = error.code if isinstance(error, ReviewError) else 0
        raise WebhookFailed(webhook, f"failed to call webhook: {error}", code) from None
    if not isinstance(response, dict):
        raise _invalid(webhook, "webhook response was absent")
    if webhook.review_version == "v1" and response.get("uid") != identity:
        given = go_quote(str(response.get("uid") or ""))
        raise _invalid(webhook, f'expected response.uid="{identity}", got {given}')
    return _answer(webhook, response)


async def _request(attributes: Attributes, match: Match, services: Services) -> Object:
    shown = services.versions.shown
    try:
        return {
            **admission_request(attributes, match),
            "object": await shown(attributes, attributes.object, match.kind),
            "oldObject": await shown(attributes, attributes.old_object, match.kind),
        }
    except NotConverted as error:
        raise InternalError(str(error)) from None


async def _send(webhook: Webhook, attributes: Attributes, review: Object, services: Services) -> object:
    timeout: float = webhook.timeout
    deadline = attributes.call.deadline
    if deadline is not None:
        left = deadline - services.clock.monotonic()
        if left <= 0:
            raise Timeout(_OUT_OF_TIME)
        timeout = min(timeout, left)
    hook = services.hooks.of(webhook.client_config)
    # As upstream: the webhook is told in whole seconds, rounded up.
    path = f"{hook.path}?timeout={format_duration(math.ceil(timeout) * 1_000_000_000)}"
    returned = await send_review(hook.client, path, review, timeout=timeout, user_agent=USER_AGENT)
    return returned.get("response")


def _answer(webhook: Webhook, response: Object) -> Answer:
    encoded = response.get("patch") or ""
    try:
        patch = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError, TypeError):
        where = next((i for i, c in enumerate(str(encoded)) if not (c.isalnum() or c in "+/=")), 0)
        raise WebhookFailed(webhook, f"failed to call webhook: illegal base64 data at input byte {where}") from None
    patch_type = response.get("patchType") or ""
    if webhook.review_version == "v1beta1" and patch:
        patch_type = patch_type or "JSONPatch"
    return Answer(
        allowed=response.get("allowed") is True,
        status=response.get("status") or {},
        warnings=[text for text in response.get("warnings") or () if isinstance(text, str)],
        annotations=response.get("auditAnnotations") or {},
        patch=patch,
        patch_type=patch_type,
    )


def _invalid(webhook: Webhook, why: str) -> WebhookFailed:
    return WebhookFailed(webhook, f"received invalid webhook response: {why}")


def refuse_patch(webhook: Webhook, answer: Answer) -> None:
    """A webhook that validates may change nothing."""
    if webhook.review_version != "v1":
        return
    if answer.patch:
        raise _invalid(webhook, "validating webhook may not return response.patch")
    if answer.patch_type:
        raise _invalid(webhook, "validating webhook may not return response.patchType")


def check_patch(webhook: Webhook, answer: Answer) -> None:
    """A patch and its type come together."""
    if answer.patch and not answer.patch_type:
        raise _invalid(webhook, "webhook returned response.patch but not response.patchType")
    if answer.patch_type and not answer.patch and webhook.review_version == "v1":
        raise _invalid(webhook, "webhook returned response.patchType but not response.patch")


def take_note(webhook: Webhook, answer: Answer, attributes: Attributes) -> None:
    """Warnings and annotations count whether the request is allowed or not."""
    for warning in answer.warnings:
        attributes.call.warn(warning)
    for key, value in answer.annotations.items():
        name = f"{webhook.name}/{key}"
        if label_key(name):
            log.warning("audit_annotation_not_taken", webhook=webhook.name, key=key)
        else:
            attributes.call.annotations.setdefault(name, value)
