"""Whether a plugin is well, asked now and then; of KMS v2 also which key it uses, and a new seed when that changes.

A seed that was had once reads for good. It writes until three minutes after the plugin last confirmed its key id.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from typing import Protocol

from kapi.api.clock import Clock, rfc3339
from kapi.storage.encryption.aes import SEED, ExtendedNonceGCM
from kapi.storage.encryption.kms import kms_pb2 as pb
from kapi.storage.encryption.kms.envelope_v2 import Seed, key_id_problem, validate
from kapi.storage.encryption.kms.plugin import PluginV1, PluginV2
from kapi.storage.encryption.metrics import EncryptionMetrics, hash_of
from kapi.storage.encryption.transformer import TransformError
from kapi.telemetry.log import log

WELL_SECONDS = 60.0  # between two looks at a plugin that is well
ILL_SECONDS = 10.0
WRITE_SECONDS = 180.0
_TRUST_SECONDS = 20.0  # how long an answer is good for health checks
_DISTRUST_SECONDS = 3.0
_VERSIONS = ("v2", "v2beta1")
_NO_SEED = "got unexpected nil transformer"


class Probe(Protocol):
    async def check(self) -> None:
        """Raises TransformError when the plugin is not well."""

    async def run(self) -> None:
        """Look after the plugin, until cancelled."""

    async def close(self) -> None: ...


class Checked:
    """A check whose answer is good for a while; one at a time."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self._lock = asyncio.Lock()
        self._error: TransformError | None = None
        self._good_until = 0.0

    async def check(self) -> None:
        async with self._lock:
            if self.clock.monotonic() < self._good_until:
                if self._error is not None:
                    raise self._error
                return
            try:
                await self.ask()
                self._error = None
            except TransformError as error:
                self._error = error
                raise
            finally:
                trusted = _DISTRUST_SECONDS if self._error is not None else _TRUST_SECONDS
                self._good_until = self.clock.monotonic() + trusted

    async def ask(self) -> None:
        raise NotImplementedError


class ProbeV1(Checked):
    """Encrypts and decrypts a word."""

    def __init__(self, name: str, plugin: PluginV1, clock: Clock) -> None:
        super().__init__(name, clock)
        self._plugin = plugin

    async def ask(self) -> None:
        section = "encrypt"
        try:
            cipher = await self._plugin.encrypt(b"ping")
            section = "decrypt"
            await self._plugin.decrypt(cipher)
        except TransformError as error:
            raise _failed(section, self.name, error) from None

    async def run(self) -> None:
        """It is asked by health checks alone."""

    async def close(self) -> None:
        await self._plugin.close()


class ProbeV2(Checked):
    def __init__(self, name: str, plugin: PluginV2, clock: Clock, metrics: EncryptionMetrics) -> None:
        super().__init__(name, clock)
        self._plugin = plugin
        self._metrics = metrics
        self._seed: Seed | None = None
        self._expires = 0.0
        self._version = ""

    @property
    def seed(self) -> Seed:
        if self._seed is None:
            raise TransformError(_NO_SEED)
        return self._seed

    def check_writable(self) -> None:
        now = self.clock.now()
        if now > self._expires:
            raise TransformError(
                f'encryptedDEKSource with keyID hash "{hash_of(self.seed.key_id)}" expired at '
                f"{rfc3339(self._expires)} (current time is {rfc3339(now)})"
            )

    async def run(self) -> None:
        well = self._seed is not None
        while True:
            await asyncio.sleep(WELL_SECONDS if well else ILL_SECONDS)
            well = await self.look()

    async def look(self) -> bool:
        """Ask, and say in the log what is wrong."""
        try:
            await self.check()
        except TransformError as error:
            log.error("kms_plugin_not_well", name=self.name, error=str(error))
            return False
        return True

    async def close(self) -> None:
        await self._plugin.close()

    async def ask(self) -> None:
        try:
            status = await self._plugin.status()
        except TransformError as error:
            raise _failed("status", self.name, error) from None
        problems = self._status_problems(status)
        code, problem = key_id_problem(status.key_id)
        if problem:
            self._metrics.invalid_key_ids.inc((self.name, code))
            problems.append(f'got invalid KMSv2 KeyID hash "{hash_of(status.key_id)}": {problem}')
        else:
            self._metrics.key_ids.told(self.name, hash_of(status.key_id))
            problems += await self._follow(status.key_id)
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise TransformError(f"kmsv2 Provider {self.name} is not healthy, error: {text}")

    def _status_problems(self, status: pb.StatusResponse) -> list[str]:
        problems = []
        if status.healthz != "ok":
            problems.append(f"got unexpected healthz status: {status.healthz}")
        if status.version not in _VERSIONS:
            problems.append(f"expected KMSv2 API version v2, got {status.version}")
        else:
            self._version = self._version or status.version
            if status.version != self._version:
                problems.append(
                    "KMSv2 API version should not change after the initial status response version "
                    f"{self._version}, got {status.version}"
                )
        return problems

    async def _follow(self, key_id: str) -> list[str]:
        """The same key id: the seed may go on writing. Another one: a new seed, and the old one until there is one."""
        expires = self.clock.now() + WRITE_SECONDS  # from before the call: the limit is an upper one
        if self._seed is not None and self._seed.key_id == key_id:
            self._expires = expires
            return []
        uid, state_error = str(uuid.uuid4()), "<nil>" if self._seed is not None else _NO_SEED
        made, error = "", "<nil>"
        try:
            seed = await self._new_seed(uid)
            made = seed.key_id
            if made == key_id:
                self._seed, self._expires = seed, expires
                return []
        except TransformError as failed:
            error = str(failed)
        return [
            f'failed to rotate DEK uid="{uid}", useSeed=true, errState={state_error}, errGen={error}, '
            f'statusKeyIDHash="{hash_of(key_id)}", encryptKeyIDHash="{hash_of(made)}", '
            f'stateKeyIDHash="{hash_of(self._seed.key_id if self._seed else "")}", '
            f"expirationTimestamp={rfc3339(self._expires) if self._expires else '0001-01-01T00:00:00Z'}"
        ]

    async def _new_seed(self, uid: str) -> Seed:
        began = time.perf_counter()
        plain = os.urandom(SEED)
        self._metrics.key_generation.observe(time.perf_counter() - began)
        try:
            answer = await self._plugin.encrypt(uid, plain)
        except TransformError as error:
            raise TransformError(f"failed to encrypt DEK, error: {error}", error.status) from None
        seed = Seed(
            transformer=ExtendedNonceGCM(plain),
            key_id=answer.key_id,
            source=answer.ciphertext,
            annotations=dict(answer.annotations),
        )
        validate(seed.sealed(b"\0"))
        return seed


def _failed(section: str, name: str, error: TransformError) -> TransformError:
    text = f"failed to perform {section} section of the healthz check for KMS Provider {name}, error: {error}"
    return TransformError(text, error.status)
