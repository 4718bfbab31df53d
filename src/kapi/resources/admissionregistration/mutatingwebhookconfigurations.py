"""MutatingWebhookConfigurations: webhooks that may change what is written."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.admissionregistration.webhooks import COLUMNS, strategy

RESOURCE = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingWebhookConfiguration",
    strategy=strategy(mutating=True),
    columns=COLUMNS,
)
