"""Kinesis as a `Log`: a stream is a topic, a shard a partition, a sequence number an offset."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any, TypeVar

from millpond.clock import now_ms
from millpond.errors import MillpondError
from millpond.stores.kinesis_client import CALLS_AT_ONCE, KinesisSettings, kinesis_client
from millpond.stores.kinesis_errors import IN_USE, code_of, named, passes, unreached
from millpond.stores.kinesis_reader import KinesisReader, offset_of
from millpond.stores.kinesis_shards import Place, Shard, ShardCursor, backoff, list_shards, shard_number
from millpond.stores.kinesis_writer import StreamWriter, partition_key
from millpond.stores.protocol import NewRecord, Offsets, TopicDescription

T = TypeVar("T")

WINDOWS_SECONDS = (10, 120, 3600)
"""How far back the last record of an idle shard is looked for, before all that is retained is read."""
DEFAULT_RETENTION_HOURS = 24
STREAM_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


class KinesisLog:
    """The streams of one account and region. Calls that Kinesis refuses for the moment are repeated until `timeout`.

    What a log has and Kinesis has not: headers, a null key, and a timestamp or partition that the writer chooses.
    They are refused or ignored as `produce` says.
    """

    def __init__(self, settings: KinesisSettings, timeout: float = 10.0) -> None:
        self.settings, self.timeout = settings, timeout
        self.store = settings.place
        self._pool = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="kinesis-log")

    def check(self) -> None:
        try:
            self.client.list_streams(Limit=1)
        except Exception as error:
            raise unreached(error, self.store) from error

    def topics(self) -> list[str]:
        found: list[str] = []
        while True:
            more = {"ExclusiveStartStreamName": found[-1]} if found else {}
            answer: Mapping[str, Any] = self._call("", partial(self.client.list_streams, **more))
            found += answer["StreamNames"]
            if not answer["HasMoreStreams"]:
                return sorted(found)

    def describe(self, topic: str) -> TopicDescription:
        """`partitions` are the open shards; `replicas` is 0: Kinesis keeps copies of its own, and tells no number."""
        told = self._summary(topic)
        config = {
            "retention.hours": str(told["RetentionPeriodHours"]),
            "mode": str(told.get("StreamModeDetails", {}).get("StreamMode", "PROVISIONED")),
            "encryption": str(told.get("EncryptionType", "NONE")),
            "arn": str(told["StreamARN"]),
        }
        created = told["StreamCreationTimestamp"]
        return TopicDescription(topic, int(told["OpenShardCount"]), 0, config, str(created))

    def create(
        self, topic: str, partitions: int = 1, replicas: int = 1, config: Mapping[str, str] | None = None
    ) -> bool:
        """`replicas` is not asked for. `config` may hold `retention.hours`."""
        if not STREAM_NAME.fullmatch(topic):
            raise MillpondError("TOPIC_REFUSED", topic=topic, reason="a stream's name is 1 to 128 of A-Z a-z 0-9 . _ -")
        hours = _retention(topic, config or {})
        try:
            self._call(topic, lambda: self.client.create_stream(StreamName=topic, ShardCount=partitions))
        except MillpondError as error:
            if not (isinstance(error.__context__, Exception) and code_of(error.__context__) == IN_USE):
                raise
            self._must_match(topic, partitions)
            return False
        self._until_active(topic)
        if hours != DEFAULT_RETENTION_HOURS:
            self._keep(topic, hours)
        return True

    def alter(self, topic: str, partitions: int | None = None, config: Mapping[str, str] | None = None) -> None:
        """More shards or fewer: Kinesis splits and merges evenly. `config` may hold `retention.hours`."""
        there = self.describe(topic)
        if config:
            hours = _retention(topic, config)
            if str(hours) != there.config["retention.hours"]:
                self._keep(topic, hours)
        if partitions is not None and partitions != there.partitions:
            wanted = {"StreamName": topic, "TargetShardCount": partitions, "ScalingType": "UNIFORM_SCALING"}
            self._call(topic, partial(self.client.update_shard_count, **wanted))
            self._until_active(topic)

    def delete(self, topic: str) -> None:
        self._call(topic, lambda: self.client.delete_stream(StreamName=topic, EnforceConsumerDeletion=True))
        deadline = time.monotonic() + self.timeout
        while self._there(topic):
            self._check(deadline)

    def shards(self, topic: str) -> list[Shard]:
        """All that are open or retained. Raises TOPIC_NOT_FOUND."""
        return self._call(topic, lambda: list_shards(self.client, topic))

    def first_offsets(self, topic: str) -> dict[int, int]:
        """0 for each shard: Kinesis tells no number, and 0 stands for the first record that is retained."""
        return {shard.number: 0 for shard in self.shards(topic)}

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Behind the last record of each shard, which is found by reading backwards in time, and then to the tip."""
        shards = self.shards(topic)
        return dict(self._pool.map(lambda shard: (shard.number, self._end(topic, shard)), shards))

    def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        shards = self.shards(topic)
        return dict(self._pool.map(lambda shard: (shard.number, self._offset_at(topic, shard, timestamp)), shards))

    def produce(self, topic: str, records: Iterable[NewRecord]) -> list[tuple[int, int]]:
        """A null value is written as an empty record. A timestamp, a partition and headers cannot be kept: ignored."""
        self._summary(topic)
        given = ((partition_key(r.key, r.value), r.value or b"") for r in records)
        written = dict(StreamWriter(self.client, topic, self.store, self.timeout).write(given))
        return [(shard_number(written[n][0]), int(written[n][1])) for n in range(len(written))]

    def reader(self) -> KinesisReader:
        return KinesisReader(self.client, self.store)

    def read(self, topic: str, offsets: Offsets) -> KinesisReader:
        reader = self.reader()
        reader.add(topic, offsets)
        return reader

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        client = self.__dict__.pop("client", None)
        if client is not None:
            client.close()

    @cached_property
    def client(self) -> Any:
        """boto3's client; safe for several threads."""
        return kinesis_client(self.settings)

    def _summary(self, topic: str) -> Mapping[str, Any]:
        if not topic:
            raise MillpondError("TOPIC_NOT_FOUND", topic=topic, store=self.store)
        answer = self._call(topic, lambda: self.client.describe_stream_summary(StreamName=topic))
        told: Mapping[str, Any] = answer["StreamDescriptionSummary"]
        return told

    def _there(self, topic: str) -> bool:
        try:
            self._summary(topic)
        except MillpondError as error:
            if error.name == "TOPIC_NOT_FOUND":
                return False
            raise
        return True

    def _keep(self, topic: str, hours: int) -> None:
        """Set how long records are retained."""
        there = int(self._summary(topic)["RetentionPeriodHours"])
        change = "increase" if hours > there else "decrease"
        call = getattr(self.client, f"{change}_stream_retention_period")
        self._call(topic, partial(call, StreamName=topic, RetentionPeriodHours=hours))
        self._until_active(topic)

    def _until_active(self, topic: str) -> None:
        deadline = time.monotonic() + max(self.timeout, 60)
        while self._summary(topic)["StreamStatus"] != "ACTIVE":
            self._check(deadline)

    def _check(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="a stream does not settle")
        time.sleep(0.1)

    def _must_match(self, topic: str, shards: int) -> None:
        self._until_active(topic)
        there = int(self._summary(topic)["OpenShardCount"])
        if there != shards:
            raise MillpondError("STREAM_EXISTS_DIFFERENTLY", topic=topic, there=there, wanted=shards)

    def _end(self, topic: str, shard: Shard) -> int:
        if shard.last is not None:
            return int(shard.last) + 1
        for seconds in WINDOWS_SECONDS:
            end = self._to_tip(self._cursor_at(topic, shard, int((time.time() - seconds) * 1000)))
            if end:
                return end
        return self._to_tip(ShardCursor(self.client, topic, shard, Place()))

    def _offset_at(self, topic: str, shard: Shard, timestamp: int) -> int:
        now = now_ms()
        if timestamp >= now:
            return self._end(topic, shard)
        cursor = self._cursor_at(topic, shard, timestamp)
        deadline = time.monotonic() + self.timeout
        while True:
            records = self._call(topic, lambda: cursor.fetch())
            if records:
                return int(next((r.sequence for r in records if r.arrived >= timestamp), records[-1].sequence))
            if cursor.place.ended or cursor.behind_ms == 0:
                return self._end(topic, shard)
            self._pause(cursor, deadline)

    def _cursor_at(self, topic: str, shard: Shard, timestamp: int) -> ShardCursor:
        return _CursorAt(self.client, topic, shard, timestamp)

    def _to_tip(self, cursor: ShardCursor) -> int:
        """Read on to the tip; the next offset there, 0 if there was no record."""
        deadline = time.monotonic() + self.timeout
        while True:
            records = self._call(cursor.stream, lambda: cursor.fetch())
            if cursor.place.ended or (not records and cursor.behind_ms == 0):
                return offset_of(cursor.place)
            self._pause(cursor, deadline)

    def _pause(self, cursor: ShardCursor, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="a shard is not read to its tip in time")
        time.sleep(max(0.0, cursor.due - time.monotonic()))

    def _call(self, topic: str, call: Callable[[], T]) -> T:
        deadline, failures = time.monotonic() + self.timeout, 0
        while True:
            try:
                return call()
            except Exception as error:
                failures += 1
                pause = backoff(failures)
                if not passes(error) or time.monotonic() + pause > deadline:
                    raise named(error, self.store, topic) from error
            time.sleep(pause)


class _CursorAt(ShardCursor):
    """A cursor that begins at a time."""

    def __init__(self, client: Any, stream: str, shard: Shard, timestamp: int) -> None:
        super().__init__(client, stream, shard, Place())
        self._timestamp = datetime.fromtimestamp(timestamp / 1000, UTC)

    def _open(self) -> str:
        if self.place.after:
            return super()._open()
        return self._iterator_at("AT_TIMESTAMP", Timestamp=self._timestamp)


def _retention(topic: str, config: Mapping[str, str]) -> int:
    """The hours asked for. Raises TOPIC_REFUSED for a setting that Kinesis does not have."""
    unknown = sorted(config.keys() - {"retention.hours"})
    if unknown:
        raise MillpondError("TOPIC_REFUSED", topic=topic, reason=f"Kinesis has no setting '{unknown[0]}'")
    hours = config.get("retention.hours", str(DEFAULT_RETENTION_HOURS))
    if not hours.isdigit():
        raise MillpondError("TOPIC_REFUSED", topic=topic, reason=f"'{hours}' is no number of hours")
    return int(hours)
