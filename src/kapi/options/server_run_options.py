"""All the flags of kube-apiserver: one instance of each group, in the order of the help's sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, cast

from kapi.options.admission import AdmissionOptions
from kapi.options.api_enablement import APIEnablementOptions
from kapi.options.audit import AuditOptions
from kapi.options.authentication import AuthenticationOptions
from kapi.options.authorization import AuthorizationOptions
from kapi.options.cloud_provider import CloudProviderOptions
from kapi.options.egress_selector import EgressSelectorOptions
from kapi.options.etcd import EtcdOptions
from kapi.options.features import FeatureOptions
from kapi.options.flag import Flag, Group, flags_of
from kapi.options.generic import GenericOptions
from kapi.options.global_flags import GlobalOptions
from kapi.options.insecure_serving import InsecureServingOptions
from kapi.options.kapi_flags import KapiOptions
from kapi.options.logs import LogsOptions
from kapi.options.metrics import MetricsOptions
from kapi.options.misc import MiscOptions
from kapi.options.parse import Parsed, parse
from kapi.options.secure_serving import SecureServingOptions
from kapi.options.traces import TracesOptions


@dataclass(kw_only=True, eq=False, repr=False)
class ServerRunOptions:
    """What the command line says, and the defaults of what it leaves out."""

    generic: GenericOptions = field(default_factory=GenericOptions)
    etcd: EtcdOptions = field(default_factory=EtcdOptions)
    secure_serving: SecureServingOptions = field(default_factory=SecureServingOptions)
    insecure_serving: InsecureServingOptions = field(default_factory=InsecureServingOptions)
    audit: AuditOptions = field(default_factory=AuditOptions)
    features: FeatureOptions = field(default_factory=FeatureOptions)
    authentication: AuthenticationOptions = field(default_factory=AuthenticationOptions)
    authorization: AuthorizationOptions = field(default_factory=AuthorizationOptions)
    cloud_provider: CloudProviderOptions = field(default_factory=CloudProviderOptions)
    api_enablement: APIEnablementOptions = field(default_factory=APIEnablementOptions)
    egress_selector: EgressSelectorOptions = field(default_factory=EgressSelectorOptions)
    admission: AdmissionOptions = field(default_factory=AdmissionOptions)
    metrics: MetricsOptions = field(default_factory=MetricsOptions)
    logs: LogsOptions = field(default_factory=LogsOptions)
    traces: TracesOptions = field(default_factory=TracesOptions)
    misc: MiscOptions = field(default_factory=MiscOptions)
    kapi: KapiOptions = field(default_factory=KapiOptions)
    global_flags: GlobalOptions = field(default_factory=GlobalOptions)
    given: frozenset[str] = frozenset()  # the flags that the command line sets, whatever to

    @classmethod
    def read(cls, arguments: Sequence[str]) -> tuple[ServerRunOptions, Parsed]:
        """The options of a command line. Raises FlagError."""
        flags = all_flags()
        parsed = parse(flags, arguments)
        options = cls(given=frozenset(parsed.values))
        for item in flags:
            if item.name in parsed.values:
                group, attribute = item.place
                setattr(getattr(options, group), attribute, parsed.values[item.name])
        return options, parsed

    def groups(self) -> Iterator[Group]:
        for name, _ in _group_types():
            yield getattr(self, name)

    def value(self, item: Flag) -> Any:
        group, attribute = item.place
        return getattr(getattr(self, group), attribute)


def all_flags() -> list[Flag]:
    """Every flag, by section in the order of the help."""
    return [item for name, group in _group_types() for item in flags_of(name, group)]


def _group_types() -> Iterator[tuple[str, type[Group]]]:
    for item in fields(ServerRunOptions):
        if item.name != "given":
            yield item.name, cast(type[Group], item.default_factory)
