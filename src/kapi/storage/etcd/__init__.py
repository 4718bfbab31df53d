"""etcd, the distributed engine: `EtcdKV(EtcdConfig(...))`, over our own thin stubs on grpc.aio.

Importing this package imports gRPC, which is slow to load: only who uses etcd does. Nothing outside this package sees
gRPC or an etcd message; every error leaves as one of `kapi.storage.kv`.
"""

from kapi.storage.etcd.compactor import Compactor
from kapi.storage.etcd.config import EtcdConfig
from kapi.storage.etcd.engine import EtcdKV

__all__ = ["Compactor", "EtcdConfig", "EtcdKV"]
