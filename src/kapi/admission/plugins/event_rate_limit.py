"""EventRateLimit: so many events a second, per server, namespace, user, or source and object."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kapi.admission.chain import Hook, validating
from kapi.admission.configuration import ConfigurationError, check_kind
from kapi.admission.refusal import all_of
from kapi.admission.services import Services
from kapi.api.clock import Clock
from kapi.api.errors import TooManyRequests
from kapi.api.fields import FieldError, invalid, not_supported
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_EVENTS = (("", "events"), ("events.k8s.io", "events"))
_DEFAULT_SIZE = 4096


def _source_and_object(attributes: Attributes) -> str:
    event = attributes.object or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    about = event.get("involvedObject") or event.get("regarding") or {}
    fields = ("kind", "namespace", "name", "uid", "apiVersion")
    return "".join([source.get("component", ""), source.get("host", ""), *(about.get(field, "") for field in fields)])


_KEYS: Mapping[str, Callable[[Attributes], str]] = {
    "Namespace": lambda attributes: attributes.namespace,
    "Server": lambda _: "",
    "SourceAndObject": _source_and_object,
    "User": lambda attributes: attributes.call.user.name,
}


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class _Limit:
    """One kind of limit: a bucket of tokens per key, the keys least used forgotten first."""

    def __init__(self, configured: Object, clock: Clock) -> None:
        self.type: str = configured["type"]
        self._rate = float(configured["qps"])
        self._burst = float(configured["burst"])
        self._size = configured.get("cacheSize") or _DEFAULT_SIZE
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def refusal(self, attributes: Attributes) -> str | None:
        key, now = _KEYS[self.type](attributes), self._clock.monotonic()
        bucket = self._buckets.setdefault(key, _Bucket(self._burst, now))
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._size:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.filled) * self._rate)
        bucket.filled = now
        if bucket.tokens < 1:
            return f"limit reached on type {self.type} for key {key}"
        bucket.tokens -= 1
        return None


class EventRateLimit:
    name = "EventRateLimit"

    def __init__(self, configuration: Object, clock: Clock) -> None:
        self._limits = [_Limit(configured, clock) for configured in configuration["limits"]]

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", of=_EVENTS, at=None),)

    def validate(self, attributes: Attributes) -> None:
        if attributes.options.dry_run:
            return
        # Every limit is charged, also when another one is reached.
        refusals = [refusal for limit in self._limits if (refusal := limit.refusal(attributes)) is not None]
        if refusals:
            error = TooManyRequests(f"Too many requests: {all_of(refusals)}", retry_after=0)
            error.details = None
            raise error


def _problems(configuration: Object) -> list[FieldError]:
    limits = configuration.get("limits") or []
    found = [] if limits else [invalid("limits", limits, "must not be empty")]
    for i, limit in enumerate(limits):
        path = f"limits[{i}]"
        if limit.get("type") not in _KEYS:
            found.append(not_supported(f"{path}.type", limit.get("type", ""), list(_KEYS)))
        found += [
            invalid(f"{path}.{field}", limit.get(field, 0), "must be positive")
            for field in ("burst", "qps")
            if (limit.get(field) or 0) <= 0
        ]
        if limit.get("type") != "Server" and (limit.get("cacheSize") or 0) < 0:
            found.append(invalid(f"{path}.cacheSize", limit["cacheSize"], "must not be negative"))
    return found


def build(services: Services, configuration: Object | None) -> EventRateLimit:
    if configuration is None:
        raise ConfigurationError("it needs a configuration that names its limits")
    check_kind(configuration, "Configuration", ("eventratelimit.admission.k8s.io/v1alpha1",))
    problems = _problems(configuration)
    if problems:
        raise ConfigurationError(all_of([str(problem) for problem in problems]))
    return EventRateLimit(configuration, services.clock)
