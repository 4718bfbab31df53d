"""The webhook authorizer: another server is asked, by a SubjectAccessReview, and its answer is kept for a while."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import orjson

from kapi.api.authorizer import NO_OPINION, Decision, KnownRules, Verdict
from kapi.api.clock import Clock
from kapi.api.expiring import ExpiringCache
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.authz.access_review import in_version, review_spec
from kapi.authz.metrics import AuthorizerMetrics
from kapi.proxy.backoff import AUTH_BACKOFF, Backoff, with_backoff
from kapi.proxy.reviews import ReviewError, send_review
from kapi.telemetry.log import log
from kapi.wire.client import HTTPClient

if TYPE_CHECKING:
    from kapi.authz.match_conditions import MatchConditions

_MOST_KEPT = 8192
_LARGEST_KEPT = 10_000  # bytes of what the requester chooses; who chooses more may be out to fill the cache
_BOTH = "webhook subject access review returned both allow and deny response"
_NO_RULES = KnownRules([], incomplete=True, problem="webhook authorizer does not support user rule resolution")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookConfig:
    """How one webhook is asked. Answers are not kept where their time to live is zero."""

    kubeconfig: str
    version: str = "v1beta1"
    timeout: float = 30.0
    authorized_ttl: float = 300.0
    unauthorized_ttl: float = 30.0
    on_failure: Decision = Decision.NO_OPINION
    match_conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all webhooks of a server have in common."""

    metrics: AuthorizerMetrics
    clock: Clock
    user_agent: bytes
    connect: Callable[[str], HTTPClient]  # by the name of a kubeconfig file
    backoff: Backoff = AUTH_BACKOFF


class Webhook:
    """An Authorizer. Raises KubeconfigError where it is made, PolicyError for conditions that do not compile."""

    def __init__(self, name: str, config: WebhookConfig, surroundings: Surroundings) -> None:
        self._name = name
        self._config = config
        self._around = surroundings
        self._client = surroundings.connect(config.kubeconfig)
        self._kept: ExpiringCache[bytes, Object] = ExpiringCache(_MOST_KEPT, surroundings.clock)
        self._conditions = _conditions(config)

    def close(self) -> None:
        self._client.close()

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        return None

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        spec = review_spec(user, attributes)
        if self._conditions is not None:
            excluded = self._exclusion(self._conditions, spec)
            if excluded is not None:
                return excluded
        key = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
        status = self._kept.get(key)
        if status is None:
            try:
                status = await with_backoff(self._around.backoff, lambda: self._ask(spec))
            except ReviewError as error:
                return self._failed(error)
            if _controlled(attributes) < _LARGEST_KEPT:
                config = self._config
                self._kept.put(key, status, config.authorized_ttl if status["allowed"] else config.unauthorized_ttl)
        return _verdict(status)

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        return _NO_RULES

    def _exclusion(self, conditions: MatchConditions, spec: Object) -> Verdict | None:
        """What is decided when the webhook is not to be asked; None when it is."""
        metrics, labels = self._around.metrics, ("Webhook", self._name)
        began = perf_counter()
        matches, problem = conditions.match(spec)
        metrics.condition_seconds.observe(perf_counter() - began, labels)
        if problem:
            metrics.condition_errors.inc(labels)
            return Verdict(self._config.on_failure, "", problem)
        if matches:
            return None
        metrics.exclusions.inc(labels)
        return NO_OPINION

    async def _ask(self, spec: Object) -> Object:
        """The status of the review as it came back."""
        config, metrics = self._config, self._around.metrics
        result, began = "canceled", perf_counter()
        try:
            review = await send_review(
                self._client,
                "",
                in_version(spec, config.version),
                timeout=config.timeout,
                user_agent=self._around.user_agent,
            )
            status = _status(review)
            result = "success"
            return status
        except ReviewError as error:
            result = _result(error)
            raise
        finally:
            metrics.evaluations.inc((self._name, result))
            metrics.seconds.observe(perf_counter() - began, (self._name, result))

    def _failed(self, error: ReviewError) -> Verdict:
        log.error("authorization_webhook_failed", webhook=self._name, error=str(error))
        if self._config.on_failure is Decision.NO_OPINION:
            self._around.metrics.failed_open.inc((self._name, _result(error)))
        return Verdict(self._config.on_failure, "", str(error))


def _conditions(config: WebhookConfig) -> MatchConditions | None:
    if not config.match_conditions:
        return None
    from kapi.authz.match_conditions import MatchConditions  # CEL is slow to import

    return MatchConditions(config.match_conditions)


def _status(review: Object) -> Object:
    """Only what is looked at, each of its type: ReviewError otherwise."""
    status = review.get("status")
    if not isinstance(status, dict):
        status = {}
    found: Object = {"allowed": False, "denied": False, "reason": ""}
    for field, default in found.items():
        value = status.get(field, default)
        if type(value) is not type(default):
            raise ReviewError(f"json: cannot unmarshal status.{field} into a {type(default).__name__}")
        found[field] = value
    return found


def _verdict(status: Object) -> Verdict:
    reason = status["reason"]
    if status["denied"]:
        return Verdict(Decision.DENY, reason, _BOTH if status["allowed"] else "")
    return Verdict(Decision.ALLOW if status["allowed"] else Decision.NO_OPINION, reason)


def _result(error: ReviewError) -> str:
    return "timeout" if error.code == 504 or str(error).endswith("context deadline exceeded") else "error"


def _controlled(attributes: RequestInfo) -> int:
    a = attributes
    given = (a.namespace, a.verb, a.api_group, a.api_version, a.resource, a.subresource, a.name, a.path)
    return sum(map(len, given))
