"""Auditing flags: what is written down about requests. The mechanism is still to come, so all are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Refused, flag
from kapi.options.kinds import BOOL, DURATION, FLOAT32, INT, STRING

_NO_AUDIT = Refused("no audit events are written yet")
_VERSION = "audit.k8s.io/v1"


@dataclass(kw_only=True, eq=False, repr=False)
class AuditOptions:
    """The auditing flags, with their defaults."""

    section: ClassVar[str] = "auditing"

    audit_log_batch_buffer_size: int = flag(
        INT, "In batch mode: how many events wait before a batch is made.", default=10000, standing=_NO_AUDIT
    )
    audit_log_batch_max_size: int = flag(
        INT, "In batch mode: how many events a batch holds at most.", default=1, standing=_NO_AUDIT
    )
    audit_log_batch_max_wait: float = flag(
        DURATION, "In batch mode: how long an unfinished batch waits.", standing=_NO_AUDIT
    )
    audit_log_batch_throttle_burst: int = flag(
        INT, "In batch mode: how many batches may follow at once after a pause.", standing=_NO_AUDIT
    )
    audit_log_batch_throttle_enable: bool = flag(
        BOOL, "In batch mode: whether batches are throttled.", standing=_NO_AUDIT
    )
    audit_log_batch_throttle_qps: float = flag(
        FLOAT32, "In batch mode: how many batches are written in a second.", standing=_NO_AUDIT
    )
    audit_log_compress: bool = flag(BOOL, "Whether rotated log files are compressed.", standing=_NO_AUDIT)
    audit_log_format: str = flag(STRING, "json or legacy.", default="json", standing=_NO_AUDIT)
    audit_log_maxage: int = flag(
        INT, "For how many days rotated log files are kept. 0: forever.", default=366, standing=_NO_AUDIT
    )
    audit_log_maxbackup: int = flag(
        INT, "How many rotated log files are kept. 0: all.", default=100, standing=_NO_AUDIT
    )
    audit_log_maxsize: int = flag(
        INT, "The size in megabytes at which the log file is rotated.", default=100, standing=_NO_AUDIT
    )
    audit_log_mode: str = flag(STRING, "batch, blocking or blocking-strict.", default="blocking", standing=_NO_AUDIT)
    audit_log_path: str = flag(STRING, "The file that events are logged to; - is standard output.", standing=_NO_AUDIT)
    audit_log_truncate_enabled: bool = flag(BOOL, "Whether large events and batches are truncated.", standing=_NO_AUDIT)
    audit_log_truncate_max_batch_size: int = flag(
        INT, "The largest batch, in bytes.", default=10485760, standing=_NO_AUDIT
    )
    audit_log_truncate_max_event_size: int = flag(
        INT, "The largest event, in bytes.", default=102400, standing=_NO_AUDIT
    )
    audit_log_version: str = flag(STRING, "The API version of logged events.", default=_VERSION, standing=_NO_AUDIT)
    audit_policy_file: str = flag(STRING, "The policy: which requests are audited at which level.", standing=_NO_AUDIT)
    audit_webhook_batch_buffer_size: int = flag(
        INT, "In batch mode: how many events wait before a batch is made.", default=10000, standing=_NO_AUDIT
    )
    audit_webhook_batch_max_size: int = flag(
        INT, "In batch mode: how many events a batch holds at most.", default=400, standing=_NO_AUDIT
    )
    audit_webhook_batch_max_wait: float = flag(
        DURATION, "In batch mode: how long an unfinished batch waits.", default=30.0, standing=_NO_AUDIT
    )
    audit_webhook_batch_throttle_burst: int = flag(
        INT, "In batch mode: how many batches may follow at once after a pause.", default=15, standing=_NO_AUDIT
    )
    audit_webhook_batch_throttle_enable: bool = flag(
        BOOL, "In batch mode: whether batches are throttled.", default=True, standing=_NO_AUDIT
    )
    audit_webhook_batch_throttle_qps: float = flag(
        FLOAT32, "In batch mode: how many batches are sent in a second.", default=10.0, standing=_NO_AUDIT
    )
    audit_webhook_config_file: str = flag(
        STRING, "The kubeconfig of the webhook that events are sent to.", standing=_NO_AUDIT
    )
    audit_webhook_initial_backoff: float = flag(
        DURATION, "How long to wait before a failed request is tried again.", default=10.0, standing=_NO_AUDIT
    )
    audit_webhook_mode: str = flag(STRING, "batch, blocking or blocking-strict.", default="batch", standing=_NO_AUDIT)
    audit_webhook_truncate_enabled: bool = flag(
        BOOL, "Whether large events and batches are truncated.", standing=_NO_AUDIT
    )
    audit_webhook_truncate_max_batch_size: int = flag(
        INT, "The largest batch, in bytes.", default=10485760, standing=_NO_AUDIT
    )
    audit_webhook_truncate_max_event_size: int = flag(
        INT, "The largest event, in bytes.", default=102400, standing=_NO_AUDIT
    )
    audit_webhook_version: str = flag(STRING, "The API version of sent events.", default=_VERSION, standing=_NO_AUDIT)

    def validate(self) -> list[str]:
        return []
