"""One etcd endpoint: its channel and the stubs on it. Method paths are etcd's, messages are ours."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import grpc
from grpc import aio

from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.etcd.config import EtcdConfig, target
from kapi.storage.etcd.errors import Denied, reason
from kapi.storage.kv import StorageError, Unavailable

_UNARY: dict[str, tuple[str, Any, Any]] = {
    "range": ("/etcdserverpb.KV/Range", pb.RangeRequest, pb.RangeResponse),
    "txn": ("/etcdserverpb.KV/Txn", pb.TxnRequest, pb.TxnResponse),
    "compact": ("/etcdserverpb.KV/Compact", pb.CompactionRequest, pb.CompactionResponse),
    "lease_grant": ("/etcdserverpb.Lease/LeaseGrant", pb.LeaseGrantRequest, pb.LeaseGrantResponse),
    "status": ("/etcdserverpb.Maintenance/Status", pb.StatusRequest, pb.StatusResponse),
}
# A member that lost its leader then ends the stream, rather than keeping it silent.
_REQUIRE_LEADER = (("hasleader", "true"),)


class Endpoint:
    def __init__(self, url: str, config: EtcdConfig) -> None:
        self.url = url
        self.version = ""  # as of the last dial; empty before the first
        self._dial_timeout = config.dial_timeout
        address, secure = target(url, tls=bool(config.ca_file or config.cert_file))
        options = _options(config)
        if secure:
            self._channel = aio.secure_channel(address, _credentials(config), options=options)
        else:
            self._channel = aio.insecure_channel(address, options=options)
        self.calls = {
            name: self._channel.unary_unary(
                path, request_serializer=request.SerializeToString, response_deserializer=response.FromString
            )
            for name, (path, request, response) in _UNARY.items()
        }
        self._watch = self._channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=pb.WatchRequest.SerializeToString,
            response_deserializer=pb.WatchResponse.FromString,
        )

    def connected(self) -> bool:
        return bool(self._channel.get_state() is grpc.ChannelConnectivity.READY)

    async def dial(self) -> pb.StatusResponse:
        """Connect, and see that a server answers; raises Unavailable or Denied with the reason."""
        try:
            status: pb.StatusResponse = await self.calls["status"](pb.StatusRequest(), timeout=self._dial_timeout)
        except aio.AioRpcError as error:
            code, details = error.code(), error.details() or ""
            kind = (
                Denied if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED) else Unavailable
            )
            raise kind(reason(code, details)) from None
        self.version = status.version
        return status

    def open_watch(self) -> Any:
        return self._watch(metadata=_REQUIRE_LEADER)

    async def close(self) -> None:
        await self._channel.close()


def _options(config: EtcdConfig) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.keepalive_time_ms", int(config.keepalive_time * 1000)),
        ("grpc.keepalive_timeout_ms", int(config.keepalive_timeout * 1000)),
        ("grpc.keepalive_permit_without_calls", 0),  # etcd takes such pings for abuse, and hangs up
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 50),
        ("grpc.min_reconnect_backoff_ms", int(config.dial_timeout * 1000)),  # also bounds one attempt to connect
        ("grpc.max_reconnect_backoff_ms", 1000),
        ("grpc.enable_retries", 0),  # what is retried is decided in `client`
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]


def _credentials(config: EtcdConfig) -> grpc.ChannelCredentials:
    # Without a CA of its own, etcd's certificate is checked against the system's, as Go does (gRPC brings others).
    roots = config.ca_file or ssl.get_default_verify_paths().cafile
    return grpc.ssl_channel_credentials(
        _content(roots) if roots else None,
        _content(config.key_file) if config.key_file else None,
        _content(config.cert_file) if config.cert_file else None,
    )


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}; check --etcd-cafile, -certfile, -keyfile") from None
