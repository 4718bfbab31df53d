"""The built-in resources, in the order of their groups."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.coordination import leases
from kapi.resources.core import (
    configmaps,
    events,
    limitranges,
    namespaces,
    nodes,
    resourcequotas,
    secrets,
    serviceaccounts,
)
from kapi.resources.events import events as events_v1
from kapi.resources.rbac import clusterrolebindings, clusterroles, rolebindings, roles

RESOURCES: tuple[Resource, ...] = (
    namespaces.RESOURCE,
    configmaps.RESOURCE,
    secrets.RESOURCE,
    serviceaccounts.RESOURCE,
    leases.RESOURCE,
    clusterrolebindings.RESOURCE,
    clusterroles.RESOURCE,
    rolebindings.RESOURCE,
    roles.RESOURCE,
    events.RESOURCE,
    events_v1.RESOURCE,
    limitranges.RESOURCE,
    nodes.RESOURCE,
    resourcequotas.RESOURCE,
)
