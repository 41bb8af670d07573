"""What rowkey() and rowmeta() bind to: readings of the hidden columns of a record."""

from __future__ import annotations

from millpond.plan.functions.table import Function, function
from millpond.types import BIGINT, INTEGER, VARCHAR, Field, StructType

KAFKA_METADATA = StructType(
    fields=(
        Field("topic", VARCHAR),
        Field("partition", INTEGER),
        Field("offset", BIGINT),
        Field("timestamp_type", VARCHAR),
    )
)
KINESIS_METADATA = StructType(
    fields=tuple(Field(name, VARCHAR) for name in ("stream", "partition_key", "shard_id", "sequence_number"))
)

# Kafka's integer keys are big-endian two's complement of 1, 2, 4 or 8 bytes: filled up to 8 with the sign.
_SIGN = "IF(substring(hex({0}), 1, 1) >= '8', 'F', '0')"
_SIGNED = f"conv(lpad(hex({{0}}), 16, {_SIGN}), 16, -10)"

_KAFKA = "named_struct('topic', {0}, 'partition', {1}, 'offset', {2}, 'timestamp_type', CAST(NULL AS STRING))"
_KINESIS = (
    "named_struct('stream', {0}, 'partition_key', CAST({1} AS STRING), "
    "'shard_id', format_string('shardId-%012d', {2}), 'sequence_number', {3})"
)


def _of_a_record(there: str, struct: str) -> str:
    """NULL for the side of a joined row that has no record."""
    return f"IF({there} IS NULL, NULL, {struct})"


FUNCTIONS: tuple[Function, ...] = (
    function("text_key", "BYTES", VARCHAR, "CAST({0} AS STRING)", "mp_bytes_text({0})", operator=True),
    function("integer_key", "BYTES", VARCHAR, _SIGNED, "mp_integer_key({0})", operator=True),
    function(
        "kafka_metadata",
        "VARCHAR, INTEGER, BIGINT",
        KAFKA_METADATA,
        _of_a_record("{0}", _KAFKA),
        "json_object('topic', {0}, 'partition', {1}, 'offset', {2}, 'timestamp_type', NULL)",
        operator=True,
    ),
    function(
        "kinesis_metadata",
        "VARCHAR, BYTES, INTEGER, VARCHAR",
        KINESIS_METADATA,
        _of_a_record("{0}", _KINESIS),
        "json_object('stream', {0}, 'partition_key', mp_bytes_text({1}), 'shard_id', printf('shardId-%012d', {2}), "
        "'sequence_number', {3})",
        operator=True,
    ),
)
