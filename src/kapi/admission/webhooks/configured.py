"""WebhookAdmissionConfiguration: a kubeconfig file with the credentials that webhooks are asked with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kapi.admission.configuration import ConfigurationError, check_kind
from kapi.admission.services import Services
from kapi.api.fields import go_quote
from kapi.api.objects import Object
from kapi.proxy.kubeconfig import KubeconfigError, load_users

_VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1")


def with_credentials(services: Services, configuration: Object | None) -> Services:
    """Raises ConfigurationError."""
    if configuration is None:
        return services
    check_kind(configuration, "WebhookAdmissionConfiguration", _VERSIONS)
    file = str(configuration.get("kubeConfigFile") or "")
    if not file:
        return services
    if not Path(file).is_absolute():
        raise ConfigurationError(f"kubeConfigFile must be an absolute file path, but got {go_quote(file)}")
    try:
        return replace(services, hooks=services.hooks.with_credentials(load_users(Path(file))))
    except KubeconfigError as error:
        raise ConfigurationError(str(error)) from None
