"""Exactly once on the outside: after a crash, which source rows a stream's sink holds already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from millpond.stores.protocol import Log

POLL_ROWS = 10_000
POLL_SECONDS = 1.0


def written_positions(
    log: Log, topic: str, start: Mapping[int, int], query_id: str, abandoned: Callable[[], bool] = lambda: False
) -> dict[int, list[int]]:
    """Source partition -> positions of the rows that the sink's tail from `start` on holds, written by this query.

    Reads up to the end as it is now: the query that wrote is not running. A store that is away is waited for, until
    `abandoned`: then what was found so far is no answer.
    """
    ends = log.end_offsets(topic)
    todo = {p: start.get(p, 0) for p in ends if start.get(p, 0) < ends[p]}
    found: dict[int, list[int]] = defaultdict(list)
    if not todo:
        return found
    wanted = query_id[:8].encode()
    reader = log.read(topic, todo)
    try:
        while any(reader.positions(topic).get(p, 0) < ends[p] for p in todo) and not abandoned():
            for record in reader.poll(POLL_ROWS, POLL_SECONDS):
                headers = dict(record.headers)
                source = headers.get("mp.src") or b""
                if headers.get("mp.query") == wanted and b":" in source and record.offset < ends[record.partition]:
                    partition, _, position = source.partition(b":")
                    found[int(partition)].append(int(position))
    finally:
        reader.close()
    return found
