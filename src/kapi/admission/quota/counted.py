"""What is counted against quotas, and by which evaluator."""

from __future__ import annotations

from kapi.admission.quota.evaluators import Claims, DeviceClaims, Evaluators, Services
from kapi.admission.quota.pods import Pods
from kapi.admission.resources import PERSISTENT_VOLUME_CLAIMS, PODS, RESOURCE_CLAIMS, SERVICES
from kapi.admission.services import PodResources
from kapi.api.clock import Clock

# Not stored, or never counted.
IGNORED = frozenset(
    (
        ("", "bindings"),
        ("", "componentstatuses"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
    )
)


def evaluators(pod_resources: PodResources, clock: Clock) -> Evaluators:
    return Evaluators(
        {
            PODS: Pods(pod_resources, clock),
            SERVICES: Services(),
            PERSISTENT_VOLUME_CLAIMS: Claims(),
            RESOURCE_CLAIMS: DeviceClaims(),
        }
    )
