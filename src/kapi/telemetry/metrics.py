"""Metrics: counters, gauges and histograms with labels, written as Prometheus text.

A metric is observed with a tuple of label values, in the order its labels were declared; there is no child object to
look up. Observing costs well under a microsecond, because every request does it several times. A `Registry` is made
once and handed down: there is no global one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

Labels: TypeAlias = tuple[str, ...]

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


class Metric(Protocol):
    name: str
    help: str
    kind: str

    def samples(self) -> Iterator[str]:
        """The sample lines, without HELP and TYPE."""


class Counter:
    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help = help
        self.labels = tuple(labels)
        self.values: dict[Labels, float] = {}

    def inc(self, labels: Labels = (), by: float = 1) -> None:
        values = self.values
        values[labels] = values.get(labels, 0) + by

    def samples(self) -> Iterator[str]:
        for labels, value in sorted(self.values.items()):
            yield f"{self.name}{_braces(self.labels, labels)} {_number(value)}"


class Gauge(Counter):
    kind = "gauge"

    def set(self, value: float, labels: Labels = ()) -> None:
        self.values[labels] = value

    def dec(self, labels: Labels = ()) -> None:
        self.inc(labels, -1)


class Computed:
    """A metric whose samples are read when it is scraped: label values and value."""

    def __init__(
        self,
        name: str,
        help: str,
        read: Callable[[], Iterable[tuple[Labels, float]]],
        *,
        labels: Sequence[str] = (),
        kind: str = "gauge",
    ) -> None:
        self.name = name
        self.help = help
        self.kind = kind
        self.labels = tuple(labels)
        self._read = read

    def samples(self) -> Iterator[str]:
        for labels, value in self._read():
            yield f"{self.name}{_braces(self.labels, labels)} {_number(value)}"


class Histogram:
    """Counts per bucket (not cumulative until written), the sum last."""

    kind = "histogram"

    def __init__(self, name: str, help: str, buckets: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help = help
        self.labels = tuple(labels)
        self.buckets = tuple(buckets)
        self.values: dict[Labels, list[float]] = {}

    def observe(self, value: float, labels: Labels = (), times: int = 1) -> None:
        counts = self.values.get(labels)
        if counts is None:
            counts = self.values[labels] = [0] * (len(self.buckets) + 2)
        counts[bisect_left(self.buckets, value)] += times
        counts[-1] += value * times

    def samples(self) -> Iterator[str]:
        names = (*self.labels, "le")
        bounds = [*(_number(b) for b in self.buckets), "+Inf"]
        for labels, counts in sorted(self.values.items()):
            total = 0.0
            for bound, count in zip(bounds, counts, strict=False):
                total += count
                yield f"{self.name}_bucket{_braces(names, (*labels, bound))} {_number(total)}"
            braces = _braces(self.labels, labels)
            yield f"{self.name}_sum{braces} {_number(counts[-1])}"
            yield f"{self.name}_count{braces} {_number(total)}"


class Registry:
    """All metrics of one server."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}
        self._before: list[Callable[[], None]] = []

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> Counter:
        metric = Counter(name, help, labels)
        self.register(metric)
        return metric

    def gauge(self, name: str, help: str, labels: Sequence[str] = ()) -> Gauge:
        metric = Gauge(name, help, labels)
        self.register(metric)
        return metric

    def histogram(self, name: str, help: str, buckets: Sequence[float], labels: Sequence[str] = ()) -> Histogram:
        metric = Histogram(name, help, buckets, labels)
        self.register(metric)
        return metric

    def register(self, metric: Metric) -> None:
        if metric.name in self._metrics:
            raise ValueError(f"metric {metric.name} is registered already")
        self._metrics[metric.name] = metric

    def before_reading(self, callback: Callable[[], None]) -> None:
        """Call this before the metrics are read: what is counted elsewhere can be added then."""
        self._before.append(callback)

    def text(self) -> bytes:
        """Everything, in the Prometheus text format 0.0.4, sorted by name."""
        for callback in self._before:
            callback()
        lines: list[str] = []
        for _, metric in sorted(self._metrics.items()):
            samples = list(metric.samples())
            if samples:
                lines.append(f"# HELP {metric.name} {_escape_help(metric.help)}")
                lines.append(f"# TYPE {metric.name} {metric.kind}")
                lines.extend(samples)
        lines.append("")
        return "\n".join(lines).encode()


def _braces(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    return "{" + ",".join(f'{n}="{_escape_value(v)}"' for n, v in zip(names, values, strict=True)) + "}"


def _escape_value(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
