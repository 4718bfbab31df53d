"""The built-in resources, in the order of their groups."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.coordination import leases
from kapi.resources.core import configmaps, namespaces, secrets, serviceaccounts

RESOURCES: tuple[Resource, ...] = (
    namespaces.RESOURCE,
    configmaps.RESOURCE,
    secrets.RESOURCE,
    serviceaccounts.RESOURCE,
    leases.RESOURCE,
)
