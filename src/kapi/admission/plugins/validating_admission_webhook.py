"""ValidatingAdmissionWebhook: all webhooks that a write concerns are asked at once; one refusal refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import perf_counter
from typing import cast

from kapi.admission.chain import Hook, validating
from kapi.admission.matching import Match
from kapi.admission.resources import VALIDATING_WEBHOOKS
from kapi.admission.services import Services
from kapi.admission.webhooks.configured import with_credentials
from kapi.admission.webhooks.registered import Asked, Registered, Webhook
from kapi.admission.webhooks.review import Denied, WebhookFailed, ask, refuse_patch, take_note
from kapi.api.errors import APIError, InternalError
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes
from kapi.telemetry.log import log

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/round_0_index_{}"


class ValidatingAdmissionWebhook:
    name = "ValidatingAdmissionWebhook"

    def __init__(self, services: Services) -> None:
        self._services = services
        self._registered = Registered(services, VALIDATING_WEBHOOKS)

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", "DELETE", "CONNECT", at=None),)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return None if self._registered.asks_nobody(attributes) else self._validate(attributes)

    async def _validate(self, attributes: Attributes) -> None:
        asked = Asked(attributes, self._services)
        concerned: list[tuple[Webhook, Match]] = []
        for webhook in await self._registered.webhooks():
            match = await asked.match(webhook)
            if match is not None:
                concerned.append((webhook, match))
        calls = (self._call(i, webhook, attributes, match) for i, (webhook, match) in enumerate(concerned))
        began, audit = perf_counter(), attributes.call.audit
        # The others are heard out: what they warn of is said, too.
        refusals = [refusal for refusal in await asyncio.gather(*calls) if refusal is not None]
        if concerned and audit is not None:
            audit.spent("validating-webhook", perf_counter() - began)
        if refusals:
            raise refusals[0]

    async def _call(self, index: int, webhook: Webhook, attributes: Attributes, match: Match) -> APIError | None:
        """Why the request is refused, if it is."""
        metrics, operation, began = self._services.webhook_metrics, attributes.operation, perf_counter()
        code, refusal = 200, cast(APIError | None, None)
        try:
            answer = await ask(webhook, attributes, match, self._services)
            take_note(webhook, answer, attributes)
            refuse_patch(webhook, answer)
            if not answer.allowed:
                refusal = Denied(webhook, answer.status)
                code = refusal.code
                metrics.rejected(webhook.name, "validating", operation, "no_error", code)
        except APIError as error:
            refusal = error
        except WebhookFailed as failed:
            code = failed.code or 400
            if webhook.ignores_failures:
                log.warning("webhook_failed_open", webhook=webhook.name, error=str(failed))
                metrics.failed_open(webhook.name, "validating")
                attributes.call.annotations[_FAILED_OPEN.format(index)] = webhook.name
            else:
                refusal = InternalError(str(failed))
                metrics.rejected(webhook.name, "validating", operation, "calling_webhook_error", failed.code)
        metrics.called(webhook.name, "validating", operation, perf_counter() - began, code)
        return refusal


def build(services: Services, configuration: Object | None) -> ValidatingAdmissionWebhook:
    return ValidatingAdmissionWebhook(with_credentials(services, configuration))
