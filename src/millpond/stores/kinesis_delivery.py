"""Writes the batches of a query to a stream so that after a crash nothing is lost and nothing is there twice.

Kinesis records have no place for marks of ours. So a file beside the checkpoint says behind which sequence number of
each shard nothing of the batch can lie that is being written. The order of effects of a batch:

1. The file is there (made before the first batch, with the tips of all shards).
2. In the first batch of a run, a stream's rows that lie behind the file's places are left out: the run before wrote
   them. Each key's rows are written in order, so those are the first ones of each key.
3. The rest is written.
4. The file gets the batch's number and the last sequence numbers.
5. Spark notes the batch.

A crash between 1 and 4 leads to 2 again; between 4 and 5 the whole batch is left out.
Another writer's record with the same key and the same bytes in the same moment would be taken for one of ours.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.errors import MillpondError
from millpond.stores.kinesis import KinesisLog
from millpond.stores.kinesis_client import kinesis_settings
from millpond.stores.kinesis_errors import named
from millpond.stores.kinesis_follower import StreamFollower
from millpond.stores.kinesis_reader import place_at
from millpond.stores.kinesis_shards import Place
from millpond.stores.kinesis_writer import StreamWriter, partition_key

WRITE_SECONDS = 60.0
"""Without a single record written, before the query fails and is started again."""
LOOK_SECONDS = 300.0
"""Reading what lies behind the file's places: a batch's worth of records."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What the file says. `run`: the run that wrote `batch`, -1 before the first; `ends`: shard -> sequence number."""

    run: str
    batch: int
    ends: Mapping[str, str]
    rows: int = 0
    """Rows of all batches so far."""


def delivery_file(folder: Path) -> Path:
    """Beside a query's checkpoint: what its sink holds."""
    return folder / "millpond-sink.json"


def delivered(file: Path) -> Delivered | None:
    """What the file says; None: no batch has begun yet."""
    try:
        told = json.loads(file.read_text())
    except FileNotFoundError:
        return None
    return Delivered(told["run"], told["batch"], told["ends"], told["rows"])


class Delivery:
    """Writes one query's batches to `stream`; `file` survives, `run` names this start of the query.

    `once`: rows are facts, none may be there twice. Rows of a changelog may: the last one counts.
    """

    def __init__(self, properties: Mapping[str, str], stream: str, file: Path, run: str, once: bool) -> None:
        self.log = KinesisLog(kinesis_settings(properties))
        self.stream, self.file, self.run, self.once = stream, file, run, once

    def begin(self, batch: int) -> bool:
        """Before the first row of a batch; False if all of it is written already."""
        noted = self._noted()
        if noted.batch >= batch:
            return False
        self.tail = StreamTail(self.log.client, self.stream, noted.ends)
        self.there = self.tail.landed() if self.once and noted.run != self.run else Counter()
        self.batch, self.rows = batch, noted.rows
        return True

    def put(self, rows: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        """Write the next (key, value) pairs of the batch, as far as they are not there yet."""
        writer = StreamWriter(self.log.client, self.stream, self.log.store, WRITE_SECONDS, self.tail.landed)
        for _, (shard, sequence) in writer.write(_missing(rows, self.there)):
            self.tail.note(shard, sequence)
        self.rows += len(rows)

    def finish(self) -> None:
        """After the last row: the batch is written for good."""
        self._note(Delivered(self.run, self.batch, self.tail.ends(), self.rows))

    def _noted(self) -> Delivered:
        """What the file says; before the first batch of all it is written, with where the stream ends now."""
        noted = delivered(self.file)
        if noted is not None:
            return noted
        tips = self.log.end_offsets(self.stream)
        ends = {f"shardId-{number:012d}": place_at(offset).after for number, offset in tips.items()}
        self._note(Delivered("an earlier one", -1, ends))
        return Delivered(self.run, -1, ends)

    def _note(self, noted: Delivered) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.file.with_suffix(".new")
        with scratch.open("w") as out:
            json.dump({"run": noted.run, "batch": noted.batch, "ends": dict(noted.ends), "rows": noted.rows}, out)
            out.flush()
            os.fsync(out.fileno())
        scratch.replace(self.file)


class StreamTail:
    """What lies in a stream behind given sequence numbers, and behind those that are noted."""

    def __init__(self, client: Any, stream: str, ends: Mapping[str, str]) -> None:
        self.client, self.stream = client, stream
        self._ends = dict(ends)

    def ends(self) -> dict[str, str]:
        """Shard -> the last sequence number that is known."""
        return dict(self._ends)

    def note(self, shard: str, sequence: str) -> None:
        """A record was written there; an empty shard: it was found by `landed`, which has noted it."""
        if shard and int(sequence) > int(self._ends.get(shard) or 0):
            self._ends[shard] = sequence

    def landed(self) -> Counter[tuple[str, bytes]]:
        """(partition key, data) of the records behind what was noted; notes them."""
        follower = StreamFollower(self.client, self.stream, {s: Place(q) for s, q in self._ends.items()})
        found: Counter[tuple[str, bytes]] = Counter()
        deadline = time.monotonic() + LOOK_SECONDS
        try:
            while not follower.at_tip():
                if time.monotonic() > deadline:
                    raise MillpondError("STORE_UNREACHABLE", store=self.stream, reason="its tail cannot be read")
                for _, records in self._fetch(follower):
                    found.update((r.partition_key, r.data) for r in records)
                time.sleep(0 if follower.at_tip() else follower.wait_seconds())
            self._ends |= {s: place.after for s, place in follower.places.items() if place.after}
        finally:
            follower.close()
        return found

    def _fetch(self, follower: StreamFollower) -> list[Any]:
        try:
            return follower.fetch(100_000)
        except Exception as error:
            raise named(error, "Kinesis", self.stream) from error


def _missing(
    rows: Iterable[tuple[bytes | None, bytes | None]], there: Counter[tuple[str, bytes]]
) -> Iterator[tuple[str, bytes]]:
    """The records for `rows` but for those that are `there`."""
    for key, value in rows:
        record = partition_key(key, value), value or b""
        if there[record] > 0:
            there[record] -= 1
        else:
            yield record
