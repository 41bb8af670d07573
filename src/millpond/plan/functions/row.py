"""What rowkey() and rowmeta() bind to: readings of the hidden columns of a record."""

from __future__ import annotations

from millpond.plan.functions.table import Function, function
from millpond.types import BIGINT, INTEGER, VARCHAR, Field, StructType

ROW_METADATA = StructType(
    fields=(
        Field("topic", VARCHAR),
        Field("partition", INTEGER),
        Field("offset", BIGINT),
        Field("timestamp_type", VARCHAR),
    )
)

# Kafka's integer keys are big-endian two's complement of 1, 2, 4 or 8 bytes: filled up to 8 with the sign.
_SIGN = "IF(substring(hex({0}), 1, 1) >= '8', 'F', '0')"
_SIGNED = f"conv(lpad(hex({{0}}), 16, {_SIGN}), 16, -10)"

FUNCTIONS: tuple[Function, ...] = (
    function("text_key", "BYTES", VARCHAR, "CAST({0} AS STRING)", None, operator=True),
    function("integer_key", "BYTES", VARCHAR, _SIGNED, None, operator=True),
    function(
        "rowmeta",
        "VARCHAR, INTEGER, BIGINT",
        ROW_METADATA,
        "named_struct('topic', {0}, 'partition', {1}, 'offset', {2}, 'timestamp_type', CAST(NULL AS STRING))",
        None,
        operator=True,
    ),
)
