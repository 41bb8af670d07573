"""Every case of the function table in real Spark: the same value as its case says, and so as the view store gives."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from millpond.plan.expressions import Expr
from millpond.plan.nodes import KEY, OFFSET, PARTITION, ROWTIME, SEQUENCE, TOPIC
from millpond.plan.scope import Scope
from millpond.spark.expressions import to_spark
from millpond.spark.types import to_spark_schema, to_spark_type
from millpond.types import Column, DataType
from tests.plan.functions.cases import SAMPLE, SCALAR_FILES, CaseLine, bound, read_cases, sample_scope, show

pytestmark = pytest.mark.spark

NOT_FOLDED = "org.apache.spark.sql.catalyst.optimizer.ConstantFolding"
"""Without this rule Spark computes constants as it computes columns: in generated code."""


@pytest.fixture(scope="module")
def sample(spark: SparkSession) -> DataFrame:
    schema = to_spark_schema([Column(n, t) for n, t, _ in SAMPLE])
    return spark.createDataFrame([tuple(v for _, _, v in SAMPLE)], schema)


def _answers(sample: DataFrame, exprs: list[Expr]) -> list[Any]:
    """All expressions in one select; one that Spark refuses altogether is its error instead of a value."""
    texts = [to_spark(e) for e in exprs]
    columns = [f"{text} AS c{n}" for n, text in enumerate(texts)]
    try:
        frame = sample.selectExpr(*columns)
        types = [to_spark_type(e.type) for e in exprs]
        row = frame.select(*(frame[f"c{n}"].cast(t) for n, t in enumerate(types))).head()
        return [_plain(v) for v in row or ()]
    except PySparkException as error:
        if len(exprs) == 1:
            return [f"{texts[0]}: {str(error)[:400]}"]
        middle = len(exprs) // 2
        return _answers(sample, exprs[:middle]) + _answers(sample, exprs[middle:])


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return {k: _plain(v) for k, v in value.asDict().items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SCALAR_FILES)
def test_spark_gives_the_value_of_every_case(spark: SparkSession, sample: DataFrame, name: str) -> None:
    cases: list[CaseLine] = read_cases(name)
    spark.conf.set("spark.sql.optimizer.excludedRules", NOT_FOLDED)
    try:
        found = _answers(sample, [bound(c.sql, sample_scope()) for c in cases])
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")
    wrong = [
        f"{case.sql}: {show(value)} instead of {case.expected}"
        for case, value in zip(cases, found, strict=True)
        if not case.accepts(value)
    ]
    assert not wrong, "\n".join(wrong)


KEYS = [
    ("VARCHAR", b"caf\xc3\xa9", "café"),
    ("BIGINT", (-2).to_bytes(8, "big", signed=True), "-2"),
    ("BIGINT", (5).to_bytes(8, "big"), "5"),
    ("INTEGER", (-2).to_bytes(4, "big", signed=True), "-2"),
    ("INTEGER", (2**31 - 1).to_bytes(4, "big"), "2147483647"),
    ("SMALLINT", (-300).to_bytes(2, "big", signed=True), "-300"),
    ("BIGINT", None, None),
]


@pytest.mark.parametrize(("key_type", "key", "expected"), KEYS)
def test_rowkey_is_the_text_of_the_key(
    spark: SparkSession, key_type: str, key: bytes | None, expected: str | None
) -> None:
    scope = Scope.of_relation(("t",), [], key_type=DataType(key_type))
    frame = spark.createDataFrame([(key,)], to_spark_schema([KEY]))
    row = frame.selectExpr(to_spark(bound("rowkey()", scope))).head()
    assert row is not None
    assert row[0] == expected


def test_rowtime_and_rowmeta_read_the_hidden_columns(spark: SparkSession) -> None:
    scope = Scope.of_relation(("t",), [])
    frame = spark.createDataFrame(
        [(datetime(2024, 2, 29, 13, 5, 6, 789_000, UTC), "clicks", 3, 42)],
        to_spark_schema([ROWTIME, TOPIC, PARTITION, OFFSET]),
    )
    row = frame.selectExpr(*(to_spark(bound(f"rowmeta()->{f}", scope)) for f in ("topic", "partition", "offset")))
    assert tuple(row.head() or ()) == ("clicks", 3, 42)
    assert tuple(frame.selectExpr(to_spark(bound("rowtime()", scope))).head() or ()) == (1_709_211_906_789,)


def test_rowmeta_of_a_kinesis_record_names_its_shard_and_sequence_number(spark: SparkSession) -> None:
    scope = Scope.of_relation(("t",), [], store_type="KINESIS")
    frame = spark.createDataFrame(
        [("clicks", b"caf\xc3\xa9", 12, "4951"), (None, None, None, None)],
        to_spark_schema([TOPIC, KEY, PARTITION, SEQUENCE]),
    )
    rows = [row[0] for row in frame.selectExpr(to_spark(bound("rowmeta()", scope))).collect()]
    assert rows[0].asDict() == {
        "stream": "clicks",
        "partition_key": "café",
        "shard_id": "shardId-000000000012",
        "sequence_number": "4951",
    }
    assert rows[1] is None  # the side of a joined row without a record
