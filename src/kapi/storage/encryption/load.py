"""From a configuration file to what encrypts: the providers of every resource, and the plugins behind them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kapi.api.clock import Clock
from kapi.api.fields import go_quote
from kapi.api.gvk import GroupResource
from kapi.storage.encryption.aes import GCM, CBCMode
from kapi.storage.encryption.configuration import (
    KMS,
    ConfigurationError,
    EncryptionConfiguration,
    Key,
    Provider,
    content_hash,
    decode,
    parse_group_resource,
    read_file,
)
from kapi.storage.encryption.metrics import EncryptionMetrics
from kapi.storage.encryption.providers import Prefixed, Prefixes
from kapi.storage.encryption.transformer import Identity, Transformer
from kapi.storage.encryption.validation import ANY, validate

if TYPE_CHECKING:  # plugins are loaded where they are configured
    from kapi.storage.encryption.kms.probe import Probe

_EVERYTHING = GroupResource(ANY, ANY)
_NO_V1 = (
    "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set "
    "--feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
)
# A provider, made for the resource whose name goes into its metrics.
Make: TypeAlias = Callable[[str], Prefixed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What loading needs besides the file."""

    clock: Clock
    metrics: EncryptionMetrics
    reload: bool = False
    kms_v1: bool = False


@dataclass(eq=False, kw_only=True)
class Loaded:
    """One configuration, in use until it is replaced."""

    hash: str
    metrics: EncryptionMetrics
    rules: dict[GroupResource, list[Make]] = field(default_factory=dict)
    probes: list[Probe] = field(default_factory=list)
    versions: set[str] = field(default_factory=set)  # of the plugins' API
    grace: float = 0.0  # how long requests under way may still need it
    _made: dict[GroupResource, Transformer] = field(default_factory=dict)

    def transformer(self, resource: GroupResource) -> Transformer:
        found = self._made.get(resource)
        if found is None:
            found = self._made[resource] = self._make(resource)
        return found

    def _make(self, resource: GroupResource) -> Transformer:
        for rule in (resource, GroupResource(resource.group, ANY), _EVERYTHING):
            if makers := self.rules.get(rule):
                choices = [make(str(resource)) for make in makers]
                return Prefixes("no matching prefix found", choices, self.metrics, str(resource))
        return Identity()

    async def run(self) -> None:
        """Look after the plugins, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for probe in self.probes:
                group.create_task(probe.run())

    async def close(self) -> None:
        for probe in self.probes:
            await probe.close()


async def load(path: str, environment: Environment) -> Loaded:
    """Raises ConfigurationError. A plugin that does not answer is no error: it may come up later."""
    try:
        data = read_file(path)
        configuration = decode(data, path)
        if errors := validate(configuration, reload=environment.reload):
            texts = [str(error) for error in errors]
            raise ConfigurationError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    except ConfigurationError as error:
        raise ConfigurationError(f"error while parsing file: {error}") from None
    loaded = Loaded(hash=content_hash(data), metrics=environment.metrics)
    try:
        await _build(configuration, loaded, environment)
    except ConfigurationError as error:
        await loaded.close()
        raise ConfigurationError(f"error while building transformers: {error}") from None
    return loaded


async def _build(configuration: EncryptionConfiguration, loaded: Loaded, environment: Environment) -> None:
    for entry in configuration.resources:
        makers = [await _maker(provider, loaded, environment) for provider in entry.providers]
        for name in entry.resources:
            resource = parse_group_resource(name)
            for mask in (GroupResource(resource.group, ANY), _EVERYTHING):
                if mask in loaded.rules:
                    shown, by = go_quote(_written(resource)), go_quote(_written(mask))
                    raise ConfigurationError(f"resource {shown} is masked by earlier rule {by}")
            loaded.rules.setdefault(resource, []).extend(makers)


def _written(resource: GroupResource) -> str:
    return "*." if resource == ("", ANY) else str(resource)


async def _maker(provider: Provider, loaded: Loaded, environment: Environment) -> Make:
    metrics = environment.metrics
    if provider.aesgcm is not None:
        return _keyed(b"k8s:enc:aesgcm:v1:", "AES", _with(GCM, provider.aesgcm), metrics)
    if provider.aescbc is not None:
        return _keyed(b"k8s:enc:aescbc:v1:", "AES", _with(CBCMode, provider.aescbc), metrics)
    if provider.secretbox is not None:
        from kapi.storage.encryption.secretbox import Secretbox

        return _keyed(b"k8s:enc:secretbox:v1:", "Secretbox", _with(Secretbox, provider.secretbox), metrics)
    if provider.kms is not None:
        shared = await _kms(provider.kms, loaded, environment)
        return lambda _: shared
    plain = Prefixed(b"", Identity())
    return lambda _: plain


def _with(cipher: Callable[[bytes], Transformer], keys: tuple[Key, ...]) -> list[Prefixed]:
    return [Prefixed(f"{key.name}:".encode(), cipher(base64.b64decode(key.secret))) for key in keys]


def _keyed(prefix: bytes, kind: str, keys: Sequence[Prefixed], metrics: EncryptionMetrics) -> Make:
    """Several keys below one prefix: the first writes, the one that is named reads."""
    no_match = f"no matching key was found for the provided {kind} transformer"
    return lambda resource: Prefixed(prefix, Prefixes(no_match, keys, metrics, resource))


async def _kms(kms: KMS, loaded: Loaded, environment: Environment) -> Prefixed:
    from kapi.storage.encryption.kms.envelope_v1 import EnvelopeV1
    from kapi.storage.encryption.kms.envelope_v2 import EnvelopeV2
    from kapi.storage.encryption.kms.plugin import Channel, PluginV1, PluginV2
    from kapi.storage.encryption.kms.probe import ProbeV1, ProbeV2

    clock, metrics = environment.clock, environment.metrics
    prefix = f"k8s:enc:kms:{kms.api_version}:{kms.name}:".encode()
    if kms.api_version == "v1":
        if not environment.kms_v1:
            raise ConfigurationError(_NO_V1)
        v1 = PluginV1(Channel(kms.endpoint, kms.name, kms.timeout_seconds, None))
        loaded.probes.append(ProbeV1(kms.name, v1, clock))
        loaded.grace += 4 * kms.timeout_seconds  # a check encrypts and decrypts
        loaded.versions.add("v1")
        return Prefixed(prefix, EnvelopeV1(v1, kms.cache_size or 0, metrics))
    v2 = PluginV2(Channel(kms.endpoint, kms.name, kms.timeout_seconds, metrics))
    probe = ProbeV2(kms.name, v2, clock, metrics)
    loaded.probes.append(probe)
    loaded.grace += 2 * kms.timeout_seconds
    loaded.versions.add("v2")
    await probe.look()
    return Prefixed(prefix, EnvelopeV2(v2, probe, metrics))
