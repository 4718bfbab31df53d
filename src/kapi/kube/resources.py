"""The built-in resources, in the order of their groups."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.apps import controllerrevisions, daemonsets, deployments, replicasets, statefulsets
from kapi.resources.autoscaling import horizontalpodautoscalers
from kapi.resources.batch import cronjobs, jobs
from kapi.resources.coordination import leases
from kapi.resources.core import (
    bindings,
    configmaps,
    endpoints,
    events,
    limitranges,
    namespaces,
    nodes,
    persistentvolumeclaims,
    persistentvolumes,
    pods,
    podtemplates,
    replicationcontrollers,
    resourcequotas,
    secrets,
    serviceaccounts,
    services,
)
from kapi.resources.discovery import endpointslices
from kapi.resources.events import events as events_v1
from kapi.resources.networking import ingressclasses, ingresses, ipaddresses, networkpolicies, servicecidrs
from kapi.resources.policy import poddisruptionbudgets
from kapi.resources.rbac import clusterrolebindings, clusterroles, rolebindings, roles
from kapi.resources.storage import (
    csidrivers,
    csinodes,
    csistoragecapacities,
    storageclasses,
    volumeattachments,
    volumeattributesclasses,
)
from kapi.resources.scheduling import priorityclasses
from kapi.resources.node import runtimeclasses
from kapi.resources.flowcontrol import flowschemas
from kapi.resources.flowcontrol import prioritylevelconfigurations
from kapi.resources.certificates import certificatesigningrequests
from kapi.resources.certificates import clustertrustbundles
from kapi.resources.certificates import podcertificaterequests
from kapi.resources.admissionregistration import mutatingadmissionpolicies
from kapi.resources.admissionregistration import mutatingadmissionpolicybindings
from kapi.resources.admissionregistration import mutatingwebhookconfigurations
from kapi.resources.admissionregistration import validatingadmissionpolicies
from kapi.resources.admissionregistration import validatingadmissionpolicybindings
from kapi.resources.admissionregistration import validatingwebhookconfigurations
from kapi.resources.storagemigration import storageversionmigrations
from kapi.resources.core import componentstatuses
from kapi.resources.resource import deviceclasses
from kapi.resources.resource import devicetaintrules
from kapi.resources.resource import resourceclaims
from kapi.resources.resource import resourceclaimtemplates
from kapi.resources.resource import resourceslices

RESOURCES: tuple[Resource, ...] = (
    namespaces.RESOURCE,
    configmaps.RESOURCE,
    secrets.RESOURCE,
    serviceaccounts.RESOURCE,
    bindings.RESOURCE,
    pods.RESOURCE,
    podtemplates.RESOURCE,
    replicationcontrollers.RESOURCE,
    controllerrevisions.RESOURCE,
    daemonsets.RESOURCE,
    deployments.RESOURCE,
    replicasets.RESOURCE,
    statefulsets.RESOURCE,
    horizontalpodautoscalers.RESOURCE_V1,
    horizontalpodautoscalers.RESOURCE,
    cronjobs.RESOURCE,
    jobs.RESOURCE,
    leases.RESOURCE,
    poddisruptionbudgets.RESOURCE,
    clusterrolebindings.RESOURCE,
    clusterroles.RESOURCE,
    rolebindings.RESOURCE,
    roles.RESOURCE,
    events.RESOURCE,
    events_v1.RESOURCE,
    limitranges.RESOURCE,
    nodes.RESOURCE,
    resourcequotas.RESOURCE,
    persistentvolumes.RESOURCE,
    persistentvolumeclaims.RESOURCE,
    endpoints.RESOURCE,
    services.RESOURCE,
    endpointslices.RESOURCE,
    ingressclasses.RESOURCE,
    ingresses.RESOURCE,
    ipaddresses.RESOURCE,
    networkpolicies.RESOURCE,
    servicecidrs.RESOURCE,
    csidrivers.RESOURCE,
    csinodes.RESOURCE,
    csistoragecapacities.RESOURCE,
    storageclasses.RESOURCE,
    volumeattachments.RESOURCE,
    volumeattributesclasses.RESOURCE,
    priorityclasses.RESOURCE,
    runtimeclasses.RESOURCE,
    flowschemas.RESOURCE,
    prioritylevelconfigurations.RESOURCE,
    certificatesigningrequests.RESOURCE,
    clustertrustbundles.RESOURCE,
    podcertificaterequests.RESOURCE,
    mutatingadmissionpolicies.RESOURCE,
    mutatingadmissionpolicybindings.RESOURCE,
    mutatingwebhookconfigurations.RESOURCE,
    validatingadmissionpolicies.RESOURCE,
    validatingadmissionpolicybindings.RESOURCE,
    validatingwebhookconfigurations.RESOURCE,
    storageversionmigrations.RESOURCE,
    componentstatuses.RESOURCE,
    deviceclasses.RESOURCE,
    devicetaintrules.RESOURCE,
    resourceclaims.RESOURCE,
    resourceclaimtemplates.RESOURCE,
    resourceslices.RESOURCE,
)
