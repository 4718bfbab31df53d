"""ValidatingWebhookConfigurations: webhooks that may refuse what is written."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.admissionregistration.webhooks import COLUMNS, strategy

RESOURCE = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingWebhookConfiguration",
    strategy=strategy(mutating=False),
    columns=COLUMNS,
)
