"""MutatingAdmissionWebhook: webhooks are asked one after another, each about what those before it made of the object.

A webhook that wants to is asked once more when others have changed the object since, as upstream's reinvocation has it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import Any

import orjson

from kapi.admission.chain import Hook, mutating
from kapi.admission.matching import Match
from kapi.admission.resources import MUTATING_WEBHOOKS
from kapi.admission.services import Services
from kapi.admission.webhooks.configured import with_credentials
from kapi.admission.webhooks.patches import apply_patch
from kapi.admission.webhooks.registered import Asked, Registered, Webhook
from kapi.admission.webhooks.review import Denied, WebhookFailed, ask, check_patch, take_note
from kapi.api.errors import APIError, InternalError
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes, Reinvocation
from kapi.telemetry.log import log

_MUTATED = "mutation.webhook.admission.k8s.io/round_{}_index_{}"
_PATCHED = "patch.webhook.admission.k8s.io/round_{}_index_{}"
_FAILED_OPEN = "failed-open.mutation.webhook.admission.k8s.io/round_{}_index_{}"


class _Memory:
    """What one request remembers from the first round to the second."""

    def __init__(self) -> None:
        self.invoked: set[str] = set()  # that want to see what others do from now on
        self.due: set[str] = set()  # of those, who must be asked again
        self.left_behind: bytes = b""

    def changed(self) -> None:
        self.due |= self.invoked
        self.invoked.clear()


class MutatingAdmissionWebhook:
    name = "MutatingAdmissionWebhook"

    def __init__(self, services: Services) -> None:
        self._services = services
        self._registered = Registered(services, MUTATING_WEBHOOKS)

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", "UPDATE", "DELETE", "CONNECT", at=None),)

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        return None if self._registered.asks_nobody(attributes) else self._mutate(attributes)

    async def _mutate(self, attributes: Attributes) -> None:
        if attributes.reinvocation is None:
            attributes.reinvocation = Reinvocation()
        reinvocation = attributes.reinvocation
        memory: _Memory = reinvocation.memory.setdefault(self.name, _Memory())
        second = reinvocation.again
        if second and memory.left_behind != _fingerprint(attributes.object):
            memory.changed()  # by plugins of this server
        for index, webhook in enumerate(await self._registered.webhooks()):
            match = await Asked(attributes, self._services).match(webhook)
            if match is None or (second and webhook.uid not in memory.due):
                continue
            if await self._call((int(second), index), webhook, attributes, match):
                memory.changed()
                reinvocation.wanted = True
            if webhook.reinvoked:
                memory.invoked.add(webhook.uid)
        memory.left_behind = _fingerprint(attributes.object)

    async def _call(self, place: tuple[int, int], webhook: Webhook, attributes: Attributes, match: Match) -> bool:
        """Whether the webhook changed the object. Raises what refuses the request."""
        metrics, operation, began = self._services.webhook_metrics, attributes.operation, perf_counter()
        code, notes = 200, attributes.call.annotations
        named: dict[str, Any] = {"configuration": webhook.configuration, "webhook": webhook.name}
        notes[_MUTATED.format(*place)] = orjson.dumps({**named, "mutated": False}).decode()
        try:
            answer = await ask(webhook, attributes, match, self._services)
            take_note(webhook, answer, attributes)
            check_patch(webhook, answer)
            if not answer.allowed:
                denied = Denied(webhook, answer.status)
                code = denied.code
                metrics.rejected(webhook.name, "admit", operation, "no_error", code)
                raise denied
            changed = await apply_patch(webhook, answer, attributes, match, self._services.versions)
        except WebhookFailed as failed:
            code = failed.code or 400
            if not webhook.ignores_failures:
                metrics.rejected(webhook.name, "admit", operation, "calling_webhook_error", failed.code)
                raise InternalError(str(failed)) from None
            log.warning("webhook_failed_open", webhook=webhook.name, error=str(failed))
            metrics.failed_open(webhook.name, "admit")
            notes[_FAILED_OPEN.format(*place)] = webhook.name
            return False
        except APIError as error:
            code = error.code
            raise
        finally:
            seconds = perf_counter() - began
            metrics.called(webhook.name, "admit", operation, seconds, code)
            if attributes.call.audit is not None:
                attributes.call.audit.spent("mutating-webhook", seconds)
        if not changed:
            return False
        notes[_MUTATED.format(*place)] = orjson.dumps({**named, "mutated": True}).decode()
        audit = attributes.call.audit
        if audit is not None and audit.takes_requests:
            told = {**named, "patch": orjson.loads(answer.patch), "patchType": answer.patch_type}
            notes[_PATCHED.format(*place)] = orjson.dumps(told).decode()
        return True


def _fingerprint(obj: Object | None) -> bytes:
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)


def build(services: Services, configuration: Object | None) -> MutatingAdmissionWebhook:
    return MutatingAdmissionWebhook(with_credentials(services, configuration))
