"""What Millpond asks of the outside: a log of topics. Kafka and its memory twin both answer it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

Offsets: TypeAlias = Mapping[int, int]
"""Partition -> offset."""

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]


class Record(NamedTuple):
    """One record as it lies in a topic; a tuple, because millions of them are made while folding."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """Epoch milliseconds; -1 if the record has none."""
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class NewRecord:
    """One record to be written. `timestamp`: epoch ms, None: now. `partition` None: by the key's hash."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """What a topic is. `config`: every setting in force, as text; `id` differs after it was made anew.

    `replicas` is 0 where the store splits a topic into shards, which `partitions` then counts.
    """

    name: str
    partitions: int
    replicas: int
    config: Mapping[str, str] = field(default_factory=dict)
    id: str = ""


class Reader(Protocol):
    """Follows partitions of any number of topics. Not for several threads at once, except `close`.

    An offset that the topic no longer has is moved to the first one that it has; so is one that it does not
    have yet: a reader of a topic that was made anew sees all of it.
    A store that is away makes `poll` return nothing; reading goes on by itself when it is back.
    """

    def add(self, topic: str, offsets: Offsets) -> None:
        """Begin to follow `topic` from these next offsets. Only the partitions named."""
        ...

    def remove(self, topic: str) -> None:
        """Stop following `topic`; its records that are on their way are not returned any more."""
        ...

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """What is there, as soon as anything is; at most `max_records`, in order within a partition.

        An empty list after `timeout` seconds.
        """
        ...

    def positions(self, topic: str) -> dict[int, int]:
        """Next offset per partition. It passes gaps, so it reaches the end whatever was compacted away."""
        ...

    def ends(self, topic: str) -> dict[int, int]:
        """End offset (next to be written) per partition as last heard from the store, without asking it.

        A partition of which nothing has been heard yet is left out.
        """
        ...

    def close(self) -> None: ...


class Log(Protocol):
    """A store of topics. Everything may raise STORE_UNREACHABLE after the log's time limit; thread-safe.

    So may STORE_LOGIN_FAILED, STORE_PERMISSION_DENIED and STORE_THROTTLED come from everything.
    """

    def check(self) -> None:
        """Returns if the store can be used; else raises the error that names what fails, within the time limit.

        STORE_HOST_UNKNOWN, STORE_CONNECTION_REFUSED, STORE_CA_UNKNOWN, STORE_HOST_NAME_WRONG,
        STORE_CLIENT_CERTIFICATE_REFUSED, STORE_TLS_FAILED, STORE_REGION_UNKNOWN, and those of everything.
        """
        ...

    def topics(self) -> list[str]:
        """All topics but the store's internal ones, sorted."""
        ...

    def describe(self, topic: str) -> TopicDescription:
        """Raises TOPIC_NOT_FOUND."""
        ...

    def create(
        self, topic: str, partitions: int = 1, replicas: int = 1, config: Mapping[str, str] | None = None
    ) -> bool:
        """Make a topic and wait until it can be used; False if it was there with as many partitions.

        `replicas` -1: as many as the store makes by itself. Where a store splits a topic into shards, `partitions`
        are these. Raises TOPIC_EXISTS_DIFFERENTLY (other partition count) and TOPIC_REFUSED.
        """
        ...

    def alter(self, topic: str, partitions: int | None = None, config: Mapping[str, str] | None = None) -> None:
        """Give a topic so many partitions, and these settings; others stay. None: as it is.

        Raises TOPIC_NOT_FOUND, TOPIC_REFUSED (fewer partitions, an unknown setting).
        """
        ...

    def delete(self, topic: str) -> None:
        """Delete a topic and wait until it is gone. Raises TOPIC_NOT_FOUND."""
        ...

    def first_offsets(self, topic: str) -> dict[int, int]:
        """First offset that is still there, per partition. Raises TOPIC_NOT_FOUND."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Offset of the record to be written next, per partition. Raises TOPIC_NOT_FOUND."""
        ...

    def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        """Per partition the first offset with a timestamp (epoch ms) not before this; the end if none."""
        ...

    def produce(self, topic: str, records: Iterable[NewRecord]) -> list[tuple[int, int]]:
        """Write records and wait until all are safe; their (partition, offset) in order given.

        Raises TOPIC_NOT_FOUND, RECORD_REFUSED.
        """
        ...

    def reader(self) -> Reader:
        """A reader that follows nothing yet."""
        ...

    def read(self, topic: str, offsets: Offsets) -> Reader:
        """A reader of one topic from these next offsets."""
        ...

    def close(self) -> None: ...
