"""What is in a topic, read through the `Log` protocol."""

from __future__ import annotations

from millpond.stores.protocol import Log, Record


def records_in(log: Log, topic: str) -> list[Record]:
    """All records of a topic up to its end as it is now, those of a partition in their order."""
    ends, reader = log.end_offsets(topic), log.read(topic, log.first_offsets(topic))
    found: list[Record] = []
    try:
        while any(reader.positions(topic).get(p, 0) < end for p, end in ends.items()):
            found += reader.poll(10_000, 0.3)
    finally:
        reader.close()
    return found
