"""rowtime(), rowkey() and rowmeta(): a record's own time, key and place."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.catalog.model import KAFKA_TYPES
from millpond.errors import MillpondError
from millpond.plan.calls import call
from millpond.plan.expressions import ColumnRef, Expr, Literal
from millpond.plan.nodes import KEY, OFFSET, PARTITION, ROWTIME, SEQUENCE, TOPIC
from millpond.plan.scope import Scope, Source
from millpond.types import VARCHAR, Column

ROW_FUNCTIONS = ("rowtime", "rowkey", "rowmeta")
METADATA: dict[str, tuple[str, tuple[Column, ...]]] = {
    **dict.fromkeys(KAFKA_TYPES, ("kafka_metadata", (TOPIC, PARTITION, OFFSET))),
    "KINESIS": ("kinesis_metadata", (TOPIC, KEY, PARTITION, SEQUENCE)),
}
"""By the type of the store: what rowmeta() calls, over which hidden columns."""


def row_columns(store_type: str) -> tuple[Column, ...]:
    """The hidden columns that the row functions read of a record in such a store."""
    return tuple(dict.fromkeys((ROWTIME, KEY, *METADATA[store_type][1])))


def row_function(name: str, qualifier: Sequence[str], scope: Scope) -> Expr:
    """`name([alias])` over the hidden columns of the source that is meant.

    Without an alias rowtime() is the time of the row itself, also of one that a join has made.
    """
    if len(qualifier) > 1 or "" in qualifier:
        raise MillpondError("WRONG_ARGUMENTS", name=name.upper(), given="...", takes=f"{name}([relation])")
    source = scope.source_of_row(qualifier)
    if name == "rowtime":
        own = source.hidden_column(ROWTIME) if qualifier else ColumnRef(ROWTIME.type, ROWTIME.name)
        return call("unix_millis", [own])
    if name == "rowkey":
        return _key(source)
    function, columns = METADATA[source.store_type]
    return call(function, [source.hidden_column(c) for c in columns])


def _key(source: Source) -> Expr:
    if source.key_type is None:
        return Literal(VARCHAR, None)
    binary = source.key_type.name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
    return call("integer_key" if binary else "text_key", [source.hidden_column(KEY)])
