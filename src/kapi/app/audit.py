"""From the auditing flags to an auditor, with its policy and the sinks of its events."""

from __future__ import annotations

from pathlib import Path

from kapi.api.clock import Clock
from kapi.audit.auditor import Auditor
from kapi.audit.log_file import LogFile, Rotation, StandardOutput, Writer
from kapi.audit.policy_file import load_policy
from kapi.audit.sink import Failures, Forgiving, Sink, Union
from kapi.options.audit import AuditOptions, SinkOptions
from kapi.telemetry.instruments import Instruments


class AuditError(Exception):
    """Auditing cannot be set up as the flags ask for; the message says why."""


def build_auditor(options: AuditOptions, clock: Clock, instruments: Instruments) -> Auditor | None:
    """None where nothing would be written down. Raises AuditError, PolicyError and KubeconfigError."""
    writer = _writer(options)
    if not options.audit_policy_file:
        instruments.log.debug(2, "No audit policy file provided, no events will be recorded")
        return None
    policy = load_policy(options.audit_policy_file, instruments.log)
    failures = Failures(instruments.audit, instruments.log)
    sinks: list[Sink] = []
    if writer is not None:
        sinks.append(_log(options, writer, failures))
    if options.audit_webhook_config_file:
        sinks.append(_webhook(options, failures))
    if not sinks:
        return None
    sink = sinks[0] if len(sinks) == 1 else Union(sinks)
    return Auditor(policy, sink, instruments.audit, clock)


def _writer(options: AuditOptions) -> Writer | None:
    if not options.audit_log_path:
        return None
    if options.audit_log_path == "-":
        return StandardOutput()
    rotation = Rotation(
        max_size=options.audit_log_maxsize,
        max_age=options.audit_log_maxage,
        max_backups=options.audit_log_maxbackup,
        compress=options.audit_log_compress,
    )
    file = LogFile(Path(options.audit_log_path), rotation)
    try:
        file.ensure()
    except OSError as error:
        why = f"{error.filename}: {(error.strerror or str(error)).lower()}"
        raise AuditError(f"ensureLogFile: open {why}") from None
    return file


def _log(options: AuditOptions, writer: Writer, failures: Failures) -> Sink:
    from kapi.audit.log_sink import LogSink  # each sink is loaded only where it is asked for

    settings = options.log()
    legacy = options.audit_log_format == "legacy"
    sink = LogSink(writer, failures, legacy=legacy, threaded=settings.mode == "batch")
    return _wrapped(sink, settings, failures)


def _webhook(options: AuditOptions, failures: Failures) -> Sink:
    from kapi.audit.webhook import Webhook
    from kapi.proxy.kubeconfig import KubeconfigError, load_server

    try:
        server = load_server(Path(options.audit_webhook_config_file))
    except KubeconfigError as error:
        raise AuditError(f"initializing audit webhook: {error}") from None
    sink = Webhook(server, options.audit_webhook_initial_backoff, failures)
    return _wrapped(sink, options.webhook(), failures)


def _wrapped(sink: Sink, settings: SinkOptions, failures: Failures) -> Sink:
    """In its mode; truncation comes before everything else."""
    if settings.mode == "batch":
        from kapi.audit.buffered import Buffered

        sink = Buffered(sink, settings.batching, failures)
    elif settings.mode == "blocking":
        sink = Forgiving(sink)
    if not settings.truncates:
        return sink
    from kapi.audit.truncate import Truncating

    return Truncating(sink, settings.sizes, failures)
