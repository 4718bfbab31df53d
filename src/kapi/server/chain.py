"""The handler chain: every request goes through these filters, in this order, outermost first.

The order is that of upstream's DefaultBuildHandlerChain, and what a filter may rely on is what stands above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kapi.authn.anonymous import InsecureSuperuser
from kapi.authz.basic import AlwaysAllow
from kapi.filters.audit_id import with_audit_id
from kapi.filters.authentication import unauthorized, with_authentication
from kapi.filters.authorization import with_authorization
from kapi.filters.cache_control import with_cache_control
from kapi.filters.cors import with_cors
from kapi.filters.deadline import with_request_deadline
from kapi.filters.goaway import with_goaway
from kapi.filters.handler import CallHandler, Wrap, unchanged
from kapi.filters.hsts import with_hsts
from kapi.filters.http_log import with_http_log
from kapi.filters.impersonation import with_impersonation
from kapi.filters.max_in_flight import with_max_in_flight
from kapi.filters.panic_recovery import with_panic_recovery
from kapi.filters.priority_and_fairness import with_priority_and_fairness
from kapi.filters.receive import receive
from kapi.filters.request_info import with_request_info
from kapi.filters.request_metrics import with_request_metrics
from kapi.filters.retry_after import with_retry_after
from kapi.filters.timeout import Deadlines, with_timeout
from kapi.filters.wait_group import with_wait_group
from kapi.filters.warnings import with_warnings
from kapi.filters.watch_termination import with_watch_termination
from kapi.server.config import GenericConfig
from kapi.server.delegation import with_status_errors
from kapi.wire.messages import Handler


def build_handler_chain(director: CallHandler, config: GenericConfig) -> Handler:
    life, clock = config.lifecycle, config.clock
    log, metrics = config.instruments.log, config.instruments.requests
    authenticator = config.authenticator or InsecureSuperuser()
    authorizer = config.authorizer or AlwaysAllow()
    audited, failure_audited = _audit(config)

    filters: list[Wrap] = [
        with_audit_id,
        lambda next: with_panic_recovery(next, log),
        with_request_info,
        lambda next: with_request_metrics(next, metrics, clock),
        lambda next: with_http_log(next, log, clock),
        *(
            [lambda next: with_retry_after(next, life.not_accepting_requests)]
            if config.shutdown_send_retry_after
            else ()
        ),
        lambda next: with_hsts(next, config.hsts_directives),
        with_cache_control,
        lambda next: with_goaway(next, config.goaway_chance),
        lambda next: with_watch_termination(next, life.watches),
        lambda next: with_wait_group(next, life.requests),
        lambda next: with_request_deadline(next, config.request_timeout, failure_audited),
        lambda next: with_timeout(next, Deadlines(clock)),
        with_warnings,
        lambda next: with_cors(next, config.cors_allowed_origins),
        lambda next: with_authentication(next, authenticator, metrics, log, failure_audited(unauthorized)),
        *audited,
        lambda next: with_impersonation(next, authorizer),
        lambda next: _with_limits(next, config),
        lambda next: with_authorization(next, authorizer, metrics),
        lambda next: with_status_errors(next, config.max_request_body_bytes),
    ]
    handler = director
    for wrap in reversed(filters):
        handler = wrap(handler)
    return receive(handler, clock)


def _with_limits(next: CallHandler, config: GenericConfig) -> CallHandler:
    metrics = config.instruments.requests
    if config.flow_control is not None:
        return with_priority_and_fairness(next, config.flow_control, metrics, config.request_timeout)
    return with_max_in_flight(next, config.max_requests_in_flight, config.max_mutating_requests_in_flight, metrics)


def _audit(config: GenericConfig) -> tuple[Sequence[Wrap], Wrap]:
    """The filter, if there is anything to audit; and what audits refusals that come before it."""
    auditor = config.audit
    if auditor is None:
        return (), unchanged
    from kapi.filters.audit import with_audit, with_failure_audit  # loaded only where there is a policy

    return [lambda next: with_audit(next, auditor)], lambda failed: with_failure_audit(failed, auditor)


def build_insecure_handler_chain(director: CallHandler, config: GenericConfig) -> Handler:
    """The same without asking who it is and whether they may: for the insecure port."""
    return build_handler_chain(director, replace(config, authenticator=None, authorizer=None))
