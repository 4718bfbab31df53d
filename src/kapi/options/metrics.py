"""Metrics flags: which metrics are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Refused, flag
from kapi.options.kinds import STRING, STRING_TO_STRING, STRINGS

_ALL = Refused("every metric is shown with all its labels; there is no filter yet")


@dataclass(kw_only=True, eq=False, repr=False)
class MetricsOptions:
    """The metrics flags, with their defaults."""

    section: ClassVar[str] = "metrics"

    allow_metric_labels: Mapping[str, str] = flag(
        STRING_TO_STRING, "The values that a metric's label may have: metric,label='v1,v2'.", standing=_ALL
    )
    allow_metric_labels_manifest: str = flag(STRING, "A file with what --allow-metric-labels would say.", standing=_ALL)
    disabled_metrics: tuple[str, ...] = flag(STRINGS, "Metrics not to show.", standing=_ALL)
    show_hidden_metrics_for_version: str = flag(
        STRING, "The previous version, to show the metrics that this one hides.", standing=_ALL
    )

    def validate(self) -> list[str]:
        return []
