"""A Kafka cluster as a `Log`: topics, offsets, writing. Reading is in `kafka_reader`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import cached_property, partial
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from millpond.errors import MillpondError
from millpond.stores.kafka_check import check_kafka
from millpond.stores.kafka_errors import named, refused
from millpond.stores.kafka_reader import KafkaReader
from millpond.stores.protocol import NewRecord, Offsets, TopicDescription

T = TypeVar("T")

COMMON: dict[str, Any] = {
    # librdkafka prints to standard error by itself; what matters comes back as an error or is retried.
    "log_level": 0,
    "socket.nagle.disable": True,
    # A broker that comes back is found within half a second; the defaults go up to ten.
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
}
PRODUCER: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    # As the Java producer does it, so that a key lies in one partition whoever writes it.
    "partitioner": "murmur2_random",
}


class KafkaLog:
    """The topics of one cluster. `config` are librdkafka settings, `bootstrap.servers` among them.

    `timeout`: seconds after which a call gives up with STORE_UNREACHABLE.
    """

    def __init__(self, config: Mapping[str, Any], timeout: float = 10.0) -> None:
        self.config = {**COMMON, **config}
        self.timeout = timeout
        self.store = str(config["bootstrap.servers"])

    def check(self) -> None:
        check_kafka(self.config, self.timeout)

    def topics(self) -> list[str]:
        metadata = self._run("", lambda: self._admin.list_topics(timeout=self.timeout))
        return sorted(name for name in metadata.topics if not name.startswith("__"))

    def describe(self, topic: str) -> TopicDescription:
        found = self._wait(topic, lambda: self._admin.describe_topics(TopicCollection([topic]))[topic])
        resource = ConfigResource(ResourceType.TOPIC, topic)
        config = self._wait(topic, lambda: self._admin.describe_configs([resource])[resource])
        return TopicDescription(
            topic,
            len(found.partitions),
            max((len(p.replicas) for p in found.partitions), default=0),
            {name: entry.value or "" for name, entry in config.items()},
            str(found.topic_id),
        )

    def create(
        self, topic: str, partitions: int = 1, replicas: int = 1, config: Mapping[str, str] | None = None
    ) -> bool:
        try:
            new = NewTopic(topic, num_partitions=partitions, replication_factor=replicas, config=dict(config or {}))
            self._future(self._admin.create_topics([new])[topic])
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise named(error, self.store, topic) from None
            self._must_match(topic, partitions)
            return False
        except (ValueError, TypeError, OverflowError) as error:
            raise MillpondError("TOPIC_REFUSED", topic=topic, reason=str(error)) from None
        self._until(topic, there=True)
        return True

    def alter(self, topic: str, partitions: int | None = None, config: Mapping[str, str] | None = None) -> None:
        there = self._partitions(topic)
        if partitions is not None and partitions != there:
            self._wait(topic, lambda: self._admin.create_partitions([NewPartitions(topic, partitions)])[topic])
        if config:
            settings = [_setting(name, value) for name, value in config.items()]
            resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=settings)
            self._wait(topic, lambda: self._admin.incremental_alter_configs([resource])[resource])

    def delete(self, topic: str) -> None:
        self._wait(topic, lambda: self._admin.delete_topics([topic])[topic])
        self._until(topic, there=False)

    def first_offsets(self, topic: str) -> dict[int, int]:
        return self._offsets(topic, OffsetSpec.earliest())

    def end_offsets(self, topic: str) -> dict[int, int]:
        return self._offsets(topic, OffsetSpec.latest())

    def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        found = self._offsets(topic, OffsetSpec.for_timestamp(timestamp))
        if min(found.values(), default=0) >= 0:
            return found
        ends = self.end_offsets(topic)
        return {p: offset if offset >= 0 else ends[p] for p, offset in found.items()}

    def produce(self, topic: str, records: Iterable[NewRecord]) -> list[tuple[int, int]]:
        self._partitions(topic)  # librdkafka waits long for a topic that is not there
        outcomes: list[Message | KafkaError | None] = []
        for number, record in enumerate(records):
            outcomes.append(None)
            self._send(topic, record, _keep(outcomes, number))
        deadline = time.monotonic() + self.timeout
        while any(outcome is None for outcome in outcomes):
            self._producer.poll(0.05)
            if time.monotonic() > deadline:
                raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="writing took too long")
        return [self._written(topic, outcome) for outcome in outcomes]

    def reader(self) -> KafkaReader:
        return KafkaReader(self.config)

    def read(self, topic: str, offsets: Offsets) -> KafkaReader:
        reader = self.reader()
        reader.add(topic, offsets)
        return reader

    def close(self) -> None:
        producer = self.__dict__.pop("_producer", None)
        self.__dict__.pop("_admin", None)
        if producer is not None:
            producer.flush(self.timeout)

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(dict(self.config))

    @cached_property
    def _producer(self) -> Producer:
        return Producer({**self.config, **PRODUCER, "message.timeout.ms": int(self.timeout * 1000)})

    def _partitions(self, topic: str) -> int:
        found = self._run(topic, lambda: self._admin.list_topics(topic, timeout=self.timeout)).topics[topic]
        if found.error is not None:
            raise named(found.error, self.store, topic)
        return len(found.partitions)

    def _offsets(self, topic: str, spec: OffsetSpec) -> dict[int, int]:
        wanted = {TopicPartition(topic, p): spec for p in range(self._partitions(topic))}
        futures = self._run(topic, lambda: self._admin.list_offsets(wanted, request_timeout=self.timeout))
        return {tp.partition: self._run(topic, partial(self._future, f)).offset for tp, f in futures.items()}

    def _send(self, topic: str, record: NewRecord, done: Callable[[KafkaError | None, Message], None]) -> None:
        extra: dict[str, Any] = {} if record.partition is None else {"partition": record.partition}
        if record.timestamp is not None:
            extra["timestamp"] = record.timestamp
        headers = list(record.headers)
        while True:
            try:
                self._producer.produce(topic, record.value, record.key, headers=headers, on_delivery=done, **extra)
                return
            except BufferError:  # the queue is full: let some of it go
                self._producer.poll(0.05)
            except (KafkaException, ValueError, OverflowError) as error:
                raise refused(error, topic) from None

    def _written(self, topic: str, outcome: Message | KafkaError | None) -> tuple[int, int]:
        if isinstance(outcome, KafkaError):
            error = named(outcome, self.store, topic)
            raise error if error.name != "TOPIC_REFUSED" else refused(outcome, topic)
        assert outcome is not None
        return outcome.partition(), outcome.offset()

    def _must_match(self, topic: str, partitions: int) -> None:
        there = self._partitions(topic)
        if there != partitions:
            raise MillpondError("TOPIC_EXISTS_DIFFERENTLY", topic=topic, there=there, wanted=partitions)

    def _until(self, topic: str, *, there: bool) -> None:
        """Wait until every broker's metadata says that the topic is there, or is not."""
        deadline = time.monotonic() + self.timeout
        while True:
            found = self._run(topic, lambda: self._admin.list_topics(topic, timeout=self.timeout)).topics[topic]
            if (found.error is None and bool(found.partitions) and self._led(found)) == there:
                return
            if time.monotonic() > deadline:
                raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="its metadata does not settle")
            time.sleep(0.02)

    def _led(self, found: Any) -> bool:
        return all(partition.leader >= 0 for partition in found.partitions.values())

    def _future(self, future: Future[T]) -> T:
        try:
            return future.result(self.timeout + 1)
        except TimeoutError:
            raise MillpondError("STORE_UNREACHABLE", store=self.store, reason="it does not answer") from None

    def _run(self, topic: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except KafkaException as error:
            raise named(error, self.store, topic) from None

    def _wait(self, topic: str, start: Callable[[], Future[T]]) -> T:
        return self._run(topic, lambda: self._future(start()))


def _keep(outcomes: list[Message | KafkaError | None], number: int) -> Callable[[KafkaError | None, Message], None]:
    def done(error: KafkaError | None, message: Message) -> None:
        outcomes[number] = error or message

    return done


def _setting(name: str, value: str) -> ConfigEntry:
    return ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
