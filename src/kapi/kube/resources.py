"""The built-in resources, in the order of their groups."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.admissionregistration import (
    mutatingadmissionpolicies,
    mutatingadmissionpolicybindings,
    mutatingwebhookconfigurations,
    validatingadmissionpolicies,
    validatingadmissionpolicybindings,
    validatingwebhookconfigurations,
)
from kapi.resources.apps import controllerrevisions, daemonsets, deployments, replicasets, statefulsets
from kapi.resources.autoscaling import horizontalpodautoscalers
from kapi.resources.batch import cronjobs, jobs
from kapi.resources.certificates import certificatesigningrequests, clustertrustbundles, podcertificaterequests
from kapi.resources.coordination import leases
from kapi.resources.core import (
    bindings,
    componentstatuses,
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
from kapi.resources.flowcontrol import flowschemas, prioritylevelconfigurations
from kapi.resources.networking import ingressclasses, ingresses, ipaddresses, networkpolicies, servicecidrs
from kapi.resources.node import runtimeclasses
from kapi.resources.policy import poddisruptionbudgets
from kapi.resources.rbac import clusterrolebindings, clusterroles, rolebindings, roles
from kapi.resources.resource import (
    deviceclasses,
    devicetaintrules,
    resourceclaims,
    resourceclaimtemplates,
    resourceslices,
)
from kapi.resources.scheduling import priorityclasses
from kapi.resources.storage import (
    csidrivers,
    csinodes,
    csistoragecapacities,
    storageclasses,
    volumeattachments,
    volumeattributesclasses,
)
from kapi.resources.storagemigration import storageversionmigrations

RESOURCES: tuple[Resource, ...] = (
    bindings.RESOURCE,
    componentstatuses.RESOURCE,
    configmaps.RESOURCE,
    endpoints.RESOURCE,
    events.RESOURCE,
    limitranges.RESOURCE,
    namespaces.RESOURCE,
    nodes.RESOURCE,
    persistentvolumeclaims.RESOURCE,
    persistentvolumes.RESOURCE,
    pods.RESOURCE,
    podtemplates.RESOURCE,
    replicationcontrollers.RESOURCE,
    resourcequotas.RESOURCE,
    secrets.RESOURCE,
    serviceaccounts.RESOURCE,
    services.RESOURCE,
    mutatingadmissionpolicies.RESOURCE,
    mutatingadmissionpolicybindings.RESOURCE,
    mutatingwebhookconfigurations.RESOURCE,
    validatingadmissionpolicies.RESOURCE,
    validatingadmissionpolicybindings.RESOURCE,
    validatingwebhookconfigurations.RESOURCE,
    controllerrevisions.RESOURCE,
    daemonsets.RESOURCE,
    deployments.RESOURCE,
    replicasets.RESOURCE,
    statefulsets.RESOURCE,
    horizontalpodautoscalers.RESOURCE_V1,
    horizontalpodautoscalers.RESOURCE,
    cronjobs.RESOURCE,
    jobs.RESOURCE,
    certificatesigningrequests.RESOURCE,
    clustertrustbundles.RESOURCE,
    podcertificaterequests.RESOURCE,
    leases.RESOURCE,
    endpointslices.RESOURCE,
    events_v1.RESOURCE,
    flowschemas.RESOURCE,
    prioritylevelconfigurations.RESOURCE,
    ingressclasses.RESOURCE,
    ingresses.RESOURCE,
    ipaddresses.RESOURCE,
    networkpolicies.RESOURCE,
    servicecidrs.RESOURCE,
    runtimeclasses.RESOURCE,
    poddisruptionbudgets.RESOURCE,
    clusterrolebindings.RESOURCE,
    clusterroles.RESOURCE,
    rolebindings.RESOURCE,
    roles.RESOURCE,
    deviceclasses.RESOURCE,
    devicetaintrules.RESOURCE,
    resourceclaims.RESOURCE,
    resourceclaimtemplates.RESOURCE,
    resourceslices.RESOURCE,
    priorityclasses.RESOURCE,
    csidrivers.RESOURCE,
    csinodes.RESOURCE,
    csistoragecapacities.RESOURCE,
    storageclasses.RESOURCE,
    volumeattachments.RESOURCE,
    volumeattributesclasses.RESOURCE,
    storageversionmigrations.RESOURCE,
)
