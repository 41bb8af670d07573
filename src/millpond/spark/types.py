"""SQL types as Spark's. One to one, but for what SQL sizes: VARCHAR(n) is a string of any length."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import types as S  # noqa: N812

from millpond.types import ArrayType, Column, DataType, DecimalType, MapType, StructType

SCALARS: dict[str, S.DataType] = {
    "BOOLEAN": S.BooleanType(),
    "TINYINT": S.ByteType(),
    "SMALLINT": S.ShortType(),
    "INTEGER": S.IntegerType(),
    "BIGINT": S.LongType(),
    "FLOAT": S.FloatType(),
    "DOUBLE": S.DoubleType(),
    "VARCHAR": S.StringType(),
    "BYTES": S.BinaryType(),
    "VARBINARY": S.BinaryType(),
    "DATE": S.DateType(),
    "TIME": S.TimeType(6),
    "TIMESTAMP": S.TimestampNTZType(),
    "TIMESTAMP_LTZ": S.TimestampType(),
    "NULL": S.NullType(),
}
"""Times have microseconds whatever the declared precision: that says what is shown, not what is kept."""


def to_spark_type(data_type: DataType) -> S.DataType:
    """The Spark type that holds the values of `data_type`; its parts may all be NULL, but for the keys of a MAP."""
    match data_type:
        case DecimalType():
            return S.DecimalType(data_type.precision, data_type.scale)
        case ArrayType():
            return S.ArrayType(to_spark_type(data_type.element))
        case MapType():
            return S.MapType(to_spark_type(data_type.key), to_spark_type(data_type.value))
        case StructType():
            return S.StructType([S.StructField(f.name, to_spark_type(f.type)) for f in data_type.fields])
        case _:
            return SCALARS[data_type.name]


def to_spark_schema(columns: Iterable[Column]) -> S.StructType:
    """The columns of a relation as the fields of a struct, all nullable."""
    return S.StructType([S.StructField(c.name, to_spark_type(c.type)) for c in columns])
