"""The cases of this folder's TOML files: statements, records in, rows out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.spark.flow.running import Given

FIRST_TIMESTAMP = 1_700_000_000_000
"""The timestamp of a record that does not give one; the next record's is a millisecond later."""


@dataclass(frozen=True)
class Case:
    """A query and what it makes of its input.

    `statements`: the last one is the query. `batches`: an empty line of `in` ends one.
    `rows`: (key, value) for each row at the end; a key of `...` is any. `writes`: every record in order, if given.
    """

    name: str
    statements: str
    batches: tuple[tuple[Given, ...], ...]
    rows: tuple[tuple[Any, Any], ...]
    writes: tuple[tuple[Any, Any], ...] | None
    undecodable: int
    late: int
    as_cut: bool
    """The result depends on where the batches are cut."""


def load() -> Iterator[Case]:
    """All cases, in the order of files and lines."""
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        declared = tomllib.loads(path.read_text("utf-8"))
        for raw in declared["case"]:
            yield _case(path.stem, declared.get("sources", ""), raw)


def _case(group: str, sources: str, raw: dict[str, Any]) -> Case:
    return Case(
        f"{group}: {raw['name']}",
        raw.get("sources", sources) + raw["query"],
        _batches(raw["in"]),
        tuple(_pair(line) for line in raw.get("out", "").split("\n") if line.strip()),
        tuple(_pair(line) for line in raw["writes"].split("\n") if line.strip()) if "writes" in raw else None,
        raw.get("undecodable", 0),
        raw.get("late", 0),
        raw.get("as_cut", False),
    )


def _batches(text: str) -> tuple[tuple[Given, ...], ...]:
    batches: list[tuple[Given, ...]] = []
    count = 0
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        batches.append(tuple(_record(line, count + n) for n, line in enumerate(lines)))
        count += len(lines)
    return tuple(batches)


def _record(line: str, number: int) -> Given:
    """A line is a value, or [key, value], or [key, value, partition, offset, timestamp]; a topic may stand first."""
    topic, _, rest = line.partition(" ") if line[0].isalpha() else ("", "", line)
    read = json.loads(rest)
    key, value, *place = read if isinstance(read, list) else (None, read)
    partition, offset, timestamp = place or (0, number, FIRST_TIMESTAMP + number)
    return Given(_bytes(key), _bytes(value), partition, offset, timestamp, topic)


def _bytes(value: Any) -> bytes | None:
    """Text stands for itself, {"bytes": "<hex>"} for any bytes, everything else for its JSON."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"bytes"}:
        return bytes.fromhex(value["bytes"])
    return json.dumps(value).encode()


def _pair(line: str) -> tuple[Any, Any]:
    read = json.loads(line)
    return (read[0], read[1]) if isinstance(read, list) else (..., read)
