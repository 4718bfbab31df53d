"""The webhooks that are registered now, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kapi.admission.followed import Followed
from kapi.admission.matching import WEBHOOK_EXEMPT, Match, Matcher, namespace_labels
from kapi.admission.questions import Questions
from kapi.admission.refusal import forbidden
from kapi.admission.request import admission_request
from kapi.admission.services import Services
from kapi.admission.versions import NotConverted
from kapi.api.errors import InternalError
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

if TYPE_CHECKING:
    from kapi.admission.match_conditions import MatchConditions

_KNOWN_REVIEWS = ("v1", "v1beta1")


class Webhook:
    """One webhook of a configuration."""

    def __init__(self, configuration: str, index: int, spec: Object, services: Services) -> None:
        self.configuration = configuration
        self.name: str = spec["name"]
        self.uid = f"{configuration}/{self.name}/{index}"
        self.client_config: Object = spec["clientConfig"]
        self.timeout: int = spec.get("timeoutSeconds") or 10
        self.ignores_failures = spec.get("failurePolicy") == "Ignore"
        self.harmless_in_dry_run = spec.get("sideEffects") in ("None", "NoneOnDryRun")
        self.reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        versions = spec.get("admissionReviewVersions") or ()
        self.review_version = next((version for version in versions if version in _KNOWN_REVIEWS), "")
        self.matcher = Matcher(
            rules=spec.get("rules") or (),
            namespace_selector=spec.get("namespaceSelector"),
            object_selector=spec.get("objectSelector"),
            match_policy=spec.get("matchPolicy") or "Equivalent",
            equivalents=services.versions.equivalents,
        )
        self._conditions: list[Object] = spec.get("matchConditions") or []
        self._compiled: MatchConditions | None = None

    @property
    def conditions(self) -> MatchConditions | None:
        if not self._conditions:
            return None
        if self._compiled is None:
            from kapi.admission.match_conditions import MatchConditions  # CEL loads slowly, and few need it

            self._compiled = MatchConditions(self._conditions, ignore_errors=self.ignores_failures)
        return self._compiled


class Registered:
    """The webhooks of all configurations of one resource, by the names of the configurations."""

    def __init__(self, services: Services, resource: GroupResource) -> None:
        self._services = services
        self._followed = Followed(services.lookup, resource)
        self._webhooks: tuple[Webhook, ...] = ()

    def asks_nobody(self, attributes: Attributes) -> bool:
        """The usual case, told without waiting."""
        idle = not self._webhooks and not self._followed.stale
        return idle or attributes.resource.group_resource in WEBHOOK_EXEMPT

    async def webhooks(self) -> tuple[Webhook, ...]:
        if self._followed.stale:
            if not self._followed.loaded:
                await self._followed.load()
            (entries,) = self._followed.take()
            self._webhooks = tuple(
                Webhook(configuration["metadata"]["name"], index, spec, self._services)
                for configuration in (entry.object for entry in entries)
                for index, spec in enumerate(configuration.get("webhooks") or ())
            )
        return self._webhooks


class Asked:
    """One request, as it is matched against webhooks: what is looked up for it is looked up once."""

    def __init__(self, attributes: Attributes, services: Services) -> None:
        self.attributes = attributes
        self.services = services
        self._labels: Mapping[str, str] | None = None
        self._has_labels = False

    async def match(self, webhook: Webhook) -> Match | None:
        """As what the webhook is to see the request; None when it is not to. Raises Forbidden, NotFound."""
        matcher, attributes = webhook.matcher, self.attributes
        if matcher.rules_match(attributes) is None:
            return None
        if matcher.selects_namespaces and not self._has_labels:
            self._labels = await namespace_labels(attributes, self.services.lookup)
            self._has_labels = True
        match = matcher.matches(attributes, self._labels)
        if match is None or webhook.conditions is None:
            return match
        return match if await self._conditions_hold(webhook.conditions, match) else None

    async def _conditions_hold(self, conditions: MatchConditions, match: Match) -> bool:
        from kapi.admission.evaluation import Evaluation, asked
        from kapi.admission.match_conditions import ConditionsFailed

        attributes, versions = self.attributes, self.services.versions
        questions = Questions(self.services.authorizer, attributes.call.user)
        try:
            seen = {
                "object": await versions.shown(attributes, attributes.object, match.kind),
                "oldObject": await versions.shown(attributes, attributes.old_object, match.kind),
                "request": admission_request(attributes, match),
                **asked(attributes, questions),
            }
            return await questions.settle(lambda patience: conditions.match(Evaluation(seen, patience)))
        except ConditionsFailed as failed:
            raise forbidden(attributes, str(failed)) from None
        except NotConverted as failed:
            raise InternalError(str(failed)) from None
