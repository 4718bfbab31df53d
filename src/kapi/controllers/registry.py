"""Which controllers there are, and how those that were asked for are run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from kapi.controllers import (
    cluster_roles,
    disruption,
    finished_jobs,
    garbage_collector,
    legacy_tokens,
    names,
    namespaces,
    policy_status,
    resource_quotas,
    root_ca,
    service_accounts,
    volume_protection,
)
from kapi.controllers.context import Context, Start

STARTS: Mapping[str, Start] = {
    names.ATTRIBUTES_CLASS_PROTECTION: volume_protection.start_attributes_classes,
    names.CLAIM_PROTECTION: volume_protection.start_claims,
    names.CLUSTER_ROLES: cluster_roles.start,
    names.DISRUPTION: disruption.start,
    names.FINISHED_JOBS: finished_jobs.start,
    names.GARBAGE_COLLECTOR: garbage_collector.start,
    names.LEGACY_TOKENS: legacy_tokens.start,
    names.NAMESPACE: namespaces.start,
    names.POLICY_STATUS: policy_status.start,
    names.RESOURCE_QUOTA: resource_quotas.start,
    names.ROOT_CA: root_ca.start,
    names.SERVICE_ACCOUNT: service_accounts.start,
    names.VOLUME_PROTECTION: volume_protection.start_volumes,
}


async def run(context: Context, chosen: Iterable[str]) -> None:
    """Until cancelled."""
    queues = [queue for name in chosen for queue in STARTS[name](context)]
    async with asyncio.TaskGroup() as group:
        group.create_task(context.informers.run())
        for queue in queues:
            group.create_task(queue.run())
