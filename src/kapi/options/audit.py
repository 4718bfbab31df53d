"""Auditing flags: what is written down about requests, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kapi.options.flag import flag
from kapi.options.kinds import BOOL, DURATION, FLOAT32, INT, STRING

if TYPE_CHECKING:
    from kapi.audit.batching import Batching, Sizes

_MODES = ("batch", "blocking", "blocking-strict")
_FORMATS = ("legacy", "json")
_VERSION = "audit.k8s.io/v1"


@dataclass(kw_only=True, eq=False, repr=False)
class AuditOptions:
    """The auditing flags, with their defaults."""

    section: ClassVar[str] = "auditing"

    audit_log_batch_buffer_size: int = flag(
        INT, "In batch mode: how many events wait before a batch is made.", default=10000
    )
    audit_log_batch_max_size: int = flag(INT, "In batch mode: how many events a batch holds at most.", default=1)
    audit_log_batch_max_wait: float = flag(DURATION, "In batch mode: how long an unfinished batch waits.")
    audit_log_batch_throttle_burst: int = flag(INT, "In batch mode: how many batches may follow at once after a pause.")
    audit_log_batch_throttle_enable: bool = flag(BOOL, "In batch mode: whether batches are throttled.")
    audit_log_batch_throttle_qps: float = flag(FLOAT32, "In batch mode: how many batches are written in a second.")
    audit_log_compress: bool = flag(BOOL, "Whether rotated log files are compressed.")
    audit_log_format: str = flag(STRING, "json or legacy.", default="json")
    audit_log_maxage: int = flag(INT, "For how many days rotated log files are kept. 0: forever.", default=366)
    audit_log_maxbackup: int = flag(INT, "How many rotated log files are kept. 0: all.", default=100)
    audit_log_maxsize: int = flag(INT, "The size in megabytes at which the log file is rotated.", default=100)
    audit_log_mode: str = flag(STRING, "batch, blocking or blocking-strict.", default="blocking")
    audit_log_path: str = flag(STRING, "The file that events are logged to; - is standard output.")
    audit_log_truncate_enabled: bool = flag(BOOL, "Whether large events and batches are truncated.")
    audit_log_truncate_max_batch_size: int = flag(INT, "The largest batch, in bytes.", default=10485760)
    audit_log_truncate_max_event_size: int = flag(INT, "The largest event, in bytes.", default=102400)
    audit_log_version: str = flag(STRING, "The API version of logged events.", default=_VERSION)
    audit_policy_file: str = flag(STRING, "The policy: which requests are audited at which level.")
    audit_webhook_batch_buffer_size: int = flag(
        INT, "In batch mode: how many events wait before a batch is made.", default=10000
    )
    audit_webhook_batch_max_size: int = flag(INT, "In batch mode: how many events a batch holds at most.", default=400)
    audit_webhook_batch_max_wait: float = flag(
        DURATION, "In batch mode: how long an unfinished batch waits.", default=30.0
    )
    audit_webhook_batch_throttle_burst: int = flag(
        INT, "In batch mode: how many batches may follow at once after a pause.", default=15
    )
    audit_webhook_batch_throttle_enable: bool = flag(
        BOOL, "In batch mode: whether batches are throttled.", default=True
    )
    audit_webhook_batch_throttle_qps: float = flag(
        FLOAT32, "In batch mode: how many batches are sent in a second.", default=10.0
    )
    audit_webhook_config_file: str = flag(STRING, "The kubeconfig of the webhook that events are sent to.")
    audit_webhook_initial_backoff: float = flag(
        DURATION,
        "How long to wait before a failed request is tried again.",
        default=10.0,
        also=("audit-webhook-batch-initial-backoff",),
    )
    audit_webhook_mode: str = flag(STRING, "batch, blocking or blocking-strict.", default="batch")
    audit_webhook_truncate_enabled: bool = flag(BOOL, "Whether large events and batches are truncated.")
    audit_webhook_truncate_max_batch_size: int = flag(INT, "The largest batch, in bytes.", default=10485760)
    audit_webhook_truncate_max_event_size: int = flag(INT, "The largest event, in bytes.", default=102400)
    audit_webhook_version: str = flag(STRING, "The API version of sent events.", default=_VERSION)

    def log(self) -> SinkOptions:
        return self._sink("log", concurrent=False)

    def webhook(self) -> SinkOptions:
        return self._sink("webhook", concurrent=True)

    def _sink(self, name: str, *, concurrent: bool) -> SinkOptions:
        from kapi.audit.batching import Batching, Sizes  # only where there is a sink

        def value(flag: str) -> Any:
            return getattr(self, f"audit_{name}_{flag}")

        throttled = value("batch_throttle_enable")
        batching = Batching(
            buffer_size=value("batch_buffer_size"),
            max_size=value("batch_max_size"),
            max_wait=value("batch_max_wait"),
            qps=value("batch_throttle_qps") if throttled else 0.0,
            burst=value("batch_throttle_burst") if throttled else 0,
            concurrent=concurrent,
        )
        sizes = Sizes(max_event=value("truncate_max_event_size"), max_batch=value("truncate_max_batch_size"))
        return SinkOptions(
            name=name,
            mode=value("mode"),
            version=value("version"),
            batching=batching,
            throttled=throttled,
            sizes=sizes,
            truncates=value("truncate_enabled"),
        )

    def validate(self) -> list[str]:
        errors = []
        if self.audit_log_path:
            errors += self.log().problems()
            if self.audit_log_format not in _FORMATS:
                shown = ",".join(_FORMATS)
                errors.append(f'invalid audit log format {self.audit_log_format}, allowed formats are "{shown}"')
            for name in ("maxage", "maxbackup", "maxsize"):
                if (value := getattr(self, f"audit_log_{name}")) < 0:
                    errors.append(f"--audit-log-{name} {value} can't be a negative number")
        if self.audit_webhook_config_file:
            errors += self.webhook().problems()
        return errors


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """What the flags say of one sink; most of them exist for each."""

    name: str
    mode: str
    version: str
    batching: Batching
    throttled: bool
    sizes: Sizes
    truncates: bool

    def problems(self) -> list[str]:
        """As upstream: of a batch's settings only the first that is wrong, and none in other modes."""
        found = [self._mode_problem(), self._size_problem()]
        if self.version != _VERSION:
            found.append('invalid group version, allowed versions are [{"audit.k8s.io" "v1"}]')
        return [problem for problem in found if problem]

    def _mode_problem(self) -> str:
        if self.mode not in _MODES:
            return f'invalid audit {self.name} mode {self.mode}, allowed modes are "{",".join(_MODES)}"'
        if self.mode != "batch":
            return ""
        batching = self.batching
        sizes: list[tuple[str, float]] = [("buffer size", batching.buffer_size), ("max batch size", batching.max_size)]
        if self.throttled:
            sizes += [("throttle QPS", batching.qps), ("throttle burst", batching.burst)]
        wrong = next(((what, size) for what, size in sizes if size <= 0), None)
        if wrong is None:
            return ""
        return f"invalid audit batch {self.name} {wrong[0]} {wrong[1]:g}, must be a positive number"

    def _size_problem(self) -> str:
        event, batch = self.sizes.max_event, self.sizes.max_batch
        if event <= 0:
            return f"invalid audit truncate {self.name} max event size {event}, must be a positive number"
        if batch < event:
            return (
                f"invalid audit truncate {self.name} max batch size {batch}, must be greater than "
                f"max event size ({event})"
            )
        return ""
