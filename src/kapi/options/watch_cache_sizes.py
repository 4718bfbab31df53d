"""Watch cache sizes, estimated from the memory that the server may count on."""

from __future__ import annotations

from kapi.api.gvk import GroupResource

_MB_PER_NODE = 60  # As upstream: 120 GB were recommended for 2,000 nodes.

# For each: how many per node of the estimated cluster, and the least.
_ESTIMATES = {
    GroupResource("", "replicationcontrollers"): (5, 100),
    GroupResource("", "endpoints"): (10, 1000),
    GroupResource("", "nodes"): (5, 1000),
    GroupResource("", "pods"): (50, 1000),
    GroupResource("", "services"): (5, 1000),
    GroupResource("apiregistration.k8s.io", "apiservices"): (5, 1000),
    GroupResource("coordination.k8s.io", "leases"): (5, 1000),
}


def heuristic_watch_cache_sizes(target_ram_mb: int) -> dict[GroupResource, int]:
    """Sizes of the resources that differ. Events are not cached; without a target, nothing else is said."""
    sizes = {GroupResource("", "events"): 0, GroupResource("events.k8s.io", "events"): 0}
    if target_ram_mb > 0:
        nodes = target_ram_mb // _MB_PER_NODE
        sizes |= {resource: max(per_node * nodes, least) for resource, (per_node, least) in _ESTIMATES.items()}
    return sizes
