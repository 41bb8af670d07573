"""The calls of boto3 that writing takes, in memory: a shard, faults in the order given."""

from __future__ import annotations

from collections import deque
from typing import Any


class FakeStream:
    """`faults` are met one a call: an exception to raise, or the places of records to refuse."""

    def __init__(self, *faults: Exception | set[int], lands: bool = False) -> None:
        self.faults = deque(faults)
        self.lands = lands
        """Of a call that raises: whether its records arrive nevertheless."""
        self.records: list[tuple[str, bytes]] = []
        self.calls: list[int] = []

    def put_records(self, StreamName: str, Records: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.calls.append(len(Records))
        fault = self.faults.popleft() if self.faults else set()
        if isinstance(fault, Exception):
            if self.lands:
                self.records += [(r["PartitionKey"], r["Data"]) for r in Records]
            raise fault
        return {"Records": [self._put(record, n in fault) for n, record in enumerate(Records)]}

    def _put(self, record: dict[str, Any], refused: bool) -> dict[str, str]:
        if refused:
            return {"ErrorCode": "ProvisionedThroughputExceededException"}
        self.records.append((record["PartitionKey"], record["Data"]))
        return {"ShardId": "shardId-000000000000", "SequenceNumber": str(len(self.records))}
