"""A KMS plugin: a real gRPC server on a Unix socket, which misbehaves when told to."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from kapi.storage.encryption.kms import kms_pb2 as pb


class Plugin:
    """A KMS plugin of both versions. Ciphertexts say which key made them: reversed bytes, after the key's name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.key_id = "key-1"
        self.encrypts_with = ""  # another key id than Status tells, when set
        self.healthz = "ok"
        self.version = "v2"
        self.annotations: dict[str, bytes] = {"unit.example.com": b"\x00\x01"}
        self.fails = ""
        self.calls: list[str] = []
        self._lock = threading.Lock()
        self._server: Any = None

    @property
    def endpoint(self) -> str:
        return f"unix://{self.path}"

    def provider(self, version: str = "v2", name: str = "vault", **more: Any) -> dict[str, Any]:
        return {"kms": {"apiVersion": version, "name": name, "endpoint": self.endpoint, "timeout": "5s"} | more}

    def start(self) -> Plugin:
        answers = {
            "/v2.KeyManagementService/Status": (pb.StatusRequest, self._status),
            "/v2.KeyManagementService/Encrypt": (pb.EncryptRequest, self._encrypt),
            "/v2.KeyManagementService/Decrypt": (pb.DecryptRequest, self._decrypt),
            "/v1beta1.KeyManagementService/Version": (pb.V1VersionRequest, self._v1_version),
            "/v1beta1.KeyManagementService/Encrypt": (pb.V1EncryptRequest, self._v1_encrypt),
            "/v1beta1.KeyManagementService/Decrypt": (pb.V1DecryptRequest, self._v1_decrypt),
        }

        class Handlers(grpc.GenericRpcHandler):
            def service(_, details: Any) -> Any:
                request, answer = answers[details.method]

                def call(message: Any, context: Any) -> Any:
                    method = details.method.rpartition("/")[2]
                    with self._lock:
                        self.calls.append(method)
                    if self.fails == method:
                        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the vault is sealed")
                    return answer(message, context)

                return grpc.unary_unary_rpc_method_handler(
                    call, request.FromString, lambda message: message.SerializeToString()
                )

        self._server = grpc.server(ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((Handlers(),))
        self._server.add_insecure_port(f"unix:{self.path}")
        self._server.start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def _status(self, _: Any, __: Any) -> Any:
        return pb.StatusResponse(version=self.version, healthz=self.healthz, key_id=self.key_id)

    def _encrypt(self, request: Any, _: Any) -> Any:
        assert request.uid
        key_id = self.encrypts_with or self.key_id
        return pb.EncryptResponse(
            ciphertext=key_id.encode() + b"|" + request.plaintext[::-1], key_id=key_id, annotations=self.annotations
        )

    def _decrypt(self, request: Any, context: Any) -> Any:
        key_id, _, reversed_ = request.ciphertext.partition(b"|")
        if key_id.decode() != request.key_id or dict(request.annotations) != self.annotations:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not what was told at encryption")
        return pb.DecryptResponse(plaintext=reversed_[::-1])

    def _v1_version(self, _: Any, __: Any) -> Any:
        return pb.V1VersionResponse(version=self.version if self.version.startswith("v1") else "v1beta1")

    def _v1_encrypt(self, request: Any, _: Any) -> Any:
        return pb.V1EncryptResponse(cipher=request.plain[::-1])

    def _v1_decrypt(self, request: Any, _: Any) -> Any:
        return pb.V1DecryptResponse(plain=request.cipher[::-1])
