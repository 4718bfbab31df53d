"""What a webhook's patch does to the object."""

from __future__ import annotations

from kapi.admission.change import change
from kapi.admission.matching import Match
from kapi.admission.versions import Versions
from kapi.admission.webhooks.registered import Webhook
from kapi.admission.webhooks.review import Answer, WebhookFailed
from kapi.api.errors import InternalError
from kapi.api.fields import go_quote
from kapi.codec import json
from kapi.codec.json_syntax import syntax_error
from kapi.patch import json_patch
from kapi.patch.errors import BadPatch, PatchError
from kapi.registry.attributes import Attributes


async def apply_patch(
    webhook: Webhook, answer: Answer, attributes: Attributes, match: Match, versions: Versions
) -> bool:
    """Change the object as the answer says; whether that changed anything. Raises WebhookFailed and APIError."""
    operations = _operations(webhook, answer)
    if not operations:
        return False
    if attributes.object is None:
        raise InternalError(
            f"admission webhook {go_quote(webhook.name)} attempted to modify the object, which is not supported for "
            "this operation"
        )
    if answer.patch_type != "JSONPatch":
        raise WebhookFailed(webhook, f"unsupported patch type {go_quote(answer.patch_type)}")
    try:
        return await change(attributes, match, versions, lambda shown: json_patch.apply(shown, operations))
    except PatchError as error:
        raise InternalError(str(error)) from None


def _operations(webhook: Webhook, answer: Answer) -> list[json_patch.Operation]:
    if not answer.patch:
        return []
    try:
        return json_patch.operations(json.loads(answer.patch))
    except (ValueError, BadPatch) as error:
        problem = syntax_error(answer.patch) or str(error)
        raise WebhookFailed(webhook, f"received undecodable patch in webhook response: {problem}") from None
