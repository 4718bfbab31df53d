"""Admission flags: the plugins that see an object before it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Later, Refused, flag
from kapi.options.kinds import INT, STRING, STRINGS

# On by default, so naming them asks for nothing more than a plain start does.
DEFAULT_PLUGINS = frozenset(
    (
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "ClusterTrustBundleAttest",
        "DefaultIngressClass",
        "DefaultStorageClass",
        "DefaultTolerationSeconds",
        "LimitRanger",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "NamespaceLifecycle",
        "NodeDeclaredFeatureValidator",
        "PersistentVolumeClaimResize",
        "PodGroupProtection",
        "PodResizeValidator",
        "PodSecurity",
        "PodTopologyLabels",
        "Priority",
        "ResourceQuota",
        "RuntimeClass",
        "ServiceAccount",
        "StorageObjectInUseProtection",
        "TaintNodesByCondition",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    )
)
OTHER_PLUGINS = frozenset(
    (
        "AlwaysAdmit",
        "AlwaysDeny",
        "AlwaysPullImages",
        "DenyServiceExternalIPs",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "ImagePolicyWebhook",
        "LimitPodHardAntiAffinityTopology",
        "NamespaceAutoProvision",
        "NamespaceExists",
        "NodeRestriction",
        "OwnerReferencesPermissionEnforcement",
        "PodNodeSelector",
        "PodTolerationRestriction",
    )
)
# Restricts nodes, which may do nothing at all as long as there is no Node authorizer.
_SAFE_TO_WAIT_FOR = DEFAULT_PLUGINS | {"NodeRestriction"}
_LATER = Later("no admission plugin runs")


def _enable(values: tuple[str, ...]) -> str | None:
    unknown = next((value for value in values if value not in DEFAULT_PLUGINS | OTHER_PLUGINS), None)
    if unknown is not None:
        return f'plugin "{unknown}" is unknown'
    missing = next((value for value in values if value not in _SAFE_TO_WAIT_FOR), None)
    return None if missing is None else f'plugin "{missing}" is not there yet'


def _disable(values: tuple[str, ...]) -> str | None:
    unknown = next((value for value in values if value not in DEFAULT_PLUGINS | OTHER_PLUGINS), None)
    return None if unknown is None else f'plugin "{unknown}" is unknown'


@dataclass(kw_only=True, eq=False, repr=False)
class AdmissionOptions:
    """The admission flags, with their defaults."""

    section: ClassVar[str] = "admission"

    admission_control: tuple[str, ...] = flag(
        STRINGS,
        "The admission plugins to run, in order.",
        deprecated="use --enable-admission-plugins or --disable-admission-plugins",
        standing=Refused("use --enable-admission-plugins and --disable-admission-plugins; their order is fixed"),
    )
    admission_control_config_file: str = flag(
        STRING, "The configuration of admission plugins.", standing=Refused("no admission plugin reads it yet")
    )
    default_not_ready_toleration_seconds: int = flag(
        INT,
        "For how many seconds a pod tolerates a node that is not ready, when it does not say so itself.",
        default=300,
    )
    default_unreachable_toleration_seconds: int = flag(
        INT,
        "For how many seconds a pod tolerates a node that is unreachable, when it does not say so itself.",
        default=300,
    )
    disable_admission_plugins: tuple[str, ...] = flag(
        STRINGS, "Admission plugins not to run, of those that run by default.", standing=_LATER, check=_disable
    )
    enable_admission_plugins: tuple[str, ...] = flag(
        STRINGS, "Admission plugins to run beside those that run by default.", standing=_LATER, check=_enable
    )

    def validate(self) -> list[str]:
        both = sorted(set(self.enable_admission_plugins) & set(self.disable_admission_plugins))
        return [f"{both} in enable-admission-plugins and disable-admission-plugins overlapped"] if both else []
