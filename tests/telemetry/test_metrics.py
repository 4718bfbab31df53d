"""Metrics as Prometheus reads them."""

from __future__ import annotations

import re

import pytest

from kapi.telemetry.instruments import Instruments
from kapi.telemetry.metrics import Computed, Registry

SAMPLE = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? [-+0-9.eInf]+')


def test_counters_and_gauges_are_written_with_help_and_type_and_sorted_labels():
    registry = Registry()
    counter = registry.counter("requests_total", "How many.", ("verb", "code"))
    counter.inc(("GET", "200"))
    counter.inc(("GET", "200"), 2)
    counter.inc(("DELETE", "404"))
    gauge = registry.gauge("in_flight", "Now.")
    gauge.inc()
    gauge.inc()
    gauge.dec()
    gauge.set(gauge.values[()] + 0.5)
    assert registry.text().decode() == (
        "# HELP in_flight Now.\n# TYPE in_flight gauge\nin_flight 1.5\n"
        "# HELP requests_total How many.\n# TYPE requests_total counter\n"
        'requests_total{verb="DELETE",code="404"} 1\nrequests_total{verb="GET",code="200"} 3\n'
    )


def test_histogram_buckets_are_cumulative_and_include_their_bound():
    registry = Registry()
    histogram = registry.histogram("seconds", "How long.", (0.1, 1, 10), ("verb",))
    for value in (0.1, 0.5, 1, 99):
        histogram.observe(value, ("GET",))
    assert registry.text().decode().splitlines()[2:] == [
        'seconds_bucket{verb="GET",le="0.1"} 1',
        'seconds_bucket{verb="GET",le="1"} 3',
        'seconds_bucket{verb="GET",le="10"} 3',
        'seconds_bucket{verb="GET",le="+Inf"} 4',
        'seconds_sum{verb="GET"} 100.6',
        'seconds_count{verb="GET"} 4',
    ]


def test_label_values_and_help_are_escaped():
    registry = Registry()
    registry.counter("c", "a\\b\nc", ("path",)).inc(('say "hi"\\\n',))
    assert registry.text() == b'# HELP c a\\\\b\\nc\n# TYPE c counter\nc{path="say \\"hi\\"\\\\\\n"} 1\n'


def test_a_metric_that_saw_nothing_is_not_written():
    registry = Registry()
    registry.counter("c", "nothing")
    assert registry.text() == b""


def test_a_name_is_registered_once():
    registry = Registry()
    registry.counter("c", "one")
    with pytest.raises(ValueError, match="c is registered already"):
        registry.gauge("c", "two")


def test_computed_metrics_are_read_when_scraped():
    registry = Registry()
    values = {"a": 1.0}
    registry.register(Computed("size", "Bytes.", lambda: [((k,), v) for k, v in values.items()], labels=("what",)))
    values["b"] = 2.0
    assert b'size{what="a"} 1\nsize{what="b"} 2\n' in registry.text()


def test_the_wrong_number_of_label_values_is_noticed():
    registry = Registry()
    registry.counter("c", "one label", ("a",)).inc(("x", "y"))
    with pytest.raises(ValueError):
        registry.text()


def test_a_server_tells_of_its_process_and_its_build():
    instruments = Instruments.create({"major": "1", "minor": "37", "gitVersion": "v1.37.0"})
    instruments.requests.total.inc(("GET", "", "", "v1", "pods", "", "resource", "apiserver", "200"))
    lines = instruments.registry.text().decode().splitlines()
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    assert values["process_cpu_seconds_total"] > 0
    assert values["process_resident_memory_bytes"] > 1_000_000
    assert values["process_open_fds"] >= 3
    assert values["process_max_fds"] > values["process_open_fds"]
    assert values["process_start_time_seconds"] > 1_600_000_000
    assert any(k.startswith("kubernetes_build_info{") and 'git_version="v1.37.0"' in k for k in values)
    assert all(SAMPLE.fullmatch(line) for line in lines if not line.startswith("#"))
