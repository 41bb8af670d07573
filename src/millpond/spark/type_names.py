"""SQL types as Spark spells them in SQL text, the twin of `millpond.spark.types` without pyspark."""

from __future__ import annotations

from millpond.types import ArrayType, DataType, DecimalType, MapType, StructType

NAMES = {
    "TINYINT": "TINYINT",
    "INTEGER": "INT",
    "VARCHAR": "STRING",
    "BYTES": "BINARY",
    "VARBINARY": "BINARY",
    "TIME": "TIME(6)",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "TIMESTAMP_LTZ": "TIMESTAMP",
    "NULL": "VOID",
}
"""The names that differ."""


def type_name(type: DataType) -> str:
    """`type` as it stands in a CAST of Spark."""
    match type:
        case DecimalType():
            return f"DECIMAL({type.precision}, {type.scale})"
        case ArrayType():
            return f"ARRAY<{type_name(type.element)}>"
        case MapType():
            return f"MAP<{type_name(type.key)}, {type_name(type.value)}>"
        case StructType():
            fields = ", ".join(f"{quote(f.name)}: {type_name(f.type)}" for f in type.fields)
            return f"STRUCT<{fields}>"
        case _:
            return NAMES.get(type.name, type.name)


def quote(name: str) -> str:
    """A name in backquotes."""
    return "`" + name.replace("`", "``") + "`"
