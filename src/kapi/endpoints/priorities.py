"""How groups and their versions are ordered in discovery: (of the group, of the version), higher first."""

from __future__ import annotations

from collections.abc import Mapping

from kapi.api.gvk import GroupVersion

PRIORITIES: Mapping[GroupVersion, tuple[int, int]] = {
    GroupVersion("", "v1"): (18000, 1),
    GroupVersion("apps", "v1"): (17800, 15),
    GroupVersion("events.k8s.io", "v1"): (17750, 15),
    GroupVersion("authentication.k8s.io", "v1"): (17700, 15),
    GroupVersion("authorization.k8s.io", "v1"): (17600, 15),
    GroupVersion("autoscaling", "v1"): (17500, 15),
    GroupVersion("autoscaling", "v2"): (17500, 30),
    GroupVersion("batch", "v1"): (17400, 15),
    GroupVersion("certificates.k8s.io", "v1"): (17300, 15),
    GroupVersion("networking.k8s.io", "v1"): (17200, 15),
    GroupVersion("policy", "v1"): (17100, 15),
    GroupVersion("rbac.authorization.k8s.io", "v1"): (17000, 15),
    GroupVersion("storage.k8s.io", "v1"): (16800, 15),
    GroupVersion("admissionregistration.k8s.io", "v1"): (16700, 15),
    GroupVersion("apiextensions.k8s.io", "v1"): (16700, 15),
    GroupVersion("scheduling.k8s.io", "v1"): (16600, 15),
    GroupVersion("coordination.k8s.io", "v1"): (16500, 15),
    GroupVersion("node.k8s.io", "v1"): (16300, 15),
    GroupVersion("discovery.k8s.io", "v1"): (16200, 15),
    GroupVersion("resource.k8s.io", "v1"): (16200, 21),
    GroupVersion("flowcontrol.apiserver.k8s.io", "v1"): (16100, 21),
    GroupVersion("storagemigration.k8s.io", "v1"): (15800, 15),
    # The aggregator's own group comes before all others.
    GroupVersion("apiregistration.k8s.io", "v1"): (20000, 20),
}
