"""A KMS plugin at the other end of a Unix socket: calls with a deadline, measured, in both versions of the API."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import urlsplit

import grpc
from grpc import aio

from kapi.storage.encryption.kms import kms_pb2 as pb
from kapi.storage.encryption.metrics import EncryptionMetrics
from kapi.storage.encryption.transformer import TransformError

_V1 = "v1beta1"
_OPTIONS = (
    ("grpc.default_authority", "localhost"),
    ("grpc.enable_http_proxy", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
# As Go prints the codes.
_CODES = {
    code: "".join(part.capitalize() for part in code.name.split("_"))
    for code in grpc.StatusCode
    if code is not grpc.StatusCode.OK
} | {grpc.StatusCode.CANCELLED: "Canceled"}


class Channel:
    """Calls wait for the plugin to come up, as long as their deadline lets them."""

    def __init__(self, endpoint: str, provider: str, timeout: float, metrics: EncryptionMetrics | None) -> None:
        self._channel = aio.insecure_channel(_target(endpoint), options=_OPTIONS)
        self._provider = provider
        self._timeout = timeout
        self._metrics = metrics

    async def call(self, method: str, request: Any, response: Any) -> Any:
        """Raises TransformError with gRPC's status."""
        stub = self._channel.unary_unary(
            method, request_serializer=type(request).SerializeToString, response_deserializer=response.FromString
        )
        began, code = time.perf_counter(), "OK"
        try:
            return await stub(request, timeout=self._timeout, wait_for_ready=True)
        except aio.AioRpcError as error:
            code = _CODES[error.code()]
            raise TransformError(f"rpc error: code = {code} desc = {_details(error)}", code) from None
        finally:
            if self._metrics is not None:
                labels = (self._provider, method, code)
                self._metrics.kms_operations.observe(time.perf_counter() - began, labels)

    async def close(self) -> None:
        await self._channel.close()


class PluginV2:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def status(self) -> pb.StatusResponse:
        answer: pb.StatusResponse = await self._call("Status", pb.StatusRequest(), pb.StatusResponse)
        return answer

    async def encrypt(self, uid: str, plaintext: bytes) -> pb.EncryptResponse:
        request = pb.EncryptRequest(plaintext=plaintext, uid=uid)
        answer: pb.EncryptResponse = await self._call("Encrypt", request, pb.EncryptResponse)
        return answer

    async def decrypt(self, uid: str, stored: pb.EncryptedObject) -> bytes:
        request = pb.DecryptRequest(
            ciphertext=stored.encrypted_dek_source, uid=uid, key_id=stored.key_id, annotations=dict(stored.annotations)
        )
        answer: pb.DecryptResponse = await self._call("Decrypt", request, pb.DecryptResponse)
        return answer.plaintext

    async def _call(self, method: str, request: Any, response: Any) -> Any:
        return await self._channel.call(f"/v2.KeyManagementService/{method}", request, response)

    async def close(self) -> None:
        await self._channel.close()


class PluginV1:
    """Its version is asked for before the first call, until it is one that is spoken here."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._checked = False
        self._checking = asyncio.Lock()

    async def encrypt(self, plain: bytes) -> bytes:
        await self._check_version()
        request = pb.V1EncryptRequest(version=_V1, plain=plain)
        answer: pb.V1EncryptResponse = await self._call("Encrypt", request, pb.V1EncryptResponse)
        return answer.cipher

    async def decrypt(self, cipher: bytes) -> bytes:
        await self._check_version()
        request = pb.V1DecryptRequest(version=_V1, cipher=cipher)
        answer: pb.V1DecryptResponse = await self._call("Decrypt", request, pb.V1DecryptResponse)
        return answer.plain

    async def _check_version(self) -> None:
        async with self._checking:
            if self._checked:
                return
            try:
                answer = await self._call("Version", pb.V1VersionRequest(version=_V1), pb.V1VersionResponse)
            except TransformError as error:
                message = f"failed get version from remote KMS provider: {error}"
                raise TransformError(message, error.status) from None
            if answer.version != _V1:
                raise TransformError(
                    f"KMS provider api version {answer.version} is not supported, only {_V1} is supported now"
                )
            self._checked = True

    async def _call(self, method: str, request: Any, response: Any) -> Any:
        return await self._channel.call(f"/v1beta1.KeyManagementService/{method}", request, response)

    async def close(self) -> None:
        await self._channel.close()


def _target(endpoint: str) -> str:
    path = urlsplit(endpoint).path
    # A socket in Linux' abstract namespace has no file.
    return f"unix-abstract:{path[2:]}" if path.startswith("/@") else f"unix:{path}"


def _details(error: aio.AioRpcError) -> str:
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "context deadline exceeded"
    return error.details() or ""
