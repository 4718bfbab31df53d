"""The compactor: history older than the interval goes, by one of the API servers at a time.

As upstream, the servers agree through the key `compact_rev_key`: its version counts the rounds. Who moves it on from
the version it saw last has the round, and compacts what was current in its previous one; the others learn the version
and come again after an interval. A kube-apiserver on the same etcd takes part.
"""

from __future__ import annotations

import asyncio

from kapi.api.objects import Revision
from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.etcd.engine import EtcdKV
from kapi.storage.kv import NO_REVISION, StorageError
from kapi.telemetry.log import log

COMPACT_REV_KEY = b"compact_rev_key"


class Compactor:
    """`compacted` is the revision of the last compaction that is known here, ours or another server's."""

    def __init__(self, kv: EtcdKV, interval: float) -> None:
        self._kv = kv
        self._interval = interval
        self._round = 0
        self._revision = NO_REVISION
        self.compacted = NO_REVISION

    async def run(self) -> None:
        """Until cancelled; an interval of 0 means that something else compacts."""
        while self._interval > 0:
            await asyncio.sleep(self._interval)
            try:
                await self.compete()
            except StorageError as error:
                log.error("etcd_compaction_failed", error=str(error))

    async def compete(self) -> bool:
        """One round: whether it was ours."""
        value = str(self._revision).encode()
        answer = await self._kv.client.txn(
            pb.TxnRequest(
                compare=[pb.Compare(target=pb.Compare.VERSION, key=COMPACT_REV_KEY, version=self._round)],
                success=[pb.RequestOp(request_put=pb.PutRequest(key=COMPACT_REV_KEY, value=value))],
                failure=[pb.RequestOp(request_range=pb.RangeRequest(key=COMPACT_REV_KEY))],
            )
        )
        previous, self._revision = self._revision, Revision(answer.header.revision)
        if not answer.succeeded:
            self._learn(answer.responses[0].response_range)
            return False
        self._round += 1
        if previous:  # nothing is old yet in the first round
            await self._kv.compact(previous)
            self.compacted = previous
            log.debug(4, "etcd_compacted", revision=previous)
        return True

    def _learn(self, found: pb.RangeResponse) -> None:
        """The key is gone (version 0) when somebody deleted it."""
        self._round = found.kvs[0].version if found.kvs else 0
        if found.kvs and found.kvs[0].value.isdigit():
            self.compacted = Revision(max(self.compacted, int(found.kvs[0].value)))
