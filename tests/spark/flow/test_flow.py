"""Each case of this folder: its records in one batch, and in several with a stop and a resume between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from millpond.plan.nodes import Kind, Sink
from tests.plan.planning import Session
from tests.spark.flow.cases import Case, load
from tests.spark.flow.running import FileRun, Written

pytestmark = pytest.mark.spark

CASES = list(load())
WHOLE = [pytest.param(c, id=c.name) for c in CASES if not c.as_cut]
CUT = [pytest.param(c, id=c.name) for c in CASES if len(c.batches) > 1]


def planned(case: Case) -> Sink:
    return Session().sink(case.statements)


def key(record: Written) -> Any:
    """A key as cases write it: its JSON if it is a JSON object, its text, else its bytes in hex."""
    if record.key is None:
        return None
    try:
        text = record.key.decode()
    except UnicodeDecodeError:
        return {"bytes": record.key.hex()}
    if not text.isprintable():
        return {"bytes": record.key.hex()}
    return json.loads(text) if text.startswith("{") else text


def pairs(records: Sequence[Written]) -> list[tuple[Any, Any]]:
    return [(key(r), r.row) for r in records]


def final(run: FileRun) -> list[tuple[Any, Any]]:
    """The rows at the end: all of a stream, the last for each key of a changelog."""
    if run.plan.kind is Kind.APPEND:
        return pairs(run.written)
    last = {r.key: r for r in run.written}
    return pairs([r for r in last.values() if r.value is not None])


def by_key(records: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """In the order of keys, those of one key in their own: all that Kafka keeps."""
    return sorted(records, key=lambda r: json.dumps(r[0]))


def check(case: Case, run: FileRun) -> None:
    assert_same(final(run), case.rows)
    assert (run.undecodable, run.late) == (case.undecodable, case.late)


def assert_same(got: Sequence[tuple[Any, Any]], wanted: Sequence[tuple[Any, Any]]) -> None:
    """The same pairs in any order; a wanted key of `...` is not looked at."""
    keyless = all(k is ... for k, _ in wanted)
    shown = [(... if keyless else k, v) for k, v in got]
    assert sorted(map(_text, shown)) == sorted(map(_text, wanted))


def _text(pair: tuple[Any, Any]) -> str:
    return " ".join("" if part is ... else json.dumps(part) for part in pair)


@pytest.mark.parametrize("case", WHOLE)
def test_all_records_in_one_batch(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    run = FileRun(spark, planned(case), tmp_path / "run")
    check(case, run.feed([r for batch in case.batches for r in batch]).run())


@pytest.fixture
def one_task(spark: SparkSession) -> Iterator[None]:
    """One task after a shuffle: with half the state stores a batch takes half the time."""
    usual = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(usual))


@pytest.mark.parametrize("case", CUT)
@pytest.mark.usefixtures("one_task")
def test_a_batch_each_with_a_stop_and_a_resume(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    run = FileRun(spark, planned(case), tmp_path / "run")
    middle = len(case.batches) // 2
    run.feed(*case.batches[:middle]).run()
    run.feed(*case.batches[middle:]).run()
    check(case, run)
    if case.writes is not None:
        assert by_key(pairs(run.written)) == by_key(case.writes)
